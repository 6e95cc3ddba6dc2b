"""How the learner will train: algorithm, rounds, step size, returned point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from learning.arrays import Array
from learning.training.law import Returned, step_sizes

AlgorithmName = Literal["averaged", "synchronous", "asynchronous", "sgd1", "sgd2", "weighted", "adassp"]


@dataclass(frozen=True)
class Clocks:
    """Who talks when in asynchronous training.

    Parameters
    ----------
    rates : relative rate of each owner's Poisson clock, (n_owners,); None: all alike.
    dropout : chance that an owner that is called does not answer, one for all or (n_owners,); the tick is lost then.
    talk : "request" (an owner's own clock ticks and it asks for an update) or "broadcast" (the learner's clock ticks, it
        calls everybody and takes who answers first).
    scaled : whether gradients are scaled by the inverse of how often their owner talks.
    reading : "proved" or "printed": which step of the learner's copy, where the paper's text and proof differ.
    priced : what an owner's budget is split over: the "talks" it will hardly ever exceed, and never does since it then
        falls silent, or the whole "horizon" as the paper has it, of which it answers a small part.
    """

    rates: tuple[float, ...] | None = None
    dropout: float | tuple[float, ...] = 0.0
    talk: Literal["request", "broadcast"] = "request"
    scaled: bool = True
    reading: Literal["proved", "printed"] = "proved"
    priced: Literal["talks", "horizon"] = "talks"


@dataclass(frozen=True)
class Plan:
    """How the learner will train: T rounds with a step-size constant, and the point it returns.

    ``answers`` is the number of answers that budgets are split over, T unless given: no owner answers more often.
    ``clocks`` matters to asynchronous training only.
    """

    algorithm: AlgorithmName
    returned: Returned
    horizon: int
    step_size: float
    clocks: Clocks = Clocks()
    answers: int | None = None

    @property
    def priced(self) -> int:
        """GradientOracle that budgets are split over."""
        return self.horizon if self.answers is None else self.answers

    @property
    def asks(self) -> bool:
        """Whether anything is asked of the owners; a plan without a step leaves the learner its own model."""
        return self.step_size > 0

    @property
    def steps(self) -> Array:
        """Step size of each query: rounds 1 .. T-1 of the synchronous and averaged algorithms, 1 .. T of the others."""
        return step_sizes(self.algorithm, self.step_size, self.horizon)
