"""The end of an exchange: which answers to the last question the model was made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from learning.exchange.canonical import canonical, parse, read
from learning.exchange.forms import modelled, same_bytes
from learning.exchange.messages import LARGEST, Digest, Name
from learning.exchange.terms import Form

FORMAT = "dpmarket closing 1"


class _ClosingForm(Form):
    format: Literal["dpmarket closing 1"]
    contract: Digest
    query: Digest
    answers: dict[Name, Digest]
    model: Digest


@dataclass(frozen=True, eq=False)
class Closing:
    """What no later question says of the last one.

    Parameters
    ----------
    contract: digest of the contract.
    query: digest of the last question.
    answers: owner -> digest of its answer to that question, of those that the model was made from.
    model: SHA-256 of the model's file.
    """

    contract: str
    query: str
    answers: Mapping[str, str]
    model: str

    @cached_property
    def raw(self) -> bytes:
        """Its bytes."""
        return canonical({"format": FORMAT, **vars(self), "answers": dict(self.answers)})


def read_closing(path: Path) -> Closing:
    """The closing in a file; an InputError if there is none, or one of another form."""
    raw = read(path, LARGEST)
    told = modelled(_ClosingForm, parse(raw, str(path)), str(path))
    return same_bytes(Closing(told.contract, told.query, told.answers, told.model), raw, str(path))
