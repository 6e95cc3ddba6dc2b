"""Averaged training: every owner answers in every round, and the mean of all rounds may be returned."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from learning.arrays import Array
from learning.training.descent import Descent
from learning.training.law import Returned


class Averaged(Descent):
    """Step c/sqrt(k) at query k = 1 .. T - 1.

    Source: Wu et al., The Value of Collaboration, Algorithm 2.

    >>> Averaged().steps(0.5, 5)
    array([0.5       , 0.35355339, 0.28867513, 0.25      ])
    """

    name = "averaged"
    exact = True
    returned = ("last", "averaged")
    says = "every owner answers in every round, and the steps shrink with the root of the rounds (averaged)"

    def queries(self, horizon: int) -> int:
        """T - 1 of T, as the loop is printed."""
        return max(0, horizon - 1)

    def step(self, constant: Array, k: Array, horizon: int) -> Array:
        """c/sqrt(k)."""
        return constant / np.sqrt(k)

    def trial_points(self, returned: Sequence[Returned], horizon: int) -> list[Returned]:
        """All but the running mean of two rounds, which is the start itself: doing nothing at a price."""
        return [point for point in returned if (point, horizon) != ("averaged", 2)]
