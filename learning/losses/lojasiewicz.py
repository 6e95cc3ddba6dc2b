"""The Polyak-Lojasiewicz condition, looked for: the smallest ratio found at some points, never a proof that it holds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learning.arrays import Array
from learning.losses.protocols import TrainingCost

FLAT = 1e-9  # costs nearer to the lowest than this part of it differ by rounding


@dataclass(frozen=True)
class Lojasiewicz:
    """What the points looked at leave of the condition |grad f|^2 >= 2 mu (f - f*).

    Parameters
    ----------
    mu_at_most: the smallest ratio |grad f|^2/(2 (f - f*)) found: a larger mu is refuted, a smaller one is not proved.
    median: the middle one.
    points: how many were looked at, without those too near to the optimum to tell.
    excess_there: f - f* where the smallest was found.
    lowest: f*, the lowest cost known; where only the best found is known, the true one may be lower still.
    """

    mu_at_most: float
    median: float
    points: int
    excess_there: float
    lowest: float


def lojasiewicz(cost: TrainingCost, points: Array) -> Lojasiewicz:
    """The smallest ratio |grad f|^2/(2 (f - f*)) over some points.

    A minimum over points bounds the mu of the condition from above only: that it holds with this mu elsewhere is not said.
    It does so too where f* is the best found and no more: a lower f* makes every ratio smaller. Under a cost that is
    strongly convex the condition holds with that constant, so no ratio lies below it.

    Parameters
    ----------
    cost: the training cost, with its gradient and the lowest value known.
    points: array (m, p), such as a path of training or a cloud.

    Raises
    ------
    ValueError
        If every point is the optimum.

    Source: Kang et al., Weighted Distributed Differential Privacy ERM, Definition 2 and (13); Karimi, Nutini and Schmidt,
    Linear convergence under the Polyak-Lojasiewicz condition, for what it implies.

    >>> from learning.losses.squared import Fitness, squared_statistics
    >>> cost = Fitness(squared_statistics(np.diag([1.0, 2.0]), np.array([1.0, -1.0])), regularisation=0.5)
    >>> np.linalg.eigvalsh(cost.hessian).round(9).tolist(), round(lojasiewicz(cost, cost.minimiser + np.eye(2)).mu_at_most, 9)
    ([1.5, 4.5], 1.5)
    """
    values = cost.value(points)
    lowest = min(cost.optimum, float(np.min(values)))
    excess = values - lowest
    told = excess > FLAT * max(abs(lowest), FLAT)
    if not told.any():
        raise ValueError("every point is the optimum, where gradient and excess both vanish")
    excess = excess[told]
    ratios = np.sum(cost.gradient(points[told]) ** 2, axis=-1) / (2 * excess)
    smallest = int(np.argmin(ratios))
    found = float(ratios[smallest]), float(np.median(ratios))
    return Lojasiewicz(*found, len(ratios), float(excess[smallest]), lowest)


def cloud(centre: Array, reach: float, count: int, *, rng: np.random.Generator) -> Array:
    """Points in directions drawn evenly, at distances drawn evenly up to the reach, (count, p).

    >>> around = cloud(np.zeros(3), 2.0, 50, rng=np.random.default_rng(1))
    >>> bool(np.all(np.linalg.norm(around, axis=1) <= 2))
    True
    """
    ways = rng.normal(size=(count, len(centre)))
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    return centre + ways * rng.uniform(0, reach, size=(count, 1))
