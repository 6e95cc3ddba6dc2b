"""What money buys under several policies: the frontier of payments against fitness, and policies at equal spending."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from market.analysis.design import Design, Family, MakePolicy, best_policy, evaluate
from market.game.game import Game


def compare_at_spending(
    game: Game, families: Mapping[str, Family], spending: float, *, rng: np.random.Generator, **search: Any
) -> dict[str, Design]:
    """The best model that each policy buys for the same money.

    Parameters
    ----------
    game : Game, its own policy set aside
    families : dict of Family by name
    spending : float, money the learner may pay at most; ``Design.spending`` says what it does pay
    **search : as in `best_policy`

    Returns
    -------
    dict of Design, in the order given
    """
    seed = int(rng.integers(2**63))
    return {
        name: best_policy(game, family, rng=np.random.default_rng(seed), budget=spending, aim="fitness", **search)
        for name, family in families.items()
    }


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
    game: Game, make: MakePolicy, parameters: Sequence[Any] | np.ndarray, *, rng: np.random.Generator, **search: Any
) -> Frontier:
    """Payment against fitness as a policy's parameter sweeps over ``parameters`` (m,) or (m, d).

    ``search`` is budget, starts and optimistic, as in `evaluate`; every policy is judged by the
    same starts.
    """
    seed = int(rng.integers(2**63))
    rows = [evaluate(game, make, at, rng=np.random.default_rng(seed), **search) for at in parameters]
    columns = [(row.spending, row.fitness, row.surplus, row.equilibrium.epsilon, row.feasible) for row in rows]
    swept = np.array([row.parameters for row in rows])
    swept = swept[:, 0] if swept.shape[1] == 1 else swept
    return Frontier(swept, *(np.array(column) for column in zip(*columns, strict=True)))
