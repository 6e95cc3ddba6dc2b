"""What a privacy budget costs the owner who spends it (COSTS)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from market.columns import as_parameter, column
from market.costs.harm import Belief, ExpectedHarm, Exponential
from market.costs.leakage import leakage_bits, leakage_slope
from market.costs.measured import ChannelCost


class Cost(Protocol):
    """A privacy cost: 0 at epsilon = 0 and never falling; parameters are scalars or columns (n_owners,)."""

    def value(self, epsilon: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Money each owner loses (n_owners, ...) at epsilon (n_owners, ...) with sizes (n_owners,), records."""
        ...

    def slope(self, epsilon: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Derivative of ``value`` by epsilon, same shapes."""
        ...


@dataclass(frozen=True)
class Leakage:
    """Cost per bit a record can leak: ``price * n * log2(v e^epsilon / (v - 1 + e^epsilon))``.

    Concave in epsilon, so an owner may prefer either end of its interval to anything between; finite at
    epsilon = inf.

    Parameters
    ----------
    price : scalar or (n_owners,), money per bit and record
    values : scalar or (n_owners,), number of values a record can take, above 1

    Raises
    ------
    InputError
        A negative or non-finite price, or values not above 1.

    Source: Wu, MRes thesis, section 2.2, as a cost.
    """

    price: Any
    values: Any = 10.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "price", as_parameter("owners.cost.price", self.price))
        object.__setattr__(self, "values", as_parameter("owners.cost.values", self.values, at_least=1, strict=True))

    def value(self, epsilon: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Money lost at each epsilon (n_owners, ...)."""
        return column(self.price * sizes, epsilon) * leakage_bits(epsilon, column(self.values, epsilon))

    def slope(self, epsilon: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Money lost per further unit of epsilon (n_owners, ...)."""
        return column(self.price * sizes, epsilon) * leakage_slope(epsilon, column(self.values, epsilon))


@dataclass(frozen=True)
class Linear:
    """Cost in proportion to the budget: ``price * epsilon``.

    Parameters
    ----------
    price : scalar or (n_owners,), money per unit of epsilon

    Raises
    ------
    InputError
        A negative or non-finite price.

    Source: Ghosh and Roth, Selling Privacy at Auction (unit costs).
    """

    price: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "price", as_parameter("owners.cost.price", self.price))

    def value(self, epsilon: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Money lost at each epsilon (n_owners, ...)."""
        with np.errstate(invalid="ignore"):  # free privacy costs nothing even at epsilon = inf
            return np.where(column(self.price, epsilon) > 0, column(self.price, epsilon) * epsilon, 0.0)

    def slope(self, epsilon: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Money lost per further unit of epsilon (n_owners, ...)."""
        return column(self.price, epsilon) * np.ones_like(epsilon)


@dataclass(frozen=True)
class Quadratic:
    """Cost that bites harder the more is shared: ``price * epsilon^2 / 2``.

    Parameters
    ----------
    price : scalar or (n_owners,), money per squared unit of epsilon

    Raises
    ------
    InputError
        A negative or non-finite price.

    Paid a price p per unit of epsilon, such an owner sells p / price:

    >>> float(Quadratic(price=2.0).slope(np.array([1.5]), np.array([1.0]))[0])
    3.0
    """

    price: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "price", as_parameter("owners.cost.price", self.price))

    def value(self, epsilon: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Money lost at each epsilon (n_owners, ...)."""
        with np.errstate(invalid="ignore"):  # free privacy costs nothing even at epsilon = inf
            return np.where(column(self.price, epsilon) > 0, column(self.price, epsilon) * epsilon**2 / 2, 0.0)

    def slope(self, epsilon: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Money lost per further unit of epsilon (n_owners, ...)."""
        return column(self.price, epsilon) * epsilon


COSTS: dict[str, type] = {
    "leakage": Leakage,
    "linear": Linear,
    "quadratic": Quadratic,
    "expected_harm": ExpectedHarm,
    "belief": Belief,
    "exponential": Exponential,
    "channel": ChannelCost,
}
