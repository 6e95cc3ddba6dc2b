"""Base classes of policies, with defaults for all but the payments."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from learning.declaration import Declaration
from market.columns import Array, finite_difference
from market.costs.base import Writer
from market.game.deviations import Deviations
from market.game.game import Game
from market.game.owners import Owners

# Gives the budgets (n_owners,) worth buying of a market's owners.
WorthBuying = Callable[[], Array]


class Policy(Declaration, ABC):
    """Base of policies: payments to owners for their privacy budgets.

    A policy is a frozen dataclass. It sees other owners through sums only: `terms` are their
    summands, and `payments` the money for an owner's candidates, everyone else fixed. Only
    `payments` has no default. A policy that needs whole profiles goes under `ProfilePolicy`.

    Attributes
    ----------
    additive : bool, whether owners meet in sums only
    by_sums : bool, whether a payment depends on the owner's epsilon and those sums alone
    pays_for_fitness : bool, whether payments are differences of the value of fitness, and so as
        exact as that
    grain : dict, the resolution of best responses (``points``, ``peaks``), where payments bend
        often
    paid_unasked : bool, whether promises are paid although the learner buys nothing
    own_choice : bool, whether a payment depends on the owner's own epsilon alone
    money : str, the parameter that budgets and payments in equilibrium rise with, which studies and
        `dpmarket design` scale; empty if none
    usual : bool, whether a study tries it where no policy is named
    """

    where = "policy"
    additive: ClassVar[bool] = True
    by_sums: ClassVar[bool] = True
    pays_for_fitness: ClassVar[bool] = False
    grain: ClassVar[dict[str, int]] = {}
    paid_unasked: ClassVar[bool] = False
    own_choice: ClassVar[bool] = False
    money: ClassVar[str] = ""
    usual: ClassVar[bool] = True

    @classmethod
    def trial_parameters(cls, owners: Owners) -> dict[str, Any]:
        """Parameters with which a study begins before it scales ``money``; by default 1 of that."""
        return {cls.money: 1.0} if cls.money else {}

    @classmethod
    def study_variants(cls) -> list[dict[str, Any]]:
        """Parameters besides ``money`` that a study tries in turn; by default the defaults."""
        return [{}]

    def terms(self, epsilon: Array, owners: Owners) -> Array:
        """Terms of each owner: (n_owners, ...) -> (n_owners, ..., j); by default no sums."""
        return np.empty((*epsilon.shape, 0))

    @abstractmethod
    def payments(self, epsilon: Array, deviations: Deviations) -> Array:
        """Payment to each owner at each candidate: (n_owners, m) -> (n_owners, m), money."""

    def marginal_payments(self, epsilon: Array, deviations: Deviations) -> Array:
        """Derivative of `payments` at candidates above 0 (n_owners, m); by default a difference."""
        return finite_difference(lambda at: self.payments(at, deviations), epsilon)

    def payment_jumps(self, owners: Owners) -> Array:
        """Epsilons where payments may jump or bend (n_owners, j); by default none."""
        return np.empty((len(owners), 0))

    def standard_error(self, epsilon: Array, game: Game) -> Array | None:
        """Sampling error of the payments of a profile (n_owners,), money; None without sampling."""
        return None

    def check_owners(self, owners: Owners) -> None:
        """Refuse, with an InputError, owners whom it cannot pay; by default none."""

    def prepared_for(self, owners: Owners, worth: WorthBuying | None = None) -> Policy:
        """Policy with all that it settles for these owners before anybody moves.

        ``worth`` gives the budgets that are worth buying (n_owners,), None without a forecast.
        """
        return self

    def policy_remarks(self, game: Game) -> list[dict[str, Any]]:
        """Facts about a market in which all share the least they may, each with a ``cause``."""
        return []

    def sentence(self, write: Writer) -> str:
        """Sentence of the report on the learner's payments; empty to list the parameters."""
        return ""


class ProfilePolicy(Policy):
    """Base of policies that settle whole profiles, where owners meet in more than sums.

    It may have ``payments`` and ``marginal_payments`` of its own, which are quicker than one
    profile at a time.
    """

    additive = False

    @abstractmethod
    def settle(self, epsilon: Array, game: Game) -> Array:
        """Payment to each owner at a profile: (n_owners,) -> (n_owners,), money."""

    def payments(self, epsilon: Array, deviations: Deviations) -> Array:
        """Payments (n, m) at each candidate, one profile at a time."""
        result = np.empty_like(epsilon)
        for (row, at), candidate in np.ndenumerate(epsilon):
            owner = deviations.index[row]
            profile = deviations.profile.copy()
            profile[owner] = candidate
            result[row, at] = self.settle(profile, deviations.game)[owner]
        return result
