"""The Polyak-Lojasiewicz condition: upper bounds on its constant from points, never a proof."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learning.arrays import Array
from learning.losses.loss import TrainingCost

FLAT = 1e-9  # costs nearer to the lowest than this part of it differ by rounding


@dataclass(frozen=True)
class Lojasiewicz:
    """Ratios of the condition |grad f|^2 >= 2 mu (f - f*) at some points.

    Parameters
    ----------
    mu_at_most: the smallest ratio |grad f|^2/(2 (f - f*)) found: a larger mu is refuted, a smaller
        one is not proved.
    median: the median ratio.
    points: number of points, without those too near to the optimum.
    excess_there: f - f* at the smallest ratio.
    lowest: f*, the lowest cost known; where only the best found is known, the true one may be lower
        still.
    """

    mu_at_most: float
    median: float
    points: int
    excess_there: float
    lowest: float


def smallest_ratio(cost: TrainingCost, points: Array) -> Lojasiewicz:
    """Find the smallest ratio |grad f|^2/(2 (f - f*)) over some points.

    A minimum over points is an upper bound on the mu of the condition only; it says nothing of
    other points. It is an upper bound also where f* is only the best found: a lower f* makes every
    ratio smaller. Under a strongly convex cost the condition holds with that constant, so no ratio
    lies below it.

    Parameters
    ----------
    cost: the training cost, with its gradient and the lowest value known.
    points: array (m, p), such as a path of training or a cloud.

    Raises
    ------
    ValueError
        If every point is the optimum.

    Source: Kang et al., Weighted Distributed Differential Privacy ERM, Definition 2 and (13);
        Karimi, Nutini and Schmidt, Linear convergence under the Polyak-Lojasiewicz condition, for
        its consequences.

    >>> from learning.losses.squared import Fitness
    >>> from learning.losses.statistics import squared_statistics
    >>> statistics = squared_statistics(np.diag([1.0, 2.0]), np.array([1.0, -1.0]))
    >>> cost = Fitness(statistics, regularisation=0.5)
    >>> found = smallest_ratio(cost, cost.minimiser + np.eye(2))
    >>> np.linalg.eigvalsh(cost.hessian).round(9).tolist(), round(found.mu_at_most, 9)
    ([1.5, 4.5], 1.5)
    """
    values = cost.value(points)
    lowest = min(cost.optimum, float(np.min(values)))
    excess = values - lowest
    above = excess > FLAT * max(abs(lowest), FLAT)
    if not above.any():
        raise ValueError("every point is the optimum, where gradient and excess both vanish")
    excess = excess[above]
    ratios = np.sum(cost.gradient(points[above]) ** 2, axis=-1) / (2 * excess)
    smallest = int(np.argmin(ratios))
    found = float(ratios[smallest]), float(np.median(ratios))
    return Lojasiewicz(*found, len(ratios), float(excess[smallest]), lowest)


def draw_cloud(centre: Array, reach: float, count: int, *, rng: np.random.Generator) -> Array:
    """Draw points in uniform directions, at uniform distances up to the reach, (count, p).

    >>> around = draw_cloud(np.zeros(3), 2.0, 50, rng=np.random.default_rng(1))
    >>> bool(np.all(np.linalg.norm(around, axis=1) <= 2))
    True
    """
    directions = rng.normal(size=(count, len(centre)))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return centre + directions * rng.uniform(0, reach, size=(count, 1))
