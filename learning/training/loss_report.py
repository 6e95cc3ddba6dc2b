"""Loss reports before trading: the noisy mean loss of each owner's records under a public model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from learning.arrays import Array
from learning.data.owner_data import Holding
from learning.losses.loss import Loss
from learning.privacy.claims import Claim
from learning.privacy.laplace import Laplace
from learning.privacy.promises import make_claims


@dataclass(frozen=True)
class LossQuery:
    """One announced query to every owner: the mean loss of its records, clipped to [0, bound].

    Replacing one of n records moves the mean by at most bound/n, so Laplace noise of scale kappa
    bound/(n epsilon) makes the report epsilon-DP (delta = 0).

    Parameters
    ----------
    loss : the loss that is trained.
    model : array (p,), the public model.
    bound : the public bound that losses of records are clipped to, > 0.
    epsilon : spending of every owner on its report, in (0, inf).
    overlap : kappa >= 1, the largest number of owners of one record: each spends epsilon/kappa.

    Source: the Laplace mechanism, Dwork and Roth, The Algorithmic Foundations of Differential
        Privacy, Theorem 3.6.
    """

    loss: Loss
    model: Array = field(repr=False)
    bound: float
    epsilon: float
    overlap: int = 1

    def losses(self, x: Array, y: Array) -> Array:
        """Clipped losses of records (n, p) and (n,), each from 0 to the bound, (n,)."""
        found = self.loss.value(self.loss.scores(x, y, self.model[None]))[0]
        return np.clip(np.asarray(found, dtype=float), 0.0, self.bound)

    def scale(self, sizes: Array) -> Array:
        """Noise scale of reports on given numbers of records."""
        sizes = np.asarray(sizes, dtype=float)
        return np.asarray(self.overlap * self.bound / (sizes * self.epsilon))

    def report(self, owner: Holding, *, rng: np.random.Generator) -> float:
        """Draw an owner's noisy report, all that leaves the owner.

        Parameters
        ----------
        owner : its records.
        rng : source of the noise.
        """
        noise = rng.laplace(scale=self.scale(np.array(owner.n_records)))
        return float(self.losses(owner.x, owner.y).mean() + noise)

    def claims(self, parties: Sequence[str], unit: str = "one record") -> list[Claim]:
        """Privacy claims of the owners' reports, one ``unit`` at a time."""
        epsilon = np.full(len(parties), self.epsilon)
        made = make_claims(Laplace(self.overlap), parties, np.ones(len(parties)), epsilon, 1, unit)
        return [replace(claim, mechanism=f"{claim.mechanism}, a loss report") for claim in made]
