"""An owner's statement compared with what it delivered."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Literal

from exchange.contract import Contract
from exchange.owner.answers import follow_head, purpose_start
from exchange.statement import Statement
from learning.privacy.ledger import Budget, spent_budget

SAME = 1e-9  # of the budget
Status = Literal["agrees", "charged but not delivered", "disagrees"]


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
