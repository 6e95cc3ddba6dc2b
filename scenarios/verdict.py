"""Did the forecast hold? The verdict on a trained model, in numbers and in words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learning.forecast.calibrated import fit_curve

STANDARD_ERRORS = 3


@dataclass(frozen=True)
class Law:
    """Relative fitness as forecast: what is left to optimise and what noise survives, in units of f*.

    ``std_error`` is that of a law which is itself measured; 0 of the exact law.
    """

    bias: float
    noise: float
    optimum: float
    std_error: float = 0.0

    @property
    def relative_fitness(self) -> float:
        return self.bias + self.noise


def summary(fitness: NDArray[np.float64]) -> dict[str, float]:
    """Mean, standard error and quantiles of the trained runs' relative fitness."""
    q05, q25, median, q75, q95 = np.quantile(fitness, [0.05, 0.25, 0.5, 0.75, 0.95])
    return {
        "mean": float(fitness.mean()),
        "std_error": float(fitness.std(ddof=1) / np.sqrt(len(fitness))),
        "q05": q05,
        "q25": q25,
        "median": median,
        "q75": q75,
        "q95": q95,
    }


def agrees(mean: float, std_error: float, interval: tuple[float, float]) -> bool:
    """Whether the trained mean lies in the forecast's interval widened by three standard errors.

    A slack of 1e-9 of the mean, and of 1e-8 in all (what the best error of labels is certified to), forgives rounding
    where nothing is random.
    """
    low, high = interval
    slack = STANDARD_ERRORS * std_error + 1e-9 * abs(mean) + 1e-8
    return bool(low - slack <= mean <= high + slack)


def z_score(mean: float, std_error: float, oracle: Law) -> float | None:
    """Trained mean against the oracle law, in standard errors of both; None where nothing is random."""
    error = float(np.hypot(std_error, oracle.std_error))
    return (mean - oracle.relative_fitness) / error if error > 1e-9 * abs(mean) else None


def fitted_at_one(factors: NDArray[np.float64], measured: NDArray[np.float64]) -> tuple[float, float, float]:
    """A curve fitted to trainings at several factors s of the noise power, as forecasts are, read off at s = 1.

    Parameters
    ----------
    factors : array (k,), the first of them 0. measured : array (k, runs), relative fitness of each training.

    Returns
    -------
    (bias, noise, std_error) : what the curve leaves without noise, what noise adds at s = 1, and the standard error of
        the sum, by 200 resamples of the runs.
    """

    def at_one(values: NDArray[np.float64]) -> tuple[float, float]:
        curve = fit_curve(factors, np.maximum(values.mean(axis=1), 1e-12))
        return curve.bias, float(curve.value(1.0))

    rng = np.random.default_rng(0)
    runs = measured.shape[1]
    again = [at_one(measured[:, rng.integers(runs, size=runs)])[1] for _ in range(200)]
    bias, value = at_one(measured)
    return bias, value - bias, float(np.std(again))


def explanation(
    mean: float,
    std_error: float,
    interval: tuple[float, float],
    forecast: Law,
    oracle: Law,
    may_bind: bool,
    projected: float,
    kind: str = "exact",
) -> list[str]:
    """Why training and forecast agree, or by how much they differ and where the difference comes from."""
    point, (low, high) = forecast.relative_fitness, interval
    off = mean - point
    if agrees(mean, std_error, interval):
        return [
            f"Training gave {percent(mean)} on average, inside the forecast's interval of {percent(low)} to "
            f"{percent(high)} (point forecast {percent(point)})."
        ]
    side = "above" if off > 0 else "below"
    edge = high if off > 0 else low
    text = [
        f"Training gave {percent(mean)} on average, {points(abs(mean - edge))} {side} the forecast's interval of "
        f"{percent(low)} to {percent(high)} (point forecast {percent(point)}, off by {points(abs(off))})."
    ]
    parts = {
        "the error left after training (the public rows suggest a start and an optimum that the owners' records "
        "do not share)": oracle.bias - forecast.bias,
        "the noise that survives (the public rows suggest other curvatures or another best error)": oracle.noise
        - forecast.noise,
    }
    for cause, part in sorted(parts.items(), key=lambda item: -abs(item[1])):
        if abs(part) > 0.1 * abs(off):
            text.append(f"{points(abs(part))} of it are {'more' if part > 0 else 'less'} in {cause}.")
    ratio = oracle.optimum / forecast.optimum
    if abs(ratio - 1) > 0.1:
        text.append(
            f"The best possible error is {oracle.optimum:.3g} on the owners' records, {forecast.optimum:.3g} by "
            "the public rows: they are not alike."
        )
    remainder = mean - oracle.relative_fitness
    if std_error > 0 and abs(remainder) > STANDARD_ERRORS * np.hypot(std_error, oracle.std_error):
        bound = f" (the projection moved {percent(projected)} of the coordinates)" if projected > 0 else ""
        law = "law" if kind == "exact" else "fit"
        text.append(f"{points(abs(remainder))} are not explained by the {law} on the pooled records either{bound}.")
    if may_bind:
        text.append("The noise reaches the edge of the ball that training is kept in, where the law may not hold.")
    return text


def points(value: float) -> str:
    """A difference of relative fitness in percentage points, three significant digits.

    >>> points(0.336)
    '33.6 percentage points'
    """
    return f"{100 * value:.3g} percentage points"


def percent(value: float) -> str:
    """A relative fitness in percent, three significant digits.

    >>> percent(0.0123456), percent(-7e-16), percent(1.5)
    ('1.23 %', '0 %', '150 %')
    """
    return f"{100 * value:.3g} %" if abs(value) > 1e-12 else "0 %"
