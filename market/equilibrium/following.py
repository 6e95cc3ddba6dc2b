"""Newton's method on the whole profile, from the equilibrium of a game like the one to solve."""

from dataclasses import replace

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
STEPS = 12
LARGEST = 0.5
# Part of the step before, beyond which derivatives are taken anew.
FALLS = 0.1
# Rounds of play after which it is tried.
ROUNDS = 2


def follow_equilibrium(game: Game, start: Array) -> Equilibrium | None:
    """Certified equilibrium near ``start`` (n_owners,), with the same owners at their ends.

    Newton's method for profiles where the marginal surplus of every owner inside its interval is 0,
    ``epsilon - J^-1 m(epsilon)``, J by forward differences. J takes n evaluations of m and is kept
    while each step is at most `FALLS` of the one before. No step needs a global search. The
    certificate, which is global, decides.

    Returns
    -------
    None where the method does not arrive, or is not certified.

    Source: the chord method, Ortega and Rheinboldt 1970, 7.1.
    """
    low, high = game.owners.interval
    epsilon = np.clip(start, low, high)
    inside = np.flatnonzero((epsilon > low) & (epsilon < high))
    jacobian = None
    before = np.inf
    for _ in range(STEPS if inside.size else 0):
        slope = _slopes_at(game, epsilon, inside)
        if jacobian is None:
            jacobian = _slope_changes(game, epsilon, inside, slope)
        step = _solve_finite(jacobian, -slope)
        if step is None or np.any(np.abs(step) > LARGEST * epsilon[inside]):
            return None
        size = float(np.max(np.abs(step) / epsilon[inside]))
        epsilon[inside] = np.clip(epsilon[inside] + step, low[inside], high[inside])
        if size <= ARRIVED:
            break
        if size > FALLS * before:
            jacobian = None
        before = size
    found = certify(game, epsilon, method=FOLLOWED)
    return found if found.converged else None


def solve_quickly(
    game: Game, *, rng: np.random.Generator, start: Array | None = None
) -> Equilibrium:
    """Find the equilibrium that `solve` finds from one start, faster where a game is not additive.

    Owners play `ROUNDS` rounds, under the policy that is roughly the same; then
    `follow_equilibrium` takes over. Where it fails, owners play under the policy itself.
    """
    if game.additive:
        return solve(game, rng=rng, starts=1, start=start)
    rough = replace(game, policy=game.policy.roughly(len(game.owners)))
    begun = solve(rough, rng=rng, starts=1, start=start, max_rounds=ROUNDS)
    if begun.converged and rough.policy == game.policy:
        return begun
    return follow_equilibrium(game, begun.epsilon) or solve(game, rng=rng, starts=1, start=start)


def _slopes_at(game: Game, profile: Array, inside: Array) -> Array:
    """Marginal surplus (k,) of the owners ``inside`` (k,) at a profile (n_owners,)."""
    moves = game.deviations(profile, inside)
    return moves.marginal_surplus(profile[inside, None])[:, 0]


def _slope_changes(game: Game, epsilon: Array, inside: Array, slope: Array) -> Array:
    """Derivatives (k, k) of the marginal surplus by the budgets of the owners ``inside`` (k,)."""
    columns = []
    for owner in inside:
        ahead = epsilon.copy()
        ahead[owner] *= 1 + NUDGE
        columns.append((_slopes_at(game, ahead, inside) - slope) / (NUDGE * epsilon[owner]))
    return np.column_stack(columns)


def _solve_finite(jacobian: Array, right: Array) -> Array | None:
    """Solve linear equations (k, k); None where they do not settle a finite solution."""
    try:
        step = np.linalg.solve(jacobian, right)
    except np.linalg.LinAlgError:
        return None
    return step if np.isfinite(step).all() else None
