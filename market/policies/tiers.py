"""Tiers: a menu of privacy budgets, each with its payment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from learning.declaration import ListOf, parameter
from learning.errors import InputError
from market.columns import column
from market.costs.base import Writer
from market.game.deviations import Deviations
from market.game.owners import Owners
from market.policies.base import Policy


@dataclass(frozen=True)
class Tiers(Policy):
    """A step menu: who shares at least a threshold gets its amount; below the first, nothing.

    Payments jump at the thresholds and are flat between them, so, unless it uses the model itself, an owner chooses a
    threshold exactly, or the least it may share.

    Parameters
    ----------
    thresholds : sequence of float, privacy budgets of the menu, rising, above 0
    amounts : sequence of float, money for each threshold, not falling
    per : whom an amount is for: the owner, or each of its records

    Raises
    ------
    InputError
        No tier, lengths that differ, thresholds that do not rise from above 0, amounts negative or falling, or an
        unknown ``per``.

    >>> from market.costs.functions import Linear
    >>> from market.game.game import Game
    >>> from market.game.owners import Owners
    >>> owners = Owners(("A", "B", "C"), 1, 0.0, 10.0, Linear([5.0, 15.0, 30.0]))
    >>> plan_set = Tiers(thresholds=[1.0, 3.0], amounts=[20.0, 50.0])
    >>> Game(owners, plan_set, None, 0.0).best_responses(np.zeros(3)).tolist()  # 50 - 15; 20 - 15 over 50 - 45 by tie
    [3.0, 1.0, 0.0]
    """

    money = "amounts"
    own_choice = True
    thresholds: Annotated[tuple[float, ...], ListOf("a list of privacy budgets")] = parameter(
        "Give the privacy budgets of the menu, such as [0.5, 1.0, 2.0]."
    )
    amounts: Annotated[tuple[float, ...], ListOf("a list of amounts of money")] = parameter(
        "Give the money for each threshold, such as [100.0, 250.0, 400.0]."
    )
    per: Literal["owner", "record"] = "owner"

    @classmethod
    def trial(cls, owners: Owners) -> dict[str, Any]:
        """Three budgets in equal ratios within every owner's interval, each record paid in proportion to them."""
        low, high = float(owners.epsilon_min.max()), float(owners.epsilon_max.min())
        menu = np.geomspace(max(low, high / 1000), high, 5)[1:4].tolist()
        return {"thresholds": menu, "amounts": [one / menu[-1] for one in menu], "per": "record"}

    def check(self) -> None:
        """Refuse thresholds and amounts that do not make a menu."""
        if len(self.thresholds) != len(self.amounts):
            rule = f"needs one amount per threshold, {len(self.thresholds)} in all"
            raise InputError("policy.amounts", rule, len(self.amounts))
        if self.thresholds[0] <= 0 or np.any(np.diff(self.thresholds) <= 0):
            raise InputError("policy.thresholds", "must rise, from above 0", list(self.thresholds))
        if self.amounts[0] < 0 or np.any(np.diff(self.amounts) < 0):
            remedy = "An amount below that of a smaller threshold would never be chosen."
            raise InputError("policy.amounts", "must not be negative or fall", list(self.amounts), remedy)

    def payments(self, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
        amounts = np.array([0.0, *self.amounts])
        paid = amounts[np.searchsorted(self.thresholds, epsilon, side="right")]
        return paid * column(deviations.owners.sizes, epsilon) if self.per == "record" else paid

    def slopes(self, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
        return np.zeros_like(epsilon)

    def breakpoints(self, owners: Owners) -> np.ndarray:
        return np.tile(self.thresholds, (len(owners), 1))

    def sentence(self, write: Writer) -> str:
        each = " per record" if self.per == "record" else ""
        steps = [
            f"{write.money(paid)}{each} for an ε of at least {write.number(least)}"
            for paid, least in zip(self.amounts, self.thresholds, strict=True)
        ]
        return f"The learner offers a menu: {write.listed(steps, most=len(steps))}; nothing for less."
