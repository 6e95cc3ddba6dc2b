"""The conduct of an owner as it answers: honest or not. The learner sees answers only."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray

from learning.arrays import Array
from learning.data.owner_data import Holding
from learning.declaration import Count, Declaration
from learning.losses.records import GradientOracle
from learning.losses.statistics import SquaredStatistics


@dataclass(frozen=True)
class Conduct(Declaration):
    """Noise, gradient factor and records of an owner's answers.

    Noise below the noise sold would break the owner's own promise and is refused. An owner that
    sends noise alone has ``gradient = 0``; infinite noise is no answer. Made-up records are clipped
    as all others are.

    Parameters
    ----------
    noise : factor on the scale of the noise that it sold, at least 1; an owner that sold no noise
        adds none.
    gradient : factor on its gradients, or on the sums that it releases: -1 flips them.
    records : "own"; "junk": its own features with targets drawn evenly from the public range;
        "copies": a few of its own, repeated to the number that it stated.
    distinct : number of its own that it copies.

    >>> Conduct(noise=3.0).exposure(100), Conduct(gradient=-10.0).exposure(100)
    (0.3333333333333333, 10.0)
    >>> Conduct(records="copies").exposure(100)
    100.0
    """

    where: ClassVar[str] = "behaviours"
    noise: Annotated[float, Ge(1)] = 1.0
    gradient: float = 1.0
    records: Literal["own", "junk", "copies"] = "own"
    distinct: Count = 1

    def exposure(self, n_records: int) -> float:
        """Sensitivity of its answers to one of its n records, per unit of noise, over that sold.

        Above 1 the promise to its own records does not hold. For Laplace noise counted by
        ``basic``, the epsilon of the promise grows by this factor. Junk leaves it unchanged, since
        its targets are drawn; had they been shuffled, a record would sit in two places.
        """
        copies = math.ceil(n_records / self.distinct) if self.records == "copies" else 1
        return abs(self.gradient) * copies / self.noise

    def answers_from(self, records: GradientOracle) -> GradientOracle:
        """Scale the gradients of records by the owner's factor."""
        if self.gradient == 1:
            return records
        if isinstance(records, SquaredStatistics):
            return records * self.gradient
        return Changed(records, self.gradient)

    def made_up(
        self, owner: Holding, target_bound: float, labels: bool, *, rng: np.random.Generator
    ) -> tuple[Array, Array]:
        """Make up records, x (n, p) and y (n,), from its own.

        Parameters
        ----------
        owner : its own records.
        target_bound : largest size of a target, public.
        labels : whether targets are labels, -1 and +1.
        rng : source of the draws.
        """
        count = owner.n_records
        if self.records == "copies":
            few = rng.choice(count, min(self.distinct, count), replace=False)
            rows = np.resize(few, count)
            return owner.x[rows], owner.y[rows]
        if labels:
            return owner.x, rng.choice([-1.0, 1.0], count)
        return owner.x, rng.uniform(-target_bound, target_bound, count)


HONEST = Conduct()


@dataclass(frozen=True)
class Changed:
    """Records whose gradients are multiplied by a factor and shifted by a vector (p,)."""

    records: GradientOracle = field(repr=False)
    factor: float = 1.0
    shift: Array | float = 0.0

    @property
    def n_records(self) -> int:
        return self.records.n_records

    @property
    def n_parameters(self) -> int:
        return self.records.n_parameters

    def gradient(self, phi: Array) -> Array:
        """Changed mean of the gradient over the records: (runs, p) -> (runs, p)."""
        return self.factor * self.records.gradient(phi) + self.shift

    def second_moments(self, radius: float) -> Array:
        """Mean second moments of the records, times the factor."""
        held: Any = self.records
        return np.asarray(self.factor * held.second_moments(radius))

    def record_gradient(self, phi: Array, rows: NDArray[np.intp]) -> Array:
        """Changed gradient of one record per run, rows (runs,)."""
        single: Any = self.records
        return np.asarray(self.factor * single.record_gradient(phi, rows) + self.shift)
