"""Synchronous training: every owner answers in every round, and the steps shrink with the rounds."""

from __future__ import annotations

from learning.training.bounds import Bound, BoundInputs
from learning.training.descent import Descent
from learning.training.theorems import synchronous_bound


class Synchronous(Descent):
    """Step c/(T^2 k) at query k = 1 .. T - 1.

    Source: Wu et al., The Value of Collaboration, Algorithm 1.
    """

    name = "synchronous"
    decline = 1
    stops_short = True
    horizon_power = 2
    says = "every owner answers in every round, and the steps shrink with the rounds (synchronous)"

    def published_bound(self, at: BoundInputs) -> Bound:
        """min_k E f(theta[k]) - f* <= (8 Xi^2 rho/(L n^2)) sum 1/epsilon^2, in units of fitness.

        Source: Wu et al., The Value of Collaboration, Theorem 2, as printed (its proof counts E|w|^2 as 2 b^2, without the
        factor p, so it is not an upper bound for p > 1; and rho ln T/T^2 must be large enough to leave the start).

        >>> import numpy as np
        >>> found = Synchronous().published_bound(BoundInputs(np.array([1.0, 2.0]), 100, 1.0, 1.0, 0.5, excess=0.1))
        >>> found.theorem, found.excess, found.distance     # on the distance, 4/L times as much: (10)
        ('Theorem 2', 0.002, 0.016)
        """
        return synchronous_bound(at)
