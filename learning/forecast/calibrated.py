"""Forecasts where no law is known: curves fitted to rehearsals of the training itself.

For every candidate plan, relative fitness is measured at several levels of noise and fitted by the form of the published
bounds, psi = B + c_1 sqrt(noise) + c_2 noise with all coefficients at least 0. Where that misses a level by more than 5 %,
a monotone curve through the levels is taken instead. Chance in what was measured is allowed for, and evened out first. The
learner takes the lowest curve, as with exact lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.forecast.envelope import Envelope
from learning.training.plan import Plan

TOLERATED = 0.05  # largest relative residual at which the published form is kept
ASSUMED = 0.01  # relative error of every measured value, beside that of chance
REFITS = 3
NODES_PER_DECADE = 100
FURTHER = 1e4  # how far beyond the levels curves are followed, for markets in which many owners share nothing


@dataclass(frozen=True)
class Curve:
    """Relative fitness of one plan against noise.

    Parameters
    ----------
    levels : array (k,), noise, the first of them 0, rising.
    values : array (k,), mean relative fitness measured there, made monotone.
    coefficients : array (3,), B, c_1 and c_2.
    residual : largest relative miss of that form at the levels, beyond two standard errors of what was measured.

    Source: the form is that of Farokhi et al., The Cost of Privacy in Asynchronous DP Machine Learning, Theorem 2.
    """

    levels: Array = field(repr=False)
    values: Array = field(repr=False)
    coefficients: Array
    residual: float

    @property
    def follows_the_form(self) -> bool:
        return self.residual <= TOLERATED

    @property
    def bias(self) -> float:
        """Relative fitness without noise."""
        return float(self.coefficients[0]) if self.follows_the_form else float(self.values[0])

    def value(self, noise: ArrayLike) -> Array:
        """Relative fitness at a noise (...); beyond the levels the curve goes on as it ended, in logs."""
        noise = np.asarray(noise, dtype=float)
        if self.follows_the_form:
            bias, root, line = self.coefficients
            return bias + root * np.sqrt(noise) + line * noise
        logs, heights = np.log(self.levels[1:]), np.log(self.values[1:])
        inside = np.exp(
            scipy.interpolate.PchipInterpolator(logs, heights)(np.log(np.clip(noise, *self.levels[[1, -1]])))
        )
        below = self.values[0] + (self.values[1] - self.values[0]) * noise / self.levels[1]
        steepness = (heights[-1] - heights[-2]) / (logs[-1] - logs[-2])
        beyond = self.values[-1] * (np.maximum(noise, self.levels[-1]) / self.levels[-1]) ** steepness
        return np.where(noise < self.levels[1], below, np.where(noise > self.levels[-1], beyond, inside))


def fit_curve(levels: ArrayLike, values: ArrayLike, errors: float | Array = 0.0) -> Curve:
    """Fit the published form to measured values by non-negative least squares of the relative residuals.

    Parameters
    ----------
    levels : array (k,), noise, the first 0, rising.
    values : array (k,), mean relative fitness, above 0.
    errors : array (k,), standard error of each value; 0 where they are taken as they are.

    >>> noise = np.array([0.0, 1e-4, 1e-2, 1.0])
    >>> fit_curve(noise, 0.1 + 2 * np.sqrt(noise) + 3 * noise).coefficients.round(6)
    array([0.1, 2. , 3. ])
    """
    levels, values = np.asarray(levels, dtype=float), np.asarray(values, dtype=float)
    form = np.stack([np.ones_like(levels), np.sqrt(levels), levels], axis=1)
    chance = np.broadcast_to(errors / values, values.shape)
    coefficients = _nonnegative(form, values, np.hypot(chance, ASSUMED))
    residual = float(np.max(np.abs(form @ coefficients / values - 1) - 2 * chance))
    if np.any(chance):
        rising = _rising(levels)
        values = rising @ _nonnegative(rising, values, np.hypot(chance, ASSUMED))
    return Curve(levels, np.maximum.accumulate(values), coefficients, max(residual, 0.0))


def _rising(levels: Array) -> Array:
    """Rising functions of the noise at its levels (k, m): those of the form, its square, and ones that level off."""
    with np.errstate(divide="ignore", over="ignore"):  # no noise, or levels many powers of ten apart
        ratio = levels[1:, None] / levels
        off = np.stack([1 / (1 + ratio), 1 / (1 + ratio**2)])
    own = [np.ones_like(levels), np.sqrt(levels), levels, (levels / levels[-1]) ** 2]
    return np.column_stack([*own, *off.reshape(-1, len(levels))])


def _nonnegative(columns: Array, values: Array, spread: Array) -> Array:
    """Coefficients >= 0 of the columns (k, m) nearest to values (k,) above 0 whose relative errors are ``spread`` (k,).

    Errors are relative to what is fitted, not to what was measured: values too small by chance would count for more.
    """
    scale = np.maximum(columns.max(axis=0), 1e-300)
    about = values
    for _ in range(REFITS if np.ptp(spread) else 1):
        found, _ = scipy.optimize.nnls(columns / scale / (about * spread)[:, None], values / (about * spread))
        about = np.maximum(columns / scale @ found, 1e-3 * values)
    return found / scale


def fit_at_one(factors: Array, measured: Array) -> tuple[float, float, float]:
    """A curve fitted to trainings at several factors s of the noise power, as forecasts are, read off at s = 1.

    Parameters
    ----------
    factors : array (k,), the first of them 0.
    measured : array (k, runs), relative fitness of each training.

    Returns
    -------
    (bias, noise, std_error) : what the curve leaves without noise, what noise adds at s = 1, and the standard error of
        the sum, by 200 resamples of the runs.
    """

    def at_one(values: Array) -> tuple[float, float]:
        curve = fit_curve(factors, np.maximum(values.mean(axis=1), 1e-12))
        return curve.bias, float(curve.value(1.0))

    rng = np.random.default_rng(0)
    runs = measured.shape[1]
    again = [at_one(measured[:, rng.integers(runs, size=runs)])[1] for _ in range(200)]
    bias, value = at_one(measured)
    return bias, value - bias, float(np.std(again))


@dataclass(frozen=True)
class Curves:
    """Candidate plans with their curves."""

    plans: tuple[Plan, ...] = field(repr=False)
    curves: tuple[Curve, ...] = field(repr=False)

    def best(self, noise: float) -> int:
        """Index of the lowest curve at this noise."""
        return int(np.argmin([curve.value(noise) for curve in self.curves]))

    def noise_part(self, plan: int, noise: float) -> float:
        """Of the relative fitness under a plan, what the noise adds."""
        return float(self.curves[plan].value(noise)) - self.curves[plan].bias


def lower_envelope(curves: Sequence[Curve], ceiling: float) -> Envelope:
    """The lowest of the curves at each noise, never above the ceiling."""
    bias = min(curve.bias for curve in curves)
    if bias >= ceiling:  # never worth training
        return Envelope(np.array([ceiling]), np.zeros(1), ceiling, None, None, 0.0, np.inf)
    low, high = float(curves[0].levels[1]), max(float(curve.levels[-1]) for curve in curves) * FURTHER
    nodes = np.geomspace(low, high, int(NODES_PER_DECADE * np.log10(high / low)))
    values = np.maximum.accumulate(np.min([curve.value(nodes) for curve in curves], axis=0))
    reached = np.flatnonzero(values >= ceiling)
    if len(reached):
        nodes, values = nodes[: reached[0] + 1], np.minimum(values[: reached[0] + 1], ceiling)
    if len(nodes) < 2:  # not even with the least noise
        nodes, values = np.array([low, 2 * low]), np.array([ceiling, ceiling])
    return Envelope.through(nodes, values, min(bias, float(values[0])), ceiling)
