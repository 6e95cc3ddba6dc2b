"""What an owner could gain by misreporting about its costs, and what it could lose by telling the truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from market.procurement.mechanism import ProcurementMechanism
from market.procurement.mechanisms import checked_costs, surplus_of

GRID = 20  # equal ratios among the reports tried
ZOOMS = 3  # refinements of the best report, sixteen points each
NEAR = 1e-7  # relative distance from another owner's cost at which undercutting is tried
OTHERS = 16  # at most so many of the other owners' costs are undercut


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
