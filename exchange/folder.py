"""The folder of an exchange: the contract, all questions, all answers, and in the end the model.

It is flat, so that files can be carried from party to party by their names alone.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from exchange.contract import Contract
from exchange.messages import Closing, Query, read_closing, read_query
from exchange.signing import BadSignature
from learning.canonical import read_bytes, sha256_digest, sync_folder, write_atomically
from learning.errors import InputError, describe_system_error

CONTRACT = "contract.json"
MODEL = "model.json"
CLOSING = "closing.json"
ROUND = r"round-([0-9]{3}|[1-9][0-9]{3,8})"
QUESTION = re.compile(ROUND + r"\.query\.json")
REPLY = re.compile(ROUND + r"\.[A-Za-z0-9-]+\.answer\.json")
READABLE = 40  # letters of a name that its files show


def query_name(round: int) -> str:
    """Name of the file of a round's question.

    >>> query_name(1), query_name(1000)
    ('round-001.query.json', 'round-1000.query.json')
    """
    return f"round-{round:03d}.query.json"


def answer_name(round: int, owner: str) -> str:
    """Name of the file of an owner's answer.

    >>> answer_name(2, "Saint Mary's")
    'round-002.Saint-Mary-s-17989458.answer.json'
    """
    return f"round-{round:03d}.{owner_slug(owner)}.answer.json"


def acceptance_name(owner: str) -> str:
    """Name of the file of an owner's acceptance."""
    return f"{owner_slug(owner)}.acceptance.json"


def owner_slug(name: str) -> str:
    """Name for files, unique to an owner: letters, digits, and eight digits of its SHA-256."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    letters = re.sub(r"[^A-Za-z0-9]+", "-", plain).strip("-")[:READABLE].strip("-")
    digits = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{letters}-{digits}" if letters else digits


def latest_query(folder: Path, contract: Contract) -> Query | None:
    """Read the question of the latest round; None before the first.

    Rounds beyond those of the contract play no part. Where the exchange is signed, neither do files
    that are no questions of the contract with the learner's signature. Answers need not be there.

    Raises an InputError if the folder cannot be read; where nothing is signed also if that question
    cannot be read, or is of another contract.
    """
    planted = InputError if contract.is_signed else BadSignature
    for number in sorted(_rounds_asked(folder, contract), reverse=True):
        with suppress(planted):
            return read_question(folder / query_name(number), contract)
    return None


def _rounds_asked(folder: Path, contract: Contract) -> Iterator[int]:
    for found in filter(None, map(QUESTION.fullmatch, list_names(folder))):
        number = int(found[1])
        if 1 <= number <= contract.rounds and (folder / query_name(number)).exists():
            yield number


def has_model(folder: Path) -> bool:
    """Test whether the model is there, so that nothing more is asked."""
    return (folder / MODEL).is_file()


def find_closing(folder: Path, contract: Contract) -> Closing | None:
    """Read the closing; None where there is none."""
    path = folder / CLOSING
    return read_closing(path, contract) if path.is_file() else None


def has_ended(folder: Path, contract: Contract) -> bool:
    """Test whether a closing of the contract is there, and the model that it names."""
    try:
        closing = find_closing(folder, contract)
        if closing is None or closing.contract != contract.digest or not has_model(folder):
            return False
        return sha256_digest(read_bytes(folder / MODEL)) == closing.model
    except InputError:  # still being copied, or not the learner's
        return False


def write_new(path: Path, raw: bytes) -> bool:
    """Write a whole file unless one of its name is there.

    Returns
    -------
    False where a file is there, which stays as it is.

    Raises an InputError if the disk refuses.
    """
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        write_atomically(part, raw)
        os.link(part, path)  # atomic: fails where the name is taken
        sync_folder(path.parent)
    except FileExistsError:
        return False
    except OSError:  # a disk without links
        if os.path.lexists(path):
            return False
        write_atomically(path, raw)
    finally:
        with suppress(OSError):
            part.unlink()
    return True


def list_names(folder: Path) -> list[str]:
    """List the names in a folder, in order; an InputError if it cannot be read."""
    try:
        return sorted(os.listdir(folder))
    except OSError as error:
        found = describe_system_error(error)
        raise InputError(str(folder), "must be the folder of the exchange", found) from None


def read_question(path: Path, contract: Contract) -> Query:
    """Read a question of the contract, in a file of its name; an InputError otherwise."""
    query = read_query(path, contract)
    check_name(path, query_name(query.round))
    if query.contract != contract.digest:
        rule = f"must be of this contract, {contract.digest[:16]}"
        found = f"a question of {query.contract[:16]}"
        raise InputError(str(path), rule, found, "Use another folder.")
    return query


def check_name(path: Path, name: str) -> None:
    """Refuse a message under another name: one under two names would count twice."""
    if path.name != name:
        rule = f"must have the name that its content requires, {name}"
        raise InputError(str(path), rule, path.name)
