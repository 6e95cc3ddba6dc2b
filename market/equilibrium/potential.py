"""Games with an exact potential: every owner's move raises one function of the profile by what the owner gains."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from market.equilibrium.diagnostics import four_cycles
from market.equilibrium.solver import Equilibrium, certify, follow
from market.equilibrium.starts import start_points
from market.equilibrium.stopping import PlayRules
from market.game.game import Game, sums_over_others

TOUCH = 1e-6  # gradients are taken no nearer to 0 than this part of the upper end: payoffs may jump at 0


def potential_gain(game: Game, start: np.ndarray, end: np.ndarray) -> float:
    """How much higher the potential is at one profile than at another, in a game that has one.

    ``P(end) - P(start)`` is what owners gain who go over from one profile to the other in turn, each the gain of its own
    move. In a game without a potential the number depends on the order of moves, and means nothing.

    Parameters
    ----------
    game : Game
    start, end : (n_owners,)

    Returns
    -------
    float, money

    Source: Monderer and Shapley, Potential Games, Theorem 2.8.

    >>> from market.costs.functions import Quadratic
    >>> from market.game.owners import Owners
    >>> from market.policies.posted import Posted
    >>> game = Game(Owners(("A", "B"), 1, 0.0, 9.0, Quadratic([1.0, 2.0])), Posted(4.0), None, 0.0)
    >>> potential_gain(game, np.zeros(2), np.array([4.0, 2.0]))  # 4^2/(2 * 1) + 4^2/(2 * 2)
    12.0
    """
    start, end = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    if not game.additive:
        steps = [np.concatenate([end[:k], start[k:]]) for k in range(len(start) + 1)]
        payoffs = np.array([game.weighed(at) for at in steps])
        return float(np.sum(np.diagonal(payoffs[1:]) - np.diagonal(payoffs)))
    others = sums_over_others(game.terms(end), after=game.terms(start))  # gone over, and waiting
    payoffs = game.deviations_against(end, others[:, None, :]).payoffs(np.column_stack([start, end]))
    return float(np.sum(payoffs[:, 1] - payoffs[:, 0]))


def maximise_potential(
    game: Game, *, rng: np.random.Generator, starts: int = 16, **rules: Any
) -> tuple[Equilibrium, float]:
    """The equilibrium of greatest potential found, and how far it lies above everyone's least epsilon.

    Gradient ascent on the potential, each owner's slope being its gradient; then owners respond one after another, which
    raises it further, until nobody moves. Its maximum is an equilibrium, and the one that play with rare mistakes favours.

    Parameters
    ----------
    game : Game
        With an exact potential, as under the marginal policy with one share for all and no benefits, or where payoffs
        do not depend on others.
    rng : numpy.random.Generator
        Draws starts, and the sample on which the game is seen to have a potential.
    starts, **rules : as in `market.equilibrium.solver.solve`

    Returns
    -------
    Equilibrium, float (money)

    Raises
    ------
    ValueError
        The game has no potential.

    Source: Monderer and Shapley, Potential Games, Lemma 2.1; Blume (1993) on which equilibrium is favoured.
    """
    cycles = four_cycles(game, rng=rng)
    if not cycles.holds:
        found = f"a four-cycle with gains of {cycles.largest:.3g} in sum"
        raise ValueError(f"the game must have a potential; found {found}")
    low, high = game.owners.epsilon_min, game.owners.epsilon_max
    inner = np.where(low > 0, low, TOUCH * high)
    reached: list[tuple[Equilibrium, float]] = []
    for start in start_points(game, rng=rng, starts=starts):
        top = _ascend(game, np.clip(start, inner, high), inner)
        for origin in (top, start):  # the gradient never leads back to 0: who starts there may want to stay
            path = follow(game, "sequential", origin, rng=rng, rules=PlayRules(**rules))
            certified = certify(game, path.epsilon, path=path, method="potential")
            reached.append((certified, potential_gain(game, low, path.epsilon)))
    return max(reached, key=lambda one: (one[0].converged, one[1]))


def _ascend(game: Game, start: np.ndarray, low: np.ndarray) -> np.ndarray:
    """Where the gradient leads, in log epsilon: L-BFGS-B from a profile above 0 (n_owners,)."""
    high = game.owners.epsilon_max
    if not (high > low).any():
        return start
    money = np.abs(game.certificate(start)[1]).sum() or 1.0

    def loss(logs: np.ndarray) -> tuple[float, np.ndarray]:
        epsilon = np.clip(np.exp(logs), low, high)
        slope = game.deviations(epsilon).slopes(epsilon[:, None])[:, 0]
        return -potential_gain(game, start, epsilon) / money, -slope * epsilon / money

    positive = np.where(high > 0, high, 1.0)
    bounds = np.log(np.column_stack([np.where(high > 0, low, 1.0), positive]))
    found = scipy.optimize.minimize(
        loss, np.log(np.where(high > 0, start, 1.0)), jac=True, method="L-BFGS-B", bounds=bounds
    )
    return np.where(high > 0, np.clip(np.exp(found.x), low, high), 0.0)
