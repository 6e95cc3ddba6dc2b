"""A fixed budget, shared in proportion to the owners' sales."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from learning.declaration import NonNegative, parameter
from market.columns import NOISELESS, Array, Pair, column
from market.costs.base import Writer
from market.game.deviations import Deviations
from market.game.owners import Owners
from market.policies.base import Policy

Basis = Literal["records_epsilon", "records_epsilon2", "epsilon"]
BASES: dict[Basis, str] = {
    "records_epsilon": "records times privacy budget ε",
    "records_epsilon2": "records times ε squared",
    "epsilon": "privacy budget ε",
}


@dataclass(frozen=True)
class Proportional(Policy):
    """A Tullock contest: a fixed budget shared in proportion to sales, ``budget * x / sum of x``.

    ``x = n epsilon``, ``n epsilon^2`` or ``epsilon``. Without sharers no money is paid. A single
    sharer gets the whole budget for any epsilon > 0. Owners at epsilon = inf share the budget by
    the limit of equal budgets.

    Parameters
    ----------
    budget : float, money that is shared out, whatever is sold
    basis : the sales x: records times epsilon, records times epsilon squared, or epsilon alone

    Raises
    ------
    InputError
        A negative or non-finite budget, or an unknown basis.

    Source: Tullock's contest; with linear costs the k cheapest share, and their total is (k-1)
        budget / sum of their costs.

    >>> from market.costs.functions import Linear
    >>> from market.equilibrium.solver import solve
    >>> from market.game.game import Game
    >>> owners = Owners(("A", "B", "C"), 1, 0.0, 20.0, Linear([1.0, 2.0, 3.0]))
    >>> game = Game(owners, Proportional(12.0, "epsilon"), None, 0.0)
    >>> solve(game, rng=np.random.default_rng(0), starts=1).epsilon.round(6).tolist()
    [2.666667, 1.333333, 0.0]
    """

    money = "budget"
    budget: NonNegative = parameter("Give the money to be shared out.")
    basis: Basis = "records_epsilon"

    def terms(self, epsilon: Array, owners: Owners) -> Array:
        """Sales x of each owner: (n_owners, ...) -> (n_owners, ..., 1)."""
        sold = np.minimum(epsilon, NOISELESS)
        if self.basis == "records_epsilon2":
            sold = sold**2
        if self.basis != "epsilon":
            sold = column(owners.sizes, epsilon) * sold
        return sold[..., None]

    def payments(self, epsilon: Array, deviations: Deviations) -> Array:
        sold, total = self._own_and_total(epsilon, deviations)
        return self.budget * sold / total

    def marginal_payments(self, epsilon: Array, deviations: Deviations) -> Array:
        others = deviations.others_policy[..., 0]
        total = self._own_and_total(epsilon, deviations)[1]
        growth = 1.0 if self.basis == "epsilon" else column(deviations.owners.sizes, epsilon)
        if self.basis == "records_epsilon2":
            growth = growth * 2 * epsilon
        return self.budget * (others / total) * (growth / total)

    def sentence(self, write: Writer) -> str:
        paid = f"{write.money(self.budget)} in all, shared out in proportion to {BASES[self.basis]}"
        return f"The learner pays {paid}."

    def _own_and_total(self, epsilon: Array, deviations: Deviations) -> Pair:
        """Sales of each owner at each candidate (n, m), and the sum over all; 1 if it is 0."""
        sold = self.terms(epsilon, deviations.owners)[..., 0]
        total = sold + deviations.others_policy[..., 0]
        return sold, np.where(total > 0, total, 1.0)
