"""The owners' side of a question before trading: how much each one's records lose under a public model, under noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from learning.arrays import Array
from learning.data.owner_data import Holding
from learning.losses.loss import Loss
from learning.privacy.claims import Claim
from learning.privacy.laplace import Laplace
from learning.privacy.promises import promises


@dataclass(frozen=True)
class LossQuery:
    """One question to every owner, announced with all its terms: the mean loss of its records, each between 0 and a bound.

    Replacing one of n records moves the mean by at most bound/n, so Laplace noise of scale kappa bound/(n epsilon) makes
    the report epsilon-DP (delta = 0).

    Parameters
    ----------
    loss : the loss that is trained.
    model : array (p,), the public model that records are tried on.
    bound : the loss above which a record counts as much as at it, public, > 0.
    epsilon : what every owner spends on its report, in (0, inf).
    overlap : kappa >= 1, the owners that one record may sit with: each spends epsilon/kappa.

    Source: the Laplace mechanism, Dwork and Roth, The Algorithmic Foundations of Differential Privacy, Theorem 3.6.
    """

    loss: Loss
    model: Array = field(repr=False)
    bound: float
    epsilon: float
    overlap: int = 1

    def losses(self, x: Array, y: Array) -> Array:
        """What each of some records (n, p) and (n,) loses, between 0 and the bound, (n,)."""
        found = self.loss.value(self.loss.scores(x, y, self.model[None]))[0]
        return np.clip(np.asarray(found, dtype=float), 0.0, self.bound)

    def scale(self, sizes: Array) -> Array:
        """Scale of the noise on the report of an owner of so many records."""
        return np.asarray(self.overlap * self.bound / (np.asarray(sizes, dtype=float) * self.epsilon))

    def report(self, owner: Holding, *, rng: np.random.Generator) -> float:
        """What an owner answers; the only thing that leaves its house.

        Parameters
        ----------
        owner : its records.
        rng : of the noise.
        """
        return float(self.losses(owner.x, owner.y).mean() + rng.laplace(scale=self.scale(np.array(owner.n_records))))

    def claims(self, parties: Sequence[str], unit: str = "one record") -> list[Claim]:
        """What is claimed of the owners' reports by themselves, one ``unit`` at a time."""
        alike = np.full(len(parties), self.epsilon)
        made = promises(Laplace(self.overlap), parties, np.ones(len(parties)), alike, 1, unit)
        return [replace(claim, mechanism=f"{claim.mechanism}, a loss report") for claim in made]
