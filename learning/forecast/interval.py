"""How far a forecast from public rows may be off: a bootstrap interval for relative fitness."""

from __future__ import annotations

import numpy as np

from learning.arrays import Array
from learning.forecast.public_sample import BootstrapSamples
from learning.training.law import Problem, bias_and_gain
from learning.training.plan import Plan


def predictive_interval(
    bootstrap: BootstrapSamples, problem: Problem, plan: Plan, noise_power: float, point: float, level: float = 0.95
) -> tuple[float, float]:
    """Interval in which the relative fitness of the model is expected, around a forecast ``point``.

    Each time the public rows are taken for the truth and a resample for what the learner knew. The ratio of what
    training then gives to what the learner then forecast is the error of the method; its quantiles, times the point,
    are the interval. The forecast from a resample rescales the bias by its own C/f* and the noise by its own f*.

    Parameters
    ----------
    bootstrap : resamples of the public rows.
    problem : the training problem of each, under the coordinates in use.
    plan : the plan in use.
    noise_power : S, variance per coordinate of one round's aggregated noise.
    point : forecast of relative fitness, >= 0.
    level : coverage aimed at.

    Returns
    -------
    (low, high)
    """
    bias, gain = bias_and_gain(problem, plan.steps, plan.returned)
    noise = gain * noise_power if np.isfinite(noise_power) and len(plan.steps) else np.zeros_like(gain)
    return _quantiles(bootstrap, bias, noise, point, level)


def outside_interval(bootstrap: BootstrapSamples, point: float, level: float = 0.95) -> tuple[float, float]:
    """The same for the outside option: the model trained on the public rows alone.

    Parameters
    ----------
    bootstrap : resamples of the public rows.
    point : forecast of the public model's relative fitness.
    level : coverage aimed at.

    Returns
    -------
    (low, high)
    """
    return _quantiles(bootstrap, bootstrap.outside, np.zeros(len(bootstrap)), point, level)


def _quantiles(
    bootstrap: BootstrapSamples, bias: Array, noise: Array, point: float, level: float
) -> tuple[float, float]:
    """Quantiles over the resamples of truth by forecast, times the point."""
    if bootstrap.dispersion == 0:  # no sample misses the optimum: nothing to be off by
        return point, point
    truth = (bias + noise) / bootstrap.optimum
    scale = (bootstrap.dispersions / bootstrap.estimated) / (bootstrap.dispersion / bootstrap.optimum)
    forecast = bias.mean() / bootstrap.optimum * scale + noise.mean() / bootstrap.estimated
    if not np.all(forecast > 0):
        return point, point
    tail = (1 - level) / 2
    low, high = np.quantile(truth / forecast, [tail, 1 - tail])
    return float(low * point), float(high * point)
