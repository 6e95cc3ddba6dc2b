"""A mechanism under what remains of each budget once something was spent before: basic composition."""

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

LEAST = 1e-6  # what counts as left of a budget that is spent: noise without end, and still a number


@dataclass(frozen=True)
class Remaining(Wrapped):
    """Another mechanism under epsilon - spent, where an answer under ``spent`` was given before.

    Budgets are whole ones, as owners sell them: noise is that of what remains, and claims are of both together. An
    (e, delta)-DP answer and an (e', 0)-DP one are (e + e', delta)-DP together, whatever was chosen after the first.

    Parameters
    ----------
    mechanism : the mechanism, of all answers but the one before.
    spent : epsilon of that one, to each owner.

    Source: Dwork and Roth, The Algorithmic Foundations of Differential Privacy, Theorem 3.16 and, for what is chosen after
    the first answer, section 3.5.

    >>> from learning.privacy.laplace import Laplace
    >>> Remaining(Laplace(), 0.5).noise_term([0.0, 2.5, np.inf]).tolist(), Laplace().noise_term(2.0).tolist()
    ([0.0, 2.0, 0.0], 2.0)
    """

    spent: Positive

    def check(self) -> None:
        super().check()  # published bounds are not taken over: they are formulas of the whole budget
        object.__setattr__(self, "largest", self.mechanism.largest + self.spent)

    @property
    def law(self) -> Mechanism:
        return self.mechanism.law  # type: ignore[no-any-return]

    def left(self, epsilon: ArrayLike) -> Array:
        """What remains of whole budgets, 0 of those of 0: what training spends.

        Raises
        ------
        ValueError
            Where nothing does: more would be spent than is claimed.
        """
        given = np.asarray(epsilon, dtype=float)
        if np.any((given > 0) & (given <= self.spent + LEAST)):
            raise ValueError(f"a budget must be above the {self.spent:g} spent before, or 0, got {given}")
        return self._rest(given)

    def _rest(self, epsilon: ArrayLike) -> Array:
        """The same, and hardly anything where nothing remains."""
        epsilon = np.asarray(epsilon, dtype=float)
        return np.where(epsilon > 0, np.maximum(epsilon - self.spent, LEAST), epsilon)

    def noise_term(self, epsilon: ArrayLike) -> Array:
        return np.asarray(self.mechanism.noise_term(self._rest(epsilon)))

    def noise_term_slope(self, epsilon: ArrayLike) -> Array:
        return np.asarray(self.mechanism.noise_term_slope(self._rest(epsilon)))

    def scale(self, epsilon: ArrayLike, sizes: ArrayLike, bound: float, horizon: int) -> Array:
        return np.asarray(self.mechanism.scale(self.left(epsilon), sizes, bound, horizon))

    def epsilon(self, variance: ArrayLike, sizes: ArrayLike, bound: float, horizon: int) -> Array:
        found = np.asarray(self.mechanism.epsilon(variance, sizes, bound, horizon))
        return np.where(found > 0, found + self.spent, 0.0)

    def claim(self, party: str, epsilon: float, horizon: int, unit: str = "one record") -> Claim:
        return self._whole(self.mechanism.claim(party, float(self.left(epsilon)), horizon, unit))

    def claims(
        self, party: str, epsilon: float, horizon: int, unit: str = "one record", *, size: int = 1
    ) -> list[Claim]:
        made = self.mechanism.claims(party, float(self.left(epsilon)), horizon, unit, size=size)
        return [self._whole(claim) for claim in made]

    def _whole(self, claim: Claim) -> Claim:
        """A claim of the answers, and of the one before with them."""
        said = f"{claim.mechanism}, after a loss report"
        return replace(claim, epsilon=claim.epsilon + self.spent, rounds=claim.rounds + 1, mechanism=said)

    def claimed_epsilon(self, epsilon: ArrayLike, sizes: ArrayLike, horizon: int) -> Array:
        given = np.asarray(epsilon, dtype=float)
        rest = self.mechanism.claimed_epsilon(self._rest(given), sizes, horizon)
        return np.where(given > 0, rest + self.spent, rest)

    def joint_epsilon(self, held: Array, horizon: int) -> Array:
        """Every owner of a record gave the answer before, at a kappa-th part of ``spent``."""
        return np.asarray(self.mechanism.joint_epsilon(self._rest(held), horizon) + self.spent)

    def surest(self, held: Array, horizon: int, sizes: ArrayLike) -> Array:
        """The answer before multiplies odds by e^spent at most: e + spent for e at every point of the profile."""
        return np.asarray(
            scipy.special.expit(
                scipy.special.logit(self.mechanism.surest(self._rest(held), horizon, sizes)) + self.spent
            )
        )

    def guarantee(self, epsilon: float, horizon: int, answers: int, *, size: int = 1) -> Guarantee:
        """What answers may spend after the one before, of the whole that is claimed."""
        made = self.mechanism.guarantee(float(self.left(epsilon)), horizon, answers, size=size)
        return replace(made, claimed=made.claimed + self.spent)

    def release_budget(self, epsilon: float, horizon: int) -> float | None:
        """None: the report is no answer for release."""
        return None
