"""What goes to and fro: the learner's question of a round, an owner's answer. Here their form is checked, not their sense."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, FiniteFloat

from learning.arrays import Array
from learning.errors import InputError
from learning.exchange.canonical import canonical, digest, parse, read
from learning.exchange.forms import modelled, same_bytes
from learning.exchange.terms import Form

QUERY, ANSWER = "dpmarket query 1", "dpmarket answer 1"
LARGEST = 2**20  # bytes of a message: its numbers are one for each parameter

Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Round = Annotated[int, Field(ge=1)]
Name = Annotated[str, Field(min_length=1, max_length=200)]


class _QueryForm(Form):
    format: Literal["dpmarket query 1"]
    contract: Digest
    round: Round
    point: list[FiniteFloat] = Field(min_length=1)
    asked: list[Name] = Field(min_length=1)
    previous: Digest | None
    answers: dict[Name, Digest]
    until: str | None


class _AnswerForm(Form):
    format: Literal["dpmarket answer 1"]
    contract: Digest
    query: Digest
    round: Round
    owner: Name
    gradient: list[FiniteFloat] = Field(min_length=1)


@dataclass(frozen=True, eq=False)
class Query:
    """The learner's question of one round: the mean gradient at a point, of every owner that is asked.

    Parameters
    ----------
    contract: digest of the contract.
    round: k, from 1.
    point: array (p,), phi in the coordinates of the contract.
    asked: the owners who are to answer.
    previous: digest of the question before; None in the first round.
    answers: owner -> digest of its answer to the question before, of those that this point was made from.
    until: UTC time, as ISO 8601 has it, after which nobody answers; None where there is no such time.
    """

    contract: str
    round: int
    point: Array = field(repr=False)
    asked: tuple[str, ...]
    previous: str | None = None
    answers: Mapping[str, str] = field(default_factory=dict)
    until: str | None = None

    @cached_property
    def raw(self) -> bytes:
        """Its bytes."""
        told: dict[str, Any] = {"format": QUERY, **vars(self)}
        told |= {"point": self.point.tolist(), "asked": list(self.asked), "answers": dict(self.answers)}
        return canonical(told)

    @cached_property
    def digest(self) -> str:
        """What names it."""
        return digest(self.raw)

    def expired(self, now: datetime) -> bool:
        """Whether its time is over at a time, which must know its zone."""
        return self.until is not None and now > datetime.fromisoformat(self.until)


@dataclass(frozen=True, eq=False)
class Answer:
    """An owner's answer to one question.

    Parameters
    ----------
    contract: digest of the contract.
    query: digest of the question.
    round: k, the round of the question.
    owner: who answers.
    gradient: array (p,), the mean gradient of its records, clipped and with noise.
    """

    contract: str
    query: str
    round: int
    owner: str
    gradient: Array = field(repr=False)

    @cached_property
    def raw(self) -> bytes:
        """Its bytes."""
        return canonical({"format": ANSWER, **vars(self), "gradient": self.gradient.tolist()})

    @cached_property
    def digest(self) -> str:
        """What names it."""
        return digest(self.raw)


def query_of(raw: bytes, where: str) -> Query:
    """A question from its bytes; an InputError if they are of another form."""
    told = modelled(_QueryForm, parse(raw, where), where)
    if len(set(told.asked)) != len(told.asked):
        raise InputError(f"{where}: asked", "must name each owner once", "one twice")
    if told.until is not None:
        _check_time(told.until, where)
    point, asked = np.array(told.point), tuple(told.asked)
    return same_bytes(
        Query(told.contract, told.round, point, asked, told.previous, told.answers, told.until), raw, where
    )


def answer_of(raw: bytes, where: str) -> Answer:
    """An answer from its bytes; an InputError if they are of another form."""
    told = modelled(_AnswerForm, parse(raw, where), where)
    made = Answer(told.contract, told.query, told.round, told.owner, np.array(told.gradient))
    return same_bytes(made, raw, where)


def read_query(path: Path) -> Query:
    """The question in a file; an InputError if there is none."""
    return query_of(read(path, LARGEST), str(path))


def read_answer(path: Path) -> Answer:
    """The answer in a file; an InputError if there is none."""
    return answer_of(read(path, LARGEST), str(path))


def utc(time: datetime) -> str:
    """A time as messages have it, to the second.

    >>> utc(datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC))
    '2030-01-02T03:04:05+00:00'
    """
    return time.astimezone(UTC).isoformat(timespec="seconds")


def _check_time(text: str, where: str) -> None:
    try:
        if utc(datetime.fromisoformat(text)) == text:
            return
    except (ValueError, OverflowError):
        pass
    raise InputError(f"{where}: until", "must be a UTC time such as 2030-01-02T03:04:05+00:00", "another text")
