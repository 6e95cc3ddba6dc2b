"""Step payments: a menu of tiers for all owners, or one contract for each."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from learning.declaration import ListOf, PerOwner, parameter
from learning.errors import InputError
from market.columns import Array, column
from market.costs.base import Writer
from market.game.deviations import Deviations
from market.game.owners import Owners
from market.policies.base import Policy


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
