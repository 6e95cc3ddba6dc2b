"""What a scenario fixes of the training, and what it leaves to the planner."""

from __future__ import annotations

from dataclasses import dataclass

from learning.losses.coordinates import PARTS, RECORD, ClippedBy
from learning.losses.loss import Loss
from learning.losses.squared import Squared
from learning.training.aggregation import MEAN, Aggregation
from learning.training.algorithm import Algorithm
from learning.training.algorithms import ALGORITHMS, DEFAULT
from learning.training.law import Returned


@dataclass(frozen=True)
class Settings:
    """The learner's own choices; None leaves a choice to the planner.

    Parameters
    ----------
    algorithm : name of the training algorithm.
    start : "public" (the learner's own model) or "zero".
    precondition : whether features are whitened with the public second moments.
    clipping : "parts" clips a record's features and its target, once; "record" its gradient, at every query.
    clip : norm (1 or 2, as the mechanism needs) that records, or their gradients, are clipped to; inf keeps every record
        whole, since the public ranges bound it.
    theta_max : radius of the ball that training is kept in; inf for none.
    gradient_bound : Xi or G of a record that noise is scaled to, whatever is proved; None for what is.
    horizon : number of rounds.
    step_size : constant of the step sizes.
    printed_step : whether it is the one that the algorithm's paper states, which the planner works out.
    step_decline : power of the round that steps fall with; the algorithm's own if None.
    returned : points that training may return.
    regularisation : r >= 0.
    loss : the loss that is trained.
    weights : how answers are weighed: "size", "equal" or "precision".
    mechanism : name of the noise, or "best".
    accounting : how its cost is counted.
    delta : failure probability that is allowed.
    overlap : owners that one record may sit with.
    aggregation : what is made of the answers of a round.
    growth : each answer's share of a budget over that of the one before.
    """

    algorithm: str = DEFAULT
    start: str = "public"
    precondition: bool = True
    clipping: ClippedBy = PARTS
    clip: float | None = None
    theta_max: float | None = None
    gradient_bound: float | None = None
    horizon: int | None = None
    step_size: float | None = None
    printed_step: bool = False
    step_decline: float | None = None
    returned: tuple[Returned, ...] = ("last", "averaged")
    regularisation: float = 0.0
    loss: Loss = Squared()
    weights: str = "size"
    mechanism: str = "laplace"
    accounting: str | None = "basic"
    delta: float | None = None
    overlap: int = 1
    aggregation: Aggregation = MEAN
    growth: float | None = 1.0

    @property
    def fix_the_plan(self) -> bool:
        """Whether nothing of the plan is left open, not even to do nothing."""
        stated = None not in (self.horizon, self.step_size, self.growth)
        return stated and len(self.returned) == 1

    @property
    def clips_gradients(self) -> bool:
        """Whether a record's gradient is clipped, and not the record."""
        return self.clipping == RECORD or self.loss.clips_gradients

    @property
    def keeps_sums(self) -> bool:
        """Whether sums over an owner's records stand for them in what owners are asked for."""
        return self.loss.quadratic and self.clipping == PARTS and not self.trains_by.one_by_one

    @property
    def trains_by(self) -> Algorithm:
        """The training algorithm."""
        return ALGORITHMS[self.algorithm]
