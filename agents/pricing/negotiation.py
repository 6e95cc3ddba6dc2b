"""Negotiation: the learner bargains with each owner over its epsilon and its payment.

A contract pays an owner what it adds to the learner's gain, with the others fixed, less a fee that
the learner keeps. The owner then chooses the epsilon of the largest joint surplus, whatever the
fee; the fee divides that.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from learning.arrays import Array
from learning.declaration import Count, Declaration, PerOwner, Positive, Probability
from learning.errors import InputError
from market.equilibrium.solver import Equilibrium, solve
from market.game.game import Game
from market.policies.contributions import Marginal

LEAST = 1e-6  # the smallest fee, as a part of what an owner adds


@dataclass(frozen=True)
class Bargains:
    """Agreements of the learner with each owner, given those of all others.

    Attributes
    ----------
    equilibrium : Equilibrium, where no pair of the learner and an owner has a better epsilon
    gains : (n_owners,), money that each adds to the worth of the model to the learner
    joint : (n_owners,), joint surplus of each pair over no deal, money: the gain and the owner's
        benefit less its cost
    fees : (n_owners,), the learner's part of that
    total : float, worth of the model to the learner over its own, money
    """

    equilibrium: Equilibrium
    gains: Array
    joint: Array
    fees: Array
    total: float

    @property
    def payments(self) -> Array:
        """Payment of each owner, money (n_owners,)."""
        return self.gains - self.fees

    @property
    def learner(self) -> float:
        """Surplus of the learner; not the sum of its fees, since marginal gains do not add up."""
        return float(self.total - self.payments.sum())


def bargain_contracts(game: Game, *, rng: np.random.Generator, starts: int = 16) -> Bargains:
    """Find the best epsilon of every pair, given those of all others, without fees.

    Every owner may refuse a deal, and sells nothing then; the lower ends of intervals do not bind.

    Parameters
    ----------
    game : Game, its own policy set aside
    rng : numpy.random.Generator
    starts : int, as in `market.equilibrium.solver.solve`

    Raises
    ------
    InputError
        If the model goes to all owners, so that an owner without a deal has it too.
    """
    if game.owners.model_for_all:
        raise InputError("owners.model_goes_to", 'must be "sellers" in a negotiation', '"all"')
    free = replace(game, policy=Marginal(1.0), owners=replace(game.owners, epsilon_min=0.0))
    found = solve(free, rng=rng, starts=starts)
    gains, joint = free.payments_and_payoffs(found.epsilon)
    worth = game.value * (game.forecast.outside - game.fitness(found.epsilon))
    return Bargains(found, gains, joint, np.zeros_like(gains), float(worth))


def nash_in_nash(
    game: Game, *, rng: np.random.Generator, power: Any = 0.5, starts: int = 16
) -> Bargains:
    """Nash's bargain in every pair, given all others': a benchmark for which all costs are known.

    Each pair maximises ``(the learner's part)^(1 - power) (the owner's part)^power``. It agrees on
    the epsilon of the largest joint surplus, and on ``payment = gain - (1 - power) joint``.

    Parameters
    ----------
    game : Game, its own policy set aside
    rng : numpy.random.Generator
    power : float or (n_owners,), the owner's bargaining power, from 0 to 1
    starts : int, as in `market.equilibrium.solver.solve`

    Raises
    ------
    InputError
        For a power out of range, or as `bargain_contracts`.

    Source: Nash, The Bargaining Problem (1950); Horn and Wolinsky (1988), Nash bargains in a Nash
        equilibrium of bargains.

    Two owners with linear costs 1 and 4 whose epsilon adds 9 epsilon/(1 + epsilon): each sells
    sqrt(9/cost) - 1, and the pairs have (3 - sqrt(cost))^2 = 4 and 1 to divide.

    >>> from market.costs.functions import Linear
    >>> from market.game.owners import Owners
    >>> class Adding:
    ...     outside = 1.0
    ...     def terms(self, epsilon):
    ...         return (epsilon / (1 + epsilon))[..., None]
    ...     def excess(self, sums):
    ...         return 1 - sums[..., 0]
    >>> owners = Owners(("A", "B"), 1, 0.0, 20.0, Linear([1.0, 4.0]))
    >>> found = nash_in_nash(Game(owners, None, Adding(), 9.0), rng=np.random.default_rng(0))
    >>> found.equilibrium.epsilon.round(4).tolist(), found.joint.round(4).tolist()
    ([2.0, 0.5], [4.0, 1.0])
    >>> found.payments.round(4).tolist()
    [4.0, 2.5]
    """
    check_power(power, "power")
    found = bargain_contracts(game, rng=rng, starts=starts)
    return replace(found, fees=(1 - np.asarray(power, dtype=float)) * found.joint)


def check_power(power: Any, key: str) -> None:
    """Refuse, with an InputError, a bargaining power outside 0 to 1."""
    if not np.all((np.asarray(power) >= 0) & (np.asarray(power) <= 1)):
        raise InputError(key, "must be from 0 to 1", power)


class Bargaining(Declaration, ABC):
    """Rule by which the learner and each owner divide their joint surplus; it posts no prices."""

    where = "learner.pricing"
    title: ClassVar[str] = ""
    bargains: ClassVar[bool] = True

    @abstractmethod
    def divide_surplus(self, game: Game, *, rng: np.random.Generator, starts: int) -> Bargains:
        """Bargains in a game, whose own policy is set aside."""


@dataclass(frozen=True)
class NashInNash(Bargaining):
    """Nash's bargain of the learner with each owner, given all others'; costs are known to both.

    Parameters
    ----------
    power : the owner's bargaining power, at most 1: its part of the joint surplus
    """

    title = "Nash's bargain in every pair, given all others"
    power: PerOwner = 0.5

    def check(self) -> None:
        check_power(self.power, f"{self.where}.power")

    def divide_surplus(self, game: Game, *, rng: np.random.Generator, starts: int) -> Bargains:
        return nash_in_nash(game, rng=rng, power=self.power, starts=starts)


def rubinstein_share(proposer: float, other: float) -> float:
    """Proposer's share of a surplus whose value falls by a factor of each side at each later offer.

    ``(1 - other)/(1 - proposer other)``; with equal factors ``1/(1 + factor)``, which goes to a
    half, Nash's bargain, as they go to 1.

    Parameters
    ----------
    proposer, other : float, discount factors per offer, above 0 and below 1

    Source: Rubinstein, Perfect Equilibrium in a Bargaining Model (1982); to Nash's: Binmore,
        Rubinstein and Wolinsky (1986).

    >>> round(rubinstein_share(0.9, 0.9) * 1.9, 9), round(rubinstein_share(0.9999, 0.9999), 4)
    (1.0, 0.5)
    """
    return (1 - other) / (1 - proposer * other)


@dataclass(frozen=True)
class AlternatingOffers(Bargaining):
    """Bargaining over the fee, anew in each period, by sides that learn from answers alone.

    In a period one side proposes, in turns; if refused, the other proposes an offer later. A side
    accepts what is worth no less to it than its own proposal an offer later: delay costs it that
    much and no more. The proposer asks for more after a yes and for less after a no, by a part of
    the fee that declines with each change of direction.

    The learner sees no cost and no surplus of an owner, only answers and offers. The owner sees
    what it adds to the gain, by which it is paid, as under the marginal policy. Neither knows the
    other's discount factor. At rest each proposal makes the other side just indifferent:
    Rubinstein's division, which neither side could compute.

    Parameters
    ----------
    learner : the learner's discount factor per offer
    owners : the owners' discount factor per offer
    periods : periods in which they bargain
    step : the first step, of the logarithm of the fee

    Source: Rubinstein (1982) for offers and their rest; the learning by Kesten's steps (1958) is
        ours.
    """

    title = "alternating offers, learned from answers alone"
    learner: Probability = 0.9
    owners: Probability = 0.9
    periods: Count = 400
    step: Positive = 0.5

    def divide_surplus(self, game: Game, *, rng: np.random.Generator, starts: int) -> Bargains:
        """Bargains at the fees that owners accepted last.

        Raises
        ------
        InputError
            If an owner never accepted a fee.
        """
        found = negotiate(game, self, rng=rng, starts=starts)
        fees = found.accepted
        if np.isnan(fees).any():
            rule = "must be long enough for every owner to accept a fee"
            never = game.owners.names[int(np.argmax(np.isnan(fees)))]
            key = f"{self.where}.periods"
            raise InputError(key, rule, f"{self.periods}, and none from {never}", "Raise it.")
        return replace(found.bargains, fees=fees)


@dataclass(frozen=True)
class Negotiation:
    """The course of a negotiation.

    Attributes
    ----------
    bargains : Bargains, with the fees of the learner's last proposals
    asked, offered : (periods, n_owners), the fee that the learner would ask for, and that the owner
        would offer
    agreed : (periods, n_owners), the fee of the deal; nan without a deal in the period
    """

    bargains: Bargains
    asked: Array
    offered: Array
    agreed: Array

    @property
    def accepted(self) -> Array:
        """Last proposal of the learner that each owner accepted (n_owners,).

        It is nan if there was none, and 0 where a pair has nothing to divide.
        """
        yes = self.agreed == self.asked
        last = len(yes) - 1 - np.argmax(yes[::-1], axis=0)
        fees = np.where(yes.any(axis=0), self.asked[last, np.arange(yes.shape[1])], np.nan)
        return np.where(self.bargains.joint > 0, fees, 0.0)


def negotiate(
    game: Game, rules: AlternatingOffers, *, rng: np.random.Generator, starts: int = 16
) -> Negotiation:
    """Let the learner and every owner bargain over fees, given the contracts of all others.

    The learner begins by asking for all that an owner adds, the owner by offering 1 % of that.

    Parameters
    ----------
    game : Game, its own policy set aside
    rules : AlternatingOffers
    rng : numpy.random.Generator
        For the search for the best epsilon of every pair; bargaining draws nothing.
    starts : int, as in `market.equilibrium.solver.solve`

    Raises
    ------
    InputError
        As `bargain_contracts`.
    """
    found = bargain_contracts(game, rng=rng, starts=starts)
    dealing = found.joint > 0
    top = np.where(dealing, found.gains, 1.0)
    asking = Proposals(top.copy(), rules.step)
    offering = Proposals(LEAST ** (1 / 3) * top, rules.step)
    rows = []
    for period in range(rules.periods):
        fees = np.array([asking.fees, offering.fees])
        worth = found.joint - fees  # to each owner, which alone knows it
        accepts = rules.owners * np.maximum(worth[1], 0.0)
        yes = np.array([worth[0] >= accepts, fees[1] >= rules.learner * fees[0]])
        first = period % 2  # the side that opens: 0 the learner, 1 the owners
        second = 1 - first
        made = np.array([dealing, dealing])
        made[second] = dealing & ~yes[first]
        later = np.where(yes[second], fees[second], np.nan)
        agreed = np.where(yes[first], fees[first], later)
        rows.append((*fees, np.where(dealing, agreed, np.nan)))
        asking.move_fees(made[0], np.where(yes[0], 1.0, -1.0), top)
        offering.move_fees(made[1], np.where(yes[1], -1.0, 1.0), top)
    asked, offered, agreed = (np.array(part) for part in zip(*rows, strict=True))
    bargains = replace(found, fees=np.where(dealing, asking.fees, 0.0))
    asked = np.where(dealing, asked, 0.0)
    return Negotiation(bargains, asked, np.where(dealing, offered, 0.0), agreed)


@dataclass
class Proposals:
    """Proposals of one side for each of n pairs, moved by the other side's answers.

    Parameters
    ----------
    fees : (n,), money
    step : the first step, of the logarithm
    """

    fees: Array
    step: float

    def __post_init__(self) -> None:
        self.turns = np.zeros_like(self.fees)
        self.last = np.zeros_like(self.fees)

    def move_fees(self, made: Array, direction: Array, top: Array) -> None:
        """Move the fees that were proposed.

        Parameters
        ----------
        made : (n,), bool, whether a fee was proposed
        direction : (n,), 1 to raise a fee and -1 to lower it
        top : (n,), the largest fees, money
        """
        self.turns += np.asarray(made, dtype=bool) & (direction * self.last < 0)
        self.last = np.where(made, direction, self.last)
        moved = self.fees * np.exp(direction * self.step / (1 + self.turns))
        self.fees = np.where(made, np.clip(moved, LEAST * top, top), self.fees)
