"""The thesis's games, payoffs as it writes them, and what is remarkable about where the owners of a game settle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from market.costs.harm import Exponential
from market.equilibrium.solver import Equilibrium
from market.game.game import Game
from market.game.owners import Owners
from market.policies.thesis import ThesisGain, ThesisLeakage, ThesisUtility

GAMES: dict[str, type] = {"leakage": ThesisLeakage, "utility": ThesisUtility, "gain": ThesisGain}


def thesis_game(
    kind: str, sizes: Any, *, n_owners: int = 4, epsilon: Sequence[float] = (0.001, 5.0), **parameters: Any
) -> Game:
    """A game of the thesis, payoffs as it writes them: ``share * w * bought(epsilon) - e^epsilon``.

    Parameters
    ----------
    kind : "leakage" (equation 4.1) or "utility" (4.2), or "gain" (4.2 through any channel)
    sizes : (n_owners,), records; or one number for all ``n_owners``
    n_owners : int, used with one number only
    epsilon : (lowest, highest) budget of every owner
    **parameters : of `ThesisLeakage`, `ThesisUtility` or `ThesisGain`, such as ``weight="printed"``

    Returns
    -------
    Game

    Raises
    ------
    ValueError
        An unknown kind.
    """
    if kind not in GAMES:
        raise ValueError(f"kind must be one of {', '.join(GAMES)}; found {kind!r}")
    columns = np.broadcast_to(np.asarray(sizes, dtype=float), (n_owners,) if np.ndim(sizes) == 0 else np.shape(sizes))
    names = tuple(f"owner {number + 1}" for number in range(len(columns)))
    low, high = epsilon
    owners = Owners(names, columns, low, high, Exponential(1.0), fixed_cost=1.0)  # together e^epsilon
    return Game(owners, GAMES[kind](**parameters), None, 0.0)


def remarks(game: Game, equilibrium: Equilibrium) -> list[dict[str, Any]]:
    """What is remarkable about where the owners of any game settle: all at one end, or several equilibria.

    Parameters
    ----------
    game: the game, whatever its policy.
    equilibrium: what `market.equilibrium.solver.solve` found; nothing is said of one that is not certified.

    Returns
    -------
    list of dict
        Facts, each with a ``cause`` (several_equilibria, all_at_lowest, printed_weight, all_at_highest) and its numbers;
        empty where nothing is remarkable.

    >>> from market.equilibrium.solver import solve
    >>> game = thesis_game("utility", 1e4, weight="printed")
    >>> [fact["cause"] for fact in remarks(game, solve(game, rng=np.random.default_rng(0), starts=4))]
    ['all_at_lowest', 'printed_weight']
    """
    if not equilibrium.converged:
        return []
    if equilibrium.others:
        found = [one.epsilon for one in (equilibrium, *equilibrium.others)]
        places = [{"epsilon": _ends(e), "at_lowest": _all_at(game, e, game.owners.epsilon_min)} for e in found]
        return [{"cause": "several_equilibria", "places": places}]
    if _all_at(game, equilibrium.epsilon, game.owners.epsilon_min):
        return [{"cause": "all_at_lowest", "epsilon": _ends(equilibrium.epsilon)}, *game.policy.remarks(game)]
    if _all_at(game, equilibrium.epsilon, game.owners.epsilon_max) and game.asks(equilibrium.epsilon):
        return [{"cause": "all_at_highest", "epsilon": _ends(equilibrium.epsilon)}]
    return []


def _all_at(game: Game, epsilon: np.ndarray, end: np.ndarray) -> bool:
    """Whether all who have a choice, and there are some, stand at this end of their intervals."""
    free = game.owners.epsilon_min < game.owners.epsilon_max
    return bool(free.any() and np.all(epsilon[free] == end[free]))


def _ends(epsilon: np.ndarray) -> list[float]:
    return [float(epsilon.min()), float(epsilon.max())]
