"""The owners of the data: their records, budgets, costs and benefits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np

from learning.errors import InputError
from market.columns import (
    Array,
    Pair,
    check_lengths,
    check_methods,
    column,
    owners_column,
    take_owners,
    with_fields,
)
from market.costs.base import Cost

COLUMNS = ("sizes", "epsilon_min", "epsilon_max", "benefit", "isolated", "fixed_cost")


@dataclass(frozen=True, eq=False)
class Owners:
    """Columns that describe the owners; a scalar holds for all of them.

    An owner that shares (epsilon > 0) receives the trained model. Its benefit at relative fitness
    psi is ``benefit * max(0, isolated - psi)``; an owner that shares nothing has no benefit,
    unless the model goes to all. An owner that combines the model with its own at home gains
    ``shrinkage * isolated^2/(isolated + psi + apart)`` in its place, above 0 for any model.

    Parameters
    ----------
    names : tuple of str, (n_owners,)
    sizes : (n_owners,), records, above 0
    epsilon_min, epsilon_max : (n_owners,), interval of budgets; with ``epsilon_min = 0`` an owner
        may stay out
    cost : Cost, an object of COSTS, or of another class under `Cost`
    benefit : (n_owners,), money per unit of relative fitness gained over the isolated model
    isolated : (n_owners,), relative fitness of the model that an owner has without the market
    fixed_cost : (n_owners,), money lost by sharing at all
    model_for_all : bool, whether owners that share nothing receive the model: a public good
    shrinkage : float, 0 where models are used as they are; (p - 2)/p of those that are combined
    apart : float, mean excess of a model with psi = 0 on records of an owner's own kind

    Raises
    ------
    InputError
        No owner, a column of the wrong length, a number not finite or out of range, or a reversed
        interval.

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
    shrinkage: float = 0.0
    apart: float = 0.0

    def __post_init__(self) -> None:
        put = partial(object.__setattr__, self)
        put("names", tuple(self.names))
        if not self.names:
            raise InputError("owners", "a market needs at least one owner", "none")
        if np.any(np.isinf(np.asarray(self.epsilon_max, dtype=float))):
            rule = "must be finite, since best responses are searched on an interval"
            remedy = "Give a finite upper end. A profile with epsilon = inf can still be evaluated."
            raise InputError("owners.epsilon_max", rule, "inf", remedy)
        for name in COLUMNS:
            given = getattr(self, name)
            strict = name == "sizes"
            put(name, owners_column(f"owners.{name}", given, len(self), strict=strict))
        wrong = self.epsilon_min > self.epsilon_max
        if wrong.any():
            at = int(np.argmax(wrong))
            found = f"[{self.epsilon_min[at]:g}, {self.epsilon_max[at]:g}] for {self.names[at]}"
            rule = "must be an interval from a smaller to a larger number"
            raise InputError("owners.epsilon", rule, found)
        asked = ("value", "marginal_cost", "tax", "untaxed")
        check_methods(self.cost, asked, "Make it a subclass of market.costs.Cost.")
        check_lengths(self.cost, len(self), "owners.cost")

    def __len__(self) -> int:
        return len(self.names)

    @property
    def interval(self) -> Pair:
        """Both ends of each owner's interval (n_owners,)."""
        return self.epsilon_min, self.epsilon_max

    def model_gains(self, isolated: Array, fitness: Array) -> Array:
        """Fall of owners' error by the model, for isolated models and fitness (...).

        Source: the combined model's: James and Stein (1961), at equal errors in all directions.
        """
        if not self.shrinkage:
            return np.maximum(isolated - fitness, 0.0)
        total = isolated + np.maximum(fitness, 0.0) + self.apart
        share = np.divide(isolated, total, out=np.zeros_like(total), where=total > 0)
        return np.asarray(self.shrinkage * isolated * share)

    def model_gain_slopes(self, isolated: Array, fitness: Array) -> Array:
        """Derivative of `model_gains` by fitness, at most 0, (...)."""
        if not self.shrinkage:
            return np.where(fitness < isolated, -1.0, 0.0)
        total = isolated + np.maximum(fitness, 0.0) + self.apart
        share = np.divide(isolated, total, out=np.zeros_like(total), where=total > 0)
        return np.asarray(-self.shrinkage * share**2)

    def costs(self, epsilon: Array) -> Array:
        """Privacy cost and fixed cost of each owner (n_owners, ...) at epsilon (n_owners, ...)."""
        costs = self.cost.value(epsilon, self.sizes)
        if not self.fixed_cost.any():
            return costs
        return costs + np.where(epsilon > 0, column(self.fixed_cost, epsilon), 0.0)

    def take(self, index: Array) -> Owners:
        """Restrict to the owners in ``index`` (k,), in that order."""
        first = int(index[0]) if len(index) else 0
        # Views of the columns serve a range of owners.
        rows = slice(first, first + len(index))
        if np.array_equal(index, np.arange(rows.start, rows.stop)):
            return with_fields(take_owners(self, rows), names=self.names[rows])
        names = itemgetter(*index.tolist(), 0)(self.names)[:-1]
        return with_fields(take_owners(self, index), names=tuple(names))
