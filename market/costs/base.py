"""The base class of privacy costs, with defaults for all but the value."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from learning.declaration import Declaration
from market.columns import Array, finite_difference


class Writer(Protocol):
    """The number formats of a report's sentences (`scenarios.report.wording`)."""

    def number(self, value: float, /) -> str:
        """A number to three digits."""

    def money(self, value: float, /) -> str:
        """An amount of money, in its currency where the scenario names one."""

    def percent(self, value: float, /) -> str:
        """A share in percent."""

    def amount(self, value: Any, show: Callable[..., str] = ..., /) -> str:
        """A number as ``show`` has it, or the range of a column with one number per owner."""

    def listed(self, words: list[str], /, most: int) -> str:
        """A list in words."""


class Cost(Declaration, ABC):
    """Base of privacy costs: the money that an owner loses by spending a privacy budget.

    A cost is a frozen dataclass with parameters that are one number or one per owner. Its `value`
    is 0 at epsilon = 0 and never falls; the rest has defaults.

    Attributes
    ----------
    values : scalar or (n_owners,), values that a record can take, where leakage is in bits
    price_unit : str, the unit of ``price``, in the words of the report
    """

    where = "owners.cost"
    values: Any = 10
    price_unit: str = ""
    price: Any

    @abstractmethod
    def value(self, epsilon: Array, sizes: Array) -> Array:
        """Cost (n_owners, ...) at epsilon (n_owners, ...) with sizes (n_owners,), records."""

    def marginal_cost(self, epsilon: Array, sizes: Array) -> Array:
        """Derivative of `value` at epsilon above 0, same shapes; by default a difference."""
        return finite_difference(lambda at: self.value(at, sizes), epsilon)

    def tax(self, epsilon: Array, sizes: Array) -> Array:
        """Part of `value` that goes to the treasury (n_owners, ...); by default nothing."""
        return np.zeros(np.shape(epsilon))

    @property
    def untaxed(self) -> Cost:
        """The cost without any tax."""
        return self

    def sentence(self, write: Writer) -> str:
        """Sentence of the report on the cost; empty to list the parameters."""
        if not self.price_unit:
            return ""
        price = f"{write.amount(self.price, write.money)} per {self.price_unit}"
        return f"Privacy costs an owner {price}."
