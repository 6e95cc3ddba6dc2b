"""Sealed answers: nobody but the learner can read one before the exchange ends.

The learner has a key for one exchange; the contract names its public part, and the closing
publishes the secret one. So nobody has seen another answer when it answers, and everybody can check
the settlement afterwards. An answer is bound to its contract, question and owner: a copy in another
name cannot be opened.

Source: RFC 9180 (HPKE), base mode with X25519, HKDF-SHA256 and ChaCha20-Poly1305, as the library
    cryptography has it.
"""

from __future__ import annotations

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from exchange.contract import Contract
from exchange.messages import Answer, Sealed
from learning.canonical import encode_canonical

SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.CHACHA20_POLY1305)
ORDER = "<f8"  # of numbers in a sealed answer


def seal_answer(answer: Answer, contract: Contract, *, head: str, seen: str, at: str) -> Sealed:
    """Seal an answer for the learner.

    Parameters
    ----------
    head: head of the ledger's account before the answer is charged.
    seen, at: UTC times at which the question was first seen, and answered.
    """
    assert contract.public_keys is not None
    public = X25519PublicKey.from_public_bytes(bytes.fromhex(contract.public_keys.opening))
    named = (answer.contract, answer.query, answer.round, answer.owner)
    numbers = np.asarray(answer.numbers, ORDER).tobytes()
    sealed = SUITE.encrypt(numbers, public, bind_answer(answer)).hex()
    return Sealed(*named, sealed=sealed, head=head, seen=seen, answered=at)


def bind_answer(answer: Answer) -> bytes:
    """Bytes that a sealed answer is bound to."""
    names = {"contract": answer.contract, "query": answer.query, "owner": answer.owner}
    return encode_canonical(names)
