"""Payments by an owner's own choice alone: posted prices, cost plus a margin, and menus."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import PlainValidator

from learning.declaration import ListOf, PerOwner, Positive, TwoOrMorePerOwner, parameter, read_only
from learning.errors import InputError
from market.columns import Array, column
from market.costs.base import Writer
from market.costs.leakage import leakage_bits, leakage_slope
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
    """The ε beyond which nothing more is paid: a number, or `worth`, the ε worth buying of each
    owner if all sell theirs."""
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
            rule = "needs a forecast, because that gives the epsilon worth buying"
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


class StepPolicy(Policy):
    """Base of policies whose payments jump at thresholds and are flat between them."""

    money = "amounts"

    def marginal_payments(self, epsilon: Array, deviations: Deviations) -> Array:
        return np.zeros_like(epsilon)

    @abstractmethod
    def payment_jumps(self, owners: Owners) -> Array:
        """Thresholds (n_owners, j)."""


@dataclass(frozen=True)
class Tiers(StepPolicy):
    """A step menu: an owner that shares at least a threshold gets its amount.

    Unless it uses the model itself, an owner chooses a threshold exactly, or its least budget.

    Parameters
    ----------
    thresholds : sequence of float, privacy budgets of the menu, rising, above 0
    amounts : sequence of float, money for each threshold, not falling
    per : the recipient of an amount: the owner, or each of its records

    Raises
    ------
    InputError
        No tier, lengths that differ, thresholds that do not rise from above 0, amounts negative or
        falling, or an unknown ``per``.

    Surplus is 50 - 15 for A; 20 - 15 over 50 - 45 by a tie for B:

    >>> from market.costs.functions import Linear
    >>> from market.game.game import Game
    >>> owners = Owners(("A", "B", "C"), 1, 0.0, 10.0, Linear([5.0, 15.0, 30.0]))
    >>> tiers = Tiers(thresholds=[1.0, 3.0], amounts=[20.0, 50.0])
    >>> Game(owners, tiers, None, 0.0).best_responses(np.zeros(3)).tolist()
    [3.0, 1.0, 0.0]
    """

    own_choice = True
    thresholds: Annotated[tuple[float, ...], ListOf("a list of privacy budgets")] = parameter(
        "Give the privacy budgets of the menu, such as [0.5, 1.0, 2.0]."
    )
    amounts: Annotated[tuple[float, ...], ListOf("a list of amounts of money")] = parameter(
        "Give the money for each threshold, such as [100.0, 250.0, 400.0]."
    )
    per: Literal["owner", "record"] = "owner"

    @classmethod
    def trial_parameters(cls, owners: Owners) -> dict[str, Any]:
        """Three budgets in equal ratios in every interval, paid in proportion, per record."""
        low = float(owners.epsilon_min.max())
        high = float(owners.epsilon_max.min())
        menu = np.geomspace(max(low, high / 1000), high, 5)[1:4].tolist()
        return {"thresholds": menu, "amounts": [one / menu[-1] for one in menu], "per": "record"}

    def check(self) -> None:
        """Refuse thresholds and amounts that do not make a menu."""
        thresholds = self.thresholds
        if len(thresholds) != len(self.amounts):
            rule = f"needs one amount per threshold, {len(thresholds)} in all"
            raise InputError("policy.amounts", rule, len(self.amounts))
        if thresholds[0] <= 0 or np.any(np.diff(thresholds) <= 0):
            raise InputError("policy.thresholds", "must rise, from above 0", list(thresholds))
        if self.amounts[0] < 0 or np.any(np.diff(self.amounts) < 0):
            remedy = "An amount below that of a smaller threshold would never be chosen."
            rule = "must not be negative or fall"
            raise InputError("policy.amounts", rule, list(self.amounts), remedy)

    def payments(self, epsilon: Array, deviations: Deviations) -> Array:
        amounts = np.array([0.0, *self.amounts])
        paid = amounts[np.searchsorted(self.thresholds, epsilon, side="right")]
        return paid * column(deviations.owners.sizes, epsilon) if self.per == "record" else paid

    def payment_jumps(self, owners: Owners) -> Array:
        return np.tile(self.thresholds, (len(owners), 1))

    def sentence(self, write: Writer) -> str:
        each = " per record" if self.per == "record" else ""
        steps = [
            f"{write.money(paid)}{each} for an ε of at least {write.number(least)}"
            for paid, least in zip(self.amounts, self.thresholds, strict=True)
        ]
        menu = write.listed(steps, most=len(steps))
        return f"The learner offers a menu: {menu}; nothing for less."


@dataclass(frozen=True)
class Contracts(StepPolicy):
    """One contract for each owner: ``amount_i`` for sharing ``epsilon_i`` or more.

    Parameters
    ----------
    epsilon : scalar or (n_owners,), the least that earns the payment; 0 for no offer
    amounts : scalar or (n_owners,), money

    Raises
    ------
    InputError
        A number negative or not finite.

    Source: the outcomes of `market.procurement`, offered to owners who may refuse.

    >>> from market.costs.functions import Linear
    >>> from market.game.game import Game
    >>> owners = Owners(("A", "B"), 1, 0.0, 10.0, Linear([5.0, 15.0]))
    >>> game = Game(owners, Contracts(epsilon=2.0, amounts=20.0), None, 0.0)
    >>> game.best_responses(np.zeros(2)).tolist()
    [2.0, 0.0]
    """

    usual = False
    epsilon: PerOwner = parameter("Give the epsilon that earns the payment.")
    amounts: PerOwner = parameter("Give the money for it.")

    @classmethod
    def trial_parameters(cls, owners: Owners) -> dict[str, Any]:
        """The same payment to every owner for the middle of its interval."""
        return {"epsilon": ((owners.epsilon_min + owners.epsilon_max) / 2).tolist(), "amounts": 1.0}

    def payments(self, epsilon: Array, deviations: Deviations) -> Array:
        least = column(self.epsilon, epsilon)
        return np.where((epsilon >= least) & (least > 0), column(self.amounts, epsilon), 0.0)

    def payment_jumps(self, owners: Owners) -> Array:
        return np.broadcast_to(np.asarray(self.epsilon, dtype=float), len(owners))[:, None]

    def sentence(self, write: Writer) -> str:
        paid = write.amount(self.amounts, write.money)
        offer = f"{paid} for an ε of at least {write.amount(self.epsilon)}; nothing for less"
        return f"The learner offers each owner one contract: {offer}."
