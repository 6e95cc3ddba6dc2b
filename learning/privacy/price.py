"""Prices of noise: the budget that noise of a variance costs, and the noise that a budget buys.

Over T answers, noise of variance v = bound^2 horizon_factor(T) noise_term(epsilon)/N^2 per
coordinate spends (epsilon, delta); N = noise_denominator(sizes), an owner's own records unless a
paper publishes another denominator.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
import scipy
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.errors import InputError
from learning.privacy.noise import NoiseLaw, where_noisy
from learning.privacy.shares import answer_shares

FURTHEST = 50.0  # largest |log budget| at which a price is inverted
DIFFERENCE = 1e-5  # relative step of a numerical slope


class PricedNoise(NoiseLaw):
    """Noise with a price: ``noise_term`` and ``horizon_factor`` must be given.

    Attributes
    ----------
    largest: the largest finite budget that its accountant covers.
    horizon: the most rounds that its noise is priced for; None where any number may be asked.
    growth: the growth of shares that its noise is priced for; None where any growth may be asked.
    """

    largest: float = np.inf
    horizon: int | None = None
    growth: float | None = None

    @abstractmethod
    def noise_term(self, epsilon: ArrayLike) -> Array:
        """Term of an owner in the noise power.

        0 at epsilon = 0, where nothing is shared, and at inf.
        """

    @abstractmethod
    def horizon_factor(self, horizon: ArrayLike) -> Array:
        """Growth of the noise power with the number of rounds."""

    def noise_denominator(self, sizes: ArrayLike) -> Array:
        """Records that an owner's noise is scaled to: its own by default."""
        return np.asarray(sizes, dtype=float)

    def noise_term_slope(self, epsilon: ArrayLike) -> Array:
        """Derivative of `noise_term` at epsilon > 0, 0 elsewhere."""
        return where_noisy(epsilon, self._term_slope)

    def _term_slope(self, epsilon: Array) -> Array:
        """Derivative at noisy budgets, by differences."""
        step = DIFFERENCE * epsilon
        return (self.noise_term(epsilon + step) - self.noise_term(epsilon - step)) / (2 * step)

    def scale(self, epsilon: ArrayLike, sizes: ArrayLike, bound: float, horizon: int) -> Array:
        """Scale of the noise on each coordinate of each answer; inf at epsilon = 0, 0 at inf.

        Parameters
        ----------
        epsilon: array (n_owners,), the budgets over all answers.
        sizes: array (n_owners,), the records of each owner.
        bound: Xi or G, half the largest distance of two records' gradients in ``norm``.
        horizon: T, the answers that the budget covers.

        Raises
        ------
        ValueError
            If a budget is negative or NaN, the horizon below 1 or beyond the accounted one, or
            noise is asked for without a finite positive bound.
        InputError
            If a budget lies beyond what the accountant covers.
        """
        epsilon = np.asarray(epsilon, float)
        sizes = np.asarray(sizes, float)
        if not np.all(epsilon >= 0):
            raise ValueError(f"epsilon must be at least 0, got {epsilon}")
        if horizon < 1:
            raise ValueError(f"horizon must be at least 1 round, got {horizon}")
        if np.any(np.isfinite(epsilon)) and not 0 < bound < np.inf:
            raise ValueError(
                f"noise needs a finite positive bound on a record's gradient, got {bound}"
            )
        self.check_horizon(horizon)
        noisy = where_noisy(epsilon, lambda e: self._noise_scale(e, sizes, bound, horizon))
        return np.where(epsilon > 0, noisy, np.inf)

    def _noise_scale(self, epsilon: Array, sizes: Array, bound: float, horizon: int) -> Array:
        """Scale at noisy budgets."""
        power = bound**2 * self.horizon_factor(horizon) * self.noise_term(epsilon)
        return self.scale_of_variance(power) / self.noise_denominator(sizes)

    def check_horizon(self, horizon: ArrayLike) -> None:
        """Refuse, with a ValueError, more rounds than the noise is priced for."""
        if self.horizon is not None and np.max(horizon) > self.horizon:
            raise ValueError(
                f"horizon must be at most the accounted {self.horizon} rounds, got "
                f"{np.max(horizon)}"
            )

    def relative_scales(self, growth: float, horizon: int) -> Array:
        """Compute the scale of each answer's noise for growing shares, over that of the even split.

        Parameters
        ----------
        growth: each share over the one before.
        horizon: T, the answers that the budget covers; of noise priced for more of them, the first
            T.

        Raises
        ------
        InputError
            If all answers must get the same noise.
        ValueError
            If the noise is priced for another growth.
        """
        if self.growth is not None and growth != self.growth:
            raise ValueError(
                f"noise priced for shares that grow by {self.growth:g} serves none that "
                f"grow by {growth:g}"
            )
        if growth == 1:
            return np.ones(horizon)
        if self.share_power is None:
            rule = f"must be 1 with {self.label} noise, of which all answers are alike"
            raise InputError("learning.growth", rule, growth)
        answers = self.horizon or horizon
        return np.asarray((answers * answer_shares(growth, answers)[:horizon]) ** -self.share_power)

    def variance(self, epsilon: ArrayLike, sizes: ArrayLike, bound: float, horizon: int) -> Array:
        """Variance per coordinate of one answer."""
        return np.asarray(self.unit_variance * self.scale(epsilon, sizes, bound, horizon) ** 2)

    def epsilon(self, variance: ArrayLike, sizes: ArrayLike, bound: float, horizon: int) -> Array:
        """Budget that a variance per coordinate costs: the inverse of `variance`."""
        power = np.asarray(variance, float) * self.noise_denominator(sizes) ** 2
        return self.budget(power / (bound**2 * self.horizon_factor(horizon)))

    def budget(self, term: ArrayLike) -> Array:
        """Epsilon at which `noise_term` takes a value: its inverse, inf at 0 and 0 at inf."""
        term = np.asarray(term, dtype=float)
        inside = np.where((term > 0) & np.isfinite(term), term, 1.0)
        found = np.vectorize(self._budget_of_term, otypes=[float])(inside)
        return np.where(np.isfinite(term), np.where(term > 0, found, np.inf), 0.0)

    def _budget_of_term(self, term: float) -> float:
        """Solve noise_term(epsilon) = term, which falls; 0 or inf where no budget in reach does."""

        def excess_log(log_epsilon: float) -> float:
            found = float(self.noise_term(np.exp(log_epsilon)))
            return float(np.log(max(found, 1e-300)) - np.log(term))

        low = -FURTHEST
        high = min(FURTHEST, float(np.log(self.largest)))
        if excess_log(low) < 0:
            return 0.0
        if excess_log(high) > 0:
            return np.inf
        return float(np.exp(scipy.optimize.brentq(excess_log, low, high, xtol=1e-14)))
