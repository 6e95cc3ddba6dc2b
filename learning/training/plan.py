"""The plan of a training: algorithm, rounds, step size, returned point."""

from __future__ import annotations

from dataclasses import dataclass

from learning.arrays import Array
from learning.training.algorithms import ALGORITHMS
from learning.training.task import Schedule


@dataclass(frozen=True)
class Plan(Schedule):
    """The plan of a training; its parameters are those of `Schedule`."""

    def __post_init__(self) -> None:
        name = self.algorithm
        if name not in ALGORITHMS:
            raise ValueError(f"{name!r} is no algorithm; there are {', '.join(ALGORITHMS)}")
        if self.growth != 1 and not ALGORITHMS[name].shares_may_grow:
            raise ValueError(
                f"shares of a budget cannot grow under {name}, got a growth of {self.growth:g}"
            )

    @property
    def steps(self) -> Array:
        """Step size of each query of the algorithm, (queries,)."""
        return ALGORITHMS[self.algorithm].steps(self.step_size, self.horizon, self.decline)
