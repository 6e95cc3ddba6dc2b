"""Averaged training: every owner answers in every round, and the mean of all rounds may be returned."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from learning.training.algorithm import BoundInputs
from learning.training.descent import Descent
from learning.training.law import Returned


class Averaged(Descent):
    """Step c/sqrt(k) at query k = 1 .. T - 1.

    Source: Wu et al., The Value of Collaboration, Algorithm 2.

    >>> Averaged().steps(0.5, 5)
    array([0.5       , 0.35355339, 0.28867513, 0.25      ])
    """

    name = "averaged"
    decline = 0.5
    returned = ("last", "averaged")
    says = "every owner answers in every round, and the steps shrink with the root of the rounds (averaged)"

    def queries(self, horizon: int) -> int:
        """T - 1 of T, as the loop is printed."""
        return max(0, horizon - 1)

    def trial_points(self, returned: Sequence[Returned], horizon: int) -> list[Returned]:
        """All but the running mean of two rounds, which is the start itself: doing nothing at a price."""
        return [point for point in returned if (point, horizon) != ("averaged", 2)]

    def published_bound(self, at: BoundInputs) -> dict[str, float | str] | None:
        """Theorem 3, whose constant c_2 the paper does not give."""
        unit = averaged_bound(at.epsilon, at.total_size, at.gradient_bound, constant=1.0)
        return {"theorem": "Theorem 3", "constant": at.excess / unit if unit > 0 else np.inf}


def averaged_bound(epsilon: ArrayLike, total_size: float, gradient_bound: float, constant: float) -> float:
    """E f(averaged theta[T]) - f* <= (c_2 Xi/n) sqrt(sum 1/epsilon^2); c_2 is not given and must be fitted.

    Source: Wu et al., The Value of Collaboration, Theorem 3.

    >>> averaged_bound([1.0, 1.0, 1.0, 1.0], 100, 1.0, constant=3.0)
    0.06
    """
    epsilon = np.asarray(epsilon, dtype=float)
    return float(constant * gradient_bound / total_size * np.sqrt(np.sum(1 / epsilon**2)))
