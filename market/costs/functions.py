"""Costs by formulas of epsilon: bits, epsilon, its square, expected harm, an adversary's belief.

Fixed costs of sharing (reputation, law, implementation, communication) are a column of the owners
(`market.game.owners.Owners`) and go with any cost.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from learning.declaration import PerOwner, PositivePerOwner, TwoOrMorePerOwner, parameter
from market.columns import Array, column
from market.costs.base import Cost
from market.costs.leakage import (
    belief_rise,
    belief_slope,
    expected_harm,
    leakage_bits,
    leakage_slope,
)


@dataclass(frozen=True)
class Leakage(Cost):
    """Cost per bit a record can leak: ``price * n * log2(v e^epsilon / (v - 1 + e^epsilon))``.

    Concave in epsilon, so an owner may prefer either end of its interval to anything between;
    finite at epsilon = inf.

    Parameters
    ----------
    price : scalar or (n_owners,), money per bit and record
    values : whole number or (n_owners,), number of values a record can take, at least 2

    Source: Wu, MRes thesis, section 2.2, as a cost.
    """

    price: PerOwner = parameter("Give the money per bit and record leaked.")
    values: TwoOrMorePerOwner = 10
    price_unit = "bit that may leak about each record"

    def value(self, epsilon: Array, sizes: Array) -> Array:
        bits = leakage_bits(epsilon, column(self.values, epsilon))
        return column(self.price * sizes, epsilon) * bits

    def marginal_cost(self, epsilon: Array, sizes: Array) -> Array:
        slope = leakage_slope(epsilon, column(self.values, epsilon))
        return column(self.price * sizes, epsilon) * slope


@dataclass(frozen=True)
class Linear(Cost):
    """Cost in proportion to the budget: ``price * epsilon``.

    Parameters
    ----------
    price : scalar or (n_owners,), money per unit of epsilon

    Source: Ghosh and Roth, Selling Privacy at Auction (unit costs).
    """

    price: PerOwner = parameter("Give the money per unit of epsilon.")
    price_unit = "unit of privacy budget ε"

    def value(self, epsilon: Array, sizes: Array) -> Array:
        return _price_times(self.price, epsilon, epsilon)

    def marginal_cost(self, epsilon: Array, sizes: Array) -> Array:
        return column(self.price, epsilon) * np.ones_like(epsilon)


@dataclass(frozen=True)
class Quadratic(Cost):
    """Convex cost: ``price * epsilon^2 / 2``.

    Parameters
    ----------
    price : scalar or (n_owners,), money per squared unit of epsilon

    Paid a price p per unit of epsilon, such an owner sells p / price:

    >>> float(Quadratic(price=2.0).marginal_cost(np.array([1.5]), np.array([1.0]))[0])
    3.0
    """

    price: PerOwner = parameter("Give the money per unit of epsilon squared over two.")
    price_unit = "unit of half its privacy budget ε squared"

    def value(self, epsilon: Array, sizes: Array) -> Array:
        return _price_times(self.price, epsilon, epsilon**2) / 2

    def marginal_cost(self, epsilon: Array, sizes: Array) -> Array:
        return column(self.price, epsilon) * epsilon


def _price_times(price: Array, epsilon: Array, units: Array) -> Array:
    """Price of units (n_owners, ...); 0 at price 0, even at epsilon = inf."""
    price = column(price, epsilon)
    with np.errstate(invalid="ignore"):
        return np.where(price > 0, price * units, 0.0)


@dataclass(frozen=True)
class ExpectedHarm(Cost):
    """Rise of each individual's expected harm: ``price * n * (e^epsilon - 1)``.

    Convex: each further unit of epsilon raises the cost e times as much as the one before.

    Parameters
    ----------
    price : scalar or (n_owners,), money, the base cost E: an individual's expected loss where its
        record is not used

    Source: Hsu et al., Differential Privacy: An Economic Method for Choosing Epsilon; per
        individual there, here for the n individuals of an owner that answers for them all.

    >>> float(ExpectedHarm(price=12.5).value(np.array([0.1]), np.array([22_820.0]))[0].round(-2))
    30000.0
    """

    price: PerOwner = parameter(
        "Give the money an individual expects to lose where its record is not used."
    )
    price_unit = "record and unit of e^ε − 1, by which its expected harm may grow"

    def value(self, epsilon: Array, sizes: Array) -> Array:
        return expected_harm(epsilon, column(self.price * sizes, epsilon))

    def marginal_cost(self, epsilon: Array, sizes: Array) -> Array:
        return self.value(epsilon, sizes) + column(self.price * sizes, epsilon)


@dataclass(frozen=True)
class Belief(Cost):
    """Loss by an adversary's growing belief: ``price * n * (belief(epsilon) - 1/m)``.

    ``belief`` is the bound ``1 / (1 + (m-1) e^(-epsilon ratio))``: no loss while the adversary is
    as unsure as before, and ``price * (1 - 1/m)`` per record once it is certain. Convex below the
    even guess, concave above.

    Parameters
    ----------
    price : scalar or (n_owners,), money per record discovered for certain
    worlds : whole number or (n_owners,), number m of worlds the adversary holds possible, at least
        2
    ratio : scalar or (n_owners,), change of the answer between the worlds over its sensitivity,
        above 0

    Source: Lee and Clifton, How Much Is Enough? Choosing epsilon for Differential Privacy, as a
        cost.

    From an even guess to 3/4:

    >>> float(Belief(price=8.0).value(np.array([np.log(3)]), np.array([1.0]))[0].round(9))
    2.0
    """

    price: PerOwner = parameter(
        "Give the money lost per record that an adversary discovers for certain."
    )
    worlds: TwoOrMorePerOwner = 2
    ratio: PositivePerOwner = 1.0
    price_unit = "record that an adversary discovers for certain, and in part as it grows surer"

    def value(self, epsilon: Array, sizes: Array) -> Array:
        rise = belief_rise(epsilon, column(self.worlds, epsilon), column(self.ratio, epsilon))
        return column(self.price * sizes, epsilon) * rise

    def marginal_cost(self, epsilon: Array, sizes: Array) -> Array:
        slope = belief_slope(epsilon, column(self.worlds, epsilon), column(self.ratio, epsilon))
        return column(self.price * sizes, epsilon) * slope


@dataclass(frozen=True)
class Exponential(Cost):
    """Cost of the thesis's games, without its constant: ``price * (e^epsilon - 1)``.

    The thesis writes ``e^epsilon``; the difference is one ``price`` that every sharer pays. With a
    fixed cost of ``price`` the numbers are the thesis's.

    Parameters
    ----------
    price : scalar or (n_owners,), money

    Source: Wu, MRes thesis, equations 4.1 and 4.2.
    """

    price: PerOwner = parameter("Give the money per unit of e^epsilon.")
    price_unit = "unit of e^ε − 1"

    def value(self, epsilon: Array, sizes: Array) -> Array:
        return expected_harm(epsilon, column(self.price, epsilon))

    def marginal_cost(self, epsilon: Array, sizes: Array) -> Array:
        return self.value(epsilon, sizes) + column(self.price, epsilon)


@dataclass(frozen=True)
class OnClaim(Cost):
    """Another cost, at the epsilon claimed for a sale: ``cost(claimed(epsilon))``.

    Parameters
    ----------
    cost : Cost
    claimed : function (epsilon (n_owners, ...), sizes (n_owners,)) -> the epsilon claimed, 0 at 0
        and rising

    >>> claim = OnClaim(Linear(2.0), lambda epsilon, sizes: 20 * epsilon)
    >>> claim.value(np.array([0.25]), np.array([100.0])).tolist()
    [10.0]
    """

    cost: Any
    claimed: Any

    @property
    def values(self) -> Any:  # type: ignore[override]
        """Values that a record can take, as in the other cost."""
        return self.cost.values

    def value(self, epsilon: Array, sizes: Array) -> Array:
        return np.asarray(self.cost.value(self.claimed(epsilon, sizes), sizes))
