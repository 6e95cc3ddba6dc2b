"""Payment against fitness as a policy's parameter changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from market.analysis.design import MakePolicy, evaluate
from market.game.game import Game


@dataclass(frozen=True)
class Frontier:
    """What a model costs: one row per value of the parameter swept.

    Attributes
    ----------
    parameter : (m,) or (m, d), of the policy
    spending, fitness, surplus : (m,), money paid, psi, the learner's surplus
    epsilon : (m, n_owners)
    feasible : (m,), bool
    """

    parameter: np.ndarray
    spending: np.ndarray
    fitness: np.ndarray
    surplus: np.ndarray
    epsilon: np.ndarray
    feasible: np.ndarray

    @property
    def efficient(self) -> np.ndarray:
        """Feasible rows with no other that pays no more for a better model (m,), bool."""
        order = np.lexsort((self.fitness, self.spending))
        best, efficient = np.inf, np.zeros(len(order), dtype=bool)
        for at in order:
            if self.feasible[at] and self.fitness[at] < best:
                best, efficient[at] = self.fitness[at], True
        return efficient


def frontier(
    game: Game,
    make: MakePolicy,
    parameters: Sequence[Any] | np.ndarray,
    *,
    rng: np.random.Generator,
    **search: Any,
) -> Frontier:
    """Payment against fitness as a policy's parameter sweeps over ``parameters`` (m,) or (m, d).

    ``search`` is budget, starts and optimistic, as in `market.analysis.design.evaluate`; every policy is judged by the
    same starts.
    """
    seed = int(rng.integers(2**63))
    rows = [evaluate(game, make, at, rng=np.random.default_rng(seed), **search) for at in parameters]
    columns = [(row.spending, row.fitness, row.surplus, row.equilibrium.epsilon, row.feasible) for row in rows]
    swept = np.array([row.parameters for row in rows])
    swept = swept[:, 0] if swept.shape[1] == 1 else swept
    return Frontier(swept, *(np.array(column) for column in zip(*columns, strict=True)))
