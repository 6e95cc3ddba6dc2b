"""A mechanism at the part of each budget that remains after an earlier answer.

Basic composition.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.declaration import Positive
from learning.privacy.claims import Claim
from learning.privacy.guarantees import Guarantee
from learning.privacy.mechanism import Mechanism
from learning.privacy.wrapped import Wrapped

LEAST = (
    1e-6  # part of a spent budget that noise is priced at: noise without end, and still a number
)


@dataclass(frozen=True)
class Remaining(Wrapped):
    """Another mechanism at epsilon - spent, after one answer at ``spent``.

    Budgets are whole ones, as owners sell them. Noise is that of the remaining part, and claims are
    of both together: an (e, delta)-DP answer and an (e', 0)-DP one are (e + e', delta)-DP together,
    however the second was chosen.

    Parameters
    ----------
    mechanism : the mechanism of all later answers.
    spent : epsilon of the first answer, to each owner.

    Source: Dwork and Roth, The Algorithmic Foundations of Differential Privacy, Theorem 3.16 and,
        for adaptive choices, section 3.5.

    >>> from learning.privacy.laplace import Laplace
    >>> Remaining(Laplace(), 0.5).noise_term([0.0, 2.5, np.inf]).tolist()
    [0.0, 2.0, 0.0]
    >>> Laplace().noise_term(2.0).tolist()
    2.0
    """

    spent: Positive

    @property
    def largest(self) -> float:  # type: ignore[override]
        return float(self.mechanism.largest + self.spent)

    @property
    def training_mechanism(self) -> Mechanism:
        return self.mechanism.training_mechanism  # type: ignore[no-any-return]

    def training_budget(self, epsilon: ArrayLike) -> Array:
        """Part of whole budgets that remains, 0 of those of 0.

        Raises
        ------
        ValueError
            Where nothing remains: more would be spent than is claimed.
        """
        given = np.asarray(epsilon, dtype=float)
        if np.any((given > 0) & (given <= self.spent + LEAST)):
            raise ValueError(
                f"a budget must be above the {self.spent:g} spent before, or 0, got {given}"
            )
        return self._priced_budget(given)

    def _priced_budget(self, epsilon: ArrayLike) -> Array:
        """Remaining part, at least `LEAST` of positive budgets."""
        epsilon = np.asarray(epsilon, dtype=float)
        return np.where(epsilon > 0, np.maximum(epsilon - self.spent, LEAST), epsilon)

    def noise_term(self, epsilon: ArrayLike) -> Array:
        return np.asarray(self.mechanism.noise_term(self._priced_budget(epsilon)))

    def noise_term_slope(self, epsilon: ArrayLike) -> Array:
        return np.asarray(self.mechanism.noise_term_slope(self._priced_budget(epsilon)))

    def scale(self, epsilon: ArrayLike, sizes: ArrayLike, bound: float, horizon: int) -> Array:
        left = self.training_budget(epsilon)
        return np.asarray(self.mechanism.scale(left, sizes, bound, horizon))

    def epsilon(self, variance: ArrayLike, sizes: ArrayLike, bound: float, horizon: int) -> Array:
        found = np.asarray(self.mechanism.epsilon(variance, sizes, bound, horizon))
        return np.where(found > 0, found + self.spent, 0.0)

    def onlooker_claims(self, epsilon: float, horizon: int, size: int | None) -> list[Claim]:
        """Make claims of all answers, the first one included."""
        left = float(self.training_budget(epsilon))
        return [
            replace(
                claim,
                epsilon=claim.epsilon + self.spent,
                rounds=claim.rounds + 1,
                mechanism=f"{claim.mechanism}, after a loss report",
            )
            for claim in self.mechanism.onlooker_claims(left, horizon, size)
        ]

    def claimed_epsilon(self, epsilon: ArrayLike, sizes: ArrayLike, horizon: int) -> Array:
        given = np.asarray(epsilon, dtype=float)
        rest = self.mechanism.claimed_epsilon(self._priced_budget(given), sizes, horizon)
        return np.where(given > 0, rest + self.spent, rest)

    def joint_epsilon(self, held: Array, horizon: int) -> Array:
        """Joint epsilon, with each owner's first answer at a kappa-th of ``spent``."""
        rest = self.mechanism.joint_epsilon(self._priced_budget(held), horizon)
        return np.asarray(rest + self.spent)

    def belief_bound(self, held: Array, horizon: int, sizes: ArrayLike) -> Array:
        """Bound whose odds the first answer multiplies by e^spent at most."""
        rest = self.mechanism.belief_bound(self._priced_budget(held), horizon, sizes)
        return np.asarray(scipy.special.expit(scipy.special.logit(rest) + self.spent))

    def guarantee(self, epsilon: float, horizon: int, answers: int, *, size: int = 1) -> Guarantee:
        """Guarantee of the later answers, with the claim of all."""
        left = float(self.training_budget(epsilon))
        made = self.mechanism.guarantee(left, horizon, answers, size=size)
        return replace(made, claimed=made.claimed + self.spent)
