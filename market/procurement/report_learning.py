"""Ways for an owner to learn what to report (LEARNING): from the payoffs of all reports tried, round by round."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from market.procurement.strategies import (
    ReportingGame,
    Strategy,
    costs_at,
    smoothed,
)

EVEN = 64  # reports tried from 0 to half as much again as the largest cost
TAIL = np.array([2.0, 3.0, 5.0, 10.0, 20.0])  # and far ones, in units of the largest cost
EQUAL = 1e-12  # of the largest payoff: payoffs so near to each other are equal
FIRST = 5  # rounds of small steps in which any report is tried
NARROWING = 35  # rounds until steps are smallest
WIDE, NARROW = 0.2, 0.02  # steps, as parts of a report
STEADY = 30  # rounds of small steps before they are averaged
NEIGHBOURS = 2  # on either side, that small steps are smoothed over
COLUMNS = 64  # of a mixed strategy


class Learner(ABC):
    """Base of ways to learn.

    Parameters
    ----------
    game : ReportingGame
    start : Strategy

    Attributes
    ----------
    strategy : Strategy, what is played now
    """

    title: ClassVar[str] = ""
    strategy: Strategy

    def __init__(self, game: ReportingGame, start: Strategy) -> None:
        self.strategy, self.costs, self.high, self.turns = start.mean, start.costs, game.law.support[1], 0

    @property
    def pace(self) -> float:
        """How far to go in this round: a half, then less, so that the latest of t moves weighs three times 1 / t."""
        return 3 / (self.turns + 6)

    @abstractmethod
    def tries(self, rng: np.random.Generator) -> np.ndarray:
        """Reports to try (k,), the types' own costs first."""

    @abstractmethod
    def learn(self, payoffs: np.ndarray, reports: np.ndarray) -> None:
        """Take in what these reports (k,) bring to each type (n_types, k)."""

    def anywhere(self, rng: np.random.Generator) -> np.ndarray:
        """Reports to try (k,): costs, what is reported now, what lies between, and a grid moved at random."""
        now = self.strategy.report(self.costs)
        even = (np.arange(EVEN) + rng.random()) / EVEN * 1.5 * self.high
        between = now[:-1] + rng.random() * np.diff(now)
        return np.concatenate([self.costs, now, even, between, TAIL * self.high, [0.0, self.high]])

    def towards_best(self, payoffs: np.ndarray, reports: np.ndarray) -> None:
        """Part of the way to the best response; at once, where the truth is a best response of every type.

        The truth is the best response of a type wherever no report is better.
        """
        honest = truth_is_best(payoffs)
        response = np.where(honest, 0.0, reports[payoffs.argmax(axis=1)] - self.costs)[:, None]
        now = self.strategy.markups
        self.strategy = Strategy(self.costs, response if honest.all() else now + self.pace * (response - now))


def truth_is_best(payoffs: np.ndarray) -> np.ndarray:
    """Whether no report is better than the cost (n_types,), at payoffs (n_types, k) of which the costs' stand first."""
    types = np.arange(len(payoffs))
    near = EQUAL * np.abs(payoffs[np.isfinite(payoffs)]).max(initial=1e-300)
    return payoffs[types, types] >= payoffs.max(axis=1) - near


class BestResponse(Learner):
    """Best responses to the mean of the best responses before: what each type reported, later rounds weighing more.

    Source: Brown, Iterative Solution of Games by Fictitious Play; Bosshard, Buenz, Lubin and Seuken, Computing
    Bayes-Nash Equilibria in Combinatorial Auctions with Verification, for strategies of continuous types that are damped.
    """

    title = "best responses to what was reported before"

    def tries(self, rng: np.random.Generator) -> np.ndarray:
        return self.anywhere(rng)

    def learn(self, payoffs: np.ndarray, reports: np.ndarray) -> None:
        self.towards_best(payoffs, reports)
        self.turns += 1


class SmallSteps(Learner):
    """Steps towards better reports nearby, after a few best responses.

    Each type tries a report some way above and below its own, and goes towards the top of the parabola through the three
    payoffs; then reports are smoothed over neighbouring costs. What is tried lies so far away, 20 % at first and 2 % in the
    end, that owners who report nearly the same do not undercut each other by a hair, as best responses do.

    Source: Bichler, Fichtl, Heidekrueger, Kohring and Sutterer, Learning equilibria in symmetric auction games using
    artificial neural networks, for gradients that are smoothed over nearby strategies.
    """

    title = "small steps towards better reports"

    def __init__(self, game: ReportingGame, start: Strategy) -> None:
        super().__init__(game, start)
        self.least = 0.02 * float(costs_at(game.law, np.linspace(0.0, 1.0, 101)).mean())
        self.step = np.zeros(0)

    @property
    def pace(self) -> float:
        return 3 / (max(self.turns - STEADY, 0) + 6)

    def tries(self, rng: np.random.Generator) -> np.ndarray:
        if self.turns < FIRST:
            return self.anywhere(rng)
        now = self.strategy.report(self.costs)
        width = WIDE * (NARROW / WIDE) ** min((self.turns - FIRST) / NARROWING, 1.0)
        self.step = np.minimum(np.maximum(now, self.least) * width * rng.uniform(0.6, 1.4, len(now)), now)
        return np.concatenate([self.costs, now, now - self.step, now + self.step])

    def learn(self, payoffs: np.ndarray, reports: np.ndarray) -> None:
        if self.turns < FIRST:
            self.towards_best(payoffs, reports)
        else:
            types = np.arange(len(payoffs))
            here, below, above = (payoffs[types, types + place * len(types)] for place in (1, 2, 3))
            bend, slope = above - 2 * here + below, (above - below) / 2
            top = np.where(bend < 0, -slope / np.where(bend < 0, bend, -1.0), np.sign(slope))
            now = self.strategy.markups
            move = np.where(truth_is_best(payoffs), -now[:, 0], np.clip(top, -1.0, 1.0) * self.step)
            self.strategy = Strategy(self.costs, now + self.pace * move[:, None])
            if move.any():
                self.strategy = smoothed(self.strategy, NEIGHBOURS)
        self.turns += 1


class RegretMatching(Learner):
    """Reports in proportion to what each would have gained so far over what was played; settles on their mean over time.

    Each type's regrets are kept at 0 or above, and later rounds weigh more. The strategy is mixed.

    Source: Hart and Mas-Colell, A Simple Adaptive Procedure Leading to Correlated Equilibrium; Tammelin, Burch, Johanson
    and Bowling, Solving Heads-up Limit Texas Hold'em (regret matching+).
    """

    title = "reports in proportion to the regret of not having made them"

    def __init__(self, game: ReportingGame, start: Strategy) -> None:
        super().__init__(game, start)
        even = np.arange(EVEN + 1) / EVEN * 1.5 * self.high
        self.grid = np.concatenate([self.costs, even, TAIL * self.high])
        nearest = np.abs(self.grid - self.strategy.report(self.costs)[:, None]).argmin(axis=1)
        self.odds = np.eye(len(self.grid))[nearest]
        self.regrets, self.mean = np.zeros(self.odds.shape), np.zeros(self.odds.shape)

    def tries(self, rng: np.random.Generator) -> np.ndarray:
        return self.grid

    def learn(self, payoffs: np.ndarray, reports: np.ndarray) -> None:
        payoffs = np.where(np.isfinite(payoffs), payoffs, 0.0)
        self.regrets = np.maximum(self.regrets + payoffs - (self.odds * payoffs).sum(axis=1, keepdims=True), 0.0)
        total = self.regrets.sum(axis=1, keepdims=True)
        self.odds = np.where(total > 0, self.regrets / np.where(total > 0, total, 1.0), self.odds)
        self.turns += 1
        self.mean += 2 / (self.turns + 1) * (self.odds - self.mean)
        self.strategy = self._mixed()

    def _mixed(self) -> Strategy:
        """Reports at equally likely levels of each type's mean odds."""
        order, levels = np.argsort(self.grid), (np.arange(COLUMNS) + 0.5) / COLUMNS
        below = self.mean[:, order].cumsum(axis=1)
        at = (below[:, None, :] < levels[:, None] * below[:, -1][:, None, None]).sum(axis=2)
        return Strategy(self.costs, self.grid[order][at] - self.costs[:, None])


LEARNING: dict[str, type[Learner]] = {
    "best_response": BestResponse,
    "small_steps": SmallSteps,
    "regret_matching": RegretMatching,
}
