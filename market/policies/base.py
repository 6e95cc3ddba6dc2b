"""What every policy has, and what it need not say."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from learning.declaration import Declaration
from market.columns import difference
from market.costs.base import Writer
from market.game.deviations import Deviations
from market.game.game import Game
from market.game.owners import Owners

WorthBuying = Callable[[], np.ndarray]  # gives the budgets (n_owners,) worth buying of a market's owners


class Policy(Declaration, ABC):
    """Base of policies: what owners are paid for their privacy budgets.

    A policy is a frozen dataclass. It sees other owners through sums only: `terms` is what each owner adds to them, and
    `payments` what each would be paid at candidates of its own, everyone else fixed. Only `payments` has no default. A
    policy that must see whole profiles goes under `ProfilePolicy`.

    Attributes
    ----------
    additive : bool, whether owners meet in sums only
    by_sums : bool, whether what an owner is paid follows from its own epsilon and those sums, whatever else the profile is
    pays_for_fitness : bool, whether payments are differences of what fitness is worth, and so as exact as that
    grain : dict, how finely best responses are searched (``points``, ``peaks``), where payments bend often
    paid_unasked : bool, whether money promised is paid though the learner asks nothing; payment is for answers given
    own_choice : bool, whether what an owner is paid depends on its own epsilon alone, so that its best choice does too
    money : str, the parameter that all payments rise with, which studies scale; empty where there is none
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
    def trial(cls, owners: Owners) -> dict[str, Any]:
        """Parameters that a study begins with where none are stated, before it scales ``money``; by default 1 of that."""
        return {cls.money: 1.0} if cls.money else {}

    @classmethod
    def variants(cls) -> list[dict[str, Any]]:
        """List parameters besides ``money`` with which a study tries it, each in turn; by default as it stands."""
        return [{}]

    def terms(self, epsilon: np.ndarray, owners: Owners) -> np.ndarray:
        """What each owner adds to the policy's sums: (n_owners, ...) -> (n_owners, ..., j); by default no sums."""
        return np.empty((*epsilon.shape, 0))

    @abstractmethod
    def payments(self, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
        """Money each owner is paid at each candidate: (n_owners, m) -> (n_owners, m)."""

    def slopes(self, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
        """Derivative of `payments` at candidates above 0 (n_owners, m); by default a difference."""
        return difference(lambda at: self.payments(at, deviations), epsilon)

    def breakpoints(self, owners: Owners) -> np.ndarray:
        """Where payments may jump (n_owners, j); by default nowhere."""
        return np.empty((len(owners), 0))

    def standard_error(self, epsilon: np.ndarray, game: Game) -> np.ndarray | None:
        """How far sampling may have the payments of a profile off (n_owners,), money; None where nothing is sampled."""
        return None

    def check_owners(self, owners: Owners) -> None:
        """Refuse, with an InputError, owners whom it cannot pay; by default nobody."""

    def settled(self, owners: Owners, worth: WorthBuying | None = None) -> Policy:
        """The policy as it stands for these owners, before anybody moves; by default itself.

        Parameters
        ----------
        worth : gives the budgets that are worth buying (n_owners,), by the forecast; None where there is none.
        """
        return self

    def remarks(self, game: Game) -> list[dict[str, Any]]:
        """Facts about a market in which all share the least they may, each with a ``cause``; by default none."""
        return []

    def sentence(self, write: Writer) -> str:
        """What the learner pays, for the report; empty where only the parameters can be told."""
        return ""


class ProfilePolicy(Policy):
    """Base of policies that settle whole profiles, where owners meet in more than sums; slower.

    It may have ``payments`` (and ``slopes``) of its own, which is quicker than one profile at a time.
    """

    additive = False

    @abstractmethod
    def settle(self, epsilon: np.ndarray, game: Game) -> np.ndarray:
        """Money each owner is paid at a profile: (n_owners,) -> (n_owners,)."""

    def payments(self, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
        """Money each owner is paid at each candidate (n, m): one profile at a time."""
        result = np.empty_like(epsilon)
        for (row, at), candidate in np.ndenumerate(epsilon):
            profile = deviations.profile.copy()
            profile[deviations.index[row]] = candidate
            result[row, at] = self.settle(profile, deviations.game)[deviations.index[row]]
        return result


class OverPolicy(ProfilePolicy):
    """Base of policies that change what another one, ``policy``, pays: searched and settled as that one is."""

    policy: Any

    @property
    def grain(self) -> dict[str, int]:  # type: ignore[override]
        """How finely best responses are searched: as under the other policy."""
        return dict(self.policy.grain)

    @property
    def paid_unasked(self) -> bool:  # type: ignore[override]
        return bool(self.policy.paid_unasked)

    @property
    def pays_for_fitness(self) -> bool:  # type: ignore[override]
        return bool(self.policy.pays_for_fitness)
