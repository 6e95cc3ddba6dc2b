"""Noise scaled to a stated gradient bound below the proved one, and its true claims."""

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
from learning.privacy.noise import where_noisy
from learning.privacy.wrapped import Wrapped, forward_member

SAID = "scaled to a given gradient bound, {:.3g} times of which is proved"
UNPROVED = "scaled to a given gradient bound, where none is proved: no epsilon holds"


@dataclass(frozen=True)
class GivenBound(Wrapped):
    """Another mechanism with noise scaled to a gradient bound G, where only r G is proved, r > 1.

    Noise is that of the budgets sold, at G. Claims are those of the budgets at which r G would ask
    for as much noise: under Laplace noise with basic composition r epsilon. Where nothing is
    proved, r and every epsilon claimed are inf.

    Parameters
    ----------
    mechanism : the mechanism.
    short : r, the bound proved over the bound given.

    Source: ours. Wu et al., The Value of Collaboration, and Farokhi et al., The Cost of Privacy,
        scale their noise to an unstated bound of unbounded records.

    >>> from learning.privacy.laplace import Laplace
    >>> [round(claim.epsilon, 9) for claim in GivenBound(Laplace(), 30.0).claims("bank", 1.0, 10)]
    [30.0]
    """

    short: Any

    in_published_bounds = forward_member("in_published_bounds")

    def valid_budget(self, epsilon: ArrayLike) -> Array:
        """Budgets that hold where ``epsilon`` is sold.

        0 of 0, inf beyond what the accountant covers.
        """
        if np.isinf(self.short):
            return np.where(np.asarray(epsilon, dtype=float) > 0, np.inf, 0.0)
        mechanism = self.mechanism
        valid = where_noisy(
            epsilon, lambda sold: mechanism.budget(mechanism.noise_term(sold) / self.short**2)
        )
        return np.where(np.isinf(epsilon), np.inf, valid)

    def onlooker_claims(self, epsilon: float, horizon: int, size: int | None) -> list[Claim]:
        held = float(self.valid_budget(epsilon))
        if np.isinf(held):
            sold = self.mechanism.onlooker_claims(epsilon, horizon, size)[0]
            return [replace(sold, epsilon=np.inf, mechanism=f"{self.label}, {UNPROVED}")]
        made = self.mechanism.onlooker_claims(held, horizon, size)
        said = SAID.format(self.short)
        return [replace(one, mechanism=f"{one.mechanism}, {said}") for one in made]

    def claimed_epsilon(self, epsilon: ArrayLike, sizes: ArrayLike, horizon: int) -> Array:
        held = self.valid_budget(epsilon)
        if np.isinf(self.short):
            return held
        return np.asarray(self.mechanism.claimed_epsilon(held, sizes, horizon))

    def joint_epsilon(self, held: Array, horizon: int) -> Array:
        valid = self.valid_budget(held)
        known = np.all(np.isfinite(valid), axis=0)
        found = np.full(held.shape[1], np.inf)
        found[known] = self.mechanism.joint_epsilon(valid[:, known], horizon)
        return found

    def belief_bound(self, held: Array, horizon: int, sizes: ArrayLike) -> Array:
        """Bound of the valid budgets; 1 where nothing is proved."""
        valid = self.valid_budget(held)
        known = np.all(np.isfinite(valid), axis=0)
        found = np.ones(held.shape[1])
        known_sizes = np.broadcast_to(sizes, known.shape)[known]
        found[known] = self.mechanism.belief_bound(valid[:, known], horizon, known_sizes)
        return found

    def guarantee(self, epsilon: float, horizon: int, answers: int, *, size: int = 1) -> Guarantee:
        """Guarantee of the budget that holds.

        Raises
        ------
        ValueError
            Where none does.
        """
        held = float(self.valid_budget(epsilon))
        if not 0 < held < np.inf:
            raise ValueError(
                f"no privacy holds of a budget of {epsilon:g}: no bound on gradients is proved"
            )
        return self.mechanism.guarantee(held, horizon, answers, size=size)  # type: ignore[no-any-return]


def at_given_bound(mechanism: Mechanism, coordinates: Coordinates) -> Mechanism:
    """Wrap a mechanism with noise scaled to `Coordinates.noise_bound`, if only more is proved.

    A larger bound than the proved one is more noise for the same claim, which stays that of the
    budget sold.
    """
    if isinstance(mechanism, GivenBound):  # of a planner made before
        mechanism = mechanism.mechanism
    proved = coordinates.gradient_bound
    given = coordinates.noise_bound
    return GivenBound(mechanism, proved / given) if proved > given else mechanism
