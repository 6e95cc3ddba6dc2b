"""The owners of a market as players: their behaviours, their memory and their draws."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from agents.behaviours import Behaviour, Memory, Seen, checked_choice
from agents.draws import Draws
from market.game.deviations import Deviations
from market.game.game import Game


class Players:
    """Owners who choose, with one search for all owners of equal behaviour.

    Parameters
    ----------
    behaviours : list of Behaviour, (n_owners,)
    draws : Draws
    """

    def __init__(self, behaviours: Sequence[Behaviour], draws: Draws) -> None:
        self.kinds = list(dict.fromkeys(behaviours))
        places = {behaviour: kind for kind, behaviour in enumerate(self.kinds)}
        self.kind = np.array([places[behaviour] for behaviour in behaviours])
        self.groups = [np.flatnonzero(self.kind == kind) for kind in range(len(self.kinds))]
        self.memory: list[Memory] = [{} for _ in self.kinds]
        self.now = 0
        count = len(behaviours)
        self.uniform = lru_cache(8)(lambda purpose, now, m: draws.uniform(purpose, now, count, m))

    @property
    def patience(self) -> int:
        """Rounds in a row without a move after which all are at rest."""
        return max(behaviour.patience for behaviour in self.kinds)

    @property
    def change_by_round(self) -> bool:
        """True if some owner draws or remembers, so that equal profiles may go on differently."""
        return any(behaviour.draws for behaviour in self.kinds) or any(self.memory)

    @property
    def draw_numbers(self) -> np.ndarray:
        """Owners whose behaviour draws numbers (n_owners,)."""
        return np.array([behaviour.draws for behaviour in self.kinds])[self.kind]

    @property
    def move_alone(self) -> np.ndarray:
        """Owners who look at single others, and not only at sums (n_owners,)."""
        return np.array([not behaviour.meets_in_sums for behaviour in self.kinds])[self.kind]

    def start_memory(self, game: Game, profile: np.ndarray) -> None:
        """Set the owners' memory as a market opens at a profile (n_owners,)."""
        self.memory = [
            behaviour.initial_memory(game.deviations(profile, group))
            for behaviour, group in zip(self.kinds, self.groups, strict=True)
        ]

    def update_memory(self, game: Game, profile: np.ndarray) -> None:
        """Update the memory of owners who have one with the profile (n_owners,) after a round."""
        for kind, group in enumerate(self.groups):
            if self.memory[kind]:
                seen = self._seen_by(kind, group, np.zeros_like(group))
                deviations = game.deviations(profile, group)
                self.memory[kind] = self.kinds[kind].update_memory(deviations, seen)

    def respond(self, deviations: Deviations, before: np.ndarray) -> np.ndarray:
        """Choose for owners (n,), who have made ``before`` moves in this round (n,)."""
        kind = self.kind[deviations.index]
        if (kind == kind[0]).all():
            return self._choose_alike(int(kind[0]), deviations, before)
        chosen = np.empty(len(kind))
        for one in np.unique(kind):
            rows = np.flatnonzero(kind == one)
            chosen[rows] = self._choose_alike(int(one), deviations.take(rows), before[rows])
        return chosen

    def _choose_alike(self, kind: int, deviations: Deviations, before: np.ndarray) -> np.ndarray:
        seen = self._seen_by(kind, deviations.index, before)
        return checked_choice(self.kinds[kind], deviations, seen)

    def _seen_by(self, kind: int, index: np.ndarray, before: np.ndarray) -> Seen:
        """Make the knowledge of owners in ``index`` (n,), who have one behaviour."""
        rows = np.searchsorted(self.groups[kind], index)
        memory = {name: values[rows] for name, values in self.memory[kind].items()}
        return Seen(lambda m: self._draw_for(index, before, m), memory, self.now)

    def _draw_for(self, index: np.ndarray, before: np.ndarray, m: int) -> np.ndarray:
        """Draw each owner's numbers of this round (n, m), new ones for each further move."""
        found = np.empty((len(index), m))
        for times in np.unique(before):
            rows = before == times
            purpose = f"behaviour, move {times + 1}" if times else "behaviour"
            found[rows] = self.uniform(purpose, self.now, m)[index[rows]]
        return found
