"""Owners' reports: gains by misreporting, and Nash equilibria in reports."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from market.columns import Array, Pair
from market.procurement.mechanism import (
    ProcurementMechanism,
    check_costs,
    draw_chances,
    surplus_of,
)

# Equal ratios among the reports tried.
GRID = 20
# Refinements of the best report, sixteen points each.
ZOOMS = 3
# Relative distance from another owner's report at which undercutting is tried.
NEAR = 1e-7
# Relative distance of reports that differ by undercutting only.
HAIR = 100 * NEAR
# Reports of other owners that are undercut, at most.
OTHERS = 16
# Rounds of best responses, at most.
ROUNDS = 80
# Part of the money paid below which a gain is no reason to move.
REST = 1e-6
# Owners who may misreport times owners in the market, at most.
MISREPORTING = 10_000
# Last rounds that represent best responses without a rest point.
LAST = 5


@dataclass(frozen=True)
class Misreports:
    """Best misreport of every owner, the others truthful, chances fixed.

    Attributes
    ----------
    gain : (..., n_owners), money over the truth, at least 0
    report : (..., n_owners), its report; the true cost where misreporting does not help
    surplus : (..., n_owners), money, at the truth
    """

    gain: Array
    report: Array
    surplus: Array


@dataclass(frozen=True)
class ReportEquilibria:
    """Nash equilibria in reports of markets in which costs and chances are common knowledge.

    Attributes
    ----------
    reports : (n_markets, n_owners), money per unit of epsilon
    gain : (n_markets,), money, the largest gain of an owner by another report
    found : (n_markets,) bool, whether that is at most a millionth of the money paid: an equilibrium
    visited : (k, n_markets, n_owners), the reports after each move in the last rounds of best
        responses
    """

    reports: Array
    gain: Array
    found: Array
    visited: Array


def best_misreports(
    mechanism: ProcurementMechanism,
    costs: Any,
    *,
    rng: np.random.Generator,
    owners: Array | None = None,
) -> Misreports:
    """Search for the owners' gains by misreporting.

    Every owner tries 0, equal ratios from far below to far above all costs, just below and above
    other owners' costs, and then points around the best of these. The chances are the same for
    the truth and for every misreport, so that gains are found for each draw, not on average.

    Parameters
    ----------
    mechanism : ProcurementMechanism
    costs : (n_owners,) or (n_markets, n_owners), the true ones
    rng : numpy.random.Generator
    owners : (k,) int, optional, the owners who may misreport; all unless given
    """
    costs = check_costs(costs)
    markets = np.atleast_2d(costs)
    chances = draw_chances(mechanism, *markets.shape, rng=rng)
    found = misreports_given(mechanism, markets, chances, owners)
    columns = (found.gain, found.report, found.surplus)
    return Misreports(*(column.reshape(costs.shape) for column in columns))


def misreports_given(
    mechanism: ProcurementMechanism,
    markets: Array,
    chances: Array,
    owners: Array | None = None,
) -> Misreports:
    """`best_misreports` in markets (n_markets, n_owners) at these chances (n_markets, d)."""
    truth = surplus_of(*mechanism.settle(markets, chances), markets)
    gain = np.zeros(markets.shape)
    report = markets.copy()
    rows = np.arange(len(markets))
    for owner in _movers_of(markets, owners).T:
        best = _best_report(mechanism, markets, markets, chances, owner)
        gain[rows, owner], report[rows, owner] = best
    return Misreports(gain, report, truth)


def equilibria_in_reports(
    mechanism: ProcurementMechanism,
    costs: Any,
    chances: Array,
    *,
    owners: Array | None = None,
    start: Array | None = None,
) -> ReportEquilibria:
    """Nash equilibria in reports by best responses in turn, market by market.

    A market is at rest after a round in which no owner found a report that gains more than a
    millionth of the money paid. There may be other equilibria.

    Parameters
    ----------
    mechanism : ProcurementMechanism
    costs : (n_owners,) or (n_markets, n_owners), the true ones
    chances : (n_markets, d)
    owners : (k,) or (n_markets, k) int, optional, the owners who may misreport, in their order; all
        unless given
    start : (n_markets, n_owners), optional, first reports; the truth unless given
    """
    costs = np.atleast_2d(check_costs(costs))
    reports = (costs if start is None else start).copy()
    movers = _movers_of(costs, owners)
    gain = np.full(len(costs), np.inf)
    live = np.arange(len(costs))
    rounds = [[reports.copy()]]
    for _ in range(ROUNDS):
        here = reports[live]
        at = chances[live]
        steps = []
        enough = REST * mechanism.settle(here, at)[1].sum(axis=-1)
        gain[live] = 0.0
        for owner in movers[live].T:
            gained, report = _best_report(mechanism, costs[live], here, at, owner)
            moves = gained > enough
            here[moves, owner[moves]] = report[moves]
            gain[live] = np.maximum(gain[live], gained)
            if moves.any():
                reports[live] = here
                steps.append(reports.copy())
        live = live[gain[live] > enough]
        now = reports[live]
        circles = [np.all(np.abs(one[-1][live] - now) <= HAIR * now, axis=1) for one in rounds]
        rounds = [*rounds[1 - LAST :], steps or rounds[-1][-1:]]
        # All live markets, if any, are back at an earlier profile.
        if np.any(circles, axis=0).all():
            break
    found = np.ones(len(costs), dtype=bool)
    found[live] = False
    visited = np.stack([one for steps in rounds for one in steps])
    return ReportEquilibria(reports, gain, found, visited)


def cheapest_owners(markets: Array, most: int = MISREPORTING) -> Array:
    """Owners who may misreport in markets (n_markets, n_owners), cheapest first (n_markets, k).

    All of them, unless ``most`` divided by their number is less, and three at least.
    """
    cheapest = np.argsort(markets, axis=1, kind="stable")
    return cheapest[:, : max(most // markets.shape[1], 3)]


def _movers_of(markets: Array, owners: Array | None) -> Array:
    """Owners who may misreport in each market (n_markets, k); all by rising cost unless given."""
    if owners is None:
        return np.argsort(markets, axis=1, kind="stable")
    return np.broadcast_to(owners, (len(markets), np.shape(owners)[-1]))


def _best_report(
    mechanism: ProcurementMechanism, costs: Array, reports: Array, chances: Array, owner: Array
) -> Pair:
    """Gain by an owner's best report over its present one in each market, and the report.

    Parameters
    ----------
    mechanism : ProcurementMechanism
    costs, reports : (n_markets, n_owners)
    chances : (n_markets, d)
    owner : (n_markets,) int, whose report it is

    Returns
    -------
    gain, report : (n_markets,) each; the present report where no other gains
    """
    rows = np.arange(len(costs))
    cost = costs[rows, owner][:, None]
    now = reports[rows, owner][:, None]

    def surplus_at(candidates: Array) -> Array:
        asked = np.repeat(reports[:, None, :], candidates.shape[1], axis=1)
        at = rows[:, None], np.arange(candidates.shape[1]), owner[:, None]
        asked[at] = candidates
        epsilon, payments = mechanism.settle(asked, chances[:, None, :])
        return surplus_of(epsilon[at], payments[at], cost)

    present = surplus_at(now)[:, 0]
    height = present
    report = now[:, 0]
    near = now * [0.5, 0.9, 0.99, 1 - NEAR, 1, 1 + NEAR, 1.01, 1.1, 2.0]
    candidates = np.sort(np.hstack([_reports_to_try(costs, reports), near, cost]), axis=1)
    for _ in range(ZOOMS + 1):
        tried = surplus_at(candidates)
        best = tried.argmax(axis=1)
        highest = tried[rows, best]
        report = np.where(highest > height, candidates[rows, best], report)
        height = np.maximum(height, highest)
        # Around an owner that cannot sell, all surpluses are 0.
        if not np.any(height > 0):
            break
        left = candidates[rows, np.maximum(best - 1, 0)][:, None]
        right = candidates[rows, np.minimum(best + 1, candidates.shape[1] - 1)][:, None]
        candidates = left + (right - left) * np.linspace(0, 1, 18)[1:-1]
    better = height > present
    return np.where(better, height, 0.0) - np.where(better, present, 0.0), report


def _reports_to_try(costs: Array, reports: Array) -> Array:
    """Reports for any owner to try (n_markets, m)."""
    high = np.maximum(costs.max(axis=1, keepdims=True), 1e-9)
    low = np.maximum(costs.min(axis=1, keepdims=True), 1e-3 * high) / 10
    ratios = low * (20 * high / low) ** np.linspace(0, 1, GRID)
    ordered = np.sort(reports, axis=1)
    rivals = ordered[:, np.unique(np.linspace(0, costs.shape[1] - 1, OTHERS).astype(int))]
    return np.hstack([np.zeros_like(high), ratios, rivals * (1 - NEAR), rivals * (1 + NEAR)])
