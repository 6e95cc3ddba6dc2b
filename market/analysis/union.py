"""Owners that unite, and bargain as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from market.equilibrium.solver import Equilibrium
from market.game.deviations import Deviations
from market.game.game import Game, sums_over_others
from market.policies.base import ProfilePolicy


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
        for row in np.flatnonzero(np.isin(deviations.index, self.members)):
            paid[row] += self._others(deviations.profile, deviations.index[row], epsilon[row])
        return paid

    def _others(self, profile: np.ndarray, owner: int, candidates: np.ndarray) -> np.ndarray:
        """Surplus of the members but ``owner`` when it alone moves to its candidates (m,)."""
        members = np.array([member for member in self.members if member != owner])
        if not self.game.additive:
            mover = np.arange(len(profile)) == owner
            return np.array([self.game.payoffs(np.where(mover, at, profile))[members].sum() for at in candidates])
        without = self.game.terms(profile)
        without[owner] = 0.0
        own = self.game.deviations(profile, [owner]).terms(candidates[None])[0]
        met = self.game.deviations_against(profile, sums_over_others(without)[:, None, :] + own).take(members)
        still = np.repeat(profile[members, None], len(candidates), axis=1)
        return met.payoffs(still).sum(axis=0)


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


def best_for_union(game: Game, members: Sequence[int], found: Equilibrium) -> Equilibrium:
    """Of the equilibria of a united game the union's best, with what is really paid; others are dropped."""
    choices = [found, *found.others]
    chosen = max(choices, key=lambda one: float(game.payoffs(one.epsilon)[list(members)].sum()))
    return replace(chosen, payments=game.payments(chosen.epsilon), others=(), trajectory=())
