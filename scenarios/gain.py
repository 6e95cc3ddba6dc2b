"""What the learner gains by buying: before training, in every world that its public rows allow, and in truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from learning.arrays import Array
from learning.forecast.interval import Prediction, quantiles
from learning.forecast.planner import Planner
from market.game.game import Game

LEVEL = 0.9  # of the interval of the gain: from its 5 % to its 95 % quantile


@dataclass(frozen=True)
class Promise:
    """What the learner is promised at given budgets, and what comes true on average over trainings.

    Parameters
    ----------
    prediction : relative fitness of both models in every possible world.
    trained : relative fitness of the trained model, by the law (or the trainings) on the pooled records.
    outside : relative fitness of the learner's own model on the pooled records.
    value : money per unit of relative fitness.
    payments : money paid to all owners.
    """

    prediction: Prediction
    trained: float
    outside: float
    value: float
    payments: float

    @property
    def possible(self) -> Array:
        """The learner's gain in each possible world, (m,), money."""
        return self.prediction.gain(self.value, self.payments)

    @property
    def realised(self) -> float:
        """The learner's gain in truth, money: the simulator's privilege."""
        return self.value * (self.outside - self.trained) - self.payments


def promise(planner: Planner, game: Game, epsilon: Array) -> Promise:
    """The promise at given budgets (n_owners,), and the truth by the law on the pooled records: nothing need be trained."""
    trained, outside = planner.oracle(epsilon).relative_fitness, planner.unbought().relative_fitness
    return Promise(planner.predict(epsilon), trained, outside, game.value, float(game.payments(epsilon).sum()))


def gain_part(possible: Array) -> dict[str, Any]:
    """What a result tells of the learner's gain in each possible world, (m,), each on average over trainings.

    Returns
    -------
    dict
        ``median``; ``interval``, in which the gain lies with chance ``level``; ``chance_pays``, that it is above 0.
    """
    low, high = quantiles(possible, LEVEL)
    return {
        "median": float(np.median(possible)),
        "interval": [low, high],
        "level": LEVEL,
        "chance_pays": chance_above(possible),
    }


def chance_above(possible: Array, amount: float = 0.0) -> float:
    """Chance that the gain is above an amount, by its value in each world (m,): (k + 1/2)/(m + 1) where k of m are above.

    The half is Jeffreys' prior: however many worlds agree, worlds that differ make nothing certain.

    >>> chance_above(np.array([-1.0, 2.0, 3.0])), chance_above(np.array([2.0, 2.0]))
    (0.625, 1.0)
    """
    above = int(np.sum(possible > amount))
    if possible.min() == possible.max():
        return float(above > 0)
    return (above + 0.5) / (len(possible) + 1)
