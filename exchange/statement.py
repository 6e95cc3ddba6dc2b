"""An owner's statement: the account of a contract in its ledger, compared with what it delivered.

A statement covers the one account that the contract opened: its budget, the number of answers
charged, and the digests that each charge was entered with. It is the owner's word: the holder of a
ledger can forge it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, FiniteFloat

from exchange.contract import Contract
from exchange.messages import Digest, Message, Name, Round, parse_signed
from exchange.owner.answers import (
    SHOWN,
    account_head,
    find_account,
    follow_head,
    purpose_start,
)
from exchange.owner.kept import kept_folder, list_sights
from learning.canonical import read_bytes
from learning.errors import InputError
from learning.privacy.ledger import Account, Budget, Entry, spent_budget
from learning.privacy.ledger_file import LedgerFile

SAME = 1e-9  # of the budget
PURPOSE = re.compile(
    r"contract ([0-9a-f]{16}) round ([0-9]+) query ([0-9a-f]{64}) answer ([0-9a-f]{64})"
)
Status = Literal["agrees", "charged but not delivered", "disagrees"]


@dataclass(frozen=True)
class Charge:
    """A charge for one question: its number, and the digests of question and answer, if known."""

    __pydantic_config__ = ConfigDict(strict=True, extra="forbid")

    round: Round
    query: Digest | None
    answer: Digest | None


@dataclass(frozen=True)
class Sight:
    """A question that was seen and not answered: its number, its digest, the UTC time."""

    __pydantic_config__ = ConfigDict(strict=True, extra="forbid")

    round: Round
    query: Digest
    seen: str


@dataclass(frozen=True)
class Statement(Message):
    """The account of a contract, as the owner's ledger has it.

    Parameters
    ----------
    contract: the contract's digest.
    owner: name of the owner.
    budget: the budget that the account was opened for, by the names of
        `learning.privacy.ledger.Budget`.
    answered: answers charged.
    counted: the unit of account, "epsilon" or "answers".
    spent, remaining: amounts of it.
    charges: every answer charged, in order.
    head: head of the account (`exchange.owner.answers.account_head`); None if it is not signed.
    unanswered: the questions that were seen and not answered, with the time of the first sight.
    """

    contract: Digest
    owner: Name
    budget: dict[str, Any] = field(repr=False)
    answered: Annotated[int, Field(ge=0)]
    counted: Literal["epsilon", "answers"]
    spent: FiniteFloat
    remaining: FiniteFloat
    charges: tuple[Charge, ...] = field(repr=False)
    head: Digest | None = None
    unanswered: tuple[Sight, ...] = ()
    format: Literal["dpmarket statement 2"] = "dpmarket statement 2"


@dataclass(frozen=True)
class Comparison:
    """A statement compared with what was delivered.

    Parameters
    ----------
    status: "agrees"; "charged but not delivered" where a charge has no answer (a program that was
        killed between charging and answering, or a file that was lost); or "disagrees" where the
        two cannot both be right.
    undelivered: numbers of the questions that were charged and have no answer.
    why: the disagreements in words.
    """

    status: Status
    undelivered: tuple[int, ...] = ()
    why: tuple[str, ...] = ()


def make_statement(contract: Contract, owner: str, ledger: LedgerFile) -> Statement:
    """Make the statement of the account that a contract opened for an owner.

    Raises
    ------
    InputError
        If the contract has no such owner, or the ledger no account of this very contract.
    """
    account = find_account(contract, owner, ledger)
    if account is None:
        rule = f'must hold the account of {owner} for "{contract.records}"'
        remedy = "Name the ledger that answered under this contract."
        raise InputError(ledger.where, rule, "none", remedy)
    charges = tuple(_list_charges(account, contract))
    charged = {one.query for one in charges}
    seen = list_sights(kept_folder(ledger), contract.digest)
    return Statement(
        contract=contract.digest,
        owner=owner,
        budget=asdict(account.budget),
        answered=account.answered,
        counted=account.budget.counted,
        spent=account.spent,
        remaining=account.remaining,
        charges=charges,
        head=account_head(ledger.identity, account) if contract.is_signed else None,
        unanswered=tuple(Sight(*one) for one in sorted(seen) if one[1] not in charged),
    )


def _list_charges(account: Account, contract: Contract) -> Iterator[Charge]:
    """List the charges of an account; a charge for anything but an answer has no digests."""
    for entry in account.entries:
        digests = _entry_digests(entry, contract)
        for number in range(entry.first, entry.last + 1):
            yield Charge(number, *digests)


def _entry_digests(entry: Entry, contract: Contract) -> tuple[str | None, str | None]:
    known = PURPOSE.fullmatch(entry.purpose)
    if known is None or known[1] != contract.digest[:SHOWN]:
        return None, None
    if not int(known[2]) == entry.first == entry.last:
        return None, None
    return known[3], known[4]


def read_statement(path: Path, contract: Contract) -> Statement:
    """Read the statement in a file, as `exchange.messages.parse_signed`."""
    return parse_signed(Statement, read_bytes(path), str(path), contract)


def compare_statement(
    contract: Contract,
    statement: Statement,
    given: Mapping[int, tuple[str, str]],
    head: str | None = None,
) -> Comparison:
    """Compare an owner's statement with what it delivered.

    Parameters
    ----------
    given: number of the question -> digests of question and answer, of the owner's answers that are
        there.
    head: head of its account as its first answer stated it; None where it stated none.
    """
    if statement.contract != contract.digest:
        return Comparison("disagrees", why=("it is of another contract",))
    charged = {one.round: (one.query, one.answer) for one in statement.charges}
    undelivered = tuple(number for number in sorted(charged) if number not in given)
    why = [*_account_faults(contract, statement), *_delivery_faults(charged, given)]
    if head is not None and not why and statement.head != _final_head(statement, head):
        why.append("it is of another ledger than the answers, or of one that was put back")
    for number in undelivered:
        if charged[number][1] is None:
            why.append(f"what was charged for question {number} is no answer under this contract")
    if why:
        return Comparison("disagrees", undelivered, tuple(why))
    return Comparison("charged but not delivered" if undelivered else "agrees", undelivered)


def _final_head(statement: Statement, head: str) -> str:
    for one in statement.charges:
        purpose = purpose_start(statement.contract, one.round, one.query or "")
        head = follow_head(head, purpose + (one.answer or ""))
    return head


def _account_faults(contract: Contract, statement: Statement) -> Iterator[str]:
    budget = contract.terms(statement.owner).budget
    if dict(statement.budget) != asdict(budget):
        yield "its account was opened for another budget"
    if statement.answered != len(statement.charges):
        yield "it does not list every charge"
    rounds = [one.round for one in statement.charges]
    if rounds != list(range(1, len(rounds) + 1)) or len(rounds) > contract.rounds:
        agreed = f"of the {contract.rounds} agreed"
        yield f"it does not charge questions once each and in turn, {agreed}"
    elif not _adds_up(statement, budget):
        yield "what it says is spent and left is not what its charges come to"


def _delivery_faults(
    charged: Mapping[int, tuple[str | None, str | None]], given: Mapping[int, tuple[str, str]]
) -> Iterator[str]:
    for number, digests in sorted(given.items()):
        if number not in charged:
            yield f"its answer to question {number} was never charged"
        elif charged[number] != digests:
            other = "another answer than the one that was delivered"
            yield f"what was charged for question {number} is {other}"


def _adds_up(statement: Statement, budget: Budget) -> bool:
    """Test the amounts spent and remaining, to rounding errors of another processor."""
    total = spent_budget(budget, budget.horizon)
    spent = spent_budget(budget, len(statement.charges))
    stated = (statement.spent, statement.remaining)
    pairs = zip(stated, (spent, total - spent), strict=True)
    near = all(math.isclose(a, b, rel_tol=SAME, abs_tol=SAME * total) for a, b in pairs)
    return near and statement.counted == budget.counted
