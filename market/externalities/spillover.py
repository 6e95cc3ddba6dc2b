"""What others sell beside an owner's own privacy cost: a loss where nothing is sold, and a lower price of what is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np

from learning.declaration import Declaration, Positive, Words
from learning.errors import InputError
from market.columns import column
from market.externalities.correlated_loss import CorrelatedLoss
from market.externalities.correlation import Correlated, checked_correlation
from market.game.deviations import Deviations
from market.game.game import Game
from market.game.owners import Owners

KEY = "externalities.correlation"


@dataclass(frozen=True)
class Externalities(Declaration):
    """What owners have in common, so that what one sells tells of the others.

    Parameters
    ----------
    correlation : between what owners' records tell: one number for all pairs, or a square list of lists in their order
    noise : variance of the noise at epsilon = 1 in units of the variance of what an owner's records tell; it falls as
        epsilon squared
    share : of what an owner would lose were all known that its records tell, the part that it loses where others tell
        it: all is its cost of selling its most, over the part of the variance that this sale tells, t / (1 + t) with
        t = epsilon^2 / noise

    Raises
    ------
    InputError
        A number out of range; for so many owners see `of`.
    """

    where = "externalities"
    correlation: Annotated[
        float | list[list[float]], Words("a number from -1 to 1, or a square list of lists of numbers")
    ]
    noise: Positive = 2.0
    share: Annotated[float, Words("a number from 0 to 1")] = 1.0

    def check(self) -> None:
        """Refuse what no market of any size can have."""
        if not 0 <= self.share <= 1:
            raise InputError("externalities.share", "must be a number from 0 to 1", self.share)
        if not isinstance(self.correlation, list):
            self.of(2)

    def of(self, n_owners: int) -> float | np.ndarray:
        """The correlation of so many owners.

        Raises
        ------
        InputError
            No correlation that so many data could have.
        """
        try:
            return checked_correlation(self.correlation, n_owners)
        except InputError as error:
            raise InputError(KEY, error.rule, error.found, error.remedy) from None


@dataclass(frozen=True)
class Spillover(CorrelatedLoss):
    """Another policy's payments less what others' sales cost an owner, and what they spare it of its own cost.

    Let q be the part of the variance of what an owner's records tell that is left once all others have sold, and
    ``t = epsilon^2 / noise``. The owner loses ``valuation (1 - q)`` whatever it does. Its own sale then tells
    ``q^2 t / (1 + q t)`` more, in place of ``t / (1 + t)``, and so costs it ``cost(epsilon) R`` with
    ``R = q^2 (1 + t) / (1 + q t)``, which is 1 where owners have nothing in common, and rises with epsilon. Where cost is the
    valuation times what a sale tells alone, the whole is the valuation times all that is told
    (`market.externalities.correlated_loss.CorrelatedLoss`). Taxes and fixed costs stay.

    Parameters
    ----------
    policy, data : as there
    owners : Owners, all of them, with their own costs

    Source: Acemoglu et al., Too Much Data; for other costs than theirs ours.
    """

    owners: Any = field(default=None, metadata={"whole": True})

    def payments(self, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
        """Payment less what others cost, with what they spare (n, m) at each candidate."""
        left, owners = self._remaining(deviations)[:, None], deviations.owners
        spared = owners.cost.untaxed.value(epsilon, owners.sizes) * (1 - self.scale(epsilon, left))
        paid = self.policy.payments(epsilon, self._inner(deviations))
        return paid + spared - self.data.valuation[self.index][:, None] * (1 - left)

    def slopes(self, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
        """Derivative of `payments` by the owner's own epsilon, at candidates above 0 (n, m)."""
        left, owners = self._remaining(deviations)[:, None], deviations.owners
        cost, noise = owners.cost.untaxed, column(self.data.noise[self.index], epsilon)
        steepness = 2 * epsilon / noise * left**2 * (1 - left) / (1 + left * epsilon**2 / noise) ** 2
        spared = cost.slope(epsilon, owners.sizes) * (1 - self.scale(epsilon, left))
        spared = spared - cost.value(epsilon, owners.sizes) * steepness
        return self.policy.slopes(epsilon, self._inner(deviations)) + spared

    def scale(self, epsilon: np.ndarray, left: np.ndarray) -> np.ndarray:
        """R (n, m): what a sale costs as a part of what it would cost alone, ``left`` (n, 1) of each variance."""
        told = epsilon**2 / column(self.data.noise[self.index], epsilon)
        return left**2 * (1 + told) / (1 + left * told)

    def losses(self, epsilon: np.ndarray) -> np.ndarray:
        """Money each owner loses (n_owners,) to what all others sell at a profile (n_owners,), whatever it does."""
        return np.asarray(self.data.valuation * (1 - self.left(np.asarray(epsilon, dtype=float))))

    def spared(self, epsilon: np.ndarray) -> np.ndarray:
        """Money of its own privacy cost that others' sales spare each owner (n_owners,)."""
        at, left = np.asarray(epsilon, dtype=float)[:, None], self.left(np.asarray(epsilon, dtype=float))[:, None]
        cost = self.owners.cost.untaxed.value(at, self.owners.sizes)
        return np.asarray((cost * (1 - self.scale(at, left)))[:, 0])

    def told(self, epsilon: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The part of each variance that all others' sales tell, and that all sales do, (n_owners,) each."""
        left = self.left(np.asarray(epsilon, dtype=float))
        told = np.asarray(epsilon, dtype=float) ** 2 / self.data.noise
        return 1 - left, 1 - left / (1 + left * told)


def spilling(game: Game, common: Externalities) -> Game:
    """The game in which owners have something in common: choices are to be read from it, payments from the one given.

    Raises
    ------
    InputError
        A correlation that these owners' data could not have, or a policy that looks at whole profiles.
    """
    if not game.policy.additive:
        rule = "must be left out where the policy settles whole profiles of budgets"
        raise InputError("externalities", rule, "it", "Take another policy, such as proportional or marginal.")
    correlation = common.of(len(game.owners))
    data = Correlated(valuations(game.owners, common), correlation, 1.0, common.noise)
    return Game(game.owners, Spillover(game.policy, data, game.owners), game.forecast, game.value, game.unconditional)


def valuations(owners: Owners, common: Externalities) -> np.ndarray:
    """Value all that each owner's records tell, as it loses it to others (n_owners,), money.

    ``share cost(most) (1 + t) / t`` with ``t = most^2 / noise``: selling its most, alone, tells ``t / (1 + t)`` of it and
    costs the owner what its own privacy cost says, so that with share 1 it loses the same whoever tells.
    """
    most = owners.epsilon_max
    told = most**2 / (most**2 + common.noise)
    cost = owners.cost.untaxed.value(most[:, None], owners.sizes)[:, 0]
    return common.share * np.divide(cost, told, out=np.zeros_like(cost), where=told > 0)
