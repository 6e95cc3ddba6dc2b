"""Keys of one owner's part in an aggregation, masks between owners, and sealed shares.

X25519 agrees on a secret of two owners, HKDF-SHA256 makes keys of it, bound to a purpose and to the
question that is answered, ChaCha20 makes masks of keys, and ChaCha20-Poly1305 seals shares. All are
those of the library `cryptography`. A key seals one message, so its nonce may be 0.

Source: RFC 7748, RFC 5869, RFC 8439.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from learning.canonical import sha256_digest
from learning.errors import InputError
from learning.privacy.distributed import BITS, Words

KEY = 32  # bytes
NONCE = bytes(12)


def derive_key(secret: bytes, purpose: str, *context: str) -> bytes:
    """Derive a key of a purpose from a secret of 32 bytes, by HKDF-SHA256."""
    info = "\n".join(["dpmarket", purpose, *context]).encode()
    return HKDF(SHA256(), KEY, salt=None, info=info).derive(secret)


def public_key(secret: bytes) -> str:
    """Public X25519 key of a secret one, in hexadecimal digits."""
    return X25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw().hex()


def agree_key(secret: bytes, public: str, purpose: str, *context: str) -> bytes:
    """Agree on a key with the holder of a public key; an InputError if that is none."""
    try:
        key = X25519PublicKey.from_public_bytes(bytes.fromhex(public))
        shared = X25519PrivateKey.from_private_bytes(secret).exchange(key)
    except ValueError:
        raise InputError("answers", "must have public keys that agree on a secret") from None
    return derive_key(shared, purpose, *context)


def stretch_key(key: bytes, count: int) -> Words:
    """Stretch a key to a mask of so many words of 64 bits, by ChaCha20 from block 0."""
    stream = Cipher(ChaCha20(key, bytes(16)), mode=None).encryptor()
    raw = stream.update(bytes(count * BITS // 8))
    return np.frombuffer(raw, dtype="<u8").astype(np.uint64)


@dataclass(frozen=True)
class OwnSecrets:
    """Secrets of one owner for one aggregation.

    Parameters
    ----------
    sealing: its X25519 key for the shares that others send it.
    masking: its X25519 key for the masks between it and each other owner.
    seed: of its own mask.
    """

    sealing: bytes = field(repr=False)
    masking: bytes = field(repr=False)
    seed: bytes = field(repr=False)

    @classmethod
    def derive(cls, root: bytes, question: str) -> OwnSecrets:
        """Derive them from a secret of the owner's and the first question."""
        purposes = ("sealing", "masking", "seed")
        return cls(*(derive_key(root, purpose, question) for purpose in purposes))


def own_mask(seed: bytes, question: str, count: int) -> Words:
    """Mask of a seed, under which an owner's answer to a question stays hidden if it comes late."""
    return stretch_key(derive_key(seed, "own mask", question), count)


def pair_mask(
    secret: bytes, public: str, question: str, pair: tuple[str, str], count: int
) -> Words:
    """Mask between two owners: the first of the pair adds it, the second subtracts it.

    The names are a part of it: an owner that passes another's key off as its own does not make two
    masks of a third one equal.
    """
    return stretch_key(agree_key(secret, public, "pair mask", question, *pair), count)


def pairs_of(name: str, names: tuple[str, ...]) -> list[tuple[str, str]]:
    """Pairs of an owner and each other, in the order of the contract."""
    place = names.index(name)
    before = [(other, name) for other in names[:place]]
    return before + [(name, other) for other in names[place + 1 :]]


def seal_shares(shares: bytes, secret: bytes, public: str, *context: str) -> str:
    """Seal shares for the holder of a public key.

    Parameters
    ----------
    context: the question, the writer's name, the reader's name.
    """
    key = agree_key(secret, public, "shares", *context)
    return ChaCha20Poly1305(key).encrypt(NONCE, shares, None).hex()


def open_shares(sealed: str, secret: bytes, public: str, *context: str) -> bytes | None:
    """Open what `seal_shares` has sealed; None if it was sealed otherwise."""
    key = agree_key(secret, public, "shares", *context)
    try:
        return ChaCha20Poly1305(key).decrypt(NONCE, bytes.fromhex(sealed), None)
    except InvalidTag:
        return None


def seed_digest(seed: bytes) -> str:
    """SHA-256 of a seed, by which a seed put together from shares is recognised."""
    return sha256_digest(seed)
