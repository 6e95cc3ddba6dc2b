"""Markets trained as published: from 0, raw features, no ball, Laplace noise at a given bound.

The papers state neither the bound Xi of their noise nor their step sizes. One rule each is used
throughout the book, from public rows alone. The bound holds for public rows in a ball that does not
bind training: no promise rests on it, and nothing here is called private
(`learning.privacy.wrapped`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.losses.coordinates import Coordinates
from learning.losses.loss import Loss, TrainingCost
from learning.losses.records import GradientOracle
from learning.losses.squared import Fitness, Squared
from learning.privacy.laplace import Laplace
from learning.randomness import Streams
from learning.training.client import make_clients
from learning.training.engine import train
from learning.training.law import Problem, bias_and_gain, quadratic_problem
from learning.training.paths import Paths, Watch, ignore_step
from learning.training.plan import Plan
from learning.training.task import Task
from reproduction.tables import Table

ROOM = 1.2  # the ball that the bound is taken in, over the largest public parameter
NOISE = Laplace()
Records = tuple[Array, Array]


def given_bound(table: Table, loss: Loss, regularisation: float = 0.0) -> float:
    """Gradient bound Xi of all items: the largest 1-norm of a public row's gradient in a ball.

    The ball is |theta|_inf <= 1.2 |theta_pub|_inf, theta_pub the best model of the public rows.
    Squared loss: max 2 (r |x|_1 + |y|) |x|_1 over the rows; labels: max |x|_1. Public ranges would
    give a proved bound, and too much noise to learn anything.
    """
    x = table.public_x
    y = table.public_y
    reach = ROOM * float(np.abs(loss.fit(x, y, regularisation)[0]).max())
    lengths = np.abs(x).sum(axis=1)
    if not loss.quadratic:
        return float(loss.steepest * lengths.max())
    return float(np.max(2 * (reach * lengths + np.abs(y)) * lengths))


def step_constant(table: Table, loss: Loss, regularisation: float = 0.0) -> float:
    """Step constant c_1 of all items: one over the largest curvature on the public rows."""
    width = table.public_x.shape[1]
    whole = Coordinates(np.zeros(width), np.eye(width), loss=loss)
    return 1 / loss.largest_curvature(whole, table.public_x, regularisation)


def in_random_order(table: Table, streams: Streams) -> Table:
    """Table with its records in random order, so that all owners are of one kind."""
    order = streams.rng(table.name).permutation(table.n_records)
    return replace(table, x=table.x[order], y=table.y[order], owner=None)


@dataclass(frozen=True)
class Market:
    """Owners' records, trained by the algorithms of the papers.

    Parameters
    ----------
    records : features (n_i, p) and targets (n_i,) of each owner.
    gradient_bound : Xi that noise is scaled to.
    loss : loss that is trained.
    regularisation : r of g_1 = r/2 |theta|^2.
    """

    records: Sequence[Records] = field(repr=False)
    gradient_bound: float
    loss: Loss = Squared()
    regularisation: float = 0.0

    @property
    def sizes(self) -> Array:
        """Records of each owner, (n_owners,)."""
        return np.array([len(y) for _, y in self.records], dtype=float)

    @cached_property
    def coordinates(self) -> Coordinates:
        """Coordinates of raw features, with the start at 0 and the given bound."""
        width = self.records[0][0].shape[1]
        made = Coordinates(np.zeros(width), np.eye(width), loss=self.loss)
        return replace(made, given_bound=self.gradient_bound)

    @cached_property
    def oracles(self) -> list[GradientOracle]:
        """Gradient oracle of each owner."""
        return [self.coordinates.oracle(x, y) for x, y in self.records]

    @cached_property
    def cost(self) -> TrainingCost:
        """Training cost of all records, and its minimum."""
        return self.loss.fitness(self.records, self.regularisation)

    def task(
        self,
        epsilon: ArrayLike,
        plan: Plan,
        *,
        runs: int,
        streams: Streams,
        watch: Watch = ignore_step,
    ) -> Task:
        """Task of trainings at some budgets, all at once.

        Parameters
        ----------
        epsilon : array (n_owners,) or (m, n_owners), profiles of budgets; inf adds no noise.
        plan : plan of the training.
        runs : replications of each profile, each with draws of its own.
        streams : randomness.
        watch : called after every step; runs are profile after profile.
        """
        profiles = np.atleast_2d(np.asarray(epsilon, dtype=float))
        names = [f"owner {i + 1}" for i in range(len(self.records))]
        common = (NOISE, self.gradient_bound, plan.priced)
        clients = [make_clients(names, self.oracles, budgets, *common) for budgets in profiles]
        owners = []
        for same in zip(*clients, strict=True):
            scale = np.repeat([float(one.scale) for one in same], runs)
            owners.append(replace(same[0], scale=scale, epsilon=None))
        total = runs * len(profiles)
        task = Task(tuple(owners), self.coordinates, plan, NOISE, total, streams)
        return replace(task, regularisation=self.regularisation, watch=watch)

    def fitness(self, epsilon: ArrayLike, plan: Plan, *, runs: int, streams: Streams) -> Array:
        """Relative fitness of each run at each profile of budgets, (m, runs)."""
        found = train(self.task(epsilon, plan, runs=runs, streams=streams))
        return np.asarray(self.cost.relative(found.theta)).reshape(-1, runs)

    def paths(self, epsilon: ArrayLike, plan: Plan, *, runs: int, streams: Streams) -> Paths:
        """Relative fitness of all runs at one profile of budgets (n_owners,), step by step."""
        watch = Paths(self.coordinates.model, self.cost)
        train(self.task(epsilon, plan, runs=runs, streams=streams, watch=watch))
        return watch

    def noise_power(self, epsilon: ArrayLike, plan: Plan) -> Array:
        """Noise S at profiles of budgets (..., n_owners): sum q^2 v over the owners, q = n_i/n."""
        shares = self.sizes / self.sizes.sum()
        common = (self.sizes, self.gradient_bound, plan.priced)
        variance = NOISE.variance(epsilon, *common)
        return np.asarray(np.sum(shares**2 * variance, axis=-1))

    @cached_property
    def problem(self) -> Problem:
        """Training problem under squared loss, for the exact law."""
        cost = self.cost
        assert isinstance(cost, Fitness)
        hessian = cost.hessian[None]
        linear = cost.statistics.linear[None]
        optimum = np.array([cost.optimum])
        return quadratic_problem(hessian, linear, hessian, cost.minimiser[None], optimum)

    def law(self, epsilon: ArrayLike, plan: Plan) -> tuple[float, Array]:
        """Bias and noise parts (...) of relative fitness by the exact law, at profiles of budgets.

        It holds under squared loss, for steps that every owner answers, while no ball binds.
        """
        bias, gain = bias_and_gain(self.problem, plan.steps, plan.returned)
        noise = float(gain[0]) / self.cost.optimum * self.noise_power(epsilon, plan)
        return float(bias[0]) / self.cost.optimum, noise
