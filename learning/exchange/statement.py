"""An owner's statement: what its own ledger says of a contract, for whoever settles it; and whether that fits the files.

It tells of the one account that the contract opened: its budget, how many answers were charged, and the digests that each
charge was entered with. A statement is the owner's word: a ledger can be forged by who holds it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, FiniteFloat

from learning.errors import InputError
from learning.exchange.canonical import canonical, parse, read
from learning.exchange.contract import Contract
from learning.exchange.forms import modelled, same_bytes
from learning.exchange.messages import Digest, Name, Round
from learning.exchange.owner import SHOWN, account_of
from learning.exchange.terms import Form
from learning.privacy.budget import Budget, cost
from learning.privacy.ledger import Account
from learning.privacy.ledger_file import LedgerFile

FORMAT = "dpmarket statement 1"
SAME = 1e-9  # of the budget
PURPOSE = re.compile(r"contract ([0-9a-f]{16}) round ([0-9]+) query ([0-9a-f]{64}) answer ([0-9a-f]{64})")
Status = Literal["agrees", "charged but not delivered", "disagrees"]


class _ChargeForm(Form):
    round: Round
    query: Digest | None
    answer: Digest | None


class _StatementForm(Form):
    format: Literal["dpmarket statement 1"]
    contract: Digest
    owner: Name
    budget: dict[str, Any]
    answered: Annotated[int, Field(ge=0)]
    counted: Literal["epsilon", "answers"]
    spent: FiniteFloat
    remaining: FiniteFloat
    charges: list[_ChargeForm]


@dataclass(frozen=True)
class Charge:
    """One charge: the question by number, and the first digits of the digests of question and answer; None: of neither."""

    round: int
    query: str | None
    answer: str | None


@dataclass(frozen=True)
class Statement:
    """What an owner's ledger says of a contract.

    Parameters
    ----------
    contract: the contract's digest.
    owner: whose ledger it is.
    budget: what the account was opened for, by the names of `learning.privacy.budget.Budget`.
    answered: answers charged.
    counted: what is counted, "epsilon" or "answers".
    spent, remaining: how much of it.
    charges: every answer charged, in turn.
    """

    contract: str
    owner: str
    budget: Mapping[str, Any] = field(repr=False)
    answered: int
    counted: str
    spent: float
    remaining: float
    charges: tuple[Charge, ...] = field(repr=False)

    @property
    def raw(self) -> bytes:
        """The statement as a file, canonical."""
        return canonical({"format": FORMAT} | asdict(self))


@dataclass(frozen=True)
class Compared:
    """A statement beside what was delivered.

    Parameters
    ----------
    status: whether they agree; "charged but not delivered" where a charge has no answer (a program that was ended between
        charging and answering, or a file that was lost); "disagrees" where the two cannot both be right.
    undelivered: the questions, by number, that were charged and whose answer is not there.
    why: what disagrees, in words.
    """

    status: Status
    undelivered: tuple[int, ...] = ()
    why: tuple[str, ...] = ()


def statement_of(contract: Contract, owner: str, ledger: LedgerFile) -> Statement:
    """What a ledger says of the account that a contract opened for an owner.

    Raises
    ------
    InputError
        If the contract has no such owner, or the ledger no account of this very contract.
    """
    account = account_of(contract, owner, ledger)
    if account is None:
        rule = f'must hold the account of {owner} for "{contract.records}"'
        raise InputError(ledger.where, rule, "none", "Name the ledger that answered under this contract.")
    budget = account.budget
    return Statement(
        contract.digest,
        owner,
        asdict(budget),
        account.answered,
        budget.counted,
        account.spent,
        account.remaining,
        _charges(account, contract),
    )


def _charges(account: Account, contract: Contract) -> tuple[Charge, ...]:
    """Every answer of an account; what was entered for something else is told without its words."""
    found = []
    for entry in account.entries:
        known = PURPOSE.fullmatch(entry.purpose)
        own = known and known[1] == contract.digest[:SHOWN] and int(known[2]) == entry.first == entry.last
        for number in range(entry.first, entry.last + 1):
            found.append(Charge(number, known[3], known[4]) if known and own else Charge(number, None, None))
    return tuple(found)


def read_statement(path: Path) -> Statement:
    """The statement that a file holds.

    Raises
    ------
    InputError
        If it is none, or not as it was written.
    """
    return statement_from(read(path), str(path))


def statement_from(raw: bytes, where: str) -> Statement:
    """The statement that some bytes hold; refuses as `read_statement`."""
    told = modelled(_StatementForm, parse(raw, where), where)
    charges = tuple(Charge(one.round, one.query, one.answer) for one in told.charges)
    made = Statement(
        told.contract, told.owner, told.budget, told.answered, told.counted, told.spent, told.remaining, charges
    )
    return same_bytes(made, raw, where)


def compared(contract: Contract, statement: Statement, given: Mapping[int, tuple[str, str]]) -> Compared:
    """Whether an owner's statement fits what it delivered.

    Parameters
    ----------
    given: of each answer of the owner's that is there, number of the question -> digests of question and answer.
    """
    why = []
    if statement.contract != contract.digest:
        return Compared("disagrees", why=("it is of another contract",))
    budget = contract.terms(statement.owner).budget
    if dict(statement.budget) != asdict(budget):
        why.append("its account was opened for another budget")
    if statement.answered != len(statement.charges):
        why.append("it does not list every charge")
    rounds = [one.round for one in statement.charges]
    if rounds != list(range(1, len(rounds) + 1)) or len(rounds) > contract.rounds:
        why.append(f"it does not charge questions once each and in turn, of the {contract.rounds} agreed")
    elif not _adds_up(statement, budget):
        why.append("what it says is spent and left is not what its charges come to")
    charged = {one.round: (one.query, one.answer) for one in statement.charges}
    for number, digests in sorted(given.items()):
        if number not in charged:
            why.append(f"its answer to question {number} was never charged")
        elif charged[number] != digests:
            why.append(f"what was charged for question {number} is another answer than the one that was delivered")
    undelivered = tuple(number for number in sorted(charged) if number not in given)
    for number in undelivered:
        if charged[number][1] is None:
            why.append(f"what was charged for question {number} is no answer under this contract")
    status: Status = "disagrees" if why else "charged but not delivered" if undelivered else "agrees"
    return Compared(status, undelivered, tuple(why))


def _adds_up(statement: Statement, budget: Budget) -> bool:
    """Whether spent and remaining are what so many charges cost of the budget; processors differ in the last digits."""
    spent = cost(budget, len(statement.charges))
    left = cost(budget, budget.horizon) - spent
    near = [
        math.isclose(stated, true, rel_tol=SAME, abs_tol=SAME * cost(budget, budget.horizon))
        for stated, true in ((statement.spent, spent), (statement.remaining, left))
    ]
    return statement.counted == budget.counted and all(near)
