"""The bounds as the papers print them, to stand beside the exact law."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.forecast.planner import Planner
from learning.training.averaged import Averaged
from learning.training.plan import Plan
from learning.training.synchronous import Synchronous


def synchronous_bound(
    epsilon: ArrayLike, total_size: float, gradient_bound: float, step_size: float, strong_convexity: float
) -> float:
    """min_k E f(theta[k]) - f* <= (8 Xi^2 rho/(L n^2)) sum 1/epsilon^2, in units of fitness.

    Parameters
    ----------
    epsilon : array (n_owners,), budgets.
    total_size : n, records of all owners.
    gradient_bound : Xi.
    step_size : rho.
    strong_convexity : L.

    Source: Wu et al., The Value of Collaboration, Theorem 2, as printed (its proof counts E|w|^2 as 2 b^2, without the
    factor p, so it is not an upper bound for p > 1; and rho ln T/T^2 must be large enough to leave the start).

    >>> synchronous_bound([1.0, 2.0], 100, 1.0, 1.0, 0.5)
    0.002
    """
    epsilon = np.asarray(epsilon, dtype=float)
    return float(8 * gradient_bound**2 * step_size / (strong_convexity * total_size**2) * np.sum(1 / epsilon**2))


def averaged_bound(epsilon: ArrayLike, total_size: float, gradient_bound: float, constant: float) -> float:
    """E f(averaged theta[T]) - f* <= (c_2 Xi/n) sqrt(sum 1/epsilon^2); c_2 is not given and must be fitted.

    Source: Wu et al., The Value of Collaboration, Theorem 3.

    >>> averaged_bound([1.0, 1.0, 1.0, 1.0], 100, 1.0, constant=3.0)
    0.06
    """
    epsilon = np.asarray(epsilon, dtype=float)
    return float(constant * gradient_bound / total_size * np.sqrt(np.sum(1 / epsilon**2)))


def bound_beside(
    plan: Plan, epsilon: Array, total_size: float, planner: Planner, excess: float
) -> dict[str, Any] | None:
    """The bound of the theorem that covers an algorithm, beside what the exact law gives at the same budgets.

    Parameters
    ----------
    plan : the plan in use.
    epsilon : array, budgets of those who share, above 0.
    total_size : n, their records.
    planner : the planner, whose noise the theorem must cover.
    excess : E f - f* by the exact law.

    Returns
    -------
    dict with ``theorem``, and ``excess`` (Theorem 2, its value as printed) or ``constant`` (Theorem 3, the c_2 at which
    its bound meets the law at these budgets; the paper does not give it, and another horizon or size needs another);
    None where no theorem covers the training.
    """
    curvature, bound = planner.strong_convexity, planner.coordinates.gradient_bound
    if curvature is None or not (planner.mechanism.in_published_bounds and plan.asks and len(epsilon)):
        return None
    if plan.algorithm == Synchronous.name:
        return {
            "theorem": "Theorem 2",
            "excess": synchronous_bound(epsilon, total_size, bound, plan.step_size, curvature),
        }
    if plan.algorithm == Averaged.name:
        unit = averaged_bound(epsilon, total_size, bound, constant=1.0)
        return {"theorem": "Theorem 3", "constant": excess / unit if unit > 0 else np.inf}
    return None
