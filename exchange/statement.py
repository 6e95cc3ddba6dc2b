"""An owner's statement: the account of a contract in its ledger, compared with what it delivered.

A statement covers the one account that the contract opened: its budget, the number of answers
charged, and the digests that each charge was entered with. It is the owner's word: the holder of a
ledger can forge it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, FiniteFloat

from exchange.contract import Contract
from exchange.messages import Digest, Message, Name, Round, parse_signed
from exchange.owner.answers import SHOWN, account_head, find_account
from exchange.owner.kept import kept_folder, list_sights
from learning.canonical import read_bytes
from learning.errors import InputError
from learning.privacy.ledger import Account, Entry
from learning.privacy.ledger_file import LedgerFile

PURPOSE = re.compile(
    r"contract ([0-9a-f]{16}) round ([0-9]+) query ([0-9a-f]{64}) answer ([0-9a-f]{64})"
)


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


def make_statement(contract: Contract, owner: str, ledger: LedgerFile) -> Statement:
    """Make the statement of the account that a contract opened for an owner.

    Raises an InputError if the contract has no such owner, or the ledger no account of this very
    contract.
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
