"""The model as a public good: how much too little owners contribute, and the matching that would mend it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from market.equilibrium.solver import certify
from market.game.game import Game
from market.policies.marginal import Marginal


@dataclass(frozen=True)
class Matching:
    """Payments under which what is best for all is best for each.

    Attributes
    ----------
    shares : (n_owners,), of the learner's gain by what each adds, as the marginal policy pays them
    payments : (n_owners,), money that is at the best profile
    certified : bool, whether nobody gains by leaving that profile, by the certificate of every market
    """

    shares: np.ndarray
    payments: np.ndarray
    certified: bool


def matching(game: Game, best: np.ndarray) -> Matching | None:
    """The shares ``(V + sum of the others' benefits) / V`` of the learner's marginal gain, and whether they do it.

    An owner's own benefit is its own reason to contribute; what its data is worth to the learner and to all other owners who
    gain is paid to it, V a unit of relative fitness at a time. In place of whatever the game's policy pays.

    Parameters
    ----------
    game : Game, whose model goes to all owners
    best : (n_owners,), the profile of most welfare

    Returns
    -------
    Matching, or None where the learner has no value of its own to pay by

    Source: Pigou; Groves and Ledyard, Optimal allocation of public goods (1977), for the shares.

    >>> from market.costs.functions import Quadratic
    >>> from market.externalities.public_good import Precision
    >>> from market.game.owners import Owners
    >>> from market.policies.posted import Posted
    >>> people = Owners(("A", "B"), 1, 0.0, 9.0, Quadratic(1.0), [1.0, 3.0], 1.0, model_for_all=True)
    >>> game = Game(people, Posted(0.0), Precision(prior=1.0), 2.0)
    >>> matching(game, np.ones(2)).shares.tolist()
    [2.5, 1.5]
    """
    if not game.value:
        return None
    owners = game.owners
    gaining = np.where(game.fitness(best) < owners.isolated, owners.benefit, 0.0)
    shares = (game.value + gaining.sum() - gaining) / game.value
    paid = replace(game, policy=Marginal(shares))
    found = certify(paid, np.asarray(best, dtype=float))
    return Matching(shares, found.payments, found.converged)
