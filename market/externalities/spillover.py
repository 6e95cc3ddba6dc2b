"""Spillovers of others' sales: a loss of each owner, and a lower cost of its own sale."""

from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np

from learning.declaration import Declaration, Positive, Words
from learning.errors import InputError
from market.columns import Array, Pair, column
from market.externalities.correlated_loss import CorrelatedLoss
from market.externalities.correlation import Correlated, checked_correlation
from market.game.deviations import Deviations
from market.game.game import Game
from market.game.owners import Owners

KEY = "externalities.correlation"


@dataclass(frozen=True)
class Externalities(Declaration):
    """Correlation of owners' data, so that the sale of one tells of the others.

    Parameters
    ----------
    correlation : between what owners' records tell: one number for all pairs, or a square list of
        lists in their order
    noise : variance of the noise at epsilon = 1 in units of the variance of what an owner's records
        tell; it falls as epsilon squared
    share : of what an owner would lose were all known that its records tell, the part that it loses
        where others tell it: all is its cost of selling its most, over the part of the variance
        that this sale tells, t / (1 + t) with t = epsilon^2 / noise

    Raises
    ------
    InputError
        A number out of range; for the number of owners see `correlation_of`.
    """

    where = "externalities"
    correlation: Annotated[
        float | list[list[float]],
        Words("a number from -1 to 1, or a square list of lists of numbers"),
    ]
    noise: Positive = 2.0
    share: Annotated[float, Words("a number from 0 to 1")] = 1.0

    def check(self) -> None:
        """Refuse numbers that no market of any size can have."""
        if not 0 <= self.share <= 1:
            raise InputError("externalities.share", "must be a number from 0 to 1", self.share)
        if not isinstance(self.correlation, list):
            self.correlation_of(2)

    def correlation_of(self, n_owners: int) -> float | Array:
        """Correlation of ``n_owners`` data, refused where it is impossible."""
        try:
            return checked_correlation(self.correlation, n_owners)
        except InputError as error:
            raise InputError(KEY, error.rule, error.found, error.remedy) from None


@dataclass(frozen=True)
class Spillover(CorrelatedLoss):
    """Payments less the owner's loss by others' sales, plus the part of its own cost they save.

    Let q be the part of an owner's variance that remains once all others have sold, and ``t =
    epsilon^2 / noise``. The owner loses ``valuation (1 - q)`` in any case. Its own sale then
    reveals ``q^2 t / (1 + q t)`` more, in place of ``t / (1 + t)``, and so costs ``cost(epsilon)
    R`` with ``R = q^2 (1 + t) / (1 + q t)``, which is 1 for independent owners, and rises with
    epsilon. Where the cost is the valuation times the information of a single sale, the sum is the
    valuation times all information (`market.externalities.correlated_loss.CorrelatedLoss`). Taxes
    and fixed costs stay.

    Parameters
    ----------
    policy, data : as there
    owners : Owners, all of them, with their own costs

    Source: Acemoglu et al., Too Much Data; for other costs than theirs ours.
    """

    owners: Any = field(default=None, metadata={"whole": True})

    def payments(self, epsilon: Array, deviations: Deviations) -> Array:
        left = self._variance_left(deviations)[:, None]
        owners = deviations.owners
        cost = owners.cost.untaxed.value(epsilon, owners.sizes)
        paid = self.policy.payments(epsilon, self._inner_deviations(deviations))
        lost = self.data.valuation[self.index][:, None] * (1 - left)
        return paid + cost * (1 - self.cost_ratio(epsilon, left)) - lost

    def marginal_payments(self, epsilon: Array, deviations: Deviations) -> Array:
        left = self._variance_left(deviations)[:, None]
        owners = deviations.owners
        cost = owners.cost.untaxed
        noise = column(self.data.noise[self.index], epsilon)
        rise = 2 * epsilon / noise * left**2 * (1 - left)
        steepness = rise / (1 + left * epsilon**2 / noise) ** 2
        saved = cost.marginal_cost(epsilon, owners.sizes) * (1 - self.cost_ratio(epsilon, left))
        saved = saved - cost.value(epsilon, owners.sizes) * steepness
        return self.policy.marginal_payments(epsilon, self._inner_deviations(deviations)) + saved

    def cost_ratio(self, epsilon: Array, left: Array) -> Array:
        """R (n, m): cost of a sale over that of a single one, ``left`` (n, 1) of each variance."""
        told = epsilon**2 / column(self.data.noise[self.index], epsilon)
        return left**2 * (1 + told) / (1 + left * told)

    def leakage_losses(self, epsilon: Array) -> Array:
        """Loss of each owner (n_owners,) by the others' sales at a profile (n_owners,), money."""
        return np.asarray(self.data.valuation * self.told(epsilon)[0])

    def spared_costs(self, epsilon: Array) -> Array:
        """Own privacy cost that others' sales save each owner (n_owners,), money."""
        at = np.asarray(epsilon, dtype=float)
        left = self.variance_left(at)[:, None]
        cost = self.owners.cost.untaxed.value(at[:, None], self.owners.sizes)
        return np.asarray((cost * (1 - self.cost_ratio(at[:, None], left)))[:, 0])

    def told(self, epsilon: Array) -> Pair:
        """Part of each variance revealed by all others' sales, and by all sales, (n_owners,)."""
        epsilon = np.asarray(epsilon, dtype=float)
        left = self.variance_left(epsilon)
        told = epsilon**2 / self.data.noise
        return 1 - left, 1 - left / (1 + left * told)


def spillover_game(game: Game, common: Externalities) -> Game:
    """Game with spillovers: choices are to be read from it, payments from the one given.

    Raises
    ------
    InputError
        A correlation that these owners' data could not have, or a policy of whole profiles.
    """
    if not game.policy.additive:
        rule = "must be left out where the policy settles whole profiles of budgets"
        remedy = "Take another policy, such as proportional or marginal."
        raise InputError("externalities", rule, "it", remedy)
    owners = game.owners
    correlation = common.correlation_of(len(owners))
    data = Correlated(leak_valuations(owners, common), correlation, 1.0, common.noise)
    policy = Spillover(game.policy, data, owners)
    return Game(owners, policy, game.forecast, game.value, game.unconditional)


def leak_valuations(owners: Owners, common: Externalities) -> Array:
    """Value of all information in each owner's records (n_owners,), money.

    ``share cost(most) (1 + t) / t`` with ``t = most^2 / noise``: selling its most, alone, reveals
    ``t / (1 + t)`` of it at the owner's own privacy cost, so that with share 1 the loss does not
    depend on the seller.
    """
    most = owners.epsilon_max
    told = most**2 / (most**2 + common.noise)
    cost = owners.cost.untaxed.value(most[:, None], owners.sizes)[:, 0]
    return common.share * np.divide(cost, told, out=np.zeros_like(cost), where=told > 0)
