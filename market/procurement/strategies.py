"""Strategies of owners who know their own cost and the law of the others': what each cost reports, and what that brings."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from market.procurement.cost_laws import CostLaw
from market.procurement.mechanism import ProcurementMechanism
from market.procurement.reports import drawn_chances

LEVELS = np.linspace(0.0, 1.0, 4097)  # parts of the owners between whose costs a law is taken as linear, to learn
AT_ONCE = 2_000_000  # reports settled in one piece


@dataclass(frozen=True)
class Strategy:
    """What an owner reports at each cost: the cost and something on top, linear between the costs given.

    Parameters
    ----------
    costs : (n_types,), money per unit of epsilon, rising
    markups : (n_types, n_mixed), money per unit of epsilon, report less cost
        Of a mixed strategy the columns are equally likely, and one is drawn; a pure one has one column.

    >>> half = Strategy(np.array([0.0, 1.0]), np.array([[0.5], [0.0]]))  # c + (1 - c) / 2
    >>> half.report(np.array([0.2, 0.6])).round(6).tolist()
    [0.6, 0.8]
    """

    costs: np.ndarray
    markups: np.ndarray

    def report(self, costs: np.ndarray, chances: np.ndarray | float = 0.0) -> np.ndarray:
        """What owners with these costs report, any shape; ``chances`` in [0, 1) draw the columns of a mixed strategy."""
        at = (np.asarray(chances) * self.markups.shape[1]).astype(int)
        cell = np.clip(np.searchsorted(self.costs, costs, side="right") - 1, 0, len(self.costs) - 2)
        left, right = self.costs[cell], self.costs[cell + 1]
        part = np.clip((costs - left) / (right - left), 0.0, 1.0)
        below, above = self.markups[cell, at], self.markups[cell + 1, at]
        return np.maximum(costs + below + part * (above - below), 0.0)

    @property
    def mean(self) -> Strategy:
        """The pure strategy that reports the mean of what this one does."""
        return Strategy(self.costs, self.markups.mean(axis=1, keepdims=True))


def scaled(law: CostLaw, types: int, factor: float = 1.0) -> Strategy:
    """The strategy that reports ``factor`` times its cost; the truth, at 1.

    Its costs are those of as many equally likely types, and a quarter as many equally far apart, at most; the ends are
    among them.
    """
    parts = law.quantile(np.linspace(0.0, 1.0, types))
    low, high = law.support
    costs = np.unique(np.clip(np.concatenate([parts, np.linspace(low, high, types // 4 + 2)]), low, high))
    costs = costs[np.append(True, np.diff(costs) > 1e-9 * (high - low))]
    return Strategy(costs, ((factor - 1.0) * costs)[:, None])


def smoothed(strategy: Strategy, width: int) -> Strategy:
    """A pure strategy whose reports are those of lines through ``width`` neighbours on either side, and never fall.

    Reports learned from drawn markets go up and down between neighbouring costs; where they are equal, others undercut.
    """
    costs, reports = strategy.costs, strategy.report(strategy.costs)
    made = np.empty(len(costs))
    for number, cost in enumerate(costs):
        near = slice(max(number - width, 0), number + width + 1)
        apart = costs[near] - costs[near].mean()
        made[number] = reports[near].mean() + (apart @ reports[near]) / (apart @ apart) * (cost - costs[near].mean())
    return Strategy(costs, (np.maximum.accumulate(made) - costs)[:, None])


@dataclass(frozen=True)
class ReportingGame:
    """A Bayesian game: owners with independent costs from one law, each known to its owner alone, report to a mechanism.

    Nobody knows its place among the owners, which settles ties in some mechanisms: it is every place equally likely.

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
    """Markets as one owner meets them: what the others report, and what is left to chance.

    Parameters
    ----------
    reports : (count, n_owners), with anything in the owner's own place
    place : (count,) int, the owner's own
    chances : (count, d), the mechanism's
    own : (count,), in [0, 1), draws the owner's own report where it plays a mixed strategy
    """

    reports: np.ndarray
    place: np.ndarray
    chances: np.ndarray
    own: np.ndarray


def draw_levels(n_owners: int, count: int, *, rng: np.random.Generator, spread: bool = False) -> np.ndarray:
    """Where owners' costs lie in their law, and what mixes their reports: (2, count, n_owners), in [0, 1).

    Filled owner by owner, so that an owner more at the end changes no other's. With ``spread``, each owner's ``count``
    levels are one in each of as many equal parts (a Latin hypercube): less noise, but draws that are not independent.
    """
    level, mixing, within = rng.random((n_owners, 3, count)).transpose(1, 2, 0)
    if spread:
        level = (level.argsort(axis=0).argsort(axis=0) + within) / count
    return np.stack([level, mixing])


def meet(
    game: ReportingGame, strategy: Strategy, costs: np.ndarray, mixing: np.ndarray, *, rng: np.random.Generator
) -> Others:
    """Markets of these costs (count, n_owners) in which all others follow one strategy, mixed by these chances."""
    count, place = len(costs), np.arange(len(costs)) % game.n_owners
    chances = drawn_chances(game.mechanism, count, game.n_owners, rng=rng)
    return Others(strategy.report(costs, mixing), place, chances, mixing[np.arange(count), place])


def costs_at(law: CostLaw, levels: np.ndarray) -> np.ndarray:
    """Costs at these levels, any shape, linear between 4,097 quantiles of the law."""
    return np.interp(levels, LEVELS, _quantiles(law))


@lru_cache(maxsize=64)
def _quantiles(law: CostLaw) -> np.ndarray:
    return law.quantile(LEVELS)


def outcomes(game: ReportingGame, others: Others, reports: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What an owner sells and is paid, whatever its cost, when it reports these.

    Parameters
    ----------
    game : ReportingGame
    others : Others, ``count`` markets
    reports : (count, k) or (k,), money per unit of epsilon

    Returns
    -------
    epsilon, payments : (count, k) each
    """
    count, tried = len(others.place), np.broadcast_to(reports, (len(others.place), np.shape(reports)[-1]))
    epsilon, payments = np.empty(tried.shape), np.empty(tried.shape)
    step = max(AT_ONCE // (tried.shape[1] * game.n_owners), 1)
    for start in range(0, count, step):
        part = slice(start, start + step)
        asked = np.repeat(others.reports[part, None, :], tried.shape[1], axis=1)
        at = np.arange(len(asked))[:, None], np.arange(tried.shape[1]), others.place[part, None]
        asked[at] = tried[part]
        sold, paid = game.mechanism.settle(asked, others.chances[part, None, :])
        epsilon[part], payments[part] = sold[at], paid[at]
    return epsilon, payments
