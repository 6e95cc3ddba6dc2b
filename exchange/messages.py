"""Messages of an exchange: a question of the learner, an owner's answer, and the closing.

Their form and their signature are checked here, not their sense. A message's digest is that of its
content without the signature.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from math import isqrt
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, ConfigDict, Field, FiniteFloat

from exchange.contract import Contract
from exchange.signing import PartyKey, check_signature
from exchange.terms import Signable, parse_message
from learning.arrays import Array
from learning.canonical import parse_canonical, read_bytes
from learning.errors import InputError

LARGEST = 2**20  # bytes of a message: its numbers are one for each parameter

Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Signature = Annotated[str, Field(pattern="^[0-9a-f]{128}$")]
Round = Annotated[int, Field(ge=1)]
Name = Annotated[str, Field(min_length=1, max_length=200)]


Share = Annotated[str, Field(pattern="^[0-9a-f]{132}$")]


def _as_words(numbers: list[int]) -> NDArray[np.uint64]:
    return np.array(numbers, dtype=np.uint64)


if TYPE_CHECKING:
    Vector = Array
    Words = NDArray[np.uint64]
else:
    Word = Annotated[int, Field(ge=0, lt=2**64)]
    Words = Annotated[list[Word], Field(min_length=1), AfterValidator(_as_words)]
    Vector = Annotated[list[FiniteFloat], Field(min_length=1), AfterValidator(np.array)]


@dataclass(frozen=True, eq=False)
class Message(Signable):
    """Base of messages: frozen dataclasses with a canonical form.

    Parameters
    ----------
    signature: of the party that wrote it, over all else; None where the exchange is not signed.
    """

    __pydantic_config__ = ConfigDict(strict=True, extra="forbid")

    signature: Signature | None = field(default=None, kw_only=True)

    @property
    def author(self) -> str | None:
        """The owner that wrote it; None of the learner."""
        return getattr(self, "owner", None)

    @cached_property
    def content(self) -> dict[str, Any]:
        """Its content, without the signature."""
        content = asdict(self)
        del content["signature"]
        for key, value in content.items():
            if isinstance(value, np.ndarray):
                content[key] = value.tolist()
        return content


@dataclass(frozen=True, eq=False)
class Query(Message):
    """A question: the mean gradient at a point, or sums at the start, of every owner asked.

    Parameters
    ----------
    contract: digest of the contract.
    round: k, from 1.
    point: array (p,), phi in the coordinates of the contract.
    asked: the owners who are to answer.
    previous: digest of the question before; None in the first round.
    answers: owner -> digest of its answer to the question before, of those that this point was made
        from.
    until: UTC time, as ISO 8601 has it, after which no answer counts; None where there is none.
    issued: UTC time at which it was asked; None where answers may come at any time.
    """

    contract: Digest
    round: Round
    point: Vector = field(repr=False)
    asked: Annotated[tuple[Name, ...], Field(min_length=1)]
    previous: Digest | None = None
    answers: dict[Name, Digest] = field(default_factory=dict)
    until: str | None = None
    issued: str | None = None
    format: Literal["dpmarket query 1"] = "dpmarket query 1"

    def has_expired(self, now: datetime) -> bool:
        """Test whether its time is over at ``now``, which must have a zone."""
        return self.until is not None and now > datetime.fromisoformat(self.until)


@dataclass(frozen=True, eq=False)
class Answer(Message):
    """An owner's answer to one question: a mean gradient, or sums.

    Parameters
    ----------
    contract: digest of the contract.
    query: digest of the question.
    round: k, the round of the question.
    owner: name of the owner.
    """

    contract: Digest
    query: Digest
    round: Round
    owner: Name

    @property
    def parts(self) -> dict[str, Array]:
        """The arrays of its content, by name."""
        return {name: part for name, part in vars(self).items() if isinstance(part, np.ndarray)}

    @property
    def numbers(self) -> Array:
        """All numbers of its content."""
        return np.concatenate([*self.parts.values()])


@dataclass(frozen=True, eq=False)
class Gradient(Answer):
    """An owner's mean gradient at a question's point, clipped and with noise, array (p,)."""

    gradient: Vector = field(repr=False)
    format: Literal["dpmarket answer 1"] = "dpmarket answer 1"


@dataclass(frozen=True, eq=False)
class Sums(Answer):
    """Sums over an owner's records at the start, clipped and with noise.

    Parameters
    ----------
    score: array (p,), sum w u x, u the residual of the start.
    moments: array (p (p + 1)/2,), sum w xx': its diagonal, then sqrt(2) times the upper triangle.
    """

    score: Vector = field(repr=False)
    moments: Vector = field(repr=False)
    format: Literal["dpmarket sums 1"] = "dpmarket sums 1"

    @classmethod
    def of(cls, contract: str, query: str, round: int, owner: str, numbers: Array) -> Sums:
        """Make sums of numbers in the order of `learning.privacy.release_sums.clipped_sums`."""
        width = count_parameters(len(numbers))
        return cls(contract, query, round, owner, numbers[:width], numbers[width:])


@dataclass(frozen=True, eq=False)
class Keys(Answer):
    """Secure aggregation, first answer: an owner's public keys of X25519.

    Parameters
    ----------
    sealing: the key that others seal shares with.
    masking: the key that masks between it and others are made with.
    seed: SHA-256 of the seed of its own mask.
    """

    sealing: Digest
    masking: Digest
    seed: Digest
    format: Literal["dpmarket keys 1"] = "dpmarket keys 1"


@dataclass(frozen=True, eq=False)
class Shares(Answer):
    """Second answer: shares of its secret masking key and of its seed, sealed for each owner."""

    shares: dict[Name, Annotated[str, Field(pattern="^[0-9a-f]{296}$")]] = field(repr=False)
    format: Literal["dpmarket shares 1"] = "dpmarket shares 1"


@dataclass(frozen=True, eq=False)
class Masked(Answer):
    """Third answer: its sums in whole steps, with its part of the noise, under all its masks.

    Parameters
    ----------
    head: head of the account in the owner's ledger before this answer was charged; None where the
        exchange is not signed.
    """

    masked: Words = field(repr=False)
    head: Digest | None = None
    format: Literal["dpmarket masked 1"] = "dpmarket masked 1"


@dataclass(frozen=True, eq=False)
class Consent(Answer):
    """Fourth answer: it agrees to unmask the total of the owners that the question names."""

    format: Literal["dpmarket consent 1"] = "dpmarket consent 1"


@dataclass(frozen=True, eq=False)
class Unmasking(Answer):
    """Fifth answer: shares of seeds of owners in the total, and of masking keys of the others."""

    seeds: dict[Name, Share] = field(repr=False)
    keys: dict[Name, Share] = field(repr=False)
    format: Literal["dpmarket unmasking 1"] = "dpmarket unmasking 1"


@dataclass(frozen=True, eq=False)
class Sealed(Answer):
    """An answer that the learner alone can open until the closing (`exchange.sealing`).

    Parameters
    ----------
    sealed: its numbers, encrypted, in hexadecimal digits.
    head: head of the account in the owner's ledger before this answer was charged.
    seen: UTC time at which the owner's program first saw the question.
    answered: UTC time of the answer.
    """

    sealed: Annotated[str, Field(pattern="^([0-9a-f]{2})+$")] = field(repr=False)
    head: Digest
    seen: str
    answered: str
    format: Literal["dpmarket sealed answer 1"] = "dpmarket sealed answer 1"


SECURE_FORMS: tuple[type[Answer], ...] = (Keys, Shares, Masked, Consent, Unmasking)


def count_parameters(count: int) -> int:
    """Number p of parameters whose sums are p + p (p + 1)/2 numbers.

    >>> [count_parameters(p + p * (p + 1) // 2) for p in (1, 4, 256)]
    [1, 4, 256]
    """
    return (isqrt(9 + 8 * count) - 3) // 2


ALL_FORMS: tuple[type[Answer], ...] = (Gradient, Sums, *SECURE_FORMS, Sealed)
FORMS = {str(vars(one)["format"]): one for one in ALL_FORMS}


@dataclass(frozen=True, eq=False)
class Closing(Message):
    """The end of an exchange: the answers to the last question that the model was made from.

    Parameters
    ----------
    contract: digest of the contract.
    query: digest of the last question.
    answers: owner -> digest of its answer to that question.
    model: SHA-256 of the model's file.
    opening: the secret key of this exchange, with which everybody can now open the answers; None
        where they are not sealed.
    """

    contract: Digest
    query: Digest
    answers: dict[Name, Digest]
    model: Digest
    opening: Digest | None = None
    format: Literal["dpmarket closing 1"] = "dpmarket closing 1"


Signed = TypeVar("Signed", bound=Message)


def sign_message(message: Signed, contract: Contract, key: PartyKey | None) -> Signed:
    """Sign a message as the contract asks; every writer goes through here.

    Parameters
    ----------
    key: of the message's author; None where the contract has no keys.

    Raises an InputError if it is not the key that the contract names for the author.
    """
    contract.check_key(key, message.author)
    if key is None:
        return message
    return replace(message, signature=key.sign(message.content["format"], message.body))


def parse_signed(form: type[Signed], raw: bytes, where: str, contract: Contract) -> Signed:
    """Parse a message, and check that the party of the contract that it names has signed it.

    Raises an InputError if the bytes are of another form, or the signature is not that party's
    (`BadSignature`).
    """
    message = parse_message(form, raw, where)
    public = contract.public_key(message.author, where)
    check_signature(public, message.signature, message.content["format"], message.body, where)
    return message


@dataclass(frozen=True, eq=False)
class Acceptance(Message):
    """An owner's word that it has accepted a contract: the contract's digest and its name."""

    contract: Digest
    owner: Name
    format: Literal["dpmarket acceptance 1"] = "dpmarket acceptance 1"


def parse_query(raw: bytes, where: str, contract: Contract) -> Query:
    """Parse a question, as `parse_signed`."""
    query = parse_signed(Query, raw, where, contract)
    if len(set(query.asked)) != len(query.asked):
        raise InputError(f"{where}: asked", "must name each owner once", "one twice")
    for key in ("until", "issued"):
        if getattr(query, key) is not None:
            _check_time(getattr(query, key), f"{where}: {key}")
    return query


def parse_answer(raw: bytes, where: str, contract: Contract) -> Answer:
    """Parse an answer, as `parse_signed`."""
    return parse_signed(find_form(raw, where), raw, where, contract)


def find_form(raw: bytes, where: str) -> type[Answer]:
    """Find the form of an answer; the first where it has none that is known."""
    form = parse_canonical(raw, where).get("format")
    return FORMS.get(form, Gradient) if isinstance(form, str) else Gradient


def read_query(path: Path, contract: Contract) -> Query:
    """Read the question in a file, as `parse_signed`."""
    return parse_query(read_bytes(path, LARGEST), str(path), contract)


def read_answer(path: Path, contract: Contract) -> Answer:
    """Read the answer in a file, as `parse_signed`."""
    return parse_answer(read_bytes(path, LARGEST), str(path), contract)


def read_closing(path: Path, contract: Contract) -> Closing:
    """Read the closing in a file, as `parse_signed`."""
    return parse_signed(Closing, read_bytes(path, LARGEST), str(path), contract)


def utc_text(time: datetime) -> str:
    """Format a time as messages have it, to the second.

    >>> utc_text(datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC))
    '2030-01-02T03:04:05+00:00'
    """
    return time.astimezone(UTC).isoformat(timespec="seconds")


def open_for(hours: float, now: datetime) -> dict[str, str]:
    """Times of a question that is asked at ``now`` and may be answered for so many hours.

    >>> open_for(0.5, datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC))["until"]
    '2030-01-02T03:34:05+00:00'
    """
    issued = now.replace(microsecond=0)
    return {"issued": utc_text(issued), "until": utc_text(issued + timedelta(hours=hours))}


def _check_time(text: str, where: str) -> None:
    try:
        valid = utc_text(datetime.fromisoformat(text)) == text
    except (ValueError, OverflowError):
        valid = False
    if not valid:
        rule = "must be a UTC time such as 2030-01-02T03:04:05+00:00"
        raise InputError(where, rule, "another text")
