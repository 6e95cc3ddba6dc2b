"""An owner's program at work: from the exchange's folder to a file of its answer, question by question, killed or not."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from learning.errors import InputError
from learning.exchange.canonical import put, read
from learning.exchange.contract import Contract
from learning.exchange.messages import Query, read_query
from learning.exchange.owner import Answered, account_of, answer, charged
from learning.exchange.records import Records
from learning.privacy.ledger_file import LedgerFile
from scenarios.exchange.folder import POLL, answer_name, closed, latest_query

PATIENCE = 60.0  # seconds that a question may be unreadable, as one that is being copied is

Ending = Literal["answered", "finished", "left out"]


@dataclass(frozen=True, eq=False)
class Party:
    """An owner with all that is its own.

    Parameters
    ----------
    contract: what it accepted.
    name: who it is.
    records: its records, by the contract's rules.
    ledger: what it has answered.
    """

    contract: Contract
    name: str
    records: Records = field(repr=False)
    ledger: LedgerFile


@dataclass(frozen=True, eq=False)
class Given:
    """An answer that lies where the learner finds it.

    Parameters
    ----------
    answered: the answer, and the account with it.
    path: its file.
    new: whether the file was written now; False where the same bytes lay there.
    """

    answered: Answered
    path: Path
    new: bool


def ledger_at(path: Path, *, make: bool = False) -> LedgerFile:
    """An owner's ledger; a new one if there is none and it may be made.

    Raises
    ------
    InputError
        If there is none, or a damaged one; or if it is gone while the answers that it charged are still there.
    """
    if path.exists() or path.is_symlink():
        return LedgerFile(path)
    kept = path.resolve().with_name(f"{path.name}.answers")
    if kept.is_dir() and any(kept.iterdir()):
        remedy = f"Find it: what was spent stands there. Its answers are still in {kept}."
        raise InputError(str(path), "must be the ledger that was here", "no file", remedy)
    if not make:
        remedy = "dpmarket accept makes one, once. If there was one, find it: what was spent stands there."
        raise InputError(str(path), "must be a ledger", "no file", remedy)
    return LedgerFile.create(path)


def question_at(contract: Contract, path: Path) -> tuple[Query | None, Path]:
    """The question in a file, or the latest in the exchange's folder, if there is any; and the folder it lies in.

    Raises
    ------
    InputError
        If there is no such file or folder, or no question in it, or one of another contract in the folder.
    """
    if path.is_dir():
        return latest_query(path, contract), path
    return read_query(path), path.parent


def answer_into(party: Party, query: Query, path: Path) -> Given:
    """Answer a question into a file; where the same answer lies there, it is left there.

    Raises
    ------
    InputError
        If the question is refused, another file is in its place, or no file can be: before anything is charged. If the disk
        refuses after the charge, which says so.
    """
    _check_asked(party, query)
    there = path.exists()
    if not path.parent.is_dir():
        raise InputError(str(path), "must be in a folder that is there", "none", "Nothing was charged.")
    if there:
        _check_charged(party, query, path)
    answered = answer(party.contract, party.name, query, party.records, party.ledger)
    if there and read(path) != answered.answer.raw:
        found = "another file: somebody else wrote it, or changed it"
        remedy = "Move it away, if it is nobody's, and the answer is written again; or name another place with --out."
        raise InputError(str(path), f"must be what {party.name} answered", found, remedy)
    if not there:
        _put(path, answered.answer.raw)
    return Given(answered, path, not there)


def check_open(party: Party, query: Query, folder: Path) -> None:
    """Refuse a question where a later one in its folder shows that the learner went on without this owner.

    What was charged before is not concerned: it may be given again.

    Raises
    ------
    InputError
    """
    later = None
    with suppress(InputError):
        later = latest_query(folder, party.contract)
    if later is None or later.round <= query.round or party.name in later.asked:
        return
    account = account_of(party.contract, party.name, party.ledger)
    if account is None or charged(account, query) is None:
        rule = f"must be of a round that is open: the learner went on to question {later.round} without {party.name}"
        raise InputError(
            "query.round", rule, query.round, "Nothing was charged: the answer would not be used, nor paid."
        )


def _check_asked(party: Party, query: Query) -> None:
    """Refuse a question to others in words that say what the owner has delivered."""
    if party.name in query.asked or query.contract != party.contract.digest:
        return
    account = account_of(party.contract, party.name, party.ledger)
    if account is None or not 0 < query.round - 1 <= account.answered:
        return
    rule = f"must name {party.name}, which answered question {query.round - 1}"
    remedy = "The learner went on without it. Keep the answer, and a statement of the ledger: dpmarket settle --owner."
    raise InputError("query.asked", rule, "others alone", remedy)


def _put(path: Path, raw: bytes) -> None:
    """Write what is charged."""
    try:
        put(path, raw)
    except InputError as error:
        remedy = "The answer is charged and kept: asked again, the same bytes are given, and nothing more is spent."
        raise InputError(error.key, error.rule, error.found, remedy) from None


def _check_charged(party: Party, query: Query, path: Path) -> None:
    account = account_of(party.contract, party.name, party.ledger)
    if account is None or charged(account, query) is None:
        rule = f"must not be there: {party.name} has not answered this question"
        remedy = "Nothing was charged. Move it away, if it is nobody's, or name another place with --out."
        raise InputError(str(path), rule, "a file that is no answer to it", remedy)


def follow(
    party: Party,
    folder: Path,
    *,
    gave: Callable[[Given], object],
    awaits: Callable[[int], object] = lambda number: None,
    every: float = POLL,
) -> Ending:
    """Answer every question of an exchange's folder as it comes.

    Parameters
    ----------
    gave: called with each answer, found in its place or put there.
    awaits: called with the number of each question that it begins to wait for.
    every: seconds between two looks.

    Returns
    -------
    "answered" when the last question is; "finished" when the model and its closing are there; "left out" when the learner
        goes on without it, as the contract lets it.

    Raises
    ------
    InputError
        If a question is refused.
    """
    done, waits, readable = 0, False, time.monotonic()
    while not closed(folder, party.contract):
        try:
            query = latest_query(folder, party.contract)
        except InputError:  # files may be on their way, and folders away for a moment
            if time.monotonic() > readable + PATIENCE:
                raise
            time.sleep(every)
            continue
        readable = time.monotonic()
        place = None if query is None else folder / answer_name(query.round, party.name)
        if query is None or place is None or query.round < done or (query.round == done and place.exists()):
            if not waits:
                awaits(done + 1)
            waits = True
            time.sleep(every)
            continue
        if party.name not in query.asked and query.round > 1 and party.contract.missing.rule == "without":
            return "left out"
        gave(answer_into(party, query, place))
        done, waits = query.round, False
        if done == party.contract.rounds:
            return "answered"
    return "finished"
