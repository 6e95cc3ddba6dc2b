"""The thesis's games, payoffs as it writes them, and what is worth saying about where the owners of a game settle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from market.costs.harm import Exponential
from market.equilibrium.solver import Equilibrium
from market.game.game import Game
from market.game.owners import Owners
from market.policies.thesis import ThesisLeakage, ThesisUtility, weights

GAMES: dict[str, type] = {"leakage": ThesisLeakage, "utility": ThesisUtility}


def thesis_game(
    kind: str, sizes: Any, *, n_owners: int = 4, epsilon: Sequence[float] = (0.001, 5.0), **parameters: Any
) -> Game:
    """A game of the thesis, payoffs as it writes them: ``share * w * gain(epsilon) - e^epsilon``.

    Parameters
    ----------
    kind : "leakage" (equation 4.1) or "utility" (4.2)
    sizes : (n_owners,), records; or one number for all ``n_owners``
    n_owners : int, used with one number only
    epsilon : (lowest, highest) budget of every owner
    **parameters : of `ThesisLeakage` or `ThesisUtility`, such as ``weight="printed"``

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


def remarks(game: Game, equilibrium: Equilibrium) -> list[str]:
    """What is worth saying about where the owners of any game settle: all at one end, or several equilibria.

    Parameters
    ----------
    game : Game
    equilibrium : Equilibrium
        As `market.equilibrium.solver.solve` gives it; nothing is said of one that is not certified.

    Returns
    -------
    list of str, sentences; empty where there is nothing remarkable

    >>> from market.equilibrium.solver import solve
    >>> game = thesis_game("utility", 1e4, weight="printed")
    >>> for sentence in remarks(game, solve(game, rng=np.random.default_rng(0), starts=4)):
    ...     print(sentence)
    The market collapses: every owner shares the least it may (epsilon = 0.001), since more would cost more than it brings.
    As printed, the weight w keeps every payment under 0.0066, next to a cost that runs up to 148.
    """
    if not equilibrium.converged:
        return []
    if equilibrium.others:
        places = [_place(game, one.epsilon) for one in (equilibrium, *equilibrium.others)]
        return [
            f"There are several equilibria, at least {len(places)}: {'; '.join(places)}. Which one is reached depends on "
            "where the owners start."
        ]
    if _all_at(game, equilibrium.epsilon, game.owners.epsilon_min):
        return [
            f"The market collapses: every owner shares the least it may ({_range(equilibrium.epsilon)}), since more would "
            "cost more than it brings.",
            *_printed_weight(game),
        ]
    if _all_at(game, equilibrium.epsilon, game.owners.epsilon_max):
        return [
            f"Every owner shares as much as it may ({_range(equilibrium.epsilon)}): more always brings more than it costs, "
            "and only the limit stops it."
        ]
    return []


def _printed_weight(game: Game) -> list[str]:
    """Why a thesis game with the weight as printed pays so little; nothing for any other game."""
    policy, high = game.policy, game.owners.epsilon_max
    if not isinstance(policy, ThesisLeakage | ThesisUtility) or policy.weight != "printed":
        return []
    most = np.max(policy.price * weights(policy, game.owners) * policy.gain(high))
    cost = game.costs(high).max()
    return [
        f"As printed, the weight w keeps every payment under {most:.2g}, next to a cost that runs up to {cost:.3g}."
    ]


def _all_at(game: Game, epsilon: np.ndarray, end: np.ndarray) -> bool:
    """Whether all who have a choice, and there are some, stand at this end of their intervals."""
    free = game.owners.epsilon_min < game.owners.epsilon_max
    return bool(free.any() and np.all(epsilon[free] == end[free]))


def _place(game: Game, epsilon: np.ndarray) -> str:
    return _range(epsilon) + (", the least all may share" if _all_at(game, epsilon, game.owners.epsilon_min) else "")


def _range(epsilon: np.ndarray) -> str:
    low, high = f"{epsilon.min():.4g}", f"{epsilon.max():.4g}"
    return f"epsilon = {low}" if low == high else f"epsilon from {low} to {high}"
