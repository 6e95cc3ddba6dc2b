"""Planner by the exact law: squared loss under an algorithm that is linear in its noise."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from learning.arrays import Array
from learning.forecast.bootstrap import BootstrapSamples
from learning.forecast.doubts import add_kinds, bootstrap_of
from learning.forecast.fitness import agree_rounds, forecast_fitness
from learning.forecast.inputs import SMALLEST, PlanningInputs
from learning.forecast.law import oracle_problem, with_printed_step
from learning.forecast.planner import NEGLIGIBLE, Decomposition, Planner
from learning.forecast.possible import possible_problem, reflect_optimum, widen_worlds
from learning.forecast.prediction import law_fitness, predict_permuted
from learning.forecast.protocol import design_by_law
from learning.forecast.public_sample import affordable_count, dispersion
from learning.losses.coordinates import Coordinates
from learning.losses.squared import Fitness
from learning.privacy.mechanism import Mechanism
from learning.privacy.wrapped import at_given_bound
from learning.randomness import Streams
from learning.training.law import (
    Problem,
    bias_and_gain,
    largest_excursion,
    projected_share,
)
from learning.training.plan import Plan

RESAMPLES = 200
LEAST_RESAMPLES = 8  # of a wide model
PERMUTATIONS = 40  # of the records among the owners, for the interval on the oracle basis
PROFILES = 9  # of budgets, from the smallest of all owners to the largest of all


@dataclass(frozen=True)
class ExactPlanner(Planner):
    """Planner whose forecast is the exact law.

    Parameters
    ----------
    problem : the training problem that the forecast averages over, one row per bootstrap sample of
        the public rows.
    """

    problem: Problem = field(repr=False)

    def _training_at(self, epsilon: Array) -> tuple[Plan, float, Array]:
        """Plan at given budgets, S, and the deviation of each answer's noise over sqrt(S)."""
        plan = self.forecast.plan(epsilon)
        return plan, self.noise_power(epsilon, plan), plan.relative_scales(self.mechanism)

    def predict_trained(self, epsilon: Array) -> Array:
        plan, power, relative = self._training_at(epsilon)
        assert self.bootstrap is not None
        factor = reflect_optimum(self.bootstrap)
        found = law_fitness(self.possible_problem, plan, power * factor, relative)
        return widen_worlds(factor * found)

    @cached_property
    def possible_problem(self) -> Problem:
        """Training problem in each possible population, from the start in use."""
        assert self.bootstrap is not None
        return possible_problem(self.bootstrap, self.coordinates)

    def predict_known(self, epsilon: Array, point: float) -> Array:
        if not self.forecast.partial_cost_at(epsilon):
            return np.array([point])
        streams = Streams(self.inputs.seed, "deals")
        found = []
        for world in range(PERMUTATIONS):
            permuted = self.inputs.permute_records(streams.rng(world))
            bias, noise, optimum = self._fit_pooled(epsilon, permuted)
            found.append([(bias + noise) / optimum])
        return predict_permuted(np.array(found), point)

    def _fit_pooled(self, epsilon: Array, inputs: PlanningInputs) -> tuple[float, float, float]:
        """Parts of the excess cost by bias and by noise, and f*, of training on pooled records."""
        plan, power, relative = self._training_at(epsilon)
        weights = self.forecast.weights(epsilon)
        problem = pooled_problem(inputs, self.coordinates, weights)
        bias, gain = bias_and_gain(problem, plan.steps, plan.returned, relative)
        noise = float(gain[0]) * power if gain[0] > 0 else 0.0
        return float(bias[0]), noise, float(problem.optimum[0])

    def projected(self, epsilon: Array) -> float:
        ball = self.coordinates.theta_max
        if not self.asks(epsilon) or np.isinf(ball):
            return 0.0
        plan, power, relative = self._training_at(epsilon)
        norm = self.mechanism.norm
        moved = projected_share(self.problem, plan.steps, power, ball, relative, norm=norm)
        return float(moved.mean())

    def ball_binds(self) -> bool:
        """True if the projection matters at budgets that owners may choose: no law holds there.

        Where the scenario states the ball, budgets between the smallest and the largest are tried;
        else only the reference, for which the learner has made the ball wide enough if it could.
        """
        owners = self.inputs.owners
        profiles = [owners.reference]
        if self.inputs.settings.theta_max is not None:
            low = np.maximum(owners.epsilon_min, SMALLEST)
            high = np.maximum(owners.epsilon_max, SMALLEST)
            profiles = list(np.geomspace(low, high, PROFILES) * (owners.epsilon_max > 0))
        return any(self.projected(epsilon) > NEGLIGIBLE for epsilon in profiles)

    def reach(self, epsilon: Array) -> float | None:
        plan, power, relative = self._training_at(epsilon)
        distance = largest_excursion(
            self.problem, plan.steps, power, relative, norm=self.mechanism.norm
        )
        return float(np.quantile(distance, 0.9))

    def oracle(self, epsilon: Array) -> Decomposition:
        if not self.forecast.plan(epsilon).asks or not self.forecast.weights(epsilon).any():
            return self.outside_decomposition()
        bias, noise, _ = self._fit_pooled(epsilon, self.inputs)
        optimum = self.inputs.pooled.fitness.optimum
        return Decomposition(bias / optimum, noise / optimum, optimum)


def exact_planner(
    inputs: PlanningInputs, mechanism: Mechanism, drawn: BootstrapSamples | None = None
) -> ExactPlanner:
    """Protocol and forecast by the exact law, from the learner's public rows.

    Without public rows both come from the pooled records, which only a simulator knows.

    Parameters
    ----------
    inputs : of the forecast.
    mechanism : mechanism of the answers.
    drawn : bootstrap samples of the same rows, where another planner has drawn them.
    """
    bootstrap = None
    outside = None
    if inputs.sample is None:
        coordinates = inputs.stated_coordinates(mechanism)
        weights = inputs.owners.sizes / inputs.owners.sizes.sum()
        problem = pooled_problem(inputs, coordinates, weights)
        lost = dispersion(*inputs.known_records.records, inputs.pooled.fitness.minimiser)
    else:
        count = affordable_count(RESAMPLES, LEAST_RESAMPLES, inputs.public.x.shape[1], power=2)
        bootstrap = drawn or bootstrap_of(inputs, mechanism, count)
        if bootstrap.norm != mechanism.norm:
            bootstrap = replace(bootstrap, norm=mechanism.norm)
        coordinates = design_by_law(inputs, bootstrap, mechanism)
        bounds = coordinates.radius, coordinates.target_bound
        problem = bootstrap.training_problem(*bounds, corrected=True)
        lost = bootstrap.dispersion
        outside = bootstrap.relative_outside
    mechanism = at_given_bound(mechanism, coordinates)
    least, largest = (problem.eigenvalues[:, i].mean() for i in (0, -1))
    curvatures = float(least), float(largest)
    inputs = with_printed_step(inputs, coordinates, mechanism, curvatures)
    forecast = forecast_fitness(
        problem,
        inputs.settings,
        sizes=inputs.owners.sizes,
        mechanism=mechanism,
        gradient_bound=coordinates.noise_bound,
        dispersion=lost,
        basis=inputs.basis,
        outside=outside,
    )
    forecast = agree_rounds(forecast, inputs.round_cost, inputs.owners.reference)
    forecast, between = add_kinds(forecast, inputs, coordinates)
    scales = float(problem.optimum.mean()), curvatures, float(problem.untrained.mean())
    made = inputs, coordinates, mechanism, forecast, bootstrap, *scales
    return ExactPlanner(*made, problem, between=between)


def pooled_problem(inputs: PlanningInputs, coordinates: Coordinates, weights: Array) -> Problem:
    """True training problem, from the pooled records at given weights (n_owners,)."""
    fitness = inputs.pooled.fitness
    assert isinstance(fitness, Fitness)
    sizes = inputs.owners.sizes
    counts = weights * sizes.sum() / sizes  # of an owner's records: its mean counts by its weight
    seen = inputs.pooled.weighted_statistics(coordinates, counts)
    return oracle_problem(coordinates, seen, fitness)
