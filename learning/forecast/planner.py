"""Planners: announced protocol, forecast of the market, and its uncertainty.

`ExactPlanner` plans by the exact law, `CalibratedPlanner` by rehearsal; each is in its own file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from learning.arrays import Array
from learning.forecast.bootstrap import BootstrapSamples
from learning.forecast.decisions import Decisions
from learning.forecast.doubts import draw_doubts
from learning.forecast.fitness import FitnessForecast
from learning.forecast.held import find_held_shares
from learning.forecast.homogeneity import (
    BetweenOwners,
)
from learning.forecast.inputs import PlanningInputs
from learning.forecast.measures import Measure, RootMeanSquare
from learning.forecast.prediction import WORLDS, Prediction, chance_of_parts, predict_outside
from learning.losses.coordinates import Coordinates
from learning.privacy.mechanism import Mechanism
from learning.randomness import Streams
from learning.training.client import Client, group_owners, make_clients
from learning.training.conduct import Conduct
from learning.training.plan import Plan

NEGLIGIBLE = 1e-3  # share of the coordinates that a projection may move without visible effect


@dataclass(frozen=True)
class Decomposition:
    """Parts of relative fitness, in units of f*.

    Parameters
    ----------
    bias : without noise.
    noise : increase by the owners' noise.
    optimum : f*, the smallest training cost.
    std_error : standard error of the sum where it is itself measured; 0 under the exact law.
    """

    bias: float
    noise: float
    optimum: float
    std_error: float = 0.0

    @property
    def relative_fitness(self) -> float:
        """Sum of both parts."""
        return self.bias + self.noise


@dataclass(frozen=True)
class Choice:
    """Way to train that was compared with others.

    Parameters
    ----------
    algorithm : name of the training algorithm.
    clipping : "parts" or "record", what is clipped.
    mechanism, accounting : the noise, and the accountant of its cost.
    growth : each share of a budget over the one before.
    step_decline : power of the round that steps fall with.
    horizon : best number of rounds at the reference budgets.
    relative_fitness : forecast there, if all records are of one kind.
    in_doubt : the same on average over the kinds that records may be of, by which all were then
        compared; None where they are known to be of one.
    chosen : True of the one that was taken.
    """

    algorithm: str
    clipping: str
    mechanism: str
    accounting: str
    growth: float
    step_decline: float
    horizon: int
    relative_fitness: float
    in_doubt: float | None = None
    chosen: bool = False


@dataclass(frozen=True)
class Planner(ABC):
    """Protocol in public coordinates, forecast of the market, and its uncertainty.

    Parameters
    ----------
    inputs : of the forecast.
    coordinates : start, scale, clipping bounds and ball that are announced.
    mechanism : mechanism of the answers.
    forecast : relative fitness as a function of all budgets.
    bootstrap : bootstrap samples of the public rows; None on the oracle basis.
    optimum : forecast of f*.
    curvatures : smallest and largest curvature of the training cost, in the trained coordinates.
    start_excess : forecast of the excess cost of the start over the optimum.
    between : differences between owners by public rows or loss reports; None without either.
    choices : the ways to train that were compared; none where the scenario names one.
    """

    inputs: PlanningInputs = field(repr=False)
    coordinates: Coordinates
    mechanism: Mechanism
    forecast: FitnessForecast
    bootstrap: BootstrapSamples | None = field(repr=False)
    optimum: float
    curvatures: tuple[float, float]
    start_excess: float
    between: BetweenOwners | None = field(default=None, kw_only=True)
    choices: tuple[Choice, ...] = field(default=(), kw_only=True, repr=False)

    @property
    def worlds(self) -> BootstrapSamples | None:
        """Bootstrap samples that stand for possible worlds; None on the oracle basis."""
        return self.bootstrap

    @property
    def own_model(self) -> Array:
        """The learner's outside option, (p,): its public model, or the start without rows."""
        return self.coordinates.centre if self.bootstrap is None else self.inputs.public.model

    @abstractmethod
    def predict_trained(self, epsilon: Array) -> Array:
        """Relative fitness of the model trained at given budgets in every possible world, (m,)."""

    @abstractmethod
    def predict_known(self, epsilon: Array, point: float) -> Array:
        """Relative fitness in each world, (m,), where only the owners of records are unknown."""

    @abstractmethod
    def projected(self, epsilon: Array) -> float:
        """Expected share of the coordinates that the projection moves at given budgets."""

    @abstractmethod
    def oracle(self, epsilon: Array) -> Decomposition:
        """Forecast on the pooled records of those who share, under the plan in use."""

    def at(self, epsilon: Array) -> float:
        """Relative fitness forecast at given budgets (n_owners,)."""
        return self.forecast.at(epsilon)

    def noise_part(self, epsilon: Array) -> float:
        """Part of it that the noise adds."""
        return self.forecast.noise_part(epsilon)

    def asks(self, epsilon: Array) -> bool:
        """True if anything is asked of any owner at given budgets (n_owners,)."""
        return self.forecast.plan(epsilon).asks and bool(np.any(np.asarray(epsilon) > 0))

    def reach(self, epsilon: Array) -> float | None:
        """Distance from the start that training may reach; None where no law tells it."""
        return None

    def decision_cost(self, decisions: Decisions) -> Measure:
        """Cost of wrong decisions by relative fitness, where training is rehearsed."""
        raise TypeError(f"{type(self).__name__} rehearses nothing that decides")

    def noise_power(self, epsilon: Array, plan: Plan) -> float:
        """S, variance per coordinate of one round's aggregated noise."""
        factor = float(self.mechanism.horizon_factor(plan.priced))
        return self.forecast.noise_at(epsilon) * self.coordinates.noise_bound**2 * factor

    def predict(self, epsilon: Array) -> Prediction:
        """Predict both models at given budgets (n_owners,) in every possible world.

        On the oracle basis the records are known, but not their owners; where these do not matter,
        there is one world. The last prediction is kept.
        """
        key = np.asarray(epsilon, dtype=float).tobytes()
        if key not in self._predicted:
            found = self._predict(epsilon)
            self._predicted.clear()
            self._predicted[key] = found
        return self._predicted[key]

    @cached_property
    def _predicted(self) -> dict[bytes, Prediction]:
        return {}

    def _predict(self, epsilon: Array) -> Prediction:
        points = self.at(epsilon), self.forecast.outside
        worlds = self.worlds
        if worlds is None:
            trained = np.array(points[1:])
            if self.asks(epsilon):
                trained = self.predict_known(epsilon, points[0])
            return Prediction(trained, np.full(len(trained), points[1]))
        outside = predict_outside(worlds)
        count = len(outside)
        if self.between is not None or self.doubts(1):
            count *= -(
                -WORLDS // count
            )  # doubts are drawn anew each time that a world's turn comes
        outside = np.resize(outside, count)
        doubts = self.doubts(count)
        if not self.asks(epsilon):
            outside = outside + sum(kinds[1] for kinds in doubts)
            return Prediction(outside, outside, points)
        _, may_add = self.unlike(epsilon, count)
        partial = self.forecast.partial_cost_at(epsilon)
        trained = self.predict_trained(epsilon) + partial * chance_of_parts(worlds)
        prediction = Prediction(np.resize(trained, count), outside, points)
        if self.inputs.spread and doubts:  # f* of all kinds is larger than that of one
            unit = 1 + self.inputs.spread
            prediction = Prediction(prediction.trained / unit, outside / unit, points, prediction)
            may_add = may_add / unit
            doubts = [kinds / unit for kinds in doubts]
        for kinds in (np.stack([may_add, np.zeros_like(may_add)]), *doubts):
            prediction = prediction.in_doubt(kinds)
        return prediction

    def unlike(self, epsilon: Array, worlds: int) -> tuple[float, Array]:
        """Cost of owners of several kinds at given budgets: its forecast, and draws (worlds,)."""
        if self.between is None or not self.forecast.plan(epsilon).asks:
            return 0.0, np.zeros(worlds)
        sizes = self.inputs.owners.sizes
        away = self.forecast.weights(epsilon) - sizes / sizes.sum()
        rng = Streams(self.inputs.seed, "data").rng("unlike")
        drawn = self.between.draw_shifts(away, worlds, rng=rng)
        lost = self.forecast.dispersion
        return lost * self.between.ratio * float(away @ away), lost * drawn

    def doubts(self, worlds: int) -> list[Array]:
        """Draw the cost of public rows of another kind than the owners', (2, worlds) each.

        Released moments and scores are solved from any start. The model is then at most as far from
        the optimum as the start, so both are off by the same draws; gradients that were planned for
        a near start may also add to its distance, independently of it.
        """
        drawn = draw_doubts(self.inputs, self.between, worlds)
        if self.inputs.settings.trains_by.scores:
            drawn = [np.stack([start, start]) for _, start in drawn]
        return [self.forecast.dispersion * one for one in drawn]

    @cached_property
    def _measures(self) -> dict[Decisions | None, Measure]:
        return {}

    def measure(self, decisions: Decisions | None = None) -> Measure:
        """Measure of the model: cost of wrong decisions, or root mean squared error if None."""
        if decisions not in self._measures:
            if decisions is not None:
                self._measures[decisions] = self.decision_cost(decisions)
            else:
                self._measures[None] = self.root_mean_square()
        return self._measures[decisions]

    def root_mean_square(self) -> RootMeanSquare:
        """Root mean squared error of predictions that are held to the target's public range."""
        worlds = self.worlds
        loss = self.inputs.settings.loss
        if worlds is None:
            return RootMeanSquare(self.optimum, np.array([self.optimum]), loss=loss)
        optima = self.optimum * worlds.optimum / worlds.estimated_scales[0]
        shares = find_held_shares(worlds.sample, worlds.rows)
        return RootMeanSquare(self.optimum, optima, shares, loss)

    def outside_decomposition(self) -> Decomposition:
        """Relative fitness of the learner's own model on the pooled records."""
        fitness = self.inputs.pooled.fitness
        return Decomposition(float(fitness.relative(self.own_model)), 0.0, fitness.optimum)

    def mechanism_at(self, epsilon: Array) -> Mechanism:
        """Mechanism priced for those owners who share at given budgets (n_owners,)."""
        sharing = np.asarray(epsilon) > 0
        mechanism = self.mechanism
        if sharing.any():
            mechanism = mechanism.for_owners(self.inputs.owners.sizes[sharing])
        return self.inputs.trust.share_noise(mechanism, int(sharing.sum()))

    def hidden(self, epsilon: Array) -> Array:
        """Budgets (n_owners,) that the noise in use really spends: those sold, or less.

        Less is spent where other owners need more of the noise that all make together.
        """
        epsilon = np.asarray(epsilon, dtype=float)
        term = self.mechanism.noise_term(epsilon)
        if not (self.inputs.trust.secure and term.any()):
            return epsilon
        weights = self.forecast.weights(epsilon)
        with np.errstate(divide="ignore"):
            enough = self._whole_need(epsilon) * self.inputs.owners.sizes**2 / weights**2
        less = self.mechanism.budget(np.where(term > 0, enough, 1.0))
        lower = (term > 0) & (enough > term * (1 + 1e-9))
        return np.where(lower, np.minimum(epsilon, less), epsilon)

    def _whole_need(self, epsilon: Array) -> float:
        """Joint noise of honest owners alone: max q^2 t/n^2, or more where more is announced."""
        count = int((np.asarray(epsilon) > 0).sum())
        return self.forecast.noise_at(epsilon) * (count - self.inputs.trust.colluders) / count

    def clients(
        self, epsilon: Array, noise_scale: Array | None = None, conducts: Sequence[Conduct] = ()
    ) -> tuple[tuple[Client, ...], Array, Plan]:
        """Clients at given budgets (n_owners,), their weights, and the plan with their clocks.

        Parameters
        ----------
        epsilon : array (n_owners,), budgets.
        noise_scale : array (runs,), a factor on the noise of each run; none unless given.
        conducts : conduct of each owner (n_owners,); honest unless given, as in every forecast.
        """
        owners = self.inputs.owners
        plan = self.forecast.plan(epsilon)
        sharing = np.asarray(epsilon) > 0
        bound = self.coordinates.noise_bound
        mechanism = self.mechanism_at(epsilon)
        made = make_clients(
            owners.names,
            self.inputs.owner_oracles(self.coordinates, conducts),
            mechanism.training_budget(epsilon),
            mechanism.training_mechanism,
            bound,
            plan.priced,
            conducts,
            plan.growth,
        )
        weights = self.forecast.weights(epsilon)[sharing]
        if self.inputs.trust.secure:  # each adds a part of the whole noise, over its weight
            pairs = list(zip(weights, made, strict=True))
            factor = float(mechanism.horizon_factor(plan.priced))
            spread = self.mechanism.scale_of_variance(self._whole_need(epsilon) * bound**2 * factor)
            whole = max(float(spread), *(q * one.scale for q, one in pairs))
            made = tuple(replace(one, scale=whole / q) for q, one in pairs)
        if noise_scale is not None:
            made = tuple(replace(client, scale=client.scale * noise_scale) for client in made)
        groups = owners.groups_among(sharing)
        together = np.array([weights[group].sum() for group in groups])
        plan = replace(plan, clocks=owners.clocks_among(sharing))
        return group_owners(made, groups), together, plan
