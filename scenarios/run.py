"""The pieces of a run of a scenario, from which its result is counted up."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from learning.forecast.interval import Prediction
from learning.forecast.measures import RELATIVE, Measure
from learning.forecast.planner import Planner
from learning.privacy.claims import Claim
from learning.privacy.ledger import Ledger
from learning.privacy.lifetime import Lifetime
from learning.training.engine import Trained
from learning.training.paths import Paths
from market.competition.market import Competition
from market.equilibrium.solver import Equilibrium
from market.game.game import Game
from scenarios.planning import measure_of
from scenarios.schema.loading import Scenario
from scenarios.schema.time import Time
from scenarios.settling.answering import Answering
from scenarios.settling.players import as_played, divided
from scenarios.settling.playing import benchmark, divided_in_rings
from scenarios.settling.priced import Priced
from scenarios.tables.dataset import MarketData

if TYPE_CHECKING:  # Mesa and what it loads take half a second
    from agents.dynamics import Period


@dataclass(frozen=True)
class Accounts:
    """What each owner sells, is paid, loses and has in the end; every column (n_owners,), in money but for the budgets.

    Parameters
    ----------
    epsilon: the privacy budget sold, to all learners together.
    payments: what learners pay.
    costs: what privacy is worth to it, lost, with taxes.
    taxes: what of that it pays the treasury.
    benefits: what the model is worth to it.
    transfers: what it gets from its union or ring.
    spillovers: what others' sales cost it whatever it does.
    worth: what learners gain by their models over what they have for nothing, all together, money.
    """

    epsilon: np.ndarray
    payments: np.ndarray
    costs: np.ndarray
    taxes: np.ndarray
    benefits: np.ndarray
    transfers: np.ndarray
    spillovers: np.ndarray
    worth: float

    @property
    def surplus(self) -> np.ndarray:
        """What each has in the end."""
        return self.payments + self.benefits - self.costs + self.transfers - self.spillovers

    @property
    def welfare(self) -> float:
        """What all have together: payments and transfers cancel, and the treasury has the taxes."""
        return float(self.worth + self.benefits.sum() - self.costs.sum() + self.taxes.sum() - self.spillovers.sum())


@dataclass(frozen=True)
class Contest:
    """Several learners on one market.

    Parameters
    ----------
    market: the owners and their learners.
    found: where the owners came to rest: budgets and payments (n_owners, n_learners).
    others: how each learner but the first fares, by its own column.
    """

    market: Competition
    found: Equilibrium
    others: tuple[Run, ...]

    @property
    def names(self) -> list[str]:
        """What the learners are called."""
        return [learner.name for learner in self.market.learners]

    @property
    def accounts(self) -> Accounts:
        """What each owner has of all learners."""
        market, sold = self.market, self.found.epsilon
        total, paid = sold.sum(axis=1), self.found.payments.sum(axis=1)
        taxes = market.owners.cost.tax(total, market.owners.sizes)
        worth = float(market.learner_surplus(sold).sum() + paid.sum())
        nothing = np.zeros_like(total)
        return Accounts(total, paid, market.costs(sold), taxes, nothing, nothing, nothing, worth)


@dataclass(frozen=True)
class History:
    """Several periods of one market.

    Parameters
    ----------
    periods: what happened in each, the facts of its result as ``outcome``.
    claims: what each promises by itself.
    lifetime: how periods compose, and what owners may spend in all.
    ledger: what was charged, an account for each owner and period.
    plans: how often the learner planned anew.
    shown: the period that the run of this history is of: the last in which anybody was asked anything.
    rules: who is in the market when, and what owners do with what is left to them.
    """

    periods: tuple[Period, ...]
    claims: tuple[tuple[Claim, ...], ...]
    lifetime: Lifetime
    ledger: Ledger
    plans: int
    shown: int
    rules: Time

    @property
    def sold(self) -> np.ndarray:
        """Epsilon sold in each period, (periods, n_owners)."""
        return np.array([one.sold for one in self.periods])


@dataclass(frozen=True)
class Run:
    """What a run of a scenario comes to, piece by piece.

    Parameters
    ----------
    scenario: the scenario.
    data: the records of its owners.
    planner: the learner's protocol and forecast.
    game: the game of the owners, under the scenario's rules.
    equilibrium: where they came to rest.
    trained: the models trained there; None without training.
    contest: the whole market, where several learners buy and this is the first of them; None where it is alone.
    answering: who answers otherwise than it sold; None where all are honest people.
    history: all periods, where this is one of several; None of a market that is held once.
    priced: how the learner learned its price; None where the price stands.
    paths: relative fitness of all trainings, round by round; None where the scenario does not ask for it.
    """

    scenario: Scenario
    data: MarketData
    planner: Planner
    game: Game
    equilibrium: Equilibrium
    trained: Trained | None
    contest: Contest | None = None
    answering: Answering | None = None
    history: History | None = None
    priced: Priced | None = None
    paths: Paths | None = None

    @property
    def written(self) -> Scenario:
        """The scenario as written; where the learner learns its price, ``scenario`` has the one it kept."""
        return self.scenario if self.priced is None else self.priced.written

    @property
    def epsilon(self) -> np.ndarray:
        """The privacy budgets that the owners settled on, (n_owners,)."""
        return self.equilibrium.epsilon

    @cached_property
    def playing(self) -> Game:
        """The game as those who choose see it, with what unions and others' sales mean to them."""
        return as_played(self.scenario, self.game)

    @cached_property
    def rational(self) -> Equilibrium | None:
        """Where owners would come to rest were they all rational; None where they are."""
        return benchmark(self.scenario, self.game)

    @cached_property
    def transfers(self) -> np.ndarray:
        """What each owner gets from its union or ring, (n_owners,), money; below 0 where it gives."""
        apart = divided_in_rings if self.scenario.behaviours else divided
        return apart(self.scenario, self.game, self.epsilon)

    @cached_property
    def accounts(self) -> Accounts:
        """What each owner has, of all learners."""
        if self.contest is not None:
            return self.contest.accounts
        game, epsilon = self.game, self.epsilon
        taxes, worth = game.taxes(epsilon), game.value * (game.forecast.outside - game.fitness(epsilon))
        costs, benefits, lost = game.costs(epsilon), game.benefits(epsilon), np.zeros(len(epsilon))
        if self.scenario.externalities is not None and game.asks(epsilon):
            lost, costs = self.playing.policy.losses(epsilon), costs - self.playing.policy.spared(epsilon)
        return Accounts(epsilon, game.payments(epsilon), costs, taxes, benefits, self.transfers, lost, worth)

    @cached_property
    def prediction(self) -> Prediction:
        """What may come of them: both models in every possible world."""
        return self.planner.predict(self.epsilon)

    @cached_property
    def measure(self) -> Measure:
        """What money is counted of."""
        return measure_of(self.scenario, self.planner)

    def possible_gains(self, payments: float) -> np.ndarray:
        """What the learner gains in each possible world after paying so much, (m,)."""
        return self.prediction.gain(self.game.value, payments, self.measure if self.asks else RELATIVE)

    @cached_property
    def fitness(self) -> np.ndarray:
        """Relative fitness of each trained model, measured on all records, (runs,)."""
        assert self.trained is not None
        return np.asarray(self.data.fitness.relative(self.trained.theta))

    @cached_property
    def errors(self) -> np.ndarray:
        """What counts of each trained model, measured on all records, (runs,)."""
        assert self.trained is not None
        return self.fitness if self.measure is RELATIVE else self.counted(self.trained.theta)

    @cached_property
    def own_error(self) -> float:
        """What counts of the learner's own model, measured alike."""
        return float(self.counted(self.planner.own_model[None])[0])

    def counted(self, theta: np.ndarray) -> np.ndarray:
        """What counts of models (k, p), measured on all records, (k,)."""
        return self.measure.counted(theta, self.data.fitness, self.data.owners)

    @property
    def has_model(self) -> np.ndarray:
        """Whether each owner receives the model, (n_owners,)."""
        return self.asks & ((self.epsilon > 0) | self.game.owners.model_for_all)

    @property
    def staying_out(self) -> np.ndarray:
        """What each owner would have by sharing nothing, all others as they are, (n_owners,), money."""
        if not self.game.owners.model_for_all:
            return 0.0 - self.accounts.spillovers
        return self.game.deviations(self.epsilon).benefits(np.zeros((len(self.epsilon), 1)))[:, 0]

    @property
    def simple(self) -> bool:
        """Whether one learner buys from owners with nothing in common who cannot leave: a planner's best is then known."""
        bound = self.scenario.market.participation == "bound"
        return self.contest is None and self.scenario.externalities is None and bound

    @property
    def weights(self) -> np.ndarray:
        """How much each owner's answer counts there, (n_owners,)."""
        return self.planner.forecast.weights(self.epsilon)

    @property
    def asks(self) -> bool:
        """Whether anybody is asked anything there."""
        return bool(self.planner.forecast.plan(self.epsilon).asks and np.any(self.epsilon > 0))
