"""Data unions: owners who choose as one, their joint surplus, its division, and stability."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb
from operator import attrgetter
from typing import Annotated, Any, Literal

import numpy as np

from learning.declaration import Declaration, ListOf, Words
from learning.errors import InputError
from market.analysis.joint_moves import JointMoves
from market.analysis.welfare import SLACK
from market.columns import Array
from market.equilibrium.solver import Equilibrium, certify, merge_equilibria, solve
from market.equilibrium.starts import start_points
from market.equilibrium.stopping import ConvergenceMonitor, Path, PlayRules, upper_ends
from market.game.deviations import Deviations
from market.game.game import CERTIFIED, Game, relative_regret, sums_over_others
from market.game.owners import Owners
from market.policies.base import ProfilePolicy

Groups = Sequence[Sequence[int]]

# Members of a union at most, whose joint deviations are searched.
LARGEST = 50
# Members up to whom every part of a union is settled as a union of its own.
VALUED = 6
# Times that a union jumps to a better row found by a global search.
JUMPS = 20


@dataclass(frozen=True)
class Union(Declaration):
    """Owners who choose their budgets as one, for their joint surplus, and divide that.

    Parameters
    ----------
    name : what it is called
    members : names of its owners, each of whom is in one union at most
    split : how they divide what they have together: "equal", in equal parts; "by_size", in
        proportion to their records; "shapley", each what it adds on average over all orders of
        joining, where those who have joined act as one and the others each for itself

    Raises
    ------
    InputError
        No name, no member, one twice, more than can be searched, or another split.
    """

    where = "unions"
    name: Annotated[str, Words("a text in quotes")]
    members: Annotated[tuple[str, ...], ListOf("a list of owners' names")]
    split: Literal["equal", "by_size", "shapley"] = "equal"

    def check(self) -> None:
        """Refuse members that cannot act as one."""
        if not self.name.strip():
            raise InputError("unions.name", "must be a text in quotes", '""')
        twice = next((one for i, one in enumerate(self.members) if one in self.members[:i]), None)
        if twice is not None:
            found = f"{twice} twice in {self.name}"
            raise InputError("unions.members", "must name each owner once", found)
        valued = self.split == "shapley"
        most = VALUED if valued else LARGEST
        if len(self.members) > most:
            where = ' with split = "shapley", which settles every part of a union' if valued else ""
            rule = f"must be at most {most} owners{where}"
            raise InputError("unions.members", rule, f"{len(self.members)}")


@dataclass(frozen=True)
class United(ProfilePolicy):
    """A policy under which each member of a union maximises the surplus of all of them.

    A member's payment is its own and the other members' surplus. The actual payments stay those
    of ``game``.
    """

    pays_for_fitness = True
    game: Any
    unions: Any

    # As under the policy of separate owners.
    grain = property(attrgetter("game.policy.grain"))  # type: ignore[assignment]
    paid_unasked = property(attrgetter("game.policy.paid_unasked"))  # type: ignore[assignment]

    def settle(self, epsilon: Array, game: Game) -> Array:
        payments = self.game.payments(epsilon)
        surplus = self.game.payoffs(epsilon)
        for union in map(list, self.unions):
            payments[union] += surplus[union].sum() - surplus[union]
        return payments

    def payments(self, epsilon: Array, deviations: Deviations) -> Array:
        profile = deviations.profile
        paid = self.game.deviations(profile, deviations.index).payments(epsilon)
        for union in self.unions:
            for row in np.flatnonzero(np.isin(deviations.index, union)):
                owner = deviations.index[row]
                paid[row] += self._partners_surplus(profile, union, owner, epsilon[row])
        return paid

    def payment_jumps(self, owners: Owners) -> Array:
        return self.game.policy.payment_jumps(owners)

    def _partners_surplus(
        self, profile: Array, union: Sequence[int], owner: int, candidates: Array
    ) -> Array:
        """Surplus of the other members when ``owner`` alone moves to its candidates (m,)."""
        game = self.game
        members = np.array([member for member in union if member != owner])
        if not game.additive:
            mover = np.arange(len(profile)) == owner
            payoffs = [game.payoffs(np.where(mover, at, profile)) for at in candidates]
            return np.array([one[members].sum() for one in payoffs])
        without = game.terms(profile)
        without[owner] = 0.0
        own = game.deviations(profile, [owner]).terms(candidates[None])[0]
        others = sums_over_others(without)[:, None, :] + own
        still = np.repeat(profile[members, None], len(candidates), axis=1)
        return game.deviations_against(profile, others).take(members).payoffs(still).sum(axis=0)


def unite_owners(game: Game, *unions: Sequence[int]) -> Game:
    """Game in which some owners each choose what is best for their joint surplus.

    Its equilibria are profiles that no member alone can change to the union's benefit, and no
    other owner to its own; `solve_united` searches for those that no union can change at all.
    Only choices are to be read from this game; payments and surpluses, from the original game.

    Parameters
    ----------
    unions : numbers of the owners in each, at least two different ones, each in one union

    Raises
    ------
    ValueError
        Fewer than two, repeated or unknown members.
    """
    last = len(game.owners) - 1
    free = set(range(last + 1))
    groups = tuple(tuple(int(member) for member in union) for union in unions)
    for chosen in groups:
        members = set(chosen)
        if len(chosen) < 2 or len(members) < len(chosen) or not members <= free:
            rule = f"members must be at least two different owners of 0 to {last}"
            raise ValueError(f"{rule}, each in one union; found {chosen}")
        free -= members
    return replace(game, policy=United(game, groups))


def acting_unions(unions: Groups) -> tuple[tuple[int, ...], ...]:
    """The unions of more than one owner."""
    return tuple(tuple(union) for union in unions if len(union) > 1)


def solve_united(
    game: Game,
    unions: Groups,
    *,
    rng: np.random.Generator,
    start: Array | None = None,
    starts: int = 4,
    **rules: Any,
) -> Equilibrium:
    """Equilibria of a market with unions, each certified against all joint deviations.

    Parameters
    ----------
    unions : numbers of the owners in each; one of a single owner is no union
    rng, start, starts, **rules : of `market.equilibrium.solver.solve`

    Returns
    -------
    Equilibrium
        From the first start that leads to one, with others that other starts lead to. Payments are
        those of ``game``; the regret of a member is that of its union. Without unions it is the
        result of `market.equilibrium.solver.solve`.

    A contest for 30 among three at cost 2 e: separate owners sell 30 * 2 / (9 * 2) each; a union of
    two sells less:

    >>> from market.costs.functions import Linear
    >>> from market.policies.proportional import Proportional
    >>> owners = Owners(("A", "B", "C"), 1, 0.0, 20.0, Linear(2.0))
    >>> game = Game(owners, Proportional(30.0, "epsilon"), None, 0.0)
    >>> found = solve_united(game, [(0, 1)], rng=np.random.default_rng(0), starts=1)
    >>> found.converged, round(float(found.epsilon[:2].sum()), 6), round(float(found.epsilon[2]), 6)
    (True, 3.75, 3.75)
    """
    groups = acting_unions(unions)
    limits = PlayRules(**rules)
    if not groups:
        return solve(game, rng=rng, start=start, starts=starts, **rules)
    members = [np.array(union) for union in groups]
    found = []
    first: tuple[Array, ...] = ()
    for origin in start_points(game, rng=rng, starts=starts, start=start):
        path = _play_with_jumps(game, members, origin, limits)
        first = first or path.profiles
        found.append(_certify_united(game, members, path))
    rounds = tuple((k, at, *game.payments_and_payoffs(at)) for k, at in enumerate(first))
    merged = merge_equilibria(found, upper_ends(game.owners))
    return replace(merged, trajectory=rounds, starts=len(found))


def _play_with_jumps(game: Game, unions: Sequence[Array], origin: Array, rules: PlayRules) -> Path:
    """Play until no union finds a better row by a global search."""
    now = np.array(origin, dtype=float)
    rounds = 0
    profiles = [np.array(origin, dtype=float)]
    for _ in range(JUMPS):
        path = _play_in_turn(game, unions, now, rules)
        now = path.epsilon.copy()
        rounds = rounds + path.rounds
        profiles += path.profiles
        better = False
        for union in unions:
            place, gain, scale = JointMoves(game, union, now).certificate()
            if gain > CERTIFIED * scale:
                now[union] = place
                better = True
        if not better:
            break
    return Path(path.epsilon, rounds, path.end, tuple(profiles))


def _play_in_turn(game: Game, unions: Sequence[Array], now: Array, rules: PlayRules) -> Path:
    """Rounds in which each owner outside unions responds, and then each union, until rest."""
    others = np.setdiff1d(np.arange(len(now)), np.concatenate(unions))
    monitor = ConvergenceMonitor(rules, 1, upper_ends(game.owners), now, "")
    profiles = []
    end = ""
    while not end:
        fresh = now.copy()
        for i in others:
            fresh[i] = game.best_responses(fresh, np.array([i]))[0]
        for union in unions:
            fresh[union] = JointMoves(game, union, fresh).joint_response()
        end = monitor.register_round(now, fresh, drawn="")
        now = fresh
        profiles.append(fresh)
    return Path(now, monitor.rounds, end, tuple(profiles))


def _certify_united(game: Game, unions: Sequence[Array], path: Path) -> Equilibrium:
    """Certify the end of a path against deviations of single owners and of whole unions."""
    united = unite_owners(game, *(union.tolist() for union in unions))
    found = certify(united, path.epsilon, path=path, method="in turn")
    regret = found.regret.copy()
    ratio = found.relative_regret.copy()
    for union in unions:
        _, gain, scale = JointMoves(game, union, path.epsilon).certificate()
        regret[union] = np.maximum(regret[union], gain)
        part = relative_regret(np.array([gain]), np.array([scale]))
        ratio[union] = np.maximum(ratio[union], part)
    converged = bool(found.converged and ratio.max() <= CERTIFIED)
    return replace(
        found,
        payments=game.payments(path.epsilon),
        regret=regret,
        relative_regret=ratio,
        converged=converged,
        reason=found.reason if converged == found.converged else "not converged",
    )


@dataclass(frozen=True)
class Coalitions:
    """Surplus of the members (k,) of one union if only some of them acted as one.

    Parameters
    ----------
    game : Game, the original one
    unions : numbers of the owners in each
    at : the union's place among them
    start : (n_owners,), the equilibrium with all of them
    seed : int, of the searches for equilibria
    """

    game: Game
    unions: Groups
    at: int
    start: Array
    seed: int

    def surplus_if(self, joined: Sequence[int]) -> Array:
        """Surplus of every owner (n_owners,) where only ``joined`` of the union act as one."""
        unions = [joined if i == self.at else union for i, union in enumerate(self.unions)]
        rng = np.random.default_rng(self.seed)
        found = solve_united(self.game, unions, rng=rng, start=self.start, starts=2)
        return self.game.payoffs(found.epsilon)

    def separate_surplus(self) -> Array:
        """Surplus of each member without the union (k,)."""
        return self.surplus_if(())[list(self.unions[self.at])]

    def outside_surplus(self) -> Array:
        """Surplus of each member if it alone left, the others staying together (k,)."""
        members = self.unions[self.at]
        return np.array(
            [self.surplus_if([m for m in members if m != gone])[gone] for gone in members]
        )

    def shapley_values(self, joint: float) -> Array:
        """Shapley values (k,) of the joint surplus of parts of the union, in all ``joint``.

        Source: Shapley, A value for n-person games (1953), of values at equilibria in which the
            others act separately.
        """
        members = self.unions[self.at]
        count = len(members)
        apart = self.surplus_if(())
        worth = {frozenset[int](): 0.0, frozenset(members): joint}
        if count > 1:
            worth |= {frozenset([member]): float(apart[member]) for member in members}
        for size in range(2, count):
            for some in combinations(members, size):
                worth[frozenset(some)] = float(self.surplus_if(some)[list(some)].sum())

        def shapley_value(member: int) -> float:
            return sum(
                (worth[some | {member}] - value) / (count * comb(count - 1, len(some)))
                for some, value in worth.items()
                if member not in some
            )

        return np.array([shapley_value(member) for member in members])


def divide_surplus(
    split: str, surplus: Array, sizes: Array, coalitions: Coalitions | None
) -> Array:
    """Divide the joint surplus of a union among its members (k,).

    Parameters
    ----------
    split : "equal", "by_size" or "shapley"
    surplus : (k,), before the division, money
    sizes : (k,), records
    coalitions : Coalitions, for "shapley"; None with another split

    >>> divide_surplus("by_size", np.array([5.0, 1.0]), np.array([100.0, 200.0]), None).tolist()
    [2.0, 4.0]
    """
    joint = float(surplus.sum())
    if coalitions is not None and split == "shapley":
        return coalitions.shapley_values(joint)
    part = sizes if split == "by_size" else np.ones(len(surplus))
    return joint * part / part.sum()


def prefers_union(share: Array, outside: Array, money: Array) -> Array:
    """Members with at least their outside surplus (k,), up to the rounding of ``money`` (k,)."""
    return np.asarray(share >= outside - SLACK * np.maximum(np.abs(money), np.abs(outside)))
