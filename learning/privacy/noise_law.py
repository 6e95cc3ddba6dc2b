"""The law of a mechanism's noise: what one must give, and what follows for scales, shares and parts.

Over T answers, noise of variance v = bound^2 horizon_factor(T) noise_term(epsilon)/N^2 per coordinate spends
(epsilon, delta); N = noise_denominator(sizes), an owner's own records but for what some papers publish.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np
import scipy
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.declaration import Declaration
from learning.errors import InputError
from learning.privacy.shares import shares

FURTHEST = 50.0  # log of the largest budget, and minus that of the smallest, that the inverse is looked for at
TAIL = 100  # draws in the tail that a quantile is taken from
DIFFERENCE = 1e-5  # relative step of a slope that a mechanism does not give itself


class NoiseLaw(Declaration, ABC):
    """The law of a mechanism's noise: ``norm``, ``noise_term``, ``horizon_factor`` and ``draw`` must be given.

    Attributes
    ----------
    name: what scenario files and results call it; the name of its class unless given.
    title: what reports call its noise; "<Name> noise" unless given.
    unit_variance: the variance of ``draw`` at scale 1.
    share_power: the power of an answer's share of the budget that the scale of its noise falls with, 1 where budgets add and
        1/2 where squared distances do; None where all answers must be alike.
    divides: whether several owners can make its noise together, each a `part` of it.
    parts: into how many parts its noise is divided; a draw is one of them.
    whole: whether it is never divided, whatever ``parts`` is.
    norm: 1 or 2, the norm in which a record's gradient must be bounded.
    accounting: how its cost is counted.
    largest: the largest finite budget that its accountant covers.
    horizon: the most rounds that its noise is priced for; None where any number may be asked.
    growth: the growth of shares that its noise is priced for; None where shares may grow by any.
    pairs: what one answer is made of, where its parts have noise of their own (`learning.privacy.l2.AccountedL2`).
    """

    where: ClassVar[str] = "learning"
    name: ClassVar[str] = ""
    title: ClassVar[str] = ""
    share_power: ClassVar[float | None] = None
    divides: ClassVar[bool] = False
    parts: int = 1
    whole: ClassVar[bool] = True
    accounting: str = "basic"
    largest: float = np.inf
    horizon: int | None = None
    growth: float | None = None
    pairs: tuple[tuple[tuple[float, int], ...], ...] = ()

    # What a mechanism must give

    @property
    @abstractmethod
    def norm(self) -> int: ...

    @abstractmethod
    def noise_term(self, epsilon: ArrayLike) -> Array:
        """What an owner adds to the noise; 0 at epsilon = 0, who shares nothing, and at inf."""

    @abstractmethod
    def horizon_factor(self, horizon: ArrayLike) -> Array:
        """How the noise power grows with the number of rounds."""

    @abstractmethod
    def draw(self, scale: ArrayLike, shape: tuple[int, ...], *, rng: np.random.Generator) -> Array:
        """Noise of the given scale; all zeros at scale 0."""

    # What follows for its noise

    def beside_moments(self, share: float) -> float:
        """How much wider noise on scores is for second moments released beside them (`learning.losses.scores`)."""
        raise TypeError(f"{self.title} is not drawn for second moments and scores together")

    def draw_release(self, widths: Sequence[int], *, rng: np.random.Generator) -> Array:
        """Noise of variance 1 on the parts of one release, so many numbers each: one draw of all of them."""
        return self.draw(1.0, (sum(widths),), rng=rng) / np.sqrt(self.unit_variance)

    @property
    def unit_variance(self) -> float:
        return 1.0

    def noise_denominator(self, sizes: ArrayLike) -> Array:
        """The records that an owner's noise is scaled to: its own, unless a mechanism says otherwise."""
        return np.asarray(sizes, dtype=float)

    def noise_term_slope(self, epsilon: ArrayLike) -> Array:
        """Derivative of `noise_term` at epsilon > 0, 0 elsewhere."""
        return where_noisy(epsilon, self._slope)

    def _slope(self, epsilon: Array) -> Array:
        """The derivative at noisy budgets, by differences unless a mechanism knows better."""
        step = DIFFERENCE * epsilon
        return (self.noise_term(epsilon + step) - self.noise_term(epsilon - step)) / (2 * step)

    def scale(self, epsilon: ArrayLike, sizes: ArrayLike, bound: float, horizon: int) -> Array:
        """Scale of the noise on each coordinate of each answer, (n_owners,); inf at epsilon = 0, 0 at inf.

        Parameters
        ----------
        epsilon: array (n_owners,), the budgets over all answers.
        sizes: array (n_owners,), the records of each owner.
        bound: Xi or G, half the furthest that two records' gradients lie apart in ``norm``.
        horizon: T, the answers that the budget covers.

        Raises
        ------
        ValueError
            If a budget is negative or NaN, the horizon below 1 or beyond the accounted one, or noise is asked for without
            a finite positive bound.
        InputError
            If a budget lies beyond what the accountant covers.
        """
        epsilon, sizes = np.asarray(epsilon, float), np.asarray(sizes, float)
        if not np.all(epsilon >= 0):
            raise ValueError(f"epsilon must be at least 0, got {epsilon}")
        if horizon < 1:
            raise ValueError(f"horizon must be at least 1 round, got {horizon}")
        if np.any(np.isfinite(epsilon)) and not 0 < bound < np.inf:
            raise ValueError(f"noise needs a finite positive bound on a record's gradient, got {bound}")
        self.check_horizon(horizon)
        return np.where(epsilon > 0, where_noisy(epsilon, lambda e: self._scale(e, sizes, bound, horizon)), np.inf)

    def _scale(self, epsilon: Array, sizes: Array, bound: float, horizon: int) -> Array:
        """The scale at noisy budgets."""
        power = bound**2 * self.horizon_factor(horizon) * self.noise_term(epsilon)
        return self.spread(power) / self.noise_denominator(sizes)

    def relative_scales(self, growth: float, horizon: int) -> Array:
        """Scale of the noise on each answer where shares of the budget grow, over that of the even split, (horizon,).

        Parameters
        ----------
        growth: each share over the one before.
        horizon: T, the answers that the budget covers; of noise priced for more of them, the first T.

        Raises
        ------
        InputError
            If its answers must be alike.
        ValueError
            If its noise is priced for another growth.
        """
        if self.growth is not None and growth != self.growth:
            raise ValueError(
                f"noise priced for shares that grow by {self.growth:g} serves none that grow by {growth:g}"
            )
        if growth == 1:
            return np.ones(horizon)
        if self.share_power is None:
            rule = f"must be 1 with {self.label} noise, of which all answers are alike"
            raise InputError("learning.growth", rule, growth)
        answers = horizon if self.horizon is None else self.horizon
        return np.asarray((answers * shares(growth, answers)[:horizon]) ** -self.share_power)

    def variance(self, epsilon: ArrayLike, sizes: ArrayLike, bound: float, horizon: int) -> Array:
        """Variance per coordinate of one answer."""
        return np.asarray(self.unit_variance * self.scale(epsilon, sizes, bound, horizon) ** 2)

    def spread(self, variance: ArrayLike) -> Array:
        """Scale of noise of a given variance."""
        return np.sqrt(np.asarray(variance, dtype=float) / self.unit_variance)

    def epsilon(self, variance: ArrayLike, sizes: ArrayLike, bound: float, horizon: int) -> Array:
        """The budget that a variance per coordinate costs: the inverse of `variance`."""
        power = np.asarray(variance, float) * self.noise_denominator(sizes) ** 2
        return self.budget(power / (bound**2 * self.horizon_factor(horizon)))

    def budget(self, term: ArrayLike) -> Array:
        """The epsilon at which `noise_term` comes to so much (...): its inverse, inf at 0 and 0 at inf."""
        term = np.asarray(term, dtype=float)
        found = np.vectorize(self._budget, otypes=[float])(np.where((term > 0) & np.isfinite(term), term, 1.0))
        return np.where(np.isfinite(term), np.where(term > 0, found, np.inf), 0.0)

    def _budget(self, term: float) -> float:
        """The epsilon at which `noise_term`, which falls, comes to so much; 0 or inf where no budget in reach does."""

        def excess(log_epsilon: float) -> float:
            found = float(self.noise_term(np.exp(log_epsilon)))
            return float(np.log(max(found, 1e-300)) - np.log(term))

        low, high = -FURTHEST, min(FURTHEST, float(np.log(self.largest)))
        if excess(low) < 0 or excess(high) > 0:
            return 0.0 if excess(low) < 0 else np.inf
        return float(np.exp(scipy.optimize.brentq(excess, low, high, xtol=1e-14)))

    def longest(self, width: int, level: float) -> float:
        """What the norm of noise of scale 1 on so many coordinates exceeds with a chance of ``level``, as draws show."""
        drawn = self.draw(1.0, (int(TAIL / level), width), rng=np.random.default_rng(width))
        return float(np.quantile(np.linalg.norm(drawn, ord=self.norm, axis=1), 1 - level))

    def length_law(self, width: int) -> tuple[float, float]:
        """(a, k) such that (length/scale)^k/k of noise on so many numbers is a Gamma(a) variable, the length in ``norm``.

        Such variables of several answers add up to one of the sum of their a.

        Raises
        ------
        InputError
            If its length has no such law.
        """
        rule = f"must have lengths of a known law, which {self.label} noise has not"
        raise InputError("learning.mechanism", rule)

    def swing(self, level: float) -> float:
        """How many times the standard deviation all numbers of one answer may have together, but for a chance of ``level``.

        1 where they are independent; above it where a draw makes them all large, or all small, at once.
        """
        return 1.0

    def part(self, parts: int, scale: ArrayLike, shape: tuple[int, ...], *, rng: np.random.Generator) -> Array:
        """One of so many independent parts that add up to noise of the given scale, as `draw` has it.

        Raises
        ------
        InputError
            If its noise cannot be divided.
        """
        rule = f'must be "local" with {self.label} noise, which owners cannot divide among them'
        raise InputError("trust.aggregation", rule, "secure")

    def of_parts(self, epsilon: ArrayLike, share: float) -> Array:
        """What budgets become where the noise is made of ``share`` times the parts that make up all of it, (...).

        With more parts than make it up no more than was sold; with fewer, by default, nothing is known: inf.
        """
        epsilon = np.asarray(epsilon, dtype=float)
        return np.where((share >= 1) | (epsilon == 0), epsilon, np.inf)

    @property
    def label(self) -> str:
        """Its name, with the accounting where that is not the basic one."""
        return self.name if self.accounting == "basic" else f"{self.name} ({self.accounting})"

    def check_horizon(self, horizon: ArrayLike) -> None:
        """Refuse, with a ValueError, more rounds than the noise is priced for."""
        if self.horizon is not None and np.max(horizon) > self.horizon:
            raise ValueError(f"horizon must be at most the accounted {self.horizon} rounds, got {np.max(horizon)}")


def where_noisy(epsilon: ArrayLike, law: Callable[[Array], Array]) -> Array:
    """law(epsilon) at budgets above 0 and finite, 0 elsewhere: who shares nothing, or adds no noise, adds none.

    >>> where_noisy([0.0, 2.0, np.inf], lambda epsilon: 8 / epsilon**2).tolist()
    [0.0, 2.0, 0.0]
    """
    epsilon = np.asarray(epsilon, dtype=float)
    if epsilon.size and epsilon.min() > 0 and epsilon.max() < np.inf:
        return np.asarray(law(epsilon), dtype=float)
    noisy = (epsilon > 0) & np.isfinite(epsilon)
    return np.where(noisy, law(np.where(noisy, epsilon, 1.0)), 0.0)
