"""The folder of an exchange: one flat folder with the contract, all questions, all answers, and in the end the model.

Whoever brings files from house to house needs to know no more than these names; a disk that both sides see needs nobody.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from learning.errors import InputError
from learning.exchange.canonical import put
from learning.exchange.closing import read_closing
from learning.exchange.contract import Contract
from learning.exchange.messages import Answer, Query, read_answer, read_query
from learning.privacy.sealed import sync_folder

CONTRACT, MODEL, CLOSING = "contract.json", "model.json", "closing.json"
SETTLEMENT, SETTLEMENT_PAGE = "settlement.json", "settlement.html"
ROUND = r"round-([0-9]{3}|[1-9][0-9]{3,8})"
QUESTION = re.compile(ROUND + r"\.query\.json")
REPLY = re.compile(ROUND + r"\.[A-Za-z0-9-]+\.answer\.json")
READABLE = 40  # letters of a name that its files show
POLL = 0.5  # seconds between two looks at the folder, of who waits for a file
Message = TypeVar("Message", Query, Answer)


def query_name(round: int) -> str:
    """The file of a round's question.

    >>> query_name(1), query_name(1000)
    ('round-001.query.json', 'round-1000.query.json')
    """
    return f"round-{round:03d}.query.json"


def answer_name(round: int, owner: str) -> str:
    """The file of an owner's answer.

    >>> answer_name(2, "Saint Mary's")
    'round-002.Saint-Mary-s-17989458.answer.json'
    """
    return f"round-{round:03d}.{owner_slug(owner)}.answer.json"


def owner_slug(name: str) -> str:
    """A name that any disk can hold and no other owner has: its letters and digits, and eight digits of its SHA-256."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    letters = re.sub(r"[^A-Za-z0-9]+", "-", plain).strip("-")[:READABLE].strip("-")
    told = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{letters}-{told}" if letters else told


@dataclass(frozen=True)
class Fault:
    """A file that is no message of the exchange, though its name says so.

    Parameters
    ----------
    name: of the file.
    said: where, what rule, what was found: one line.
    """

    name: str
    said: str


def read_folder(folder: Path, contract: Contract) -> tuple[list[Query], list[Answer], list[Fault]]:
    """The questions, by round, and the answers in a folder; and of the files of owners those that are no answers.

    Files of other names are nobody's concern. Questions are the learner's own: one that cannot be read is an error, as is
    one of another contract.

    Raises
    ------
    InputError
        If the folder cannot be read, or a question in it.
    """
    queries, answers, faults = [], [], []
    for name in names_in(folder):
        if QUESTION.fullmatch(name):
            queries.append(_read(folder / name, read_query, lambda query: query_name(query.round)))
            _check_contract(queries[-1], folder / name, contract)
        elif REPLY.fullmatch(name):
            try:
                answers.append(_read(folder / name, read_answer, lambda one: answer_name(one.round, one.owner)))
            except InputError as error:
                faults.append(Fault(name, str(error)))
    return sorted(queries, key=lambda query: query.round), answers, faults


def latest_query(folder: Path, contract: Contract) -> Query | None:
    """The question of the latest round in a folder; None before the first. Answers of others need not be there.

    What is no round of the contract is nobody's concern.

    Raises
    ------
    InputError
        If the folder, or that question, cannot be read, or it is of another contract.
    """
    rounds = [int(found[1]) for found in map(QUESTION.fullmatch, names_in(folder)) if found]
    agreed = range(1, contract.rounds + 1)
    rounds = [number for number in rounds if number in agreed and (folder / query_name(number)).exists()]
    if not rounds:
        return None
    path = folder / query_name(max(rounds))
    query = _read(path, read_query, lambda query: query_name(query.round))
    _check_contract(query, path, contract)
    return query


def finished(folder: Path) -> bool:
    """Whether the model is there: nothing more is asked."""
    return (folder / MODEL).is_file()


def closed(folder: Path, contract: Contract) -> bool:
    """Whether the exchange of a contract has ended: a model and a closing of it are there."""
    if not finished(folder) or not (folder / CLOSING).is_file():
        return False
    try:
        return read_closing(folder / CLOSING).contract == contract.digest
    except InputError:  # still being copied, or nobody's
        return False


def put_new(path: Path, raw: bytes) -> bool:
    """Write a file whole where there is none of its name; False where there is one by now, which stays as it is.

    Raises
    ------
    InputError
        If the disk refuses.
    """
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        put(beside, raw)
        os.link(beside, path)  # fails where the name is taken, at one stroke, whoever else is writing
        sync_folder(path.parent)
    except FileExistsError:
        return False
    except OSError:  # a disk without links
        if os.path.lexists(path):
            return False
        put(path, raw)
    finally:
        with suppress(OSError):
            beside.unlink()
    return True


def names_in(folder: Path) -> list[str]:
    """The names of all that lies in a folder, in order; an InputError if it cannot be read."""
    try:
        return sorted(os.listdir(folder))
    except OSError as error:
        raise InputError(str(folder), "must be the folder of the exchange", error.strerror or "an error") from None


def _read(path: Path, reading: Callable[[Path], Message], named: Callable[[Message], str]) -> Message:
    """The message in a file of the name that it must have; twice under two names would be twice in the sum."""
    message = reading(path)
    if path.name != named(message):
        raise InputError(str(path), f"must have the name that goes with its content, {named(message)}", path.name)
    return message


def _check_contract(query: Query, path: Path, contract: Contract) -> None:
    if query.contract != contract.digest:
        found = f"a question of {query.contract[:16]}"
        raise InputError(str(path), f"must be of this contract, {contract.digest[:16]}", found, "Use another folder.")
