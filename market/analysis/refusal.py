"""The edge of the learner's refusal: profiles at which it pays for a model that is no better than its own."""

from __future__ import annotations

import numpy as np

from market.game.game import Game

EQUAL = 1e-6  # relative difference of the model from the learner's own below which it is no better


def at_refusal(game: Game, epsilon: np.ndarray) -> bool:
    """Decide whether the learner asks, pays, and gains nothing before it pays: ``|outside - psi| < 1e-6 outside``.

    Owners who choose together, or of whom each alone can make the learner refuse, may hold out for all that is paid: they
    sell just as much as it takes to be asked. At such a profile nobody gains by selling more, nor less, and every other
    way to make as much noise together is a profile of the same kind: there is a continuum of such equilibria.

    Parameters
    ----------
    epsilon : (n_owners,)

    >>> from market.costs.functions import Linear
    >>> from market.game.owners import Owners
    >>> from market.policies.proportional import Proportional
    >>> class Law:  # twice the noise of two owners at 1 is as bad as the learner's own model
    ...     outside = 1.0
    ...     def terms(self, epsilon):
    ...         return np.where(epsilon > 0, np.maximum(epsilon, 1e-9) ** -2.0, 0.0)[..., None]
    ...     def excess(self, sums):
    ...         return np.where(sums[..., 0] > 0, 0.25 * sums[..., 0], 1.0)
    >>> game = Game(Owners(("A", "B"), 1, 0.0, 9.0, Linear(1.0)), Proportional(10.0), Law(), 100.0)
    >>> at_refusal(game, np.full(2, 0.5**0.5)), at_refusal(game, np.ones(2))
    (True, False)
    """
    outside = float(game.forecast.outside)
    if not game.asks(epsilon) or not abs(outside - game.fitness(epsilon)) < EQUAL * abs(outside):
        return False
    return bool(game.payments(epsilon).sum() > 0)
