"""The learner's end of sealed answers: the key of one exchange, and what it opens.

With the closing the learner publishes that key. From then on whoever has the files can open the
answers, compute the model, and check the settlement.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from exchange.contract import Contract
from exchange.folder import (
    QUESTION,
    REPLY,
    answer_name,
    check_name,
    list_names,
    read_question,
)
from exchange.messages import (
    LARGEST,
    Acceptance,
    Answer,
    Closing,
    Gradient,
    Masked,
    Query,
    Sealed,
    Sums,
    parse_signed,
    read_answer,
)
from exchange.owner.answers import follow_head, ledger_purpose
from exchange.sealing import ORDER, SUITE, bind_answer
from exchange.signing import PartyKey
from learning.canonical import encode_canonical, read_bytes, sha256_digest
from learning.errors import InputError

ACCEPTANCE = re.compile(r"[A-Za-z0-9-]+\.acceptance\.json")


@dataclass(frozen=True)
class UnreadableFile:
    """A file that is named as an answer and is none.

    Parameters
    ----------
    name: of the file.
    reason: where, what rule, what was found: one line.
    """

    name: str
    reason: str


def read_folder(
    folder: Path, contract: Contract
) -> tuple[list[Query], list[Answer], list[UnreadableFile]]:
    """Read the questions in the order of rounds, the answers, and files named as answers only.

    Files of other names play no part. Questions are the learner's own: one that cannot be read is
    an error, as is one of another contract.

    Raises
    ------
    InputError
        If the folder cannot be read, or a question in it.
    """
    queries = []
    answers = []
    unreadable = []
    for name in list_names(folder):
        if QUESTION.fullmatch(name):
            queries.append(read_question(folder / name, contract))
        elif REPLY.fullmatch(name):
            try:
                answer = read_answer(folder / name, contract)
                check_name(folder / name, answer_name(answer.round, answer.owner))
                answers.append(answer)
            except InputError as error:
                unreadable.append(UnreadableFile(name, str(error)))
    return sorted(queries, key=lambda query: query.round), answers, unreadable


@dataclass(frozen=True)
class Opened:
    """The questions and answers of an exchange's folder, opened.

    Parameters
    ----------
    queries: the questions, in the order of rounds.
    answers: the answers, opened; each has the digest of its file's content.
    sealed: those that state the head of their owner's ledger, as they came.
    unreadable: files that are named as answers and cannot be used.
    """

    queries: list[Query] = field(repr=False)
    answers: list[Answer] = field(repr=False)
    sealed: list[Sealed | Masked] = field(repr=False)
    unreadable: list[UnreadableFile]


def derive_opening(contract: Contract, key: PartyKey) -> str:
    """Derive the learner's secret key for one exchange, 64 digits, from all agreed but the keys."""
    unsigned = sha256_digest(encode_canonical(contract.content | {"public_keys": None}))
    return key.derive(b"open " + unsigned.encode()).hex()


def public_opening(opening: str) -> str:
    """Public part of the learner's key for one exchange."""
    return _private(opening).public_key().public_bytes_raw().hex()


def _private(opening: str) -> X25519PrivateKey:
    return X25519PrivateKey.from_private_bytes(bytes.fromhex(opening))


def find_opening(
    contract: Contract, closing: Closing | None, key: PartyKey | None = None
) -> str | None:
    """Find the key that opens answers: the learner's own, or the one that the closing publishes.

    Returns
    -------
    None where the exchange is not signed, or answers are masked and not sealed.

    Raises
    ------
    InputError
        If neither is there, or it is another one than the contract names.
    """
    if contract.public_keys is None or contract.aggregation is not None:
        return None
    opening = None if closing is None else closing.opening
    if key is not None:
        contract.check_key(key, None)
        opening = derive_opening(contract, key)
    if opening is None:
        rule = "must be the learner's key: until the closing, only it opens the answers"
        raise InputError("--key", rule, "none")
    if public_opening(opening) != contract.public_keys.opening:
        rule = "must be the key with which the answers of this contract are opened"
        raise InputError("the closing: opening", rule, "another one")
    return opening


def read_opened(
    folder: Path, contract: Contract, closing: Closing | None, key: PartyKey | None = None
) -> Opened:
    """Read an exchange's folder as `read_folder`, and open the answers.

    An answer that cannot be opened, as a copy, and one that does not follow from the ledger of the
    owner's earlier answers, are among the unreadable files.

    Raises
    ------
    InputError
        As `read_folder` and `find_opening`.
    """
    queries, came, unreadable = read_folder(folder, contract)
    opening = find_opening(contract, closing, key)
    opened = []
    heads = dict[str, str]()
    for answer in sorted(came, key=lambda one: one.round):
        try:
            if isinstance(answer, Sealed):
                _check_head(answer, heads)
            opened.append(open_answer(answer, contract, opening))
        except InputError as error:
            name = answer_name(answer.round, answer.owner)
            unreadable.append(UnreadableFile(name, str(error)))
    sealed = [one for one in came if isinstance(one, Sealed | Masked)]
    return Opened(queries, opened, sealed, unreadable)


def _check_head(answer: Sealed, heads: dict[str, str]) -> None:
    """Refuse an answer from another ledger than the answer before; enters the head that follows."""
    expected = heads.get(answer.owner, answer.head)
    if answer.head != expected:
        rule = "must come from the ledger that charged the answer before it"
        found = "another ledger, or one that was put back"
        raise InputError(answer_name(answer.round, answer.owner), rule, found)
    heads[answer.owner] = follow_head(answer.head, ledger_purpose(answer))


def open_answer(answer: Answer, contract: Contract, opening: str | None) -> Answer:
    """Open a sealed answer; it keeps the digest of the sealed one. Others stay as they are.

    Raises
    ------
    InputError
        If it should be sealed and is not, or should not be; or if it was sealed for another owner,
        question or contract, as a copy is.
    """
    rule = "must be an answer that its owner sealed for this question"
    where = answer_name(answer.round, answer.owner)
    if (opening is not None) != isinstance(answer, Sealed):
        raise InputError(where, f"{rule}, if the exchange is signed", "another form")
    if opening is None or not isinstance(answer, Sealed):
        return answer
    try:
        raw = SUITE.decrypt(bytes.fromhex(answer.sealed), _private(opening), bind_answer(answer))
        numbers = np.frombuffer(raw, ORDER).astype(float)
    except (InvalidTag, ValueError):
        raise InputError(where, rule, "one that was sealed for something else") from None
    if not (len(numbers) and np.isfinite(numbers).all()):
        raise InputError(where, "must hold finite numbers", "others")
    form = Sums.of if contract.sums else Gradient
    opened = form(answer.contract, answer.query, answer.round, answer.owner, numbers)
    vars(opened).update(digest=answer.digest, raw=answer.raw)
    return opened


def find_accepted(folder: Path, contract: Contract) -> tuple[str, ...]:
    """Find the owners whose signed acceptance of the contract is in the folder."""
    found = set()
    for name in filter(ACCEPTANCE.fullmatch, list_names(folder)):
        with suppress(InputError):
            raw = read_bytes(folder / name, LARGEST)
            accepted = parse_signed(Acceptance, raw, name, contract)
            if accepted.contract == contract.digest:
                found.add(accepted.owner)
    return tuple(name for name in contract.names if name in found)


def used_heads(sealed: Iterable[Sealed | Masked], owner: str) -> dict[int, str]:
    """Heads that an owner's answers state, by round."""
    return {one.round: one.head for one in sealed if one.owner == owner and one.head}
