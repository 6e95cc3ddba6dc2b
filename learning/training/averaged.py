"""Averaged training: every owner answers in every round, and the mean of all rounds may be returned."""

from __future__ import annotations

from learning.training.bounds import Bound, BoundInputs
from learning.training.descent import Descent
from learning.training.theorems import averaged_training_bound


class Averaged(Descent):
    """Step c/sqrt(k) at query k = 1 .. T - 1.

    Source: Wu et al., The Value of Collaboration, Algorithm 2.

    >>> Averaged().steps(0.5, 5)
    array([0.5       , 0.35355339, 0.28867513, 0.25      ])
    """

    name = "averaged"
    compared = True
    decline = 0.5
    stops_short = True
    returned = ("last", "averaged")
    says = "every owner answers in every round, and the steps shrink with the root of the rounds (averaged)"

    def published_bound(self, at: BoundInputs) -> Bound:
        """E f(averaged theta[T]) - f* <= (c_2 Xi/n) sqrt(sum 1/epsilon^2); the paper does not give the constant c_2.

        Source: Wu et al., The Value of Collaboration, Theorem 3.

        >>> import numpy as np
        >>> Averaged().published_bound(BoundInputs(np.ones(4), 100, 1.0, 1.0, 0.5, excess=0.06)).constant
        3.0
        """
        return averaged_training_bound(at)
