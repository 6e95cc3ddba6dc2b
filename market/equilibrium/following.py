"""Newton's method on the whole profile, from the equilibrium of a game like the one to solve."""

import numpy as np

from market.columns import Array
from market.equilibrium.solver import Equilibrium, certify, solve
from market.game.game import Game

# Name of the method in an equilibrium.
FOLLOWED = "followed"
# Relative step of differences, and the relative step of the method at which it has arrived.
NUDGE = 1e-6
ARRIVED = 1e-10
# Steps of the method, and the largest, as a part of a budget: beyond it, the start is not near.
STEPS = 8
LARGEST = 0.5
# Rounds of play after which it is tried.
ROUNDS = 2


def follow_equilibrium(game: Game, start: Array) -> Equilibrium | None:
    """Certified equilibrium near ``start`` (n_owners,), with the same owners at their ends.

    Newton's method for profiles where the marginal surplus of every owner inside its interval is 0,
    ``epsilon - J^-1 m(epsilon)``, J by forward differences. Each step takes n + 1 evaluations of m,
    in place of a global search for each owner and round. The certificate, which is global, decides.

    Returns
    -------
    None where the method does not arrive, or is not certified.
    """
    low, high = game.owners.interval
    epsilon = np.clip(start, low, high)
    inside = np.flatnonzero((epsilon > low) & (epsilon < high))
    for _ in range(STEPS if inside.size else 0):
        step = _newton_step(game, epsilon, inside)
        if step is None or np.any(np.abs(step) > LARGEST * epsilon[inside]):
            return None
        epsilon[inside] = np.clip(epsilon[inside] + step, low[inside], high[inside])
        if np.all(np.abs(step) <= ARRIVED * epsilon[inside]):
            break
    found = certify(game, epsilon, method=FOLLOWED)
    return found if found.converged else None


def solve_quickly(
    game: Game, *, rng: np.random.Generator, start: Array | None = None
) -> Equilibrium:
    """Find the equilibrium that `solve` finds from one start, faster where a game is not additive.

    Owners play `ROUNDS` rounds; then `follow_equilibrium` takes over. Where it fails, play goes on.
    """
    if game.additive:
        return solve(game, rng=rng, starts=1, start=start)
    begun = solve(game, rng=rng, starts=1, start=start, max_rounds=ROUNDS)
    if begun.converged:
        return begun
    return follow_equilibrium(game, begun.epsilon) or solve(game, rng=rng, starts=1, start=start)


def _newton_step(game: Game, epsilon: Array, inside: Array) -> Array | None:
    """Newton step of the owners ``inside`` (k,); None where their slopes do not settle one."""

    def slopes_at(profile: Array) -> Array:
        moves = game.deviations(profile, inside)
        return moves.marginal_surplus(profile[inside, None])[:, 0]

    slope = slopes_at(epsilon)
    columns = []
    for owner in inside:
        ahead = epsilon.copy()
        ahead[owner] *= 1 + NUDGE
        columns.append((slopes_at(ahead) - slope) / (NUDGE * epsilon[owner]))
    try:
        step = np.linalg.solve(np.column_stack(columns), -slope)
    except np.linalg.LinAlgError:
        return None
    return step if np.isfinite(step).all() else None
