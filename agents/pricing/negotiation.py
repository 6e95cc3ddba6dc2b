"""Negotiation: the learner bargains with each owner over its epsilon and its money, and both sides move.

A contract pays an owner what it adds to the learner's gain, the others as they are, less a fee that the learner keeps. The
owner then chooses the epsilon at which the two of them have most together, whatever the fee; the fee divides that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from learning.arrays import Array
from learning.declaration import Count, Declaration, Positive, Probability
from learning.errors import InputError
from market.equilibrium.solver import Equilibrium, solve
from market.game.game import Game
from market.policies.marginal import Marginal

LEAST = 1e-6  # the smallest fee named, as a part of what an owner adds: below it is nothing


@dataclass(frozen=True)
class Bargains:
    """What the learner and each owner agree on, given what all others agree on.

    Attributes
    ----------
    equilibrium : Equilibrium, where no pair of the learner and an owner has more together by another epsilon
    gains : (n_owners,), money that each adds to what the model is worth to the learner
    joint : (n_owners,), money that each pair has together over no deal: the gain and the owner's benefit less its cost
    fees : (n_owners,), what of that the learner keeps
    total : float, money that the model is worth to the learner over its own
    """

    equilibrium: Equilibrium
    gains: Array
    joint: Array
    fees: Array
    total: float

    @property
    def payments(self) -> Array:
        """Money each owner is paid (n_owners,)."""
        return self.gains - self.fees

    @property
    def learner(self) -> float:
        """Money left to the learner: not the sum of its fees, since what each adds given all others does not add up."""
        return float(self.total - self.payments.sum())


def contracts(game: Game, *, rng: np.random.Generator, starts: int = 16) -> Bargains:
    """What each pair has together once every pair has agreed on what is best for it; no fee is taken yet.

    Every owner may do without a deal, and sells nothing then; the lower ends of intervals do not bind.

    Parameters
    ----------
    game : Game, its own policy set aside
    rng : numpy.random.Generator
    starts : int, as in `market.equilibrium.solver.solve`

    Raises
    ------
    InputError
        The model goes to all owners, so that no deal is not the end of a deal.
    """
    if game.owners.model_for_all:
        raise InputError("owners.model_goes_to", 'must be "sellers" in a negotiation', '"all"')
    free = replace(game, policy=Marginal(1.0), owners=replace(game.owners, epsilon_min=0.0))
    found = solve(free, rng=rng, starts=starts)
    gains, joint = free.settled(found.epsilon)
    worth = game.value * (game.forecast.outside - game.fitness(found.epsilon))
    return Bargains(found, gains, joint, np.zeros_like(gains), float(worth))


def nash_in_nash(game: Game, *, rng: np.random.Generator, power: Any = 0.5, starts: int = 16) -> Bargains:
    """Nash's bargain in every pair, given the bargains of all others: a benchmark for which everybody's costs are known.

    Each pair maximises ``(its learner's part)^(1 - power) (its owner's part)^power``: the epsilon that is best for the two,
    and ``payment = gain - (1 - power) joint``.

    Parameters
    ----------
    game : Game, its own policy set aside
    rng : numpy.random.Generator
    power : float or (n_owners,), the owner's bargaining power, from 0 to 1

    Source: Nash, The Bargaining Problem (1950); Horn and Wolinsky (1988), Nash bargains in a Nash equilibrium of bargains.

    Two owners with linear costs 1 and 4 whose epsilon adds 9 epsilon / (1 + epsilon): each sells sqrt(9 / cost) - 1, and the
    pairs have (3 - sqrt(cost))^2 = 4 and 1 to divide.

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
    >>> found.equilibrium.epsilon.round(4).tolist(), found.joint.round(4).tolist(), found.payments.round(4).tolist()
    ([2.0, 0.5], [4.0, 1.0], [4.0, 2.5])
    """
    owners = np.asarray(power, dtype=float)
    if not np.all((owners >= 0) & (owners <= 1)):
        raise InputError("power", "must be from 0 to 1", power)
    found = contracts(game, rng=rng, starts=starts)
    return replace(found, fees=(1 - owners) * found.joint)


def rubinstein(proposer: float, other: float) -> float:
    """The part of what is to be divided that goes to who proposes, each later offer being worth a factor less to a side.

    ``(1 - other) / (1 - proposer other)``; with equal factors ``1 / (1 + factor)``, which goes to a half, Nash's bargain, as
    they go to 1.

    Parameters
    ----------
    proposer, other : float, discount factors per offer, above 0 and below 1

    Source: Rubinstein, Perfect Equilibrium in a Bargaining Model (1982); to Nash's: Binmore, Rubinstein and Wolinsky (1986).

    >>> round(rubinstein(0.9, 0.9) * 1.9, 9), round(rubinstein(0.9999, 0.9999), 4)
    (1.0, 0.5)
    """
    return (1 - other) / (1 - proposer * other)


@dataclass(frozen=True)
class AlternatingOffers(Declaration):
    """Period after period the learner and each owner bargain anew over the fee, by what they learned from answers alone.

    In a period one side proposes, in turns; if refused, the other proposes an offer later. A side accepts what is worth no
    less to it than its own proposal an offer later: delay costs it that much and no more. Who proposes asks for more after a
    yes and for less after a no, by a part of the fee that declines with each change of direction.

    The learner sees no cost and no surplus of an owner, only yes, no and what is offered. The owner sees what it adds to
    the gain, by which it is paid, as under the marginal policy. Neither knows the other's discount factor. Where both come
    to rest, each proposal makes the other side just indifferent: Rubinstein's division, which neither could compute.

    Parameters
    ----------
    learner : the learner's discount factor per offer
    owners : the owners' discount factor per offer
    periods : periods in which they bargain
    step : the first step, of the logarithm of the fee

    Source: Rubinstein (1982) for offers and their rest; the learning by Kesten's steps (1958) is ours.
    """

    where = "negotiation"
    learner: Probability = 0.9
    owners: Probability = 0.9
    periods: Count = 400
    step: Positive = 0.5


@dataclass(frozen=True)
class Negotiation:
    """How a negotiation went.

    Attributes
    ----------
    bargains : Bargains, with the fees that the last proposals of the learner come to
    asked, offered : (periods, n_owners), the fee that the learner would ask for, and that the owner would offer
    agreed : (periods, n_owners), the fee of the deal; nan where none was made in the period
    """

    bargains: Bargains
    asked: Array
    offered: Array
    agreed: Array


def negotiate(game: Game, rules: AlternatingOffers, *, rng: np.random.Generator, starts: int = 16) -> Negotiation:
    """Let the learner and every owner bargain over fees as `AlternatingOffers` says, given the contracts of all others.

    The learner begins by asking for all that an owner adds, the owner by offering next to nothing.

    Parameters
    ----------
    game : Game, its own policy set aside
    rules : AlternatingOffers
    rng : numpy.random.Generator
        Of the search for what is best for every pair; bargaining draws nothing.
    """
    found = contracts(game, rng=rng, starts=starts)
    dealing = found.joint > 0
    top = np.where(dealing, found.gains, 1.0)
    asking = Proposals(top.copy(), rules.step)
    offering = Proposals(LEAST ** (1 / 3) * top, rules.step)
    rows = []
    for period in range(rules.periods):
        asked, offered = asking.fees.copy(), offering.fees.copy()
        worth = found.joint - np.array([asked, offered])  # to each owner, which alone knows it
        yes = np.array([worth[0] >= rules.owners * np.maximum(worth[1], 0.0), offered >= rules.learner * asked])
        first = period % 2  # who opens: the learner, the owners
        made = np.array([dealing, dealing])
        made[1 - first] = dealing & ~yes[first]
        agreed = np.where(
            yes[first], (asked, offered)[first], np.where(yes[1 - first], (asked, offered)[1 - first], np.nan)
        )
        rows.append((asked, offered, np.where(dealing, agreed, np.nan)))
        asking.move(made[0], np.where(yes[0], 1.0, -1.0), top)
        offering.move(made[1], np.where(yes[1], -1.0, 1.0), top)
    asked, offered, agreed = (np.array(part) for part in zip(*rows, strict=True))
    bargains = replace(found, fees=np.where(dealing, asking.fees, 0.0))
    return Negotiation(bargains, np.where(dealing, asked, 0.0), np.where(dealing, offered, 0.0), agreed)


@dataclass
class Proposals:
    """What one side proposes to each of n others, moved by their answers.

    Parameters
    ----------
    fees : (n,), money
    step : the first step, of the logarithm
    """

    fees: Array
    step: float

    def __post_init__(self) -> None:
        self.turns, self.last = np.zeros_like(self.fees), np.zeros_like(self.fees)

    def move(self, made: Array, direction: Array, top: Array) -> None:
        """Raise or lower (direction, 1 or -1) the fees that were proposed (made), between next to nothing and ``top``."""
        self.turns += np.asarray(made, dtype=bool) & (direction * self.last < 0)
        self.last = np.where(made, direction, self.last)
        moved = self.fees * np.exp(direction * self.step / (1 + self.turns))
        self.fees = np.where(made, np.clip(moved, LEAST * top, top), self.fees)
