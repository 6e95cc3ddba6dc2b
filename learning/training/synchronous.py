"""Synchronous training: every owner answers in every round, and the steps shrink with the rounds."""

from __future__ import annotations

from learning.arrays import Array
from learning.training.descent import Descent


class Synchronous(Descent):
    """Step c/(T^2 k) at query k = 1 .. T - 1.

    Source: Wu et al., The Value of Collaboration, Algorithm 1.
    """

    name = "synchronous"
    exact = True
    says = "every owner answers in every round, and the steps shrink with the rounds (synchronous)"

    def queries(self, horizon: int) -> int:
        """T - 1 of T, as the loop is printed."""
        return max(0, horizon - 1)

    def step_unit(self, horizon: int) -> float:
        """T^2."""
        return horizon**2

    def step(self, constant: Array, k: Array, horizon: int) -> Array:
        """c/(T^2 k)."""
        return constant / (horizon**2 * k)
