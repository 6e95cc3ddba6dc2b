"""Noise: its law and its price.

Over T answers, noise of variance v = bound^2 horizon_factor(T) noise_term(epsilon)/N^2 per
coordinate spends (epsilon, delta); N = noise_denominator(sizes), an owner's own records unless a
paper publishes another denominator.
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
from learning.privacy.accounting import Accounting
from learning.privacy.shares import answer_shares

TAIL = 100  # draws beyond an empirical quantile
FURTHEST = 50.0  # largest |log budget| at which a price is inverted
DIFFERENCE = 1e-5  # relative step of a numerical slope
GROWTHS = (1.0, 1.5, 2.0, 3.0, 4.0)  # tried where the growth is left open
LARGEST = 10.0  # growth that may be stated
STEEPEST = 1e6  # last share over the first: beyond it the first answers are nothing but noise
BEYOND = 1e-4  # relative excess over the largest budget that is served, for numerical derivatives


def share_ratio(growth: float, answers: int) -> float:
    """Compute the largest share over the smallest; inf on overflow."""
    with np.errstate(over="ignore"):
        return float(np.float64(max(growth, 1 / growth)) ** (answers - 1))


def open_growths(growth: float | None, answers: int) -> tuple[float, ...]:
    """List the growths worth trying: the stated one, else those of GROWTHS that are not too steep.

    >>> open_growths(None, 2), open_growths(None, 30), open_growths(2.0, 100)
    ((1.0, 1.5, 2.0, 3.0, 4.0), (1.0, 1.5), ())
    """
    tried = GROWTHS if growth is None else (growth,)
    return tuple(one for one in tried if share_ratio(one, answers) <= STEEPEST)


class NoiseLaw(Declaration, Accounting, ABC):
    """Law of a mechanism's noise: ``norm`` and ``draw`` must be given.

    Attributes
    ----------
    name: the name in scenario files and results; that of the class unless given.
    title: the name in reports; "<Name> noise" unless given.
    length_power: k such that (length/scale)^k/k is gamma distributed of shape p/k, the length of p
        numbers in ``norm``; None of other laws.
    share_power: the power of an answer's share of the budget that the scale of its noise falls
        with, 1 where budgets add and 1/2 where squared distances do; None where all answers must
        get the same noise.
    divides: whether several owners can make the noise together, each by `draw_part`.
    widens: whether further noise makes it that of a smaller budget, by `draw_further`.
    parts: the number of independent draws that make up the noise.
    whole: whether the noise is always one draw.
    """

    where: ClassVar[str] = "learning"
    length_power: ClassVar[int | None] = None
    share_power: ClassVar[float | None] = None
    divides: ClassVar[bool] = False
    widens: ClassVar[bool] = False
    whole: ClassVar[bool] = True
    parts: int = 1

    @property
    @abstractmethod
    def norm(self) -> int: ...

    @abstractmethod
    def draw(self, scale: ArrayLike, shape: tuple[int, ...], *, rng: np.random.Generator) -> Array:
        """Draw noise of a scale; zeros at scale 0."""

    def draw_part(
        self, parts: int, scale: ArrayLike, shape: tuple[int, ...], *, rng: np.random.Generator
    ) -> Array:
        """Draw one of several independent parts that add up to noise of a scale.

        Raises
        ------
        InputError
            If the noise cannot be divided.
        """
        rule = (
            f'must be "local" with {self.label} noise, because owners cannot divide it among them'
        )
        raise InputError("trust.aggregation", rule, "secure")

    def draw_release(self, widths: Sequence[int], *, rng: np.random.Generator) -> Array:
        """Draw noise of variance 1 for one release of several parts, ``widths`` numbers each."""
        return self.draw(1.0, (sum(widths),), rng=rng) / np.sqrt(self.unit_variance)

    def draw_further(
        self, factor: float, widths: Sequence[int], *, rng: np.random.Generator
    ) -> Array:
        """Draw noise that, added to that of `draw_release`, makes it ``factor`` > 1 times as wide.

        What is told first, at a small budget, is then the later answer with further noise, and both
        together tell no more than the later one alone.

        Raises
        ------
        TypeError
            If no such noise is known.

        Source: Koufogiannis, Han and Pappas, Gradual Release of Sensitive Data under Differential
            Privacy.
        """
        raise TypeError(f"{self.title} is not known to become wider by further noise")

    def draw_release_part(
        self, parts: int, widths: Sequence[int], *, rng: np.random.Generator
    ) -> Array:
        """Draw noise of variance 1, of which ``parts`` make up `draw_release` sqrt(parts) as wide.

        Raises
        ------
        InputError
            If the noise cannot be divided.
        """
        drawn = self.draw_part(parts, np.sqrt(parts), (sum(widths),), rng=rng)
        return drawn / np.sqrt(self.unit_variance)

    def beside_moments(self, share: float) -> float:
        """Factor of the noise on scores when second moments are released with them."""
        raise TypeError(f"{self.title} is not drawn for second moments and scores together")

    def scale_of_variance(self, variance: ArrayLike) -> Array:
        """Scale of noise of a given variance."""
        return np.sqrt(np.asarray(variance, dtype=float) / self.unit_variance)

    def length_law(self, width: int) -> tuple[float, float]:
        """Shape a and power k such that (length/scale)^k/k of p numbers is a Gamma(a) variable.

        Such variables of independent answers add up to one whose shape is the sum.

        Raises
        ------
        InputError
            If the length has no such law.
        """
        if self.length_power is None:
            rule = f"must have a known distribution of lengths, unlike {self.label} noise"
            raise InputError("learning.mechanism", rule)
        return width / self.length_power, float(self.length_power)

    def length_quantile(self, width: int, level: float) -> float:
        """Length of ``width`` numbers of scale 1 that is exceeded with probability ``level``."""
        if self.length_power is None:
            return self.empirical_length_quantile(width, level)
        shape, power = self.length_law(width)
        return float((power * scipy.special.gammainccinv(shape, level)) ** (1 / power))

    def empirical_length_quantile(self, width: int, level: float) -> float:
        """The same quantile estimated from draws."""
        drawn = self.draw(1.0, (int(TAIL / level), width), rng=np.random.default_rng(width))
        return float(np.quantile(np.linalg.norm(drawn, ord=self.norm, axis=1), 1 - level))

    def deviation_quantile(self, level: float) -> float:
        """Standard deviation of one draw over the usual one, exceeded with probability ``level``.

        1 where numbers are independent; above 1 where one draw makes all of them large or small.
        """
        return 1.0


def where_noisy(epsilon: ArrayLike, law: Callable[[Array], Array]) -> Array:
    """Evaluate law(epsilon) at finite positive budgets; 0 elsewhere, where no noise is added.

    >>> where_noisy([0.0, 2.0, np.inf], lambda epsilon: 8 / epsilon**2).tolist()
    [0.0, 2.0, 0.0]
    """
    epsilon = np.asarray(epsilon, dtype=float)
    if epsilon.size and epsilon.min() > 0 and epsilon.max() < np.inf:
        return np.asarray(law(epsilon), dtype=float)
    noisy = (epsilon > 0) & np.isfinite(epsilon)
    return np.where(noisy, law(np.where(noisy, epsilon, 1.0)), 0.0)


class PricedNoise(NoiseLaw):
    """Noise with a price: ``noise_term`` and ``horizon_factor`` must be given.

    Attributes
    ----------
    largest: the largest finite budget that its accountant covers.
    growth: the growth of shares that its noise is priced for; None where any growth may be asked.
    """

    largest: float = np.inf
    growth: float | None = None

    @abstractmethod
    def noise_term(self, epsilon: ArrayLike) -> Array:
        """Term of an owner in the noise power; 0 at inf, and at 0, where nothing is shared."""

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
            rule = f"must be 1 with {self.label} noise, whose answers all have equal noise"
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


def tabulate_distance(
    nodes: Array,
    delta: float,
    delta_at: Callable[[Array, Array], Array],
    lowest: float,
    bisections: int,
) -> scipy.interpolate.PchipInterpolator:
    """Tabulate log distance by log epsilon: the largest distance that keeps to delta.

    It is found by bisection, at all nodes at once.

    Parameters
    ----------
    nodes: array (k,), rising, epsilon.
    delta: the failure probability.
    delta_at: (epsilon, distance) -> the least delta of a mechanism of that distance.
    lowest: a lower bound on the distances; the upper bound is 1,000.
    bisections: their number.
    """
    low = np.full(len(nodes), np.log(lowest))
    high = np.full(len(nodes), np.log(1e3))
    for _ in range(bisections):
        middle = (low + high) / 2
        above = delta_at(nodes, np.exp(middle)) > delta
        low = np.where(above, low, middle)
        high = np.where(above, middle, high)
    return scipy.interpolate.PchipInterpolator(np.log(nodes), low)


def check_covered(epsilon: Array, largest: float, where: str) -> None:
    """Refuse, with an InputError, budgets beyond the largest in a table."""
    if np.any(epsilon > largest * (1 + BEYOND)):
        rule = f"must be at most {largest:g} {where}"
        raise InputError("owners.epsilon", rule, f"{epsilon.max():g}", "Lower it.")


def read_table(
    table: Callable[..., Array], epsilon: Array, lowest: float, largest: float, shave: float
) -> tuple[Array, Array]:
    """Read the distance, less a share that errs upwards in noise, and its elasticity.

    Below the table the distance is in proportion to epsilon. ``table`` gives log distance at log
    epsilon, and with a second argument of 1 its slope.
    """
    distance = read_distance(table, epsilon, lowest, largest, shave)
    slopes = table(np.log(np.clip(epsilon, lowest, largest)), 1)
    return distance, np.where(epsilon > lowest, slopes, 1.0)


def read_distance(
    table: Callable[..., Array], epsilon: Array, lowest: float, largest: float, shave: float
) -> Array:
    """Read the distance alone, as `read_table` has it."""
    logs = np.log(np.clip(epsilon, lowest, largest))
    return np.asarray(np.exp(table(logs)) * (1 - shave) * np.minimum(epsilon / lowest, 1.0))
