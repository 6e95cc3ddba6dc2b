"""Correlated data: others' sales leak information about an owner's datum.

Each owner's datum is one Gaussian number; a learner sees it through noise once it is sold. The
information leaked about owner i is the reduction in the variance of i's datum by all sales.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from learning.errors import InputError
from market.columns import Array, Pair, as_parameter, owners_column


def leaked_information(covariance: Array, noise: Array) -> Array:
    """Reduction in the variance of each datum by all sales: ``C_iS (C_SS + D_S)^-1 C_Si``.

    Parameters
    ----------
    covariance : (n, n), of the data
    noise : (..., n), variance of the noise each datum is seen through; inf = not sold

    Source: Acemoglu et al., Too Much Data, section 2 (leaked information).

    >>> noise = np.array([[1.0, np.inf], [1.0, 1.0]])
    >>> leaked_information(np.array([[1.0, 0.5], [0.5, 1.0]]), noise).round(4).tolist()
    [[0.5, 0.125], [0.5333, 0.5333]]
    """
    return _leaked_and_inverse(covariance, noise)[0]


def remaining_variance(covariance: Array, noise: Array) -> Array:
    """Variance of each datum given all sales of *other* owners; as `leaked_information`, (..., n).

    From one inverse: with W the inverse of the signals' covariance, an owner's signal given all
    others varies by ``1 / W_ii``, of which its noise is one part. Noisy signals go by Bayes' rule,
    without cancellation.
    """
    variance = np.diagonal(covariance)
    # Where some datum is seen without noise, owners are left out one by one.
    if not np.all(noise > 0):
        apart = np.where(np.eye(len(covariance), dtype=bool), np.inf, noise[..., None, :])
        leak = np.diagonal(leaked_information(covariance, apart), axis1=-2, axis2=-1)
        return np.maximum(variance - leak, 0.0)
    leak, inverse = _leaked_and_inverse(covariance, noise)
    left = variance - leak
    noisy = noise >= variance
    # Any finite number where it is not used.
    finite = np.where(noisy & np.isfinite(noise), noise, 2 * variance)
    by_rule = left * finite / np.where(noisy, finite - left, 1.0)
    by_rule = np.where(np.isinf(noise), left, by_rule)
    precise = np.where(noisy, variance, noise)
    by_inverse = (variance + precise) / np.diagonal(inverse, axis1=-2, axis2=-1) - precise
    return np.clip(np.where(noisy, by_rule, by_inverse), 0.0, variance)


def _leaked_and_inverse(covariance: Array, noise: Array) -> Pair:
    """Leaked information (..., n), and the inverse of the signals' correlation matrix (..., n, n).

    A datum that is not sold is a signal of its own, correlated with nothing.
    """
    unit = 1 / np.sqrt(np.diagonal(covariance) + noise)
    cross = covariance * unit[..., None, :]
    signals = unit[..., :, None] * cross
    at = np.arange(len(covariance))
    signals[..., at, at] = 1.0
    # Without noise, one signal may be a function of others.
    if np.all(noise > 0):
        inverse = np.linalg.inv(signals)
    else:
        inverse = np.linalg.pinv(signals, rcond=1e-12, hermitian=True)
    return np.einsum("...ij,...jk,...ik->...i", cross, inverse, cross, optimize=True), inverse


def checked_correlation(correlation: Any, n_owners: int) -> float | Array:
    """Read one number, or a matrix (n_owners, n_owners), that is a correlation of some data.

    Raises
    ------
    InputError
        Not symmetric with a diagonal of ones, or not positive semidefinite.
    """
    key = "owners.correlation"
    # A large market has no room for its matrix.
    if np.ndim(correlation) == 0:
        number = float(as_parameter(key, correlation, at_least=-np.inf))
        least = -1 / max(n_owners - 1, 1)
        if not least <= number <= 1:
            raise InputError(key, f"of {n_owners} owners' data lies in [{least:.3g}, 1]", number)
        return number
    try:
        matrix = np.array(correlation, dtype=float)
    except (TypeError, ValueError):
        rule = "must be a number or a square matrix of numbers"
        raise InputError(key, rule, repr(correlation)) from None
    if matrix.shape != (n_owners, n_owners):
        rule = f"must be a number or {n_owners} by {n_owners} numbers"
        raise InputError(key, rule, f"shape {matrix.shape}")
    if not np.all(np.isfinite(matrix)):
        raise InputError(key, "must be finite", "a number that is not")
    unit = np.allclose(np.diagonal(matrix), 1.0, atol=1e-12)
    if not (unit and np.allclose(matrix, matrix.T, atol=1e-12)):
        raise InputError(key, "must be symmetric with ones on its diagonal", "a matrix that is not")
    least = float(np.linalg.eigvalsh(matrix)[0])
    if least < -1e-9 * n_owners:
        raise InputError(key, "must have no negative eigenvalue", f"{least:.3g}")
    return matrix


@dataclass(eq=False)
class Correlated:
    """Correlated data, and each owner's valuation of its privacy.

    Parameters
    ----------
    valuation : (n_owners,), money per unit of variance by which the owner's datum is less uncertain
    correlation : float or (n_owners, n_owners), between the owners' data
    variance : scalar or (n_owners,), of each datum before anything is sold, above 0
    noise : scalar or (n_owners,), variance of the noise a sold datum is seen through, above 0

    Raises
    ------
    InputError
        No column of valuations, a matrix that is no correlation matrix, or a number out of range.

    Source: Acemoglu, Makhdoumi, Malekian and Ozdaglar, Too Much Data: Prices and Inefficiencies in
        Data Markets.
    """

    valuation: Any
    correlation: Any
    variance: Any = 1.0
    noise: Any = 1.0

    def __post_init__(self) -> None:
        valuation = as_parameter("owners.valuation", self.valuation)
        if valuation.ndim == 0:
            found = f"{float(valuation):g}"
            raise InputError("owners.valuation", "needs one number per owner", found)
        n_owners = len(valuation)
        self.valuation = valuation
        self.variance = owners_column("owners.variance", self.variance, n_owners, strict=True)
        self.noise = owners_column("owners.noise", self.noise, n_owners, strict=True)
        self.correlation = checked_correlation(self.correlation, n_owners)

    def __len__(self) -> int:
        return len(self.valuation)

    @property
    def covariance(self) -> Array:
        """Covariance of the data, (n_owners, n_owners)."""
        correlation = self.correlation
        if isinstance(correlation, float):
            correlation = np.where(np.eye(len(self), dtype=bool), 1.0, correlation)
        spread = np.sqrt(self.variance)
        return correlation * np.outer(spread, spread)
