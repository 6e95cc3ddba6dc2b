"""Reporting strategies of owners who know their own cost and the law of the others' costs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from market.columns import Array, Pair
from market.procurement.cost_laws import CostLaw
from market.procurement.mechanism import ProcurementMechanism, draw_chances

# Quantile levels between which a law is linear, for learning.
LEVELS = np.linspace(0.0, 1.0, 4097)
# Reports settled in one piece.
AT_ONCE = 2_000_000


@dataclass(frozen=True)
class Strategy:
    """Report of an owner at each cost: the cost and a markup, linear between the given costs.

    Parameters
    ----------
    costs : (n_types,), money per unit of epsilon, rising
    markups : (n_types, n_mixed), money per unit of epsilon, report less cost; the columns of a
        mixed strategy are equally likely, and a pure one has one column

    The reports c + (1 - c) / 2:

    >>> half = Strategy(np.array([0.0, 1.0]), np.array([[0.5], [0.0]]))
    >>> half.report(np.array([0.2, 0.6])).round(6).tolist()
    [0.6, 0.8]
    """

    costs: Array
    markups: Array

    def report(self, costs: Array, chances: Array | float = 0.0) -> Array:
        """Reports at these costs, any shape; ``chances`` in [0, 1) draw the mixed columns."""
        at = (np.asarray(chances) * self.markups.shape[1]).astype(int)
        cell = np.clip(np.searchsorted(self.costs, costs, side="right") - 1, 0, len(self.costs) - 2)
        left = self.costs[cell]
        part = np.clip((costs - left) / (self.costs[cell + 1] - left), 0.0, 1.0)
        below = self.markups[cell, at]
        above = self.markups[cell + 1, at]
        return np.maximum(costs + below + part * (above - below), 0.0)

    @property
    def mean(self) -> Strategy:
        """The pure strategy of the mean reports."""
        return Strategy(self.costs, self.markups.mean(axis=1, keepdims=True))


def scaled_truth(law: CostLaw, types: int, factor: float = 1.0) -> Strategy:
    """The strategy that reports ``factor`` times the cost; the truth, at 1.

    Its costs are those of ``types`` equally likely types, and at most a quarter as many in equal
    steps, with both ends.
    """
    parts = law.quantile(np.linspace(0.0, 1.0, types))
    low, high = law.support
    even = np.linspace(low, high, types // 4 + 2)
    costs = np.unique(np.clip(np.concatenate([parts, even]), low, high))
    costs = costs[np.append(True, np.diff(costs) > 1e-9 * (high - low))]
    return Strategy(costs, ((factor - 1.0) * costs)[:, None])


def smooth_strategy(strategy: Strategy, width: int) -> Strategy:
    """Smooth a pure strategy by local lines through ``width`` neighbours on either side.

    Its reports never fall. Reports learned from drawn markets vary between neighbouring costs, and
    equal ones are undercut.
    """
    costs = strategy.costs
    reports = strategy.report(strategy.costs)
    made = np.empty(len(costs))
    for number, cost in enumerate(costs):
        near = slice(max(number - width, 0), number + width + 1)
        centre = costs[near].mean()
        apart = costs[near] - centre
        slope = (apart @ reports[near]) / (apart @ apart)
        made[number] = reports[near].mean() + slope * (cost - centre)
    return Strategy(costs, (np.maximum.accumulate(made) - costs)[:, None])


@dataclass(frozen=True)
class ReportingGame:
    """A Bayesian game: owners with independent private costs report to a mechanism.

    An owner does not know its place among the owners, which settles ties in some mechanisms: all
    places are equally likely.

    Parameters
    ----------
    mechanism : ProcurementMechanism
    law : CostLaw
    n_owners : int, at least 1
    """

    mechanism: ProcurementMechanism
    law: CostLaw
    n_owners: int


@dataclass(frozen=True)
class Others:
    """Markets as one owner meets them: the others' reports, and the chances.

    Parameters
    ----------
    reports : (count, n_owners), with anything in the owner's own place
    place : (count,) int, the owner's own
    chances : (count, d), the mechanism's
    own : (count,), in [0, 1), draws the owner's own report where its strategy is mixed
    """

    reports: Array
    place: Array
    chances: Array
    own: Array


def draw_levels(
    n_owners: int, count: int, *, rng: np.random.Generator, spread: bool = False
) -> Array:
    """Draw quantile levels of costs, and of mixed reports: (2, count, n_owners), in [0, 1).

    Drawn owner by owner, so that an owner added at the end changes no other's. With ``spread``,
    each owner's ``count`` levels are a Latin hypercube: less noise, but not independent.
    """
    level, mixing, within = rng.random((n_owners, 3, count)).transpose(1, 2, 0)
    if spread:
        level = (level.argsort(axis=0).argsort(axis=0) + within) / count
    return np.stack([level, mixing])


def meet_others(
    game: ReportingGame,
    strategy: Strategy,
    costs: Array,
    mixing: Array,
    *,
    rng: np.random.Generator,
) -> Others:
    """Markets of these costs (count, n_owners) in which all others follow one strategy."""
    count = len(costs)
    place = np.arange(count) % game.n_owners
    chances = draw_chances(game.mechanism, count, game.n_owners, rng=rng)
    return Others(strategy.report(costs, mixing), place, chances, mixing[np.arange(count), place])


def costs_at(law: CostLaw, levels: Array) -> Array:
    """Costs at these levels, any shape, linear between 4,097 quantiles of the law."""
    return np.interp(levels, LEVELS, _level_quantiles(law))


@lru_cache(maxsize=64)
def _level_quantiles(law: CostLaw) -> Array:
    return law.quantile(LEVELS)


def reporting_outcomes(game: ReportingGame, others: Others, reports: Array) -> Pair:
    """Epsilon and payments (count, k) of an owner, whatever its cost, at its reports.

    Parameters
    ----------
    game : ReportingGame
    others : Others, ``count`` markets
    reports : (count, k) or (k,), money per unit of epsilon
    """
    count = len(others.place)
    k = np.shape(reports)[-1]
    tried = np.broadcast_to(reports, (count, k))
    epsilon = np.empty(tried.shape)
    payments = np.empty(tried.shape)
    step = max(AT_ONCE // (k * game.n_owners), 1)
    for start in range(0, count, step):
        part = slice(start, start + step)
        asked = np.repeat(others.reports[part, None, :], k, axis=1)
        at = np.arange(len(asked))[:, None], np.arange(k), others.place[part, None]
        asked[at] = tried[part]
        sold, paid = game.mechanism.settle(asked, others.chances[part, None, :])
        epsilon[part] = sold[at]
        payments[part] = paid[at]
    return epsilon, payments
