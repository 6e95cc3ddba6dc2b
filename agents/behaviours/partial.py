"""Owners who see their neighbours in a network, and have beliefs about the others' budgets."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from agents.behaviours.base import Behaviour, Memory, Seen
from learning.declaration import NonNegative
from market.columns import transpose_rows
from market.game.deviations import Deviations
from market.game.game import sums_over_others


@dataclass(frozen=True)
class Neighbours(Behaviour):
    """Best response to beliefs: it sees its neighbours' budgets, and has a prior for the others.

    Its neighbours are those of the scenario's [network.sight]; without that, all owners. An owner
    who sees all others is rational. The owners' records and the policy are public; their budgets
    are not.

    Parameters
    ----------
    prior : str or float, the belief about unseen owners: "seen", the average of the seen ones or,
        without any, the average of all at the opening; "published", the average of all at the end
        of the last round; or a stated epsilon, brought into their intervals
    sight : sparse array (n_owners, n_owners), optional
        1 where the owner of the row sees that of the column.

    Source: Network games of incomplete information after Galeotti, Goyal, Jackson, Vega-Redondo and
        Yariv, Network games (2010), with beliefs that are a rule of thumb rather than Bayesian.

    A sees B alone, and takes C for another B. B sees all others. C sees nobody, and takes both
    others for the average.

    >>> import scipy
    >>> from market.costs.functions import Linear
    >>> from market.game.game import Game
    >>> from market.game.owners import Owners
    >>> from market.policies.proportional import Proportional
    >>> owners = Owners(("A", "B", "C"), 1, 0.0, 20.0, Linear([1.0, 2.0, 3.0]))
    >>> game = Game(owners, Proportional(12.0, "epsilon"), None, 0.0)
    >>> moves = game.deviations(np.array([2.0, 1.0, 0.0]))
    >>> sight = scipy.sparse.csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 0, 0]]))
    >>> behaviour = Neighbours("seen", sight)
    >>> believed = behaviour.believed_moves(moves, Seen(memory=behaviour.initial_memory(moves)))
    >>> believed.others_policy.ravel().tolist(), moves.others_policy.ravel().tolist()
    ([2.0, 2.0, 2.0], [1.0, 2.0, 3.0])
    """

    title = "sees the budgets of its neighbours in a network alone"
    meets_in_sums = False
    watches = True
    prior: Literal["seen", "published"] | NonNegative = "seen"
    sight: Any = field(default=None, repr=False, metadata={"in_file": False})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Neighbours):
            return False
        return self.prior == other.prior and self.sight is other.sight

    def __hash__(self) -> int:
        return hash((self.prior, id(self.sight)))

    def with_sight(self, sight: Any) -> Neighbours:
        return replace(self, sight=sight)

    @property
    def patience(self) -> int:
        if self.prior != "published" or self.sight is None:
            return 1
        count = self.sight.shape[0]
        return 2 if self.sight.nnz < count * (count - 1) else 1

    def choose(self, deviations: Deviations, seen: Seen) -> np.ndarray:
        return self.believed_moves(deviations, seen).best_responses()

    def believed_moves(self, deviations: Deviations, seen: Seen) -> Deviations:
        """Make the unilateral moves of n owners by their beliefs.

        Raises
        ------
        ValueError
            For a policy under which owners meet in more than sums, of which no part can be guessed.
        """
        if self.sight is None:
            return deviations
        game = deviations.game
        if not game.additive:
            raise ValueError(
                "owners who see their neighbours alone need a policy under which owners meet in "
                "sums"
            )
        view = self.sight[deviations.index].astype(float)
        degree = np.asarray(view.sum(axis=1))[:, None]
        unseen = len(deviations.profile) - 1 - degree
        sums = view @ game.terms(deviations.profile)
        if self.prior == "published":
            others = sums + unseen * seen.memory["average"]
        elif self.prior == "seen":
            average = np.where(degree > 0, sums / np.maximum(degree, 1), seen.memory["average"])
            others = sums + unseen * average
        else:
            stated = np.clip(float(self.prior), game.owners.epsilon_min, game.owners.epsilon_max)
            guessed = game.terms(stated)
            others = sums + sums_over_others(guessed)[deviations.index] - view @ guessed
        others = np.where(unseen == 0, deviations.others[:, 0], others)
        return replace(deviations, others=others[:, None, :])

    def initial_memory(self, deviations: Deviations) -> Memory:
        """Average of all owners' terms of each sum, a row (n, k) for each owner."""
        if self.sight is None:
            return {}
        average = transpose_rows(deviations.game.terms(deviations.profile)).mean(axis=1)
        return {"average": np.tile(average, (len(deviations.index), 1))}

    def update_memory(self, deviations: Deviations, seen: Seen) -> Memory:
        return self.initial_memory(deviations) if self.prior == "published" else seen.memory
