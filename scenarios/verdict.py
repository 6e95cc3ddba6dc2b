"""Did the forecast hold? The verdict on a trained model, and what a difference consists of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from learning.forecast.planner import Decomposition

STANDARD_ERRORS = 3
ROUNDING = 1e-8  # relative fitness that counts as none: what the best error of labels is certified to


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

    A slack of 1e-9 of the mean, and of `ROUNDING` in all, forgives rounding where nothing is random.
    """
    low, high = interval
    slack = STANDARD_ERRORS * std_error + 1e-9 * abs(mean) + ROUNDING
    return bool(low - slack <= mean <= high + slack)


def z_score(mean: float, std_error: float, oracle: Decomposition) -> float | None:
    """Trained mean against the oracle law, in standard errors of both; None where nothing is random."""
    error = float(np.hypot(std_error, oracle.std_error))
    return (mean - oracle.relative_fitness) / error if error > 1e-9 * abs(mean) else None


def explanation(
    runs: Mapping[str, float],
    interval: tuple[float, float],
    forecast: Decomposition,
    oracle: Decomposition,
    *,
    projected: float,
) -> list[dict[str, Any]]:
    """Where the trained mean lies by the forecast's interval and, where they disagree, what the difference consists of.

    Parameters
    ----------
    runs: what `summary` says of the trained runs.
    interval: the forecast's interval of relative fitness.
    forecast: the law that the forecast was made by.
    oracle: the same law on the pooled records.
    projected: share of the coordinates that were moved back into the ball that training is kept in.

    Returns
    -------
    list of dict
        Facts, each with a ``cause``. The first is inside_interval, near_interval (within three standard errors of it)
        or outside_interval. Differences (``amount``) are in units of relative fitness, the largest cause first.
    """
    mean, point, (low, high) = runs["mean"], forecast.relative_fitness, interval
    where = {"mean": mean, "point": point, "interval": [low, high]}
    if agrees(mean, runs["std_error"], interval):
        inside = low - ROUNDING <= mean <= high + ROUNDING
        return [{"cause": "inside_interval" if inside else "near_interval"} | where]
    edge = high if mean > high else low
    parts = {"bias_differs": oracle.bias - forecast.bias, "noise_differs": oracle.noise - forecast.noise}
    ordered = sorted(parts.items(), key=lambda part: -abs(part[1]))
    facts = [{"cause": "outside_interval"} | where | {"edge": edge, "amount": mean - edge}]
    facts += [{"cause": name, "amount": part} for name, part in ordered if abs(part) > 0.1 * abs(mean - point)]
    if abs(oracle.optimum / forecast.optimum - 1) > 0.1:
        facts.append({"cause": "best_error_differs", "pooled": oracle.optimum, "forecast": forecast.optimum})
    z = z_score(mean, runs["std_error"], oracle)
    if runs["std_error"] > 0 and z is not None and abs(z) > STANDARD_ERRORS:
        facts.append({"cause": "unexplained", "amount": mean - oracle.relative_fitness, "projected": projected})
    return facts
