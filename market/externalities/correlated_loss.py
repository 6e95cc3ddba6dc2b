"""A policy's payments less each owner's loss by the leakage of all sales about it."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from market.columns import Array, check_lengths, column
from market.externalities.correlation import remaining_variance
from market.game.deviations import Deviations
from market.game.game import sums_over_others
from market.game.owners import Owners
from market.policies.base import Policy


@dataclass(frozen=True)
class CorrelatedLoss(Policy):
    """Payments less losses by leakage: ``payment_i - valuation_i I_i(epsilon)``.

    An owner's datum is seen through noise of variance ``noise / epsilon^2`` (Laplace noise on a
    number of range 1: 2 / epsilon^2). The loss depends on everybody's epsilon, so it is no entry of
    COSTS; counted here, payoffs, equilibria and certificates are exact.
    `market.analysis.welfare.welfare` takes payments to cancel and does not include it.

    With one non-negative correlation of all pairs, owners meet in one further sum, and a market may
    be large. Otherwise each evaluation needs one n by n inverse, and owners meet in no sum, so that
    play settles the market instead of Newton's method.

    Parameters
    ----------
    policy : Policy, an additive one
    data : Correlated

    Raises
    ------
    ValueError
        A policy of whole profiles, or with columns of another length.

    >>> from market.costs.functions import Linear
    >>> from market.equilibrium.solver import solve
    >>> from market.externalities.correlation import Correlated
    >>> from market.game.game import Game
    >>> from market.policies.posted import Posted
    >>> owners, rng = Owners(("A", "B"), 1, 0.0, 5.0, Linear(0.0)), np.random.default_rng(0)
    >>> for r in (0.0, 0.9):
    ...     policy = CorrelatedLoss(Posted(0.15), Correlated([1.0, 1.0], r))
    ...     game = Game(owners, policy, None, 0.0)
    ...     print(solve(game, rng=rng, start=[5.0, 5.0]).epsilon.round(3).tolist())
    [0.076, 0.076]
    [5.0, 5.0]
    """

    policy: Any
    data: Any = field(metadata={"whole": True})
    # The owners, in a market of some of them.
    index: Any = field(init=False, repr=False)
    _last: dict[bytes, Array] = field(default_factory=dict, init=False, repr=False, compare=False)

    def check(self) -> None:
        """Refuse a policy that does not fit the data."""
        if not self.policy.additive:
            raise ValueError("policy must be additive: it must have terms and payments, not settle")
        object.__setattr__(self, "index", np.arange(len(self.data)))
        check_lengths(self.policy, len(self.index), "policy")

    @property
    def one_factor(self) -> bool:
        """True if all data share one common part, so that others' sales add up."""
        return isinstance(self.data.correlation, float) and self.data.correlation >= 0

    @property
    def by_sums(self) -> bool:  # type: ignore[override]
        """True if remaining variances follow from sums."""
        return self.one_factor

    def terms(self, epsilon: Array, owners: Owners) -> Array:
        """Terms of the policy, and with one factor the leakage about it: (n, ..., j)."""
        terms = self.policy.terms(epsilon, owners)
        if not self.one_factor:
            return terms
        return np.concatenate([terms, self._factor_precision(epsilon)[..., None]], axis=-1)

    def payments(self, epsilon: Array, deviations: Deviations) -> Array:
        paid = self.policy.payments(epsilon, self._inner_deviations(deviations))
        leaked = self._leaked_at(epsilon, self._variance_left(deviations))
        return paid - self.data.valuation[self.index][:, None] * leaked

    def marginal_payments(self, epsilon: Array, deviations: Deviations) -> Array:
        slope = self.policy.marginal_payments(epsilon, self._inner_deviations(deviations))
        left = self._variance_left(deviations)[:, None]
        scale = self.data.noise[self.index][:, None]
        steepness = 2 * scale * epsilon * (left / (left * epsilon**2 + scale)) ** 2
        return slope - self.data.valuation[self.index][:, None] * steepness

    def payment_jumps(self, owners: Owners) -> Array:
        return self.policy.payment_jumps(owners)

    def leakage_losses(self, epsilon: Array) -> Array:
        """Loss of each owner by all sales at a profile (n_owners,), money."""
        epsilon = np.asarray(epsilon, dtype=float)
        leaked = self._leaked_at(epsilon[:, None], self.variance_left(epsilon))
        return self.data.valuation * leaked[:, 0]

    def variance_left(self, epsilon: Array) -> Array:
        """Variance of each datum (n_owners,) given all others' sales at a profile (n_owners,)."""
        if not self.one_factor:
            return self._variance_left_at(epsilon)
        others = sums_over_others(self._factor_precision(epsilon)[:, None])
        return self._variance_left_by_factor(others[:, 0])

    def _inner_deviations(self, deviations: Deviations) -> Deviations:
        """Deviations of the other policy, without the sum that it did not add."""
        others = deviations.others[..., :-1] if self.one_factor else deviations.others
        return replace(deviations, policy=self.policy, others=others)

    def _factor_precision(self, epsilon: Array) -> Array:
        """Precision of each sale (n, ...) about the common factor."""
        noise = noise_variance(self.data.noise[self.index], epsilon)
        own = 1 - self.data.correlation + noise / column(self.data.variance[self.index], epsilon)
        with np.errstate(divide="ignore"):
            return self.data.correlation / own

    def _leaked_at(self, epsilon: Array, left: Array) -> Array:
        """Leaked information (n, m) at candidates, given the remaining variances (n,)."""
        left = left[:, None]
        noise = noise_variance(self.data.noise[self.index], epsilon)
        own = np.divide(left**2, left + noise, out=np.zeros(epsilon.shape), where=left > 0)
        return self.data.variance[self.index][:, None] - left + own

    def _variance_left(self, deviations: Deviations) -> Array:
        """Variance of each datum given the others' sales (n,)."""
        if self.one_factor:
            return self._variance_left_by_factor(deviations.others[:, 0, -1])
        return self._variance_left_at(deviations.profile)[self.index]

    def _variance_left_by_factor(self, others: Array) -> Array:
        part = self.data.correlation
        return self.data.variance[self.index] * (1 - part + part / (1 + others))

    def _variance_left_at(self, profile: Array) -> Array:
        """`remaining_variance` (n_owners,), kept for the last profile of a search."""
        key = profile.tobytes()
        if key not in self._last:
            noise = noise_variance(self.data.noise, profile)
            self._last.clear()
            self._last[key] = remaining_variance(self.data.covariance, noise)
        return self._last[key]


def noise_variance(scale: Array, epsilon: Array) -> Array:
    """Variance ``scale / epsilon^2`` (n, ...) of the noise at epsilon; inf at epsilon = 0."""
    with np.errstate(divide="ignore"):
        return column(scale, epsilon) / epsilon**2
