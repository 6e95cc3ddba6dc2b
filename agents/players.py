"""The owners of a market as players: how each behaves, what it keeps in mind, and what it draws."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from agents.behaviours import Behaviour, Memory, Seen, chosen_by
from agents.draws import Draws
from market.game.deviations import Deviations
from market.game.game import Game


class Players:
    """Owners who choose, those who behave alike in one search.

    Parameters
    ----------
    behaviours : list of Behaviour, (n_owners,)
    draws : Draws
    """

    def __init__(self, behaviours: Sequence[Behaviour], draws: Draws) -> None:
        kinds = {behaviour: kind for kind, behaviour in enumerate(dict.fromkeys(behaviours))}
        self.kinds = list(kinds)
        self.kind = np.array([kinds[behaviour] for behaviour in behaviours])
        self.groups = [np.flatnonzero(self.kind == kind) for kind in range(len(kinds))]
        self.memory: list[Memory] = [{} for _ in kinds]
        self.now = 0
        count = len(behaviours)
        self.uniform = lru_cache(8)(lambda purpose, now, m: draws.uniform(purpose, now, count, m))

    @property
    def patience(self) -> int:
        """Rounds in a row without a move after which all are at rest."""
        return max(behaviour.patience for behaviour in self.kinds)

    @property
    def changing(self) -> bool:
        """Whether anybody draws, or keeps anything in mind, so that the same profile need not be followed by the same."""
        return any(behaviour.draws for behaviour in self.kinds) or any(self.memory)

    @property
    def drawing(self) -> np.ndarray:
        """Who draws (n_owners,)."""
        return np.array([behaviour.draws for behaviour in self.kinds])[self.kind]

    @property
    def alone(self) -> np.ndarray:
        """Who looks at single others, and not only at sums (n_owners,)."""
        return np.array([not behaviour.meets_in_sums for behaviour in self.kinds])[self.kind]

    def begin(self, game: Game, profile: np.ndarray) -> None:
        """What they have in mind when a market opens at a profile (n_owners,)."""
        moves = zip(self.kinds, self.groups, strict=True)
        self.memory = [behaviour.begin(game.deviations(profile, group)) for behaviour, group in moves]

    def remember(self, game: Game, profile: np.ndarray) -> None:
        """Those who keep anything in mind take note of the profile (n_owners,) in which the round has ended."""
        for kind in [kind for kind, memory in enumerate(self.memory) if memory]:
            group = self.groups[kind]
            seen = self._seen(kind, group, np.zeros_like(group))
            self.memory[kind] = self.kinds[kind].remember(game.deviations(profile, group), seen)

    def respond(self, deviations: Deviations, before: np.ndarray) -> np.ndarray:
        """What owners choose (n,) who have moved so often ``before`` in this round (n,)."""
        kind = self.kind[deviations.index]
        if (kind == kind[0]).all():
            return self._chosen(int(kind[0]), deviations, before)
        chosen = np.empty(len(kind))
        for one in np.unique(kind):
            rows = np.flatnonzero(kind == one)
            chosen[rows] = self._chosen(int(one), deviations.take(rows), before[rows])
        return chosen

    def _chosen(self, kind: int, deviations: Deviations, before: np.ndarray) -> np.ndarray:
        return chosen_by(self.kinds[kind], deviations, self._seen(kind, deviations.index, before))

    def _seen(self, kind: int, index: np.ndarray, before: np.ndarray) -> Seen:
        """What owners in ``index`` (n,), who behave alike, know beside their moves."""
        rows = np.searchsorted(self.groups[kind], index)
        return Seen(
            lambda m: self._drawn(index, before, m),
            {name: values[rows] for name, values in self.memory[kind].items()},
            self.now,
        )

    def _drawn(self, index: np.ndarray, before: np.ndarray, m: int) -> np.ndarray:
        """Each owner's numbers of this round (n, m): others, each time that it moves again."""
        found = np.empty((len(index), m))
        for times in np.unique(before):
            rows = before == times
            purpose = f"behaviour, move {times + 1}" if times else "behaviour"
            found[rows] = self.uniform(purpose, self.now, m)[index[rows]]
        return found
