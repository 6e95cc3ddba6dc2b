"""The value of collaboration in closed form: the model trained together against the one that an owner could train alone.

A law that is linear in the noise, E f - f* = B + K S, tells both for any sizes and budgets without training. It holds
exactly for squared loss under the synchronous and the averaged algorithm without a ball that binds (`of_quadratic`); of other
algorithms B and K may be fitted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.forecast.public_sample import dispersion
from learning.losses.squared import Fitness, squared_statistics
from learning.training.algorithms import ALGORITHMS
from learning.training.law import Returned, bias_and_gain, quadratic_problem


@dataclass(frozen=True)
class Collaboration:
    """Relative fitness together and alone, of owners alike in kind, under Laplace noise and weights n_l/n.

    Parameters
    ----------
    bias : B, what is left to optimise, in units of fitness.
    gain : K, fitness per unit of the noise's variance per coordinate.
    dispersion : C, a model from m records costs C/m more than the best.
    optimum : f*.
    gradient_bound : Xi, that noise is scaled to.
    horizon : T, the answers that budgets are split over.

    >>> market = Collaboration(bias=1e-4, gain=1.0, dispersion=5.0, optimum=1.0, gradient_bound=1.0, horizon=10)
    >>> market.pays([1.0, 1.0, 1.0], [1000, 1000, 1000]).tolist(), round(market.least_epsilon([1000, 1000, 1000]), 3)
    ([True, True, True], 0.287)
    """

    bias: float
    gain: float
    dispersion: float
    optimum: float
    gradient_bound: float
    horizon: int

    @classmethod
    def of_quadratic(
        cls, x: Array, y: Array, gradient_bound: float, horizon: int, step_size: float, *,
        algorithm: str = "averaged", returned: Returned = "averaged", regularisation: float = 0.0,
    ) -> Self:  # fmt: skip
        """The exact law of squared loss on records (n, p) and (n,), from the start 0, as published.

        Parameters
        ----------
        x, y : records that stand for everybody's.
        gradient_bound : Xi.
        horizon : T.
        step_size : the step-size constant.
        algorithm : "averaged", "synchronous" or "sgd2".
        returned : the point that is returned.
        regularisation : r of r/2 |theta|^2.
        """
        fitness = Fitness(squared_statistics(x, y), regularisation)
        hessian, best, optimum = fitness.hessian, fitness.minimiser, fitness.optimum
        problem = quadratic_problem(
            hessian[None], fitness.statistics.linear[None], hessian[None], best[None], np.ones(1)
        )
        bias, gain = bias_and_gain(problem, ALGORITHMS[algorithm].steps(step_size, horizon), returned)
        spread = dispersion(x, y, best)
        return cls(float(bias[0]), float(gain[0]), spread, optimum, gradient_bound, horizon)

    def noise_power(self, epsilon: ArrayLike, sizes: ArrayLike) -> Array:
        """S = 8 Xi^2 T^2/n^2 sum 1/epsilon^2, (...,) of budgets and sizes (..., n_owners)."""
        epsilon, sizes = np.broadcast_arrays(np.asarray(epsilon, dtype=float), np.asarray(sizes, dtype=float))
        scale = 8 * (self.gradient_bound * self.horizon) ** 2
        return np.asarray(scale * np.sum(epsilon**-2, axis=-1) / sizes.sum(axis=-1) ** 2)

    def together(self, epsilon: ArrayLike, sizes: ArrayLike) -> Array:
        """psi of the model trained together, (B + K S)/f*, (...,) of budgets and sizes (..., n_owners)."""
        return (self.bias + self.gain * self.noise_power(epsilon, sizes)) / self.optimum

    def alone(self, sizes: ArrayLike) -> Array:
        """psi of each owner's own model without noise, C (1/n_l - 1/n)/f*, of sizes (..., n_owners) in that shape."""
        sizes = np.asarray(sizes, dtype=float)
        return np.asarray(self.dispersion * (1 / sizes - 1 / sizes.sum(axis=-1, keepdims=True)) / self.optimum)

    def pays(self, epsilon: ArrayLike, sizes: ArrayLike) -> Array:
        """Whether B + K S < C (1/n_l - 1/n), for each owner, (..., n_owners)."""
        return np.asarray(self.together(epsilon, sizes)[..., None] < self.alone(sizes))

    def least_epsilon(self, sizes: ArrayLike) -> float:
        """The budget of everybody from which collaboration pays the owner that gains most; inf if it never does.

        sqrt(8 N K)(Xi T/n)/sqrt(C (1/n_l - 1/n) - B), n_l the smallest.
        """
        sizes = np.asarray(sizes, dtype=float)
        gained = float(self.alone(sizes).max()) * self.optimum - self.bias
        at_one = self.gain * float(self.noise_power(np.ones(len(sizes)), sizes))
        return float(np.sqrt(at_one / gained)) if gained > 0 else np.inf

    def over_first_owner(
        self, sizes: ArrayLike, epsilon: ArrayLike, other_sizes: ArrayLike, other_epsilon: ArrayLike
    ) -> Array:
        """psi together over sizes (k,) and budgets (m,) of the first owner, (k, m); those of the others are given.

        Source: Wu et al., The Value of Collaboration, Figures 6 and 11, in closed form.

        >>> market = Collaboration(bias=0.0, gain=1.0, dispersion=5.0, optimum=1.0, gradient_bound=1.0, horizon=10)
        >>> market.over_first_owner([1000, 4000], [1.0, 10.0], [1000], [10.0]).round(7).tolist()
        [[0.000202, 4e-06], [3.23e-05, 6e-07]]
        """
        grid = np.meshgrid(np.asarray(sizes, dtype=float), np.asarray(epsilon, dtype=float), indexing="ij")
        whole = [
            np.concatenate([first[..., None], np.broadcast_to(given, (*first.shape, np.size(given)))], axis=-1)
            for first, given in zip(grid, (other_sizes, other_epsilon), strict=True)
        ]
        return self.together(whole[1], whole[0])
