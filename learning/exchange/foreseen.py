"""What an owner can know before it answers: what becomes of its records, and what it will lose and earn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np

from learning.arrays import Array
from learning.exchange.contract import Contract
from learning.exchange.messages import Query
from learning.exchange.owner import account_of, charged, check_query, check_turn
from learning.exchange.records import Records
from learning.privacy.ledger import Account
from learning.privacy.ledger_file import LedgerFile
from learning.privacy.promises import weakest
from learning.privacy.release import mean_gradient


@dataclass(frozen=True)
class Foreseen:
    """For the owner's own eyes: counts of its records tell something of them.

    Parameters
    ----------
    rows: its records.
    cells: how many of their cells lie outside their column's range and count as its end.
    records: how many records are shortened to the radius; 0 where gradients are, and not records.
    targets: how many targets are moved to the bound on them; 0 likewise.
    gradients: how many records' gradients are shortened, at the question's point or at the start; 0 where records are.
    deviation: the standard deviation of the noise on each number of the next answer.
    claim: what is claimed of all its answers, against who sees most, as the contract says it.
    payment: for all answers.
    account: its account; None before the contract is accepted.
    """

    rows: int
    cells: int
    records: int
    targets: int
    gradients: int
    deviation: float
    claim: Mapping[str, Any] = field(repr=False)
    payment: float
    account: Account | None = field(repr=False)


def foreseen(
    contract: Contract, name: str, records: Records, ledger: LedgerFile | None, query: Query | None = None
) -> Foreseen:
    """What a contract means for an owner's records, and whether they can be answered about; nothing is charged.

    Parameters
    ----------
    ledger: the owner's; None before there is one.
    query: the question that is asked; that of the first round unless given.

    Raises
    ------
    InputError
        If the question would be refused, records are not as agreed, or the ledger is of another contract.
    """
    terms, agreed = contract.terms(name), contract.owner(name)
    point = np.zeros(len(contract.bounds.start)) if query is None else query.point
    if query is not None:
        check_query(contract, name, query)
    mean_gradient(records.x, records.y, point, terms, records.persons)
    account = None if ledger is None else account_of(contract, name, ledger)
    if query is not None and account is not None and charged(account, query) is None:
        check_turn(account, name, query, datetime.now(UTC))
    following = 1 if account is None else min(account.answered + 1, terms.horizon)
    claim = weakest(claim for claim in contract.claims if claim["party"] == agreed.name)[agreed.name]
    counts = shortened(contract, records, point)
    noise = deviation(contract, name, following)
    return Foreseen(len(records.y), records.clipped, *counts, noise, claim, agreed.payment, account)


def shortened(contract: Contract, records: Records, point: Array) -> tuple[int, int, int]:
    """How many records are longer than their bound, how many targets, and how many gradients at a point (p,)."""
    coordinates, x, y = contract.coordinates, records.x, records.y
    lengths = coordinates.lengths(x @ coordinates.transform)
    if not coordinates.clips_gradients:
        off = np.abs(y - x @ coordinates.centre)
        return int((lengths > coordinates.radius).sum()), int((off > coordinates.target_bound).sum()), 0
    loss = coordinates.loss
    slopes = np.abs(loss.derivative(loss.scores(x, y, coordinates.model(point))))
    return 0, 0, int((slopes * lengths > coordinates.radius).sum())


def deviation(contract: Contract, name: str, number: int) -> float:
    """The standard deviation of the noise on each number of an owner's answer, by its number from 1."""
    return float(contract.terms(name).scales[number - 1] * np.sqrt(contract.mechanism.unit_variance))
