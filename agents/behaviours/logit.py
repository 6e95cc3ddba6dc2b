"""Quantal response: better choices are more likely, and none is certain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge

from agents.behaviours.base import Behaviour, Memory, Seen, expected_surplus
from learning.declaration import NonNegative
from market.equilibrium.quantal import Per, draw_options, even_grid, logit_response
from market.game.deviations import Deviations


@dataclass(frozen=True)
class Logit(Behaviour):
    """Chooses among some budgets with odds that grow by exp(precision) per unit of surplus.

    Against the present market, its best response is among these budgets: at high precision it is
    rational. Against all past rounds it weighs each budget's average surplus; among such owners
    frequencies settle at a quantal response equilibrium.

    Parameters
    ----------
    precision : float, the logarithm of the odds of two budgets, for each unit of surplus that one
        is better; 0 is uniform choice
    per : that unit, money, or the stake: the difference between its best and its worst budget
    options : budgets that it considers, in equal steps over its interval
    against : the others' play that it responds to, "now" or of all "past" rounds

    Source: McKelvey and Palfrey, Quantal response equilibria for normal form games (1995); against
        "now": log-linear learning, Blume, The statistical mechanics of strategic interaction
        (1993); against "past": smooth fictitious play, Fudenberg and Levine, The theory of learning
        in games (1998), chapter 4.

    At a posted price of 2 and a cost of 1 a unit, the last of five budgets is best, at precision 1
    by odds of e to the first.

    >>> from agents.behaviours.base import Seen
    >>> from market.costs.functions import Linear
    >>> from market.game.game import Game
    >>> from market.game.owners import Owners
    >>> from market.policies.posted import Posted
    >>> game = Game(Owners(tuple("abcd"), 1, 0.0, 4.0, Linear(1.0)), Posted(2.0), None, 0.0)
    >>> moves = game.deviations(np.zeros(4))
    >>> seen = Seen(lambda m: np.array([[0.1], [0.4], [0.7], [0.9]]))
    >>> [Logit(one, options=5).choose(moves, seen).tolist() for one in (0.0, 1.0, 100.0)]
    [[0.0, 2.0, 3.0, 4.0], [0.0, 2.0, 4.0, 4.0], [4.0, 4.0, 4.0, 4.0]]
    """

    title = "chooses what is better more often, and not always"
    draws = True
    precision: NonNegative = 10.0
    per: Per = "stake"
    options: Annotated[int, Ge(3)] = 41
    against: Literal["now", "past"] = "now"

    def choose(self, deviations: Deviations, seen: Seen) -> np.ndarray:
        grid = even_grid(deviations.owners, self.options)
        if self.against == "past":
            payoffs = seen.memory["payoffs"]
        else:
            if self.precision:
                grid = with_best(grid, deviations)
            payoffs = expected_surplus(deviations, grid)
        places = draw_options(
            logit_response(payoffs, self.precision, self.per), seen.uniform()[:, 0]
        )
        return np.asarray(grid[np.arange(len(grid)), places])

    def initial_memory(self, deviations: Deviations) -> Memory:
        if self.against == "now":
            return {}
        payoffs = expected_surplus(deviations, even_grid(deviations.owners, self.options))
        return {"payoffs": payoffs, "rounds": np.ones((len(payoffs), 1))}

    def update_memory(self, deviations: Deviations, seen: Seen) -> Memory:
        if self.against == "now":
            return seen.memory
        payoffs = seen.memory["payoffs"]
        rounds = seen.memory["rounds"] + 1
        met = expected_surplus(deviations, even_grid(deviations.owners, self.options))
        return {"payoffs": payoffs + (met - payoffs) / rounds, "rounds": rounds}


def with_best(grid: np.ndarray, deviations: Deviations) -> np.ndarray:
    """Move the inner point of an even grid (n, m) next to each best response onto it."""
    low = grid[:, 0]
    high = grid[:, -1]
    best = deviations.best_responses()
    step = (high - low) / (grid.shape[1] - 1)
    place = np.rint(np.divide(best - low, step, out=np.zeros_like(best), where=step > 0))
    inside = np.flatnonzero((best > low) & (best < high))
    moved = grid.copy()
    moved[inside, np.clip(place[inside].astype(int), 1, grid.shape[1] - 2)] = best[inside]
    return moved
