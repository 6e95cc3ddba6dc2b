"""Inequalities of gradient descent that the theorems on training share."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import Array


def descent_path(
    start_excess: float,
    strong_convexity: float,
    smoothness: float,
    steps: ArrayLike,
    squared_noise: float,
) -> Array:
    """Bounds on E f(theta[k]) - f* at k = 1 .. T of theta[k+1] = theta[k] - rho_k (grad f + w_k).

        e[k+1] = a e[k] + (lambda/2) rho_k^2 E|w_k|^2,   a = 1 - 2 L rho_k + L lambda rho_k^2,

    or a = (1 - lambda rho_k)^2 for steps beyond 2/lambda, without projection. This follows from
    f(y) <= f(x) + grad f(x)'(y - x) + lambda/2 |y - x|^2 and the Polyak-Lojasiewicz condition,
    |grad f|^2 >= 2 L (f - f*), which strong convexity implies.

    Parameters
    ----------
    start_excess : f(theta[1]) - f*.
    strong_convexity : L, or mu of the Polyak-Lojasiewicz condition.
    smoothness : lambda, finite.
    steps : array (T-1,).
    squared_noise : E|w_k|^2 over all coordinates.

    Returns
    -------
    array (T,)

    Source: the argument of Wu et al., The Value of Collaboration, Appendix B (there E|w|^2 lacks
        the factor p, and the noise term the factor lambda/2), and of Kang et al., (8)-(11), whose
        steps are 1/lambda.

    >>> descent_path(1.0, 0.5, 1.0, [1.0, 1.0], 0.2).tolist()      # Kang et al.: e/2 + 0.1
    [1.0, 0.6, 0.4]
    """
    path = [float(start_excess)]
    for step in np.asarray(steps, dtype=float):
        left = 1 - 2 * strong_convexity * step + strong_convexity * smoothness * step**2
        if step * smoothness > 2:
            left = (1 - smoothness * step) ** 2
        path.append(left * path[-1] + 0.5 * smoothness * step**2 * squared_noise)
    return np.array(path)


def averaged_bound(
    diameter: float, squared_gradient: float, steps: ArrayLike, weights: ArrayLike
) -> float:
    """Bound on E f(sum u_k theta[k]) - f* of projected steps along noisy subgradients of convex f.

        D^2/2 (u_1/rho_1 + sum max(0, u_k/rho_k - u_{k-1}/rho_{k-1})) + E|g|^2/2 sum u_k rho_k

    Parameters
    ----------
    diameter : D, of the ball that points are projected to.
    squared_gradient : bound on E|g|^2 of a step's noisy subgradient.
    steps : array (T-1,), rho_k.
    weights : array (T-1,), u_k >= 0 with sum 1, of the points that steps are taken from.

    Source: |theta[k+1] - theta*|^2 <= |theta[k] - theta*|^2 - 2 rho_k g'(theta[k] - theta*) +
        rho_k^2 |g|^2, summed up with weights u_k/(2 rho_k); ours for the weights of Algorithm 2 of
        The Value of Collaboration, whose own proof needs differences of weights below 2/(sqrt(T) T
        (T+1)): those of early rounds are larger.

    >>> averaged_bound(2.0, 1.0, [1.0], [1.0])
    2.5
    """
    steps = np.asarray(steps, dtype=float)
    weights = np.asarray(weights, dtype=float)
    rising = np.maximum(np.diff(weights / steps, prepend=0.0), 0.0).sum()
    return float(diameter**2 / 2 * rising + squared_gradient / 2 * (weights * steps).sum())


def last_point_bound(squared_gradient: float, rounds: int, *, strong_convexity: float) -> float:
    """17 E|g|^2 (1 + ln T)/(L T), of the last point under steps 1/(L k).

    Source: Shamir & Zhang 2013, Stochastic Gradient Descent for Non-smooth Optimization, Theorem 1.

    >>> [round(last_point_bound(2.0, rounds, strong_convexity=0.5), 3) for rounds in (1, 10)]
    [68.0, 22.458]
    """
    return float(17 * squared_gradient * (1 + np.log(rounds)) / (strong_convexity * rounds))


def last_point_bound_convex(
    squared_gradient: float, rounds: int, *, diameter: float, constant: float
) -> float:
    """(D^2/c + c E|g|^2)(2 + ln T)/sqrt(T), of the last point under steps c/sqrt(k), f convex.

    Source: Shamir & Zhang 2013, Theorem 2.
    """
    sides = diameter**2 / constant + constant * squared_gradient
    return sides * (2 + np.log(rounds)) / np.sqrt(rounds)


def gossip_gap(n_owners: int) -> float:
    """1 - sqrt(lambda) of the gossip of a learner with one of N owners at a time.

    Appendix B prints lambda as |W_k - 11'W_k/(N+1)|_2^2 of a single round, which is 1 for N >= 2:
    two copies that do not talk do not meet. The matrix of its source is that of the mean round,
    whose second eigenvalue is 1 - 1/(2N) (0 for N = 1): W_k is a projection, and I - E W_k the
    Laplacian of a star over 2N.

    >>> gossip_gap(1), round(gossip_gap(10), 4)
    (1.0, 0.0253)
    """
    if n_owners == 1:
        return 1.0
    return float(1 - np.sqrt(1 - 1 / (2 * n_owners)))
