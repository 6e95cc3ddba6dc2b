"""What the learner may gain by buying, told before training: by its gain in every world that its public rows allow."""

from __future__ import annotations

from typing import Any

import numpy as np

from learning.arrays import Array
from learning.forecast.interval import quantiles

LEVEL = 0.9  # of the interval of the gain: from its 5 % to its 95 % quantile


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
