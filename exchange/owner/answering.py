"""An owner's program: from the exchange's folder to a file of its answer, question by question."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from exchange.contract import Contract
from exchange.folder import answer_name, find_closing, has_ended, latest_query
from exchange.messages import Query, read_answer, read_query
from exchange.owner.aggregating import answer_step, own_answers
from exchange.owner.answers import ChargedAnswer, answer_query, charged_answer, find_account
from exchange.owner.table import Records
from exchange.signing import PartyKey
from learning.canonical import read_bytes, write_atomically
from learning.errors import InputError
from learning.privacy.ledger import Account
from learning.privacy.ledger_file import LedgerFile

PATIENCE = 60.0  # seconds that a question may be unreadable, as one that is being copied is
ELSEWHERE = "Move it away, if it is nobody's, "

Ending = Literal["answered", "finished", "left out"]


@dataclass(frozen=True, eq=False)
class Party:
    """An owner with all that is its own.

    Parameters
    ----------
    contract: the contract that it accepted.
    name: its name.
    records: its records, by the contract's rules.
    ledger: its ledger.
    key: its key; None where the exchange is not signed.
    """

    contract: Contract
    name: str
    records: Records = field(repr=False)
    ledger: LedgerFile
    key: PartyKey | None = None

    def find_account(self) -> Account | None:
        """Find the account of the contract in the ledger."""
        return find_account(self.contract, self.name, self.ledger)

    def has_charged(self, query: Query) -> bool:
        """Test whether a question was answered and charged, or answered at no charge."""
        if self.contract.aggregation is not None:
            given = own_answers(self.contract, self.name, self.ledger).get(query.round)
            return given is not None and given.query == query.digest
        account = self.find_account()
        return account is not None and charged_answer(account, query) is not None


@dataclass(frozen=True, eq=False)
class WrittenAnswer:
    """An answer where the learner finds it.

    Parameters
    ----------
    answered: the answer, and the account with it.
    path: its file.
    is_new: whether the file was written now; False where the same bytes lay there.
    """

    answered: ChargedAnswer
    path: Path
    is_new: bool


def open_ledger(path: Path, *, make: bool = False) -> LedgerFile:
    """Open an owner's ledger; ``make`` allows a new one if there is none.

    Raises an InputError if there is none, or a damaged one; or if it is gone while the answers that
    it charged are still there.
    """
    if path.exists() or path.is_symlink():
        return LedgerFile(path)
    kept = path.resolve().with_name(f"{path.name}.answers")
    if kept.is_dir() and any(kept.iterdir()):
        remedy = f"Find it: it records what was spent. Its answers are still in {kept}."
        raise InputError(str(path), "must be the ledger that was here", "no file", remedy)
    if not make:
        remedy = "dpmarket accept makes one, once. "
        remedy += "If there was one, find it: it records what was spent."
        raise InputError(str(path), "must be a ledger", "no file", remedy)
    return LedgerFile.create(path)


def find_question(contract: Contract, path: Path) -> tuple[Query | None, Path]:
    """Read the question in a file, or the latest in the exchange's folder if there is one.

    Returns
    -------
    The question, None where the folder has none yet; and the folder.

    Raises an InputError if the file is no question; or if the folder cannot be read, or its latest
    question is damaged or of another contract.
    """
    if path.is_dir():
        return latest_query(path, contract), path
    return read_query(path, contract), path.parent


def write_answer(
    party: Party, query: Query, path: Path, folder: Path | None = None
) -> WrittenAnswer:
    """Answer a question into a file; where the same answer lies there, it stays.

    In a signed exchange, a file in its place that the owner has not signed for this question is
    replaced.

    Parameters
    ----------
    folder: the exchange's folder; that of the answer unless given.

    Raises an InputError if the question is refused, or if its place holds another file or cannot
    hold one: nothing was charged then. If the disk refuses after the charge, which the error says.
    """
    _check_asked(party, query)
    is_new = not path.exists() or _is_planted(party, query, path)
    if not path.parent.is_dir():
        rule = "must be in a folder that exists"
        raise InputError(str(path), rule, "none", "Nothing was charged.")
    if not is_new and not party.has_charged(query):
        rule = f"must not be there: {party.name} has not answered this question"
        remedy = f"Nothing was charged. {ELSEWHERE}or name another place with --out."
        raise InputError(str(path), rule, "a file that is no answer to it", remedy)
    own = party.contract, party.name, query, party.records, party.ledger
    if party.contract.aggregation is None:
        answered = answer_query(*own, key=party.key)
    else:
        answered = answer_step(*own, folder or path.parent, key=party.key)
    raw = answered.answer.raw
    if is_new:
        _write_charged(path, raw)
    elif read_bytes(path) != raw:
        found = "another file: somebody else wrote it, or changed it"
        remedy = f"{ELSEWHERE}and the answer is written again; or name another place with --out."
        raise InputError(str(path), f"must be what {party.name} answered", found, remedy)
    return WrittenAnswer(answered, path, is_new)


def _is_planted(party: Party, query: Query, path: Path) -> bool:
    """Test whether somebody else's file has the place of this owner's answer, which replaces it."""
    if not party.contract.is_signed or path.name != answer_name(query.round, party.name):
        return False
    try:
        there = read_answer(path, party.contract)
    except InputError:
        return True
    return (there.owner, there.query) != (party.name, query.digest)


def check_still_open(party: Party, query: Query, folder: Path) -> None:
    """Refuse a question if a later one in the folder shows that the learner went on without it.

    An answer that was charged before may be given again.
    """
    later = None
    with suppress(InputError):
        later = latest_query(folder, party.contract)
    if later is None or later.round <= query.round or party.name in later.asked:
        return
    if not party.has_charged(query):
        rule = "must be of a round that is open: "
        rule += f"the learner went on to question {later.round} without {party.name}"
        remedy = "No privacy budget was charged, because the answer would not be used or paid."
        raise InputError("query.round", rule, query.round, remedy)


def _check_asked(party: Party, query: Query) -> None:
    """Refuse a question to others alone after one that this owner answered; says what to keep."""
    if party.name in query.asked or query.contract != party.contract.digest:
        return
    account = party.find_account()
    if account is not None and 0 < query.round - 1 <= account.answered:
        rule = f"must name {party.name}, which answered question {query.round - 1}"
        remedy = "The learner went on without it. "
        remedy += "Keep the answer, and a statement of the ledger: dpmarket state."
        raise InputError("query.asked", rule, "only others", remedy)


def _write_charged(path: Path, raw: bytes) -> None:
    try:
        write_atomically(path, raw)
    except InputError as error:
        remedy = "The answer is charged and kept: "
        remedy += "if asked again, the program gives the same bytes and spends nothing more."
        raise InputError(error.key, error.rule, error.found, remedy) from None


def follow_questions(
    party: Party,
    folder: Path,
    *,
    gave: Callable[[WrittenAnswer], object],
    awaits: Callable[[int], object],
    every: float,
) -> Ending:
    """Answer every question of an exchange's folder as it comes.

    Parameters
    ----------
    gave: called with each answer, found in its place or put there.
    awaits: called with the number of each question that it begins to wait for.
    every: seconds between two looks.

    Returns
    -------
    "answered" when the last question is; "finished" when the model and its closing are there; "left
    out" when the learner goes on without it, as the contract lets it.

    Raises an InputError if a question is refused.
    """
    contract = party.contract
    done = 0
    announced = -1
    readable = time.monotonic()
    while not has_ended(folder, contract):
        try:
            query = latest_query(folder, contract)
        except InputError:  # files may be on their way, and folders away for a moment
            if time.monotonic() > readable + PATIENCE:
                raise
            time.sleep(every)
            continue
        readable = time.monotonic()
        if query is None or _is_done(party, query, folder, done):
            if announced != done:
                awaits(done + 1)
            announced = done
            time.sleep(every)
            continue
        left_out = party.name not in query.asked and query.round > 1
        if left_out and contract.missing.rule == "without":
            return "left out"
        path = folder / answer_name(query.round, party.name)
        gave(write_answer(party, query, path, folder))
        done = query.round
        announced = -1
        if done == contract.rounds:
            return "answered"
    _check_closing(party, folder)
    return "finished"


def _check_closing(party: Party, folder: Path) -> None:
    """Refuse a closing with an answer of this owner that its ledger has not charged."""
    closing = find_closing(folder, party.contract)
    account = party.find_account()
    named = None if closing is None else closing.answers.get(party.name)
    if named is None or account is None:
        return
    if not any(entry.purpose.endswith(f" answer {named}") for entry in account.entries):
        rule = f"must have charged the answer {named[:16]} that the learner closed with"
        remedy = "Put back the ledger as it was last written."
        raise InputError(party.ledger.where, rule, "none", remedy)


def _is_done(party: Party, query: Query, folder: Path, done: int) -> bool:
    """Test whether a question was answered, and its answer still lies in the folder."""
    if query.round == done:
        return (folder / answer_name(done, party.name)).exists()
    return query.round < done
