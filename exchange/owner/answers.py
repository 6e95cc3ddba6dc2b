"""The owner's answers: the question is checked, answered once at most, and charged to the ledger.

An answer is drawn and kept, then charged, and only then given. A kill before the charge has
revealed nothing and cost nothing; after it, the kept answer is given at the next start. So a round
has one answer, however often programs are killed, asked again, or run at the same time. A question
is refused for its form, its turn and its time, never for the content of a record.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import NoReturn

import numpy as np

from exchange.contract import Contract
from exchange.messages import Answer, Gradient, Query, Sums, open_for, sign_message, utc_text
from exchange.owner import kept as kept_answers
from exchange.owner.table import Records
from exchange.sealing import seal_answer
from exchange.signing import PartyKey
from learning.canonical import sha256_digest
from learning.errors import InputError
from learning.privacy.ledger import Account, Budget
from learning.privacy.ledger_file import LedgerFile
from learning.privacy.registry import Accepted
from learning.privacy.release import Released, release
from learning.privacy.secure_noise import rounding_factor

SHOWN = 16  # digits of a digest that messages show
SKEW = timedelta(minutes=5)  # between two clocks


@dataclass(frozen=True, eq=False)
class ChargedAnswer:
    """An answer that is charged and may be given.

    Parameters
    ----------
    answer: the answer.
    account: the owner's account after it.
    again: whether it had been charged before, and nothing was spent now.
    """

    answer: Answer
    account: Account = field(repr=False)
    again: bool


def find_account(contract: Contract, name: str, ledger: LedgerFile) -> Account | None:
    """Find the account that an owner opened for a contract; None where it has none.

    Raises an InputError if these records have an account under other terms: of another contract, or
    of one that was altered since.
    """
    budget = contract.terms(name).budget
    accounts = {account.budget.key: account for account in ledger.accounts}
    account = accounts.get(budget.key)
    if account is None:
        _check_capitals(budget, list(accounts.values()), ledger)
        return None
    if account.budget == budget:
        return account
    held = vars(account.budget)
    differ = {key: value for key, value in vars(budget).items() if held.get(key) != value}
    differ.pop("bounds", None)
    others = [f"{key} {value} for {held[key]}" for key, value in differ.items()]
    account_name = f'the account of {budget.owner} for "{budget.data}"'
    rule = f"holds {account_name} under {_contract_words(account.budget.bounds)}"
    remedy = "Answer under the contract that was accepted. "
    remedy += "Other terms on the same records are a second budget, which adds to the first."
    found = ", ".join([_contract_words(budget.bounds), *others])
    raise InputError(ledger.where, rule, found, remedy)


def _check_capitals(budget: Budget, accounts: list[Account], ledger: LedgerFile) -> None:
    """Refuse a name that differs from another account's in capitals alone."""
    folded = [part.casefold() for part in budget.key]
    for account in accounts:
        if [part.casefold() for part in account.budget.key] == folded:
            rule = "must differ by more than capitals from every name "
            rule += "that the ledger keeps records under"
            remedy = "Use one name for the same records, and another name for other records."
            found = f'"{budget.data}" beside "{account.budget.data}"'
            raise InputError(ledger.where, rule, found, remedy)


def _contract_words(bounds: str) -> str:
    """Name the contract that a budget's bounds end with."""
    _, found, digest = bounds.partition(", contract ")
    return f"contract {digest[:SHOWN]}" if found else "no contract"


def check_query(contract: Contract, name: str, query: Query) -> None:
    """Refuse a question that a contract does not allow to be asked of an owner.

    Raises an InputError under the key that is wrong: another contract; a round beyond those agreed;
    an owner not asked, or others asked than the contract's; a point of another length, outside the
    ball, or elsewhere than at the start in the first round; a chain that does not begin in the
    first round, or is broken in a later one.
    """
    contract.owner(name)
    if query.contract != contract.digest:
        # All digits where the first are the same.
        digits = SHOWN if query.contract[:SHOWN] != contract.digest[:SHOWN] else None
        rule = f"must be {contract.digest[:digits]}, which was accepted"
        remedy = "Nothing is answered on another contract, or on one that was altered."
        refuse("contract", rule, query.contract[:digits], remedy)
    if not 1 <= query.round <= contract.rounds:
        rule = f"must be one of the {contract.rounds} that the contract agrees on"
        refuse("round", rule, query.round)
    _check_asked(contract, name, query)
    _check_point(contract, query)
    _check_chain(name, query)


def _check_asked(contract: Contract, name: str, query: Query) -> None:
    """Refuse a question to other owners than the contract allows."""
    asked = query.asked
    foreign = [other for other in asked if other not in contract.names]
    if foreign:
        refuse("asked", "must be owners of the contract", f"{len(foreign)} others")
    if asked != tuple(other for other in contract.names if other in asked):
        refuse("asked", "must be in the order of the contract", "another order")
    if name not in asked:
        refuse("asked", f"must name {name}, or {name} does not answer", f"{len(asked)} others")
    count = len(contract.names)
    if contract.missing.rule == "wait" and len(asked) < count:
        rule = f"must be all {count} owners: the contract waits for everybody"
        refuse("asked", rule, len(asked))
    if len(asked) < contract.missing.at_least:
        refuse("asked", f"must be at least {contract.missing.at_least} owners", len(asked))
    if query.round == 1 and asked != contract.names:
        refuse("asked", f"must be all {count} owners in the first round", len(asked))


def _check_point(contract: Contract, query: Query) -> None:
    """Refuse a point outside the ball, or another than the start in the first round."""
    point = query.point
    width = len(contract.bounds.start)
    if point.shape != (width,) or not np.isfinite(point).all():
        refuse("point", f"must be {width} finite numbers", f"{point.size}")
    coordinates = contract.coordinates
    length = coordinates.reach(point)
    if not length <= coordinates.theta_max * rounding_factor(width):
        rule = f"must lie in the ball of {coordinates.theta_max:g} that was agreed"
        refuse("point", rule, f"length {length:.17g}")
    if (query.round == 1 or contract.sums is not None) and point.any():
        rule = "must be the start, all 0, in the first round"
        refuse("point", rule, f"length {length:.17g}")


def _check_chain(name: str, query: Query) -> None:
    """Refuse a question that does not name the one before it and its answers."""
    if query.round == 1:
        if query.previous is not None or query.answers:
            refuse("previous", "must be null in the first round, and answers none", "some")
    elif query.previous is None or name not in query.answers:
        rule = f"must name the question before and the answer that {name} gave to it"
        refuse("previous", rule, "none")
    elif set(query.answers) != set(query.asked):
        rule = "must be those of exactly the owners that are asked: "
        rule += "an owner that is left out stays out"
        refuse("answers", rule, f"{len(query.answers)} answers, {len(query.asked)} asked")


def answer_query(
    contract: Contract,
    name: str,
    query: Query,
    records: Records,
    ledger: LedgerFile,
    *,
    now: datetime | None = None,
    key: PartyKey | None = None,
) -> ChargedAnswer:
    """Answer a question once: drawn and kept, then charged, then given.

    A question that was charged before gets the same bytes.

    Parameters
    ----------
    contract: the contract that was accepted.
    name: the owner.
    query: the question.
    records: the owner's, by the rules of the contract.
    ledger: holds the owner's account, opened by `exchange.owner.accepting.accept_contract`.
    now: the time, with a zone; the clock's unless given.
    key: the owner's; None where the exchange is not signed.

    Raises an InputError if the question is not of the contract, came too late or out of turn, or
    its round was answered to another one; if the ledger is missing, damaged or of another owner or
    contract, or the records have another shape than announced. Nothing is charged then, and nothing
    given.
    """
    check_query(contract, name, query)
    folder = kept_answers.kept_folder(ledger)
    with kept_answers.hold_folder(folder):
        account, _ = accepted_account(contract, name, ledger)
        digest = charged_answer(account, query)
        if digest is not None:
            answer = kept_answers.find_charged(folder, digest, query, name)
            return ChargedAnswer(answer, account, again=True)
        time = now or datetime.now(UTC)
        seen = utc_text(time)
        if contract.is_signed:
            seen = kept_answers.note_sight(folder, query, seen)
        check_times(contract, query, time)
        check_turn(account, name, query, time)
        drawn = kept_answers.find_drawn(folder, query, name)
        if drawn is None:
            kept_answers.check_uncharged(folder, query, name)
            head = account_head(ledger.identity, account)
            facts = {"head": head, "seen": seen, "at": utc_text(time)}
            finish = partial(_finish_answer, contract, key, facts)
            drawn = _draw_answer(contract, name, query, records, ledger, finish)
        else:
            ledger.charge(account.budget, ledger_purpose(drawn), first=query.round)
        account = ledger.account(account.budget.owner, account.budget.data)
        return ChargedAnswer(drawn, account, again=False)


def _finish_answer(
    contract: Contract, key: PartyKey | None, facts: dict[str, str], answer: Answer
) -> Answer:
    """Seal and sign an answer; it stays as it is where the exchange is not signed."""
    if contract.is_signed:
        answer = seal_answer(answer, contract, **facts)
    return sign_message(answer, contract, key)


def _draw_answer(
    contract: Contract,
    name: str,
    query: Query,
    records: Records,
    ledger: LedgerFile,
    finish: Callable[[Answer], Answer],
) -> Answer:
    """Draw a new answer, finish it, keep it and charge it."""
    drawn: list[Answer] = []

    def keep(made: Released) -> str:
        form = Sums.of if contract.sums else Gradient
        answer = form(contract.digest, query.digest, query.round, name, made.answer)
        drawn.append(finish(answer))
        kept_answers.keep_answer(kept_answers.kept_folder(ledger), drawn[0])
        return ledger_purpose(drawn[0])

    release(
        records.x,
        records.y,
        query.point,
        contract.terms(name),
        ledger=ledger,
        persons=records.persons,
        number=query.round,
        keep=keep,
    )
    return drawn[0]


def account_head(identity: str, account: Account) -> str:
    """Head of the chain of an account's entries, 64 hexadecimal digits.

    Each entry is hashed with the head before it, the first with the ledger's identity and the names
    of the account. A ledger that was put back, changed or opened twice has other heads.
    """
    budget = account.budget
    head = sha256_digest("\n".join([identity, *budget.key, budget.bounds]).encode())
    for entry in account.entries:
        head = follow_head(head, entry.purpose)
    return head


def follow_head(head: str, purpose: str) -> str:
    """Head after an entry."""
    return sha256_digest(f"{head}\n{purpose}".encode())


def ledger_purpose(answer: Answer, number: int | None = None) -> str:
    """Entry of a ledger for an answer, with the digests of question and answer.

    Parameters
    ----------
    number: of the charge; that of the question unless given.

    >>> ledger_purpose(Gradient("c" * 64, "d" * 64, 3, "bank", np.zeros(1)))[:44]
    'contract cccccccccccccccc round 3 query dddd'
    """
    place = answer.round if number is None else number
    return purpose_start(answer.contract, place, answer.query) + answer.digest


def purpose_start(contract: str, number: int, query: str) -> str:
    return f"contract {contract[:SHOWN]} round {number} query {query} answer "


def charged_answer(account: Account, query: Query) -> str | None:
    """Find the digest of the answer that was charged for a question; None before the charge.

    Raises an InputError if its round was answered to another question.
    """
    entry = _find_entry(account, query.round)
    if entry is None:
        return None
    start = purpose_start(query.contract, query.round, query.digest)
    if not entry.startswith(start):
        owner = account.budget.owner
        rule = f"{owner} answers each round once, and has answered this one to another question"
        refuse("round", rule, query.round)
    return entry.removeprefix(start)


def check_turn(account: Account, name: str, query: Query, now: datetime) -> None:
    """Refuse a question out of turn, with another past than the ledger's, or past its time.

    Raises an InputError under the key that is wrong.
    """
    following = account.answered + 1
    if query.round != following:
        refuse("round", f"must be {following}, the next that {name} is to answer", query.round)
    if query.round > 1:
        previous = query.previous or ""
        start = purpose_start(query.contract, query.round - 1, previous)
        before = _find_entry(account, query.round - 1) or ""
        if not before.startswith(start):
            rule = f"must be the question that {name} answered before"
            refuse("previous", rule, previous[:SHOWN])
        if query.answers[name] != before.removeprefix(start):
            rule = f"must be those that were given, {name}'s too"
            refuse("answers", rule, query.answers[name][:SHOWN])
    if query.has_expired(now):
        remedy = "Ask the learner whether it goes on without."
        refuse("until", "must not have passed", query.until, remedy)


def check_times(contract: Contract, query: Query, now: datetime) -> None:
    """Refuse a question that may be answered for another time than the contract's hours.

    Raises an InputError if the contract states no hours and the question a time; if it lacks one of
    its times, they lie further or less apart than agreed, or it was asked after ``now``, but for
    `SKEW`.
    """
    hours = contract.missing.hours
    if hours is None:
        for key in ("until", "issued"):
            if getattr(query, key) is not None:
                rule = "must be null, since the contract sets no hours"
                refuse(key, rule, getattr(query, key))
        return
    rule = f"must be a time: the contract leaves {hours:g} hours for an answer"
    if query.issued is None:
        raise InputError("query.issued", rule, "null")
    if query.until is None:
        raise InputError("query.until", rule, "null")
    issued = datetime.fromisoformat(query.issued)
    agreed = open_for(hours, issued)["until"]
    if query.until != agreed:
        refuse("until", f"must be {agreed}, the contract's {hours:g} hours later", query.until)
    if issued > now + SKEW:
        refuse("issued", "must not lie ahead of this machine's clock", query.issued)


def _find_entry(account: Account, number: int) -> str | None:
    """Find the entry of an answer, by number."""
    entries = account.entries
    return next((one.purpose for one in entries if one.first <= number <= one.last), None)


def accepted_account(contract: Contract, name: str, ledger: LedgerFile) -> tuple[Account, Accepted]:
    """Find the account that an owner opened by accepting a contract, and what it accepted.

    Raises an InputError if there is none, or the ledger holds one under other terms.
    """
    account = find_account(contract, name, ledger)
    accepted = ledger.accepted(contract.terms(name).budget)
    if account is None or accepted is None:
        rule = f'must hold the account of {name} for "{contract.records}"'
        raise InputError(ledger.where, rule, "none", "Accept the contract first: dpmarket accept.")
    return account, accepted


def refuse(key: str, rule: str, found: object, remedy: str = "") -> NoReturn:
    """Refuse a question by one of its keys."""
    raise InputError(f"query.{key}", rule, found, remedy)
