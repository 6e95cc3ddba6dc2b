"""People who learn from past rounds: by what they regret, or by what the others do on average."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from annotated_types import Gt, Le

from agents.behaviours.base import Behaviour, Memory, Seen, own, weighed
from learning.declaration import Count, TwoOrMore
from market.equilibrium.quantal import drawn, evenly
from market.game.deviations import Deviations


@dataclass(frozen=True)
class RegretMatching(Behaviour):
    """Chooses each budget with a chance in proportion to how much it regrets not to have chosen that all along.

    The regret of a budget is what it would have brought in all rounds so far, above what was had, where that is more.
    Who regrets nothing stays. What is regretted on average goes to 0 as 1 / sqrt(rounds), whatever the others do; where
    all choose so, the frequencies of their joint choices approach the coarse correlated equilibria.

    Parameters
    ----------
    options : budgets that it considers, in equal steps over its interval

    Source: Hart and Mas-Colell, A simple adaptive procedure leading to correlated equilibrium (2000), Theorem B: regrets of
    always the same choice. Their Theorem A takes regrets of one choice for another, an option more each, to correlated
    equilibria.
    """

    title = "chooses what it regrets not to have chosen"
    draws = True
    options: TwoOrMore = 41

    def choose(self, deviations: Deviations, seen: Seen) -> np.ndarray:
        regret = np.maximum(seen.memory["regret"], 0.0)
        some, grid = regret.sum(axis=1) > 0, evenly(deviations.owners, self.options)
        chosen = grid[np.arange(len(grid)), drawn(regret, seen.uniform()[:, 0])]
        return np.where(some, chosen, own(deviations))

    def begin(self, deviations: Deviations) -> Memory:
        return {"regret": np.zeros((len(deviations.index), self.options))}

    def remember(self, deviations: Deviations, seen: Seen) -> Memory:
        tried = np.column_stack([evenly(deviations.owners, self.options), own(deviations)])
        payoffs = weighed(deviations, tried)
        return {"regret": seen.memory["regret"] + payoffs[:, :-1] - payoffs[:, -1:]}


@dataclass(frozen=True)
class FictitiousPlay(Behaviour):
    """The best response to what the others have sold on average in all rounds so far.

    On average are taken the sums in which owners meet others, or the others' budgets under policies that look at those.

    Parameters
    ----------
    recall : float, how much each round counts beside the one after it; 1 counts all alike, less forgets

    Source: Brown, Iterative solution of games by fictitious play (1951); with aggregates, as in Cournot markets,
    Thorlund-Petersen, Iterative computation of Cournot equilibrium (1990).
    """

    title = "responds to what the others have done on average"
    recall: Annotated[float, Gt(0), Le(1)] = 1.0

    def choose(self, deviations: Deviations, seen: Seen) -> np.ndarray:
        return against(deviations, seen.memory["others"]).best_responses()

    def begin(self, deviations: Deviations) -> Memory:
        return {"others": others(deviations), "weight": np.ones((len(deviations.index), 1))}

    def remember(self, deviations: Deviations, seen: Seen) -> Memory:
        before, weight = seen.memory["others"], 1 + self.recall * seen.memory["weight"]
        return {"others": before + (others(deviations) - before) / weight, "weight": weight}


@dataclass(frozen=True)
class Stale(Behaviour):
    """The best response to the others as they were some rounds ago.

    Parameters
    ----------
    lag : how many rounds what it knows of the others is older than the end of the last round; none is as old as the opening

    Source: best replies with delay; Theocharis, On the stability of the Cournot solution on the oligopoly problem (1960), of
    how many sellers a market bears who reply to the round before.
    """

    title = "responds to the market as it was some rounds ago"
    lag: Count = 1

    @property
    def patience(self) -> int:
        """Rounds until what it sees is what is."""
        return self.lag + 2

    def choose(self, deviations: Deviations, seen: Seen) -> np.ndarray:
        return against(deviations, seen.memory["others"][:, 0]).best_responses()

    def begin(self, deviations: Deviations) -> Memory:
        return {"others": np.repeat(others(deviations)[:, None], self.lag + 1, axis=1)}

    def remember(self, deviations: Deviations, seen: Seen) -> Memory:
        return {"others": np.concatenate([seen.memory["others"][:, 1:], others(deviations)[:, None]], axis=1)}


def others(deviations: Deviations) -> np.ndarray:
    """What n owners can know of the others: the sums over these (n, k), or all budgets (n, n_owners) where these matter."""
    if deviations.game.additive:
        return deviations.others[:, 0]
    return np.broadcast_to(deviations.profile, (len(deviations.index), len(deviations.profile)))


def against(deviations: Deviations, known: np.ndarray) -> Deviations:
    """The same owners' moves against others of whom that is known, of all rows alike where it is budgets."""
    if deviations.game.additive:
        return replace(deviations, others=known[:, None])
    return deviations.game.deviations(known[0], deviations.index)  # type: ignore[no-any-return]
