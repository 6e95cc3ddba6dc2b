"""Costs by formulas of epsilon alone: the bits a record can leak, epsilon itself, epsilon squared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learning.declaration import PerOwner, TwoOrMorePerOwner, parameter
from market.columns import column
from market.costs.base import Cost
from market.costs.leakage import leakage_bits, leakage_slope


@dataclass(frozen=True)
class Leakage(Cost):
    """Cost per bit a record can leak: ``price * n * log2(v e^epsilon / (v - 1 + e^epsilon))``.

    Concave in epsilon, so an owner may prefer either end of its interval to anything between; finite at
    epsilon = inf.

    Parameters
    ----------
    price : scalar or (n_owners,), money per bit and record
    values : whole number or (n_owners,), number of values a record can take, at least 2

    Raises
    ------
    InputError
        A negative or non-finite price, or fewer than 2 values.

    Source: Wu, MRes thesis, section 2.2, as a cost.
    """

    price: PerOwner = parameter("Give the money per bit and record leaked.")
    values: TwoOrMorePerOwner = 10
    price_unit = "bit that may leak about each record"

    def value(self, epsilon: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        return column(self.price * sizes, epsilon) * leakage_bits(epsilon, column(self.values, epsilon))

    def slope(self, epsilon: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        return column(self.price * sizes, epsilon) * leakage_slope(epsilon, column(self.values, epsilon))


@dataclass(frozen=True)
class Linear(Cost):
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

    price: PerOwner = parameter("Give the money per unit of epsilon.")
    price_unit = "unit of privacy budget ε"

    def value(self, epsilon: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        with np.errstate(invalid="ignore"):  # free privacy costs nothing even at epsilon = inf
            return np.where(column(self.price, epsilon) > 0, column(self.price, epsilon) * epsilon, 0.0)

    def slope(self, epsilon: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        return column(self.price, epsilon) * np.ones_like(epsilon)


@dataclass(frozen=True)
class Quadratic(Cost):
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

    price: PerOwner = parameter("Give the money per unit of epsilon squared over two.")
    price_unit = "unit of half its privacy budget ε squared"

    def value(self, epsilon: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        with np.errstate(invalid="ignore"):  # free privacy costs nothing even at epsilon = inf
            return np.where(column(self.price, epsilon) > 0, column(self.price, epsilon) * epsilon**2 / 2, 0.0)

    def slope(self, epsilon: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        return column(self.price, epsilon) * epsilon
