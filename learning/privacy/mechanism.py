"""Mechanisms: privacy budget <-> noise scale <-> variance, and the claim each one makes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import Array


@dataclass(frozen=True)
class Claim:
    """What exactly is promised to whom; never made for an owner that adds no noise.

    ``simulation`` is true for noise from a seeded generator: the numbers are honest, but must not be handed out.
    """

    party: str
    unit: str
    adjacency: str
    epsilon: float
    delta: float
    rounds: int
    mechanism: str
    protects_against: str
    simulation: bool = True


class Mechanism(Protocol):
    """How an owner's answers are made noisy, and what that costs.

    Over T answers, noise of variance v = bound^2 growth(T) term(epsilon)/n^2 per coordinate spends (epsilon, delta);
    ``norm`` (1 or 2) is the norm in which a record's gradient must be bounded. n is ``counted`` from an owner's records:
    they themselves, but for what some papers print.
    """

    @property
    def name(self) -> str: ...
    @property
    def norm(self) -> int: ...
    @property
    def delta(self) -> float: ...
    def scale(self, epsilon: ArrayLike, sizes: ArrayLike, bound: float, horizon: int) -> Array: ...
    def variance(self, epsilon: ArrayLike, sizes: ArrayLike, bound: float, horizon: int) -> Array: ...
    def epsilon(self, variance: ArrayLike, sizes: ArrayLike, bound: float, horizon: int) -> Array: ...
    def spread(self, variance: ArrayLike) -> Array: ...
    def noise_term(self, epsilon: ArrayLike) -> Array: ...
    def noise_term_slope(self, epsilon: ArrayLike) -> Array: ...
    def noise_denominator(self, sizes: ArrayLike) -> Array: ...
    def horizon_factor(self, horizon: ArrayLike) -> Array: ...
    def draw(self, scale: ArrayLike, shape: tuple[int, ...], *, rng: np.random.Generator) -> Array: ...
    def claim(self, party: str, epsilon: float, horizon: int, unit: str = "one record") -> Claim: ...


def make_claim(mechanism: Mechanism, party: str, epsilon: float, horizon: int, unit: str, account: str) -> Claim:
    """The claim of a mechanism for one owner at one budget; ``account`` names mechanism and accounting.

    Raises
    ------
    ValueError
        If the owner adds no noise (epsilon = inf): nothing is promised then.
    """
    if not 0 <= epsilon < np.inf:
        raise ValueError(f"{party}: no privacy can be claimed at epsilon = {epsilon}")
    against = "anyone who sees all of the owner's answers: the learner, the other owners, the public"
    return Claim(party, unit, "replace one record", float(epsilon), mechanism.delta, horizon, account, against)


def check_noise(epsilon: ArrayLike, sizes: ArrayLike, bound: float, horizon: int) -> tuple[Array, Array]:
    """Budgets and sizes as arrays, after refusing what no noise can be scaled to.

    Raises
    ------
    ValueError
        If a budget is negative or NaN, the horizon below 1, or noise asked for without a finite positive bound.
    """
    epsilon, sizes = np.asarray(epsilon, float), np.asarray(sizes, float)
    if not np.all(epsilon >= 0):
        raise ValueError(f"epsilon must be at least 0, got {epsilon}")
    if horizon < 1:
        raise ValueError(f"horizon must be at least 1 round, got {horizon}")
    if np.any(np.isfinite(epsilon)) and not 0 < bound < np.inf:
        raise ValueError(f"noise needs a finite positive bound on a record's gradient, got {bound}")
    return epsilon, sizes


@dataclass(frozen=True)
class Laplace:
    """Laplace noise on T mean-gradient responses, the budget split evenly over T (basic composition): pure epsilon-DP.

    Each response moves by at most 2 Xi/n in 1-norm when one record is replaced, so noise of scale
    b = 2 Xi T kappa/(n epsilon) per coordinate spends epsilon/(T kappa) a round, and variance is v = 2 b^2.
    The loops of the papers ask T-1 times; the split over T is kept as printed and is slightly conservative.

    Parameters
    ----------
    overlap : kappa >= 1, the number of owners one record may sit with; each spends epsilon/kappa.

    Source: Wu et al., The Value of Collaboration, Theorem 1 and the remark after Assumption 1. E|w|^2 is 2 p b^2: every
    coordinate is counted here, where the published proofs drop p.

    >>> Laplace().variance([1.0, np.inf, 0.0], [100, 100, 100], bound=3.0, horizon=10)
    array([0.72, 0.  ,  inf])
    """

    overlap: int = 1
    name: str = "laplace"
    norm: int = 1
    delta: float = 0.0

    def __post_init__(self) -> None:
        if self.overlap < 1:
            raise ValueError(f"overlap must be at least 1 owner per record, got {self.overlap}")

    def scale(self, epsilon: ArrayLike, sizes: ArrayLike, bound: float, horizon: int) -> Array:
        """Scale b of the noise on each coordinate of each response, (n_owners,); inf at epsilon = 0, 0 at inf.

        Raises
        ------
        ValueError
            If a budget is negative or NaN, the horizon below 1, or noise asked for without a finite positive bound.
        """
        epsilon, sizes = check_noise(epsilon, sizes, bound, horizon)
        reach = 2 * (bound if np.isfinite(bound) else 0.0) * horizon * self.overlap / sizes
        with np.errstate(divide="ignore"):
            return reach / epsilon

    def variance(self, epsilon: ArrayLike, sizes: ArrayLike, bound: float, horizon: int) -> Array:
        """Variance v = 2 b^2 per coordinate of one response."""
        return 2 * self.scale(epsilon, sizes, bound, horizon) ** 2

    def epsilon(self, variance: ArrayLike, sizes: ArrayLike, bound: float, horizon: int) -> Array:
        """The budget that a variance per coordinate costs: the inverse of `variance`."""
        with np.errstate(divide="ignore"):
            return (
                2
                * bound
                * horizon
                * self.overlap
                / (np.asarray(sizes, float) * np.sqrt(np.asarray(variance, float) / 2))
            )

    def spread(self, variance: ArrayLike) -> Array:
        """Scale b of noise of a given variance: sqrt(v/2)."""
        return np.sqrt(np.asarray(variance, dtype=float) / 2)

    def noise_term(self, epsilon: ArrayLike) -> Array:
        """What an owner adds to the noise: 8 kappa^2/epsilon^2; 0 for who shares nothing (its answer is not used).

        With weights n_l/n over those who share, S = bound^2 growth(T) sum(term)/n^2.
        """
        epsilon = np.asarray(epsilon, dtype=float)
        with np.errstate(divide="ignore"):
            return np.where(epsilon > 0, 8 * self.overlap**2 / np.where(epsilon > 0, epsilon, 1.0) ** 2, 0.0)

    def noise_term_slope(self, epsilon: ArrayLike) -> Array:
        """Derivative of `noise_term` at epsilon > 0: -16 kappa^2/epsilon^3."""
        epsilon = np.asarray(epsilon, dtype=float)
        return -2 * self.noise_term(epsilon) / np.where(epsilon > 0, epsilon, 1.0)

    def noise_denominator(self, sizes: ArrayLike) -> Array:
        """The records that an owner's noise is scaled to: its own."""
        return np.asarray(sizes, dtype=float)

    def horizon_factor(self, horizon: ArrayLike) -> Array:
        """How the noise power grows with the number of rounds: T^2."""
        return np.asarray(horizon, dtype=float) ** 2

    def draw(self, scale: ArrayLike, shape: tuple[int, ...], *, rng: np.random.Generator) -> Array:
        """Noise of the given scale; all zeros at scale 0."""
        return rng.laplace(size=shape) * np.asarray(scale, dtype=float)

    def claim(self, party: str, epsilon: float, horizon: int, unit: str = "one record") -> Claim:
        """The promise to one owner's records, one ``unit`` at a time.

        Raises
        ------
        ValueError
            If the owner adds no noise (epsilon = inf): nothing is promised then.
        """
        return make_claim(self, party, epsilon, horizon, unit, self.name)
