"""The plan of a training: algorithm, rounds, step size, returned point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learning.arrays import Array
from learning.privacy.mechanism import Mechanism
from learning.training.algorithms import ALGORITHMS
from learning.training.clocks import Clocks
from learning.training.law import Returned


@dataclass(frozen=True)
class Plan:
    """The plan of a training.

    Parameters
    ----------
    algorithm: a name of `learning.training.algorithms.ALGORITHMS`.
    returned: the returned point, the last one or the mean of all rounds.
    horizon: T, the number of rounds.
    step_size: the step-size constant c; 0 for no queries.
    clocks: clocks of the owners, where the algorithm uses them.
    answers: number of answers that budgets are split over, the most that an owner gives; unless
        given, T, or the number of queries where shares grow.
    decline: the power of k that steps fall with; the algorithm's own unless given.
    growth: each answer's share of a budget over that of the one before; 1 for the even split.
    """

    algorithm: str
    returned: Returned
    horizon: int
    step_size: float
    clocks: Clocks = Clocks()
    answers: int | None = None
    decline: float | None = None
    growth: float = 1.0

    def __post_init__(self) -> None:
        name = self.algorithm
        if name not in ALGORITHMS:
            raise ValueError(f"{name!r} is no algorithm; there are {', '.join(ALGORITHMS)}")
        if self.growth != 1 and not ALGORITHMS[name].shares_may_grow:
            raise ValueError(
                f"shares of a budget cannot grow under {name}, got a growth of {self.growth:g}"
            )

    @property
    def priced(self) -> int:
        """Number of answers that budgets are split over: T, or the queries where shares grow."""
        if self.answers is not None:
            return self.answers
        return self.horizon if self.growth == 1 else len(self.steps)

    def relative_scales(self, mechanism: Mechanism) -> Array:
        """Noise scale of each answer over that of the even split, (queries,)."""
        if self.growth == 1 and mechanism.growth in (1, None):
            return np.ones(len(self.steps))
        return mechanism.relative_scales(self.growth, self.priced)[: len(self.steps)]

    @property
    def asks(self) -> bool:
        """True if owners are asked at all; without steps the learner keeps its own model."""
        return self.step_size > 0

    @property
    def exchanges(self) -> int:
        """Number of times that every owner is asked."""
        return ALGORITHMS[self.algorithm].exchanges(self.horizon) if self.asks else 0

    @property
    def steps(self) -> Array:
        """Step size of each query of the algorithm, (queries,)."""
        return ALGORITHMS[self.algorithm].steps(self.step_size, self.horizon, self.decline)
