"""A market in which what others sell leaks part of what I say: another policy, less everybody's loss to all sales."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from market.analysis.welfare import welfare
from market.columns import column, lengths
from market.externalities.correlation import Correlated, remaining
from market.game.deviations import difference
from market.game.game import Game, sums_over_others

if TYPE_CHECKING:
    from market.game.deviations import Deviations
    from market.game.owners import Owners


class Whole:
    """Holds what is about all owners where a market looks at some of them: its columns are not cut."""

    def __init__(self, of: Correlated) -> None:
        self.of = of


@dataclass(frozen=True)
class CorrelatedLoss:
    """Another policy's payments less what the sales tell about each owner: ``payment_i - worth_i I_i(epsilon)``.

    Here an owner's datum is seen through noise of variance ``noise / epsilon^2`` (Laplace noise on a number
    of range 1: 2 / epsilon^2), so ``noise`` of the data stands for epsilon = 1. The loss depends on everybody's
    epsilon and so is no entry of COSTS; it is counted here, and payoffs, equilibria and certificates are exact.
    `market.analysis.welfare.welfare` takes payments to cancel and does not see it: use `welfare_after_leaks`.

    One correlation of all pairs, not negative: owners meet in one further sum, and a market may be large.
    Otherwise one n by n inverse per look at the market (n^3; candidates cost nothing more), and owners meet
    in no sum, so that Newton's method has nothing to go by and play settles the market.

    Parameters
    ----------
    policy : Policy
        An additive one.
    data : Correlated
    index : (n,), optional
        The owners meant, all of them unless a market looks at some.

    Raises
    ------
    ValueError
        A policy of whole profiles (`settle`), or with columns of another length.

    >>> from market.costs.functions import Linear
    >>> from market.equilibrium.solver import solve
    >>> from market.game.owners import Owners
    >>> from market.policies.payments import Posted
    >>> owners = Owners(("A", "B"), 1, 0.0, 5.0, Linear(0.0))
    >>> for r in (0.0, 0.9):
    ...     game = Game(owners, CorrelatedLoss(Posted(0.15), Correlated([1.0, 1.0], r)), None, 0.0)
    ...     print(solve(game, rng=np.random.default_rng(0), start=[5.0, 5.0]).epsilon.round(3).tolist())
    [0.076, 0.076]
    [5.0, 5.0]
    """

    policy: Any
    data: Any
    index: Any = None  # which owners' columns this is about: a market may look at some of them
    _last: dict[bytes, np.ndarray] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if hasattr(self.policy, "settle"):
            raise ValueError("policy must be additive: it must have terms and payments, not settle")
        whole = self.data.of if isinstance(self.data, Whole) else self.data
        everyone = np.arange(len(whole))
        object.__setattr__(self, "data", Whole(whole))
        object.__setattr__(self, "index", everyone if self.index is None else np.asarray(self.index, dtype=int))
        for name, length in lengths(self.policy).items():
            if length != len(self.index):
                raise ValueError(f"policy.{name} needs one number per owner ({len(self.index)}); found {length}")

    @property
    def one_factor(self) -> bool:
        """Whether all data share one common part, so that others' sales add up."""
        return isinstance(self.data.of.correlation, float) and self.data.of.correlation >= 0

    def noise(self, epsilon: np.ndarray) -> np.ndarray:
        """Variance of the noise each datum is seen through at epsilon (n, ...); inf at epsilon = 0."""
        square = np.asarray(epsilon, dtype=float) ** 2
        scale = column(self.data.of.noise[self.index], square)
        return np.divide(scale, square, out=np.full(square.shape, np.inf), where=square > 0)

    def terms(self, epsilon: np.ndarray, owners: Owners) -> np.ndarray:
        """The policy's own terms, and with one factor what each sale tells about it: (n, ..., j)."""
        terms = self.policy.terms(epsilon, owners)
        return np.concatenate([terms, self._common(epsilon)[..., None]], axis=-1) if self.one_factor else terms

    def payments(self, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
        """Payment less loss (n, m) at each candidate."""
        paid = self.policy.payments(epsilon, self._inner(deviations))
        return paid - self.data.of.worth[self.index][:, None] * self._told(epsilon, self._left(deviations))

    def slopes(self, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
        """Derivative of `payments` by the owner's own epsilon, at candidates above 0 (n, m)."""
        inner = self._inner(deviations)
        if hasattr(self.policy, "slopes"):
            slope = self.policy.slopes(epsilon, inner)
        else:
            slope = difference(lambda at: self.policy.payments(at, inner), epsilon)
        left, scale = self._left(deviations)[:, None], self.data.of.noise[self.index][:, None]
        steepness = 2 * scale * epsilon * (left / (left * epsilon**2 + scale)) ** 2
        return slope - self.data.of.worth[self.index][:, None] * steepness

    def breakpoints(self, owners: Owners) -> np.ndarray:
        """Where the policy's own payments jump (n, j)."""
        return self.policy.breakpoints(owners) if hasattr(self.policy, "breakpoints") else np.empty((len(owners), 0))

    def losses(self, epsilon: np.ndarray) -> np.ndarray:
        """Money each owner loses (n_owners,) to what all sales at a profile (n_owners,) tell about it."""
        epsilon = np.asarray(epsilon, dtype=float)
        others = sums_over_others(self._common(epsilon)[:, None])[:, 0] if self.one_factor else epsilon
        left = self._left_by(others) if self.one_factor else self._left_at(epsilon)
        return self.data.of.worth * self._told(epsilon[:, None], left)[:, 0]

    def _inner(self, deviations: Deviations) -> Deviations:
        """The moves as the other policy sees them, without the sum that it did not add."""
        return (
            replace(deviations, policy=self.policy, others=deviations.others[..., :-1])
            if self.one_factor
            else deviations
        )

    def _common(self, epsilon: np.ndarray) -> np.ndarray:
        """What each sale (n, ...) tells about the common part, as a precision."""
        own = 1 - self.data.of.correlation + self.noise(epsilon) / column(self.data.of.variance[self.index], epsilon)
        return np.divide(self.data.of.correlation, own, out=np.full(own.shape, np.inf), where=own > 0)

    def _told(self, epsilon: np.ndarray, left: np.ndarray) -> np.ndarray:
        """Leaked information (n, m) at candidates, given what the others leave of each variance (n,)."""
        left = left[:, None]
        own = np.divide(left**2, left + self.noise(epsilon), out=np.zeros(epsilon.shape), where=left > 0)
        return self.data.of.variance[self.index][:, None] - left + own

    def _left(self, deviations: Deviations) -> np.ndarray:
        """Variance each datum keeps given the others' sales (n,)."""
        return (
            self._left_by(deviations.others[:, 0, -1])
            if self.one_factor
            else self._left_at(deviations.profile)[self.index]
        )

    def _left_by(self, others: np.ndarray) -> np.ndarray:
        part = self.data.of.correlation
        return self.data.of.variance[self.index] * (1 - part + part / (1 + others))

    def _left_at(self, profile: np.ndarray) -> np.ndarray:
        """As `remaining` (n_owners,), kept for the profile last asked for: a search asks many times."""
        key = profile.tobytes()
        left = self._last.get(key)
        if left is None:
            square = profile**2
            noise = np.divide(self.data.of.noise, square, out=np.full(square.shape, np.inf), where=square > 0)
            left = remaining(self.data.of.covariance, noise)
            self._last.clear()
            self._last[key] = left
        return left


def welfare_after_leaks(game: Game, epsilon: np.ndarray) -> float:
    """Everybody's gain as `market.analysis.welfare.welfare` counts it, less what the sales tell about the owners.

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
