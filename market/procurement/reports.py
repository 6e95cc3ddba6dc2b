"""What owners report: what they could gain by misreporting, and reports from which nobody gains by moving alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from market.procurement.mechanism import ProcurementMechanism
from market.procurement.mechanisms import checked_costs, surplus_of

GRID = 20  # equal ratios among the reports tried
ZOOMS = 3  # refinements of the best report, sixteen points each
NEAR = 1e-7  # relative distance from another owner's report at which undercutting is tried
HAIR = 100 * NEAR  # relative distance of reports that are the same but for undercutting
OTHERS = 16  # at most so many of the other owners' reports are undercut
ROUNDS = 80  # of best responses, at most
REST = 1e-6  # of the money paid: who could gain less has no reason to move
MISREPORTING = 10_000  # owners who try to misreport times owners in the market, at most
LAST = 5  # rounds that stand for where best responses lead when they come to no rest


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


@dataclass(frozen=True)
class ReportEquilibria:
    """What owners who know one another's costs, and the chances, report: a Nash equilibrium of each market.

    Attributes
    ----------
    reports : (n_markets, n_owners), money per unit of epsilon
    gain : (n_markets,), money, the most that an owner could still gain by another report
    found : (n_markets,) bool, whether that is at most a millionth of the money paid: an equilibrium
    visited : (k, n_markets, n_owners), the reports after each move in the last rounds of best responses
        Where no equilibrium was found, these are what best responses lead to.
    """

    reports: np.ndarray
    gain: np.ndarray
    found: np.ndarray
    visited: np.ndarray


def drawn_chances(
    mechanism: ProcurementMechanism, count: int, n_owners: int, *, rng: np.random.Generator
) -> np.ndarray:
    """The chances of so many markets (count, d)."""
    return np.stack([mechanism.draw(n_owners, rng=rng) for _ in range(count)])


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
    found = misreports_given(mechanism, markets, drawn_chances(mechanism, *markets.shape, rng=rng), owners)
    return Misreports(*(column.reshape(costs.shape) for column in (found.gain, found.report, found.surplus)))


def misreports_given(
    mechanism: ProcurementMechanism, markets: np.ndarray, chances: np.ndarray, owners: np.ndarray | None = None
) -> Misreports:
    """What `misreports` finds in markets (n_markets, n_owners) at these chances (n_markets, d)."""
    truth = surplus_of(*mechanism.settle(markets, chances), markets)
    gain, report, rows = np.zeros(markets.shape), markets.copy(), np.arange(len(markets))
    for owner in _numbers(markets, owners).T:
        gain[rows, owner], report[rows, owner] = _best_report(mechanism, markets, markets, chances, owner)
    return Misreports(gain, report, truth)


def equilibria_in_reports(
    mechanism: ProcurementMechanism,
    costs: Any,
    chances: np.ndarray,
    *,
    owners: np.ndarray | None = None,
    start: np.ndarray | None = None,
) -> ReportEquilibria:
    """Nash equilibria in reports by best responses, one owner after another, market by market.

    A market is at rest after a round in which nobody moved: then nobody found a report that gains more than a millionth
    of the money paid, others' reports and the chances being known. There may be other equilibria.

    Parameters
    ----------
    mechanism : ProcurementMechanism
    costs : (n_owners,) or (n_markets, n_owners), the true ones
    chances : (n_markets, d)
    owners : (k,) or (n_markets, k) int, optional
        Numbers of the owners who may misreport, in the order they move; all unless given.
    start : (n_markets, n_owners), optional
        First reports; the truth unless given.

    Returns
    -------
    ReportEquilibria
    """
    costs = np.atleast_2d(checked_costs(costs))
    reports = (costs if start is None else start).copy()
    movers, gain = _numbers(costs, owners), np.full(len(costs), np.inf)
    live, rounds = np.arange(len(costs)), [[reports.copy()]]
    for _ in range(ROUNDS):
        here, at, steps = reports[live], chances[live], []
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
        circles = [_alike(one[-1][live], reports[live]) for one in rounds]
        rounds = [*rounds[1 - LAST :], steps or rounds[-1][-1:]]
        if np.any(circles, axis=0).all():  # true, too, where nobody is left who moves
            break
    found = np.ones(len(costs), dtype=bool)
    found[live] = False
    return ReportEquilibria(reports, gain, found, np.stack([one for steps in rounds for one in steps]))


def _alike(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Whether reports are the same in a market (n_markets,), but for undercutting by a hair."""
    return np.all(np.abs(one - other) <= HAIR * other, axis=1)


def who_misreports(markets: np.ndarray, most: int = MISREPORTING) -> np.ndarray:
    """Numbers of the owners who try to misreport in markets (n_markets, n_owners), the cheapest first (n_markets, k).

    All of them, unless there are so many that ``most`` divided by their number is less, and three at least.
    """
    cheapest = np.argsort(markets, axis=1, kind="stable")
    return cheapest[:, : max(most // markets.shape[1], 3)]


def _numbers(markets: np.ndarray, owners: np.ndarray | None) -> np.ndarray:
    """Numbers of the owners who may misreport in each market (n_markets, k); by rising cost, those not given."""
    if owners is None:
        return np.argsort(markets, axis=1, kind="stable")
    return np.broadcast_to(owners, (len(markets), np.shape(owners)[-1]))


def _best_report(
    mechanism: ProcurementMechanism, costs: np.ndarray, reports: np.ndarray, chances: np.ndarray, owner: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """One owner's best report in each market, the others' given: what it gains over the present one, and the report.

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
    cost, now = costs[rows, owner][:, None], reports[rows, owner][:, None]

    def surplus(candidates: np.ndarray) -> np.ndarray:
        asked = np.repeat(reports[:, None, :], candidates.shape[1], axis=1)
        at = rows[:, None], np.arange(candidates.shape[1]), owner[:, None]
        asked[at] = candidates
        epsilon, payments = mechanism.settle(asked, chances[:, None, :])
        return surplus_of(epsilon[at], payments[at], cost)

    present = surplus(now)[:, 0]
    height, report = present, now[:, 0]
    near = now * [0.5, 0.9, 0.99, 1 - NEAR, 1, 1 + NEAR, 1.01, 1.1, 2.0]
    candidates = np.sort(np.hstack([_reports_to_try(costs, reports), near, cost]), axis=1)
    for _ in range(ZOOMS + 1):
        tried = surplus(candidates)
        best = tried.argmax(axis=1)[:, None]
        highest = np.take_along_axis(tried, best, axis=1)[:, 0]
        report = np.where(highest > height, np.take_along_axis(candidates, best, axis=1)[:, 0], report)
        height = np.maximum(height, highest)
        if not np.any(height > 0):  # nobody who sells: the same all around
            break
        left = np.take_along_axis(candidates, np.maximum(best - 1, 0), axis=1)
        right = np.take_along_axis(candidates, np.minimum(best + 1, candidates.shape[1] - 1), axis=1)
        candidates = left + (right - left) * np.linspace(0, 1, 18)[1:-1]
    better = height > present
    return np.where(better, height, 0.0) - np.where(better, present, 0.0), report


def _reports_to_try(costs: np.ndarray, reports: np.ndarray) -> np.ndarray:
    """Reports for any owner to try (n_markets, m)."""
    high = np.maximum(costs.max(axis=1, keepdims=True), 1e-9)
    low = np.maximum(costs.min(axis=1, keepdims=True), 1e-3 * high) / 10
    ratios = low * (20 * high / low) ** np.linspace(0, 1, GRID)
    ordered = np.sort(reports, axis=1)
    rivals = ordered[:, np.unique(np.linspace(0, costs.shape[1] - 1, OTHERS).astype(int))]
    return np.hstack([np.zeros_like(high), ratios, rivals * (1 - NEAR), rivals * (1 + NEAR)])
