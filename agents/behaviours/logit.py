"""Quantal response: better choices are more likely, and none is certain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge

from agents.behaviours.base import Behaviour, Memory, Seen, weighed
from learning.declaration import NonNegative
from market.equilibrium.quantal import Per, drawn, evenly, logit
from market.game.deviations import Deviations


@dataclass(frozen=True)
class Logit(Behaviour):
    """Chooses among some budgets, the better the more often: odds grow by exp(precision) for each unit one is better.

    Against the market as it stands, its best response is one of the budgets that it considers: at high precision it is
    rational. Against all rounds so far it weighs what each budget would have brought on average; among such owners
    frequencies settle at a quantal response equilibrium (`market.equilibrium.quantal`).

    Parameters
    ----------
    precision : float, the logarithm of the odds of two budgets, for each unit of money that one is better; 0 is blind choice
    per : that unit, money as it is, or of what is at stake: the difference between its best and its worst budget
    options : budgets that it considers, in equal steps over its interval
    against : what it responds to, the others as they stand now, or all that it has met in past rounds

    Source: McKelvey and Palfrey, Quantal response equilibria for normal form games (1995); against "now": log-linear
    learning, Blume, The statistical mechanics of strategic interaction (1993); against "past": smooth fictitious play,
    Fudenberg and Levine, The theory of learning in games (1998), chapter 4.

    A posted price of 2 for what costs 1 a unit: of five budgets the last is best, at precision 1 by odds of e to the first.

    >>> from agents.behaviours.base import Seen
    >>> from market.costs.functions import Linear
    >>> from market.game.game import Game
    >>> from market.game.owners import Owners
    >>> from market.policies.posted import Posted
    >>> game = Game(Owners(tuple("abcd"), 1, 0.0, 4.0, Linear(1.0)), Posted(2.0), None, 0.0)
    >>> moves, seen = game.deviations(np.zeros(4)), Seen(lambda m: np.array([[0.1], [0.4], [0.7], [0.9]]))
    >>> [Logit(precision, options=5).choose(moves, seen).tolist() for precision in (0.0, 1.0, 100.0)]
    [[0.0, 2.0, 3.0, 4.0], [0.0, 2.0, 4.0, 4.0], [4.0, 4.0, 4.0, 4.0]]
    """

    title = "chooses what is better more often, and not always"
    draws = True
    precision: NonNegative = 10.0
    per: Per = "stake"
    options: Annotated[int, Ge(3)] = 41
    against: Literal["now", "past"] = "now"

    def choose(self, deviations: Deviations, seen: Seen) -> np.ndarray:
        rows, grid = np.arange(len(deviations.index)), evenly(deviations.owners, self.options)
        if self.against == "past":
            payoffs = seen.memory["payoffs"]
        else:
            grid = with_best(grid, deviations) if self.precision else grid
            payoffs = weighed(deviations, grid)
        return np.asarray(grid[rows, drawn(logit(payoffs, self.precision, self.per), seen.uniform()[:, 0])])

    def begin(self, deviations: Deviations) -> Memory:
        if self.against == "now":
            return {}
        payoffs = weighed(deviations, evenly(deviations.owners, self.options))
        return {"payoffs": payoffs, "rounds": np.ones((len(payoffs), 1))}

    def remember(self, deviations: Deviations, seen: Seen) -> Memory:
        if self.against == "now":
            return seen.memory
        payoffs, rounds = seen.memory["payoffs"], seen.memory["rounds"] + 1
        met = weighed(deviations, evenly(deviations.owners, self.options))
        return {"payoffs": payoffs + (met - payoffs) / rounds, "rounds": rounds}


def with_best(grid: np.ndarray, deviations: Deviations) -> np.ndarray:
    """A grid in equal steps (n, m) whose point next to each owner's best response is moved there; both ends stay."""
    low, high, best = grid[:, 0], grid[:, -1], deviations.best_responses()
    step = (high - low) / (grid.shape[1] - 1)
    place = np.rint(np.divide(best - low, step, out=np.zeros_like(best), where=step > 0)).astype(int)
    inside = np.flatnonzero((best > low) & (best < high))
    moved = grid.copy()
    moved[inside, np.clip(place[inside], 1, grid.shape[1] - 2)] = best[inside]
    return moved
