"""Owners learn what to report, round by round, until their strategies settle.

All types and all reports tried are one table of expected payoffs a round, since what an owner sells and is paid does not
hang on its own cost: over markets drawn for the round, ``payment(report) - cost epsilon(report)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from learning.errors import InputError
from learning.progress import Did, unnoticed
from learning.randomness import Streams
from market.procurement.certificate import REPORTS as SEARCHED
from market.procurement.certificate import Certificate, certify
from market.procurement.mechanisms import surplus_of
from market.procurement.report_learning import LEARNING
from market.procurement.strategies import (
    ReportingGame,
    Strategy,
    costs_at,
    draw_levels,
    meet,
    outcomes,
    scaled,
    smoothed,
)

TYPES = 33  # equally likely types that learn; a few equally far apart besides
ROUNDS = 80  # of learning
MARKETS = 400  # drawn a round, or fewer
FEWEST = 16
REPORTS = 1_500_000  # settled a round, or fewer
REST = 3  # rounds without any move after which a strategy has settled
WIDTHS = (1, 2, 4, 8)  # neighbours over which a strategy is smoothed, to choose from


class Learning:
    """Owners who learn what to report to a mechanism, a round at a time.

    Parameters
    ----------
    game : ReportingGame
    seed : int
        The markets of round t are drawn from (seed, t).
    learning : str, a name in LEARNING
    start : Strategy, optional
        What they begin with; the truth unless given.

    Attributes
    ----------
    strategy : Strategy, what they play now
    rounds : int, rounds so far
    at_rest : bool, whether nothing has moved for three rounds

    Raises
    ------
    InputError
        An unknown way to learn.
    """

    def __init__(
        self, game: ReportingGame, *, seed: int, learning: str = "best_response", start: Strategy | None = None
    ) -> None:
        if learning not in LEARNING:
            raise InputError("learning", f"must be one of {', '.join(LEARNING)}", repr(learning))
        self.game, self.seed, self.streams, self.rounds, self.still = game, seed, Streams(seed, "reports"), 0, 0
        self.learner = LEARNING[learning](game, start or scaled(game.law, TYPES))

    @property
    def strategy(self) -> Strategy:
        """What they play now."""
        return self.learner.strategy

    @property
    def at_rest(self) -> bool:
        """Whether nothing has moved for some rounds."""
        return self.still >= REST

    @property
    def honest(self) -> bool:
        """Whether they have come to rest at the truth."""
        return self.at_rest and not self.strategy.markups.any()

    def turn(self) -> None:
        """One round: markets are drawn, reports tried in them, the same for all types, and the strategy moved."""
        game, before = self.game, self.strategy
        tried = self.learner.tries(self.streams.rng("tries", self.rounds))
        count = max(min(MARKETS, REPORTS // (len(tried) * game.n_owners)), FEWEST)
        levels, mixing = draw_levels(game.n_owners, count, rng=self.streams.rng("costs", self.rounds), spread=True)
        rng = self.streams.rng("chances", self.rounds)
        others = meet(game, before, costs_at(game.law, levels), mixing, rng=rng)
        epsilon, payments = (column.mean(axis=0) for column in outcomes(game, others, tried))
        self.learner.learn(surplus_of(epsilon, payments, before.costs[:, None]), tried)
        self.rounds += 1
        self.still = self.still + 1 if np.array_equal(before.markups, self.strategy.markups) else 0


def learn(learning: Learning, rounds: int = ROUNDS, *, did: Did = unnoticed) -> Strategy:
    """The strategy after so many rounds, or once it is at rest.

    Parameters
    ----------
    learning : Learning
    rounds : int
    did : called with the part of the rounds that is done, after each, optional
    """
    for number in range(rounds):
        learning.turn()
        did((rounds - number if learning.at_rest else 1) / rounds)
        if learning.at_rest:
            break
    return learning.strategy


@dataclass(frozen=True)
class Played:
    """What owners settled on.

    Attributes
    ----------
    strategy : Strategy
    certificate : Certificate, how far that is from a Bayes-Nash equilibrium, in markets that nobody learned or chose from
    truth : Certificate, the same of everybody reporting its cost: its loss is what the best liar gains
    learning : str, how it was learned
    rounds : int, of learning
    """

    strategy: Strategy
    certificate: Certificate
    truth: Certificate
    learning: str
    rounds: int


def play(
    game: ReportingGame,
    *,
    seed: int,
    learning: Sequence[str] = ("best_response", "small_steps"),
    start: Strategy | None = None,
    rounds: int = ROUNDS,
    searched: int = SEARCHED,
    did: Did = unnoticed,
) -> Played:
    """Let owners learn what to report, and certify what they settle on.

    Of several ways to learn, each smoothed more or less over neighbouring costs, the one counts whose bound is lowest in
    markets drawn to choose among them. Where the first comes to rest at the truth, others are not tried.

    Parameters
    ----------
    game : ReportingGame
    seed : int
        Markets to learn from, to choose and to certify are drawn from it, all different.
    learning : names in LEARNING
    start : Strategy, optional
        What owners begin with; the truth unless given.
    rounds : int, of learning, at most
    searched : int, optional
        Reports settled for each certificate, at most.
    did : called with parts of 1 as the work goes on, optional

    Returns
    -------
    Played

    >>> from market.procurement.cost_laws import Uniform
    >>> from market.procurement.offers import PostedPrice
    >>> posted = ReportingGame(PostedPrice(3.0, 0.6, 1.0), Uniform(), 3)
    >>> triple = scaled(posted.law, 9, 3.0)
    >>> found = play(posted, seed=1, start=triple, searched=100_000)  # from three times the costs to the truth
    >>> bool((found.strategy.markups == 0).all()), found.certificate.loss
    (True, 0.0)
    """
    parts, learned = len(learning) + 1, []
    for number, name in enumerate(learning, 1):
        learned.append((name, Learning(game, seed=seed, learning=name, start=start)))
        learn(learned[-1][1], rounds, did=lambda part: did(part / parts))
        if learned[-1][1].honest:
            learned = learned[-1:]
            did((len(learning) - number) / parts)
            break
    found = settled(learned, searched=searched)
    did(1 / parts)
    return found


def settled(learned: Sequence[tuple[str, Learning]], *, searched: int = SEARCHED) -> Played:
    """The best of what was learned, with its certificate; each may be smoothed more or less over neighbouring costs.

    Parameters
    ----------
    learned : names in LEARNING, each with what was learned that way
    searched : int, optional
        Reports settled for each certificate, at most; an eighth of them to choose.
    """
    game, seed = learned[0][1].game, learned[0][1].seed
    truth = certify(game, scaled(game.law, TYPES), seed=seed, reports=searched)
    made: list[tuple[float, str, Learning, Strategy]] = []
    for name, one in learned:
        if one.honest:
            return Played(one.strategy, truth, truth, name, one.rounds)
        for strategy in [one.strategy, *(smoothed(one.strategy.mean, width) for width in WIDTHS)]:
            chosen = certify(game, strategy, seed=seed, purpose="choice", reports=searched // 8)
            made.append((chosen.bound, name, one, strategy))
    _, name, one, strategy = min(made, key=lambda entry: entry[0])
    return Played(strategy, certify(game, strategy, seed=seed, reports=searched), truth, name, one.rounds)
