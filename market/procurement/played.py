"""Learned reporting strategies, and the certificate of the best.

The expected payoffs of all types and reports form one table a round, since an owner's sale and
payment do not depend on its own cost: over markets drawn for the round, ``payment(report) - cost
epsilon(report)``.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from learning.errors import InputError
from learning.progress import ReportWork, ignore_work
from learning.randomness import Streams
from market.procurement.certificate import REPORTS as SEARCHED
from market.procurement.certificate import Certificate, certify_strategy
from market.procurement.mechanism import surplus_of
from market.procurement.report_learning import LEARNING
from market.procurement.strategies import (
    ReportingGame,
    Strategy,
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
