"""Noise scaled to a gradient bound that somebody gives, where the bound that is proved is larger: what it really promises."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.losses.coordinates import Coordinates
from learning.privacy.claims import Claim
from learning.privacy.guarantees import Guarantee
from learning.privacy.mechanism import Mechanism
from learning.privacy.noise_law import where_noisy
from learning.privacy.wrapped import Wrapped

SAID = "scaled to a given gradient bound, {:.3g} times of which is proved"
UNPROVED = "scaled to a given gradient bound, where none is proved: no epsilon holds"


@dataclass(frozen=True)
class GivenBound(Wrapped):
    """Another mechanism whose noise is scaled to a gradient bound G, where only r G is proved, r > 1.

    Noise is that of the budgets sold, at G. Promises are those of budgets at which r G would ask for as much noise: under
    Laplace noise with basic composition r epsilon. Where nothing is proved, r is inf, and so is every epsilon claimed.

    Parameters
    ----------
    mechanism : the mechanism.
    short : r, the bound proved over the bound given.

    Source: ours. Wu et al., The Value of Collaboration, and Farokhi et al., The Cost of Privacy, scale their noise to a bound
    of records that have none, and do not say which.

    >>> from learning.privacy.laplace import Laplace
    >>> [round(claim.epsilon, 9) for claim in GivenBound(Laplace(), 30.0).claims("bank", 1.0, 10)]
    [30.0]
    """

    short: Any

    def check(self) -> None:
        super().check()
        object.__setattr__(self, "in_published_bounds", self.mechanism.in_published_bounds)

    def kept(self, epsilon: ArrayLike) -> Array:
        """The budgets that hold where so much is sold, of a shape (...): 0 of 0, inf beyond what the accountant covers."""
        if np.isinf(self.short):
            return np.where(np.asarray(epsilon, dtype=float) > 0, np.inf, 0.0)
        return np.where(
            np.isinf(epsilon),
            np.inf,
            where_noisy(epsilon, lambda sold: self.mechanism.budget(self.mechanism.noise_term(sold) / self.short**2)),
        )

    def claim(self, party: str, epsilon: float, horizon: int, unit: str = "one record") -> Claim:
        return self.claims(party, epsilon, horizon, unit)[0]

    def claims(
        self, party: str, epsilon: float, horizon: int, unit: str = "one record", *, size: int = 1
    ) -> list[Claim]:
        held = float(self.kept(epsilon))
        if np.isinf(held):
            sold = self.mechanism.claims(party, epsilon, horizon, unit, size=size)[:1]
            return [replace(one, epsilon=np.inf, mechanism=f"{self.label}, {UNPROVED}") for one in sold]
        made = self.mechanism.claims(party, held, horizon, unit, size=size)
        said = SAID.format(self.short)
        return [replace(one, mechanism=f"{one.mechanism}, {said}") for one in made]

    def claimed_epsilon(self, epsilon: ArrayLike, sizes: ArrayLike, horizon: int) -> Array:
        held = self.kept(epsilon)
        return held if np.isinf(self.short) else np.asarray(self.mechanism.claimed_epsilon(held, sizes, horizon))

    def joint_epsilon(self, held: Array, horizon: int) -> Array:
        kept = self.kept(held)
        known = np.all(np.isfinite(kept), axis=0)
        found = np.full(held.shape[1], np.inf)
        found[known] = self.mechanism.joint_epsilon(kept[:, known], horizon)
        return found

    def surest(self, held: Array, horizon: int, sizes: ArrayLike) -> Array:
        """As sure as can be, where nothing is proved."""
        kept = self.kept(held)
        known = np.all(np.isfinite(kept), axis=0)
        found = np.ones(held.shape[1])
        found[known] = self.mechanism.surest(kept[:, known], horizon, np.broadcast_to(sizes, known.shape)[known])
        return found

    def guarantee(self, epsilon: float, horizon: int, answers: int, *, size: int = 1) -> Guarantee:
        """What answers may spend of the budget that holds.

        Raises
        ------
        ValueError
            Where none does.
        """
        held = float(self.kept(epsilon))
        if not 0 < held < np.inf:
            raise ValueError(f"no privacy holds of a budget of {epsilon:g}: no bound on gradients is proved")
        return self.mechanism.guarantee(held, horizon, answers, size=size)  # type: ignore[no-any-return]


def at_given_bound(mechanism: Mechanism, coordinates: Coordinates) -> Mechanism:
    """The mechanism as it holds with noise scaled to `Coordinates.noise_bound`: itself, unless more is proved than that.

    A bound that is larger than the one proved is more noise for the same promise, which is still of the budget sold.
    """
    sound = mechanism.mechanism if isinstance(mechanism, GivenBound) else mechanism  # of a planner made before
    proved, given = coordinates.gradient_bound, coordinates.noise_bound
    return GivenBound(sound, proved / given) if proved > given else sound
