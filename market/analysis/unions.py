"""Data unions: owners who choose as one, what that brings them, how they divide it, and who would rather leave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb
from typing import Annotated, Any, Literal

import numpy as np

from learning.declaration import Declaration, ListOf, Words
from learning.errors import InputError
from market.analysis.joint_moves import JointMoves
from market.analysis.united import unite
from market.analysis.welfare import SLACK
from market.equilibrium.solver import Equilibrium, certify, merge, solve
from market.equilibrium.starts import start_points
from market.equilibrium.stopping import ConvergenceMonitor, Path, PlayRules, upper_ends
from market.game.game import CERTIFIED, Game, relative

Groups = Sequence[Sequence[int]]

LARGEST = 50  # members of a union: all that they could do together is searched
VALUED = 6  # members up to which every part of a union is settled as a union of its own
JUMPS = 20  # times that a union is moved to where a search over all its members' budgets finds more


@dataclass(frozen=True)
class Union(Declaration):
    """Owners who choose their budgets as one, for what they have together, and divide that.

    Parameters
    ----------
    name : what it is called
    members : names of its owners, each of whom is in one union at most
    split : how they divide what they have together: "equal", in equal parts; "by_size", in proportion to their records;
        "shapley", each what it adds on average over all orders of joining, where those who have joined act as one and the
        others each for itself

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
            raise InputError("unions.members", "must name each owner once", f"{twice} twice in {self.name}")
        most = VALUED if self.split == "shapley" else LARGEST
        if len(self.members) > most:
            where = ' with split = "shapley", which settles every part of a union' if self.split == "shapley" else ""
            raise InputError("unions.members", f"must be at most {most} owners{where}", f"{len(self.members)}")


def solve_united(
    game: Game,
    unions: Groups,
    *,
    rng: np.random.Generator,
    start: np.ndarray | None = None,
    starts: int = 4,
    **rules: Any,
) -> Equilibrium:
    """Equilibria of a market in which some owners choose as one, each certified against all that a union could do at once.

    Parameters
    ----------
    unions : numbers of the owners in each; one of a single owner is no union
    rng, start, starts, **rules
        Of `market.equilibrium.solver.solve`.

    Returns
    -------
    Equilibrium
        From the first start that leads to one, with others that other starts lead to. Payments are those of ``game``; the
        regret of a member is what its union could still gain together. Without unions it is what
        `market.equilibrium.solver.solve` finds.

    A contest for 30 among three at cost 2 e: apart each sells 30 * 2 / (9 * 2) and has 10 / 3; two of them as one sell less:

    >>> from market.costs.functions import Linear
    >>> from market.game.owners import Owners
    >>> from market.policies.proportional import Proportional
    >>> game = Game(Owners(("A", "B", "C"), 1, 0.0, 20.0, Linear(2.0)), Proportional(30.0, "epsilon"), None, 0.0)
    >>> found = solve_united(game, [(0, 1)], rng=np.random.default_rng(0), starts=1)
    >>> found.converged, round(float(found.epsilon[:2].sum()), 6), round(float(found.epsilon[2]), 6)
    (True, 3.75, 3.75)
    """
    groups, limits = acting(unions), PlayRules(**rules)
    if not groups:
        return solve(game, rng=rng, start=start, starts=starts, **rules)
    found, first = [], None
    for origin in start_points(game, rng=rng, starts=starts, start=start):
        path = _together(game, groups, origin, limits)
        first = first or path.profiles
        found.append(_certified(game, groups, path))
    rounds = tuple((k, at, *game.settled(at)) for k, at in enumerate(first or ()))
    return replace(merge(found, upper_ends(game.owners)), trajectory=rounds, starts=len(found))


def acting(unions: Groups) -> tuple[tuple[int, ...], ...]:
    """The unions of more than one owner: one of a single owner is that owner."""
    return tuple(tuple(union) for union in unions if len(union) > 1)


def _together(game: Game, unions: Groups, origin: np.ndarray, rules: PlayRules) -> Path:
    """Where owners and unions come to rest who respond in turn, and no union knows a better place further away."""
    now, rounds, profiles = np.array(origin, dtype=float), 0, [np.array(origin, dtype=float)]
    for _ in range(JUMPS):
        path = _in_turn(game, unions, now, rules)
        now, rounds = path.epsilon.copy(), rounds + path.rounds
        profiles += path.profiles
        better = False
        for union in map(np.array, unions):
            place, gain, scale = JointMoves(game, union, now).certificate()
            if gain > CERTIFIED * scale:
                now[union], better = place, True
        if not better:
            break
    return Path(path.epsilon, rounds, path.end, tuple(profiles))


def _in_turn(game: Game, unions: Groups, now: np.ndarray, rules: PlayRules) -> Path:
    """Rounds in which each owner in no union responds, and then each union, until nobody moves."""
    members = {member for union in unions for member in union}
    others = [i for i in range(len(now)) if i not in members]
    monitor = ConvergenceMonitor(rules, 1, upper_ends(game.owners), now, "")
    profiles, end = [], ""
    while not end:
        fresh = now.copy()
        for i in others:
            fresh[i] = game.best_responses(fresh, np.array([i]))[0]
        for union in map(np.array, unions):
            fresh[union] = JointMoves(game, union, fresh).response()
        end, now = monitor.update(now, fresh, drawn=""), fresh
        profiles.append(fresh)
    return Path(now, monitor.rounds, end, tuple(profiles))


def _certified(game: Game, unions: Groups, path: Path) -> Equilibrium:
    """Where a path has ended, with what each owner could still gain alone, for its union, and each union together."""
    found = certify(unite(game, *unions), path.epsilon, path=path, method="in turn")
    regret, ratio = found.regret.copy(), found.relative_regret.copy()
    for union in map(np.array, unions):
        _, gain, scale = JointMoves(game, union, path.epsilon).certificate()
        regret[union] = np.maximum(regret[union], gain)
        ratio[union] = np.maximum(ratio[union], relative(np.array([gain]), np.array([scale])))
    converged = bool(found.converged and ratio.max() <= CERTIFIED)
    reason = found.reason if converged == found.converged else "not converged"
    paid = game.payments(path.epsilon)
    return replace(found, payments=paid, regret=regret, relative_regret=ratio, converged=converged, reason=reason)


@dataclass(frozen=True)
class Coalitions:
    """What the members (k,) of one union would have if only some of them acted as one, everybody settling anew.

    Parameters
    ----------
    game : Game, before it was united
    unions : numbers of the owners in each
    at : the union's place among them
    start : (n_owners,), where the market has settled with all of them
    seed : int, of the searches for equilibria
    """

    game: Game
    unions: Groups
    at: int
    start: np.ndarray
    seed: int

    def surplus(self, joined: Sequence[int]) -> np.ndarray:
        """Surplus of every owner (n_owners,) where only those ``joined`` of the union act as one."""
        unions = [joined if i == self.at else union for i, union in enumerate(self.unions)]
        rng = np.random.default_rng(self.seed)
        return self.game.payoffs(solve_united(self.game, unions, rng=rng, start=self.start, starts=2).epsilon)

    def apart(self) -> np.ndarray:
        """What each member has where there is no such union (k,)."""
        return self.surplus(())[list(self.unions[self.at])]

    def outside(self) -> np.ndarray:
        """What each member would have if it alone left, the others staying together (k,)."""
        members = self.unions[self.at]
        return np.array([self.surplus([m for m in members if m != gone])[gone] for gone in members])

    def shapley(self, joint: float) -> np.ndarray:
        """Shapley values (k,) of what parts of the union have together, where all of it has ``joint``.

        Source: Shapley, A value for n-person games (1953), of values at equilibria in which those outside stand alone.
        """
        members, apart = self.unions[self.at], self.surplus(())
        worth = {frozenset[int](): 0.0, frozenset(members): joint}
        worth |= {frozenset([member]): float(apart[member]) for member in members if len(members) > 1}
        for size in range(2, len(members)):
            for some in combinations(members, size):
                worth[frozenset(some)] = float(self.surplus(some)[list(some)].sum())
        count = len(members)
        return np.array(
            [
                sum(
                    (worth[some | {member}] - value) / (count * comb(count - 1, len(some)))
                    for some, value in worth.items()
                    if member not in some
                )
                for member in members
            ]
        )


def shares(split: str, surplus: np.ndarray, sizes: np.ndarray, coalitions: Coalitions | None) -> np.ndarray:
    """What each member has once the union has divided what they have together (k,), which adds up to that.

    Parameters
    ----------
    split : "equal", "by_size" or "shapley"
    surplus : (k,), what each has before, money
    sizes : (k,), records
    coalitions : Coalitions, of which "shapley" asks; None with another split

    >>> shares("by_size", np.array([5.0, 1.0]), np.array([100.0, 200.0]), None).tolist()
    [2.0, 4.0]
    """
    joint = float(surplus.sum())
    if coalitions is not None and split == "shapley":
        return coalitions.shapley(joint)
    part = sizes if split == "by_size" else np.ones(len(surplus))
    return joint * part / part.sum()


def stays(share: np.ndarray, outside: np.ndarray, money: np.ndarray) -> np.ndarray:
    """Whether each member has no less than it would have outside (k,), rounding of its ``money`` (k,) aside."""
    return np.asarray(share >= outside - SLACK * np.maximum(np.abs(money), np.abs(outside)))
