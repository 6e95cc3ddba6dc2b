"""What every privacy cost has, and what it need not say."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from learning.declaration import Declaration
from market.columns import difference


class Writer(Protocol):
    """What sentences of a report are written with: numbers as people write them (`scenarios.report.wording`)."""

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
    """Base of privacy costs: what a privacy budget costs the owner who spends it.

    A cost is a frozen dataclass with parameters that are one number or one per owner. Its `value` is 0 at epsilon = 0
    and never falls; the rest has defaults.

    Attributes
    ----------
    values : scalar or (n_owners,), values that a record can take, where leakage is counted in bits
    price_unit : str, what ``price`` is per, in the words of the report
    """

    where = "owners.cost"
    values: Any = 10
    price_unit: str = ""
    price: Any

    @abstractmethod
    def value(self, epsilon: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Money each owner loses (n_owners, ...) at epsilon (n_owners, ...) with sizes (n_owners,), records."""

    def slope(self, epsilon: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Derivative of `value` by epsilon, same shapes, at epsilon above 0; by default a difference."""
        return difference(lambda at: self.value(at, sizes), epsilon)

    def tax(self, epsilon: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """What of `value` goes to the treasury (n_owners, ...), money; by default nothing."""
        return np.zeros(np.shape(epsilon))

    @property
    def untaxed(self) -> Cost:
        """The cost without any tax."""
        return self

    def sentence(self, write: Writer) -> str:
        """What sharing costs an owner, for the report; empty where only the parameters can be told."""
        return (
            f"Privacy costs an owner {write.amount(self.price, write.money)} per {self.price_unit}."
            if self.price_unit
            else ""
        )
