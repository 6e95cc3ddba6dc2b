"""Rules of a market: caps on epsilon, price floors, a tax on leakage, audits, matching payments.

Each rule makes a game from a game, so that rules compose: ``tax_leakage(cap_epsilon(game, 1.0),
0.01)``.
"""

from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge, Le

from learning.declaration import Declaration, NonNegative, PerOwner, TwoOrMorePerOwner
from market.columns import Array, column, owners_column, take_owners
from market.costs.base import Cost
from market.costs.leakage import leakage_bits, leakage_slope
from market.equilibrium.solver import certify
from market.game.deviations import Deviations
from market.game.game import Game
from market.game.owners import Owners
from market.policies.base import ProfilePolicy
from market.policies.contributions import Marginal
from market.policies.posted import Posted, Unit


def cap_epsilon(game: Game, cap: Any) -> Game:
    """Cap every owner's epsilon, and its least epsilon, at ``cap``, scalar or (n_owners,).

    Raises
    ------
    InputError
        A negative or non-finite cap, or another number of caps than owners.
    """
    cap = owners_column("regulation.epsilon_cap", cap, len(game.owners))
    low = np.minimum(game.owners.epsilon_min, cap)
    high = np.minimum(game.owners.epsilon_max, cap)
    return replace(game, owners=replace(game.owners, epsilon_min=low, epsilon_max=high))


@dataclass(frozen=True)
class Taxed(Cost):
    """A privacy cost with a tax per bit that a record can leak: ``cost + tax * n * bits``.

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

    def value(self, epsilon: Array, sizes: Array) -> Array:
        return self.cost.value(epsilon, sizes) + self._leakage_levy(epsilon, sizes)

    def marginal_cost(self, epsilon: Array, sizes: Array) -> Array:
        slope = leakage_slope(epsilon, column(self.values, epsilon))
        levy = column(self.leakage_tax * sizes, epsilon) * slope
        return self.cost.marginal_cost(epsilon, sizes) + levy

    def tax(self, epsilon: Array, sizes: Array) -> Array:
        return self._leakage_levy(epsilon, sizes) + self.cost.tax(epsilon, sizes)

    @property
    def untaxed(self) -> Cost:
        return self.cost.untaxed

    def _leakage_levy(self, epsilon: Array, sizes: Array) -> Array:
        bits = leakage_bits(epsilon, column(self.values, epsilon))
        return column(self.leakage_tax * sizes, epsilon) * bits


def tax_leakage(game: Game, rate: Any, *, values: Any = 10) -> Game:
    """Tax owners ``rate`` money per bit that a record can leak, for each of their records.

    ``values`` is the number of values a record can take. The tax is a cost to owners, not to the
    market: welfare includes the treasury's revenue.

    >>> from market.costs.functions import Linear
    >>> from market.game.owners import Owners
    >>> game = Game(Owners(("A",), 1000, 0.0, 5.0, Linear(1.0)), Posted(3.0), None, 0.0)
    >>> taxed = tax_leakage(game, 0.001)
    >>> paid = (game.payoffs(np.full(1, 5.0)) - taxed.payoffs(np.full(1, 5.0)))[0]
    >>> round(float(paid), 6) == round(float(leakage_bits(5.0)), 6)
    True
    """
    return replace(game, owners=replace(game.owners, cost=Taxed(game.owners.cost, rate, values)))


@dataclass(frozen=True)
class Floored(ProfilePolicy):
    """A policy with a posted price as a floor: ``max(payment, floor)``; additive if the policy is.

    The floor keeps the columns of all owners.
    """

    policy: Any
    floor: Any = field(metadata={"whole": True})

    # As under the policy without a floor.
    additive = property(attrgetter("policy.additive"))  # type: ignore[assignment]
    grain = property(attrgetter("policy.grain"))  # type: ignore[assignment]
    paid_unasked = property(attrgetter("policy.paid_unasked"))  # type: ignore[assignment]
    pays_for_fitness = property(attrgetter("policy.pays_for_fitness"))  # type: ignore[assignment]

    def terms(self, epsilon: Array, owners: Owners) -> Array:
        return self.policy.terms(epsilon, owners)

    def settle(self, epsilon: Array, game: Game) -> Array:
        least = self.floor.payments(epsilon[:, None], game.deviations(epsilon))[:, 0]
        return np.maximum(self.policy.settle(epsilon, game), least)

    def payments(self, epsilon: Array, deviations: Deviations) -> Array:
        least = take_owners(self.floor, deviations.index).payments(epsilon, deviations)
        return np.maximum(self.policy.payments(epsilon, deviations), least)

    def marginal_payments(self, epsilon: Array, deviations: Deviations) -> Array:
        floor = take_owners(self.floor, deviations.index)
        below = self.policy.payments(epsilon, deviations) < floor.payments(epsilon, deviations)
        slopes = [one.marginal_payments(epsilon, deviations) for one in (floor, self.policy)]
        return np.where(below, *slopes)

    def payment_jumps(self, owners: Owners) -> Array:
        return self.policy.payment_jumps(owners)


def floor_prices(game: Game, price: Any, *, per: Unit = "epsilon", values: Any = 10) -> Game:
    """Pay owners at least ``price`` per unit sold, as under `market.policies.posted.Posted`.

    Parameters
    ----------
    price : scalar or (n_owners,), money per unit
    per : "epsilon", "record_epsilon" or "bit"
    values : whole number or (n_owners,), values a record can take; for "bit" only

    Raises
    ------
    InputError
        A negative or non-finite price, another number of prices than owners, or an unknown unit.
    """
    least = owners_column("regulation.price_floor", price, len(game.owners))
    posted = Posted(least, per, values)
    return replace(game, policy=Floored(game.policy, posted))


@dataclass(frozen=True)
class Audit(Declaration):
    """Random audits of owners: an owner that did not answer as it sold pays back, and a penalty.

    The auditor is trusted by the owners and independent of the learner. It sees an owner's records
    and the seed of its noise, and compares its answers with recomputed ones, so it detects every
    deviation, and promises to an owner about its records do not count against it.

    Parameters
    ----------
    chance : probability that an owner is audited, independently of the others, once a training
    penalty : money that an owner found out pays, beside all that it was paid

    Source: Becker, Crime and Punishment: An Economic Approach (1968).

    >>> Audit(0.2, penalty=50.0).at_stake(np.array([100.0, 0.0])).tolist()
    [30.0, 10.0]
    """

    where: ClassVar[str] = "audit"
    chance: Annotated[float, Ge(0), Le(1)]
    penalty: NonNegative = 0.0

    def at_stake(self, payments: Array) -> Array:
        """Expected loss of owners who cheat (n_owners,), money: chance (payment + penalty)."""
        return self.chance * (np.asarray(payments, dtype=float) + self.penalty)


@dataclass(frozen=True)
class Matching:
    """Payments that implement the social optimum of a public good.

    Attributes
    ----------
    shares : (n_owners,), of the learner's marginal gain, as the marginal policy pays them
    payments : (n_owners,), money at the best profile
    certified : bool, whether that profile is an equilibrium
    """

    shares: Array
    payments: Array
    certified: bool


def matching_shares(game: Game, best: Array) -> Matching | None:
    """Shares ``(V + sum of the others' benefits) / V`` of the learner's marginal gain.

    They replace the game's policy. An owner's own benefit is its own reason to contribute; the
    value of its data to the learner and to all other owners who gain is paid to it.

    Parameters
    ----------
    game : Game, whose model goes to all owners
    best : (n_owners,), the social optimum

    Returns
    -------
    Matching, or None where the learner has no value of its own to pay by

    Source: Pigou; Groves and Ledyard, Optimal allocation of public goods (1977), for the shares.
    """
    if not game.value:
        return None
    owners = game.owners
    reached = np.full(len(owners), game.fitness(best))
    gaining = -owners.benefit * owners.model_gain_slopes(owners.isolated, reached)
    shares = (game.value + gaining.sum() - gaining) / game.value
    found = certify(replace(game, policy=Marginal(shares)), np.asarray(best, dtype=float))
    return Matching(shares, found.payments, found.converged)
