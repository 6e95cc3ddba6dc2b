"""Tiers: a menu of privacy budgets, each with its payment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from learning.errors import InputError
from market.columns import column, one_of

if TYPE_CHECKING:
    from market.game.game import Deviations
    from market.game.owners import Owners


@dataclass(frozen=True)
class Tiers:
    """A step menu: who shares at least a threshold gets its amount; below the first, nothing.

    Payments jump at the thresholds and are flat between them, so, unless it uses the model itself, an owner chooses a
    threshold exactly, or the least it may share.

    Parameters
    ----------
    thresholds : sequence of float, rising, above 0
    amounts : sequence of float, money for each threshold, not falling
    per : "owner" or "record" (the amount times n)

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

    thresholds: Any
    amounts: Any
    per: str = "owner"

    def __post_init__(self) -> None:
        for name in ("thresholds", "amounts"):
            object.__setattr__(self, name, _numbers(f"policy.{name}", getattr(self, name)))
        if len(self.thresholds) != len(self.amounts):
            rule = f"needs one amount per threshold, {len(self.thresholds)} in all"
            raise InputError("policy.amounts", rule, len(self.amounts))
        if self.thresholds[0] <= 0 or np.any(np.diff(self.thresholds) <= 0):
            raise InputError("policy.thresholds", "must rise, from above 0", list(self.thresholds))
        if self.amounts[0] < 0 or np.any(np.diff(self.amounts) < 0):
            remedy = "An amount below that of a smaller threshold would never be chosen."
            raise InputError("policy.amounts", "must not be negative or fall", list(self.amounts), remedy)
        one_of("policy.per", self.per, ("owner", "record"))

    def terms(self, epsilon: np.ndarray, owners: Owners) -> np.ndarray:
        """No sums: (n_owners, ..., 0)."""
        return np.empty((*epsilon.shape, 0))

    def payments(self, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
        """Money for each candidate (n_owners, m)."""
        amounts = np.array([0.0, *self.amounts])
        paid = amounts[np.searchsorted(self.thresholds, epsilon, side="right")]
        return paid * column(deviations.owners.sizes, epsilon) if self.per == "record" else paid

    def slopes(self, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
        """Nothing for a further unit of epsilon between thresholds (n_owners, m)."""
        return np.zeros_like(epsilon)

    def breakpoints(self, owners: Owners) -> np.ndarray:
        """Where payments jump: (n_owners, tiers)."""
        return np.tile(self.thresholds, (len(owners), 1))


def _numbers(key: str, values: Any) -> tuple[float, ...]:
    try:
        numbers = np.array(values, dtype=float)
    except (TypeError, ValueError):
        raise InputError(key, "must be a list of numbers", repr(values)) from None
    if numbers.ndim != 1 or not len(numbers) or not np.isfinite(numbers).all():
        raise InputError(key, "must be a list of finite numbers, at least one", repr(values))
    return tuple(numbers.tolist())
