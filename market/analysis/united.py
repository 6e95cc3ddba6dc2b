"""A game in which some owners choose as one: what a member looks at is what all members of its union have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from market.equilibrium.solver import Equilibrium
from market.game.deviations import Deviations
from market.game.game import Game, sums_over_others
from market.game.owners import Owners
from market.policies.base import ProfilePolicy


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
