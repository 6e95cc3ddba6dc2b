"""Who sells where data are correlated: the equilibria at given prices, and what a learner buys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from learning.errors import InputError
from market.columns import as_parameter
from market.externalities.correlation import Correlated

MOST_SUBSETS = 15  # owners up to whom all sets of sellers are gone through
BLOCK = 2**11  # sets of sellers solved in one go
TIE = 1e-12  # prices this close, relative to what an owner could lose at all, leave it indifferent


def subsets(n_owners: int) -> Iterator[np.ndarray]:
    """All sets of sellers in blocks (at most 2048, n_owners); set number b has owner i if bit i of b is one.

    Raises
    ------
    InputError
        More than 15 owners.
    """
    if n_owners > MOST_SUBSETS:
        remedy = "Use extreme_sets, which needs no list of sets."
        raise InputError("owners", f"all sets of sellers are gone through up to {MOST_SUBSETS}", n_owners, remedy)
    for start in range(0, 2**n_owners, BLOCK):
        numbers = np.arange(start, min(start + BLOCK, 2**n_owners))
        yield (numbers[:, None] >> np.arange(n_owners)) % 2 == 1


def selling_equilibria(data: Correlated, offers: Any) -> np.ndarray:
    """All sets of sellers of which nobody wants to leave, and none outside to join, at the prices offered.

    Sales are strategic complements (what others sell lowers what mine costs me), so there may be several:
    nobody sells because nobody else does, and everybody because everybody else does.

    Parameters
    ----------
    data : Correlated
    offers : scalar or (n_owners,), money

    Returns
    -------
    bool (k, n_owners), at least one; who is indifferent may do either

    Raises
    ------
    InputError
        More than 15 owners, or offers that are not numbers of money.

    >>> selling_equilibria(Correlated([1.0, 1.0], 0.9), 0.3).astype(int).tolist()
    [[0, 0], [1, 1]]
    """
    money, slack = _offers(data, offers), TIE * data.valuation * data.variance
    found = []
    for sets in subsets(len(data)):
        asked = data.prices(sets)
        content = np.where(sets, money >= asked - slack, money <= asked + slack)
        found.append(sets[content.all(axis=-1)])
    return np.concatenate(found)


def extreme_sets(data: Correlated, offers: Any) -> tuple[np.ndarray, np.ndarray]:
    """The smallest and the largest equilibrium set of sellers at the prices offered, for any number of owners.

    From nobody, whoever gains joins, until none does; from everybody, whoever loses leaves. Arguments as of
    `selling_equilibria`; every equilibrium lies between the two, ties going to staying as one is.

    Returns
    -------
    least, greatest : bool (n_owners,)

    Source: Topkis, on games with strategic complements.
    """
    money, slack = _offers(data, offers), TIE * data.valuation * data.variance
    ends = []
    for everybody in (False, True):
        sets, before = np.full(len(data), everybody), None
        while before is None or (before != sets).any():
            asked = data.prices(sets)
            before, sets = sets, sets & (money >= asked - slack) if everybody else sets | (money > asked + slack)
        ends.append(sets)
    return ends[0], ends[1]


def _offers(data: Correlated, offers: Any) -> np.ndarray:
    money = as_parameter("policy.price", offers)
    if money.ndim and len(money) != len(data):
        raise InputError("policy.price", f"needs one number per owner, {len(data)} in all", len(money))
    return money


@dataclass(frozen=True)
class Purchase:
    """The set a learner buys from, and the set that would be best for all.

    Attributes
    ----------
    sells, prices, profit, surplus
        Who sells (n_owners,), what each is paid (n_owners,) (0 for who does not sell), the learner's profit,
        and what all gain together, money.
    best_sells, best_surplus
        The set at which all together gain most, and that gain.
    """

    sells: np.ndarray
    prices: np.ndarray
    profit: float
    surplus: float
    best_sells: np.ndarray
    best_surplus: float


def purchase(data: Correlated, value: float = 1.0) -> Purchase:
    """What a learner buys who values each unit of leaked variance at ``value`` and pays each seller what it asks.

    Its profit is ``value * sum I - sum of prices``; all together gain ``sum (value - valuation_i) I_i``. The two
    part ways because a price pays for what a sale leaks about the seller, and not about the others.

    Parameters
    ----------
    data : Correlated
        Of at most 15 owners.
    value : float, money per unit of variance

    Returns
    -------
    Purchase
        Of equal sets the one with the lowest number in `subsets`.

    Source: Acemoglu et al., Too Much Data, section 2.

    The first owner sells for nothing, and gives the second away, who would have paid to prevent it:

    >>> bought = purchase(Correlated([0.0, 9.0], 0.5))
    >>> bought.sells.tolist(), round(bought.surplus, 12), bought.best_surplus
    ([True, False], -0.5, 0.0)
    """
    money = float(as_parameter("learner.value", value))
    best: tuple[Any, ...] = ()
    ideal: tuple[Any, ...] = ()
    for sets in subsets(len(data)):
        leak, paid = data.leaked(sets), np.where(sets, data.prices(sets), 0.0)
        profit, surplus = money * leak.sum(axis=-1) - paid.sum(axis=-1), leak @ (money - data.valuation)
        at, top = int(np.argmax(profit)), int(np.argmax(surplus))
        if not best or profit[at] > best[2]:
            best = (sets[at], paid[at], float(profit[at]), float(surplus[at]))
        if not ideal or surplus[top] > ideal[1]:
            ideal = (sets[top], float(surplus[top]))
    return Purchase(*best, *ideal)
