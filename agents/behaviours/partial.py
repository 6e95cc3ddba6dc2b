"""People who see their neighbours in a network, and have to guess what all others sell."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from agents.behaviours.base import Behaviour, Memory, Seen
from learning.declaration import NonNegative
from market.columns import upright
from market.game.deviations import Deviations
from market.game.game import sums_over_others


@dataclass(frozen=True)
class Neighbours(Behaviour):
    """Best response to what it believes: it sees the budgets of its neighbours, and takes others for what its prior says.

    Whom it sees is the scenario's [network.sight]; without that, everybody. Who sees all others does as a rational owner
    does. What owners have (records, say) is public, and so is the policy; what they sell is not.

    Parameters
    ----------
    prior : str or float, whom it does not see it takes for those it sees, on average, or, seeing nobody, for the average of
        all when the market opened ("seen"); for the average of all when the last round ended, which somebody publishes
        ("published"); or for sellers of a stated epsilon, brought into their intervals
    sight : sparse array (n_owners, n_owners), optional
        1 where the owner of the row sees that of the column.

    Source: Network games of incomplete information after Galeotti, Goyal, Jackson, Vega-Redondo and Yariv, Network games
    (2010), with beliefs that are a rule of thumb rather than Bayesian.

    >>> import scipy
    >>> from market.costs.functions import Linear
    >>> from market.game.game import Game
    >>> from market.game.owners import Owners
    >>> from market.policies.proportional import Proportional
    >>> owners = Owners(("A", "B", "C"), 1, 0.0, 20.0, Linear([1.0, 2.0, 3.0]))
    >>> moves = Game(owners, Proportional(12.0, "epsilon"), None, 0.0).deviations(np.array([2.0, 1.0, 0.0]))
    >>> sight = scipy.sparse.csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 0, 0]]))  # A sees B, B all, C nobody
    >>> behaviour = Neighbours("seen", sight)
    >>> believed = behaviour.believed(moves, Seen(memory=behaviour.begin(moves))).others_policy.ravel().tolist()
    >>> believed, moves.others_policy.ravel().tolist()  # A takes C for another B; C both others for the average
    ([2.0, 2.0, 2.0], [1.0, 2.0, 3.0])
    """

    title = "sees the budgets of its neighbours in a network alone"
    meets_in_sums = False
    watches = True
    prior: Literal["seen", "published"] | NonNegative = "seen"
    sight: Any = field(default=None, repr=False, metadata={"in_file": False})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Neighbours) and (self.prior, id(self.sight)) == (other.prior, id(other.sight))

    def __hash__(self) -> int:
        return hash((self.prior, id(self.sight)))

    def seeing(self, sight: Any) -> Neighbours:
        return replace(self, sight=sight)

    @property
    def patience(self) -> int:
        return 2 if self.prior == "published" and self._blind else 1

    @property
    def _blind(self) -> bool:
        """Whether anybody is not seen by everybody."""
        return self.sight is not None and self.sight.nnz < self.sight.shape[0] * (self.sight.shape[0] - 1)

    def choose(self, deviations: Deviations, seen: Seen) -> np.ndarray:
        return self.believed(deviations, seen).best_responses()

    def believed(self, deviations: Deviations, seen: Seen) -> Deviations:
        """The unilateral moves of n owners as they believe them to be.

        Raises
        ------
        ValueError
            A policy under which owners meet in more than sums, of which no part can be guessed.
        """
        if self.sight is None:
            return deviations
        game, index, count = deviations.game, deviations.index, len(deviations.profile)
        if not game.additive:
            raise ValueError("owners who see their neighbours alone need a policy under which owners meet in sums")
        view = self.sight[index].astype(float)
        degree = np.asarray(view.sum(axis=1))[:, None]
        terms = game.terms(deviations.profile)
        others = self._others(deviations, view @ terms, view, degree, seen)
        others = np.where(degree == count - 1, deviations.others[:, 0], others)
        return replace(deviations, others=others[:, None, :])

    def _others(
        self, deviations: Deviations, sums: np.ndarray, view: Any, degree: np.ndarray, seen: Seen
    ) -> np.ndarray:
        """What n owners believe all others add to each sum (n, k), from what those add whom they see (n, k)."""
        game, index = deviations.game, deviations.index
        unseen = len(deviations.profile) - 1 - degree
        if self.prior == "published":
            return sums + unseen * seen.memory["average"]
        if self.prior == "seen":
            return sums + unseen * np.where(degree > 0, sums / np.maximum(degree, 1), seen.memory["average"])
        stated = np.clip(float(self.prior), game.owners.epsilon_min, game.owners.epsilon_max)
        guessed = game.terms(stated)
        return sums + sums_over_others(guessed)[index] - view @ guessed

    def begin(self, deviations: Deviations) -> Memory:
        return {"average": self._average(deviations)} if self.sight is not None else {}

    def remember(self, deviations: Deviations, seen: Seen) -> Memory:
        return self.begin(deviations) if self.prior == "published" else seen.memory

    def _average(self, deviations: Deviations) -> np.ndarray:
        """What all owners add to each sum on average, a row (n, k) for each who knows of it."""
        average = upright(deviations.game.terms(deviations.profile)).mean(axis=1)
        return np.tile(average, (len(deviations.index), 1))
