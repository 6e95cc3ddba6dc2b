"""An owner's end: a folder of questions and answers. No record, ledger or key is read here.

The reply to the learner is an answer's bytes or one of a few fixed words (`CODES`), never the text
of an error.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from exchange.contract import Contract, read_contract
from exchange.folder import CLOSING, CONTRACT, MODEL, answer_name, query_name
from exchange.messages import (
    LARGEST,
    Answer,
    Closing,
    Query,
    find_form,
    parse_query,
    parse_signed,
)
from exchange.signing import BadSignature
from exchange.terms import parse_message
from exchange.widths import answer_lengths, expected_lengths
from learning.canonical import read_bytes, sha256_digest, write_atomically
from learning.errors import InputError

CODES = {
    "": "done",
    "waiting": "its owner's program has not answered yet",
    "no mailbox": "it has no mailbox, or may not write there",
    "no contract": "its owner has put no contract.json into the mailbox",
    "other contract": "its owner's contract is another one",
    "forged": "what it was sent is not signed by the learner",
    "no question": "what it was sent is no question",
    "not asked": "the question is not for its owner",
    "expired": "the question's time is over",
    "other question": "it was asked another question in this round before",
    "other answer": "the answer in its mailbox is not to this question",
    "other model": "it was given another model before",
    "failed": "it could not do what it was asked",
}
LOOK = 0.2  # seconds between two looks into the mailbox


def find_contract(mailbox: Path) -> tuple[str, Contract | None]:
    """Find the owner's own contract, in its mailbox; one of `CODES` where there is none."""
    try:
        if not mailbox.is_dir():
            return "no mailbox", None
        if not (mailbox / CONTRACT).is_file():
            return "no contract", None
        return "", read_contract(mailbox / CONTRACT)
    except (InputError, OSError):
        return "failed", None


def check_contract(mailbox: Path, contract: str) -> str:
    """Compare the owner's own contract, in its mailbox, with a digest; gives one of `CODES`."""
    code, own = find_contract(mailbox)
    if own is None:
        return code
    return "" if own.digest == contract else "other contract"


def deliver_question(mailbox: Path, owner: str, raw: bytes) -> tuple[str, Query | None]:
    """Put a question into the mailbox, where it is one of the owner's contract and for it.

    Parameters
    ----------
    mailbox: the folder; it holds the owner's own copy of contract.json, which is never written
        here.
    owner: the owner of the mailbox.
    raw: bytes of the question.

    Returns
    -------
    One of `CODES`, and the question where the code is empty. A question that is there already is
    not put again; another one of the same round never takes its place.
    """
    code, own = find_contract(mailbox)
    if own is None:
        return code, None
    try:
        asked = parse_query(raw, "query", own) if len(raw) <= LARGEST else None
    except BadSignature:
        return "forged", None
    except InputError:
        asked = None
    if asked is None:
        return "no question", None
    if asked.contract != own.digest:
        code = "other contract"
    if not code and owner not in asked.asked:
        code = "not asked"
    if not code and asked.has_expired(datetime.now(UTC)):
        code = "expired"
    if code:
        return code, None
    place = mailbox / query_name(asked.round)
    try:
        if not place.exists():
            write_atomically(place, raw)
        elif read_bytes(place, LARGEST) != raw:
            return "other question", None
    except (InputError, OSError):
        return "no mailbox", None
    return "", asked


def find_answer(mailbox: Path, owner: str, asked: Query) -> tuple[str, bytes]:
    """Find the answer to a question: one of `CODES`, and the bytes where the code is empty."""
    place = mailbox / answer_name(asked.round, owner)
    try:
        if not place.exists():
            return "waiting", b""
        raw = read_bytes(place, LARGEST)
        answer = parse_message(find_form(raw, "answer"), raw, "answer")
        if answers_question(answer, owner, asked):
            return "", raw
    except OSError:
        return "no mailbox", b""
    except InputError:
        pass
    return "other answer", b""


def answers_question(answer: Answer, owner: str, asked: Query) -> bool:
    """Test whether an answer is this owner's, and to this question."""
    said = (answer.contract, answer.query, answer.round, answer.owner)
    about = (asked.contract, asked.digest, asked.round, owner)
    return said == about and answer_lengths(answer) == expected_lengths(
        type(answer), len(asked.point)
    )


def await_answer(
    mailbox: Path,
    owner: str,
    raw: bytes,
    seconds: float,
    pause: Callable[[float], None] = time.sleep,
) -> tuple[str, bytes]:
    """Put a question into the mailbox, and wait a while for its answer.

    Parameters
    ----------
    mailbox, owner, raw: as `deliver_question`.
    seconds: time for the owner's program.
    pause: waits between two looks.

    Returns
    -------
    One of `CODES`, ``waiting`` if there was no answer in that time, and the answer's bytes if the
    code is empty.
    """
    code, asked = deliver_question(mailbox, owner, raw)
    if asked is None:
        return code, b""
    looks = max(int(seconds / LOOK), 1)
    for look in range(looks):
        code, answer = find_answer(mailbox, owner, asked)
        if code != "waiting" or look == looks - 1:
            break
        pause(LOOK)
    return code, answer


def deliver_model(mailbox: Path, contract: str, model: bytes, closing: bytes = b"") -> str:
    """Put the model into the mailbox, which ends the owner's program; gives one of `CODES`.

    Parameters
    ----------
    mailbox: the folder.
    contract: digest of the learner's contract.
    model, closing: bytes of model.json, and of closing.json if there is one, which is put before
        it.
    """
    code, own = find_contract(mailbox)
    if own is None:
        return code
    if own.digest != contract:
        return "other contract"
    if own.is_signed and not _is_closed(model, closing, own):
        return "forged"
    try:
        for place, raw in ((mailbox / CLOSING, closing), (mailbox / MODEL, model)):
            if raw and not place.exists():
                write_atomically(place, raw)
            if raw and read_bytes(place) != raw:
                return "other model"
    except (InputError, OSError):
        return "no mailbox"
    return ""


def _is_closed(model: bytes, closing: bytes, contract: Contract) -> bool:
    """Test whether the learner has signed a closing that names the model."""
    with suppress(InputError):
        closed = parse_signed(Closing, closing, "closing", contract)
        return (closed.contract, closed.model) == (contract.digest, sha256_digest(model))
    return False
