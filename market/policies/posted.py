"""Payments by an owner's own choice alone: posted prices, and cost plus a margin."""

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import PlainValidator

from learning.declaration import PerOwner, Positive, TwoOrMorePerOwner, parameter, read_only
from learning.errors import InputError
from market.columns import Array, column
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
    """A fixed price per unit sold: of epsilon, of n * epsilon, or of n * bits(epsilon).

    A payment depends on the owner's own choice alone, so every equilibrium is in dominant
    strategies. Beyond a limit nothing more is paid: payments have a kink there, which is a
    candidate of every search.

    Parameters
    ----------
    price : scalar or (n_owners,), money per unit of ``per``
    per : the unit: epsilon, records times epsilon, or records times bits
    values : whole number or (n_owners,), values a record can take, at least 2; for "bit" only
    until : the epsilon beyond which nothing more is paid: a number, or "worth", the epsilon worth
        buying of each owner
    limit : scalar or (n_owners,), the same as numbers, inf for none; ``until`` precedes it

    Raises
    ------
    InputError
        A negative or non-finite price, an unknown ``per``, fewer than 2 values, or a limit not
        above 0. When asked for payments, ``until = "worth"`` in a game without a forecast.

    Source: Wu, MRes thesis, Prop. 1 (dominance).

    The owner sells price / cost, or the limit:

    >>> from market.costs.functions import Quadratic
    >>> from market.game.game import Game
    >>> owners = Owners(("A",), 1000, 0.0, 10.0, Quadratic(price=4.0))
    >>> for policy in (Posted(price=6.0), Posted(price=6.0, until=1.2)):
    ...     print(Game(owners, policy, None, 0.0).best_responses(np.zeros(1)).tolist())
    [1.5]
    [1.2]
    """

    money = "price"
    own_choice = True
    price: PerOwner = parameter("Give the money per unit.")
    per: Unit = "epsilon"
    values: TwoOrMorePerOwner = parameter(default=10, in_file=False)
    until: Literal["worth"] | Positive | None = None
    """The ε beyond which nothing more is paid: a number, or `worth`, what is worth buying of an
    owner where all sell that."""
    limit: Annotated[Any, PlainValidator(read_only)] = parameter(default=np.inf, in_file=False)

    @property
    def paid_until(self) -> Array:
        """Epsilon () or (n_owners,) beyond which nothing more is paid."""
        return np.asarray(self.until if isinstance(self.until, float) else self.limit)

    def prepared_for(self, owners: Owners, worth: WorthBuying | None = None) -> Policy:
        """Policy limited to the epsilon worth buying of these owners, if it asks for that."""
        if self.until != "worth" or worth is None:
            return self
        return replace(self, until=None, limit=worth())

    @classmethod
    def trial_parameters(cls, owners: Owners) -> dict[str, Any]:
        """A price per record and unit of epsilon."""
        return {"price": 1.0, "per": "record_epsilon"}

    @classmethod
    def study_variants(cls) -> list[dict[str, Any]]:
        """One variant for each unit."""
        return [{"per": unit} for unit in UNITS]

    def payments(self, epsilon: Array, deviations: Deviations) -> Array:
        """Money for each candidate (n_owners, m); 0 at price 0, even for epsilon = inf."""
        rate = column(self._unit_price(deviations), epsilon)
        sold = np.minimum(epsilon, column(self.paid_until, epsilon))
        if self.per == "bit":
            sold = leakage_bits(sold, column(self.values, epsilon))
        with np.errstate(invalid="ignore"):
            return np.where(rate > 0, rate * sold, 0.0)

    def marginal_payments(self, epsilon: Array, deviations: Deviations) -> Array:
        within = epsilon <= column(self.paid_until, epsilon)
        rate = column(self._unit_price(deviations), epsilon) * within
        if self.per == "bit":
            return rate * leakage_slope(epsilon, column(self.values, epsilon))
        return rate * np.ones_like(epsilon)

    def payment_jumps(self, owners: Owners) -> Array:
        if not np.isfinite(self.paid_until).any():
            return super().payment_jumps(owners)
        return np.broadcast_to(self.paid_until, (len(owners),))[:, None]

    def _unit_price(self, deviations: Deviations) -> Array:
        if self.until == "worth":
            rule = "needs a market with a forecast, which tells what is worth buying"
            found = '"worth" in a game without one'
            raise InputError("policy.until", rule, found, "Give a number.")
        return self.price * (1.0 if self.per == "epsilon" else deviations.owners.sizes)

    def sentence(self, write: Writer) -> str:
        rate = f"{write.amount(self.price, write.money)} per {UNITS[self.per]}"
        price = f"The learner pays each owner a fixed price: {rate}"
        if self.until is None:
            return f"{price}."
        limit = "the ε that is worth buying of it"
        if self.until != "worth":
            limit = f"an ε of {write.number(self.until)}"
        return f"{price}, up to {limit}; nothing for more."


@dataclass(frozen=True)
class PostedChannel(LeakageMeasure, PricePerRecord, Policy):
    """A fixed price for the information of an answer through a channel: ``price * n * told``.

    A payment depends on the owner's own choice alone, so every equilibrium is in dominant
    strategies. Parameters and their InputErrors are those of `market.costs.measured.ChannelCost`.

    Source: Wu, MRes thesis, sections 4.3 and 4.4 (compensation for leakage or utility), computed
        from the channel.

    Paid for bits at the price they cost, an owner breaks even at any epsilon:

    >>> from market.costs.measured import ChannelCost
    >>> lost, paid = ChannelCost(2.0, "geometric"), PostedChannel(2.0, "truncated_geometric")
    >>> bool(np.allclose(lost.value(np.ones(1), np.ones(1)), 2 * paid.told(np.ones(1))[0]))
    True
    """

    money = "price"
    own_choice = True

    def payments(self, epsilon: Array, deviations: Deviations) -> Array:
        return column(self.price * deviations.owners.sizes, epsilon) * self.told(epsilon)[0]

    def marginal_payments(self, epsilon: Array, deviations: Deviations) -> Array:
        return column(self.price * deviations.owners.sizes, epsilon) * self.told(epsilon)[1]

    def sentence(self, write: Writer) -> str:
        rate = f"{write.amount(self.price, write.money)} per {self.told_words}"
        return f"The learner pays each owner a fixed price: {rate}."


@dataclass(frozen=True)
class CostPlus(Policy):
    """Each owner's cost, fixed costs included, with a margin: ``(1 + margin) * cost(epsilon)``.

    No owner loses by taking part. Its surplus is ``margin * cost``, plus any benefit, so with a
    margin above 0 every owner shares as much as it may; at margin 0 it is indifferent, and shares
    the least it may. The learner must know the costs, as after an audit.

    Parameters
    ----------
    margin : scalar or (n_owners,), part of the cost paid on top, 0 or more

    Raises
    ------
    InputError
        A negative or non-finite margin.

    Source: cost-plus contracts (Laffont and Tirole, A Theory of Incentives in Procurement and
        Regulation).

    The owner's surplus is a tenth of the cost 4 * 10^2 / 2:

    >>> from market.costs.functions import Quadratic
    >>> from market.game.game import Game
    >>> owners = Owners(("A",), 1000, 0.0, 10.0, Quadratic(price=4.0))
    >>> game = Game(owners, CostPlus(margin=0.1), None, 0.0)
    >>> chosen = game.best_responses(np.zeros(1))
    >>> chosen.tolist(), game.payoffs(chosen).round(9).tolist()
    ([10.0], [20.0])
    """

    money = "margin"
    # The budgets do not follow from the margin.
    usual = False
    margin: PerOwner = parameter("Give the part of the cost paid on top, such as 0.1.")

    def payments(self, epsilon: Array, deviations: Deviations) -> Array:
        return (1 + column(self.margin, epsilon)) * deviations.costs(epsilon)

    def marginal_payments(self, epsilon: Array, deviations: Deviations) -> Array:
        owners = deviations.owners
        factor = 1 + column(self.margin, epsilon)
        return factor * owners.cost.marginal_cost(epsilon, owners.sizes)

    def sentence(self, write: Writer) -> str:
        cost = "The learner pays each owner what sharing costs it"
        if not np.any(self.margin):
            return f"{cost}, so an owner does not care how much it shares."
        top = f"and {write.amount(self.margin, write.percent)} on top"
        return f"{cost} {top}: nobody loses, and each gains the more, the more it shares."
