"""Correlated data: what others sell leaks information about mine, and lowers the price of mine.

Each owner's datum is one Gaussian number; a learner sees it through noise once it is sold. The information leaked
about owner i is the reduction in the variance of i's datum, from everything that is sold by anybody.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from learning.errors import InputError
from market.columns import as_parameter, owners_column

MOST_SUBSETS = 15  # owners up to whom all sets of sellers are gone through
TIE = 1e-12  # prices this close, relative to what an owner could lose at all, leave it indifferent


def leaked(covariance: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Reduction in the variance of each owner's datum from all that is sold: ``C_iS (C_SS + D_S)^-1 C_Si``.

    Parameters
    ----------
    covariance : (n, n), of the data
    noise : (..., n), variance of the noise each datum is seen through; inf = not sold

    Returns
    -------
    (..., n), in the unit of the variances

    Source: Acemoglu et al., Too Much Data, section 2 (leaked information).

    >>> leaked(np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([[1.0, np.inf], [1.0, 1.0]])).round(4).tolist()
    [[0.5, 0.125], [0.5333, 0.5333]]
    """
    return _leaked(covariance, noise)[0]


def remaining(covariance: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Variance each datum keeps given what all *other* owners sell; arguments as of `leaked`, (..., n).

    Taken from one inverse: with W the inverse of the signals' covariance, an owner's signal given all others
    varies by ``1 / W_ii``, of which its noise is one part. Noisy signals go by Bayes' rule instead, in which
    nothing cancels.
    """
    variance = np.diagonal(covariance)
    if not np.all(noise > 0):  # some datum is seen as it is: leave owners out one by one
        apart = np.where(np.eye(len(covariance), dtype=bool), np.inf, noise[..., None, :])
        return np.maximum(variance - np.diagonal(leaked(covariance, apart), axis1=-2, axis2=-1), 0.0)
    leak, precision = _leaked(covariance, noise)
    left, noisy = variance - leak, noise >= variance
    finite_noise = np.where(noisy & np.isfinite(noise), noise, 2 * variance)  # any finite number where it is not used
    by_rule = np.where(np.isinf(noise), left, left * finite_noise / np.where(noisy, finite_noise - left, 1.0))
    precise = np.where(noisy, variance, noise)
    by_inverse = (variance + precise) / np.diagonal(precision, axis1=-2, axis2=-1) - precise
    return np.clip(np.where(noisy, by_rule, by_inverse), 0.0, variance)


def _leaked(covariance: np.ndarray, noise: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Leaked information (..., n), and the inverse of the correlation matrix of the signals (..., n, n).

    A datum that is not sold is a signal of its own, correlated with nothing.
    """
    unit = 1 / np.sqrt(np.diagonal(covariance) + noise)
    cross = covariance * unit[..., None, :]
    signals = unit[..., :, None] * cross
    at = np.arange(len(covariance))
    signals[..., at, at] = 1.0
    noisy = np.all(noise > 0)  # otherwise one signal may be a function of others
    inverse = np.linalg.inv(signals) if noisy else np.linalg.pinv(signals, rcond=1e-12, hermitian=True)
    return np.einsum("...ij,...jk,...ik->...i", cross, inverse, cross, optimize=True), inverse


def checked_correlation(correlation: Any, n_owners: int) -> float | np.ndarray:
    """One number, or a matrix (n_owners, n_owners), refused where no data could have it.

    Raises
    ------
    InputError
        Not symmetric with a diagonal of ones, or not positive semidefinite.
    """
    key = "owners.correlation"
    if np.ndim(correlation) == 0:  # a large market has no room for its matrix
        number = float(as_parameter(key, correlation, at_least=-np.inf))
        least = -1 / max(n_owners - 1, 1)
        if not least <= number <= 1:
            raise InputError(key, f"of {n_owners} owners' data lies in [{least:.3g}, 1]", number)
        return number
    try:
        matrix = np.array(correlation, dtype=float)
    except (TypeError, ValueError):
        raise InputError(key, "must be a number or a square matrix of numbers", repr(correlation)) from None
    if matrix.shape != (n_owners, n_owners):
        raise InputError(key, f"must be a number or {n_owners} by {n_owners} numbers", f"shape {matrix.shape}")
    if not np.all(np.isfinite(matrix)):
        raise InputError(key, "must be finite", "a number that is not")
    if not (np.allclose(matrix, matrix.T, atol=1e-12) and np.allclose(np.diagonal(matrix), 1.0, atol=1e-12)):
        raise InputError(key, "must be symmetric with ones on its diagonal", "a matrix that is not")
    least = float(np.linalg.eigvalsh(matrix)[0])
    if least < -1e-9 * n_owners:
        raise InputError(key, "must have no negative eigenvalue", f"{least:.3g}")
    return matrix


@dataclass(frozen=True)
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

    Source: Acemoglu, Makhdoumi, Malekian and Ozdaglar, Too Much Data: Prices and Inefficiencies in Data Markets.

    What the other sells lowers the price of mine:

    >>> [round(float(Correlated([1.0, 1.0], r).prices([True, True])[0]), 6) for r in (0.0, 0.5, 0.9, 1.0)]
    [0.5, 0.408333, 0.221959, 0.166667]
    """

    valuation: Any
    correlation: Any
    variance: Any = 1.0
    noise: Any = 1.0

    def __post_init__(self) -> None:
        valuation = as_parameter("owners.valuation", self.valuation)
        if valuation.ndim == 0:
            raise InputError("owners.valuation", "needs one number per owner", f"{float(valuation):g}")
        n_owners = len(valuation)
        object.__setattr__(self, "valuation", valuation)
        for name in ("variance", "noise"):
            given = getattr(self, name)
            object.__setattr__(self, name, owners_column(f"owners.{name}", given, n_owners, strict=True))
        object.__setattr__(self, "correlation", checked_correlation(self.correlation, n_owners))

    def __len__(self) -> int:
        return len(self.valuation)

    @property
    def covariance(self) -> np.ndarray:
        """Of the data, (n_owners, n_owners)."""
        spread = np.sqrt(self.variance)
        if isinstance(self.correlation, float):
            return np.where(np.eye(len(self), dtype=bool), 1.0, self.correlation) * np.outer(spread, spread)
        return self.correlation * np.outer(spread, spread)

    def leaked(self, sells: Any) -> np.ndarray:
        """Reduction in the variance of each datum (..., n_owners) when those with ``sells`` (..., n_owners) sell."""
        return leaked(self.covariance, np.where(self._sets(sells), self.noise, np.inf))

    def prices(self, sells: Any) -> np.ndarray:
        """What each owner asks, money (..., n_owners): ``valuation_i (I_i(i sells too) - I_i(i does not))``.

        With q the variance that i's datum keeps given what the others in ``sells`` (..., n_owners) sell, one
        more signal of noise variance g takes ``q^2 / (q + g)`` of it. The more others sell, the less it is.
        """
        left = remaining(self.covariance, np.where(self._sets(sells), self.noise, np.inf))
        return self.valuation * left**2 / (left + self.noise)

    def _sets(self, sells: Any) -> np.ndarray:
        sets = np.asarray(sells)
        if sets.dtype != bool or sets.shape[-1:] != self.valuation.shape:
            found = f"{sets.dtype} of shape {sets.shape}"
            raise ValueError(f"sells must be true or false for each of {len(self)} owners; found {found}")
        return sets


def subsets(n_owners: int) -> np.ndarray:
    """All sets of sellers (2^n_owners, n_owners); set number b has owner i if bit i of b is one.

    Raises
    ------
    InputError
        More than 15 owners.
    """
    if n_owners > MOST_SUBSETS:
        remedy = "Use extreme_sets, which needs no list of sets."
        raise InputError("owners", f"all sets of sellers are gone through up to {MOST_SUBSETS}", n_owners, remedy)
    return (np.arange(2**n_owners)[:, None] >> np.arange(n_owners)) % 2 == 1


def selling_equilibria(data: Correlated, offers: Any) -> np.ndarray:
    """All sets of sellers of which nobody wants to leave, and none outside to join, at the prices offered.

    Sales are strategic complements (what others sell lowers what mine costs me), so there may be several:
    nobody sells because nobody else does, and everybody because everybody else does.

    Parameters
    ----------
    data : Correlated
    offers : scalar or (n_owners,), money

    Returns
    -------
    bool (k, n_owners), at least one; who is indifferent may do either

    Raises
    ------
    InputError
        More than 15 owners, or offers that are not numbers of money.

    >>> selling_equilibria(Correlated([1.0, 1.0], 0.9), 0.3).astype(int).tolist()
    [[0, 0], [1, 1]]
    """
    money, slack = _offers(data, offers)
    sets = subsets(len(data))
    asked = data.prices(sets)
    content = np.where(sets, money >= asked - slack, money <= asked + slack)
    return sets[content.all(axis=-1)]


def extreme_sets(data: Correlated, offers: Any) -> tuple[np.ndarray, np.ndarray]:
    """The smallest and the largest equilibrium set of sellers at the prices offered, for any number of owners.

    From nobody, whoever gains joins, until none does; from everybody, whoever loses leaves. Arguments as of
    `selling_equilibria`; every equilibrium lies between the two, ties going to staying as one is.

    Returns
    -------
    least, greatest : bool (n_owners,)

    Source: Topkis, on games with strategic complements.
    """
    money, slack = _offers(data, offers)
    ends = []
    for everybody in (False, True):
        sets, before = np.full(len(data), everybody), None
        while before is None or (before != sets).any():
            asked = data.prices(sets)
            before, sets = sets, sets & (money >= asked - slack) if everybody else sets | (money > asked + slack)
        ends.append(sets)
    return ends[0], ends[1]


def _offers(data: Correlated, offers: Any) -> tuple[np.ndarray, np.ndarray]:
    return owners_column("policy.price", offers, len(data)), TIE * data.valuation * data.variance


@dataclass(frozen=True)
class Purchase:
    """The set a learner buys from, and the set that would be best for all.

    Attributes
    ----------
    sells, prices, profit, surplus
        Who sells (n_owners,), what each is paid (n_owners,) (0 for who does not sell), the learner's profit,
        and what all gain together, money.
    best_sells, best_surplus
        The set at which all together gain most, and that gain.
    """

    sells: np.ndarray
    prices: np.ndarray
    profit: float
    surplus: float
    best_sells: np.ndarray
    best_surplus: float


def purchase(data: Correlated, value: float = 1.0) -> Purchase:
    """What a learner buys who values each unit of leaked variance at ``value`` and pays each seller what it asks.

    Its profit is ``value * sum I - sum of prices``; all together gain ``sum (value - valuation_i) I_i``. The two
    part ways because a price pays for what a sale leaks about the seller, and not about the others.

    Parameters
    ----------
    data : Correlated
        Of at most 15 owners.
    value : float, money per unit of variance

    Returns
    -------
    Purchase
        Of equal sets the one with the lowest number in `subsets`.

    Source: Acemoglu et al., Too Much Data, section 2.

    The first owner sells for nothing, and gives the second away, who would have paid to prevent it:

    >>> bought = purchase(Correlated([0.0, 9.0], 0.5))
    >>> bought.sells.tolist(), round(bought.surplus, 12), bought.best_surplus
    ([True, False], -0.5, 0.0)
    """
    money = float(as_parameter("learner.value", value))
    sets = subsets(len(data))
    leak, paid = data.leaked(sets), np.where(sets, data.prices(sets), 0.0)
    profit, surplus = money * leak.sum(axis=-1) - paid.sum(axis=-1), leak @ (money - data.valuation)
    at, top = int(np.argmax(profit)), int(np.argmax(surplus))
    return Purchase(sets[at], paid[at], float(profit[at]), float(surplus[at]), sets[top], float(surplus[top]))
