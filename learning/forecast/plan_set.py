"""Candidate plans and the line of each: relative fitness = bias + slope * noise, by the exact law."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from learning.arrays import Array
from learning.errors import InputError
from learning.forecast.settings import Settings
from learning.forecast.wide import thinned
from learning.privacy.mechanism import Mechanism
from learning.privacy.shares import open_growths
from learning.training.algorithms import ALGORITHMS
from learning.training.law import Problem, Returned, bias_and_gain
from learning.training.plan import Plan

HORIZONS = (2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 30, 40, 60, 100)
STEPS_PER_CURVATURE = np.geomspace(0.02, 2.5, 100)  # step-size constants tried, in units of 1/(largest curvature)
LEAST_STEPS = 25  # of them, with a wide model


class Candidates(Protocol):
    """Candidate plans, and what is forecast of each."""

    @property
    def plans(self) -> tuple[Plan, ...]: ...
    def best(self, noise: float) -> int: ...
    def noise_part(self, plan: int, noise: float) -> float: ...


@dataclass(frozen=True)
class PlanSet:
    """Candidate plans and their lines: relative fitness = bias + slope * noise, averaged over the resamples.

    ``noise`` is sum q^2 term/n^2 over those who share (`Weighting`); slope = gain Xi^2 growth(T)/f*.
    """

    plans: tuple[Plan, ...] = field(repr=False)
    bias: Array
    slope: Array

    def best(self, noise: float) -> int:
        """Index of the lowest line at this noise."""
        return int(np.argmin(self.bias + self.slope * noise))

    def noise_part(self, plan: int, noise: float) -> float:
        """Of the relative fitness under a plan, what the noise adds."""
        return float(self.slope[plan] * noise)


@dataclass(frozen=True)
class PlanLines:
    """Lines of candidate plans as arrays, before a `Plan` is made of any.

    Parameters
    ----------
    algorithm: of all of them.
    returned: the point returned, one of each.
    horizon, step_size: arrays, one of each.
    bias, slope: arrays; relative fitness = bias + slope * noise.
    growth: array, each answer's share of a budget over that of the one before, one of each.
    decline: the power of the round that steps fall with, of all of them; the algorithm's own if None.
    """

    algorithm: str
    returned: NDArray[np.str_]
    horizon: NDArray[np.intp]
    step_size: Array
    bias: Array
    slope: Array
    growth: Array
    decline: float | None = None

    def best(self, noise: float) -> int:
        """Index of the lowest line at this noise."""
        return int(np.argmin(self.bias + self.slope * noise))

    def plan(self, index: int) -> Plan:
        """The plan of one line."""
        returned = cast(Returned, str(self.returned[index]))
        horizon, step_size, growth = (self.horizon[index], self.step_size[index], self.growth[index])
        return Plan(
            self.algorithm, returned, int(horizon), float(step_size), decline=self.decline, growth=float(growth)
        )


def plan_set(
    problem: Problem,
    settings: Settings,
    mechanism: Mechanism,
    gradient_bound: float,
    *,
    horizons: Sequence[int] = HORIZONS,
) -> PlanSet:
    """Every candidate plan and its line; parameters and errors are those of `plan_lines`."""
    lines = plan_lines(problem, settings, mechanism, gradient_bound, horizons=horizons)
    return PlanSet(tuple(lines.plan(i) for i in range(len(lines.bias))), lines.bias, lines.slope)


def plan_lines(
    problem: Problem,
    settings: Settings,
    mechanism: Mechanism,
    gradient_bound: float,
    *,
    horizons: Sequence[int] = HORIZONS,
) -> PlanLines:
    """The lines of every candidate plan.

    Parameters
    ----------
    problem : Problem, one row per resample; lines are averages over the rows.
    settings : what is fixed of the plan; a horizon, step size or growth left open is chosen from a grid.
    mechanism : tells how the noise grows with T.
    gradient_bound : Xi.
    horizons : numbers of rounds that are open where the settings fix none.

    Raises
    ------
    InputError
        If training diverges beyond all numbers under every plan.
    """
    algorithm, largest = ALGORITHMS[settings.algorithm], float(problem.eigenvalues.max(axis=1).mean())
    parts = []
    for horizon in horizons if settings.horizon is None else (settings.horizon,):
        if settings.step_size is not None:
            constants = np.array([settings.step_size])
        else:
            open_steps = thinned(STEPS_PER_CURVATURE, LEAST_STEPS, problem.eigenvalues.shape[1])
            constants = open_steps / largest * algorithm.step_unit(horizon)
        steps = algorithm.steps(constants, horizon, settings.step_decline)
        growths = open_growths(settings.growth, len(steps))
        if not growths:
            continue
        relative, factors = _shared(settings.algorithm, horizon, growths, mechanism)
        for point in algorithm.trial_points(settings.returned, horizon):
            with np.errstate(over="ignore", invalid="ignore"):  # steps so long that training diverges
                left, gains = bias_and_gain(problem, steps, point, relative)
            bias = (left / problem.optimum[:, None]).mean(axis=0)
            for growth, gain, factor in zip(growths, gains, factors, strict=True):
                same = np.ones(len(constants), dtype=int)
                slope = (gain / problem.optimum[:, None]).mean(axis=0) * gradient_bound**2 * factor
                parts.append((np.full(len(same), point), horizon * same, constants, bias, slope, growth * same))
    told = (np.concatenate(part) for part in zip(*parts, strict=True))
    returned, horizon_of, constant, bias, slope, growth_of = told
    sound = np.isfinite(bias) & np.isfinite(slope)
    if not sound.any():
        raise InputError(
            "learning.step_size", "must be short enough for training not to diverge", settings.step_size, "Lower it."
        )
    kept = (part[sound] for part in (returned, horizon_of, constant, bias, slope, growth_of))
    return replace(PlanLines(settings.algorithm, *kept), decline=settings.step_decline)


def _shared(algorithm: str, horizon: int, growths: Sequence[float], mechanism: Mechanism) -> tuple[Array, list[float]]:
    """The noise on each answer over that of the even split, by growth (g, queries), and that split's horizon factors (g,)."""
    plans = [Plan(algorithm, "last", horizon, 1.0, growth=growth) for growth in growths]
    relative = np.array([plan.relative_scales(mechanism) for plan in plans])
    return relative, [float(mechanism.horizon_factor(plan.priced)) for plan in plans]
