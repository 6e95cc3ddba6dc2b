"""An owner's end: a folder where questions are put, and answers are found. Nothing here reads a record, a ledger or a key.

What goes back to the learner is an answer's bytes or one of a few fixed words (`CODES`), never an error's text.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from learning.errors import InputError
from learning.exchange.canonical import digest, put, read
from learning.exchange.messages import LARGEST, Answer, Query, answer_of, query_of
from scenarios.exchange.folder import CLOSING, CONTRACT, MODEL, answer_name, query_name

CODES = {
    "": "done",
    "waiting": "its owner's program has not answered yet",
    "no mailbox": "it has no mailbox, or may not write there",
    "no contract": "its owner has put no contract.json into the mailbox",
    "other contract": "its owner's contract is another one",
    "no question": "what it was sent is no question",
    "not asked": "the question is not for its owner",
    "expired": "the question's time is over",
    "other question": "it was asked another question in this round before",
    "other answer": "the answer in its mailbox is not to this question",
    "other model": "it was given another model before",
    "failed": "it could not do what it was asked",
}


def agreed(mailbox: Path, contract: str) -> str:
    """Whether the owner's own contract, which it put into its mailbox, is that of a digest; one of `CODES`."""
    try:
        if not mailbox.is_dir():
            return "no mailbox"
        if not (mailbox / CONTRACT).is_file():
            return "no contract"
        return "" if digest(read(mailbox / CONTRACT)) == contract else "other contract"
    except (InputError, OSError):
        return "failed"


def deliver(mailbox: Path, owner: str, raw: bytes) -> tuple[str, Query | None]:
    """Put a question into the mailbox, where it is one of the owner's contract and for it.

    Parameters
    ----------
    mailbox: the folder; it holds the owner's own copy of contract.json, which is never written here.
    owner: whose mailbox it is.
    raw: bytes of the question.

    Returns
    -------
    One of `CODES`, and the question where the code is empty. A question that is there already is not put again; another one
    of the same round never takes its place.
    """
    try:
        asked = query_of(raw, "query") if len(raw) <= LARGEST else None
    except InputError:
        asked = None
    if asked is None:
        return "no question", None
    code = agreed(mailbox, asked.contract) or ("" if owner in asked.asked else "not asked")
    if code or asked.expired(datetime.now(UTC)):
        return code or "expired", None
    place = mailbox / query_name(asked.round)
    try:
        if not place.exists():
            put(place, raw)
        elif read(place, LARGEST) != raw:
            return "other question", None
    except (InputError, OSError):
        return "no mailbox", None
    return "", asked


def found(mailbox: Path, owner: str, asked: Query) -> tuple[str, bytes]:
    """The answer to a question, where the owner's program has put it: one of `CODES`, and its bytes if that is empty."""
    place = mailbox / answer_name(asked.round, owner)
    try:
        if not place.exists():
            return "waiting", b""
        raw = read(place, LARGEST)
        return ("", raw) if fits(answer_of(raw, "answer"), owner, asked) else ("other answer", b"")
    except InputError:
        return "other answer", b""
    except OSError:
        return "no mailbox", b""


def fits(answer: Answer, owner: str, asked: Query) -> bool:
    """Whether an answer is this owner's, and to this question."""
    said = (answer.contract, answer.query, answer.round, answer.owner, len(answer.gradient))
    return said == (asked.contract, asked.digest, asked.round, owner, len(asked.point))


def awaited(
    mailbox: Path, owner: str, raw: bytes, seconds: float, pause: Callable[[float], None] = time.sleep
) -> tuple[str, bytes]:
    """Put a question into the mailbox, and wait a while for its answer.

    Parameters
    ----------
    mailbox, owner, raw: as `deliver`.
    seconds: how long to wait for the owner's program.
    pause: waits between two looks.

    Returns
    -------
    One of `CODES`, ``waiting`` if there was no answer in that time, and the answer's bytes if the code is empty.
    """
    code, asked = deliver(mailbox, owner, raw)
    if asked is None:
        return code, b""
    looks = max(int(seconds / LOOK), 1)
    for look in range(looks):
        code, answer = found(mailbox, owner, asked)
        if code != "waiting" or look == looks - 1:
            break
        pause(LOOK)
    return code, answer


LOOK = 0.2  # seconds between two looks into the mailbox


def finished(mailbox: Path, contract: str, model: bytes, closing: bytes = b"") -> str:
    """Put the model into the mailbox, which tells the owner's program that all is over; one of `CODES`.

    Parameters
    ----------
    mailbox: the folder.
    contract: digest of the learner's contract.
    model, closing: bytes of model.json, and of closing.json if there is one, which is put before it.
    """
    code = agreed(mailbox, contract)
    if code:
        return code
    try:
        for place, raw in ((mailbox / CLOSING, closing), (mailbox / MODEL, model)):
            if raw and not place.exists():
                put(place, raw)
            if raw and read(place) != raw:
                return "other model"
        return ""
    except (InputError, OSError):
        return "no mailbox"
