"""Data unions: owners who choose as one, what that brings them, how they divide it, and who would rather leave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations
from math import comb
from typing import Annotated, Any, Literal

import numpy as np
import scipy

from learning.declaration import Declaration, ListOf, Words
from learning.errors import InputError
from market.analysis.welfare import SLACK
from market.equilibrium.solver import Equilibrium, certify, merge, solve
from market.equilibrium.starts import log_interval, start_points
from market.equilibrium.stopping import ConvergenceMonitor, Path, PlayRules, upper_ends
from market.game.deviations import Deviations
from market.game.game import CERTIFIED, Game, relative, sums_over_others
from market.game.owners import Owners
from market.game.search import DECADES, ROUNDING
from market.policies.base import ProfilePolicy

Groups = Sequence[Sequence[int]]

LARGEST = 50  # members of a union: all that they could do together is searched
VALUED = 6  # members up to which every part of a union is settled as a union of its own
JUMPS = 20  # times that a union is moved to where a search over all its members' budgets finds more
POINTS = 256  # joint choices looked at before the search goes uphill
UPHILL = 4  # of the best of them that it goes uphill from
NEAR, NUDGE = 1e-2, 1e-5  # its first step close to a place; relative step of the differences that stand for slopes
CLIMBS, TRIFLE = 6, 1e-4  # of a response; a gain below this part of what certifies is none
STEPS, LEAST_STEP = 200, 1e-8  # of the search uphill, the steps in parts of each member's upper end, or of its budget


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


@dataclass(frozen=True)
class United(ProfilePolicy):
    """A policy under which members of a union each look at the surplus of all of them.

    A member's payment is its own and the other members' surplus, so it moves where the union gains. What is really
    paid stays as in ``game``.
    """

    pays_for_fitness = True
    game: Any
    unions: Any

    @property
    def grain(self) -> dict[str, int]:  # type: ignore[override]
        """How finely best responses are searched: as under the policy of the owners apart."""
        return self.game.policy.grain

    @property
    def paid_unasked(self) -> bool:  # type: ignore[override]
        return self.game.policy.paid_unasked

    def settle(self, epsilon: np.ndarray, game: Game) -> np.ndarray:
        """Payment (n_owners,), of members with the other members' surplus."""
        payments, surplus = self.game.payments(epsilon), self.game.payoffs(epsilon)
        for union in map(list, self.unions):
            payments[union] += surplus[union].sum() - surplus[union]
        return payments

    def payments(self, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
        """The same for each candidate (n, m)."""
        paid = self.game.deviations(deviations.profile, deviations.index).payments(epsilon)
        for union in self.unions:
            for row in np.flatnonzero(np.isin(deviations.index, union)):
                paid[row] += self._others(deviations.profile, union, deviations.index[row], epsilon[row])
        return paid

    def breakpoints(self, owners: Owners) -> np.ndarray:
        """Where the payments of the owners apart may jump (n_owners, j)."""
        return self.game.policy.breakpoints(owners)

    def _others(self, profile: np.ndarray, union: Sequence[int], owner: int, candidates: np.ndarray) -> np.ndarray:
        """Surplus of the members but ``owner`` when it alone moves to its candidates (m,)."""
        members = np.array([member for member in union if member != owner])
        if not self.game.additive:
            mover = np.arange(len(profile)) == owner
            return np.array([self.game.payoffs(np.where(mover, at, profile))[members].sum() for at in candidates])
        without = self.game.terms(profile)
        without[owner] = 0.0
        own = self.game.deviations(profile, [owner]).terms(candidates[None])[0]
        met = self.game.deviations_against(profile, sums_over_others(without)[:, None, :] + own).take(members)
        still = np.repeat(profile[members, None], len(candidates), axis=1)
        return met.payoffs(still).sum(axis=0)


def unite(game: Game, *unions: Sequence[int]) -> Game:
    """Some owners bargain as one: each chooses what is best for their joint surplus.

    Its equilibria are profiles that no member alone can change to the union's good, and no other owner to its own;
    `solve_united` looks for those that no union can change at all. Only choices are to be read from this game; what is paid
    and gained at them, from the game that was united.

    Parameters
    ----------
    unions : numbers of the owners in each, at least two different ones, nobody in two

    Raises
    ------
    ValueError
        Fewer than two, repeated or unknown members.
    """
    last, seen = len(game.owners) - 1, set[int]()
    groups = tuple(tuple(int(member) for member in union) for union in unions)
    for chosen in groups:
        if len(chosen) < 2 or len(set(chosen)) < len(chosen) or not set(chosen) <= set(range(last + 1)) - seen:
            rule = f"members must be at least two different owners of 0 to {last}, each in one union"
            raise ValueError(f"{rule}; found {chosen}")
        seen |= set(chosen)
    return replace(game, policy=United(game, groups))


def best_for_union(game: Game, members: Sequence[int], found: Equilibrium) -> Equilibrium:
    """Of the equilibria of a united game the union's best, with what is really paid; others are dropped."""
    choices = [found, *found.others]
    chosen = max(choices, key=lambda one: float(game.payoffs(one.epsilon)[list(members)].sum()))
    return replace(chosen, payments=game.payments(chosen.epsilon), others=(), trajectory=())


@dataclass(frozen=True)
class JointMoves:
    """What the members (k,) of a union have together if all of them move at once from a profile (n_owners,)."""

    game: Game
    members: np.ndarray
    profile: np.ndarray

    @cached_property
    def moves(self) -> Deviations:
        """The members' own moves."""
        return self.game.deviations(self.profile).take(self.members)

    @cached_property
    def beside(self) -> np.ndarray:
        """The sums over all who are no members, (k + j,)."""
        terms = self.game.terms(self.profile)
        terms[self.members] = 0.0
        return terms.sum(axis=0)

    def changed(self, row: np.ndarray) -> np.ndarray:
        """The profile (n_owners,) with the members at a row (k,)."""
        profile = self.profile.copy()
        profile[self.members] = row
        return profile

    def surplus(self, rows: np.ndarray) -> np.ndarray:
        """What they have together (m,) at rows of budgets (m, k)."""
        if not self.game.additive:
            return np.array([self.game.weighed(self.changed(row))[self.members].sum() for row in rows])
        at = np.ascontiguousarray(rows.T)
        met = replace(self.moves, others=self.beside + sums_over_others(self.moves.terms(at)))
        return np.asarray(met.payoffs(at).sum(axis=0))

    def money(self, row: np.ndarray) -> tuple[float, float]:
        """Payments, costs and benefits of members at a row (k,), in full, and their changes from half of all budgets."""
        here, half = (self._parts(self.changed(at)) for at in (row, row / 2))
        total = sum(float(np.abs(part).sum()) for part in here)
        fitness = self.game.value * self.game.policy.pays_for_fitness + self.moves.owners.benefit.sum()
        total += float(fitness) * (self.game.fitness(self.changed(row)) if fitness else 0.0)
        return total, sum(float(np.abs(a - b).sum()) for a, b in zip(here, half, strict=True))

    def _parts(self, profile: np.ndarray) -> list[np.ndarray]:
        used = self.game.deviations(profile).benefits(profile[:, None])[:, 0]
        return [part[self.members] for part in (self.game.promised(profile), self.game.owners.costs(profile), used)]

    def candidates(self) -> np.ndarray:
        """Rows (m, k) to begin a search with: all alike in their intervals, one alone, a low-discrepancy set of each kind."""
        owners, count = self.moves.owners, len(self.members)
        low, high = owners.epsilon_min, owners.epsilon_max
        lower, ratio = log_interval(low, high, lowest=1e-6)
        part = np.linspace(0, 1, 33)[:, None]
        alone = np.where(np.eye(count, dtype=bool), high, low)
        but_one = np.where(np.eye(count, dtype=bool), low, high)
        draws = scipy.stats.qmc.Halton(count, scramble=False).random(POINTS + 1)[1:]
        member = (np.arange(1, POINTS + 1)[:, None] >> (np.arange(count) % 16)) % 2 == 1
        spread = np.where(np.arange(POINTS)[:, None] % 2 == 0, low + (high - low) * draws, lower * ratio**draws)
        some = np.where(member | (low > 0), spread, 0.0)
        return np.concatenate([[low], low + (high - low) * part, lower * ratio**part, alone, but_one, spread, some])

    def best(self) -> tuple[np.ndarray, float]:
        """The row (k,) at which they have most together, and how much: a search over all their intervals, without slopes."""
        rows = np.concatenate([[self.own], self.candidates()])
        heights = self.surplus(rows)
        order = np.argsort(-heights, kind="stable")[:UPHILL]
        tops = [self._uphill(rows[at], heights[at], 0.25) for at in dict.fromkeys([0, *order.tolist()])]
        return max(tops, key=lambda top: top[1])

    @property
    def own(self) -> np.ndarray:
        """Where the members stand (k,)."""
        return self.profile[self.members]

    def response(self) -> np.ndarray:
        """The best row (k,) uphill of where they stand: by slopes, then by steps, until neither leads further."""
        row = self.own
        height = float(self.surplus(row[None])[0])
        for _ in range(CLIMBS):
            before = height
            for climb in (self._by_slopes, partial(self._uphill, step=NEAR)):
                found, top = climb(row, height)
                row, height = (found, top) if top > height else (row, height)
            if height <= before + CERTIFIED * TRIFLE * abs(before):
                break
        return row

    def _by_slopes(self, row: np.ndarray, height: float) -> tuple[np.ndarray, float]:
        """A local maximum from a row (k,) in the logarithm of the budgets above 0, slopes being differences."""
        owners, free = self.moves.owners, row > 0
        if not free.any():
            return row, height
        high = owners.epsilon_max[free]
        low = np.maximum(owners.epsilon_min[free], high * 10.0**-DECADES)
        scale, around = (
            abs(height) + float(np.abs(self.money(row)[1])) + np.finfo(float).tiny,
            np.eye(len(high)) * NUDGE,
        )

        def rows(logs: np.ndarray) -> np.ndarray:
            made = np.tile(row, (len(logs), 1))
            made[:, free] = np.clip(np.exp(logs), low, high)
            return made

        def loss(log: np.ndarray) -> tuple[float, np.ndarray]:
            here, *beside = self.surplus(rows(np.concatenate([[log], log + around, log - around])))
            ahead, behind = np.split(np.array(beside), 2)
            return -here / scale, -(ahead - behind) / (2 * NUDGE * scale)

        ends = np.log(np.stack([low, high], axis=1))
        inside = ends + np.array([NUDGE, -NUDGE]) * (ends[:, 1:] > ends[:, :1] + 4 * NUDGE)
        start = np.clip(np.log(row[free]), inside[:, 0], inside[:, 1])
        found = scipy.optimize.minimize(loss, start, jac=True, method="L-BFGS-B", bounds=inside, tol=1e-15).x
        at_end = np.where(found <= inside[:, 0], ends[:, 0], np.where(found >= inside[:, 1], ends[:, 1], found))
        made = rows(at_end[None])[0]
        made[free] = np.where(at_end == ends[:, 1], high, np.where(at_end == ends[:, 0], low, made[free]))
        return made, float(self.surplus(made[None])[0])

    def _uphill(self, row: np.ndarray, height: float, step: float) -> tuple[np.ndarray, float]:
        """Where steps lead that halve at a top: of one member, of all together, and, of few, from one member to another."""
        owners, unit = self.moves.owners, np.eye(len(row))
        low, high = owners.epsilon_min, owners.epsilon_max
        pairs = combinations(range(len(row)), 2) if len(row) <= VALUED else ()
        ways = np.array([*unit, np.ones(len(row)), *(unit[a] - unit[b] for a, b in pairs)])
        ways = np.concatenate([ways, -ways])
        for _ in range(STEPS):
            if step < LEAST_STEP:
                break
            size = np.where(row > 0, row, high * step)
            trials = np.clip(np.concatenate([row + step * ways * high, row + step * ways * size]), low, high)
            heights = self.surplus(trials)
            top = int(heights.argmax())
            if heights[top] > height:
                row, height = trials[top], heights[top]
            else:
                step *= 0.5
        return row, float(height)

    def certificate(self) -> tuple[np.ndarray, float, float]:
        """The best row (k,), what the union gains by moving there, and the scale of that, as `Game.certificate` has them."""
        place, best = self.best()
        have = float(self.surplus(self.own[None])[0])
        (here, _), (there, moved) = self.money(self.own), self.money(place)
        gain = best - have if best - have > ROUNDING * (here + there) else 0.0
        return place, gain, gain + moved


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


def shares(split: str, surplus: np.ndarray, sizes: np.ndarray, coalitions: Coalitions) -> np.ndarray:
    """What each member has once the union has divided what they have together (k,), which adds up to that.

    Parameters
    ----------
    split : "equal", "by_size" or "shapley"
    surplus : (k,), what each has before, money
    sizes : (k,), records
    coalitions : Coalitions, of which "shapley" asks

    >>> shares("by_size", np.array([5.0, 1.0]), np.array([100.0, 200.0]), None).tolist()
    [2.0, 4.0]
    """
    joint = float(surplus.sum())
    if split == "shapley":
        return coalitions.shapley(joint)
    part = sizes if split == "by_size" else np.ones(len(surplus))
    return joint * part / part.sum()


def stays(share: np.ndarray, outside: np.ndarray, money: np.ndarray) -> np.ndarray:
    """Whether each member has no less than it would have outside (k,), rounding of its ``money`` (k,) aside."""
    return np.asarray(share >= outside - SLACK * np.maximum(np.abs(money), np.abs(outside)))
