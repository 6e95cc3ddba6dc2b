"""Mechanisms side by side: set up for the same budget, run on the same owners with the same chances.

And what an owner could gain by misreporting its costs, and lose by telling the truth.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from market.analysis.welfare import gini
from market.procurement.mechanism import ProcurementMechanism, ProcurementProblem
from market.procurement.mechanisms import MECHANISMS, buy, checked_costs, surplus_of
from market.procurement.valuation import count_error

GRID = 20  # equal ratios among the reports tried
ZOOMS = 3  # refinements of the best report, sixteen points each
NEAR = 1e-7  # relative distance from another owner's cost at which undercutting is tried
OTHERS = 16  # at most so many of the other owners' costs are undercut
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
        selling = float(np.mean([(one.epsilon > 0).mean() for one in bought]))
        each = [(one.fitness, count_error(one.epsilon), one.spend, gini(one.payments)) for one in bought]
        fitness, error, spend, inequality = (float(np.mean(column)) for column in zip(*each, strict=True))
        most, left = max(one.spend for one in bought), float(surplus.mean())
        loss, gain = float(np.maximum(-surplus, 0.0).max()), float(lies.gain.max())
        rows.append(
            ComparisonRow(name, fitness, error, spend, most, selling, left, inequality, loss, gain, mechanism.truthful)
        )
    return rows


@dataclass(frozen=True)
class Misreports:
    """The best misreport found for every owner, the others truthful, chances fixed.

    Attributes
    ----------
    gain : (..., n_owners), money over the truth, at least 0
    report : (..., n_owners), the cost to report for it; the true one where misreporting does not help
    surplus : (..., n_owners), money each is left with by telling the truth
    """

    gain: np.ndarray
    report: np.ndarray
    surplus: np.ndarray


def misreports(
    mechanism: ProcurementMechanism, costs: Any, *, rng: np.random.Generator, owners: np.ndarray | None = None
) -> Misreports:
    """Search for what owners could gain by reporting another cost.

    Every owner tries 0, equal ratios from far below to far above all costs, just below and above other owners'
    costs, and then points around the best of these. The chances are the same for the truth and for every misreport:
    no gain then means no gain whatever is drawn, not only on average.

    Parameters
    ----------
    mechanism : ProcurementMechanism
    costs : (n_owners,) or (n_markets, n_owners), the true ones
    rng : numpy.random.Generator
    owners : (k,) int, optional
        Numbers of the owners who try to misreport; all unless given. The gain of the others is left at 0.

    Returns
    -------
    Misreports, columns of the shape of ``costs``
    """
    costs = checked_costs(costs)
    markets = np.atleast_2d(costs)
    chances = np.stack([mechanism.draw(markets.shape[1], rng=rng) for _ in markets])
    truth = surplus_of(*mechanism.settle(markets, chances), markets)
    gain, report = np.zeros(markets.shape), markets.copy()
    tried = _reports_to_try(markets)
    for owner in range(markets.shape[1]) if owners is None else owners:
        candidates = np.sort(np.hstack([tried, markets[:, [owner]] * [0.5, 0.9, 1 - NEAR, 1 + NEAR, 1.1, 2.0]]), axis=1)
        for _ in range(ZOOMS + 1):
            reports = np.repeat(markets[:, None, :], candidates.shape[1], axis=1)
            reports[..., owner] = candidates
            epsilon, payments = mechanism.settle(reports, chances[:, None, :])
            surplus = surplus_of(epsilon[..., owner], payments[..., owner], markets[:, [owner]])
            best = surplus.argmax(axis=1)[:, None]
            height = np.take_along_axis(surplus, best, axis=1)[:, 0] - truth[:, owner]
            at = np.take_along_axis(candidates, best, axis=1)[:, 0]
            report[:, owner] = np.where(height > gain[:, owner], at, report[:, owner])
            gain[:, owner] = np.maximum(gain[:, owner], height)
            left = np.take_along_axis(candidates, np.maximum(best - 1, 0), axis=1)
            right = np.take_along_axis(candidates, np.minimum(best + 1, candidates.shape[1] - 1), axis=1)
            candidates = left + (right - left) * np.linspace(0, 1, 18)[1:-1]
    return Misreports(gain.reshape(costs.shape), report.reshape(costs.shape), truth.reshape(costs.shape))


def _reports_to_try(costs: np.ndarray) -> np.ndarray:
    """Reports for any owner to try (n_markets, m)."""
    high = np.maximum(costs.max(axis=1, keepdims=True), 1e-9)
    low = np.maximum(costs.min(axis=1, keepdims=True), 1e-3 * high) / 10
    ratios = low * (20 * high / low) ** np.linspace(0, 1, GRID)
    ordered = np.sort(costs, axis=1)
    rivals = ordered[:, np.unique(np.linspace(0, costs.shape[1] - 1, OTHERS).astype(int))]
    return np.hstack([np.zeros_like(high), ratios, rivals * (1 - NEAR), rivals * (1 + NEAR)])
