"""What owners are paid for their privacy budgets (POLICIES).

An additive policy sees other owners through sums only: ``terms(epsilon, owners)`` is what each owner adds to
them, and ``payments(epsilon, moves)`` what each would be paid at candidates of its own, everyone else fixed
(`market.game.game.Deviations`); ``slopes`` is the derivative of the payments, optional. A policy that is not additive
has ``settle(epsilon, game)`` instead, the payments of a whole profile, and is slower; it may also have ``payments``
(and ``slopes``) as above, from the whole profile in `Deviations`, which is quicker than one profile at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from learning.errors import InputError
from market.columns import as_parameter, column, one_of
from market.costs.leakage import leakage_bits, leakage_slope
from market.policies.cost_plus import CostPlus
from market.policies.posted_channel import PostedChannel
from market.policies.shapley import Shapley
from market.policies.thesis import ThesisLeakage, ThesisUtility
from market.policies.tiers import Tiers

if TYPE_CHECKING:
    from market.game.game import Deviations
    from market.game.owners import Owners

NOISELESS = 1e100  # stands for epsilon = inf in a ratio of budgets: the limit of equal budgets that grow


class Policy(Protocol):
    """An additive policy; parameters are scalars or columns (n_owners,)."""

    def terms(self, epsilon: np.ndarray, owners: Owners) -> np.ndarray:
        """What each owner adds to the policy's sums: (n_owners, ...) -> (n_owners, ..., j)."""
        ...

    def payments(self, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
        """Money each owner is paid at each candidate: (n_owners, m) -> (n_owners, m)."""
        ...


@dataclass(frozen=True)
class Posted:
    """A fixed price per unit sold: of epsilon, of n * epsilon, or of n * bits(epsilon).

    What an owner is paid depends on its own choice alone, so every equilibrium is in dominant strategies.

    Parameters
    ----------
    price : scalar or (n_owners,), money per unit of ``per``
    per : "epsilon", "record_epsilon" or "bit"
    values : scalar or (n_owners,), values a record can take; for "bit" only

    Raises
    ------
    InputError
        A negative or non-finite price, an unknown ``per``, or values not above 1.

    Source: Wu, MRes thesis, Prop. 1 (dominance).

    >>> from market.costs.functions import Quadratic
    >>> from market.game.game import Game
    >>> from market.game.owners import Owners
    >>> owners = Owners(("A",), 1000, 0.0, 10.0, Quadratic(price=4.0))
    >>> float(Game(owners, Posted(price=6.0), None, 0.0).best_responses(np.zeros(1))[0])  # price / cost
    1.5
    """

    price: Any
    per: str = "epsilon"
    values: Any = 10.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "price", as_parameter("policy.price", self.price))
        object.__setattr__(self, "values", as_parameter("policy.values", self.values, at_least=1, strict=True))
        one_of("policy.per", self.per, ("epsilon", "record_epsilon", "bit"))

    def terms(self, epsilon: np.ndarray, owners: Owners) -> np.ndarray:
        """No sums: (n_owners, ..., 0)."""
        return np.empty((*epsilon.shape, 0))

    def payments(self, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
        """Money for each candidate (n_owners, m); at price 0 nothing is paid, even for epsilon = inf."""
        rate = column(self._rate(deviations), epsilon)
        sold = leakage_bits(epsilon, column(self.values, epsilon)) if self.per == "bit" else epsilon
        with np.errstate(invalid="ignore"):
            return np.where(rate > 0, rate * sold, 0.0)

    def slopes(self, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
        """Money for a further unit of epsilon (n_owners, m)."""
        rate = column(self._rate(deviations), epsilon)
        if self.per == "bit":
            return rate * leakage_slope(epsilon, column(self.values, epsilon))
        return rate * np.ones_like(epsilon)

    def _rate(self, deviations: Deviations) -> np.ndarray:
        return self.price * (1.0 if self.per == "epsilon" else deviations.owners.sizes)


@dataclass(frozen=True)
class Proportional:
    """A fixed budget shared out in proportion to what each sells: ``budget * x / sum of x``, a Tullock
    contest.

    ``x = n epsilon``, ``n epsilon^2`` or ``epsilon``. Nobody shares: nobody is paid. An owner alone in the
    market gets the whole budget for any epsilon > 0. Owners at epsilon = inf share the budget by the limit of
    equal budgets.

    Parameters
    ----------
    budget : float, money
    basis : "records_epsilon", "records_epsilon2" or "epsilon"

    Raises
    ------
    InputError
        A negative or non-finite budget, or an unknown basis.

    Source: Tullock's contest; with linear costs the k cheapest share, and their total is (k-1) budget / sum
    of their costs.

    >>> from market.costs.functions import Linear
    >>> from market.equilibrium.solver import solve
    >>> from market.game.game import Game
    >>> from market.game.owners import Owners
    >>> owners = Owners(("A", "B", "C"), 1, 0.0, 20.0, Linear([1.0, 2.0, 3.0]))
    >>> game = Game(owners, Proportional(12.0, "epsilon"), None, 0.0)
    >>> solve(game, rng=np.random.default_rng(0), starts=1).epsilon.round(6).tolist()
    [2.666667, 1.333333, 0.0]
    """

    budget: float
    basis: str = "records_epsilon"

    def __post_init__(self) -> None:
        if as_parameter("policy.budget", self.budget).ndim:
            raise InputError("policy.budget", "must be one number", self.budget)
        one_of("policy.basis", self.basis, ("records_epsilon", "records_epsilon2", "epsilon"))

    def terms(self, epsilon: np.ndarray, owners: Owners) -> np.ndarray:
        """What each owner sells, x: (n_owners, ...) -> (n_owners, ..., 1)."""
        return self._sold(epsilon, owners)[..., None]

    def payments(self, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
        """Money for each candidate (n_owners, m)."""
        sold = self._sold(epsilon, deviations.owners)
        total = sold + deviations.others_policy[..., 0]
        return self.budget * sold / np.where(total > 0, total, 1.0)

    def slopes(self, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
        """Money for a further unit of epsilon (n_owners, m)."""
        sold = self._sold(epsilon, deviations.owners)
        others = deviations.others_policy[..., 0]
        total = sold + others
        total = np.where(total > 0, total, 1.0)
        growth = 1.0 if self.basis == "epsilon" else column(deviations.owners.sizes, epsilon)
        if self.basis == "records_epsilon2":
            growth = growth * 2 * epsilon
        return self.budget * (others / total) * (growth / total)

    def _sold(self, epsilon: np.ndarray, owners: Owners) -> np.ndarray:
        budget = np.minimum(epsilon, NOISELESS)
        if self.basis == "epsilon":
            return budget
        return column(owners.sizes, epsilon) * (budget if self.basis == "records_epsilon" else budget**2)


@dataclass(frozen=True)
class Marginal:
    """Each owner is paid for what it adds: ``share * V * (psi(reference) - psi(epsilon))``.

    In the reference the owner is absent (Clarke's pivot) or at the lower end of its interval: that moves
    money, not incentives. With share 1 every owner weighs its cost against the learner's whole gain, so a
    social optimum is an equilibrium. An owner that harms the model is charged.

    Parameters
    ----------
    share : scalar or (n_owners,), the part of the learner's gain that is paid out
    reference : "absent" or "floor"

    Raises
    ------
    InputError
        A negative or non-finite share, or an unknown reference.

    Source: Vickrey, Clarke and Groves; Wu et al., The Value of Collaboration, Thm 2 gives a psi linear in the
    sum of 1/epsilon^2, under which the strategies are dominant.
    """

    share: Any = 1.0
    reference: str = "absent"

    def __post_init__(self) -> None:
        object.__setattr__(self, "share", as_parameter("policy.share", self.share))
        one_of("policy.reference", self.reference, ("absent", "floor"))

    def terms(self, epsilon: np.ndarray, owners: Owners) -> np.ndarray:
        """No sums beyond the forecast's: (n_owners, ..., 0)."""
        return np.empty((*epsilon.shape, 0))

    def payments(self, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
        """Money for each candidate (n_owners, m); negative for an owner that harms the model."""
        floor = deviations.owners.epsilon_min[:, None]
        reference = deviations.fitness(floor if self.reference == "floor" else np.zeros_like(floor))
        return column(self.share, epsilon) * deviations.value * (reference - deviations.fitness(epsilon))

    def slopes(self, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
        """Money for a further unit of epsilon (n_owners, m)."""
        return -column(self.share, epsilon) * deviations.value * deviations.fitness_slope(epsilon)


POLICIES: dict[str, type] = {
    "posted": Posted,
    "proportional": Proportional,
    "marginal": Marginal,
    "shapley": Shapley,
    "posted_channel": PostedChannel,
    "tiers": Tiers,
    "cost_plus": CostPlus,
    "thesis_leakage": ThesisLeakage,
    "thesis_utility": ThesisUtility,
}
