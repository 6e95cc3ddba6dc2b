"""Gaussian noise on mean-gradient answers: approximate (epsilon, delta)-DP, accounted by zCDP or exactly."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import PchipInterpolator
from scipy.special import log_ndtr, ndtri

from learning.arrays import Array
from learning.errors import InputError
from learning.privacy.mechanism import Claim, Laplace, check_noise, make_claim

SMALLEST, LARGEST = 1e-3, 1e3  # budgets the exact accountant tabulates; smaller ones are served the noise of 0
BEYOND = 1e-4  # a budget this little beyond the largest is served its noise: derivatives are taken around it
NODES = 3000
BISECTIONS = 100


def gaussian_delta(epsilon: ArrayLike, distance: ArrayLike) -> Array:
    """Smallest delta of a Gaussian mechanism: Phi(m/2 - e/m) - exp(e) Phi(-m/2 - e/m), m = sensitivity/deviation.

    Parameters
    ----------
    epsilon : array, e >= 0. distance : array, m > 0; T answers of one deviation have m sqrt(T).

    Source: Balle and Wang, Improving the Gaussian Mechanism for Differential Privacy, Theorem 8.

    >>> round(float(gaussian_delta(1.0, 1.0)), 6)
    0.126937
    """
    epsilon, distance = np.asarray(epsilon, dtype=float), np.asarray(distance, dtype=float)
    first = log_ndtr(distance / 2 - epsilon / distance)
    second = epsilon + log_ndtr(-distance / 2 - epsilon / distance)
    return np.exp(first) * -np.expm1(np.minimum(second - first, 0.0))


@lru_cache(maxsize=64)
def _exact_table(delta: float) -> PchipInterpolator:
    """log distance as a monotone function of log epsilon at this delta, found by bisection on every node at once."""
    nodes = np.geomspace(SMALLEST, LARGEST, NODES)
    low, high = np.full(NODES, np.log(1e-12)), np.full(NODES, np.log(1e3))
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        above = gaussian_delta(nodes, np.exp(middle)) > delta
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return PchipInterpolator(np.log(nodes), low)


def zcdp_distance(epsilon: ArrayLike, delta: float) -> Array:
    """sqrt(2 rho) with rho = (sqrt(ln(1/delta) + epsilon) - sqrt(ln(1/delta)))^2.

    Source: Bun and Steinke, Concentrated Differential Privacy, Prop. 1.3, solved for rho.

    >>> round(float(zcdp_distance(1.0, 1e-6)), 6)
    0.186917
    """
    epsilon, log = np.asarray(epsilon, dtype=float), np.log(1 / delta)
    return np.sqrt(2) * epsilon / (np.sqrt(log + epsilon) + np.sqrt(log))  # the difference of roots, without cancelling


def exact_distance(epsilon: ArrayLike, delta: float) -> Array:
    """The largest m = sensitivity/deviation of a Gaussian mechanism that is (epsilon, delta)-DP, from a table.

    Below 0.001 the noise of epsilon = 0 is used, 2 Phi^-1((1 + delta)/2), which protects more.

    Raises
    ------
    InputError
        Beyond 1,000, which the table does not cover.
    """
    epsilon = np.asarray(epsilon, dtype=float)
    if np.any(epsilon > LARGEST * (1 + BEYOND)):
        raise InputError(
            "owners.epsilon", f"must be at most {LARGEST:g} under exact accounting", f"{epsilon.max():g}", "Lower it."
        )
    inside = np.exp(_exact_table(delta)(np.log(np.clip(epsilon, SMALLEST, LARGEST))))
    return np.where(epsilon < SMALLEST, 2 * ndtri((1 + delta) / 2), inside)


@dataclass(frozen=True)
class Gaussian:
    """Gaussian noise on T mean-gradient answers: (epsilon, delta)-DP over all of them.

    Each answer moves by at most D = 2 G/n in 2-norm when one record is replaced (`squared_gradient_bound`). T answers
    with deviation s are one Gaussian mechanism of distance m = sqrt(T) D/s, so s^2 = T D^2/m(epsilon, delta)^2: noise
    grows as sqrt(T) only. "zcdp" takes m = sqrt(2 rho(epsilon, delta)); "pld" takes the exact m, which is what the
    privacy-loss distribution of a Gaussian gives, and needs less noise for the same budget.

    Parameters
    ----------
    delta : failure probability, in (0, 1); at or above 1/n it may mean a whole record given away.
    accounting : "zcdp" or "pld".
    overlap : kappa >= 1, owners one record may sit with; their distances add in squares, so each spends m/sqrt(kappa).

    Source: Bun and Steinke (zCDP); Balle and Wang (exact). The budget is split over T answers, T - 1 are asked.

    >>> pair = [Gaussian(1e-6, how).variance(1.0, 100, bound=1.0, horizon=10) for how in ("zcdp", "pld")]
    >>> [round(float(v), 4) for v in pair]
    [0.1145, 0.0714]
    """

    delta: float
    accounting: str = "zcdp"
    overlap: int = 1
    name: str = "gaussian"
    norm: int = 2

    def __post_init__(self) -> None:
        if not 0 < self.delta < 1:
            raise ValueError(f"delta must lie between 0 and 1, got {self.delta}")
        if self.accounting not in ("zcdp", "pld"):
            raise ValueError(f"accounting must be 'zcdp' or 'pld', got {self.accounting!r}")
        if self.overlap < 1:
            raise ValueError(f"overlap must be at least 1 owner per record, got {self.overlap}")

    def distance(self, epsilon: ArrayLike) -> Array:
        """m that one owner may spend over all its answers; inf at epsilon = inf."""
        epsilon = np.asarray(epsilon, dtype=float)
        finite = np.where(np.isfinite(epsilon), epsilon, 1.0)
        m = (zcdp_distance if self.accounting == "zcdp" else exact_distance)(finite, self.delta)
        return np.where(np.isfinite(epsilon), m / np.sqrt(self.overlap), np.inf)

    def scale(self, epsilon: ArrayLike, sizes: ArrayLike, bound: float, horizon: int) -> Array:
        """Deviation s of the noise on each coordinate of each answer, (n_owners,); inf at epsilon = 0, 0 at inf.

        Raises
        ------
        ValueError
            As for Laplace noise.
        """
        epsilon, sizes = check_noise(epsilon, sizes, bound, horizon)
        reach = 2 * (bound if np.isfinite(bound) else 0.0) * np.sqrt(horizon) / sizes
        with np.errstate(divide="ignore"):
            return np.where(epsilon > 0, reach / np.where(epsilon > 0, self.distance(epsilon), 1.0), np.inf)

    def variance(self, epsilon: ArrayLike, sizes: ArrayLike, bound: float, horizon: int) -> Array:
        """Variance s^2 per coordinate of one answer."""
        return self.scale(epsilon, sizes, bound, horizon) ** 2

    def epsilon(self, variance: ArrayLike, sizes: ArrayLike, bound: float, horizon: int) -> Array:
        """The budget that a variance per coordinate costs at this delta: the inverse of `variance`."""
        with np.errstate(divide="ignore"):
            spent = 2 * bound * np.sqrt(horizon * self.overlap) / (np.asarray(sizes, float) * np.sqrt(variance))
        if self.accounting == "zcdp":
            return spent**2 / 2 + spent * np.sqrt(2 * np.log(1 / self.delta))
        table = _exact_table(self.delta)
        return np.exp(
            np.interp(np.log(spent), table(table.x), table.x, right=np.inf)
        )  # beyond the table: unknown, so inf

    def spread(self, variance: ArrayLike) -> Array:
        """Deviation of noise of a given variance."""
        return np.sqrt(np.asarray(variance, dtype=float))

    def noise_term(self, epsilon: ArrayLike) -> Array:
        """What an owner adds to the noise: 4/m(epsilon)^2; 0 for who shares nothing."""
        epsilon = np.asarray(epsilon, dtype=float)
        sharing = np.where(epsilon > 0, epsilon, 1.0)
        return np.where(epsilon > 0, 4 / self.distance(sharing) ** 2, 0.0)

    def noise_term_slope(self, epsilon: ArrayLike) -> Array:
        """Derivative of `noise_term` at epsilon > 0."""
        epsilon = np.asarray(epsilon, dtype=float)
        sharing = np.where((epsilon > 0) & np.isfinite(epsilon), epsilon, 1.0)
        if self.accounting == "zcdp":
            # d log m/d epsilon = 1/(2 sqrt(r)(sqrt(r) - sqrt(l))), r = l + epsilon
            log = np.log(1 / self.delta)
            root = np.sqrt(log + sharing)
            growth = 1 / (2 * root * (root - np.sqrt(log)))
        else:
            inside = np.clip(sharing, SMALLEST, LARGEST)
            growth = np.where(sharing > SMALLEST, _exact_table(self.delta)(np.log(inside), 1) / inside, 0.0)
        return np.where((epsilon > 0) & np.isfinite(epsilon), -2 * self.noise_term(sharing) * growth, 0.0)

    def noise_denominator(self, sizes: ArrayLike) -> Array:
        """The records that an owner's noise is scaled to: its own."""
        return np.asarray(sizes, dtype=float)

    def horizon_factor(self, horizon: ArrayLike) -> Array:
        """How the noise power grows with the number of rounds: T."""
        return np.asarray(horizon, dtype=float)

    def draw(self, scale: ArrayLike, shape: tuple[int, ...], *, rng: np.random.Generator) -> Array:
        """Noise of the given deviation; all zeros at 0."""
        return rng.normal(size=shape) * np.asarray(scale, dtype=float)

    def claim(self, party: str, epsilon: float, horizon: int, unit: str = "one record") -> Claim:
        """The promise to one owner's records, one ``unit`` at a time.

        Raises
        ------
        ValueError
            If the owner adds no noise (epsilon = inf): nothing is promised then.
        """
        return make_claim(self, party, epsilon, horizon, unit, f"{self.name} ({self.accounting})")


MECHANISMS: dict[str, type] = {"laplace": Laplace, "gaussian": Gaussian}
