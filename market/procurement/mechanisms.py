"""Buying privacy from owners whose costs are their own secret: the mechanisms (MECHANISMS), and `buy`, which runs one.

`market.procurement.comparison` puts mechanisms side by side on the same owners, with the same chances, all spending
alike; `market.procurement.reports` looks for what an owner could gain by misreporting, and for equilibria in reports.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from learning.errors import InputError
from market.procurement.all_in import AllIn
from market.procurement.auctions import ClarkePivot, FairQuery, MinCost, ProportionalShare, ShapleyShare
from market.procurement.compensation import Compensated
from market.procurement.contracts import Menu, TwoContracts, VirtualCost
from market.procurement.mechanism import ProcurementMechanism
from market.procurement.offers import Ladder, PostedPrice
from market.procurement.paid_quality import PaidQuality
from market.procurement.pay_as_bid import PayAsBid

MECHANISMS: dict[str, type[ProcurementMechanism]] = {
    "fair_query": FairQuery,
    "min_cost": MinCost,
    "posted": PostedPrice,
    "ladder": Ladder,
    "virtual_cost": VirtualCost,
    "menu": Menu,
    "proportional": ProportionalShare,
    "vcg": ClarkePivot,
    "shapley": ShapleyShare,
    "menu_2": TwoContracts,
    "pay_as_bid": PayAsBid,
    "all_in": AllIn,
    "paid_quality": PaidQuality,
    "compensated": Compensated,
}


@dataclass(frozen=True)
class Purchase:
    """What a mechanism bought.

    Attributes
    ----------
    epsilon, payments : (n_owners,); 0 for who sells nothing
    fitness : float or None, relative fitness of the model forecast at these budgets
    """

    epsilon: np.ndarray
    payments: np.ndarray
    fitness: float | None = None

    @property
    def spend(self) -> float:
        """Money paid in all."""
        return float(self.payments.sum())

    def surplus(self, costs: np.ndarray) -> np.ndarray:
        """What each owner is left with (n_owners,): payment less unit cost times epsilon."""
        return surplus_of(self.epsilon, self.payments, np.asarray(costs, dtype=float))


def surplus_of(epsilon: np.ndarray, payments: np.ndarray, costs: np.ndarray) -> np.ndarray:
    """What owners are left with: payments less unit costs times epsilon, any shape."""
    with np.errstate(invalid="ignore"):  # free privacy costs nothing even without noise
        return payments - np.where(costs > 0, costs * epsilon, 0.0)


def checked_costs(costs: Any) -> np.ndarray:
    """Unit costs (n_owners,) or (n_markets, n_owners), finite and not negative."""
    array = np.asarray(costs, dtype=float)
    if array.size == 0 or array.ndim == 0:
        raise InputError("costs", "a market needs at least one owner", "none")
    bad = ~(np.isfinite(array) & (array >= 0))
    if bad.any():
        raise InputError("costs", "must be finite and at least 0", f"{array[bad][0]:g}")
    return array


def buy(mechanism: ProcurementMechanism, costs: Any, *, rng: np.random.Generator, forecast: Any = None) -> Purchase:
    """Buy from owners who report their costs truly.

    Parameters
    ----------
    mechanism : ProcurementMechanism
    costs : (n_owners,), money per unit of epsilon, at least 0
    rng : numpy.random.Generator
        Draws the mechanism's chances, such as the order owners are asked in.
    forecast : market.game.deviations.Forecast, optional
        Tells the fitness of what was bought.

    Returns
    -------
    Purchase

    Raises
    ------
    InputError
        No owner, or a cost negative or not finite.

    >>> bought = buy(FairQuery(10.0), range(1, 11), rng=np.random.default_rng(0))
    >>> (bought.epsilon > 0).mean().item(), round(bought.spend, 6)
    (0.6, 10.0)
    """
    costs = checked_costs(costs)
    if costs.ndim != 1:
        raise ValueError(f"costs must have one axis, the owners; found shape {costs.shape}")
    epsilon, payments = mechanism.settle(costs, mechanism.draw(len(costs), rng=rng))
    fitness = None if forecast is None else float(forecast.excess(forecast.terms(epsilon).sum(axis=0)))
    return Purchase(epsilon, payments, fitness)
