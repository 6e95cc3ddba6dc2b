"""Mechanisms side by side: set up for the same budget, run on the same owners with the same chances."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from market.analysis.inequality import gini
from market.procurement.mechanism import ProcurementMechanism, ProcurementProblem
from market.procurement.mechanisms import MECHANISMS, buy, checked_costs
from market.procurement.misreports import misreports
from market.procurement.valuation import count_error

MISREPORTING = 2500  # owners who try to misreport times owners in the market, at most
SEARCHED = 3  # markets in which they try


def at_budget(problem: ProcurementProblem, names: Iterable[str] = ()) -> dict[str, ProcurementMechanism]:
    """The mechanisms of these names, or all, each set up to spend a budget on owners whose costs follow a public law.

    Those without a budget of their own spend it on average over the law, and may spend more in a given market.
    """
    return {name: MECHANISMS[name].for_budget(problem) for name in names or MECHANISMS}


@dataclass(frozen=True)
class ComparisonRow:
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
    largest_gain : float, money, the most an owner could have gained by misreporting
    truthful : bool, whether misreporting is proved never to help
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
    mechanisms: Mapping[str, ProcurementMechanism], costs: Any, *, forecast: Any, seed: int
) -> list[ComparisonRow]:
    """Run mechanisms on the same owners with the same chances, market by market.

    Misreports are searched for in the first three markets, by all of up to 50 owners; of more, by those who are cheapest
    in the first.

    Parameters
    ----------
    mechanisms : dict of ProcurementMechanism by name
    costs : (n_owners,) or (n_markets, n_owners), money per unit of epsilon
    forecast : market.game.deviations.Forecast
        Tells the fitness of what each bought.
    seed : int
        Chances of market m are drawn from (seed, m), for every mechanism alike.

    Returns
    -------
    list of ComparisonRow, in the order of ``mechanisms``
    """
    markets = np.atleast_2d(checked_costs(costs))
    tried = np.argsort(markets[0])[: max(MISREPORTING // markets.shape[1], 3)]
    rows = []
    for name, mechanism in mechanisms.items():
        chances = (np.random.default_rng([seed, number]) for number in range(len(markets)))
        bought = [buy(mechanism, row, rng=rng, forecast=forecast) for row, rng in zip(markets, chances, strict=True)]
        surplus = np.array([one.surplus(row) for one, row in zip(bought, markets, strict=True)])
        lies = misreports(mechanism, markets[:SEARCHED], rng=np.random.default_rng(seed), owners=tried)
        each = [(one.fitness, count_error(one.epsilon), one.spend, one.selling, gini(one.payments)) for one in bought]
        fitness, error, spend, selling, inequality = (float(np.mean(column)) for column in zip(*each, strict=True))
        most, left = max(one.spend for one in bought), float(surplus.mean())
        loss, gain = float(np.maximum(-surplus, 0.0).max()), float(lies.gain.max())
        rows.append(
            ComparisonRow(name, fitness, error, spend, most, selling, left, inequality, loss, gain, mechanism.truthful)
        )
    return rows
