"""The pieces of a run of a scenario, from which its result is counted up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from learning.forecast.decisions import DecisionCost
from learning.forecast.measures import RELATIVE, Measure
from learning.forecast.planner import Planner
from learning.forecast.prediction import Prediction
from learning.forecast.public_check import PublicCheck, check_on_public_rows
from learning.losses.loss import TrainingCost
from learning.privacy.claims import Claim
from learning.privacy.ledger import Ledger
from learning.privacy.lifetime import Lifetime
from learning.training.engine import Trained, charge_training
from learning.training.paths import Paths
from market.analysis.optimum import Optimum, social_optimum
from market.equilibrium.solver import Equilibrium
from market.game.game import Game
from scenarios.features import features_in_use
from scenarios.features.audit import Answering
from scenarios.features.behaviours import solve_if_rational
from scenarios.features.go import Decision, decide_to_buy, expect_payments
from scenarios.features.time import Time
from scenarios.planning import choose_measure
from scenarios.schema.scenario import Scenario
from scenarios.tables.dataset import MarketData
from scenarios.tables.known import known_records

if TYPE_CHECKING:  # Mesa and what it loads take half a second
    from agents.dynamics import Period
    from agents.pricing.base import Learned
    from agents.pricing.negotiation import Bargains
    from market.analysis.design import Design
    from market.competition.market import Competition


@dataclass(frozen=True)
class Accounts:
    """Sales, payments, losses and surplus of each owner.

    Every column (n_owners,), in money but for the budgets.

    Parameters
    ----------
    epsilon: the privacy budget that it sells to all learners together.
    payments: what learners pay.
    costs: what the privacy that it loses is worth to it, with taxes.
    taxes: what of that it pays the treasury.
    benefits: what the model is worth to it.
    transfers: what it gets from its union or ring.
    spillovers: what others' sales cost it whatever it does.
    worth: money that all learners together gain by their models over what they have for nothing.
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
        """Money that each owner has in the end."""
        return self.payments + self.benefits - self.costs + self.transfers - self.spillovers

    @property
    def welfare(self) -> float:
        """Welfare of all: payments and transfers cancel, and the treasury has the taxes."""
        return float(
            self.worth
            + self.benefits.sum()
            - self.costs.sum()
            + self.taxes.sum()
            - self.spillovers.sum()
        )


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
        """Names of the learners."""
        return [learner.name for learner in self.market.learners]

    @property
    def accounts(self) -> Accounts:
        """Accounts of the owners over all learners."""
        market = self.market
        sold = self.found.epsilon
        total = sold.sum(axis=1)
        paid = self.found.payments.sum(axis=1)
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
    shown: the period that the run of this history is of: the last in which anybody was asked
        anything.
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
class Priced:
    """A scenario whose learner has learned its price.

    Parameters
    ----------
    written: the scenario as it is written.
    scenario: the same with the price kept.
    learned: the prices posted, and what the learner saw of each.
    best: the best price; no learner can find it, since that takes every owner's cost.
    """

    written: Scenario
    scenario: Scenario
    learned: Learned
    best: Design


@dataclass(frozen=True)
class Bargained:
    """A scenario whose learner and owners have agreed on contracts.

    Parameters
    ----------
    written: the scenario as it is written.
    bargains: the contracts.
    """

    written: Scenario
    bargains: Bargains


@dataclass(frozen=True)
class Loop:
    """Steps of the loop on the data and planner of a run, for facts that compare markets.

    Parameters
    ----------
    make_game: the game of a scenario.
    search: an equilibrium of a scenario in its game; ``rng`` and ``starts`` are the solver's.
    carry_out: the run of a scenario, without training.
    describe: account, forecast and validation of a run, as a result holds them.
    """

    make_game: Callable[[Scenario], Game]
    search: Callable[..., Equilibrium]
    carry_out: Callable[[Scenario], Run]
    describe: Callable[[Run], tuple[dict[str, Any], dict[str, Any], dict[str, Any] | None]]


@dataclass(frozen=True)
class Run:
    """Outcome of a run of a scenario, piece by piece.

    Parameters
    ----------
    scenario: the scenario.
    data: the records of its owners.
    planner: the learner's protocol and forecast.
    game: the game of the owners, under the scenario's rules.
    equilibrium: where they came to rest.
    trained: the models trained there; None without training.
    contest: the whole market, where several learners buy and this is the first of them; None where
        it is alone.
    answering: who answers otherwise than it sold; None where all are honest people.
    history: all periods, where this is one of several; None of a market that is held once.
    priced: how the learner learned its price; None where the price stands.
    bargained: the contracts that were agreed on; None where a policy is posted.
    paths: relative fitness of all trainings, round by round; None where the scenario does not ask
        for it.
    chance_paid: the chance that owners count on being paid with, where the learner may stop.
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
    bargained: Bargained | None = None
    paths: Paths | None = None
    chance_paid: float = 1.0

    @property
    def written(self) -> Scenario:
        """Scenario as written; ``scenario`` has the price kept, or the contracts agreed on."""
        changed = self.priced or self.bargained
        return self.scenario if changed is None else changed.written

    @property
    def epsilon(self) -> np.ndarray:
        """The privacy budgets that the owners settled on, (n_owners,)."""
        return self.equilibrium.epsilon

    @cached_property
    def playing(self) -> Game:
        """The game as those who choose see it, with what unions and others' sales mean to them.

        Where the learner may stop, payments are those expected.
        """
        game = expect_payments(self.game, self.chance_paid)
        for feature in features_in_use(self.scenario):
            game = feature.as_played(self.scenario, game)
        return game

    @cached_property
    def rational(self) -> Equilibrium | None:
        """Equilibrium if all owners were rational; None where they are."""
        return solve_if_rational(self.scenario, self.game)

    @cached_property
    def transfers(self) -> np.ndarray:
        """Money that each owner receives from other owners, (n_owners,); below 0 where it gives."""
        moved = np.zeros(len(self.epsilon))
        for feature in features_in_use(self.scenario):
            moved = moved + feature.transfers(self.scenario, self.game, self.epsilon)
        return moved

    @cached_property
    def accounts(self) -> Accounts:
        """Accounts of the owners over all learners."""
        if self.contest is not None:
            return self.contest.accounts
        game = self.game
        epsilon = self.epsilon
        taxes = game.taxes(epsilon)
        worth = game.value * (game.forecast.outside - game.fitness(epsilon))
        costs = game.costs(epsilon)
        benefits = game.benefits(epsilon)
        lost = np.zeros(len(epsilon))
        if self.scenario.externalities is not None and game.asks(epsilon):
            lost = self.playing.policy.leakage_losses(epsilon)
            costs = costs - self.playing.policy.spared_costs(epsilon)
        return Accounts(
            epsilon, game.payments(epsilon), costs, taxes, benefits, self.transfers, lost, worth
        )

    @cached_property
    def prediction(self) -> Prediction:
        """Forecast of both models in every possible world."""
        return self.planner.predict(self.epsilon)

    @cached_property
    def measure(self) -> Measure:
        """Measure that money is counted of."""
        return choose_measure(self.scenario, self.planner)

    def possible_gains(self, payments: float) -> np.ndarray:
        """Learner's gain in each possible world after payments of that amount, (m,)."""
        measure: Measure = RELATIVE
        if self.asks:
            measure = self.measure
        return self.prediction.gain(self.game.value, payments, measure)

    @cached_property
    def public_check(self) -> PublicCheck | None:
        """The learner's check of trained models on its public rows; None where it makes none."""
        public = self.data.public
        if public is None or self.trained is None or self.trained.task is None:
            return None
        return check_on_public_rows(public, self.trained.theta)

    @cached_property
    def keeps_own(self) -> np.ndarray:
        """Mask of the trainings after which the learner keeps its own model, (runs,).

        It keeps it if public rows speak against the trained one, or if nobody is asked.
        """
        assert self.trained is not None
        if self.public_check is not None:
            return self.public_check.failed
        return np.full(len(self.trained.theta), self.has_other_model)

    @cached_property
    def theta(self) -> np.ndarray:
        """Model handed over after each training, (runs, p).

        A model of another kind of features, which the learner may keep, is not among them.
        """
        assert self.trained is not None
        return np.where(self.keeps_own[:, None], self.planner.own_model, self.trained.theta)

    @cached_property
    def trained_fitness(self) -> np.ndarray:
        """Relative fitness of each trained model, handed over or not, on all records, (runs,)."""
        assert self.trained is not None
        return np.asarray(self.data.fitness.relative(self.trained.theta))

    @cached_property
    def fitness(self) -> np.ndarray:
        """Relative fitness of the model handed over after each training, (runs,).

        It is measured on all records.
        """
        return self.put_own(self.trained_fitness, self.own_fitness)

    @cached_property
    def errors(self) -> np.ndarray:
        """Error of these models in the learner's measure, on all records, (runs,)."""
        assert self.trained is not None
        if self.measure is RELATIVE:
            return self.fitness
        return self.put_own(self.counted(self.trained.theta), self.own_error)

    def put_own(self, errors: np.ndarray, own: float) -> np.ndarray:
        """Errors (runs,) with that of the learner's own model wherever it keeps it."""
        return np.where(self.keeps_own, own, errors)

    @property
    def has_other_model(self) -> bool:
        """Test whether nobody is asked, and the learner keeps a model of another kind."""
        return self.data.alternative is not None and not self.asks

    @cached_property
    def own_fitness(self) -> float:
        """Relative fitness of the learner's own model, measured on all records.

        It is below 0 where that is of a better kind of features than the best model of the market.
        """
        alternative = self.data.alternative
        if alternative is None:
            return float(self.data.fitness.relative(self.planner.own_model))
        return alternative.cost / self.data.fitness.optimum - 1

    @cached_property
    def own_error(self) -> float:
        """Error of the learner's own model in its measure, on all records."""
        alternative = self.data.alternative
        if alternative is None:
            return float(self.counted(self.planner.own_model[None])[0])
        if self.measure is RELATIVE:
            return self.own_fitness
        pooled = alternative.records[0]
        parts = known_records(pooled, alternative.own.encoder)
        return self.count_alternative(pooled.fitness, parts)

    def count_alternative(
        self, cost: TrainingCost, parts: Sequence[Any], measure: Measure | None = None
    ) -> float:
        """Error of the learner's model of another kind in a measure, on records encoded for it.

        The measure is the learner's own unless another is given.

        Where decisions are counted, they are made at the threshold that is best on its own rows.
        """
        alternative = self.data.alternative
        assert alternative is not None
        measure = measure or self.measure
        if isinstance(measure, DecisionCost):
            measure = replace(measure, rows=alternative.own.rows)
        return float(measure.counted(alternative.own.theta[None], cost, parts)[0])

    def counted(self, theta: np.ndarray) -> np.ndarray:
        """Errors of models (k, p) in the learner's measure, on all records with a target, (k,)."""
        return self.measure.counted(theta, self.data.fitness, self.data.known)

    @cached_property
    def decision(self) -> Decision | None:
        """Decisions to buy or not, training by training; None where every model is bought."""
        return decide_to_buy(self)

    @cached_property
    def ledger(self) -> Ledger:
        """Spending of the owners in the first training: a part where it ends at pilot answers."""
        assert self.trained is not None
        task = self.trained.task
        if task is None or self.decision is None or self.decision.goes_on:
            return self.trained.ledger
        share = self.scenario.learner.pilot
        assert share is not None
        owners = tuple(
            replace(one, epsilon=share * cast(float, one.epsilon)) for one in task.owners
        )
        ledger = Ledger()
        charge_training(replace(task, owners=owners), [1] * len(owners), ledger)
        return ledger

    @property
    def has_model(self) -> np.ndarray:
        """Mask of the owners who receive the model, (n_owners,)."""
        return self.asks & ((self.epsilon > 0) | self.game.owners.model_for_all)

    @property
    def staying_out(self) -> np.ndarray:
        """Money that each owner would have by sharing nothing, all else equal, (n_owners,)."""
        if not self.game.owners.model_for_all:
            return 0.0 - self.accounts.spillovers
        return self.game.deviations(self.epsilon).benefits(np.zeros((len(self.epsilon), 1)))[:, 0]

    @property
    def simple(self) -> bool:
        """Test whether owners choose for themselves alone, so that a planner's best is known."""
        return all(feature.owners_alone for feature in features_in_use(self.scenario))

    @cached_property
    def optimum(self) -> Optimum:
        """Profile of most welfare."""
        return social_optimum(self.game, start=self.epsilon)

    @property
    def learner_surpluses(self) -> np.ndarray:
        """Money that each learner has after paying, (n_learners,)."""
        if self.contest is not None:
            return self.contest.market.learner_surplus(self.contest.found.epsilon)
        return np.array([self.accounts.worth - self.accounts.payments.sum()])

    @property
    def weights(self) -> np.ndarray:
        """Weights of the owners' answers at the equilibrium, (n_owners,)."""
        return self.planner.forecast.weights(self.epsilon)

    @property
    def asks(self) -> bool:
        """Test whether any owner is asked anything."""
        return bool(self.planner.forecast.plan(self.epsilon).asks and np.any(self.epsilon > 0))


def revalue(run: Run, scenario: Scenario) -> Run:
    """Make the run of a scenario that differs in what a model is worth to the learner alone.

    Owners and training must not depend on that worth.
    """
    game = replace(run.game, value=scenario.learner.per_unit)
    return replace(run, scenario=run.data.in_order(scenario), game=game)
