"""How an owner's budget may be divided among learners, everybody else fixed: what each division brings it.

An owner's surplus is a sum of gains, each of one learner's budget alone, less a cost of the sum, so lines along one
budget or from one learner to another see all there is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from market.equilibrium.stopping import upper_ends
from market.game.deviations import Deviations
from market.game.owners import Owners

LEAST = 1e-9  # part of an owner's upper end below which a budget is not told from 0, as in `market.game.search`


def even_split(links: np.ndarray) -> np.ndarray:
    """Each learner's part of a budget that an owner splits evenly among those it is linked to (n_owners, n_learners)."""
    return links / np.maximum(links.sum(axis=1), 1)[:, None]


@dataclass(frozen=True)
class Allocations:
    """The unilateral moves of some owners (n,), each a row of budgets: one `Deviations` for each learner.

    ``links`` (n, n_learners) says who may sell to whom, and ``at`` (n, n_learners) where the owners stand.
    """

    owners: Owners
    links: np.ndarray
    deviations: tuple[Deviations, ...]
    at: np.ndarray

    @property
    def least(self) -> np.ndarray:
        """The smallest budget above 0 that is told from 0, (n,)."""
        return LEAST * upper_ends(self.owners)

    def gains(self, j: int, epsilon: np.ndarray) -> np.ndarray:
        """Payment and benefit from learner j at candidates (n, m)."""
        gain = self.deviations[j].payments(epsilon) + self.deviations[j].benefits(epsilon)
        return np.where(self.links[:, j : j + 1], gain, 0.0)

    def gain_slopes(self, j: int, epsilon: np.ndarray) -> np.ndarray:
        """Derivative of `gains` at candidates above 0."""
        return self.deviations[j].slopes(epsilon) + self.owners.cost.slope(epsilon, self.owners.sizes)

    def surplus(self, rows: np.ndarray) -> np.ndarray:
        """Surplus (n, m) at candidate rows (n, m, n_learners)."""
        gains = sum(self.gains(j, rows[..., j]) for j in range(rows.shape[-1]))
        return gains - self.owners.costs(rows.sum(axis=-1))
