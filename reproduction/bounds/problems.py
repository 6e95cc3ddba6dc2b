"""Small convex problems that meet the theorems' assumptions, and trainings beside the bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from learning.arrays import Array
from learning.losses.coordinates import Coordinates
from learning.losses.loss import Loss, TrainingCost
from learning.losses.losses import LOSSES
from learning.privacy.mechanism import Mechanism
from learning.randomness import Streams
from learning.training.algorithms import ALGORITHMS, Algorithm
from learning.training.bounds import Bound, BoundInputs
from learning.training.client import Client
from learning.training.engine import train
from learning.training.law import Problem, along_the_way, of_distance, quadratic_problem
from learning.training.plan import Plan
from learning.training.task import Task
from reproduction.checks import log_slope, slope_error
from reproduction.drawing import curve, estimates
from reproduction.item import Setting
from scenarios.report.figure_page import PALETTE

CONDITION = 4.0  # largest over smallest second moment of the features
OFF = 0.3  # largest error of a score
WATCHED = 40  # rounds at which models are measured, the first and the last among them
BALL = 1.2  # largest parameter in the ball of a gradient bound, over that of the minimiser


@dataclass(frozen=True)
class SmallProblem:
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

    @property
    def largest_parameter(self) -> float:
        """Largest absolute parameter of the minimiser."""
        return float(np.abs(self.cost.minimiser).max())

    @cached_property
    def curvatures(self) -> tuple[float, float]:
        """L and lambda, as far as the loss and the ridge prove them."""
        moments = np.linalg.eigvalsh(self.x.T @ self.x / len(self.y))
        least = self.loss.curvature * moments[0] if self.loss.quadratic else 0.0
        most = self.loss.curvature * moments[-1] if self.loss.smooth else np.inf
        return self.regularisation + float(least), self.regularisation + float(most)

    def longest_gradient(self, norm: int, ball: float) -> float:
        """Largest gradient norm of a record in a ball of |theta|_inf (norm 1) or |theta|_2 (2)."""
        lengths = np.linalg.norm(self.x, ord=norm, axis=1)
        if not self.loss.quadratic:
            return float(lengths.max())
        return float((2 * (ball * lengths + np.abs(self.y)) * lengths).max())

    @property
    def published_bound(self) -> float:
        """Xi of the records, within 1.2 times the largest parameter of the minimiser."""
        return self.longest_gradient(1, BALL * self.largest_parameter)

    def split_records(self, shares: Sequence[float]) -> list[tuple[Array, Array]]:
        """Consecutive records of owners with these shares."""
        ends = np.round(np.cumsum(shares)[:-1] / np.sum(shares) * len(self.y)).astype(int)
        return list(zip(np.split(self.x, ends), np.split(self.y, ends), strict=True))

    @cached_property
    def law(self) -> Problem:
        """The training problem of the exact law, squared loss, from the start 0."""
        n_records, width = self.x.shape
        hessian = 2 * self.x.T @ self.x / n_records + self.regularisation * np.eye(width)
        linear = 2 * self.x.T @ self.y / n_records
        optimum = np.array([self.cost.optimum])
        hessians = hessian[None]
        return quadratic_problem(
            hessians, linear[None], hessians, self.cost.minimiser[None], optimum
        )


def generate_problem(
    loss: str, n_records: int, width: int, *, regularisation: float = 0.0
) -> SmallProblem:
    """Generate a problem: uniform directions, lengths from 1 down to 1/sqrt(CONDITION).

    The records do not depend on the seed of the noise in training.

    Parameters
    ----------
    loss : name of the loss.
    n_records, width : n and p.
    regularisation : r of g_1.
    """
    rng = Streams(0, "reproduce bounds").rng("records", loss, width)
    raw = rng.normal(size=(n_records, width))
    x = raw / np.linalg.norm(raw, axis=1, keepdims=True) * np.geomspace(1, CONDITION**-0.5, width)
    score = np.sqrt(width) * x @ np.where(np.arange(width) % 2, -1.0, 1.0) / np.sqrt(width)
    y = score + OFF * rng.uniform(-1, 1, n_records)
    made = LOSSES[loss]
    return SmallProblem(x, np.where(y >= 0, 1.0, -1.0) if made.labels else y, made, regularisation)


@dataclass(frozen=True)
class Run:
    """Trainings at several budgets with common random numbers.

    Parameters
    ----------
    problem : the problem.
    shares : of the records, of each owner.
    plan : algorithm, rounds and steps.
    mechanism : the noise.
    epsilon : array (k,), budget of every owner in each training.
    gradient_bound : Xi or G, scale of the noise.
    norm : 1 or 2, of that bound and the ball.
    ball : radius of the ball.
    step_scale : array (k,), a factor on the steps of each training.
    """

    problem: SmallProblem
    shares: Sequence[float]
    plan: Plan
    mechanism: Mechanism
    epsilon: Array
    gradient_bound: float
    norm: int = 1
    ball: float = np.inf
    step_scale: Array | None = None

    @property
    def algorithm(self) -> Algorithm:
        """The algorithm of the plan."""
        return ALGORITHMS[self.plan.algorithm]

    @property
    def width(self) -> int:
        """Number of parameters p."""
        return self.problem.x.shape[1]

    @property
    def coordinates(self) -> Coordinates:
        """Parameters without a change of coordinates, from 0."""
        return Coordinates(
            np.zeros(self.width),
            np.eye(self.width),
            theta_max=self.ball,
            norm=self.norm,
            loss=self.problem.loss,
        )

    @property
    def sizes(self) -> Array:
        """Records of each owner."""
        parts = self.problem.split_records(self.shares)
        return np.array([len(y) for _, y in parts], dtype=float)

    def noise_variances(self) -> Array:
        """Variance of each owner's noise on one answer, per coordinate, (k, n_owners)."""
        sizes = self.sizes
        mechanism = self.mechanism.for_owners(sizes)
        budgets = (np.full(len(sizes), epsilon) for epsilon in self.epsilon)
        priced = self.plan.priced
        return np.array(
            [mechanism.variance(one, sizes, self.gradient_bound, priced) for one in budgets]
        )

    @property
    def aggregate_noise(self) -> Array:
        """Variance of the aggregate's noise, per coordinate, (k,)."""
        return self.noise_variances() @ (self.sizes / self.sizes.sum()) ** 2

    def bound_inputs(self, place: int, excess: float) -> BoundInputs:
        """Inputs of the theorems for the training at one of the budgets."""
        problem = self.problem
        plan = self.plan
        variances = self.noise_variances()[place]
        weights = self.sizes / self.sizes.sum()
        least, most = problem.curvatures
        scale = 1.0 if self.step_scale is None else float(self.step_scale[place])
        reach = np.sqrt(self.width) if self.norm == 1 else 1
        decline = self.algorithm.decline if plan.decline is None else plan.decline
        shares = weights if self.algorithm.one_by_one else weights**2
        return BoundInputs(
            np.full(len(weights), self.epsilon[place]),
            float(self.sizes.sum()),
            self.gradient_bound,
            plan.step_size * scale,
            least,
            excess,
            n_parameters=self.width,
            horizon=plan.horizon,
            steps=plan.steps * scale,
            returned=plan.returned,
            decline=decline,
            smoothness=most,
            lipschitz=problem.longest_gradient(2, self.ball * reach),
            own_convexity=problem.regularisation,
            own_gradient_bound=self.coordinates.steepest_penalty(problem.regularisation),
            ball_diameter=self.coordinates.diameter,
            start_excess=self.start_excess,
            noise_power=float(shares @ variances),
            answer_noise=float(variances.max()),
            delta=self.mechanism.delta,
        )

    def published_bound(self, place: int, excess: float) -> Bound:
        """Bounds of the algorithm's theorem at one of the budgets."""
        bound = self.algorithm.published_bound(self.bound_inputs(place, excess))
        assert bound is not None
        return bound

    @property
    def start_excess(self) -> float:
        """f(0) - f*."""
        return float(self.problem.cost.value(np.zeros(self.width)) - self.problem.cost.optimum)

    def measure(self, runs: int, streams: Streams) -> pd.DataFrame:
        """Mean excess and squared distance over the runs, one row for each budget.

        Parameters
        ----------
        runs : of each training.
        streams : the randomness, the same at all budgets.
        """
        watch = Watch(self.problem, self.plan)
        coordinates = self.coordinates
        one_by_one = self.algorithm.one_by_one
        scales = np.repeat(self.mechanism.scale_of_variance(self.noise_variances()), runs, axis=0)
        owners = []
        for i, (x, y) in enumerate(self.problem.split_records(self.shares)):
            oracle = coordinates.oracle(x, y, one_by_one=one_by_one)
            owners.append(Client(f"owner {i}", oracle, scales[:, i], self.plan.priced))
        factor = self.step_scale
        task = Task(
            owners,
            coordinates,
            self.plan,
            self.mechanism.training_mechanism,
            runs * len(self.epsilon),
            streams,
            self.problem.regularisation,
            n_draws=runs,
            step_scale=factor if factor is None else np.repeat(factor, runs)[:, None],
            watch=watch,
        )
        watch.keep_models(self.plan.horizon + 1, train(task).theta)  # the point returned
        return watch.summarise(self.epsilon, runs)


@dataclass(frozen=True)
class Watch:
    """Excess and squared distance of all runs at some rounds of a training."""

    problem: SmallProblem
    plan: Plan
    kept: dict[int, tuple[Array, Array]] = field(default_factory=dict)

    @cached_property
    def rounds(self) -> set[int]:
        """Rounds k whose theta[k] is kept."""
        places = np.geomspace(1, len(self.plan.steps) + 1, WATCHED)
        return set(places.round().astype(int).tolist())

    def __call__(self, step: int, phi: Array, mean: Array) -> None:
        if step + 1 in self.rounds:
            self.keep_models(step + 1, phi)

    def keep_models(self, place: int, theta: Array) -> None:
        """Measure the models of all runs."""
        cost = self.problem.cost
        excess = cost.relative(theta) * cost.optimum
        self.kept[place] = np.asarray(excess), np.sum((theta - cost.minimiser) ** 2, axis=1)

    def summarise(self, epsilon: Array, runs: int) -> pd.DataFrame:
        """One row for each budget: the point returned and the best round, with standard errors."""
        rows = []
        places = sorted(self.kept)  # the last is the point returned
        for k, budget in enumerate(epsilon.tolist()):
            own = slice(k * runs, (k + 1) * runs)
            row = {"epsilon": budget}
            for number, name in enumerate(("excess", "distance")):
                values = np.array([self.kept[place][number][own] for place in places])
                means = values.mean(axis=1)
                errors = values.std(axis=1, ddof=1) / runs**0.5
                best = int(np.argmin(means[:-1]))
                row |= {name: means[-1], f"{name}_error": errors[-1]}
                row |= {f"best_{name}": means[best], f"best_{name}_error": errors[best]}
            rows.append(row)
        return pd.DataFrame(rows)


def exact_law(run: Run) -> pd.DataFrame:
    """Exact law of squared loss at each budget without a ball: the last point and the best."""
    rows = []
    for variances in run.noise_variances():
        power = float((run.sizes / run.sizes.sum()) ** 2 @ variances)
        row: dict[str, float] = {}
        for name, problem in (
            ("excess", run.problem.law),
            ("distance", of_distance(run.problem.law)),
        ):
            path = along_the_way(problem, run.plan.steps, power)[:, 0]
            row |= {f"law_best_{name}": path.min(), f"law_{name}": path[-1]}
        rows.append(row)
    return pd.DataFrame(rows)


def add_bounds(run: Run, measured: pd.DataFrame) -> pd.DataFrame:
    """The measured rows with the bounds of the theorem."""
    bounds = [run.published_bound(*one) for one in enumerate(measured["excess"])]
    names = {"printed": "excess", "printed_distance": "distance"}
    for name in ("constant", "corrected", "corrected_distance"):
        names[name] = name
    return measured.assign(
        theorem=[one.theorem for one in bounds],
        **{column: [getattr(one, name) for one in bounds] for column, name in names.items()},
        unmet=[" ".join(one.unmet) for one in bounds],
        horizon=run.plan.horizon,
        n_records=int(run.sizes.sum()),
    )


def concatenate(
    setting: Setting, build: Callable[..., pd.DataFrame], cases: Iterable[tuple[object, ...]]
) -> pd.DataFrame:
    """Frames of all cases below each other, with equal shares of the progress."""
    every = list(cases)
    parts = []
    for case in every:
        parts.append(build(setting, *case))
        setting.did(1 / len(every))
    return pd.concat(parts, ignore_index=True)


def largest_ratio(
    frame: pd.DataFrame, bound: str, measured: str = "excess", **words: str
) -> tuple[float, dict[str, Any]]:
    """Largest measured number over its bound, and its standard error among words."""
    ratio = frame[measured] / frame[bound]
    at = ratio.idxmax()
    return float(ratio[at]), words | {
        "std_error": frame[f"{measured}_error"][at] / frame[bound][at]
    }


def distance_from_law(measured: pd.Series, law: pd.Series, error: pd.Series) -> float:
    """Largest distance between measured numbers and a law, in standard errors."""
    return float(((measured - law).abs() / error.clip(lower=1e-12)).max())


def mean_slope(
    frame: pd.DataFrame, keys: list[str], x: str = "epsilon", y: str = "excess"
) -> tuple[float, dict[str, Any]]:
    """Mean log slope of y against x over groups of at least two rows, and its standard error.

    The slope is nan without any such group; an exact law has no error.
    """
    slopes, errors = [], [0.0]
    for _, part in frame.groupby(keys):
        if len(part) > 1:
            slopes.append(log_slope(part[x], part[y]))
            drawn = part[f"{y}_error"] / part[y] if f"{y}_error" in part else 0 * part[y]
            errors.append(slope_error(part[x], drawn))
    if not slopes:
        return np.nan, {}
    return float(np.mean(slopes)), {"std_error": np.linalg.norm(errors) / len(slopes)}


def draw_sizes(
    axes: Axes, frame: pd.DataFrame, label: str, styles: dict[str, str], width: float
) -> None:
    """Draw measured excess and bounds over epsilon, in a colour for each number of records.

    Parameters
    ----------
    axes, frame : panel and rows.
    label : words with {n}.
    styles : columns of bounds and the styles of their lines.
    width : of these lines.
    """
    for number, (n, part) in enumerate(frame.groupby("n_records")):
        color = PALETTE[number]
        estimates(
            axes, part, "epsilon", "excess", "excess_error", color=color, label=label.format(n=n)
        )
        for column, style in styles.items():
            curve(axes, part, "epsilon", column, color=color, lw=width, ls=style)
