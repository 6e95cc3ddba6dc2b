"""Bounds on the quality of a trained model: their inputs, their form, and common inequalities.

All on the scale of mean gradients. f is the training cost, L and lambda its smallest and largest
curvature, V = p S the expected squared 2-norm of a round's aggregated noise, S its variance per
coordinate. The theorems of the papers are in `learning.training.theorems`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.training.law import Returned

Unmet = Literal[
    "ball",
    "unbounded",
    "step",
    "horizon",
    "common_path",
    "epsilon",
    "delta",
    "rounds",
    "convexity",
    "smoothness",
    "point",
]


@dataclass(frozen=True)
class BoundInputs:
    """Inputs of the published bounds, in the coordinates that are trained.

    Parameters
    ----------
    epsilon: array (n_sharing,), the budgets of those who share, above 0.
    total_size: n, all their records.
    gradient_bound: Xi, or G in 2-norm, that noise is scaled to.
    step_size: the step-size constant.
    strong_convexity: L of the training cost.
    excess: E f - f* as forecast.
    n_parameters: p.
    horizon: T.
    steps: array (queries,), step size of each query.
    returned: the point returned.
    decline: the power of the round that steps fall with.
    smoothness: lambda of the training cost; inf where it has kinks.
    lipschitz: largest 2-norm of a record's gradient in the ball.
    own_convexity: sigma, the strong convexity of g_1.
    own_gradient_bound: Xi_g, largest 1-norm of the gradient of g_1 in the ball.
    ball_diameter: of the ball in 2-norm; inf if there is none.
    start_excess: f(theta[1]) - f*.
    noise_power: S, variance per coordinate of a round's aggregated noise.
    answer_noise: variance per coordinate of the noisiest answer.
    delta: the failure probability that answers are priced for; 0 if they are pure.
    """

    epsilon: Array
    total_size: float
    gradient_bound: float
    step_size: float
    strong_convexity: float
    excess: float
    n_parameters: int = 1
    horizon: int = 2
    steps: Array = field(default_factory=lambda: np.zeros(1))
    returned: Returned = "last"
    decline: float = 0.0
    smoothness: float = np.inf
    lipschitz: float = np.inf
    own_convexity: float = 0.0
    own_gradient_bound: float = np.inf
    ball_diameter: float = np.inf
    start_excess: float = np.inf
    noise_power: float = 0.0
    answer_noise: float = 0.0
    delta: float = 0.0

    @property
    def n_owners(self) -> int:
        """N of those who share."""
        return len(self.epsilon)

    @property
    def squared_noise(self) -> float:
        """V = p S: expected squared 2-norm of a round's noise."""
        return self.n_parameters * self.noise_power

    @property
    def inverse_squares(self) -> float:
        """The sum of 1/epsilon^2."""
        return float(np.sum(1 / self.epsilon**2))

    @property
    def start_distance(self) -> float:
        """Upper bound on |theta[1] - theta*|^2."""
        by_ball = self.ball_diameter**2
        if self.strong_convexity > 0:
            return float(min(2 * self.start_excess / self.strong_convexity, by_ball))
        return float(by_ball)

    def squared_gradient(self, squared_noise: float) -> float:
        """Bound on E|g|^2 of a noisy gradient: (G + |grad g_1|)^2 + E|w|^2."""
        return (self.lipschitz + self.own_gradient_bound) ** 2 + squared_noise

    def descent_path(self) -> Array:
        """Bounds on the excess along the path, by `descent_path`."""
        return descent_path(
            self.start_excess,
            self.strong_convexity,
            self.smoothness,
            self.steps,
            self.squared_noise,
        )


@dataclass(frozen=True)
class Bound:
    """A theorem's bound on one training; None for what it does not bound.

    Parameters
    ----------
    theorem: its name in its paper.
    point: the point that it is about: the one returned, or the best of the path.
    excess: bound on E f - f* as printed.
    distance: bound on E |theta - theta*|^2 as printed, in the coordinates that are trained.
    constant: an open constant's value at which the bound meets the forecast; another horizon needs
        another.
    corrected: bound on E f - f* by the same proof without its slips, for these very steps.
    corrected_distance: the same on E |theta - theta*|^2.
    unmet: assumptions of the theorem that do not hold here, as codes.
    """

    theorem: str
    point: Literal["returned", "best"] = "returned"
    excess: float | None = None
    distance: float | None = None
    constant: float | None = None
    corrected: float | None = None
    corrected_distance: float | None = None
    unmet: tuple[Unmet, ...] = ()


def finite_or_none(value: float) -> float | None:
    """Return a bound, or None for one that is not finite."""
    return float(value) if np.isfinite(value) else None


def descent_path(
    start_excess: float,
    strong_convexity: float,
    smoothness: float,
    steps: ArrayLike,
    squared_noise: float,
) -> Array:
    """Bounds on E f(theta[k]) - f* at k = 1 .. T of theta[k+1] = theta[k] - rho_k (grad f + w_k).

        e[k+1] = a e[k] + (lambda/2) rho_k^2 E|w_k|^2,   a = 1 - 2 L rho_k + L lambda rho_k^2,

    or a = (1 - lambda rho_k)^2 of steps beyond 2/lambda, without projection. From f(y) <= f(x) +
    grad f(x)'(y - x) + lambda/2 |y - x|^2 and |grad f|^2 >= 2 L (f - f*), the Polyak-Lojasiewicz
    condition, which strong convexity implies.

    Parameters
    ----------
    start_excess : f(theta[1]) - f*.
    strong_convexity : L, or mu of the Polyak-Lojasiewicz condition.
    smoothness : lambda, finite.
    steps : array (T-1,).
    squared_noise : E|w_k|^2, of all coordinates together.

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
    """
    return 17 * squared_gradient * (1 + np.log(rounds)) / (strong_convexity * rounds)


def last_point_bound_convex(
    squared_gradient: float, rounds: int, *, diameter: float, constant: float
) -> float:
    """(D^2/c + c E|g|^2)(2 + ln T)/sqrt(T), of the last point under steps c/sqrt(k), f convex.

    Source: Shamir & Zhang 2013, Theorem 2.
    """
    sides = diameter**2 / constant + constant * squared_gradient
    return sides * (2 + np.log(rounds)) / np.sqrt(rounds)
