"""Rules of a market: caps on epsilon, floors under prices, a tax on leakage, owners that unite, owners that leave.

Each rule makes a game from a game, so that rules compose: ``tax_leakage(cap_epsilon(game, 1.0), 0.01)``. `assess` says
what a set of rules does to whom.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from learning.declaration import PerOwner, TwoOrMorePerOwner
from market.analysis.inequality import gini
from market.analysis.participation import participation
from market.analysis.welfare import learner_surplus, social_optimum, taxes, welfare
from market.columns import as_parameter, column, take
from market.costs.base import Cost
from market.costs.leakage import leakage_bits, leakage_slope
from market.equilibrium.solver import Equilibrium, solve
from market.game.deviations import Deviations
from market.game.game import Game, sums_over_others
from market.game.owners import Owners
from market.policies.base import Policy, ProfilePolicy
from market.policies.posted import Posted, Unit


def cap_epsilon(game: Game, cap: Any) -> Game:
    """Nobody may share more than ``cap`` (scalar or (n_owners,)); who was bound to share more is bound to the cap.

    Raises
    ------
    InputError
        A negative or non-finite cap.
    """
    cap = as_parameter("regulation.epsilon_cap", cap)
    owners = game.owners
    low, high = np.minimum(owners.epsilon_min, cap), np.minimum(owners.epsilon_max, cap)
    return replace(game, owners=replace(owners, epsilon_min=low, epsilon_max=high))


@dataclass(frozen=True)
class Taxed(Cost):
    """A privacy cost with a tax per bit that a record can leak: ``cost + leakage_tax * n * bits(epsilon)``.

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

    def value(self, epsilon: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Money lost at each epsilon (n_owners, ...), tax included."""
        return self.cost.value(epsilon, sizes) + self._levy(epsilon, sizes)

    def slope(self, epsilon: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Money lost per further unit of epsilon (n_owners, ...), tax included."""
        levy = column(self.leakage_tax * sizes, epsilon) * leakage_slope(epsilon, column(self.values, epsilon))
        return self.cost.slope(epsilon, sizes) + levy

    def tax(self, epsilon: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Money that goes to the treasury (n_owners, ...)."""
        return self._levy(epsilon, sizes) + self.cost.tax(epsilon, sizes)

    @property
    def untaxed(self) -> Cost:
        """The cost without any tax."""
        return self.cost.untaxed

    def _levy(self, epsilon: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        return column(self.leakage_tax * sizes, epsilon) * leakage_bits(epsilon, column(self.values, epsilon))


def tax_leakage(game: Game, rate: Any, *, values: Any = 10) -> Game:
    """Owners pay the treasury ``rate`` money per bit that a record can leak, for each of their records.

    ``values`` is the number of values a record can take. It counts as a cost of theirs, not of the market: welfare
    includes what the treasury gets.

    >>> from market.costs.functions import Linear
    >>> from market.game.owners import Owners
    >>> game = Game(Owners(("A",), 1000, 0.0, 5.0, Linear(1.0)), Posted(3.0), None, 0.0)
    >>> epsilon = np.array([5.0])
    >>> taxed = tax_leakage(game, 0.001)
    >>> round(float((game.payoffs(epsilon) - taxed.payoffs(epsilon))[0]), 6) == round(float(leakage_bits(5.0)), 6)
    True
    """
    return replace(game, owners=replace(game.owners, cost=Taxed(game.owners.cost, rate, values)))


@dataclass(frozen=True)
class Floored(Policy):
    """A policy under which nobody is paid less than a posted price: ``max(payment, floor)``."""

    policy: Any
    floor: Any

    @property
    def grain(self) -> dict[str, int]:  # type: ignore[override]
        """How finely best responses are searched: as under the policy without a floor."""
        return self.policy.grain

    def terms(self, epsilon: np.ndarray, owners: Owners) -> np.ndarray:
        """What the policy sums: (n_owners, ..., j)."""
        return self.policy.terms(epsilon, owners)

    def payments(self, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
        """Money for each candidate (n_owners, m)."""
        least = self._posted(deviations).payments(epsilon, deviations)
        return np.maximum(self.policy.payments(epsilon, deviations), least)

    def slopes(self, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
        """Money for a further unit of epsilon (n_owners, m)."""
        posted = self._posted(deviations)
        return np.where(
            self.policy.payments(epsilon, deviations) < posted.payments(epsilon, deviations),
            posted.slopes(epsilon, deviations),
            self.policy.slopes(epsilon, deviations),
        )

    def breakpoints(self, owners: Owners) -> np.ndarray:
        """Where the policy's payments may jump (n_owners, j)."""
        return self.policy.breakpoints(owners)

    def _posted(self, deviations: Deviations) -> Posted:
        return self.floor


class FlooredSettlement(Floored, ProfilePolicy):
    """The same for a policy that settles whole profiles."""

    additive = False

    def settle(self, epsilon: np.ndarray, game: Game) -> np.ndarray:
        """Money each owner is paid at a profile (n_owners,)."""
        least = self.floor.payments(epsilon[:, None], game.deviations(epsilon))[:, 0]
        return np.maximum(self.policy.settle(epsilon, game), least)

    def _posted(self, deviations: Deviations) -> Posted:
        return take(self.floor, deviations.index)  # what settles whole profiles keeps the columns of all owners


def floor_prices(game: Game, price: Any, *, per: Unit = "epsilon", values: Any = 10) -> Game:
    """Whatever the policy, an owner is paid at least ``price`` per unit sold, as under `market.policies.posted.Posted`.

    Parameters
    ----------
    price : scalar or (n_owners,), money per unit
    per : "epsilon", "record_epsilon" or "bit"
    values : whole number or (n_owners,), values a record can take; for "bit" only

    Raises
    ------
    InputError
        A negative or non-finite price, or an unknown unit.
    """
    posted = Posted(as_parameter("regulation.price_floor", price), per, values)
    kind = Floored if game.additive else FlooredSettlement
    return replace(game, policy=kind(game.policy, posted))


@dataclass(frozen=True)
class United(ProfilePolicy):
    """A policy under which members of a union each look at the surplus of all of them.

    A member's payment is its own and the other members' surplus, so it moves where the union gains. What is really
    paid stays as in ``game``.
    """

    game: Any
    members: Any

    def settle(self, epsilon: np.ndarray, game: Game) -> np.ndarray:
        """Payment (n_owners,), of members with the other members' surplus."""
        payments, surplus = self.game.payments(epsilon), self.game.payoffs(epsilon)
        members = list(self.members)
        payments[members] += surplus[members].sum() - surplus[members]
        return payments

    def payments(self, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
        """The same for each candidate (n, m)."""
        paid = self.game.deviations(deviations.profile, deviations.index).payments(epsilon)
        for row, owner in enumerate(deviations.index):
            if owner in self.members:
                paid[row] += self._others(deviations.profile, owner, epsilon[row])
        return paid

    def _others(self, profile: np.ndarray, owner: int, candidates: np.ndarray) -> np.ndarray:
        """Surplus of the members but ``owner`` when it alone moves to its candidates (m,)."""
        members = np.array([member for member in self.members if member != owner])
        if not self.game.additive:
            surplus = np.empty(len(candidates))
            for at, candidate in enumerate(candidates):
                surplus[at] = self.game.payoffs(_moved(profile, owner, candidate))[members].sum()
            return surplus
        without = self.game.terms(profile)
        without[owner] = 0.0
        own = self._terms(owner, candidates)
        met = self.game.deviations_against(profile, sums_over_others(without)[:, None, :] + own, members)
        still = np.repeat(profile[members, None], len(candidates), axis=1)
        return met.payoffs(still).sum(axis=0)

    def _terms(self, owner: int, candidates: np.ndarray) -> np.ndarray:
        """All sums' terms of one owner at its candidates (m, k + j)."""
        everyone = np.zeros((len(self.game.owners), len(candidates)))
        everyone[owner] = candidates
        of_policy = self.game.policy.terms(everyone, self.game.owners)
        return np.concatenate([self.game.forecast.terms(everyone), of_policy], axis=-1)[owner]


def _moved(profile: np.ndarray, owner: int, candidate: float) -> np.ndarray:
    changed = profile.copy()
    changed[owner] = candidate
    return changed


def unite(game: Game, members: Sequence[int]) -> Game:
    """Some owners bargain as one: each chooses what is best for their joint surplus.

    Its equilibria are profiles that no member alone can change to the union's good, and no other owner to its own. Only
    choices are to be read from this game; what is paid and gained at them, from the game that was united.

    Parameters
    ----------
    members : numbers of the owners, at least two different ones

    Raises
    ------
    ValueError
        Fewer than two, repeated or unknown members.
    """
    chosen = tuple(int(member) for member in members)
    if len(chosen) < 2 or len(set(chosen)) < len(chosen) or not set(chosen) <= set(range(len(game.owners))):
        raise ValueError(
            f"members must be at least two different owners of 0 to {len(game.owners) - 1}; found {chosen}"
        )
    return replace(game, policy=United(game, chosen))


def leave(game: Game, gone: Sequence[int]) -> Game:
    """Some owners have left: they share nothing."""
    stays = np.ones(len(game.owners))
    stays[list(gone)] = 0.0
    owners = game.owners
    low, high = owners.epsilon_min * stays, owners.epsilon_max * stays
    return replace(game, owners=replace(owners, epsilon_min=low, epsilon_max=high))


def settle_with_exit(
    game: Game, *, rng: np.random.Generator, starts: int = 4
) -> tuple[Game, Equilibrium, tuple[int, ...]]:
    """Owners may leave: while any is below its outside option in equilibrium, the one most below it goes.

    One at a time, since a departure changes what the others are paid. Who has left does not come back.

    Parameters
    ----------
    game : Game
    rng : numpy.random.Generator
        Drawn from once; every equilibrium is searched from the same starts.
    starts : int

    Returns
    -------
    the game of those who stay, its equilibrium, and the numbers of those gone in the order they went
    """
    seed = int(rng.integers(2**63))
    gone: list[int] = []
    while True:
        now = leave(game, gone)
        found = solve(now, rng=np.random.default_rng(seed), starts=starts)
        part = participation(now, found.epsilon)
        below = np.flatnonzero(~part.rational & (found.epsilon > 0))
        if not below.size:
            return now, found, tuple(gone)
        gone.append(int(below[part.surplus[below].argmin()]))


@dataclass(frozen=True)
class Groups:
    """Who has what at a profile, in money.

    Attributes
    ----------
    owners : (n_owners,), each owner's surplus, after tax
    learner, treasury : float
    spending : float, what the learner pays
    fitness : float, relative fitness psi
    total : float, welfare: the sum of all three groups
    gini : float, of the owners' surplus
    price_of_anarchy : float, the best welfare without rules over ``total``
    equilibrium : Equilibrium, the profile with its certificate
    """

    owners: np.ndarray
    learner: float
    treasury: float
    spending: float
    fitness: float
    total: float
    gini: float
    price_of_anarchy: float
    equilibrium: Equilibrium


def groups(game: Game, equilibrium: Equilibrium, best: float) -> Groups:
    """Welfare by group at an equilibrium of ``game``; ``best`` is the welfare that could be had."""
    epsilon = equilibrium.epsilon
    surplus, total = game.payoffs(epsilon), welfare(game, epsilon)
    ratio = (1.0 if total >= best else np.inf) if best <= 0 else best / total if total > 0 else np.inf
    spent = float(game.payments(epsilon).sum())
    treasury = float(taxes(game, epsilon).sum())
    return Groups(
        surplus,
        learner_surplus(game, epsilon),
        treasury,
        spent,
        game.fitness(epsilon),
        total,
        gini(surplus),
        float(ratio),
        equilibrium,
    )


@dataclass(frozen=True)
class Assessment:
    """A market before and after its rules, and the owners (numbers) that left."""

    before: Groups
    after: Groups
    gone: tuple[int, ...] = ()


def assess(
    game: Game,
    rule: Callable[[Game], Game] = lambda game: game,
    *,
    rng: np.random.Generator,
    union: Sequence[int] = (),
    may_leave: bool = False,
    starts: int = 4,
) -> Assessment:
    """What rules do to owners, learner and treasury, the owners in equilibrium before and after.

    Parameters
    ----------
    game : Game, without rules
    rule : callable(Game) -> Game
        A composition of `cap_epsilon`, `tax_leakage`, `floor_prices`.
    rng : numpy.random.Generator
    union : numbers of the owners that bargain as one afterwards; none if empty
    may_leave : bool
        Whether owners below their outside option leave afterwards.
    starts : int, starts of each equilibrium search

    Returns
    -------
    Assessment
        With several equilibria, each side is the one found first, except that a union picks its own best.

    Raises
    ------
    ValueError
        Members that `unite` refuses, or a union whose members may leave.

    >>> from market.costs.functions import Quadratic
    >>> from market.game.owners import Owners
    >>> game = Game(Owners(("A", "B"), 1, 0.0, 9.0, Quadratic([1.0, 2.0])), Posted(4.0), None, 0.0)
    >>> found = assess(game, lambda g: cap_epsilon(g, 1.0), rng=np.random.default_rng(0))
    >>> found.before.owners.round(6).tolist(), found.after.owners.round(6).tolist()
    ([8.0, 4.0], [3.5, 3.0])
    """
    if len(union) and may_leave:
        raise ValueError("a union decides for its members: union and may_leave do not go together")
    seeds = rng.spawn(3)
    free = solve(game, rng=seeds[0], starts=starts)
    best = max(social_optimum(game, rng=seeds[1], starts=starts, start=free.epsilon)[1], welfare(game, free.epsilon))
    ruled = rule(game)
    gone: tuple[int, ...] = ()
    if may_leave:
        ruled, found, gone = settle_with_exit(ruled, rng=seeds[2], starts=starts)
    elif len(union):
        found = _best_for(ruled, union, solve(unite(ruled, union), rng=seeds[2], starts=starts))
    else:
        found = solve(ruled, rng=seeds[2], starts=starts)
    return Assessment(groups(game, free, best), groups(ruled, found, best), gone)


def _best_for(game: Game, union: Sequence[int], found: Equilibrium) -> Equilibrium:
    """Of the equilibria of a united game the union's best, with what is really paid; others are dropped."""
    choices = [found, *found.others]
    chosen = max(choices, key=lambda one: float(game.payoffs(one.epsilon)[list(union)].sum()))
    return replace(chosen, payments=game.payments(chosen.epsilon), others=(), trajectory=())
