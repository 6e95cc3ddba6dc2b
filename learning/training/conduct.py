"""What an owner does when it answers: what it sold, or something else. The learner sees answers and never this."""

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
from learning.losses.protocols import GradientOracle
from learning.losses.squared import SquaredStatistics


@dataclass(frozen=True)
class Conduct(Declaration):
    """How an owner answers: the noise that it adds, what it makes of its gradients, and the records that it takes them from.

    Noise below what was sold would break the owner's own promise and is refused. An owner that sends noise alone has
    ``gradient = 0``; infinite noise is no answer. Records that are made up are clipped as all others are.

    Parameters
    ----------
    noise : factor on the scale of the noise that it sold, at least 1; an owner that sold no noise adds none.
    gradient : factor on its gradients, or on its sums where it gives sums: -1 flips them.
    records : "own"; "junk": its own features with targets drawn evenly from the public range; "copies": a few of its own,
        each again and again, as many as it said it has.
    distinct : how many of its own it copies.

    >>> Conduct(noise=3.0).exposure(100), Conduct(gradient=-10.0).exposure(100), Conduct(records="copies").exposure(100)
    (0.3333333333333333, 10.0, 100.0)
    """

    where: ClassVar[str] = "behaviours"
    noise: Annotated[float, Ge(1)] = 1.0
    gradient: float = 1.0
    records: Literal["own", "junk", "copies"] = "own"
    distinct: Count = 1

    def exposure(self, n_records: int) -> float:
        """How much further than it sold, per unit of noise, replacing one of its n records can move what it answers.

        Above 1 what it promised of its own records does not hold. Where noise is Laplace noise counted by ``basic``, the
        epsilon of its promise grows by this factor. Targets that are drawn, and not shuffled, leave it as it is: after a
        shuffle a record would sit in two places.
        """
        copies = math.ceil(n_records / self.distinct) if self.records == "copies" else 1
        return abs(self.gradient) * copies / self.noise

    def answers_from(self, records: GradientOracle) -> GradientOracle:
        """The records as it answers from them: their gradients times its factor."""
        if self.gradient == 1:
            return records
        return records * self.gradient if isinstance(records, SquaredStatistics) else Scaled(records, self.gradient)

    def made_up(
        self, owner: Holding, target_bound: float, labels: bool, *, rng: np.random.Generator
    ) -> tuple[Array, Array]:
        """The records that it makes of its own, x (n, p) and y (n,).

        Parameters
        ----------
        owner : its own records.
        target_bound : largest size of a target, public.
        labels : whether targets are labels, -1 and +1.
        rng : of what is drawn.
        """
        count = owner.n_records
        if self.records == "junk":
            drawn = rng.choice([-1.0, 1.0], count) if labels else rng.uniform(-target_bound, target_bound, count)
            return owner.x, drawn
        few = rng.choice(count, min(self.distinct, count), replace=False)
        rows = np.resize(few, count)
        return owner.x[rows], owner.y[rows]


HONEST = Conduct()


@dataclass(frozen=True)
class Scaled:
    """Records whose gradients are told times a factor."""

    records: GradientOracle = field(repr=False)
    factor: float

    @property
    def n_records(self) -> int:
        return self.records.n_records

    @property
    def n_parameters(self) -> int:
        return self.records.n_parameters

    def gradient(self, phi: Array) -> Array:
        """Mean over the records of the gradient at phi, times the factor: (runs, p) -> (runs, p)."""
        return self.factor * self.records.gradient(phi)

    def record_gradient(self, phi: Array, rows: NDArray[np.intp]) -> Array:
        """The same of one record per run, rows (runs,); of records that answer singly."""
        single: Any = self.records
        return np.asarray(self.factor * single.record_gradient(phi, rows))
