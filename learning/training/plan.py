"""How the learner will train: algorithm, rounds, step size, returned point."""

from __future__ import annotations

from dataclasses import dataclass

from learning.arrays import Array
from learning.training.algorithms import ALGORITHMS
from learning.training.task import Schedule


@dataclass(frozen=True)
class Plan(Schedule):
    """How the learner will train; its parameters are those of `Schedule`."""

    def __post_init__(self) -> None:
        if self.algorithm not in ALGORITHMS:
            raise ValueError(f"{self.algorithm!r} is no algorithm; there are {', '.join(ALGORITHMS)}")
        if self.growth != 1 and not ALGORITHMS[self.algorithm].shares_may_grow:
            raise ValueError(f"shares of a budget cannot grow under {self.algorithm}, got a growth of {self.growth:g}")

    @property
    def steps(self) -> Array:
        """Step size of each query, as the algorithm has them, (queries,)."""
        return ALGORITHMS[self.algorithm].steps(self.step_size, self.horizon, self.decline)
