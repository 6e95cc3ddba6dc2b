"""Reporting strategies of owners who know their own cost and the law of the others' costs.

A certificate tells how far one is from a Bayes-Nash equilibrium: the largest gain of an owner by
another report, searched on a finer grid of costs and reports than strategies are learned on, in
independent markets.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy

from learning.randomness import Streams
from market.columns import Array, Pair
from market.procurement.cost_laws import CostLaw
from market.procurement.mechanism import ProcurementMechanism, draw_chances, surplus_of
from market.procurement.reports import NEAR

# Quantile levels between which a law is linear, for learning.
LEVELS = np.linspace(0.0, 1.0, 4097)
# Reports settled in one piece.
AT_ONCE = 2_000_000
# Equally likely types that search for a better report.
TYPES = 129
# Reports in equal steps up to a quarter more than the largest cost, and far ones in its units.
EVEN = 200
TAIL = np.array([1.5, 2.0, 3.0, 5.0, 10.0, 20.0])
# Markets drawn, at most and at least, and reports settled at most.
MARKETS = 8000
FEWEST = 400
REPORTS = 40_000_000
# Confidence of the bound for all types and reports jointly.
SURE = 0.95


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


@dataclass(frozen=True)
class Certificate:
    """Expected gains of owners by other reports: the loss from a Bayes-Nash equilibrium.

    Attributes
    ----------
    loss : float, money, at least 0: the gain in one half of the markets of the type and report that
        gain most in the other
    std_error : float, money, its standard error
    bound : float, money, an upper bound on the gain of every type by every report tried, jointly
        with 95 % confidence, by the normal approximation and Bonferroni's inequality
    cost, report : float, money per unit of epsilon, the type that gains most, and by what report
    surplus : float, money, an owner's mean surplus
    types, reports, markets : int, searched
    """

    loss: float
    std_error: float
    bound: float
    cost: float
    report: float
    surplus: float
    types: int
    reports: int
    markets: int

    @property
    def gains(self) -> bool:
        """True if some type gains by another report, by more than four standard errors."""
        return self.loss > max(4 * self.std_error, NEAR * abs(self.surplus))


def certify_strategy(
    game: ReportingGame,
    strategy: Strategy,
    *,
    seed: int,
    purpose: str = "certificate",
    reports: int = REPORTS,
) -> Certificate:
    """Search for the largest gain by another report while all others follow a strategy.

    Parameters
    ----------
    game : ReportingGame
    strategy : Strategy, of all owners
    seed : int, of the markets, independent of those for learning
    purpose : str, optional, names independent sets of markets
    reports : int, optional, settled at most; it decides the number of markets, and so the width of
        the bound

    An owner without cost does best to ask about 1/2, and wins half of the time:

    >>> from market.procurement.auctions import PayAsBid
    >>> from market.procurement.cost_laws import Uniform
    >>> from market.procurement.strategies import scaled_truth
    >>> game = ReportingGame(PayAsBid(1, 1.0), Uniform(), 2)
    >>> truth = certify_strategy(game, scaled_truth(game.law, 2), seed=1, reports=1_000_000)
    >>> truth.cost, round(truth.loss, 2)
    (0.0, 0.25)
    >>> half = Strategy(np.array([0.0, 1.0]), np.array([[0.5], [0.0]]))
    >>> certify_strategy(game, half, seed=1, reports=1_000_000).loss < 0.01
    True
    """
    types = game.law.quantile(np.linspace(0.0, 1.0, TYPES))[:, None]
    tried = _candidate_reports(game.law, strategy, types[:, 0])
    count = max(min(MARKETS, reports // (game.n_owners * (len(tried) + TYPES))), FEWEST)
    streams = Streams(seed, purpose)
    costs, mixing = fresh_markets(game.law, streams, game.n_owners, count)
    others = meet_others(game, strategy, costs, mixing, rng=streams.rng("chances"))
    sold, paid = reporting_outcomes(game, others, tried)
    # Sales without noise cost without end.
    kept = np.isfinite(sold).all(axis=0)
    tried = tried[kept]
    sold = sold[:, kept].T
    paid = paid[:, kept].T
    epsilon, payments = reporting_outcomes(game, others, strategy.report(types, others.own).T)
    own = surplus_of(epsilon.T, payments.T, types)

    half = count // 2
    first = expected_gains(types, sold[:, :half], paid[:, :half], own[:, :half])[0]
    cost, report = np.unravel_index(int(np.argmax(first)), first.shape)
    chosen = paid[report, half:] - types[cost] * sold[report, half:] - own[cost, half:]
    mean, spread = expected_gains(types, sold, paid, own)
    width = -scipy.special.ndtri((1 - SURE) / mean.size)
    return Certificate(
        loss=max(float(chosen.mean()), 0.0),
        std_error=float(chosen.std(ddof=1) / np.sqrt(len(chosen))),
        bound=max(float((mean + width * spread).max()), 0.0),
        cost=float(types[cost, 0]),
        report=float(tried[report]),
        surplus=float(own[1:-1].mean()),
        types=TYPES,
        reports=len(tried),
        markets=count,
    )


@lru_cache(maxsize=4)
def fresh_markets(law: CostLaw, streams: Streams, n_owners: int, count: int) -> Pair:
    """Costs and mixing levels of independent markets, (count, n_owners), for all mechanisms."""
    level, mixing = draw_levels(n_owners, count, rng=streams.rng("costs"))
    return law.quantile(level), mixing


def _candidate_reports(law: CostLaw, strategy: Strategy, types: Array) -> Array:
    """Candidate reports (k,): costs, even and far ones, and just below the others' reports."""
    even = np.linspace(0.0, 1.25 * law.support[1], EVEN)
    levels = (np.arange(min(strategy.markups.shape[1], 4)) + 0.5) / 4
    asked = strategy.report(types[:, None], levels).ravel()
    far = TAIL * law.support[1]
    return np.unique(np.concatenate([types, even, far, asked * (1 - NEAR), asked]))


def expected_gains(types: Array, sold: Array, paid: Array, own: Array) -> Pair:
    """Mean gain of each type by each report, and its standard error (n_types, k).

    The gain in a market is ``paid - cost sold - own``. Its variance comes from those of the three
    terms and their covariances, so that no array has types, reports and markets.
    """
    count = own.shape[1]
    mean = paid.mean(axis=1) - types * sold.mean(axis=1) - own.mean(axis=1, keepdims=True)
    sold, paid, own = (one - one.mean(axis=1, keepdims=True) for one in (sold, paid, own))
    cross = (paid * sold).sum(axis=1)
    alone = (paid**2).sum(axis=1) - 2 * types * cross + types**2 * (sold**2).sum(axis=1)
    together = own @ paid.T - types * (own @ sold.T)
    square = alone - 2 * together + (own**2).sum(axis=1, keepdims=True)
    return mean, np.sqrt(np.maximum(square, 0.0) / (count * (count - 1)))
