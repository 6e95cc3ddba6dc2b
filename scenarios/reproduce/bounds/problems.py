"""Small convex problems that meet the theorems' assumptions, and trainings on them measured against the bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.losses.coordinates import Coordinates
from learning.losses.loss import Loss
from learning.losses.losses import LOSSES
from learning.losses.protocols import TrainingCost
from learning.privacy.mechanism import Mechanism
from learning.randomness import Streams
from learning.training.algorithms import ALGORITHMS
from learning.training.bounds import Bound, BoundInputs
from learning.training.client import Client
from learning.training.engine import train
from learning.training.law import Problem, along_the_way, of_distance, quadratic_problem
from learning.training.plan import Plan
from learning.training.task import Task

CONDITION = 4.0  # largest over smallest second moment of the features
SURE = 3.0  # standard errors
WATCHED = 40  # rounds at which models are measured, the first and the last among them
BALL = 1.2  # of the best parameters' largest: where the largest gradient of squared loss is looked for


@dataclass(frozen=True)
class Small:
    """A generated problem: records within the unit ball, some directions shorter than others.

    Parameters
    ----------
    x, y : arrays (n, p) and (n,).
    loss : the loss.
    regularisation : r of g_1 = r/2 |theta|^2.
    """

    x: Array = field(repr=False)
    y: Array = field(repr=False)
    loss: Loss
    regularisation: float

    @cached_property
    def cost(self) -> TrainingCost:
        """f, its minimum and minimiser."""
        return self.loss.fitness([(self.x, self.y)], self.regularisation)

    @cached_property
    def curvatures(self) -> tuple[float, float]:
        """L and lambda; of a loss that curves differently, what the ridge and the loss are proofs of."""
        moments = np.linalg.eigvalsh(self.x.T @ self.x / len(self.y))
        least = self.loss.curvature * moments[0] if self.loss.quadratic else 0.0
        most = self.loss.curvature * moments[-1] if self.loss.smooth else np.inf
        return self.regularisation + float(least), self.regularisation + float(most)

    def longest_gradient(self, norm: int, ball: float) -> float:
        """Largest norm of a record's gradient where |theta|_inf (norm 1) or |theta|_2 (norm 2) is at most so much."""
        lengths = np.linalg.norm(self.x, ord=norm, axis=1)
        if not self.loss.quadratic:
            return float(lengths.max())
        return float((2 * (ball * lengths + np.abs(self.y)) * lengths).max())

    @property
    def published_bound(self) -> float:
        """Xi as all items of the book take it: of the records seen, within 1.2 times the best parameters' largest."""
        return self.longest_gradient(1, BALL * float(np.abs(self.cost.minimiser).max()))

    def parts(self, shares: Sequence[float]) -> list[tuple[Array, Array]]:
        """Consecutive records of owners who hold such shares."""
        ends = np.round(np.cumsum(shares)[:-1] / np.sum(shares) * len(self.y)).astype(int)
        return list(zip(np.split(self.x, ends), np.split(self.y, ends), strict=True))

    @cached_property
    def law(self) -> Problem:
        """The training problem that the exact law is about, of squared loss, from the start 0."""
        hessian = 2 * self.x.T @ self.x / len(self.y) + self.regularisation * np.eye(self.x.shape[1])
        best, linear = self.cost.minimiser, 2 * self.x.T @ self.y / len(self.y)
        return quadratic_problem(hessian[None], linear[None], hessian[None], best[None], np.array([self.cost.optimum]))


def generated(loss: str, n_records: int, width: int, *, regularisation: float = 0.0, noise: float = 0.3) -> Small:
    """A problem of so many records and parameters: directions uniform, lengths from 1 down to 1/sqrt(CONDITION).

    The records are the same whatever the seed of the noise.
    """
    rng = Streams(0, "reproduce bounds").rng("records", loss, width)
    raw = rng.normal(size=(n_records, width))
    x = raw / np.linalg.norm(raw, axis=1, keepdims=True) * np.geomspace(1, CONDITION**-0.5, width)
    score = np.sqrt(width) * x @ np.where(np.arange(width) % 2, -1.0, 1.0) / np.sqrt(width)
    y = score + noise * rng.uniform(-1, 1, n_records)
    made = LOSSES[loss]
    return Small(x, np.where(y >= 0, 1.0, -1.0) if made.labels else y, made, regularisation)


@dataclass(frozen=True)
class Run:
    """Trainings at several budgets at once, which share their draws.

    Parameters
    ----------
    problem : what is trained.
    shares : of the records, of each owner.
    plan : how.
    mechanism : the noise.
    epsilon : array (k,), the budget of everybody in each training.
    gradient_bound : Xi or G, that noise is scaled to.
    norm : 1 or 2, of that bound and the ball.
    ball : radius of the ball.
    step_scale : array (k,), a factor on the steps of each training.
    """

    problem: Small
    shares: Sequence[float]
    plan: Plan
    mechanism: Mechanism
    epsilon: Array
    gradient_bound: float
    norm: int = 1
    ball: float = np.inf
    step_scale: Array | None = None

    @property
    def coordinates(self) -> Coordinates:
        """Parameters as they are, from 0."""
        width = self.problem.x.shape[1]
        return Coordinates(np.zeros(width), np.eye(width), theta_max=self.ball, norm=self.norm, loss=self.problem.loss)

    @property
    def sizes(self) -> Array:
        """Records of each owner."""
        return np.array([len(y) for _, y in self.problem.parts(self.shares)], dtype=float)

    def variances(self) -> Array:
        """Of each owner's noise on one answer, per coordinate, (k, n_owners)."""
        mechanism, sizes = self.mechanism.among(self.sizes), self.sizes
        told = [
            mechanism.variance(np.full(len(sizes), e), sizes, self.gradient_bound, self.plan.priced)
            for e in self.epsilon
        ]
        return np.array(told)

    def inputs(self, place: int, excess: float) -> BoundInputs:
        """What the theorems say about the training at one of the budgets is made of."""
        problem, plan, variances = self.problem, self.plan, self.variances()[place]
        weights, (least, most), scale = self.sizes / self.sizes.sum(), problem.curvatures, 1.0
        if self.step_scale is not None:
            scale = float(self.step_scale[place])
        algorithm = ALGORITHMS[plan.algorithm]
        one = algorithm.one_by_one
        return BoundInputs(
            np.full(len(weights), self.epsilon[place]), float(self.sizes.sum()), self.gradient_bound,
            plan.step_size * scale, least, excess,
            n_parameters=problem.x.shape[1], horizon=plan.horizon, steps=plan.steps * scale, returned=plan.returned,
            decline=algorithm.decline if plan.decline is None else plan.decline, smoothness=most,
            lipschitz=problem.longest_gradient(2, self.ball * (np.sqrt(len(problem.x[0])) if self.norm == 1 else 1)),
            own_convexity=problem.regularisation,
            own_gradient_bound=self.coordinates.steepest_penalty(problem.regularisation),
            ball_diameter=self.coordinates.diameter, start_excess=self.start_excess,
            noise_power=float(weights @ variances if one else weights**2 @ variances),
            answer_noise=float(variances.max()), delta=self.mechanism.delta,
        )  # fmt: skip

    @property
    def start_excess(self) -> float:
        """f(0) - f*."""
        return float(self.problem.cost.value(np.zeros(self.problem.x.shape[1])) - self.problem.cost.optimum)

    def bound(self, place: int, excess: float) -> Bound:
        """What the theorem of the algorithm says."""
        told = ALGORITHMS[self.plan.algorithm].published_bound(self.inputs(place, excess))
        assert told is not None
        return told

    def measured(self, runs: int, streams: Streams, parts: Sequence[tuple[Array, Array]] | None = None) -> pd.DataFrame:
        """Excess and squared distance of the point returned, mean over the runs, at some rounds: one row for each budget.

        Parameters
        ----------
        runs : of each training.
        streams : the randomness, the same at all budgets.
        parts : the owners' records, where they are not shares of the problem's.
        """
        watch, coordinates, count = Watched(self.problem, self.plan), self.coordinates, len(self.epsilon)
        one, held = ALGORITHMS[self.plan.algorithm].one_by_one, parts or self.problem.parts(self.shares)
        scales = np.repeat(self.mechanism.spread(self.variances()), runs, axis=0)
        owners = [
            Client(f"owner {i}", coordinates.oracle(x, y, one_by_one=one), scales[:, i], self.plan.priced)
            for i, (x, y) in enumerate(held)
        ]
        factor = None if self.step_scale is None else np.repeat(self.step_scale, runs)[:, None]
        task = Task(
            owners, coordinates, self.plan, self.mechanism.law, runs * count, streams, self.problem.regularisation,
            n_draws=runs, step_scale=factor, watch=watch,
        )  # fmt: skip
        done = train(task)
        watch.keep(self.plan.horizon + 1, done.theta)  # the point returned
        return watch.frame(self.epsilon, runs)


@dataclass(frozen=True)
class Watched:
    """Keeps excess and squared distance of all runs at some rounds of a training."""

    problem: Small
    plan: Plan
    kept: dict[int, tuple[Array, Array]] = field(default_factory=dict)

    @cached_property
    def rounds(self) -> set[int]:
        """The rounds k of theta[k] that are kept."""
        return set(np.unique(np.geomspace(1, len(self.plan.steps) + 1, WATCHED).round().astype(int)).tolist())

    def __call__(self, step: int, phi: Array, mean: Array) -> None:
        if step + 1 in self.rounds:
            self.keep(step + 1, phi)

    def keep(self, place: int, theta: Array) -> None:
        """Measure the models of all runs."""
        cost = self.problem.cost
        excess = cost.relative(theta) * cost.optimum
        self.kept[place] = np.asarray(excess), np.sum((theta - cost.minimiser) ** 2, axis=1)

    def frame(self, epsilon: Array, runs: int) -> pd.DataFrame:
        """One row for each budget: of the point returned and of the best round, with standard errors.

        Columns ``.._least`` are what it is at least, three standard errors below; of the best round, the least of any.
        """
        rows, last = [], max(self.kept)
        on_the_way = [place for place in sorted(self.kept) if place != last]
        for k, budget in enumerate(epsilon.tolist()):
            some, row = slice(k * runs, (k + 1) * runs), {"epsilon": budget}
            for number, name in enumerate(("excess", "distance")):
                told = np.array([self.kept[place][number][some] for place in (*on_the_way, last)])
                means, errors = told.mean(axis=1), told.std(axis=1, ddof=1) / runs**0.5
                best = int(np.argmin(means[:-1]))
                row |= {
                    name: means[-1], f"{name}_error": errors[-1], f"{name}_least": means[-1] - SURE * errors[-1],
                    f"best_{name}": means[best], f"best_{name}_error": errors[best],
                    f"best_{name}_least": (means - SURE * errors)[:-1].min(),
                }  # fmt: skip
            rows.append(row)
        return pd.DataFrame(rows)


def by_law(run: Run) -> pd.DataFrame:
    """The exact law of squared loss at each budget: of the last point, and of the best on the way, with no ball."""
    weights, rows = run.sizes / run.sizes.sum(), []
    for variances in run.variances():
        power, steps = float(weights**2 @ variances), run.plan.steps
        paths = [
            along_the_way(problem, steps, power)[:, 0] for problem in (run.problem.law, of_distance(run.problem.law))
        ]
        rows.append([paths[0].min(), paths[0][-1], paths[1].min(), paths[1][-1]])
    return pd.DataFrame(rows, columns=["law_best_excess", "law_excess", "law_best_distance", "law_distance"])


def with_bounds(run: Run, measured: pd.DataFrame) -> pd.DataFrame:
    """The same with what the theorem says of each row."""
    told = [run.bound(place, excess) for place, excess in enumerate(measured["excess"])]
    columns = {
        "theorem": [one.theorem for one in told],
        "printed": [one.excess for one in told],
        "printed_distance": [one.distance for one in told],
        "constant": [one.constant for one in told],
        "corrected": [one.corrected for one in told],
        "corrected_distance": [one.corrected_distance for one in told],
        "unmet": [" ".join(one.unmet) for one in told],
    }
    return measured.assign(**columns, horizon=run.plan.horizon, n_records=int(run.sizes.sum()))


def slope(x: ArrayLike, y: ArrayLike) -> float:
    """Of log y by log x, least squares."""
    return float(np.polyfit(np.log(np.asarray(x, dtype=float)), np.log(np.asarray(y, dtype=float)), 1)[0])
