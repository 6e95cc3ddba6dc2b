"""The common part of Mesa models that are played in rounds until no owner moves."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any

import mesa
import numpy as np

from agents.draws import draws_of
from market.equilibrium.activation import ACTIVATIONS, Draw
from market.equilibrium.stopping import ConvergenceMonitor, PlayRules, relative_moves


class RoundModel(mesa.Model):
    """A market whose owners move in the order of an activation, round by round.

    Parameters
    ----------
    activation : str, a name in ACTIVATIONS
    seed, rng : int, or a numpy.random.Generator, at most one of them
    rules : parameters of `market.equilibrium.stopping.PlayRules`

    Attributes
    ----------
    max_change : float, the largest move of the last round, as a part of the owner's epsilon; to
        join is a whole move
    end : str, the reason for which the market ended; empty before
    """

    def __init__(
        self,
        activation: str,
        seed: int | None,
        rng: np.random.Generator | int | None,
        rules: Mapping[str, Any],
    ) -> None:
        if activation not in ACTIVATIONS:
            raise ValueError(
                f"activation must be one of {', '.join(ACTIVATIONS)}; found {activation!r}"
            )
        self.draws = draws_of(seed, rng)
        super().__init__(rng=self.draws.seed)
        self.activation = activation
        self.order = ACTIVATIONS[activation]
        self.rules = PlayRules(**rules)

    @property
    def changes_by_round(self) -> bool:
        """True if the same profile may be followed by another one in another round."""
        return self.order.draws

    @property
    def round_key(self) -> str:
        """A key of the round where rounds differ; empty where they do not."""
        return str(self.steps) if self.changes_by_round else ""

    def begin_rounds(self, profile: np.ndarray, width: np.ndarray, patience: int = 1) -> None:
        """Start to count rounds at a profile, whose moves are measured by ``width``."""
        patience = max(self.order.patience(len(profile), self.rules), patience)
        self.monitor = ConvergenceMonitor(self.rules, patience, width, profile, self.round_key)
        self.end = ""
        self.running = True
        self.max_change = 0.0

    def end_round(self, before: np.ndarray, after: np.ndarray) -> None:
        """Measure a round's moves, stop where no owner moves, and record."""
        self.max_change = float(relative_moves(before, after, self.monitor.width).max())
        self.end = self.monitor.register_round(before, after, drawn=self.round_key)
        self.running = not self.end
        self.datacollector.collect(self)

    def make_turn_draw(self, n_owners: int) -> Draw:
        """Make the draw of an order of moves (n_owners,) in this round, new at every call."""
        calls = count()
        return lambda: self.draws.uniform(f"turns {next(calls)}", self.steps, n_owners)[:, 0]
