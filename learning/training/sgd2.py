"""SGD2: every owner answers in every round, with the sum over its records as the paper has it."""

from __future__ import annotations

from learning.training.bounds import Bound, BoundInputs
from learning.training.descent import Descent
from learning.training.theorems import step_as_printed, summed_steps_bound


class SGD2(Descent):
    """Step c/sqrt(k) at query k = 1 .. T; means here where the paper has sums, so that c takes up the factor n.

    Source: the multi-party write-up, Algorithm SGD2 and (4).
    """

    name = "sgd2"
    compared = True
    decline = 0.5
    prints_step = True
    published_formula = "sgd2"
    says = "every owner answers in every round with the sum over its records (sgd2)"

    def published_bound(self, at: BoundInputs) -> Bound:
        """8 m p (sigma^2 + n^2 L^2)/(n Delta T) of sums of gradients. Source: the multi-party write-up, Theorem 4."""
        return summed_steps_bound(at)

    def printed_step(self, at: BoundInputs) -> float | None:
        """|C|/sqrt(G^2 + V) of steps c/sqrt(k), as (4) has it for SGD1; 1/Delta of steps c/k; else open.

        Theorem 4 says "pick eta(t) appropriately": both are those of Theorem 2, with the noise of a whole round.
        """
        return step_as_printed(at, at.noise_power)
