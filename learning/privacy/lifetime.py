"""A budget for all trainings that ever ask about an owner's records: what they spend together, and what is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.errors import InputError
from learning.privacy.budget import visible
from learning.privacy.mechanism import Mechanism

Composition = Literal["sequential", "fresh"]
Saving = Literal["none", "even"]
ROUNDING = 1e-9  # part of a limit that sums may miss it by
SPENT = 1e-9  # what is left of a budget that is gone: no smaller one is sold


@dataclass(frozen=True)
class Lifetime:
    """What each owner may spend in all, over trainings that follow each other.

    A training's budget is an epsilon of its own, with the mechanism's delta. Budgets are stated before any answer of
    that training is seen, and what is left never depends on an answer.

    Parameters
    ----------
    mechanism : how answers are made noisy, and counted.
    limit : array (n_owners,), epsilon over all trainings; inf where there is none.
    composition : "sequential" where every training asks about all records so far, so that its oldest ones are asked each
        time and what they spend composes; "fresh" where each asks about records that no other has asked about, so that none
        spends more than in its one training, and the limit is that of a record.
    saving : "none" where all that is left may be sold at once; "even" where no more than an equal part for each training
        that is still to come.
    names : the owners' names, where a ledger asks.

    Source: Dwork and Roth, The Algorithmic Foundations of Differential Privacy, Theorem 3.16 (sequential); McSherry,
    Privacy Integrated Queries, Theorem 4 (disjoint records); what mechanisms know of their own composition.

    >>> from learning.privacy.laplace import Laplace
    >>> budget = Lifetime(Laplace(), np.array([2.0, np.inf]), saving="even")
    >>> budget.most(np.array([[0.5, 0.5]]), trainings=3).tolist(), budget.total(np.array([[0.5, 0.5], [0.25, 3.0]])).tolist()
    ([0.5, inf], [0.75, 3.5])
    """

    mechanism: Mechanism
    limit: Array
    composition: Composition = "sequential"
    saving: Saving = "none"
    names: Sequence[str] = ()

    def most(self, sold: Array, trainings: int) -> Array:
        """The most that each may sell in the next training, (n_owners,), epsilon; inf without a limit.

        Parameters
        ----------
        sold : array (k, n_owners), what was sold in each training before; 0 where nothing was asked.
        trainings : how many are still to come, the next among them.
        """
        limit = np.broadcast_to(np.asarray(self.limit, dtype=float), sold.shape[1:])
        if self.composition == "fresh":
            return np.array(limit)
        limited = np.isfinite(limit)
        parts = trainings if self.saving == "even" else 1
        left = self.mechanism.remaining_epsilon(np.where(limited, limit, 1.0), sold, parts)
        return np.where(limited, np.where(left > SPENT, left, 0.0), np.inf)

    def total(self, sold: Array) -> Array:
        """What the records that were asked most often have spent, (n_owners,), epsilon at `delta`."""
        if not len(sold):
            return np.zeros(sold.shape[1:])
        return sold.max(axis=0) if self.composition == "fresh" else self.mechanism.composed_epsilon(sold)

    def delta(self, sold: Array) -> Array:
        """The failure probability of that total, (n_owners,); 0 where nothing was sold."""
        trainings = (np.asarray(sold) > 0).sum(axis=0)
        once = np.minimum(trainings, 1) if self.composition == "fresh" else trainings
        return self.mechanism.composed_delta(once)

    def exceeded(self, owner: str, sold: ArrayLike) -> float | None:
        """The limit of an owner where trainings of such budgets (k,) would spend more; None where they do not.

        Raises
        ------
        InputError
            If nobody of that name has a limit.
        """
        known = [visible(name) for name in self.names]
        if visible(owner) not in known:
            raise InputError("ledger", "must know what each owner may spend over all trainings", f"nothing of {owner}")
        at = known.index(visible(owner))
        limit = float(np.broadcast_to(np.asarray(self.limit, dtype=float), len(self.names))[at])
        spends = float(self.total(np.asarray(sold, dtype=float)[:, None])[0])
        return limit if spends > limit * (1 + ROUNDING) else None
