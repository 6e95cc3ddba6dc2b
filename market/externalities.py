"""Spillovers of others' sales: a loss of each owner, and a lower cost of its own sale.

Each owner's datum is one Gaussian number; a learner sees it through noise once it is sold. The
information leaked about owner i is the reduction in the variance of i's datum by all sales.
"""

from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Annotated, Any

import numpy as np

from learning.declaration import Declaration, Positive, Words
from learning.errors import InputError
from market.columns import Array, Pair, as_parameter
from market.game.deviations import Deviations
from market.game.game import Game, sums_over_others
from market.game.owners import Owners
from market.policies.base import Policy

KEY = "externalities.correlation"


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
            raise InputError(key, f"must lie in [{least:.3g}, 1] for {n_owners} owners", number)
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


@dataclass(frozen=True)
class Externalities(Declaration):
    """Correlation of owners' data, so that the sale of one tells of the others.

    Parameters
    ----------
    correlation : between what owners' records tell: one number for all pairs, or a square list of
        lists in their order
    noise : variance of the noise at epsilon = 1 in units of the variance of what an owner's records
        tell; it falls as epsilon squared
    share : of what an owner would lose were all known that its records tell, the part that it loses
        where others tell it: all is its cost of selling its most, over the part of the variance
        that this sale tells, t / (1 + t) with t = epsilon^2 / noise

    Raises
    ------
    InputError
        A number out of range; for the number of owners see `correlation_of`.
    """

    where = "externalities"
    correlation: Annotated[
        float | list[list[float]],
        Words("a number from -1 to 1, or a square list of lists of numbers"),
    ]
    noise: Positive = 2.0
    share: Annotated[float, Words("a number from 0 to 1")] = 1.0

    def check(self) -> None:
        """Refuse numbers that no market of any size can have."""
        if not 0 <= self.share <= 1:
            raise InputError("externalities.share", "must be a number from 0 to 1", self.share)
        if not isinstance(self.correlation, list):
            self.correlation_of(2)

    def correlation_of(self, n_owners: int) -> float | Array:
        """Correlation of ``n_owners`` data, refused where it is impossible."""
        try:
            return checked_correlation(self.correlation, n_owners)
        except InputError as error:
            raise InputError(KEY, error.rule, error.found, error.remedy) from None


@dataclass(frozen=True)
class Spillover(Policy):
    """Payments less the owner's loss by others' sales, plus the part of its own cost they save.

    Let q be the part of an owner's variance that remains once all others have sold, and ``t =
    epsilon^2 / noise``. The owner loses ``valuation (1 - q)`` in any case. Its own sale then
    reveals ``q^2 t / (1 + q t)`` more, in place of ``t / (1 + t)``, and so costs ``cost(epsilon)
    R`` with ``R = q^2 (1 + t) / (1 + q t)``, which is 1 for independent owners, and rises with
    epsilon. Where the cost is the valuation times the information of a single sale, the sum is the
    valuation times all information. Taxes and fixed costs stay. Counted here, payoffs, equilibria
    and certificates are exact; `market.analysis.welfare.welfare` takes payments to cancel and does
    not include the loss.

    With one non-negative correlation of all pairs, owners meet in one further sum, and a market may
    be large. Otherwise each evaluation needs one n by n inverse, and owners meet in no sum, so that
    play settles the market instead of Newton's method.

    Parameters
    ----------
    policy : Policy, an additive one
    owners : Owners, all of them, with their own costs
    valuation : (n_owners,), money per unit of variance by which the owner's datum is less uncertain
    correlation : float or (n_owners, n_owners), between the owners' data, of variance 1
    noise : float, variance of the noise that a datum sold at epsilon = 1 is seen through

    Source: Acemoglu et al., Too Much Data; for other costs than theirs ours.
    """

    policy: Any
    owners: Any = field(metadata={"whole": True})
    valuation: Any
    correlation: Any
    noise: float
    # The owners, in a market of some of them.
    index: Any = field(init=False, repr=False)
    _last: dict[bytes, Array] = field(default_factory=dict, init=False, repr=False, compare=False)

    # As under the policy without spillovers.
    grain = property(attrgetter("policy.grain"))  # type: ignore[assignment]
    paid_unasked = property(attrgetter("policy.paid_unasked"))  # type: ignore[assignment]
    pays_for_fitness = property(attrgetter("policy.pays_for_fitness"))  # type: ignore[assignment]

    def check(self) -> None:
        """Begin with all owners."""
        object.__setattr__(self, "index", np.arange(len(self.owners)))

    @property
    def by_sums(self) -> bool:  # type: ignore[override]
        """True if all data share one common part, so that others' sales add up."""
        return isinstance(self.correlation, float) and self.correlation >= 0

    def terms(self, epsilon: Array, owners: Owners) -> Array:
        """Terms of the policy, and with one factor the leakage about it: (n, ..., j)."""
        terms = self.policy.terms(epsilon, owners)
        if not self.by_sums:
            return terms
        return np.concatenate([terms, self._factor_precision(epsilon)[..., None]], axis=-1)

    def payments(self, epsilon: Array, deviations: Deviations) -> Array:
        left = self._variance_left(deviations)[:, None]
        owners = deviations.owners
        cost = owners.cost.untaxed.value(epsilon, owners.sizes)
        paid = self.policy.payments(epsilon, self._inner_deviations(deviations))
        lost = self.valuation[:, None] * (1 - left)
        return paid + cost * (1 - self._cost_ratio(epsilon, left)) - lost

    def marginal_payments(self, epsilon: Array, deviations: Deviations) -> Array:
        left = self._variance_left(deviations)[:, None]
        owners = deviations.owners
        cost = owners.cost.untaxed
        rise = 2 * epsilon / self.noise * left**2 * (1 - left)
        steepness = rise / (1 + left * epsilon**2 / self.noise) ** 2
        saved = cost.marginal_cost(epsilon, owners.sizes) * (1 - self._cost_ratio(epsilon, left))
        saved = saved - cost.value(epsilon, owners.sizes) * steepness
        return self.policy.marginal_payments(epsilon, self._inner_deviations(deviations)) + saved

    def payment_jumps(self, owners: Owners) -> Array:
        return self.policy.payment_jumps(owners)

    def told(self, epsilon: Array) -> Pair:
        """Part of each variance revealed by all others' sales, and by all sales, (n_owners,)."""
        left = self.variance_left(epsilon)
        return 1 - left, 1 - left / (1 + left * (np.asarray(epsilon) ** 2 / self.noise))

    def leakage_losses(self, epsilon: Array) -> Array:
        """Loss of each owner (n_owners,) by the others' sales at a profile (n_owners,), money."""
        return np.asarray(self.valuation * self.told(epsilon)[0])

    def spared_costs(self, epsilon: Array) -> Array:
        """Own privacy cost that others' sales save each owner (n_owners,), money."""
        at = np.asarray(epsilon, dtype=float)[:, None]
        cost = self.owners.cost.untaxed.value(at, self.owners.sizes)
        return (cost * (1 - self._cost_ratio(at, self.variance_left(epsilon)[:, None])))[:, 0]

    def variance_left(self, epsilon: Array) -> Array:
        """Variance of each datum (n_owners,) given all others' sales at a profile (n_owners,)."""
        epsilon = np.asarray(epsilon, dtype=float)
        if not self.by_sums:
            return self._variance_left_at(epsilon)
        others = sums_over_others(self._factor_precision(epsilon)[:, None])
        return self._variance_left_by_factor(others[:, 0])

    def _cost_ratio(self, epsilon: Array, left: Array) -> Array:
        """R (n, m): cost of a sale over that of a single one, ``left`` (n, 1) of each variance."""
        told = epsilon**2 / self.noise
        return left**2 * (1 + told) / (1 + left * told)

    def _inner_deviations(self, deviations: Deviations) -> Deviations:
        """Deviations of the other policy, without the sum that it did not add."""
        others = deviations.others[..., :-1] if self.by_sums else deviations.others
        return replace(deviations, policy=self.policy, others=others)

    def _factor_precision(self, epsilon: Array) -> Array:
        """Precision of each sale (n, ...) about the common factor."""
        with np.errstate(divide="ignore"):
            own = 1 - self.correlation + self.noise / epsilon**2
            return self.correlation / own

    def _variance_left(self, deviations: Deviations) -> Array:
        """Variance of each datum given the others' sales (n,)."""
        if self.by_sums:
            return self._variance_left_by_factor(deviations.others[:, 0, -1])
        return self._variance_left_at(deviations.profile)[self.index]

    def _variance_left_by_factor(self, others: Array) -> Array:
        return 1 - self.correlation + self.correlation / (1 + others)

    def _variance_left_at(self, profile: Array) -> Array:
        """`remaining_variance` (n_owners,), kept for the last profile of a search."""
        key = profile.tobytes()
        left = self._last.get(key)
        if left is None:
            correlation = self.correlation
            if isinstance(correlation, float):
                correlation = np.where(np.eye(len(profile), dtype=bool), 1.0, correlation)
            with np.errstate(divide="ignore"):
                noise = self.noise / profile**2
            left = remaining_variance(correlation, noise)
            self._last.clear()
            self._last[key] = left
        return left


def spillover_game(game: Game, common: Externalities) -> Game:
    """Game with spillovers: choices are to be read from it, payments from the one given.

    Raises
    ------
    InputError
        A correlation that these owners' data could not have, or a policy of whole profiles.
    """
    if not game.policy.additive:
        rule = "cannot be used with a policy that computes all budgets at once"
        remedy = "Take another policy, such as proportional or marginal."
        raise InputError("externalities", rule, remedy=remedy)
    owners = game.owners
    correlation = common.correlation_of(len(owners))
    worth = leak_valuations(owners, common)
    policy = Spillover(game.policy, owners, worth, correlation, common.noise)
    return Game(owners, policy, game.forecast, game.value, game.unconditional)


def leak_valuations(owners: Owners, common: Externalities) -> Array:
    """Value of all information in each owner's records (n_owners,), money.

    ``share cost(most) (1 + t) / t`` with ``t = most^2 / noise``: selling its most, alone, reveals
    ``t / (1 + t)`` of it at the owner's own privacy cost, so that with share 1 the loss does not
    depend on the seller.
    """
    most = owners.epsilon_max
    told = most**2 / (most**2 + common.noise)
    cost = owners.cost.untaxed.value(most[:, None], owners.sizes)[:, 0]
    return common.share * np.divide(cost, told, out=np.zeros_like(cost), where=told > 0)
