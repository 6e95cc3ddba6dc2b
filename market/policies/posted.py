"""Posted prices: so much per unit of what is sold, counted in epsilon, in bits, or in what a channel tells."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from learning.declaration import PerOwner, Positive, TwoOrMorePerOwner, parameter
from learning.errors import InputError
from market.columns import column
from market.costs.base import Writer
from market.costs.leakage import leakage_bits, leakage_slope
from market.costs.measured import LeakageMeasure, PricePerRecord
from market.game.deviations import Deviations
from market.game.owners import Owners
from market.policies.base import Policy, WorthBuying

Unit = Literal["epsilon", "record_epsilon", "bit"]
UNITS: dict[Unit, str] = {
    "epsilon": "unit of privacy budget ε",
    "record_epsilon": "record and unit of privacy budget ε",
    "bit": "record and bit it may leak",
}


@dataclass(frozen=True)
class Posted(Policy):
    """A fixed price per unit sold: of epsilon, of n * epsilon, or of n * bits(epsilon), up to a limit if there is one.

    What an owner is paid depends on its own choice alone, so every equilibrium is in dominant strategies. Beyond the limit
    nothing more is paid: payments have a kink there, which is a candidate of every search.

    Parameters
    ----------
    price : scalar or (n_owners,), money per unit of ``per``
    per : what is paid for: epsilon, records times epsilon, or records times bits
    values : whole number or (n_owners,), values a record can take, at least 2; for "bit" only
    until : the epsilon beyond which nothing more is paid: a number, or "worth", what is worth buying of each owner
    limit : scalar or (n_owners,), the same as numbers, inf for none: what ``until`` comes to

    Raises
    ------
    InputError
        A negative or non-finite price, an unknown ``per``, fewer than 2 values, or a limit not above 0. When asked for
        payments, ``until = "worth"`` in a game without a forecast that tells what is worth buying.

    Source: Wu, MRes thesis, Prop. 1 (dominance).

    >>> from market.costs.functions import Quadratic
    >>> from market.game.game import Game
    >>> from market.game.owners import Owners
    >>> owners = Owners(("A",), 1000, 0.0, 10.0, Quadratic(price=4.0))
    >>> float(Game(owners, Posted(price=6.0), None, 0.0).best_responses(np.zeros(1))[0])  # price / cost
    1.5
    >>> float(Game(owners, Posted(price=6.0, until=1.2), None, 0.0).best_responses(np.zeros(1))[0])
    1.2
    """

    money = "price"
    own_choice = True
    price: PerOwner = parameter("Give the money per unit.")
    per: Unit = "epsilon"
    values: TwoOrMorePerOwner = parameter(default=10, in_file=False)
    until: Literal["worth"] | Positive | None = None
    """The ε beyond which nothing more is paid: a number, or `worth`, what is worth buying of an owner where all sell that."""
    limit: Any = parameter(default=np.inf, in_file=False)

    def check(self) -> None:
        """Make a number of ``until`` the limit."""
        limit = self.until if isinstance(self.until, float) else self.limit
        object.__setattr__(self, "limit", np.asarray(limit, dtype=float))

    def settled(self, owners: Owners, worth: WorthBuying | None = None) -> Policy:
        """With what is worth buying of these owners as the limit, where nothing more is paid beyond that."""
        return replace(self, until=None, limit=worth()) if self.until == "worth" and worth is not None else self

    @classmethod
    def trial(cls, owners: Owners) -> dict[str, Any]:
        """A price per record and unit of epsilon."""
        return {"price": 1.0, "per": "record_epsilon"}

    @classmethod
    def variants(cls) -> list[dict[str, Any]]:
        """List its units."""
        return [{"per": unit} for unit in UNITS]

    def payments(self, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
        """Money for each candidate (n_owners, m); at price 0 nothing is paid, even for epsilon = inf."""
        rate, paid_for = column(self._rate(deviations), epsilon), np.minimum(epsilon, column(self.limit, epsilon))
        sold = leakage_bits(paid_for, column(self.values, epsilon)) if self.per == "bit" else paid_for
        with np.errstate(invalid="ignore"):
            return np.where(rate > 0, rate * sold, 0.0)

    def slopes(self, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
        rate = column(self._rate(deviations), epsilon) * (epsilon <= column(self.limit, epsilon))
        if self.per == "bit":
            return rate * leakage_slope(epsilon, column(self.values, epsilon))
        return rate * np.ones_like(epsilon)

    def breakpoints(self, owners: Owners) -> np.ndarray:
        if not np.isfinite(self.limit).any():
            return super().breakpoints(owners)
        return np.broadcast_to(self.limit, (len(owners),))[:, None]

    def _rate(self, deviations: Deviations) -> np.ndarray:
        if self.until == "worth":
            rule, remedy = "needs a market with a forecast, which tells what is worth buying", "Give a number."
            raise InputError("policy.until", rule, '"worth" in a game without one', remedy)
        return self.price * (1.0 if self.per == "epsilon" else deviations.owners.sizes)

    def sentence(self, write: Writer) -> str:
        price = (
            f"The learner pays each owner a fixed price: {write.amount(self.price, write.money)} per {UNITS[self.per]}"
        )
        if self.until is None:
            return f"{price}."
        limit = "the ε that is worth buying of it" if self.until == "worth" else f"an ε of {write.number(self.until)}"
        return f"{price}, up to {limit}; nothing for more."


@dataclass(frozen=True)
class PostedChannel(LeakageMeasure, PricePerRecord, Policy):
    """A fixed price for what an answer through a channel tells about each record: ``price * n * told(epsilon)``.

    What an owner is paid depends on its own choice alone, so every equilibrium is in dominant strategies.

    Parameters, and the InputErrors they raise, as in `market.costs.measured.ChannelCost`.

    Source: Wu, MRes thesis, sections 4.3 and 4.4 (compensation for leakage or utility), computed from the channel.

    Paid for bits at the price they cost, an owner breaks even at any epsilon:

    >>> from market.costs.measured import ChannelCost
    >>> told, paid = ChannelCost(2.0, "geometric"), PostedChannel(2.0, "truncated_geometric")
    >>> bool(np.allclose(told.value(np.ones(1), np.ones(1)), paid.price * paid.told(np.ones(1))[0]))
    True
    """

    money = "price"
    own_choice = True

    def payments(self, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
        return column(self.price * deviations.owners.sizes, epsilon) * self.told(epsilon)[0]

    def slopes(self, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
        return column(self.price * deviations.owners.sizes, epsilon) * self.told(epsilon)[1]

    def sentence(self, write: Writer) -> str:
        return (
            f"The learner pays each owner a fixed price: {write.amount(self.price, write.money)} per {self.told_words}."
        )
