"""Mechanisms side by side: set up for the same budget, run on the same owners with the same chances."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from learning.errors import InputError
from market.analysis.inequality import gini
from market.procurement.auctions import ClarkePivot, FairQuery, MinCost, ProportionalShare
from market.procurement.contracts import Menu, VirtualCost
from market.procurement.cost_laws import CostLaw
from market.procurement.mechanisms import Mechanism, buy, checked_costs
from market.procurement.misreports import misreports
from market.procurement.offers import Ladder, PostedPrice
from market.procurement.shapley_share import ShapleyShare
from market.procurement.valuation import count_error

QUANTILES = 2000  # costs that stand for a law where spending is averaged over it
LIARS = 2500  # owners who try to lie times owners in the market, at most
COVERAGES = np.linspace(0.3, 1.0, 15)  # parts of the owners that a menu may be made for
ROUNDED = 1 - 1e-9  # of a budget is planned, so that rounding does not cost the last owner its contract


def at_budget(
    budget: float, n_owners: int, law: CostLaw, worth: Any, forecast: Any, *, types: int = 8
) -> dict[str, Mechanism]:
    """Every mechanism, set up to spend a budget on owners whose costs follow a public law.

    Where a mechanism asks for a parameter in place of a budget, it is the one that spends the budget on average
    over the law: nothing here depends on what owners report. "min_cost" and "vcg" may then spend more in a given
    market; all others never do.

    Parameters
    ----------
    budget : float, money, above 0
    n_owners : int
    law : CostLaw
    worth : Valuation with a ``scale``
        Its shape is used; its scale is set so that the budget is spent.
    forecast : market.game.Forecast of owners who are alike
        Tells the improvement that "shapley" shares out.
    types : int
        Contracts on the longer menu; the other has two.

    Returns
    -------
    dict of mechanisms by name: MECHANISMS, and "menu_2" with two contracts
    """
    if n_owners < 1:
        raise InputError("owners", "a market needs at least one owner", n_owners)
    if not 0 < budget < np.inf:
        raise InputError("budget", "must be finite and above 0", budget)

    each = ROUNDED * budget / n_owners

    def limited(mechanism: Any) -> Any:
        return replace(mechanism, budget=budget)

    def menu(count: int) -> Any:
        choices = [_spending(Menu.from_law(law, count, worth, coverage=part), each, law) for part in COVERAGES]
        bought = [worth.value(one.settle(_typical(law), np.zeros(QUANTILES))[0]).sum() for one in choices]
        return choices[int(np.argmax(bought))]

    return {
        "fair_query": FairQuery(budget),
        "min_cost": MinCost.for_budget(budget, n_owners, law),
        "posted": PostedPrice.for_budget(budget, n_owners, law, worth),
        "ladder": Ladder.for_budget(budget, n_owners, law, worth),
        "virtual_cost": limited(_spending(VirtualCost(law, worth), each, law)),
        "menu": limited(menu(types)),
        "menu_2": limited(menu(2)),
        "proportional": ProportionalShare(budget),
        "vcg": _spending(ClarkePivot(worth), each, law),
        "shapley": ShapleyShare.for_budget(budget, n_owners, law, forecast),
    }


def _typical(law: CostLaw) -> np.ndarray:
    """Costs (QUANTILES,) that stand for a law: the middles of as many equally likely parts."""
    return law.quantile((np.arange(QUANTILES) + 0.5) / QUANTILES)


def _spending(mechanism: Any, each: float, law: CostLaw) -> Any:
    """The mechanism with its worth scaled so that an owner is paid ``each`` on average over the law, or just less.

    By bisection in the logarithm of the scale: spending grows with it, though not always without jumps.
    """
    costs = _typical(law)
    low, high = -70.0, 70.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        trial = replace(mechanism, worth=replace(mechanism.worth, scale=float(np.exp(middle))))
        enough = trial.settle(costs, np.zeros(QUANTILES))[1].mean() <= each
        low, high = (middle, high) if enough else (low, middle)
    return replace(mechanism, worth=replace(mechanism.worth, scale=float(np.exp(low))))


@dataclass(frozen=True)
class Standing:
    """How one mechanism did over several markets.

    Attributes
    ----------
    name : str
    fitness : float, mean relative fitness of what was bought; lower is better
    count_error : float, mean error of a count, as a part of the owners (`market.procurement.valuation.count_error`)
    spend, largest_spend : float, money, mean and largest over the markets
    selling : float, mean part of the owners who sell
    surplus : float, mean money left with an owner
    gini : float, mean inequality of payments: 0 all alike, towards 1 all to one
    largest_loss : float, money, the worst that taking part did to an owner
    largest_gain : float, money, the most an owner could have gained by lying
    truthful : bool, whether lying is proved never to help
    """

    name: str
    fitness: float
    count_error: float
    spend: float
    largest_spend: float
    selling: float
    surplus: float
    gini: float
    largest_loss: float
    largest_gain: float
    truthful: bool


def compare(
    mechanisms: Mapping[str, Mechanism], costs: Any, *, forecast: Any, seed: int, searched: int = 3
) -> list[Standing]:
    """Run mechanisms on the same owners with the same chances, market by market.

    Parameters
    ----------
    mechanisms : dict of Mechanism by name
    costs : (n_owners,) or (n_markets, n_owners), money per unit of epsilon
    forecast : market.game.Forecast
        Tells the fitness of what each bought.
    seed : int
        Chances of market m are drawn from (seed, m), for every mechanism alike.
    searched : int
        Markets, the first ones, in which lies are searched for, by all of up to 50 owners; of more, by those who
        are cheapest in the first. 0 leaves ``largest_gain`` nan.

    Returns
    -------
    list of Standing, in the order of ``mechanisms``
    """
    markets = np.atleast_2d(checked_costs(costs))
    return [_standing(name, one, markets, forecast, seed, searched) for name, one in mechanisms.items()]


def _standing(
    name: str, mechanism: Mechanism, markets: np.ndarray, forecast: Any, seed: int, searched: int
) -> Standing:
    bought = [
        buy(mechanism, costs, rng=np.random.default_rng([seed, number]), forecast=forecast)
        for number, costs in enumerate(markets)
    ]
    surplus = np.array([one.surplus(costs) for one, costs in zip(bought, markets, strict=True)])
    spend = np.array([one.spend for one in bought])
    liars = np.argsort(markets[0])[: max(LIARS // markets.shape[1], 3)]
    lies = (
        misreports(mechanism, markets[:searched], rng=np.random.default_rng(seed), owners=liars) if searched else None
    )
    return Standing(
        name,
        float(np.mean([one.fitness for one in bought])),
        float(np.mean([count_error(one.epsilon) for one in bought])),
        float(spend.mean()),
        float(spend.max()),
        float(np.mean([one.selling for one in bought])),
        float(surplus.mean()),
        float(np.mean([gini(one.payments) for one in bought])),
        float(np.maximum(-surplus, 0.0).max()),
        lies.largest_gain if lies else np.nan,
        mechanism.truthful,
    )
