"""Learned reporting strategies, and the certificate of the best.

The expected payoffs of all types and reports form one table a round, since an owner's sale and
payment do not depend on its own cost: over markets drawn for the round, ``payment(report) - cost
epsilon(report)``.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from learning.errors import InputError
from learning.progress import ReportWork, ignore_work
from learning.randomness import Streams
from market.columns import Array
from market.procurement.mechanism import surplus_of
from market.procurement.strategies import REPORTS as SEARCHED
from market.procurement.strategies import (
    Certificate,
    ReportingGame,
    Strategy,
    certify_strategy,
    costs_at,
    draw_levels,
    meet_others,
    reporting_outcomes,
    scaled_truth,
    smooth_strategy,
)

# Equally likely types that learn; a few in equal steps besides.
TYPES = 33
# Rounds of learning.
ROUNDS = 80
# Markets drawn a round, at most and at least, and reports settled at most.
MARKETS = 400
FEWEST = 16
REPORTS = 1_500_000
# Rounds without any move after which a strategy has settled.
REST = 3
# Neighbours over which a strategy is smoothed, to choose from.
WIDTHS = (1, 2, 4, 8)
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


class Learning:
    """Owners who learn their reports to a mechanism, a round at a time.

    Parameters
    ----------
    game : ReportingGame
    seed : int; the markets of round t are drawn from (seed, t)
    learning : str, a name in LEARNING
    start : Strategy, optional, the first one; the truth unless given

    Attributes
    ----------
    strategy : Strategy, the present one
    rounds : int, rounds so far
    at_rest : bool, whether nothing has moved for three rounds

    Raises
    ------
    InputError
        An unknown learning rule.
    """

    def __init__(
        self,
        game: ReportingGame,
        *,
        seed: int,
        learning: str = "best_response",
        start: Strategy | None = None,
    ) -> None:
        if learning not in LEARNING:
            raise InputError("learning", f"must be one of {', '.join(LEARNING)}", repr(learning))
        self.game = game
        self.seed = seed
        self.streams = Streams(seed, "reports")
        self.rounds = 0
        self.still = 0
        self.learner = LEARNING[learning](game, start or scaled_truth(game.law, TYPES))

    @property
    def strategy(self) -> Strategy:
        """The present strategy."""
        return self.learner.strategy

    @property
    def at_rest(self) -> bool:
        """True if nothing has moved for some rounds."""
        return self.still >= REST

    @property
    def honest(self) -> bool:
        """True if they have come to rest at the truth."""
        return self.at_rest and not self.strategy.markups.any()

    def play_round(self) -> None:
        """Draw markets, try reports in them, the same for all types, and update the strategy."""
        game = self.game
        before = self.strategy
        tried = self.learner.reports_to_try(self.streams.rng("tries", self.rounds))
        count = max(min(MARKETS, REPORTS // (len(tried) * game.n_owners)), FEWEST)
        rng = self.streams.rng("costs", self.rounds)
        levels, mixing = draw_levels(game.n_owners, count, rng=rng, spread=True)
        rng = self.streams.rng("chances", self.rounds)
        others = meet_others(game, before, costs_at(game.law, levels), mixing, rng=rng)
        outcomes = reporting_outcomes(game, others, tried)
        epsilon, payments = (column.mean(axis=0) for column in outcomes)
        self.learner.update_strategy(surplus_of(epsilon, payments, before.costs[:, None]), tried)
        self.rounds += 1
        self.still = self.still + 1 if np.array_equal(before.markups, self.strategy.markups) else 0


def learn_reports(
    learning: Learning, rounds: int = ROUNDS, *, did: ReportWork = ignore_work
) -> Strategy:
    """Strategy after a number of rounds, or once it is at rest.

    ``did`` is called after each round with the finished part of all rounds.
    """
    for number in range(rounds):
        learning.play_round()
        did((rounds - number if learning.at_rest else 1) / rounds)
        if learning.at_rest:
            break
    return learning.strategy


@dataclass(frozen=True)
class Played:
    """A learned strategy.

    Attributes
    ----------
    strategy : Strategy
    certificate : Certificate, its distance from a Bayes-Nash equilibrium, in independent markets
    truth : Certificate, the same of the truth: its loss is the gain of the best liar
    learning : str, the learning rule
    rounds : int, of learning
    """

    strategy: Strategy
    certificate: Certificate
    truth: Certificate
    learning: str
    rounds: int


def play_reporting_game(
    game: ReportingGame,
    *,
    seed: int,
    learning: Sequence[str] = ("best_response", "small_steps"),
    start: Strategy | None = None,
    rounds: int = ROUNDS,
    searched: int = SEARCHED,
    did: ReportWork = ignore_work,
) -> Played:
    """Let owners learn their reports by several rules, and certify the best strategy.

    Each is smoothed more or less over neighbouring costs, and the one of the lowest bound in
    separate markets is chosen. Where a rule settles at the truth, later ones are not tried.

    Parameters
    ----------
    game : ReportingGame
    seed : int, of independent markets to learn from, to choose and to certify
    learning : names in LEARNING
    start : Strategy, optional, the first one; the truth unless given
    rounds : int, of learning, at most
    searched : int, optional, reports settled for each certificate, at most
    did : called with parts of 1 as the work goes on, optional

    From three times the costs to the truth:

    >>> from market.procurement.cost_laws import Uniform
    >>> from market.procurement.offers import PostedPrice
    >>> posted = ReportingGame(PostedPrice(3.0, 0.6, 1.0), Uniform(), 3)
    >>> triple = scaled_truth(posted.law, 9, 3.0)
    >>> found = play_reporting_game(posted, seed=1, start=triple, searched=100_000)
    >>> bool((found.strategy.markups == 0).all()), found.certificate.loss
    (True, 0.0)
    """
    parts = len(learning) + 1
    learned = []
    for number, name in enumerate(learning, 1):
        one = Learning(game, seed=seed, learning=name, start=start)
        learn_reports(one, rounds, did=lambda part: did(part / parts))
        learned.append((name, one))
        if one.honest:
            learned = learned[-1:]
            did((len(learning) - number) / parts)
            break
    found = select_played(learned, searched=searched)
    did(1 / parts)
    return found


def select_played(learned: Sequence[tuple[str, Learning]], *, searched: int = SEARCHED) -> Played:
    """Select the best of the learned strategies, each smoothed more or less, and certify it.

    Parameters
    ----------
    learned : names in LEARNING, each with its result
    searched : int, optional, reports settled for each certificate, at most; an eighth of them to
        choose
    """
    game = learned[0][1].game
    seed = learned[0][1].seed
    truth = certify_strategy(game, scaled_truth(game.law, TYPES), seed=seed, reports=searched)
    made: list[tuple[float, str, int, Strategy]] = []
    for name, one in learned:
        if one.honest:
            return Played(one.strategy, truth, truth, name, one.rounds)
        smoothed = [smooth_strategy(one.strategy.mean, width) for width in WIDTHS]
        for strategy in [one.strategy, *smoothed]:
            chosen = certify_strategy(
                game, strategy, seed=seed, purpose="choice", reports=searched // 8
            )
            made.append((chosen.bound, name, one.rounds, strategy))
    _, name, rounds, strategy = min(made, key=lambda entry: entry[0])
    certificate = certify_strategy(game, strategy, seed=seed, reports=searched)
    return Played(strategy, certificate, truth, name, rounds)


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
