"""Learning from past rounds: by regret, average play, delayed play, or aspirations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt, Le, Lt

from agents.behaviours.base import Behaviour, Memory, Seen, expected_surplus, own_epsilon
from learning.declaration import Count, TwoOrMore
from market.equilibrium.quantal import draw_options, even_grid
from market.game.deviations import Deviations
from market.game.grids import in_blocks

POINTS = 41  # of an interval, for the range of surplus
TRIFLE = 1e-6  # a part of that range, below which no one looks for another budget


@dataclass(frozen=True)
class Aspiration(Behaviour):
    """Stays while its surplus meets its aspiration; else tries a uniform budget of its interval.

    The aspiration, at first the surplus of the start, goes a part of the way to the present surplus
    in each round, but not below the surplus of selling the least. Now and then a content owner
    tries another budget.

    Parameters
    ----------
    pace : float, the part of the way that the aspiration goes in a round
    tremble : float, the probability to try another budget though content

    Source: Karandikar, Mookherjee, Ray and Vega-Redondo, Evolving aspirations and cooperation
        (1998), of two choices, where the discontent stay with some probability and aspirations
        tremble, not choices; the idea: Simon, A behavioral model of rational choice (1955).
    """

    title = "stays while it has what it aspires to, and else tries something"
    draws = True
    pace: Annotated[float, Gt(0), Le(1)] = 0.1
    tremble: Annotated[float, Ge(0), Lt(1)] = 0.02

    def choose(self, deviations: Deviations, seen: Seen) -> np.ndarray:
        trembles, part = seen.uniform(2).T
        here = own_epsilon(deviations)
        low, high = deviations.owners.interval
        least, has = deviations.payoffs(np.column_stack([low, here])).T
        lacks = np.maximum(seen.memory["aspires"], least) - has
        stays = (lacks <= TRIFLE * seen.memory["stake"]) & (trembles >= self.tremble)
        return np.where(stays, here, np.minimum(low + (high - low) * part, high))

    def initial_memory(self, deviations: Deviations) -> Memory:
        payoffs = in_blocks(deviations.payoffs, even_grid(deviations.owners, POINTS))
        return {"aspires": own_surplus(deviations), "stake": np.ptp(payoffs, axis=1)}

    def update_memory(self, deviations: Deviations, seen: Seen) -> Memory:
        before = seen.memory["aspires"]
        return seen.memory | {"aspires": before + self.pace * (own_surplus(deviations) - before)}


@dataclass(frozen=True)
class RegretMatching(Behaviour):
    """Chooses each budget with a probability proportional to the regret of not choosing it always.

    The regret of a budget is its surplus in all rounds so far above the actual one, where that is
    positive. An owner without regret stays. Average regret goes to 0 as 1/sqrt(rounds), whatever
    the others do; where all choose so, the frequencies of their joint choices approach the coarse
    correlated equilibria.

    Parameters
    ----------
    options : budgets that it considers, in equal steps over its interval

    Source: Hart and Mas-Colell, A simple adaptive procedure leading to correlated equilibrium
        (2000), Theorem B: regrets of always the same choice. Their Theorem A takes regrets of one
        choice for another, an option more each, to correlated equilibria.
    """

    title = "chooses what it regrets not to have chosen"
    draws = True
    options: TwoOrMore = 41

    def choose(self, deviations: Deviations, seen: Seen) -> np.ndarray:
        regret = np.maximum(seen.memory["regret"], 0.0)
        some = regret.sum(axis=1) > 0
        grid = even_grid(deviations.owners, self.options)
        chosen = grid[np.arange(len(grid)), draw_options(regret, seen.uniform()[:, 0])]
        return np.where(some, chosen, own_epsilon(deviations))

    def initial_memory(self, deviations: Deviations) -> Memory:
        return {"regret": np.zeros((len(deviations.index), self.options))}

    def update_memory(self, deviations: Deviations, seen: Seen) -> Memory:
        grid = even_grid(deviations.owners, self.options)
        payoffs = expected_surplus(deviations, np.column_stack([grid, own_epsilon(deviations)]))
        return {"regret": seen.memory["regret"] + payoffs[:, :-1] - payoffs[:, -1:]}


@dataclass(frozen=True)
class FictitiousPlay(Behaviour):
    """The best response to the others' average play in all rounds so far.

    Averaged are the sums in which owners meet others, or the others' budgets under policies that
    look at those.

    Parameters
    ----------
    recall : float, the weight of each round over that of the next; 1 for equal weights

    Source: Brown, Iterative solution of games by fictitious play (1951); with aggregates, as in
        Cournot markets, Thorlund-Petersen, Iterative computation of Cournot equilibrium (1990).
    """

    title = "responds to what the others have done on average"
    recall: Annotated[float, Gt(0), Le(1)] = 1.0

    def choose(self, deviations: Deviations, seen: Seen) -> np.ndarray:
        return deviate_against(deviations, seen.memory["others"]).best_responses()

    def initial_memory(self, deviations: Deviations) -> Memory:
        weight = np.ones((len(deviations.index), 1))
        return {"others": play_of_others(deviations), "weight": weight}

    def update_memory(self, deviations: Deviations, seen: Seen) -> Memory:
        before = seen.memory["others"]
        weight = 1 + self.recall * seen.memory["weight"]
        return {"others": before + (play_of_others(deviations) - before) / weight, "weight": weight}


@dataclass(frozen=True)
class Stale(Behaviour):
    """The best response to the others as they were some rounds ago.

    Parameters
    ----------
    lag : rounds by which its knowledge of the others is older than the end of the last round, but
        no older than the opening

    Source: best replies with delay; Theocharis, On the stability of the Cournot solution on the
        oligopoly problem (1960), on the number of sellers who can reply to the round before.
    """

    title = "responds to the market as it was some rounds ago"
    lag: Count = 1

    @property
    def patience(self) -> int:
        """Rounds until its knowledge is up to date."""
        return self.lag + 2

    def choose(self, deviations: Deviations, seen: Seen) -> np.ndarray:
        return deviate_against(deviations, seen.memory["others"][:, 0]).best_responses()

    def initial_memory(self, deviations: Deviations) -> Memory:
        return {"others": np.repeat(play_of_others(deviations)[:, None], self.lag + 1, axis=1)}

    def update_memory(self, deviations: Deviations, seen: Seen) -> Memory:
        newest = play_of_others(deviations)[:, None]
        return {"others": np.concatenate([seen.memory["others"][:, 1:], newest], axis=1)}


def own_surplus(deviations: Deviations) -> np.ndarray:
    """Present surplus of n owners (n,)."""
    return deviations.payoffs(own_epsilon(deviations)[:, None])[:, 0]


def play_of_others(deviations: Deviations) -> np.ndarray:
    """Sums over the others (n, k), or all budgets (n, n_owners) where owners meet in more."""
    if deviations.game.additive:
        return deviations.others[:, 0]
    return np.broadcast_to(deviations.profile, (len(deviations.index), len(deviations.profile)))


def deviate_against(deviations: Deviations, known: np.ndarray) -> Deviations:
    """Make the owners' moves against known play of others; budgets are equal in all rows."""
    if deviations.game.additive:
        return replace(deviations, others=known[:, None])
    return deviations.game.deviations(known[0], deviations.index)  # type: ignore[no-any-return]
