"""Markets trained as published: from 0, features as they are, no ball, Laplace noise at a gradient bound that is given.

The papers never say what bound Xi their noise was scaled to, nor which step sizes they took. One rule each is used
throughout the book, from public rows alone. The bound holds for public rows and in a ball that nothing keeps training in:
no promise rests on it, and nothing here is called private (`learning.privacy.given_bound`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.losses.coordinates import Coordinates
from learning.losses.loss import Loss
from learning.losses.protocols import GradientOracle, TrainingCost
from learning.losses.squared import Fitness, Squared
from learning.privacy.laplace import Laplace
from learning.privacy.mechanism import Mechanism
from learning.randomness import Streams
from learning.training.client import make_clients
from learning.training.engine import Trained, train
from learning.training.law import Problem, bias_and_gain, quadratic_problem
from learning.training.paths import Paths, Watch, unwatched
from learning.training.plan import Plan
from learning.training.task import Task
from scenarios.reproduce.tables import Table

ROOM = 1.2  # the ball that the bound is taken in, over the largest public parameter
Records = tuple[Array, Array]


def given_bound(table: Table, loss: Loss, regularisation: float = 0.0) -> float:
    """The Xi that all items give: the largest 1-norm of a public row's gradient in a ball around 0, a fifth above need.

    The ball is |theta|_inf <= 1.2 |theta_pub|_inf, theta_pub the best model of the public rows. Squared loss:
    max 2 (r |x|_1 + |y|) |x|_1 over the rows; labels: max |x|_1. Public ranges would give a bound that is proved, and so
    much noise that nothing is ever learnt.
    """
    x, y = table.public_x, table.public_y
    reach = ROOM * float(np.abs(loss.fit(x, y, regularisation)[0]).max())
    lengths = np.abs(x).sum(axis=1)
    if not loss.quadratic:
        return float(loss.steepest * lengths.max())
    return float(np.max(2 * (reach * lengths + np.abs(y)) * lengths))


def step_constant(table: Table, loss: Loss, regularisation: float = 0.0) -> float:
    """The c_1 that all items take: one over the largest curvature of the cost, on the public rows."""
    width = table.public_x.shape[1]
    whole = Coordinates(np.zeros(width), np.eye(width), loss=loss)
    return 1 / loss.largest_curvature(whole, table.public_x, regularisation)


def in_random_order(table: Table, streams: Streams) -> Table:
    """A table whose records are dealt at random, so that however many an owner holds, they are of one kind."""
    order = streams.rng(table.name).permutation(table.n_records)
    return replace(table, x=table.x[order], y=table.y[order], owner=None)


@dataclass(frozen=True)
class Market:
    """Owners' records, and what the papers' algorithms make of them; what records say of answers is read once.

    Parameters
    ----------
    records : features (n_i, p) and targets (n_i,) of each owner.
    gradient_bound : Xi that noise is scaled to.
    loss : the loss that is trained.
    regularisation : r of g_1 = r/2 |theta|^2.
    theta_max : of the ball |theta|_inf that training is held in; inf for none.
    mechanism : the noise.
    """

    records: Sequence[Records] = field(repr=False)
    gradient_bound: float
    loss: Loss = Squared()
    regularisation: float = 0.0
    theta_max: float = np.inf
    mechanism: Mechanism = Laplace()

    @property
    def sizes(self) -> Array:
        """Records of each owner, (n_owners,)."""
        return np.array([len(y) for _, y in self.records], dtype=float)

    @cached_property
    def coordinates(self) -> Coordinates:
        """Start at 0, features as they are, and no bound but the one given."""
        width = self.records[0][0].shape[1]
        made = Coordinates(np.zeros(width), np.eye(width), theta_max=self.theta_max, loss=self.loss)
        return replace(made, given_bound=self.gradient_bound)

    @cached_property
    def oracles(self) -> list[GradientOracle]:
        """What each owner answers with."""
        return [self.coordinates.oracle(x, y) for x, y in self.records]

    @cached_property
    def cost(self) -> TrainingCost:
        """The training cost of all records, and its minimum."""
        return self.loss.fitness(self.records, self.regularisation)

    def task(self, epsilon: ArrayLike, plan: Plan, *, runs: int, streams: Streams, watch: Watch = unwatched) -> Task:
        """Trainings at some budgets, all at once.

        Parameters
        ----------
        epsilon : array (n_owners,) or (m, n_owners), profiles of budgets; inf adds no noise.
        plan : the plan that is followed.
        runs : replications of each profile, each with draws of its own.
        streams : the randomness.
        watch : told of every step; runs are profile after profile.
        """
        profiles = np.atleast_2d(np.asarray(epsilon, dtype=float))
        names = [f"owner {i + 1}" for i in range(len(self.records))]
        scales = [
            make_clients(names, self.oracles, budgets, self.mechanism, self.gradient_bound, plan.priced)
            for budgets in profiles
        ]
        owners = tuple(
            replace(alike[0], scale=np.repeat([float(one.scale) for one in alike], runs), epsilon=None)
            for alike in zip(*scales, strict=True)
        )
        return Task(
            owners,
            self.coordinates,
            plan,
            self.mechanism,
            runs * len(profiles),
            streams,
            self.regularisation,
            watch=watch,
        )

    def trained(
        self, epsilon: ArrayLike, plan: Plan, *, runs: int, streams: Streams, watch: Watch = unwatched
    ) -> Trained:
        """`task`, trained."""
        return train(self.task(epsilon, plan, runs=runs, streams=streams, watch=watch))

    def fitness(self, epsilon: ArrayLike, plan: Plan, *, runs: int, streams: Streams) -> Array:
        """Relative fitness of each run at each profile of budgets, (m, runs)."""
        found = self.trained(epsilon, plan, runs=runs, streams=streams)
        return np.asarray(self.cost.relative(found.theta)).reshape(-1, runs)

    def paths(self, epsilon: ArrayLike, plan: Plan, *, runs: int, streams: Streams) -> Paths:
        """Relative fitness of all runs at one profile of budgets (n_owners,), step by step."""
        watch = Paths(self.coordinates.model, self.cost)
        self.trained(epsilon, plan, runs=runs, streams=streams, watch=watch)
        return watch

    def noise_power(self, epsilon: ArrayLike, plan: Plan) -> Array:
        """S at profiles of budgets (..., n_owners): sum q^2 v over the owners, q = n_i/n."""
        shares = self.sizes / self.sizes.sum()
        return np.asarray(
            np.sum(shares**2 * self.mechanism.variance(epsilon, self.sizes, self.gradient_bound, plan.priced), axis=-1)
        )

    @cached_property
    def problem(self) -> Problem:
        """The training problem under squared loss, for the exact law."""
        cost = self.cost
        assert isinstance(cost, Fitness)
        hessian, best = cost.hessian[None], cost.minimiser[None]
        return quadratic_problem(hessian, cost.statistics.linear[None], hessian, best, np.array([cost.optimum]))

    def law(self, epsilon: ArrayLike, plan: Plan) -> tuple[float, Array]:
        """Bias, and noise parts (...), of relative fitness by the exact law at profiles of budgets (..., n_owners).

        It holds under squared loss, for steps that every owner answers, while no ball binds.
        """
        bias, gain = bias_and_gain(self.problem, plan.steps, plan.returned)
        return float(bias[0]) / self.cost.optimum, float(gain[0]) / self.cost.optimum * self.noise_power(epsilon, plan)
