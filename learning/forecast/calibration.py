"""Calibrated forecasts, where no law is known: curves fitted to rehearsals of the training itself.

For every candidate plan, relative fitness is measured at several levels of noise and fitted by the
form of the published bounds, psi = B + c_1 sqrt(noise) + c_2 noise with all coefficients at least
0. Where that misses a level by more than 5 %, a monotone curve through the levels is taken instead.
Chance in the measurements is allowed for, and evened out first. The learner takes the lowest curve,
as with exact lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import scipy
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.forecast.inputs import Settings
from learning.forecast.kept import load_or_compute
from learning.forecast.law import Envelope, PlanKey, diverging_error
from learning.forecast.rehearsal import RETURNED, Rehearsal
from learning.privacy.noise import open_growths
from learning.progress import Progress, count_progress, ignore_progress
from learning.training.plan import Plan

TOLERATED = 0.05  # largest relative residual at which the published form is kept
ASSUMED = 0.01  # relative error of every measured value, in addition to chance
REFITS = 3
NODES_PER_DECADE = 100
FURTHER = 1e4  # reach of curves beyond the levels, for markets in which few owners share
SCREENED = 2  # replications per start when every plan is tried
MEASURED = 12  # replications per start of the plans that remain
STARTS_SCREENED = 6
LEVELS = 13  # of noise, in addition to none
FINE_SCREENED = 4  # the same on a finer grid, from every start: its plans differ by little


@dataclass(frozen=True)
class Curve:
    """Relative fitness of one plan against noise.

    Parameters
    ----------
    levels : array (k,), noise, the first of them 0, rising.
    values : array (k,), mean relative fitness measured there, made monotone.
    coefficients : array (3,), B, c_1 and c_2.
    residual : largest relative residual of that form at the levels, beyond two standard errors.

    Source: the form is that of Farokhi et al., The Cost of Privacy in Asynchronous DP Machine
        Learning, Theorem 2.
    """

    levels: Array = field(repr=False)
    values: Array = field(repr=False)
    coefficients: Array
    residual: float

    @property
    def follows_the_form(self) -> bool:
        """True if the published form fits."""
        return self.residual <= TOLERATED

    @property
    def bias(self) -> float:
        """Relative fitness without noise."""
        return float(self.coefficients[0] if self.follows_the_form else self.values[0])

    def value(self, noise: ArrayLike) -> Array:
        """Relative fitness at a noise (...); beyond the levels the curve is extended in logs."""
        noise = np.asarray(noise, dtype=float)
        if self.follows_the_form:
            bias, root, line = self.coefficients
            return bias + root * np.sqrt(noise) + line * noise
        first, last = self.levels[[1, -1]]
        logs, heights = self._logs
        inside = np.exp(self._interpolated(np.log(np.clip(noise, first, last))))
        below = self.values[0] + (self.values[1] - self.values[0]) * noise / first
        steepness = (heights[-1] - heights[-2]) / (logs[-1] - logs[-2])
        beyond = self.values[-1] * (np.maximum(noise, last) / last) ** steepness
        return np.where(noise < first, below, np.where(noise > last, beyond, inside))

    @property
    def _logs(self) -> tuple[Array, Array]:
        """Logs of the levels above 0, and of the values there."""
        return np.log(self.levels[1:]), np.log(self.values[1:])

    @cached_property
    def _interpolated(self) -> scipy.interpolate.PchipInterpolator:
        """Interpolation of these logs."""
        return scipy.interpolate.PchipInterpolator(*self._logs)


def fit_curve(levels: ArrayLike, values: ArrayLike, errors: float | Array = 0.0) -> Curve:
    """Fit the published form by non-negative least squares of the relative residuals.

    Parameters
    ----------
    levels : array (k,), noise, the first 0, rising.
    values : array (k,), mean relative fitness, above 0.
    errors : array (k,), standard error of each value; 0 where they are exact.

    >>> noise = np.array([0.0, 1e-4, 1e-2, 1.0])
    >>> fit_curve(noise, 0.1 + 2 * np.sqrt(noise) + 3 * noise).coefficients.round(6)
    array([0.1, 2. , 3. ])
    """
    levels = np.asarray(levels, dtype=float)
    values = np.asarray(values, dtype=float)
    form = np.stack([np.ones_like(levels), np.sqrt(levels), levels], axis=1)
    chance = np.broadcast_to(errors / values, values.shape)
    coefficients = _fit_nonnegative(form, values, np.hypot(chance, ASSUMED))
    residual = float(np.max(np.abs(form @ coefficients / values - 1) - 2 * chance))
    if np.any(chance):
        rising = _rising_functions(levels)
        values = rising @ _fit_nonnegative(rising, values, np.hypot(chance, ASSUMED))
    return Curve(levels, np.maximum.accumulate(values), coefficients, max(residual, 0.0))


def _rising_functions(levels: Array) -> Array:
    """Rising functions at the levels, (k, m): of the form, the square, and ones that level off."""
    with np.errstate(divide="ignore", over="ignore"):  # no noise, or levels far from each other
        ratio = levels[1:, None] / levels
        off = np.stack([1 / (1 + ratio), 1 / (1 + ratio**2)])
    own = [np.ones_like(levels), np.sqrt(levels), levels, (levels / levels[-1]) ** 2]
    return np.column_stack([*own, *off.reshape(-1, len(levels))])


def _fit_nonnegative(columns: Array, values: Array, spread: Array) -> Array:
    """Coefficients (m,) >= 0 of columns (k, m), fitted to values (k,) by least squares.

    ``spread`` (k,) is the relative error of each value. It is relative to the fit, not to the
    measurement: values too small by chance would count for more.
    """
    scale = np.maximum(columns.max(axis=0), 1e-300)
    about = values
    for _ in range(REFITS if np.ptp(spread) else 1):
        error = about * spread
        found, _ = scipy.optimize.nnls(columns / scale / error[:, None], values / error)
        about = np.maximum(columns / scale @ found, 1e-3 * values)
    return found / scale


def fit_at_one(factors: Array, measured: Array) -> tuple[float, float, float]:
    """Fit a curve to trainings at several factors s of the noise power, and read it at s = 1.

    Parameters
    ----------
    factors : array (k,), the first of them 0.
    measured : array (k, runs), relative fitness of each training.

    Returns
    -------
    (bias, noise, std_error) : value without noise, increase by noise at s = 1, and the standard
    error of the sum, by 200 bootstrap samples of the runs.
    """
    rng = np.random.default_rng(0)
    runs = measured.shape[1]
    drawn = (measured[:, rng.integers(runs, size=runs)] for _ in range(200))
    curve, *again = (
        fit_curve(factors, np.maximum(values.mean(axis=1), 1e-12)) for values in (measured, *drawn)
    )
    std_error = float(np.std([float(one.value(1.0)) for one in again]))
    return curve.bias, float(curve.value(1.0)) - curve.bias, std_error


@dataclass(frozen=True)
class Curves:
    """Candidate plans with their curves."""

    plans: tuple[Plan, ...] = field(repr=False)
    curves: tuple[Curve, ...] = field(repr=False)

    def plan_at(self, index: int) -> Plan:
        """Plan of one curve."""
        return self.plans[index]

    def best_plan(self, noise: float) -> int:
        """Index of the lowest curve at this noise."""
        return int(np.argmin(self.values_at(noise)))

    def noise_part(self, index: int, noise: float) -> float:
        """Part of the relative fitness under a plan that the noise adds."""
        return float(self.curves[index].value(noise)) - self.curves[index].bias

    def values_at(self, noise: float) -> Array:
        """Relative fitness of every curve at this noise, (m,)."""
        return np.array([float(curve.value(noise)) for curve in self.curves])

    def select(self, indices: Sequence[int]) -> Curves:
        """Some of the plans, (k,)."""
        plans = tuple(self.plans[index] for index in indices)
        return Curves(plans, tuple(self.curves[index] for index in indices))

    def lowest(self, ceiling: float) -> Envelope:
        """Lower envelope of the curves, never above the ceiling."""
        return lower_envelope(self.curves, ceiling)


def lower_envelope(curves: Sequence[Curve], ceiling: float) -> Envelope:
    """Lowest of the curves at each noise, never above the ceiling."""
    bias = min(curve.bias for curve in curves)
    if bias >= ceiling:  # never worth training
        return Envelope(ceiling, 0.0, ceiling)
    low = float(curves[0].levels[1])
    high = max(float(curve.levels[-1]) for curve in curves) * FURTHER
    nodes = np.geomspace(low, high, int(NODES_PER_DECADE * np.log10(high / low)))
    values = np.maximum.accumulate(np.min([curve.value(nodes) for curve in curves], axis=0))
    reached = np.flatnonzero(values >= ceiling)
    if len(reached):
        nodes = nodes[: reached[0] + 1]
        values = np.minimum(values[: reached[0] + 1], ceiling)
    if len(nodes) < 2:  # not even with the least noise
        nodes = np.array([low, 2 * low])
        values = np.array([ceiling, ceiling])
    return Envelope.through_nodes(nodes, values, min(bias, float(values[0])), ceiling)


def noise_levels(low: float, high: float) -> Array:
    """Levels of noise to rehearse at: none, and evenly in logs a little beyond an interval.

    Parameters
    ----------
    low, high : aggregated noise where all owners give their largest budgets, and their smallest.
    """
    high = max(high, 100 * low, 1e-300)
    return np.concatenate([[0.0], np.geomspace(max(low / 3, high * 1e-9), 3 * high, LEVELS)])


def calibrate(
    rehearsal: Rehearsal,
    levels: Array,
    settings: Settings,
    ceiling: float = np.inf,
    measured: int = MEASURED,
    also: Sequence[Plan] = (),
    progress: Progress = ignore_progress,
    round_cost: float = 0.0,
) -> Curves:
    """Fit curves of the plans that are best at some level of noise.

    All plans are screened with few replications, from a few starts at every other level (on a finer
    grid from all starts at every level). Those that are best at one of them are measured again,
    with more replications at every level, and fitted. Measurements are kept on disk.

    Parameters
    ----------
    rehearsal : of the training.
    levels : array (k,), aggregated noise, the first 0, rising.
    settings : fixed parts of the plan; the learner chooses the others.
    ceiling : relative fitness above which the learner would not train; curves are fitted up to the
        second level beyond it, and up to the fifth at least.
    measured : replications per start of the plans that remain.
    also : plans that are measured unscreened.
    progress : called with the progress of the rehearsals.
    round_cost : of asking all owners once, in relative fitness; plans are screened with it.

    Raises
    ------
    InputError
        If training diverges under every plan.
    """
    unscreened = [(plan.returned, plan.horizon, plan.step_size, plan.growth) for plan in also]

    def measure() -> dict[str, Array]:
        best = _screen_plans(rehearsal, levels, settings, progress, round_cost)
        keys = list(dict.fromkeys([*best, *unscreened]))
        found = _measure_plans(rehearsal, keys, levels, measured, progress)
        if not len(found["plans"]):
            raise diverging_error(settings)
        return found

    open_to = (settings.horizon, settings.step_size, settings.growth, settings.returned)
    asked = [*open_to, measured, unscreened, *[round_cost] * (round_cost > 0)]
    found = load_or_compute(measure, "calibrate", rehearsal.cache_key, levels, *asked)
    plans = tuple(
        rehearsal.make_plan(RETURNED[int(point)], int(rounds), float(constant), float(growth))
        for point, rounds, constant, growth in found["plans"]
    )
    curves = []
    for values, errors in zip(found["values"], found["errors"], strict=True):
        count = count_levels(ceiling, values)
        curves.append(fit_curve(levels[:count], values[:count], errors[:count]))
    return Curves(plans, tuple(curves))


def count_levels(ceiling: float, values: Array) -> int:
    """Number of levels up to one after the first whose value is beyond the ceiling, >= 5."""
    beyond = np.flatnonzero(values > ceiling)
    return max(5, int(beyond[0]) + 2) if len(beyond) else len(values)


def _screen_plans(
    rehearsal: Rehearsal,
    levels: Array,
    settings: Settings,
    progress: Progress,
    round_cost: float,
) -> list[PlanKey]:
    """Plans that are best at some level, of all that are open, their rounds' cost counted."""
    some = levels
    starts = rehearsal.starts
    repeats = FINE_SCREENED
    if not rehearsal.fine:
        some = levels[np.unique([0, *range(1, len(levels), 2), len(levels) - 1])]
        starts = starts[:STARTS_SCREENED]
        repeats = SCREENED
    tried = []
    for rounds in rehearsal.horizons() if settings.horizon is None else (settings.horizon,):
        constants = rehearsal.open_step_sizes(settings.step_size, rounds)
        growths = open_growths(settings.growth, rehearsal.trains_by.queries(rounds))
        tried += [(rounds, constants, growth) for growth in growths]
    each = sum(rounds * len(constants) for rounds, constants, _ in tried)
    work = each * len(some) * repeats * len(starts)
    did = count_progress(progress, "forecasting: trying plans", work)
    few = replace(rehearsal, starts=starts, did=did)
    keys: list[PlanKey] = []
    heights = []
    for rounds, constants, growth in tried:
        points = rehearsal.trains_by.trial_points(settings.returned, rounds)
        screened = few.rehearse(
            rounds, constants, some, repeats=repeats, returned=points, growth=growth
        )
        keys += [(point, rounds, float(c), growth) for point in points for c in constants]
        toll = round_cost * rehearsal.trains_by.exchanges(rounds)
        heights.append(few.average(screened).reshape(-1, len(some)) + toll)
    return [keys[best] for best in sorted(set(np.argmin(np.concatenate(heights), axis=0).tolist()))]


def _measure_plans(
    rehearsal: Rehearsal,
    keys: Sequence[PlanKey],
    levels: Array,
    repeats: int,
    progress: Progress,
) -> dict[str, Array]:
    """Measure plans at every level; those that diverge are left out.

    Plans of the same rounds and growth are measured together: they share all draws.
    """
    starts = len(rehearsal.starts)
    work = sum({key[1:]: key[1] for key in keys}.values()) * len(levels) * repeats * starts
    did = count_progress(progress, "forecasting: measuring the best plans", work)
    rehearsal = replace(rehearsal, did=did)
    measured: dict[PlanKey, Array] = {}
    for rounds, growth in dict.fromkeys((key[1], key[3]) for key in keys):
        group = [key for key in keys if (key[1], key[3]) == (rounds, growth)]
        points = [*dict.fromkeys(key[0] for key in group)]
        steps = [*dict.fromkeys(key[2] for key in group)]
        found = rehearsal.rehearse(
            rounds, np.array(steps), levels, repeats=repeats, returned=points, growth=growth
        )
        for i, j in np.ndindex(found.shape[:2]):
            measured[points[i], rounds, steps[j], growth] = found[i, j]
    values = {key: rehearsal.average(measured[key]) for key in keys}
    kept = [key for key in keys if np.isfinite(values[key]).all()]
    variances = [measured[key].var(axis=2, ddof=1).sum(axis=1) for key in kept]
    return {
        "plans": np.array([(RETURNED.index(key[0]), *key[1:]) for key in kept], dtype=float),
        "values": np.array([values[key] for key in kept]),
        "errors": np.array([np.sqrt(one / repeats) / starts for one in variances]),
    }
