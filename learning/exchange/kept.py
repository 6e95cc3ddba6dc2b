"""Answers that an owner has drawn, kept on its own disk before they are charged: none is lost by a kill, none drawn twice.

They lie in a folder beside the ledger that its owner alone may read, each a file named by its digest. The folder goes where
the ledger goes: what was charged is given again from here, the same bytes, and never made anew.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from learning.errors import InputError
from learning.exchange.canonical import put
from learning.exchange.messages import Answer, Query, read_answer
from learning.privacy.ledger_file import LedgerFile
from learning.privacy.sealed import locked, sync_folder

SUFFIX = ".answer.json"
LONGEST = -2.2250738585072014e-308  # no number has more digits


def kept_beside(ledger: LedgerFile) -> Path:
    """The folder that goes with a ledger, ``<ledger>.answers``."""
    return ledger.path.with_name(f"{ledger.path.name}.answers")


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """No other program answers meanwhile; the folder is made where it is not there.

    Raises
    ------
    InputError
        If another program holds it for a minute, or the disk refuses.
    """
    with locked(folder, "a folder of answers"):
        if not folder.is_dir():
            os.mkdir(folder, 0o700)
            sync_folder(folder.parent)
        for part in folder.glob(".*.part"):  # of a program that was killed while it wrote
            part.unlink()
        yield


def keep(folder: Path, answer: Answer) -> None:
    """Put an answer where it outlives the program; when this returns, the disk has it.

    A full disk refuses it whatever its digits are: the disk must have room for the longest answer of as many numbers.
    """
    longest = replace(answer, gradient=np.full(answer.gradient.shape, LONGEST))
    put(folder / f"{answer.digest}{SUFFIX}", answer.raw, private=True, room=len(longest.raw))


def answers_in(folder: Path) -> Iterator[Answer]:
    """The answers that are kept whole; damaged ones are passed over."""
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        with suppress(InputError):
            answer = read_answer(path)
            if path.name == answer.digest + SUFFIX:
                yield answer


def drawn(folder: Path, query: Query, owner: str) -> Answer | None:
    """The answer of an owner to a question that was drawn before a kill, if there is one."""
    asked = query.digest, owner
    return next((one for one in answers_in(folder) if (one.query, one.owner) == asked), None)


def check_uncharged(folder: Path, query: Query, owner: str) -> None:
    """Refuse to draw where an answer to another question of this round, or of a later one, is kept, and no ledger charged it.

    Raises
    ------
    InputError
        That answer may have been given, on a ledger of which an older copy was put back.
    """
    for other in answers_in(folder):
        if (other.contract, other.owner) == (query.contract, owner) and other.round >= query.round:
            rule = f"must hold no answer to another question of round {other.round} that the ledger has not charged"
            remedy = "Put back the ledger as it was last written; or, if that answer never left, take its file away."
            raise InputError(str(folder), rule, f"{other.digest[:16]}{SUFFIX}", remedy)


def given(folder: Path, digest: str, query: Query, owner: str) -> Answer:
    """The answer that was charged, by its digest.

    Raises
    ------
    InputError
        If it is not there as it was kept: it cannot be made anew.
    """
    path = folder / f"{digest}{SUFFIX}"
    if path.exists():
        answer = read_answer(path)
        if (answer.digest, answer.query, answer.owner) == (digest, query.digest, owner):
            return answer
    remedy = "The budget is spent, and another answer would spend it again. Put the folder back as it was."
    raise InputError(str(folder), f"must hold the answer {digest[:16]} that the ledger charged", "no such file", remedy)
