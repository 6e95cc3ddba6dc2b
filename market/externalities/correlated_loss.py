"""A market with correlated data: another policy's payments less each owner's loss to what all sales leak about it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from market.analysis.welfare import welfare
from market.columns import check_lengths, column
from market.externalities.correlation import remaining
from market.game.deviations import Deviations
from market.game.game import Game, sums_over_others
from market.game.owners import Owners
from market.policies.base import Policy


@dataclass(frozen=True)
class CorrelatedLoss(Policy):
    """Another policy's payments less each owner's loss to what all sales leak: ``payment_i - valuation_i I_i(epsilon)``.

    Here an owner's datum is seen through noise of variance ``noise / epsilon^2`` (Laplace noise on a number
    of range 1: 2 / epsilon^2), so ``noise`` of the data stands for epsilon = 1. The loss depends on everybody's
    epsilon and so is no entry of COSTS; it is counted here, and payoffs, equilibria and certificates are exact.
    `market.analysis.welfare.welfare` takes payments to cancel and does not see it: use `welfare_after_loss`.

    One correlation of all pairs, not negative: owners meet in one further sum, and a market may be large.
    Otherwise one n by n inverse per look at the market (n^3; candidates cost nothing more), and owners meet
    in no sum, so that Newton's method has nothing to go by and play settles the market.

    Parameters
    ----------
    policy : Policy
        An additive one.
    data : Correlated

    Raises
    ------
    ValueError
        A policy of whole profiles, or with columns of another length.

    >>> from market.costs.functions import Linear
    >>> from market.equilibrium.solver import solve
    >>> from market.game.owners import Owners
    >>> from market.externalities.correlation import Correlated
    >>> from market.policies.posted import Posted
    >>> owners = Owners(("A", "B"), 1, 0.0, 5.0, Linear(0.0))
    >>> for r in (0.0, 0.9):
    ...     game = Game(owners, CorrelatedLoss(Posted(0.15), Correlated([1.0, 1.0], r)), None, 0.0)
    ...     print(solve(game, rng=np.random.default_rng(0), start=[5.0, 5.0]).epsilon.round(3).tolist())
    [0.076, 0.076]
    [5.0, 5.0]
    """

    policy: Any
    data: Any = field(metadata={"whole": True})
    index: Any = field(init=False, repr=False)  # which owners this is about: a market may look at some of them
    _last: dict[bytes, np.ndarray] = field(default_factory=dict, init=False, repr=False, compare=False)

    def check(self) -> None:
        """Refuse a policy that does not fit the data."""
        if not self.policy.additive:
            raise ValueError("policy must be additive: it must have terms and payments, not settle")
        object.__setattr__(self, "index", np.arange(len(self.data)))
        check_lengths(self.policy, len(self.index), "policy")

    @property
    def one_factor(self) -> bool:
        """Whether all data share one common part, so that others' sales add up."""
        return isinstance(self.data.correlation, float) and self.data.correlation >= 0

    @property
    def by_sums(self) -> bool:  # type: ignore[override]
        """Whether what is left of each variance follows from sums."""
        return self.one_factor

    def terms(self, epsilon: np.ndarray, owners: Owners) -> np.ndarray:
        """The policy's own terms, and with one factor what each sale leaks about the common part: (n, ..., j)."""
        terms = self.policy.terms(epsilon, owners)
        return np.concatenate([terms, self._common(epsilon)[..., None]], axis=-1) if self.one_factor else terms

    def payments(self, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
        """Payment less loss (n, m) at each candidate."""
        paid = self.policy.payments(epsilon, self._inner(deviations))
        return paid - self.data.valuation[self.index][:, None] * self._leaked(epsilon, self._remaining(deviations))

    def slopes(self, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
        """Derivative of `payments` by the owner's own epsilon, at candidates above 0 (n, m)."""
        slope = self.policy.slopes(epsilon, self._inner(deviations))
        left, scale = self._remaining(deviations)[:, None], self.data.noise[self.index][:, None]
        steepness = 2 * scale * epsilon * (left / (left * epsilon**2 + scale)) ** 2
        return slope - self.data.valuation[self.index][:, None] * steepness

    def breakpoints(self, owners: Owners) -> np.ndarray:
        """Where the policy's own payments jump (n, j)."""
        return self.policy.breakpoints(owners)

    def losses(self, epsilon: np.ndarray) -> np.ndarray:
        """Money each owner loses (n_owners,) to what all sales at a profile (n_owners,) leak about it."""
        epsilon = np.asarray(epsilon, dtype=float)
        return self.data.valuation * self._leaked(epsilon[:, None], self.left(epsilon))[:, 0]

    def left(self, epsilon: np.ndarray) -> np.ndarray:
        """Variance that each datum keeps (n_owners,) given what all others sell at a profile (n_owners,)."""
        if not self.one_factor:
            return self._remaining_at(epsilon)
        return self._remaining_by_factor(sums_over_others(self._common(epsilon)[:, None])[:, 0])

    def _inner(self, deviations: Deviations) -> Deviations:
        """The moves as the other policy sees them, without the sum that it did not add."""
        others = deviations.others[..., :-1] if self.one_factor else deviations.others
        return replace(deviations, policy=self.policy, others=others)

    def _common(self, epsilon: np.ndarray) -> np.ndarray:
        """What each sale (n, ...) leaks about the common part, as a precision."""
        noise = noise_variance(self.data.noise[self.index], epsilon)
        own = 1 - self.data.correlation + noise / column(self.data.variance[self.index], epsilon)
        with np.errstate(divide="ignore"):
            return self.data.correlation / own

    def _leaked(self, epsilon: np.ndarray, left: np.ndarray) -> np.ndarray:
        """Leaked information (n, m) at candidates, given what the others leave of each variance (n,)."""
        left, noise = left[:, None], noise_variance(self.data.noise[self.index], epsilon)
        own = np.divide(left**2, left + noise, out=np.zeros(epsilon.shape), where=left > 0)
        return self.data.variance[self.index][:, None] - left + own

    def _remaining(self, deviations: Deviations) -> np.ndarray:
        """Variance each datum keeps given the others' sales (n,)."""
        if self.one_factor:
            return self._remaining_by_factor(deviations.others[:, 0, -1])
        return self._remaining_at(deviations.profile)[self.index]

    def _remaining_by_factor(self, others: np.ndarray) -> np.ndarray:
        part = self.data.correlation
        return self.data.variance[self.index] * (1 - part + part / (1 + others))

    def _remaining_at(self, profile: np.ndarray) -> np.ndarray:
        """As `remaining` (n_owners,), kept for the profile last asked for: a search asks many times."""
        key = profile.tobytes()
        left = self._last.get(key)
        if left is None:
            left = remaining(self.data.covariance, noise_variance(self.data.noise, profile))
            self._last.clear()
            self._last[key] = left
        return left


def noise_variance(scale: np.ndarray, epsilon: np.ndarray) -> np.ndarray:
    """Variance ``scale / epsilon^2`` (n, ...) of the noise at epsilon (n, ...), with scale (n,); inf at epsilon = 0."""
    with np.errstate(divide="ignore"):
        return column(scale, epsilon) / epsilon**2


def welfare_after_loss(game: Game, epsilon: np.ndarray) -> float:
    """Everybody's gain as `market.analysis.welfare.welfare` counts it, less the owners' losses to what all sales leak.

    Parameters
    ----------
    game : Game
        Under a `CorrelatedLoss` policy.
    epsilon : (n_owners,)

    Returns
    -------
    float, money
    """
    return welfare(game, epsilon) - float(game.policy.losses(epsilon).sum())
