"""Rules of a market: caps on epsilon, floors under prices, a tax on leakage.

Each rule makes a game from a game, so that rules compose: ``tax_leakage(cap_epsilon(game, 1.0), 0.01)``.
`market.analysis.assessment` says what a set of rules does to whom.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from learning.declaration import PerOwner, TwoOrMorePerOwner
from market.columns import as_parameter, column, take
from market.costs.base import Cost
from market.costs.leakage import leakage_bits, leakage_slope
from market.game.deviations import Deviations
from market.game.game import Game
from market.game.owners import Owners
from market.policies.base import OverPolicy
from market.policies.posted import Posted, Unit


def cap_epsilon(game: Game, cap: Any) -> Game:
    """Nobody may share more than ``cap`` (scalar or (n_owners,)); who was bound to share more is bound to the cap.

    Raises
    ------
    InputError
        A negative or non-finite cap.
    """
    cap = as_parameter("regulation.epsilon_cap", cap)
    owners = game.owners
    low, high = np.minimum(owners.epsilon_min, cap), np.minimum(owners.epsilon_max, cap)
    return replace(game, owners=replace(owners, epsilon_min=low, epsilon_max=high))


@dataclass(frozen=True)
class Taxed(Cost):
    """A privacy cost with a tax per bit that a record can leak: ``cost + leakage_tax * n * bits(epsilon)``.

    Parameters
    ----------
    cost : Cost
    leakage_tax : scalar or (n_owners,), money per bit and record
    values : whole number or (n_owners,), number of values a record can take, at least 2

    Raises
    ------
    InputError
        A negative or non-finite tax, or fewer than 2 values.
    """

    where = "regulation"
    cost: Any
    leakage_tax: PerOwner
    values: TwoOrMorePerOwner = 10

    def value(self, epsilon: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Money lost at each epsilon (n_owners, ...), tax included."""
        return self.cost.value(epsilon, sizes) + self._levy(epsilon, sizes)

    def slope(self, epsilon: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Money lost per further unit of epsilon (n_owners, ...), tax included."""
        levy = column(self.leakage_tax * sizes, epsilon) * leakage_slope(epsilon, column(self.values, epsilon))
        return self.cost.slope(epsilon, sizes) + levy

    def tax(self, epsilon: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Money that goes to the treasury (n_owners, ...)."""
        return self._levy(epsilon, sizes) + self.cost.tax(epsilon, sizes)

    @property
    def untaxed(self) -> Cost:
        """The cost without any tax."""
        return self.cost.untaxed

    def _levy(self, epsilon: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        return column(self.leakage_tax * sizes, epsilon) * leakage_bits(epsilon, column(self.values, epsilon))


def tax_leakage(game: Game, rate: Any, *, values: Any = 10) -> Game:
    """Owners pay the treasury ``rate`` money per bit that a record can leak, for each of their records.

    ``values`` is the number of values a record can take. It counts as a cost of theirs, not of the market: welfare
    includes what the treasury gets.

    >>> from market.costs.functions import Linear
    >>> from market.game.owners import Owners
    >>> game = Game(Owners(("A",), 1000, 0.0, 5.0, Linear(1.0)), Posted(3.0), None, 0.0)
    >>> epsilon = np.array([5.0])
    >>> taxed = tax_leakage(game, 0.001)
    >>> round(float((game.payoffs(epsilon) - taxed.payoffs(epsilon))[0]), 6) == round(float(leakage_bits(5.0)), 6)
    True
    """
    return replace(game, owners=replace(game.owners, cost=Taxed(game.owners.cost, rate, values)))


@dataclass(frozen=True)
class Floored(OverPolicy):
    """A policy under which nobody is paid less than a posted price: ``max(payment, floor)``; additive where the policy is.

    The floor keeps the columns of all owners, whichever of them are looked at.
    """

    policy: Any
    floor: Any = field(metadata={"whole": True})

    @property
    def additive(self) -> bool:  # type: ignore[override]
        """Whether owners meet in sums only: as under the policy without a floor."""
        return self.policy.additive

    def terms(self, epsilon: np.ndarray, owners: Owners) -> np.ndarray:
        """What the policy sums: (n_owners, ..., j)."""
        return self.policy.terms(epsilon, owners)

    def settle(self, epsilon: np.ndarray, game: Game) -> np.ndarray:
        """Money each owner is paid at a profile (n_owners,)."""
        least = self.floor.payments(epsilon[:, None], game.deviations(epsilon))[:, 0]
        return np.maximum(self.policy.settle(epsilon, game), least)

    def payments(self, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
        """Money for each candidate (n_owners, m)."""
        least = take(self.floor, deviations.index).payments(epsilon, deviations)
        return np.maximum(self.policy.payments(epsilon, deviations), least)

    def slopes(self, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
        """Money for a further unit of epsilon (n_owners, m)."""
        posted = take(self.floor, deviations.index)
        below = self.policy.payments(epsilon, deviations) < posted.payments(epsilon, deviations)
        return np.where(below, posted.slopes(epsilon, deviations), self.policy.slopes(epsilon, deviations))

    def breakpoints(self, owners: Owners) -> np.ndarray:
        """Where the policy's payments may jump (n_owners, j)."""
        return self.policy.breakpoints(owners)


def floor_prices(game: Game, price: Any, *, per: Unit = "epsilon", values: Any = 10) -> Game:
    """Whatever the policy, an owner is paid at least ``price`` per unit sold, as under `market.policies.posted.Posted`.

    Parameters
    ----------
    price : scalar or (n_owners,), money per unit
    per : "epsilon", "record_epsilon" or "bit"
    values : whole number or (n_owners,), values a record can take; for "bit" only

    Raises
    ------
    InputError
        A negative or non-finite price, or an unknown unit.
    """
    posted = Posted(as_parameter("regulation.price_floor", price), per, values)
    return replace(game, policy=Floored(game.policy, posted))
