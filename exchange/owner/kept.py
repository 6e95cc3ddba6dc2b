"""Drawn answers on the owner's disk, kept before they are charged, so that none is drawn twice.

They lie in a folder with the ledger that its owner alone may read, each a file named by its digest.
The folder goes where the ledger goes: an answer that was charged is given again from here, the same
bytes, and never made anew.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from exchange.messages import LARGEST, Answer, Query, find_form
from exchange.terms import parse_message
from learning.canonical import (
    encode_canonical,
    parse_canonical,
    read_bytes,
    sync_folder,
    write_atomically,
)
from learning.errors import InputError
from learning.privacy.ledger_file import LedgerFile
from learning.privacy.sealed import locked_file

SUFFIX = ".answer.json"
SIGHT = ".seen.json"
LONGEST = -2.2250738585072014e-308  # no number has more digits


def kept_folder(ledger: LedgerFile) -> Path:
    """Folder of a ledger's answers, ``<ledger>.answers``."""
    return ledger.path.with_name(f"{ledger.path.name}.answers")


@contextmanager
def hold_folder(folder: Path) -> Iterator[None]:
    """Keep other programs from answering meanwhile; the folder is made where it is not there.

    Raises an InputError if another program holds it for a minute, or the disk refuses.
    """
    with locked_file(folder, "a folder of answers"):
        if not folder.is_dir():
            os.mkdir(folder, 0o700)
            sync_folder(folder.parent)
        for part in folder.glob(".*.part"):  # of a program that was killed while it wrote
            part.unlink()
        yield


def keep_answer(folder: Path, answer: Answer) -> None:
    """Write an answer to the disk.

    A full disk refuses it whatever its digits are: the disk must have room for the longest answer
    of as many numbers.
    """
    widest: dict[str, Any] = {
        name: np.full(part.shape, LONGEST) for name, part in answer.parts.items()
    }
    longest = replace(answer, **widest)
    path = folder / f"{answer.digest}{SUFFIX}"
    write_atomically(path, answer.raw, private=True, room=len(longest.raw))


def _read_kept(path: Path) -> Answer:
    """Read an answer of one's own, under whatever contract."""
    raw = read_bytes(path, LARGEST)
    return parse_message(find_form(raw, str(path)), raw, str(path))


def kept_answers(folder: Path) -> Iterator[Answer]:
    """Read the answers that are kept whole; damaged ones are passed over."""
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        with suppress(InputError):
            answer = _read_kept(path)
            if path.name == answer.digest + SUFFIX:
                yield answer


def find_drawn(folder: Path, query: Query, owner: str) -> Answer | None:
    """Find an owner's answer to a question that was drawn before a kill."""
    asked = query.digest, owner
    return next((one for one in kept_answers(folder) if (one.query, one.owner) == asked), None)


def note_sight(folder: Path, query: Query, now: str) -> str:
    """Note when a question was first seen; gives that time, also when it is seen again."""
    path = folder / f"{query.digest}{SIGHT}"
    if not path.exists():
        content = {"contract": query.contract, "round": query.round, "seen": now}
        write_atomically(path, encode_canonical(content), private=True)
    return str(parse_canonical(read_bytes(path, LARGEST), str(path))["seen"])


def list_sights(folder: Path, contract: str) -> Iterator[tuple[int, str, str]]:
    """List the questions of a contract that were seen: round, digest and time."""
    for path in sorted(folder.glob(f"*{SIGHT}")):
        content = parse_canonical(read_bytes(path, LARGEST), str(path))
        if content["contract"] == contract:
            yield int(content["round"]), path.name.removesuffix(SIGHT), str(content["seen"])


def check_uncharged(folder: Path, query: Query, owner: str) -> None:
    """Refuse to draw where an uncharged answer to another question is kept.

    Raises an InputError if there is one: it may have been given before an older copy of the ledger
    was put back.
    """
    for other in kept_answers(folder):
        if (other.contract, other.owner) == (query.contract, owner) and other.round >= query.round:
            rule = f"must hold no answer to another question of round {other.round} "
            rule += "that the ledger has not charged"
            remedy = "Put back the ledger as it was last written; "
            remedy += "or, if that answer never left, take its file away."
            raise InputError(str(folder), rule, f"{other.digest[:16]}{SUFFIX}", remedy)


def find_charged(folder: Path, digest: str, query: Query, owner: str) -> Answer:
    """Find the answer that was charged, by its digest.

    Raises an InputError if it is not there as it was kept: it cannot be made anew.
    """
    path = folder / f"{digest}{SUFFIX}"
    if path.exists():
        answer = _read_kept(path)
        if (answer.digest, answer.query, answer.owner) == (digest, query.digest, owner):
            return answer
    rule = f"must hold the answer {digest[:16]} that the ledger charged"
    remedy = "The budget is spent, and another answer would spend it again. "
    remedy += "Put the folder back as it was."
    raise InputError(str(folder), rule, "no such file", remedy)
