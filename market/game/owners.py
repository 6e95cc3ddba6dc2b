"""The owners of the data: what each has, may share, loses and gains."""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np

from learning.errors import InputError
from market.columns import check_lengths, check_methods, column, owners_column, take, with_fields
from market.costs.base import Cost


@dataclass(frozen=True)
class Owners:
    """Columns that describe the owners; a scalar stands for the same number for all.

    An owner that shares (epsilon > 0) receives the trained model. Its benefit at relative fitness psi is
    ``benefit * max(0, isolated - psi)``; who shares nothing receives no model and has no benefit, unless it goes to all.

    Parameters
    ----------
    names : tuple of str, (n_owners,)
    sizes : (n_owners,), records, above 0
    epsilon_min, epsilon_max : (n_owners,), interval each may choose from; with ``epsilon_min = 0`` it may stay out
    cost : Cost, an object of COSTS, or of another class under `Cost`; its columns have one number per owner
    benefit : (n_owners,), money per unit of relative fitness gained over the isolated model
    isolated : (n_owners,), relative fitness of the model each owner has without the market
    fixed_cost : (n_owners,), money lost by sharing at all: reputation, law, implementation, communication
    model_for_all : bool, whether owners that share nothing receive the model too: a public good

    Raises
    ------
    InputError
        No owner, a column of the wrong length, a number not finite or out of range, or a reversed interval.

    >>> from market.costs.functions import Linear
    >>> Owners(("A", "B"), 1000, 0.1, 10.0, Linear([1.0, 2.0])).sizes.tolist()
    [1000.0, 1000.0]
    """

    names: tuple[str, ...]
    sizes: Any
    epsilon_min: Any
    epsilon_max: Any
    cost: Cost
    benefit: Any = 0.0
    isolated: Any = 0.0
    fixed_cost: Any = 0.0
    model_for_all: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(self.names))
        if not self.names:
            raise InputError("owners", "a market needs at least one owner", "none")
        for name in ("sizes", "epsilon_min", "epsilon_max", "benefit", "isolated", "fixed_cost"):
            key, values = f"owners.{name}", getattr(self, name)
            if name == "epsilon_max" and np.any(np.isinf(np.asarray(values, dtype=float))):
                remedy = "Give a finite upper end; a profile with epsilon = inf can still be evaluated."
                raise InputError(key, "a best response is searched on a finite interval", "inf", remedy)
            object.__setattr__(self, name, owners_column(key, values, len(self), strict=name == "sizes"))
        reversed_ = self.epsilon_min > self.epsilon_max
        if reversed_.any():
            at = int(np.argmax(reversed_))
            found = f"[{self.epsilon_min[at]:g}, {self.epsilon_max[at]:g}] for {self.names[at]}"
            raise InputError("owners.epsilon", "the interval must run from its smaller to its larger end", found)
        check_methods(self.cost, ("value", "slope", "tax", "untaxed"), "Make it a subclass of market.costs.Cost.")
        check_lengths(self.cost, len(self), "owners.cost")

    def __len__(self) -> int:
        return len(self.names)

    def costs(self, epsilon: np.ndarray) -> np.ndarray:
        """Money each owner loses (n_owners, ...) at epsilon (n_owners, ...): privacy, and the fixed cost above 0."""
        costs = self.cost.value(epsilon, self.sizes)
        return costs + np.where(epsilon > 0, column(self.fixed_cost, epsilon), 0.0) if self.fixed_cost.any() else costs

    def take(self, index: np.ndarray) -> Owners:
        """The owners in ``index`` (k,) only, in that order."""
        first, count = (int(index[0]), len(index)) if len(index) else (0, 0)
        if np.array_equal(index, np.arange(first, first + count)):
            rows = slice(first, first + count)  # columns are not copied then
            return with_fields(take(self, rows), names=self.names[rows])
        return with_fields(take(self, index), names=tuple(itemgetter(*index.tolist(), 0)(self.names)[:-1]))
