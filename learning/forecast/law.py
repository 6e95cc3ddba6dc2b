"""Exact law of training on clipped records: training problems, lines of plans, their envelope.

For a plan the law gives relative fitness = bias + slope * noise. The lower envelope of the lines is
what the learner can reach at each noise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import numpy as np
import scipy
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.errors import InputError
from learning.forecast.inputs import PlanningInputs, Settings
from learning.forecast.public_sample import affordable_count, thin_out
from learning.losses.coordinates import Coordinates
from learning.losses.squared import Fitness
from learning.losses.statistics import SquaredStatistics
from learning.privacy.mechanism import Mechanism
from learning.privacy.noise import open_growths
from learning.training.algorithms import ALGORITHMS
from learning.training.bounds import BoundInputs
from learning.training.law import Problem, Returned, bias_and_gain, quadratic_problems
from learning.training.plan import Plan

HORIZONS = (2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 30, 40, 60, 100)
STEPS_PER_CURVATURE = np.geomspace(0.02, 2.5, 100)  # step sizes tried, over 1/(largest curvature)
LEAST_STEPS = 25  # of them, with a wide model
NODES_PER_DECADE = 400  # the smoothed envelope then stays within 1e-4 of the lowest line
MANY = 1000  # points of a curve, of which it is worth asking whether one piece has them all

PlanKey = tuple[Returned, int, float, float]  # point returned, horizon, step size, growth of shares


def clipped_problems(
    coordinates: Coordinates,
    hessian: Array,
    linears: Sequence[Array],
    fitness_hessian: Array,
    truth: Array,
    regularisation: float,
    optimum: float | Array,
) -> Iterator[Problem]:
    """Problems of training on clipped records in phi, with fitness counted on whole records.

    Parameters
    ----------
    coordinates : of each problem, or one for all.
    hessian : array (m, p, p), of the mean loss of the clipped records, in phi.
    linears : arrays (m, p), its linear parts, one for each bound on targets: each makes a Problem.
    fitness_hessian, truth : arrays (p, p) and (p,), Hessian of the mean loss that counts, and the
        optimum, in the model's parameters; of each problem (m, ...), or one for all.
    regularisation : r >= 0.
    optimum : f* > 0; of each problem (m,), or one for all.
    """
    penalty, pull = coordinates.penalty(regularisation)
    transform = coordinates.transform
    counted = transform @ (fitness_hessian + regularisation * np.eye(truth.shape[-1])) @ transform
    away = np.linalg.solve(transform, (truth - coordinates.centre)[..., None])[..., 0]
    return quadratic_problems(
        hessian + penalty,
        [linear + pull for linear in linears],
        np.broadcast_to(counted, hessian.shape),
        np.broadcast_to(away, hessian.shape[:-1]),
        np.full(len(hessian), optimum),
    )


def oracle_problem(coordinates: Coordinates, seen: SquaredStatistics, fitness: Fitness) -> Problem:
    """True training problem, in one row, from the pooled records.

    Parameters
    ----------
    coordinates : clipping bounds and scale.
    seen : statistics of the clipped records of those who share, in phi.
    fitness : Fitness of all pooled records, in the model's own parameters.
    """
    counted = fitness.statistics.hessian, fitness.minimiser, fitness.regularisation, fitness.optimum
    return next(clipped_problems(coordinates, seen.hessian[None], [seen.linear[None]], *counted))


def chance_share(
    problem: Problem, clipped: Array, target: Array, whole: Array, residual: Array
) -> Array:
    """Share of the squared offset of clipping, |fixed point - optimum|^2 in G, that is chance.

    The offset is a difference of two means over the n public rows; its variance is mean_i d_i'G
    d_i/n, with d_i = 2 H^-1 x~_i (u_i - x~_i'phi_fixed) - 2 G^-1 W x_i (y_i - x_i'theta*) the
    influence of row i. H is the Hessian that training sees, G that of the fitness which counts. For
    a wide model the mean is over some rows.

    Parameters
    ----------
    problem : Problem of m rows, uncorrected.
    clipped, target : arrays (m, n, p) and (m, n), the records as training sees them.
    whole : array (m, n, p), W x unclipped.
    residual : array (n,), y - x'theta*.

    Returns
    -------
    array (m,), each in [0, 1]
    """
    curved = problem.eigenvalues > 0
    inverse = np.where(curved, 1 / np.where(curved, problem.eigenvalues, 1.0), 0.0)
    rows = len(residual)
    some = slice(None, None, max(1, rows // affordable_count(rows, 1, clipped.shape[-1])))
    clipped = clipped[:, some]
    residual = residual[some]
    fixed = problem.basis @ problem.start_error[..., None]  # minus the fixed point
    missed = target[:, some] + (clipped @ fixed)[..., 0]
    gram_inverse = np.linalg.pinv(problem.gram, hermitian=True)
    influence = missed[..., None] * (clipped @ (problem.basis * inverse[:, None, :]))
    influence -= residual[:, None] * (whole[:, some] @ (problem.basis @ gram_inverse))
    spread = influence.swapaxes(-1, -2) @ influence
    variance = 4 * np.einsum("wij,wij->w", problem.gram, spread) / (rows * len(residual))
    size = np.einsum("wi,wij,wj->w", problem.offset, problem.gram, problem.offset)
    return np.where(size > 0, np.minimum(1.0, variance / np.where(size > 0, size, 1.0)), 0.0)


class Candidates(Protocol):
    """Candidate plans, numbered, and the forecast of each."""

    def plan_at(self, index: int) -> Plan: ...
    def best_plan(self, noise: float) -> int: ...
    def noise_part(self, index: int, noise: float) -> float: ...
    def values_at(self, noise: float) -> Array: ...
    def select(self, indices: Sequence[int]) -> Candidates: ...
    def lowest(self, ceiling: float) -> Envelope: ...


@dataclass(frozen=True)
class PlanSet:
    """Candidate plans and their lines: relative fitness = bias + slope * noise.

    ``noise`` is sum q^2 term/n^2 over those who share (`Weighting`); slope = gain Xi^2 K(T)/f*,
    averaged over the resamples, with K(T) the `Mechanism.horizon_factor` of the answers.

    Parameters
    ----------
    algorithm : of all plans.
    keys : returned point, horizon, step size and growth of each plan.
    bias, slope : arrays, one number each.
    decline : power of the round that steps fall with; the algorithm's own if None.
    """

    algorithm: str
    keys: Sequence[PlanKey] = field(repr=False)
    bias: Array
    slope: Array
    decline: float | None = None

    def plan_at(self, index: int) -> Plan:
        """Plan of one line."""
        returned, horizon, step_size, growth = self.keys[index]
        plan = Plan(self.algorithm, returned, horizon, step_size, growth=growth)
        return replace(plan, decline=self.decline)

    def best_plan(self, noise: float) -> int:
        """Index of the lowest line at this noise."""
        return int(np.argmin(self.values_at(noise)))

    def noise_part(self, index: int, noise: float) -> float:
        """Part of the relative fitness under a plan that the noise adds."""
        return float(self.slope[index] * noise)

    def values_at(self, noise: float) -> Array:
        """Relative fitness of every line at this noise, (m,)."""
        return self.bias + self.slope * noise

    def select(self, indices: Sequence[int]) -> PlanSet:
        """Some of the plans, (k,)."""
        kept = np.asarray(indices)
        keys = [self.keys[index] for index in indices]
        return replace(self, keys=keys, bias=self.bias[kept], slope=self.slope[kept])

    def lowest(self, ceiling: float) -> Envelope:
        """Lower envelope of the lines, never above the ceiling."""
        return Envelope.of_lines(self.bias, self.slope, ceiling)


def make_plan_set(
    problem: Problem,
    settings: Settings,
    mechanism: Mechanism,
    gradient_bound: float,
    *,
    horizons: Sequence[int] = HORIZONS,
) -> PlanSet:
    """Compute the line of every candidate plan.

    Parameters
    ----------
    problem : Problem, one row per resample; lines are averages over the rows.
    settings : fixed parts of the plan; a horizon, step size or growth left open is chosen from a
        grid.
    mechanism : says how noise grows with the number of answers.
    gradient_bound : Xi.
    horizons : numbers of rounds that are open where the settings fix none.

    Raises
    ------
    InputError
        If training diverges beyond all numbers under every plan.
    """
    algorithm = ALGORITHMS[settings.algorithm]
    optimum = problem.optimum[:, None]
    keys: list[PlanKey] = []
    lines = []
    for horizon in horizons if settings.horizon is None else (settings.horizon,):
        constants = step_sizes(problem, settings, horizon)
        steps = algorithm.steps(constants, horizon, settings.step_decline)
        growths = open_growths(settings.growth, len(steps))
        if not growths:
            continue
        plans = [Plan(settings.algorithm, "last", horizon, 1.0, growth=one) for one in growths]
        relative = np.array([plan.relative_scales(mechanism) for plan in plans])
        for point in algorithm.trial_points(settings.returned, horizon):
            with np.errstate(over="ignore", invalid="ignore"):  # training may diverge
                left, gains = bias_and_gain(problem, steps, point, relative)
            bias = (left / optimum).mean(axis=0)
            for plan, gain in zip(plans, gains, strict=True):
                factor = float(mechanism.horizon_factor(plan.priced))
                slope = (gain / optimum).mean(axis=0) * gradient_bound**2 * factor
                keys += [(point, horizon, step, float(plan.growth)) for step in constants.tolist()]
                lines.append((bias, slope))
    bias, slope = np.concatenate(lines, axis=1)
    sound = np.isfinite(bias) & np.isfinite(slope)
    if not sound.any():
        raise diverging_error(settings)
    kept = [keys[index] for index in np.flatnonzero(sound)]
    return PlanSet(settings.algorithm, kept, bias[sound], slope[sound], settings.step_decline)


def step_sizes(problem: Problem, settings: Settings, horizon: int) -> Array:
    """Step-size constants that are open, (m,)."""
    if settings.step_size is not None:
        return np.array([settings.step_size])
    largest = float(problem.eigenvalues.max(axis=1).mean())
    constants = thin_out(STEPS_PER_CURVATURE, LEAST_STEPS, problem.eigenvalues.shape[1])
    return constants / largest * ALGORITHMS[settings.algorithm].step_unit(horizon)


def diverging_error(settings: Settings) -> InputError:
    """Error to raise where training diverges under every plan."""
    rule = "must be small enough that training does not diverge"
    return InputError("learning.step_size", rule, settings.step_size, "Lower it.")


def with_printed_step(
    inputs: PlanningInputs,
    coordinates: Coordinates,
    mechanism: Mechanism,
    curvatures: tuple[float, float],
) -> PlanningInputs:
    """Inputs with the step size of the algorithm's paper, where the settings ask for it.

    The noise is that at the reference budgets, since steps are announced before any owner chooses
    its budget.

    Parameters
    ----------
    inputs : with a horizon.
    coordinates : the ball and the bounds that are announced.
    mechanism : mechanism of the answers.
    curvatures : smallest and largest curvature of the training cost.

    Raises
    ------
    InputError
        If the paper leaves the step size open.
    """
    settings = inputs.settings
    if not settings.printed_step:
        return inputs
    assert settings.horizon is not None
    sharing = inputs.owners.reference > 0
    budgets = inputs.owners.reference[sharing]
    sizes = inputs.owners.sizes[sharing].astype(float)
    bound = coordinates.noise_bound
    noise = mechanism.for_owners(sizes).variance(budgets, sizes, bound, settings.horizon)
    facts = BoundInputs(
        budgets,
        float(sizes.sum()),
        bound,
        np.nan,
        curvatures[0],
        np.nan,
        n_parameters=len(coordinates.centre),
        decline=settings.step_power,
        smoothness=curvatures[1],
        lipschitz=coordinates.longest_gradient,
        own_gradient_bound=coordinates.steepest_penalty(settings.regularisation),
        ball_diameter=coordinates.diameter,
        noise_power=float((sizes / sizes.sum()) ** 2 @ noise),
        answer_noise=float(noise.max()),
    )
    step = settings.trains_by.printed_step(facts)
    if step is None:
        algorithm = f'algorithm "{settings.algorithm}" and this learning.step_decline'
        rule = f'must be a number or "optimal" with {algorithm}'
        raise InputError("learning.step_size", rule, "printed", "The paper does not state one.")
    return replace(inputs, settings=replace(settings, step_size=step))


class Pieces:
    """A piecewise polynomial, evaluated at once where many points (...) meet one piece only.

    Its nodes x and coefficients c are SciPy's.
    """

    def __init__(self, curve: scipy.interpolate.PPoly) -> None:
        self.curve = curve
        self.x = curve.x
        self.c = curve.c

    def __call__(self, at: Array) -> Array:
        if at.size > MANY:
            first, last = self.x.searchsorted((at.min(), at.max()), side="right") - 1
            if 0 <= first == last < len(self.x) - 1:
                return self._evaluate_piece(first, at)
        return np.asarray(self.curve(at.T).T)  # as they lie in memory

    def _evaluate_piece(self, piece: int, at: Array) -> Array:
        step = at - self.x[piece]
        *rising, value = self.c[:, piece]
        power = step
        for factor in reversed(rising):
            value = value + factor * power
            power = power * step
        return value


@dataclass(frozen=True)
class Envelope:
    """Lowest line at each noise, smoothed between nodes (monotone cubic in log-log).

    Parameters
    ----------
    bias : value at no noise.
    line_slope : slope of a straight line, which has no curve.
    ceiling : value beyond the last node.
    curve : logarithm of the value by that of the noise; None of a straight line.
    low, high : noise at the first node and at the last.

    >>> line = Envelope.of_lines(np.array([0.1]), np.array([2.0]), ceiling=np.inf)
    >>> [round(float(v), 9) for v in (line.value(0.0), line.value(0.05), line.slope(0.05))]
    [0.1, 0.2, 2.0]
    """

    bias: float
    line_slope: float
    ceiling: float
    curve: Pieces | None = field(default=None, repr=False)
    low: float = 0.0
    high: float = np.inf

    @classmethod
    def of_lines(cls, bias: Array, slope: Array, ceiling: float) -> Envelope:
        """Envelope of lines, and of the horizontal line at ``ceiling`` (no training)."""
        lowest = int(np.argmin(bias))
        least = float(bias[lowest])
        if len(bias) == 1 and not np.isfinite(ceiling):
            return cls(least, float(slope[0]), ceiling)
        if least >= ceiling:
            return cls(ceiling, 0.0, ceiling)
        gap = min(ceiling, float(bias.max()) * 2 + 1) - least
        if np.isfinite(ceiling):
            high = float(np.max((ceiling - bias) / np.maximum(slope, 1e-300)))
        else:
            high = 1e12 * gap / slope[lowest]
        low = 1e-9 * max(least, 1e-6 * gap) / max(float(slope[lowest]), 1e-300)
        low = min(low, 1e-6 * high)
        nodes = np.geomspace(low, high, int(NODES_PER_DECADE * np.log10(high / low)) + 2)
        values = np.array([np.min(bias + slope * node) for node in nodes])
        return cls.through_nodes(nodes, values, least, ceiling)

    @classmethod
    def through_nodes(cls, nodes: Array, values: Array, bias: float, ceiling: float) -> Envelope:
        """Monotone curve through values at noise ``nodes``; ``bias`` is the value at none."""
        heights = np.log(np.minimum(values, ceiling))
        curve = Pieces(scipy.interpolate.PchipInterpolator(np.log(nodes), heights))
        return cls(bias, 0.0, ceiling, curve, float(nodes[0]), float(nodes[-1]))

    @cached_property
    def derivative(self) -> Pieces:
        """Derivative of the curve."""
        assert self.curve is not None
        return Pieces(self.curve.curve.derivative())

    def value(self, noise: ArrayLike) -> Array:
        """Relative fitness at a noise (...)."""
        noise = np.asarray(noise, dtype=float)
        if self.curve is None:
            with np.errstate(over="ignore"):
                return self.bias + self.line_slope * noise
        inside = np.log(np.clip(noise, self.low, self.high))
        return self._extend_curve(noise, np.exp(self.curve(inside)))

    def slope(self, noise: ArrayLike) -> Array:
        """Derivative of `value`."""
        return self.value_and_slope(noise)[1]

    def value_and_slope(self, noise: ArrayLike) -> tuple[Array, Array]:
        """Compute `value` and `slope` together."""
        noise = np.asarray(noise, dtype=float)
        if self.curve is None:
            return self.value(noise), np.full(noise.shape, self.line_slope)
        inside = np.clip(noise, self.low, self.high)
        logs = np.log(inside)
        value = np.exp(self.curve(logs))
        slope = value * self.derivative(logs) / inside
        slope = np.where(noise < self.low, (value - self.bias) / self.low, slope)
        if np.isfinite(self.ceiling):
            slope = np.where(noise > self.high, 0.0, slope)
        return self._extend_curve(noise, value), slope

    def _extend_curve(self, noise: Array, value: Array) -> Array:
        """Continue the curve's value (...) below its first node and beyond its last."""
        if noise.size and noise.min() >= self.low and noise.max() <= self.high:
            return value
        below = self.bias + (value - self.bias) * (noise / self.low)
        value = np.where(noise < self.low, below, value)
        if not np.isfinite(self.ceiling):
            return value
        return np.where(noise > self.high, self.ceiling, value)
