"""How far a strategy of reports is from a Bayes-Nash equilibrium: the most that an owner could gain by another report.

Searched on a finer grid of costs and reports than strategies are learned on, in markets drawn anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy

from learning.randomness import Streams
from market.procurement.cost_laws import CostLaw
from market.procurement.mechanisms import surplus_of
from market.procurement.reports import NEAR
from market.procurement.strategies import ReportingGame, Strategy, draw_levels, meet, outcomes

TYPES = 129  # equally likely types that look for a better report
EVEN = 200  # reports they try, equally far apart from 0 to a quarter more than the largest cost
TAIL = np.array([1.5, 2.0, 3.0, 5.0, 10.0, 20.0])  # and far ones, in units of the largest cost
MARKETS = 8000  # drawn, or fewer
FEWEST = 400
REPORTS = 40_000_000  # settled, or fewer
SURE = 0.95  # chance that the bound holds for all types and reports tried at once


@dataclass(frozen=True)
class Certificate:
    """How much owners could gain, in expectation, by reporting otherwise: the loss from a Bayes-Nash equilibrium.

    Attributes
    ----------
    loss : float, money, at least 0: what the type and the report that gain most in one half of the markets gain in the other
    std_error : float, money, its standard error
    bound : float, money, which no type gains more than by any report tried, with 95 % confidence for all of them at once
        By the normal approximation, Bonferroni's inequality over all pairs of a type and a report.
    cost, report : float, money per unit of epsilon, the type that gains most, and by what report
    surplus : float, money, what an owner is left with on average
    types, reports, markets : int, how many were searched
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
        """Whether some type surely gains by reporting otherwise: by more than four standard errors."""
        return self.loss > max(4 * self.std_error, NEAR * abs(self.surplus))


def certify(
    game: ReportingGame, strategy: Strategy, *, seed: int, purpose: str = "certificate", reports: int = REPORTS
) -> Certificate:
    """Search for the most that an owner could gain by another report while all others follow a strategy.

    Parameters
    ----------
    game : ReportingGame
    strategy : Strategy, which the owner follows, too, unless it gains by another report
    seed : int
        The markets are drawn from it, none of them those that anybody learned from.
    purpose : str, optional
        Markets for different purposes are different ones.
    reports : int, optional
        Settled at most; what decides how many markets are drawn, and so how wide the bound is.

    Returns
    -------
    Certificate

    >>> from market.procurement.cost_laws import Uniform
    >>> from market.procurement.pay_as_bid import PayAsBid
    >>> from market.procurement.strategies import scaled
    >>> game = ReportingGame(PayAsBid(1, 1.0), Uniform(), 2)
    >>> truth = certify(game, scaled(game.law, 2), seed=1, reports=1_000_000)
    >>> truth.cost, round(truth.loss, 2)  # who costs 0 does best to ask about 1/2, and wins half of the time
    (0.0, 0.25)
    >>> half = Strategy(np.array([0.0, 1.0]), np.array([[0.5], [0.0]]))
    >>> certify(game, half, seed=1, reports=1_000_000).loss < 0.01
    True
    """
    types = game.law.quantile(np.linspace(0.0, 1.0, TYPES))[:, None]
    tried = _tried(game.law, strategy, types[:, 0])
    count = max(min(MARKETS, reports // (game.n_owners * (len(tried) + TYPES))), FEWEST)
    costs, mixing = fresh_markets(game.law, Streams(seed, purpose), game.n_owners, count)
    others = meet(game, strategy, costs, mixing, rng=Streams(seed, purpose).rng("chances"))
    sold, paid = outcomes(game, others, tried)
    kept = np.isfinite(sold).all(axis=0)  # what is sold without noise costs without end
    tried, sold, paid = tried[kept], sold[:, kept].T, paid[:, kept].T
    epsilon, payments = outcomes(game, others, strategy.report(types, others.own).T)
    own = surplus_of(epsilon.T, payments.T, types)

    half = slice(0, count // 2), slice(count // 2, count)
    first = _gains(types, sold[:, half[0]], paid[:, half[0]], own[:, half[0]])[0]
    at = np.unravel_index(int(np.argmax(first)), first.shape)
    chosen = paid[at[1], half[1]] - types[at[0]] * sold[at[1], half[1]] - own[at[0], half[1]]
    mean, spread = _gains(types, sold, paid, own)
    widths = -scipy.special.ndtri((1 - SURE) / mean.size)
    return Certificate(
        loss=max(float(chosen.mean()), 0.0),
        std_error=float(chosen.std(ddof=1) / np.sqrt(len(chosen))),
        bound=max(float((mean + widths * spread).max()), 0.0),
        cost=float(types[at[0], 0]),
        report=float(tried[at[1]]),
        surplus=float(own[1:-1].mean()),
        types=TYPES,
        reports=len(tried),
        markets=count,
    )


@lru_cache(maxsize=4)
def fresh_markets(law: CostLaw, streams: Streams, n_owners: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Costs of independent markets and what mixes their reports, (count, n_owners) each; the same for every mechanism."""
    level, mixing = draw_levels(n_owners, count, rng=streams.rng("costs"))
    return law.quantile(level), mixing


def _tried(law: CostLaw, strategy: Strategy, types: np.ndarray) -> np.ndarray:
    """Reports to try (k,): the costs, evenly spaced ones, far ones, and a hair below whatever others report."""
    even = np.linspace(0.0, 1.25 * law.support[1], EVEN)
    asked = strategy.report(types[:, None], (np.arange(min(strategy.markups.shape[1], 4)) + 0.5) / 4)
    return np.unique(np.concatenate([types, even, TAIL * law.support[1], asked.ravel() * (1 - NEAR), asked.ravel()]))


def _gains(types: np.ndarray, sold: np.ndarray, paid: np.ndarray, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean gain of each type by each report, and its standard error (n_types, k): of ``paid - cost sold - own`` by market.

    Its variance from those of its three terms and their covariances, so that no array has types, reports and markets.
    """
    count = own.shape[1]
    mean = paid.mean(axis=1) - types * sold.mean(axis=1) - own.mean(axis=1, keepdims=True)
    sold, paid, own = (one - one.mean(axis=1, keepdims=True) for one in (sold, paid, own))
    alone = (paid**2).sum(axis=1) - 2 * types * (paid * sold).sum(axis=1) + types**2 * (sold**2).sum(axis=1)
    together = own @ paid.T - types * (own @ sold.T)
    square = alone - 2 * together + (own**2).sum(axis=1, keepdims=True)
    return mean, np.sqrt(np.maximum(square, 0.0) / (count * (count - 1)))
