"""Mechanisms priced by ratios sensitivity/scale.

Composed basically, or counted by privacy-loss distributions.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.privacy.beliefs import bound_belief, bound_profile_belief, evaluate_columns
from learning.privacy.guarantees import (
    EPSILONS,
    Guarantee,
    Measure,
    measure_pure,
    tabulate_profiles,
)
from learning.privacy.mechanism import FixedHorizon, Mechanism
from learning.privacy.noise import where_noisy

SMALLEST = 1e-3  # budgets that are counted; smaller ones are served in proportion
LARGEST = 500.0  # beyond it exp(-loss) leaves the floating-point range
SHAVE = 1e-4  # taken off every ratio, above the error of interpolation, so that noise errs upwards
ROUNDING = (
    1e-13  # of delta, for each answer: given away to rounding in the accountant's Fourier transform
)


@dataclass(frozen=True)
class ComposedLoss:
    """Privacy-loss distribution of several answers, with its rounding given away.

    Parameters
    ----------
    distribution: of dp-accounting.
    answers: the number of answers composed.
    total_ratio: the sum of their ratios, the epsilon of basic composition.
    """

    distribution: Any
    answers: int
    total_ratio: float

    def epsilon(self, delta: float) -> float:
        """Compute an epsilon at delta, never below the smallest, nor above basic composition."""
        left = delta - ROUNDING * self.answers
        if left <= 9 * ROUNDING * self.answers:
            return self.total_ratio
        return min(self.total_ratio, float(self.distribution.get_epsilon_for_delta(left)))

    def profile(self, epsilon: ArrayLike) -> Array:
        """Compute the least delta at every epsilon (k,), rising, never below the truth."""
        delta = self.distribution.get_delta_for_epsilon(np.asarray(epsilon, dtype=float))
        return np.asarray(delta + ROUNDING * self.answers)

    def belief_bound(self, chance: float) -> float:
        """Bound beliefs except with probability ``chance``, by the profile or by pure DP."""
        pure = float(bound_belief(self.total_ratio, 0.0, chance))
        return min(bound_profile_belief(self.profile, chance), pure)


class BasicComposition(Mechanism):
    """Mechanism whose budget is split evenly over T answers: pure epsilon-DP."""

    compared = True

    @property
    def total_ratio(self) -> float:
        """Sum of all owners' ratios of one answer, in units of one.

        Kappa of answers of a single part.
        """
        parts = (sum(ratio for ratio, _ in each) for each in self.pairs)
        return self.overlap * max(parts, default=1)

    def _noise_scale(self, epsilon: Array, sizes: Array, bound: float, horizon: int) -> Array:
        return 2 * bound * horizon * self.total_ratio / sizes / epsilon

    def noise_term(self, epsilon: ArrayLike) -> Array:
        """4 v kappa^2/epsilon^2 of answers of one part, v the unit variance."""
        return where_noisy(epsilon, lambda e: 4 * self.unit_variance * self.total_ratio**2 / e**2)

    def _term_slope(self, epsilon: Array) -> Array:
        return -2 * self.noise_term(epsilon) / epsilon

    def horizon_factor(self, horizon: ArrayLike) -> Array:
        """T^2."""
        return np.asarray(horizon, dtype=float) ** 2

    def release_budget(self, epsilon: float, horizon: int) -> float | None:
        """epsilon/(T kappa) of answers that are one vector; None of others."""
        return None if self.pairs else epsilon / (horizon * self.overlap)


class CountedComposition(FixedHorizon):
    """Mechanism of one ratio r on at most ``horizon`` answers, counted exactly.

    (epsilon, delta)-DP.

    r(epsilon, delta) is the largest ratio at which the privacy-loss distribution of all answers
    keeps to (epsilon, delta), less 1e-4, above the error of interpolation. It depends on T in no
    separable way, so T is part of the mechanism: variance = bound^2 term(epsilon)/n^2 with term = 4
    v/r^2. Never more noise than basic composition: the larger r of the two is used. Below 0.001 r
    falls in proportion to epsilon, which is enough noise: with log-concave noise, f = exp(-V), the
    loss at shift s is V(z + s) - V(z), convex in s and 0 at s = 0, so a shift c s, c < 1, loses at
    most c times as much, and (1 - exp(c(epsilon - loss)))_+ is at most (1 - exp(epsilon - loss))_+.
    """

    accountings = ("pld",)
    compared = True
    profile_known = True
    announced_horizons = (2, 3, 4, 6, 10, 17)
    largest = LARGEST
    profile_rounding: ClassVar[float] = ROUNDING  # of an answer, in profiles to be attacked

    @property
    @abstractmethod
    def total_ratio(self) -> float:
        """Sum of the ratios of all answers of all owners, in units of r."""

    @abstractmethod
    def _counted_ratio(self, epsilon: Array) -> tuple[Array, Array]:
        """Find the largest ratio by privacy-loss distributions, and d log ratio/d log epsilon."""

    @abstractmethod
    def losses_of_owners(self, ratios: tuple[float, ...], horizon: int) -> list[ComposedLoss]:
        """Compose all answers of owners of these ratios, for each choice of dominating pairs."""

    @abstractmethod
    def losses_of_answers(self, ratio: float, answers: int) -> list[ComposedLoss]:
        """Compose the first answers of one owner, for each choice of dominating pairs."""

    def ratio(self, epsilon: ArrayLike) -> Array:
        """Ratio r = sensitivity/scale of each answer at a budget, or their mean where shares grow.

        Raises
        ------
        InputError
            Beyond a budget of 500, which is not counted.
        """
        epsilon = np.asarray(epsilon, dtype=float)
        return np.maximum(self._counted_ratio(epsilon)[0], epsilon / self.total_ratio)

    def _noise_scale(self, epsilon: Array, sizes: Array, bound: float, horizon: int) -> Array:
        return 2 * bound / sizes / self.ratio(epsilon)

    def _budget_of_term(self, term: float) -> float:
        """Budget at most that of basic composition: so too of less noise than is counted."""
        basic = self.total_ratio * float(np.sqrt(4 * self.unit_variance / term))
        return min(super()._budget_of_term(term), basic)

    def noise_term(self, epsilon: ArrayLike) -> Array:
        """4 v/r(epsilon)^2, v the unit variance."""
        return where_noisy(epsilon, lambda e: 4 * self.unit_variance / self.ratio(e) ** 2)

    def _term_slope(self, epsilon: Array) -> Array:
        counted, elasticity = self._counted_ratio(epsilon)
        elasticity = np.where(counted > epsilon / self.total_ratio, elasticity, 1.0)
        return -2 * self.noise_term(epsilon) * elasticity / epsilon

    def joint_epsilon(self, held: Array, horizon: int) -> Array:
        """Epsilon of all answers of all owners.

        Never more than basic composition or the largest budget.
        """

        def compose_budgets(budgets: tuple[float, ...]) -> float:
            losses = self.losses_of_owners(tuple(self.ratio(budgets).tolist()), horizon)
            return min(max(budgets), max(loss.epsilon(self.delta) for loss in losses))

        return evaluate_columns(compose_budgets, held)

    def belief_bound(self, held: Array, horizon: int, sizes: ArrayLike) -> Array:
        """Bound by the profile of all answers of all owners, or by pure DP at their total ratio."""

        def bound_budgets(budgets: tuple[float, ...]) -> float:
            losses = self.losses_of_owners(tuple(self.ratio(budgets).tolist()), horizon)
            return max(loss.belief_bound(self.but_for) for loss in losses)

        return evaluate_columns(bound_budgets, held)

    def guarantee(self, epsilon: float, horizon: int, answers: int, *, size: int = 1) -> Guarantee:
        """Guarantee pure DP of an even answer, and the accountant's profile of all of them."""
        ratio = float(self.ratio(epsilon))
        single = ratio * max((sum(part for part, _ in each) for each in self.pairs), default=1)

        def spent_epsilon(r: float) -> float:
            if r <= 0:
                return 0.0
            return max(loss.epsilon(self.delta) for loss in self.losses_of_answers(r, answers))

        measure = _profile_measure(self, ratio, answers)
        return Guarantee(measure, ratio, single, spent_epsilon, epsilon, measure_pure, float)


@lru_cache(maxsize=64)
def _profile_measure(mechanism: CountedComposition, ratio: float, answers: int) -> Measure:
    """Make the measure of ratios by the profiles of all answers."""

    def largest_delta(one: float) -> Array:
        losses = mechanism.losses_of_answers(one, answers)
        rounding = mechanism.profile_rounding * losses[0].answers
        deltas = [loss.distribution.get_delta_for_epsilon(EPSILONS) for loss in losses]
        return np.max(deltas, axis=0) + rounding

    return tabulate_profiles(ratio, largest_delta)
