"""Certificates of Bayes-Nash equilibria: the largest gain of an owner by another report.

It is searched on a finer grid of costs and reports than strategies are learned on, in independent
markets.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy

from learning.randomness import Streams
from market.columns import Array, Pair
from market.procurement.cost_laws import CostLaw
from market.procurement.mechanism import surplus_of
from market.procurement.reports import NEAR
from market.procurement.strategies import (
    ReportingGame,
    Strategy,
    draw_levels,
    meet_others,
    reporting_outcomes,
)

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
