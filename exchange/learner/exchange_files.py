"""The files of an exchange, as a learner or anybody after the closing reads them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from exchange.contract import Contract
from exchange.folder import MODEL, find_closing
from exchange.learner.opening import read_opened
from exchange.learner.settlement import (
    Fault,
)
from exchange.messages import Answer, Closing, Masked, Query, Sealed
from exchange.signing import PartyKey
from learning.canonical import read_bytes, sha256_digest
from learning.errors import InputError
from scenarios.model_file import HandedOver, from_json


@dataclass(frozen=True)
class Exchange:
    """The files of an exchange.

    Parameters
    ----------
    contract: its contract.
    queries, answers: all that its folder holds.
    faults: files that are no part of it.
    model: the model; None where there is none yet.
    model_content: the content of its file.
    model_digest: SHA-256 of its file.
    closing: the learner's closing; None where there is none.
    sealed: the answers as they came, where the exchange is signed.
    """

    contract: Contract
    queries: tuple[Query, ...] = field(repr=False)
    answers: tuple[Answer, ...] = field(repr=False)
    faults: tuple[Fault, ...] = ()
    model: HandedOver | None = field(default=None, repr=False)
    model_content: Mapping[str, Any] = field(default_factory=dict, repr=False)
    model_digest: str = ""
    closing: Closing | None = field(default=None, repr=False)
    sealed: tuple[Sealed | Masked, ...] = field(default=(), repr=False)


def read_exchange(folder: Path, contract: Contract, key: PartyKey | None = None) -> Exchange:
    """Read the files of an exchange; before the closing, with the learner's key if it is signed.

    Raises
    ------
    InputError
        If the folder or the model cannot be read.
    """
    closing = find_closing(folder, contract)
    given = read_opened(folder, contract, closing, key)
    rule = "must be an answer of this exchange"
    found = Exchange(
        contract,
        tuple(given.queries),
        tuple(given.answers),
        tuple(Fault(one.name, rule, one.reason) for one in given.unreadable),
        closing=closing,
        sealed=tuple(given.sealed),
    )
    path = folder / MODEL
    if not path.is_file():
        return found
    try:
        model = from_json(path)
        raw = read_bytes(path)
    except InputError as error:
        remedy = "Put the file back as dpmarket collect wrote it."
        raise InputError(error.key, error.rule, error.found, remedy) from None
    content = json.loads(raw)
    return replace(found, model=model, model_content=content, model_digest=sha256_digest(raw))
