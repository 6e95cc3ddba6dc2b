"""Privacy costs from what may happen to the individuals behind the records: harm, discovery, and the thesis's e^epsilon.

Fixed terms, paid for sharing at all (reputation, law, implementation, communication), are a column of the owners
(`market.game.owners.Owners`) and go with any cost.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learning.declaration import PerOwner, PositivePerOwner, TwoOrMorePerOwner, parameter
from market.columns import column
from market.costs.base import Cost
from market.costs.leakage import belief_rise, belief_slope, expected_harm


@dataclass(frozen=True)
class ExpectedHarm(Cost):
    """Each individual's base cost, raised by what differential privacy allows: ``price * n * (e^epsilon - 1)``.

    Convex: each further unit of epsilon raises the cost e times as much as the one before.

    Parameters
    ----------
    price : scalar or (n_owners,), money, the base cost E: what an individual expects to lose where its record is not used

    Raises
    ------
    InputError
        A negative or non-finite price.

    Source: Hsu et al., Differential Privacy: An Economic Method for Choosing Epsilon; per individual there, here for
    the n individuals of an owner that answers for them all.

    >>> float(ExpectedHarm(price=12.5).value(np.array([0.1]), np.array([22_820.0]))[0].round(-2))
    30000.0
    """

    price: PerOwner = parameter("Give the money an individual expects to lose where its record is not used.")
    price_unit = "record and unit of e^ε − 1, by which its expected harm may grow"

    def value(self, epsilon: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        return expected_harm(epsilon, column(self.price * sizes, epsilon))

    def slope(self, epsilon: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        return self.value(epsilon, sizes) + column(self.price * sizes, epsilon)


@dataclass(frozen=True)
class Belief(Cost):
    """Each record's loss as an adversary grows surer of it: ``price * n * (belief(epsilon) - 1/m)``.

    ``belief`` is the bound ``1 / (1 + (m-1) e^(-epsilon ratio))``: nothing is lost while the adversary is as unsure as
    before, and ``price * (1 - 1/m)`` per record once it is certain. Convex below the even guess, concave above.

    Parameters
    ----------
    price : scalar or (n_owners,), money per record discovered for certain
    worlds : whole number or (n_owners,), number m of worlds the adversary holds possible, at least 2
    ratio : scalar or (n_owners,), by how much the worlds change the answer over its sensitivity, above 0

    Raises
    ------
    InputError
        A negative or non-finite price, fewer than 2 worlds, or a ratio not above 0.

    Source: Lee and Clifton, How Much Is Enough? Choosing epsilon for Differential Privacy, as a cost.

    >>> float(Belief(price=8.0).value(np.array([np.log(3)]), np.array([1.0]))[0].round(9))  # even guess to 3/4
    2.0
    """

    price: PerOwner = parameter("Give the money lost per record that an adversary discovers for certain.")
    worlds: TwoOrMorePerOwner = 2
    ratio: PositivePerOwner = 1.0
    price_unit = "record that an adversary discovers for certain, and in part as it grows surer"

    def value(self, epsilon: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        rise = belief_rise(epsilon, column(self.worlds, epsilon), column(self.ratio, epsilon))
        return column(self.price * sizes, epsilon) * rise

    def slope(self, epsilon: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        slope = belief_slope(epsilon, column(self.worlds, epsilon), column(self.ratio, epsilon))
        return column(self.price * sizes, epsilon) * slope


@dataclass(frozen=True)
class Exponential(Cost):
    """The cost of the thesis's games, counted from nothing shared: ``price * (e^epsilon - 1)``, whatever the size.

    The thesis writes ``e^epsilon``; the difference is one ``price`` that everybody who shares pays, which moves nobody.
    With a fixed cost of ``price`` beside it the numbers are the thesis's.

    Parameters
    ----------
    price : scalar or (n_owners,), money

    Raises
    ------
    InputError
        A negative or non-finite price.

    Source: Wu, MRes thesis, equations 4.1 and 4.2.
    """

    price: PerOwner = parameter("Give the money per unit of e^epsilon.")
    price_unit = "unit of e^ε − 1"

    def value(self, epsilon: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        return expected_harm(epsilon, column(self.price, epsilon))

    def slope(self, epsilon: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        return self.value(epsilon, sizes) + column(self.price, epsilon)
