"""Planning by the exact law: squared loss under an algorithm that is linear in its noise."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from learning.arrays import Array
from learning.forecast.bootstrap import BootstrapSamples, draw_bootstrap
from learning.forecast.clipped_problem import oracle_problem
from learning.forecast.fitness import forecast
from learning.forecast.inputs import PlanningInputs
from learning.forecast.interval import predict_dealt, predict_trained
from learning.forecast.planner import NEGLIGIBLE, SMALLEST, Decomposition, Planner, among_kinds, kinds_told
from learning.forecast.printed_step import with_printed_step
from learning.forecast.protocol import design
from learning.forecast.public_sample import dispersion
from learning.forecast.wide import affordable
from learning.losses.coordinates import Coordinates
from learning.losses.squared import Fitness
from learning.privacy.given_bound import at_given_bound
from learning.privacy.mechanism import Mechanism
from learning.randomness import Streams
from learning.training.law import Problem, bias_and_gain, projected_share, reach, together

RESAMPLES = 200
LEAST_RESAMPLES = 8  # of a wide model
DEALS = 40  # of the pooled records among the owners, of the interval on the oracle basis
PROFILES = 9  # of budgets, from everyone's smallest to everyone's largest


@dataclass(frozen=True)
class ExactPlanner(Planner):
    """A planner whose forecast is the exact law.

    Parameters
    ----------
    problem : the training problem that the forecast averages over, one row per resample of the public rows.
    """

    problem: Problem = field(repr=False)

    @property
    def optimum(self) -> float:
        return float(self.problem.optimum.mean())

    @property
    def curvatures(self) -> tuple[float, float]:
        return curvatures_of(self.problem)

    @property
    def start_excess(self) -> float:
        return float(self.problem.untrained.mean())

    def predict_trained(self, epsilon: Array, point: float) -> Array:
        plan = self.forecast.plan(epsilon)
        relative = plan.relative_scales(self.mechanism)
        return predict_trained(*self.hindsight, plan, self.noise_power(epsilon, plan), point, relative)

    @cached_property
    def hindsight(self) -> tuple[Problem, Problem]:
        """What training gives the learner of each resample on the public rows, and what it would forecast from."""
        assert self.bootstrap is not None
        bounds = self.coordinates.radius, self.coordinates.target_bound
        told = [learner.problem(*bounds, corrected=True) for learner in self.learners]
        return self.bootstrap.problem(*bounds), together(told)

    def predict_known(self, epsilon: Array, point: float) -> Array:
        if not self.forecast.apart_at(epsilon):
            return np.array([point])
        plan, weights, found = self.forecast.plan(epsilon), self.forecast.weights(epsilon), []
        for world in range(DEALS):
            inputs = self.inputs.dealt(Streams(self.inputs.seed, "deals").rng(world))
            problem = pooled_problem(inputs, self.coordinates, weights)
            bias, gain = bias_and_gain(problem, plan.steps, plan.returned, plan.relative_scales(self.mechanism))
            found.append((bias + gain * self.noise_power(epsilon, plan)) / problem.optimum)
        return predict_dealt(np.array(found), point)

    def projected(self, epsilon: Array) -> float:
        if not self.asks(epsilon) or np.isinf(self.coordinates.theta_max):
            return 0.0
        plan = self.forecast.plan(epsilon)
        power, relative = self.noise_power(epsilon, plan), plan.relative_scales(self.mechanism)
        ball, norm = self.coordinates.theta_max, self.mechanism.norm
        return float(projected_share(self.problem, plan.steps, power, ball, relative, norm=norm).mean())

    def ball_binds(self) -> bool:
        """Whether the projection matters at budgets that owners may choose: the law does not hold there.

        Where the scenario states the ball, at any budgets between the smallest and the largest; else at the reference, for
        which the learner has made it wide enough if it could.
        """
        owners = self.inputs.owners
        profiles = [owners.reference]
        if self.inputs.settings.theta_max is not None:
            low, high = np.maximum(owners.epsilon_min, SMALLEST), np.maximum(owners.epsilon_max, SMALLEST)
            profiles = list(np.geomspace(low, high, PROFILES) * (owners.epsilon_max > 0))
        return any(self.projected(epsilon) > NEGLIGIBLE for epsilon in profiles)

    def reach(self, epsilon: Array) -> float | None:
        plan = self.forecast.plan(epsilon)
        power, relative = self.noise_power(epsilon, plan), plan.relative_scales(self.mechanism)
        return float(np.quantile(reach(self.problem, plan.steps, power, relative, norm=self.mechanism.norm), 0.9))

    def oracle(self, epsilon: Array) -> Decomposition:
        plan, weights = self.forecast.plan(epsilon), self.forecast.weights(epsilon)
        if not plan.asks or not weights.any():
            return self.unbought()
        problem = pooled_problem(self.inputs, self.coordinates, weights)
        bias, gain = bias_and_gain(problem, plan.steps, plan.returned, plan.relative_scales(self.mechanism))
        noise = float(gain[0]) * self.noise_power(epsilon, plan) if gain[0] > 0 else 0.0
        optimum = self.inputs.pooled.fitness.optimum
        return Decomposition(float(bias[0]) / optimum, noise / optimum, optimum)


def exact_planner(inputs: PlanningInputs, mechanism: Mechanism, drawn: BootstrapSamples | None = None) -> ExactPlanner:
    """Protocol and forecast by the exact law: the learner's own knowledge, from its public rows.

    Without public rows from the pooled records: the simulator's privilege, assumed known.

    Parameters
    ----------
    inputs : what the learner plans with.
    mechanism : how answers are made noisy.
    drawn : the resamples of its rows where another planner of as many records has drawn them.
    """
    bootstrap = outside = None
    if inputs.sample is None:
        coordinates, weights = inputs.stated_coordinates(mechanism), inputs.owners.sizes / inputs.owners.sizes.sum()
        problem, own_model = pooled_problem(inputs, coordinates, weights), coordinates.centre
        lost = dispersion(*inputs.known.records, inputs.pooled.fitness.minimiser)
    else:
        count = affordable(RESAMPLES, LEAST_RESAMPLES, inputs.public.x.shape[1], power=2)
        bootstrap = drawn or resamples(inputs, mechanism, count)
        bootstrap = bootstrap if bootstrap.norm == mechanism.norm else replace(bootstrap, norm=mechanism.norm)
        coordinates = design(inputs, bootstrap, mechanism)
        problem = bootstrap.problem(coordinates.radius, coordinates.target_bound, corrected=True)
        lost, outside, own_model = bootstrap.dispersion, bootstrap.relative_outside, inputs.sample.model
    between, mechanism = kinds_told(inputs, coordinates), at_given_bound(mechanism, coordinates)
    inputs = with_printed_step(inputs, coordinates, mechanism, curvatures_of(problem))
    made = forecast(
        problem,
        inputs.settings,
        sizes=inputs.owners.sizes,
        mechanism=mechanism,
        gradient_bound=coordinates.noise_bound,
        dispersion=lost,
        basis=inputs.basis,
        outside=outside,
    )
    made = among_kinds(made, inputs, between)
    return ExactPlanner(inputs, coordinates, mechanism, made, own_model, bootstrap, problem, between=between)


def curvatures_of(problem: Problem) -> tuple[float, float]:
    """Smallest and largest curvature, on average over the rows of a problem."""
    return float(problem.eigenvalues[:, 0].mean()), float(problem.eigenvalues[:, -1].mean())


def resamples(inputs: PlanningInputs, mechanism: Mechanism, count: int) -> BootstrapSamples:
    """So many bootstrap resamples of the learner's own rows, as a population shows them."""
    return draw_bootstrap(
        inputs.public.smoothed,
        start=inputs.settings.start,
        precondition=inputs.settings.precondition,
        total_size=int(inputs.owners.sizes.sum()),
        resamples=count,
        rng=Streams(inputs.seed, "data").rng("worlds"),
        norm=mechanism.norm,
    )


def pooled_problem(inputs: PlanningInputs, coordinates: Coordinates, weights: Array) -> Problem:
    """The true training problem, from the pooled records at given weights (n_owners,)."""
    fitness, total = inputs.pooled.fitness, inputs.owners.sizes.sum()
    assert isinstance(fitness, Fitness)
    counts = weights * total / inputs.owners.sizes  # records of each owner: its mean counts with its weight
    return oracle_problem(coordinates, inputs.pooled.counted(coordinates, counts), fitness)
