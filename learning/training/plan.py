"""How the learner will train: algorithm, rounds, step size, returned point."""

from __future__ import annotations

from dataclasses import dataclass

from learning.arrays import Array
from learning.training.algorithms import ALGORITHMS
from learning.training.clocks import Clocks
from learning.training.law import Returned


@dataclass(frozen=True)
class Plan:
    """How the learner will train.

    Parameters
    ----------
    algorithm: a name of `learning.training.algorithms.ALGORITHMS`.
    returned: the point that is returned, the last one or the mean of all rounds.
    horizon: T, the number of rounds.
    step_size: the step-size constant c; 0 asks nothing of anybody.
    clocks: who talks when, where the algorithm goes by clocks.
    answers: number of answers that budgets are split over, T unless given: no owner answers more often.
    """

    algorithm: str
    returned: Returned
    horizon: int
    step_size: float
    clocks: Clocks = Clocks()
    answers: int | None = None

    def __post_init__(self) -> None:
        if self.algorithm not in ALGORITHMS:
            raise ValueError(f"{self.algorithm!r} is no algorithm; there are {', '.join(ALGORITHMS)}")

    @property
    def priced(self) -> int:
        """Answers that budgets are split over."""
        return self.horizon if self.answers is None else self.answers

    @property
    def asks(self) -> bool:
        """Whether anything is asked of the owners; a plan without a step leaves the learner its own model."""
        return self.step_size > 0

    @property
    def steps(self) -> Array:
        """Step size of each query, as the algorithm has them, (queries,)."""
        return ALGORITHMS[self.algorithm].steps(self.step_size, self.horizon)
