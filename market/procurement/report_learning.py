"""Rules by which owners learn their reports (LEARNING) from the payoffs of all reports tried."""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from market.columns import Array
from market.procurement.strategies import ReportingGame, Strategy, costs_at, smooth_strategy

# Reports tried from 0 to half as much again as the largest cost, and far ones in its units.
EVEN = 64
TAIL = np.array([2.0, 3.0, 5.0, 10.0, 20.0])
# Part of the largest payoff up to which payoffs are equal.
EQUAL = 1e-12
# Rounds of small steps in which any report is tried.
FIRST = 5
# Rounds until steps are smallest, and the largest and smallest, as parts of a report.
NARROWING = 35
WIDE = 0.2
NARROW = 0.02
# Rounds of small steps before they are averaged.
STEADY = 30
# Neighbours on either side that small steps are smoothed over.
NEIGHBOURS = 2
# Columns of a mixed strategy.
COLUMNS = 64


class Learner(ABC):
    """Base of learning rules.

    Attributes
    ----------
    strategy : Strategy, the present one
    costs : (n_types,)
    turns : int, rounds so far
    """

    title: ClassVar[str] = ""
    # Rounds before steps begin to shrink.
    steady: ClassVar[int] = 0
    strategy: Strategy

    def __init__(self, game: ReportingGame, start: Strategy) -> None:
        self.strategy = start.mean
        self.costs = start.costs
        self.high = game.law.support[1]
        self.turns = 0

    @property
    def step_size(self) -> float:
        """Step of this round: a half, then less, so that the last of t moves weighs 3 / t."""
        return 3 / (max(self.turns - self.steady, 0) + 6)

    @abstractmethod
    def reports_to_try(self, rng: np.random.Generator) -> Array:
        """Reports to try (k,), the types' own costs first."""

    @abstractmethod
    def update_strategy(self, payoffs: Array, reports: Array) -> None:
        """Learn from the payoffs of these reports (k,) to each type (n_types, k)."""

    def global_reports(self, rng: np.random.Generator) -> Array:
        """Reports to try (k,): costs, present reports, points between, and a shifted grid."""
        now = self.strategy.report(self.costs)
        even = (np.arange(EVEN) + rng.random()) / EVEN * 1.5 * self.high
        between = now[:-1] + rng.random() * np.diff(now)
        return np.concatenate([self.costs, now, even, between, TAIL * self.high, [0.0, self.high]])

    def step_to_best(self, payoffs: Array, reports: Array) -> None:
        """Step towards the best response, or jump to the truth where it is one for every type.

        The truth is the best response of a type wherever no report is better.
        """
        honest = truth_is_best(payoffs)
        response = np.where(honest, 0.0, reports[payoffs.argmax(axis=1)] - self.costs)[:, None]
        now = self.strategy.markups
        if not honest.all():
            response = now + self.step_size * (response - now)
        self.strategy = Strategy(self.costs, response)


def truth_is_best(payoffs: Array) -> Array:
    """True if no report beats the cost (n_types,), at payoffs (n_types, k), costs first."""
    types = np.arange(len(payoffs))
    near = EQUAL * np.abs(payoffs[np.isfinite(payoffs)]).max(initial=1e-300)
    return payoffs[types, types] >= payoffs.max(axis=1) - near


class BestResponse(Learner):
    """Fictitious play: best responses to the mean of earlier ones, later rounds weighing more.

    Source: Brown, Iterative Solution of Games by Fictitious Play; Bosshard, Buenz, Lubin and
        Seuken, Computing Bayes-Nash Equilibria in Combinatorial Auctions with Verification, for
        damped strategies of continuous types.
    """

    title = "best responses to what was reported before"

    def reports_to_try(self, rng: np.random.Generator) -> Array:
        return self.global_reports(rng)

    def update_strategy(self, payoffs: Array, reports: Array) -> None:
        self.step_to_best(payoffs, reports)
        self.turns += 1


class SmallSteps(Learner):
    """Local steps towards better reports, after a few best responses.

    Each type tries a report some way above and below its own, and steps towards the vertex of the
    parabola through the three payoffs; then reports are smoothed over neighbouring costs. The
    distance, 20 % at first and 2 % in the end, avoids the undercutting of nearly equal reports by
    best responses.

    Source: Bichler, Fichtl, Heidekrueger, Kohring and Sutterer, Learning equilibria in symmetric
        auction games using artificial neural networks, for gradients smoothed over nearby
        strategies.
    """

    title = "small steps towards better reports"
    steady = STEADY

    def __init__(self, game: ReportingGame, start: Strategy) -> None:
        super().__init__(game, start)
        self.least = 0.02 * float(costs_at(game.law, np.linspace(0.0, 1.0, 101)).mean())
        self.step = np.zeros(0)

    def reports_to_try(self, rng: np.random.Generator) -> Array:
        if self.turns < FIRST:
            return self.global_reports(rng)
        now = self.strategy.report(self.costs)
        width = WIDE * (NARROW / WIDE) ** min((self.turns - FIRST) / NARROWING, 1.0)
        factor = rng.uniform(0.6, 1.4, len(now))
        self.step = np.minimum(np.maximum(now, self.least) * width * factor, now)
        return np.concatenate([self.costs, now, now - self.step, now + self.step])

    def update_strategy(self, payoffs: Array, reports: Array) -> None:
        if self.turns < FIRST:
            self.step_to_best(payoffs, reports)
        else:
            types = np.arange(len(payoffs))
            here, below, above = (payoffs[types, types + place * len(types)] for place in (1, 2, 3))
            bend = above - 2 * here + below
            slope = (above - below) / 2
            top = np.where(bend < 0, -slope / np.where(bend < 0, bend, -1.0), np.sign(slope))
            now = self.strategy.markups
            move = np.where(truth_is_best(payoffs), -now[:, 0], np.clip(top, -1.0, 1.0) * self.step)
            self.strategy = Strategy(self.costs, now + self.step_size * move[:, None])
            if move.any():
                self.strategy = smooth_strategy(self.strategy, NEIGHBOURS)
        self.turns += 1


class RegretMatching(Learner):
    """Regret matching+: reports in proportion to their regret so far; settles on the mean.

    Each type's regrets are kept at 0 or above, and later rounds weigh more. The strategy is mixed.

    Source: Hart and Mas-Colell, A Simple Adaptive Procedure Leading to Correlated Equilibrium;
        Tammelin, Burch, Johanson and Bowling, Solving Heads-up Limit Texas Hold'em.
    """

    title = "reports in proportion to the regret of not having made them"

    def __init__(self, game: ReportingGame, start: Strategy) -> None:
        super().__init__(game, start)
        even = np.arange(EVEN + 1) / EVEN * 1.5 * self.high
        self.grid = np.concatenate([self.costs, even, TAIL * self.high])
        nearest = np.abs(self.grid - self.strategy.report(self.costs)[:, None]).argmin(axis=1)
        self.odds = np.eye(len(self.grid))[nearest]
        self.regrets = np.zeros(self.odds.shape)
        self.mean_odds = np.zeros(self.odds.shape)

    def reports_to_try(self, rng: np.random.Generator) -> Array:
        return self.grid

    def update_strategy(self, payoffs: Array, reports: Array) -> None:
        payoffs = np.where(np.isfinite(payoffs), payoffs, 0.0)
        had = (self.odds * payoffs).sum(axis=1, keepdims=True)
        self.regrets = np.maximum(self.regrets + payoffs - had, 0.0)
        total = self.regrets.sum(axis=1, keepdims=True)
        self.odds = np.where(total > 0, self.regrets / np.where(total > 0, total, 1.0), self.odds)
        self.turns += 1
        self.mean_odds += 2 / (self.turns + 1) * (self.odds - self.mean_odds)
        self.strategy = self._mixed_strategy()

    def _mixed_strategy(self) -> Strategy:
        """Reports at equally likely levels of each type's mean odds."""
        order = np.argsort(self.grid)
        levels = (np.arange(COLUMNS) + 0.5) / COLUMNS
        below = self.mean_odds[:, order].cumsum(axis=1)
        at = (below[:, None, :] < levels[:, None] * below[:, -1][:, None, None]).sum(axis=2)
        return Strategy(self.costs, self.grid[order][at] - self.costs[:, None])


LEARNING: dict[str, type[Learner]] = {
    "best_response": BestResponse,
    "small_steps": SmallSteps,
    "regret_matching": RegretMatching,
}
