"""The input and the output of a training algorithm."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import repeat

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.losses.coordinates import Coordinates
from learning.privacy.mechanism import Mechanism
from learning.progress import ReportWork, ignore_work
from learning.randomness import Streams
from learning.training.aggregation import MEAN, Aggregation
from learning.training.client import Client, Noise
from learning.training.law import Returned
from learning.training.paths import Watch, ignore_step
from learning.training.plan import Plan


@dataclass(frozen=True)
class Task:
    """One training, with all its replications.

    Parameters
    ----------
    owners: the clients that answer.
    coordinates: the start, the scale and the ball of phi.
    plan: the Plan of the training.
    mechanism: the Mechanism that draws the noise.
    runs: number of replications.
    streams: the randomness, keyed by an owner's name and the number of a run.
    regularisation: r of g_1 = r/2 |theta|^2, known to the learner.
    weights: array (n_owners,), weight of each owner's answers; by records unless given.
    n_draws: number of independent replications, all unless given; the runs repeat them in turn, so
        that rehearsals compare runs of equal chance.
    step_scale: array (runs, 1), the factor on every step size by run, for rehearsals.
    aggregation: the aggregation of simultaneous answers.
    stops: whether a run whose answers grow from round to round goes back to the start
        (`learning.training.descent.GrowthCheck`); rehearsals go on.
    data: the name of the data set in the ledger; empty where owners have only one.
    did: called after each round with its share of the training.
    watch: called at the start with step 0, and after each step, with all runs' points and running
        means, arrays (runs, p) in phi that may change later: copy them to keep them.
    """

    owners: Sequence[Client]
    coordinates: Coordinates
    plan: Plan
    mechanism: Mechanism
    runs: int
    streams: Streams = field(repr=False)
    regularisation: float = 0.0
    weights: ArrayLike | None = None
    n_draws: int | None = None
    step_scale: Array | None = field(default=None, repr=False)
    aggregation: Aggregation = MEAN
    stops: bool = False
    data: str = ""
    did: ReportWork = field(default=ignore_work, repr=False, compare=False)
    watch: Watch = field(default=ignore_step, repr=False, compare=False)

    @property
    def width(self) -> int:
        """p, the number of parameters trained."""
        return len(self.coordinates.centre)

    @property
    def steps(self) -> Array:
        """Step size of each query, (queries, 1, 1), or (queries, runs, 1) where runs differ."""
        steps = self.plan.steps[:, None, None]
        return steps if self.step_scale is None else steps * self.step_scale

    @property
    def draws(self) -> int:
        """Number of independent replications."""
        return self.n_draws or self.runs

    @property
    def sizes(self) -> Array:
        """Number of records of each owner, (n_owners,)."""
        return np.array([owner.records.n_records for owner in self.owners], dtype=float)

    @property
    def shares(self) -> Array:
        """Weights q of the owners, (n_owners,): n_l/n, or those given, which `train` normalises."""
        if self.weights is None:
            return self.sizes / self.sizes.sum()
        return np.asarray(self.weights, dtype=float)

    @property
    def relative_scales(self) -> Array:
        """Noise scale of each answer over that which owners state, (queries,)."""
        return self.plan.relative_scales(self.mechanism)

    @property
    def scale_factors(self) -> Iterator[float]:
        """Yield the relative scale of each answer in turn; without end where all are 1."""
        return repeat(1.0) if self.plan.growth == 1 else iter(self.relative_scales.tolist())

    def start(self) -> Array:
        """phi = 0 in every run, (runs, p): the public start."""
        return np.zeros((self.runs, self.width))

    def noises(self) -> list[Noise]:
        """Source of noise of each owner."""
        return [
            owner.noise(self.mechanism, self.runs, self.streams, self.n_draws)
            for owner in self.owners
        ]

    @cached_property
    def _own_penalty(self) -> tuple[Array, Array]:
        return self.coordinates.penalty(self.regularisation)

    def own_gradient(self, phi: Array) -> Array:
        """Gradient of g_1 in phi, (runs, p), without noise."""
        penalty, pull = self._own_penalty
        return phi @ penalty - pull


@dataclass(frozen=True)
class Trajectory:
    """Result of an algorithm, in phi.

    Parameters
    ----------
    last: array (runs, p), the last point.
    mean: array (runs, p), the running mean of the points; the last point where there is none.
    path: array (rounds + 1, p), the learner's point of the first run, round by round.
    projected: share of the coordinates that the projection moved.
    stopped: share of the runs that went back to the start, since answers grew.
    """

    last: Array = field(repr=False)
    mean: Array = field(repr=False)
    path: Array = field(repr=False)
    projected: float
    stopped: float = 0.0

    def point(self, returned: Returned) -> Array:
        """Point that is returned, (runs, p)."""
        return self.last if returned == "last" else self.mean
