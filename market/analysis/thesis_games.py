"""The thesis's games with their payoffs, and remarks on the equilibria of any game."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from market.columns import Array
from market.costs.functions import Exponential
from market.equilibrium.solver import Equilibrium
from market.game.game import Game
from market.game.owners import Owners
from market.policies.thesis import ThesisGain, ThesisLeakage, ThesisUtility

GAMES: dict[str, type] = {"leakage": ThesisLeakage, "utility": ThesisUtility, "gain": ThesisGain}


def thesis_game(
    kind: str,
    sizes: Any,
    *,
    n_owners: int = 4,
    epsilon: Sequence[float] = (0.001, 5.0),
    **parameters: Any,
) -> Game:
    """A game of the thesis, with payoffs ``share * w * bought(epsilon) - e^epsilon``.

    Parameters
    ----------
    kind : "leakage" (equation 4.1) or "utility" (4.2), or "gain" (4.2 through any channel)
    sizes : (n_owners,), records; or one number for all ``n_owners``
    n_owners : int, used with one number only
    epsilon : (lowest, highest) budget of every owner
    **parameters : of `ThesisLeakage`, `ThesisUtility` or `ThesisGain`, such as ``weight="printed"``

    Raises
    ------
    ValueError
        An unknown kind.
    """
    if kind not in GAMES:
        raise ValueError(f"kind must be one of {', '.join(GAMES)}; found {kind!r}")
    shape = np.shape(sizes) or (n_owners,)
    names = tuple(f"owner {number + 1}" for number in range(shape[0]))
    # Together cost and fixed cost are e^epsilon.
    columns = np.broadcast_to(np.asarray(sizes, dtype=float), shape)
    low, high = epsilon
    owners = Owners(names, columns, low, high, Exponential(1.0), fixed_cost=1.0)
    return Game(owners, GAMES[kind](**parameters), None, 0.0)


def equilibrium_remarks(game: Game, equilibrium: Equilibrium) -> list[dict[str, Any]]:
    """Remarkable facts about an equilibrium: all owners at one end, or several equilibria.

    Parameters
    ----------
    game : Game, with any policy
    equilibrium : of `market.equilibrium.solver.solve`; one that is not certified has no remarks

    Returns
    -------
    list of dict
        Facts, each with a ``cause`` (several_equilibria, all_at_lowest, printed_weight,
        all_at_highest) and its numbers.

    >>> from market.equilibrium.solver import solve
    >>> game = thesis_game("utility", 1e4, weight="printed")
    >>> found = solve(game, rng=np.random.default_rng(0), starts=4)
    >>> [fact["cause"] for fact in equilibrium_remarks(game, found)]
    ['all_at_lowest', 'printed_weight']
    """
    low = game.owners.epsilon_min
    high = game.owners.epsilon_max
    free = low < high

    def all_at(epsilon: Array, end: Array) -> bool:
        return bool(free.any() and np.all(epsilon[free] == end[free]))

    def range_of(epsilon: Array) -> list[float]:
        return [float(epsilon.min()), float(epsilon.max())]

    epsilon = equilibrium.epsilon
    if not equilibrium.converged:
        return []
    if equilibrium.others:
        found = [epsilon, *(one.epsilon for one in equilibrium.others)]
        places = [{"epsilon": range_of(at), "at_lowest": all_at(at, low)} for at in found]
        return [{"cause": "several_equilibria", "places": places}]
    if all_at(epsilon, low):
        fact = {"cause": "all_at_lowest", "epsilon": range_of(epsilon)}
        return [fact, *game.policy.policy_remarks(game)]
    if all_at(epsilon, high) and game.asks(epsilon):
        return [{"cause": "all_at_highest", "epsilon": range_of(epsilon)}]
    return []
