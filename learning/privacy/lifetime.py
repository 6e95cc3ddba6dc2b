"""Budgets over all trainings that ask about an owner's records.

Their composition and remainder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.errors import InputError
from learning.privacy.budget import visible_name
from learning.privacy.mechanism import Mechanism

Composition = Literal["sequential", "fresh"]
Saving = Literal["none", "even"]
ROUNDING = 1e-9  # part of a limit that sums may exceed it by
SPENT = 1e-9  # smallest remaining budget that is sold


@dataclass(frozen=True)
class Lifetime:
    """Limit on each owner's budget over consecutive trainings.

    A training's budget is an epsilon of its own, with the mechanism's delta. Budgets are stated
    before any answer of that training is seen, and never depend on an answer.

    Parameters
    ----------
    mechanism : the noise and its accounting.
    limit : array (n_owners,), epsilon over all trainings; inf where there is none.
    composition : "sequential" where every training asks about all records so far, so that budgets
        compose for the oldest; "fresh" where each asks about new records only, so that the limit is
        that of each training.
    saving : "none" where all that is left may be sold at once; "even" where no more than an equal
        part for each training that is still to come.
    names : the owners' names, where a ledger asks.

    Source: Dwork and Roth, The Algorithmic Foundations of Differential Privacy, Theorem 3.16
        (sequential); McSherry, Privacy Integrated Queries, Theorem 4 (disjoint records); the
        mechanisms' own composition.

    >>> from learning.privacy.laplace import Laplace
    >>> budget = Lifetime(Laplace(), np.array([2.0, np.inf]), saving="even")
    >>> budget.most(np.array([[0.5, 0.5]]), trainings=3).tolist()
    [0.5, inf]
    >>> budget.total(np.array([[0.5, 0.5], [0.25, 3.0]])).tolist()
    [0.75, 3.5]
    """

    mechanism: Mechanism
    limit: Array
    composition: Composition = "sequential"
    saving: Saving = "none"
    names: Sequence[str] = ()

    def most(self, sold: Array, trainings: int) -> Array:
        """Largest budget that each may sell in the next training, (n_owners,); inf without a limit.

        Parameters
        ----------
        sold : array (k, n_owners), the budgets of each training before; 0 where nothing was asked.
        trainings : the number still to come, the next among them.
        """
        limit = np.broadcast_to(np.asarray(self.limit, dtype=float), sold.shape[1:])
        if self.composition == "fresh":
            return np.array(limit)
        limited = np.isfinite(limit)
        parts = trainings if self.saving == "even" else 1
        left = self.mechanism.remaining_epsilon(np.where(limited, limit, 1.0), sold, parts)
        return np.where(limited, np.where(left > SPENT, left, 0.0), np.inf)

    def total(self, sold: Array) -> Array:
        """Epsilon, at `delta`, of the records that were asked most often, (n_owners,)."""
        if not len(sold):
            return np.zeros(sold.shape[1:])
        if self.composition == "fresh":
            return np.asarray(sold.max(axis=0))
        return self.mechanism.composed_epsilon(sold)

    def delta(self, sold: Array) -> Array:
        """Failure probability of that total, (n_owners,); 0 where nothing was sold."""
        trainings = (np.asarray(sold) > 0).sum(axis=0)
        if self.composition == "fresh":
            trainings = np.minimum(trainings, 1)
        return self.mechanism.composed_delta(trainings)

    def exceeded_limit(self, owner: str, sold: ArrayLike) -> float | None:
        """Limit of an owner that trainings at budgets ``sold`` (k,) would exceed; None within it.

        Raises
        ------
        InputError
            If no owner of that name has a limit.
        """
        known = [visible_name(name) for name in self.names]
        if visible_name(owner) not in known:
            rule = "must know what each owner may spend over all trainings"
            raise InputError("ledger", rule, f"nothing of {owner}")
        limits = np.broadcast_to(np.asarray(self.limit, dtype=float), len(self.names))
        limit = float(limits[known.index(visible_name(owner))])
        spent = float(self.total(np.asarray(sold, dtype=float)[:, None])[0])
        return limit if spent > limit * (1 + ROUNDING) else None
