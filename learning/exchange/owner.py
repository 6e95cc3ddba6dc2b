"""The owner's side of an exchange: it checks the question, answers it once at most, and its own ledger says so.

An answer is drawn and kept, then charged, and only then given. A kill before the charge has told nothing and cost nothing;
after it, the kept answer is given at the next start. So a round has one answer, whatever is killed, asked again, or run twice
at the same time. A question is refused for its form, its turn and its time, never for what a record holds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from learning.errors import InputError
from learning.exchange import kept as kept_answers
from learning.exchange.contract import Contract
from learning.exchange.messages import Answer, Query
from learning.exchange.records import Records
from learning.privacy.ledger import Account
from learning.privacy.ledger_file import Accepted, LedgerFile
from learning.privacy.release import Released, release
from learning.privacy.secure_noise import longest

SHOWN = 16  # digits of a digest that messages show


@dataclass(frozen=True, eq=False)
class Answered:
    """An answer that is charged and may be given.

    Parameters
    ----------
    answer: what may leave.
    account: the owner's account with it.
    again: whether it had been charged before, and nothing was spent now.
    """

    answer: Answer
    account: Account = field(repr=False)
    again: bool


def account_of(contract: Contract, name: str, ledger: LedgerFile) -> Account | None:
    """The account that an owner opened for a contract; None where it has none.

    Raises
    ------
    InputError
        If these records have an account under other terms: of another contract, or of one that was altered since.
    """
    budget = contract.terms(name).budget
    accounts = ledger.accounts
    account = next((one for one in accounts if one.budget.key == budget.key), None)
    same = tuple(part.casefold() for part in budget.key)
    alike = [one.budget.data for one in accounts if tuple(part.casefold() for part in one.budget.key) == same]
    if account is None and alike:
        rule = "must differ by more than capitals from every name that the ledger keeps records under"
        remedy = "One name for the same records; another for others."
        raise InputError(ledger.where, rule, f'"{budget.data}" beside "{alike[0]}"', remedy)
    if account is None or account.budget == budget:
        return account
    differ = [key for key, value in vars(budget).items() if vars(account.budget).get(key) != value]
    told = [f"{key} {getattr(budget, key)} for {getattr(account.budget, key)}" for key in differ if key != "bounds"]
    raise InputError(
        ledger.where,
        f'holds the account of {budget.owner} for "{budget.data}" under {_signed(account.budget.bounds)}',
        ", ".join([_signed(budget.bounds), *told]),
        "Answer under the contract that was accepted. Other terms on the same records are another budget, which adds up.",
    )


def _signed(bounds: str) -> str:
    """The contract that a budget's bounds end with."""
    _, found, digest = bounds.partition(", contract ")
    return f"contract {digest[:SHOWN]}" if found else "no contract"


def check_query(contract: Contract, name: str, query: Query) -> None:
    """Refuse a question that a contract does not allow to be asked of an owner.

    Raises
    ------
    InputError
        By the name of what is wrong: another contract; a round beyond those agreed; an owner not asked, or others asked
        than the contract's; a point of another length or outside the ball, or in the first round elsewhere than at the
        start; a chain that does not begin in the first round, or is broken in a later one.
    """
    point, width = query.point, len(contract.bounds.start)
    contract.owner(name)
    if query.contract != contract.digest:
        remedy = "Nothing is answered on another contract, or on one that was altered."
        digits = SHOWN if query.contract[:SHOWN] != contract.digest[:SHOWN] else None  # all where the first are alike
        rule = f"must be {contract.digest[:digits]}, which was accepted"
        _refuse("contract", rule, query.contract[:digits], remedy)
    if not 1 <= query.round <= contract.rounds:
        _refuse("round", f"must be one of the {contract.rounds} that the contract agrees on", query.round)
    foreign = [other for other in query.asked if other not in contract.names]
    if foreign:
        _refuse("asked", "must be owners of the contract", f"{len(foreign)} others")
    listed = tuple(other for other in contract.names if other in query.asked)
    if query.asked != listed:
        _refuse("asked", "must be in the order of the contract", "another order")
    if name not in query.asked:
        _refuse("asked", f"must name {name}, or {name} does not answer", f"{len(query.asked)} others")
    if contract.missing.rule == "wait" and len(query.asked) < len(contract.names):
        rule = f"must be all {len(contract.names)} owners: the contract goes on without nobody"
        _refuse("asked", rule, len(query.asked))
    if len(query.asked) < contract.missing.at_least:
        _refuse("asked", f"must be at least {contract.missing.at_least} owners", len(query.asked))
    if point.shape != (width,) or not np.isfinite(point).all():
        _refuse("point", f"must be {width} finite numbers", f"{point.size}")
    coordinates = contract.coordinates
    length = coordinates.reach(point)
    if not length <= coordinates.theta_max * longest(width):
        _refuse("point", f"must lie in the ball of {coordinates.theta_max:g} that was agreed", f"length {length:.17g}")
    if query.round == 1:
        if query.asked != contract.names:
            _refuse("asked", f"must be all {len(contract.names)} owners in the first round", len(query.asked))
        if query.previous is not None or query.answers:
            _refuse("previous", "must be null in the first round, and answers none", "some")
        if point.any():
            _refuse("point", "must be the start, all 0, in the first round", f"length {length:.17g}")
    elif query.previous is None or name not in query.answers:
        rule = f"must name the question before and the answer that {name} gave to it"
        _refuse("previous", rule, "none")
    elif set(query.answers) != set(query.asked):
        rule = "must be those of all who are asked, and of nobody else: who is gone on without is out for good"
        _refuse("answers", rule, f"{len(query.answers)} answers, {len(query.asked)} asked")


def answer(
    contract: Contract,
    name: str,
    query: Query,
    records: Records,
    ledger: LedgerFile,
    kept: Path | None = None,
    *,
    now: datetime | None = None,
) -> Answered:
    """Answer a question once: drawn and kept, then charged, then given; a question charged before gets the same bytes.

    Parameters
    ----------
    contract: what was accepted.
    name: the owner.
    query: the question.
    records: the owner's, by the rules of the contract.
    ledger: holds the owner's account, opened by `learning.exchange.accepting.accept`.
    kept: the folder of answers that goes with the ledger; ``<ledger>.answers`` unless given.
    now: the time, which must know its zone; the clock's unless given.

    Raises
    ------
    InputError
        If the question is not of the contract, came too late or out of turn, or its round was answered to another one; if
        the ledger is missing, damaged or of another owner or contract, or the records have another shape than announced.
        Nothing is charged then, and nothing given.
    """
    check_query(contract, name, query)
    folder = kept_answers.kept_beside(ledger) if kept is None else kept
    with kept_answers.alone(folder):
        account, _ = accepted_account(contract, name, ledger)
        given = charged(account, query)
        if given is not None:
            return Answered(kept_answers.given(folder, given, query, name), account, again=True)
        check_turn(account, name, query, datetime.now(UTC) if now is None else now)
        made = kept_answers.drawn(folder, query, name)
        if made is None:
            kept_answers.check_uncharged(folder, query, name)
            made = _drawn(contract, name, query, records, ledger, folder)
        else:
            ledger.charge(account.budget, purpose(made), first=query.round)
        return Answered(made, ledger.account(account.budget.owner, account.budget.data), again=False)


def _drawn(contract: Contract, name: str, query: Query, records: Records, ledger: LedgerFile, folder: Path) -> Answer:
    """A new answer, kept and charged."""
    drawn: list[Answer] = []

    def keep(made: Released) -> str:
        drawn.append(Answer(contract.digest, query.digest, query.round, name, made.answer))
        kept_answers.keep(folder, drawn[0])
        return purpose(drawn[0])

    x, y, terms = records.x, records.y, contract.terms(name)
    release(x, y, query.point, terms, ledger=ledger, persons=records.persons, number=query.round, keep=keep)
    return drawn[0]


def purpose(answer: Answer) -> str:
    """What a ledger enters for an answer: whole digests, of which no other question or answer has one.

    >>> purpose(Answer("c" * 64, "d" * 64, 3, "bank", np.zeros(1)))[:44]
    'contract cccccccccccccccc round 3 query dddd'
    """
    return f"{_asked(answer.contract, answer.round, answer.query)}{answer.digest}"


def _asked(contract: str, number: int, query: str) -> str:
    """How what a ledger enters for a question begins."""
    return f"contract {contract[:SHOWN]} round {number} query {query} answer "


def charged(account: Account, query: Query) -> str | None:
    """The digest of the answer that an account was charged for a question; None before it is charged.

    Raises
    ------
    InputError
        If its round was answered to another question.
    """
    entry = _entry(account, query.round)
    if entry is None:
        return None
    asked = _asked(query.contract, query.round, query.digest)
    if not entry.startswith(asked):
        rule = f"{account.budget.owner} answers each round once, and has answered this one to another question"
        _refuse("round", rule, query.round)
    return entry.removeprefix(asked)


def check_turn(account: Account, name: str, query: Query, now: datetime) -> None:
    """Refuse a question that is not the next, does not follow from what was answered, or whose time is over.

    Raises
    ------
    InputError
        By the name of what is wrong.
    """
    following = account.answered + 1
    if query.round != following:
        _refuse("round", f"must be {following}, the next that {name} is to answer", query.round)
    if query.round > 1:
        begins = _asked(query.contract, query.round - 1, query.previous or "")
        before = _entry(account, query.round - 1) or ""
        if not before.startswith(begins):
            _refuse("previous", f"must be the question that {name} answered before", (query.previous or "")[:SHOWN])
        if query.answers[name] != before.removeprefix(begins):
            _refuse("answers", f"must be those that were given, {name}'s too", query.answers[name][:SHOWN])
    if query.expired(now):
        remedy = "Ask the learner whether it goes on without."
        _refuse("until", "must not be over", query.until, remedy)


def _entry(account: Account, number: int) -> str | None:
    """What was entered for an answer, by number."""
    return next((entry.purpose for entry in account.entries if entry.first <= number <= entry.last), None)


def accepted_account(contract: Contract, name: str, ledger: LedgerFile) -> tuple[Account, Accepted]:
    """The account that an owner opened by accepting a contract, and what it accepted.

    Raises
    ------
    InputError
        If there is none, or the ledger holds one under other terms.
    """
    account = account_of(contract, name, ledger)
    accepted = None if account is None else ledger.accepted(account.budget)
    if account is None or accepted is None:
        rule = f'must hold the account of {name} for "{contract.records}"'
        raise InputError(ledger.where, rule, "none", "Accept the contract first: dpmarket accept.")
    return account, accepted


def _refuse(key: str, rule: str, found: object, remedy: str = "") -> None:
    raise InputError(f"query.{key}", rule, found, remedy)
