"""What every training algorithm is given, and what it gives back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import repeat

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.losses.coordinates import Coordinates
from learning.privacy.mechanism import Mechanism
from learning.progress import Did, unnoticed
from learning.randomness import Streams
from learning.training.aggregation import MEAN, Aggregation
from learning.training.client import Client, Noise
from learning.training.clocks import Clocks
from learning.training.law import Returned
from learning.training.paths import Watch, unwatched


@dataclass(frozen=True)
class Schedule(ABC):
    """How the learner will train; the steps of its algorithm are added by `learning.training.plan.Plan`.

    Parameters
    ----------
    algorithm: a name of `learning.training.algorithms.ALGORITHMS`.
    returned: the point that is returned, the last one or the mean of all rounds.
    horizon: T, the number of rounds.
    step_size: the step-size constant c; 0 asks nothing of anybody.
    clocks: who talks when, where the algorithm goes by clocks.
    answers: number of answers that budgets are split over, T unless given: no owner answers more often.
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

    @property
    def priced(self) -> int:
        """Answers that budgets are split over: T, or where shares grow those that are asked: the last must not be wasted."""
        if self.answers is not None:
            return self.answers
        return self.horizon if self.growth == 1 else len(self.steps)

    def relative_scales(self, mechanism: Mechanism) -> Array:
        """Scale of the noise on each answer that is asked over that of the even split, (queries,)."""
        if self.growth == 1 and mechanism.growth in (1, None):
            return np.ones(len(self.steps))
        return mechanism.relative_scales(self.growth, self.priced)[: len(self.steps)]

    @property
    def asks(self) -> bool:
        """Whether anything is asked of the owners; a plan without a step leaves the learner its own model."""
        return self.step_size > 0

    @property
    @abstractmethod
    def steps(self) -> Array:
        """Step size of each query, (queries,)."""


@dataclass(frozen=True)
class Task:
    """One training, all its replications at once.

    Parameters
    ----------
    owners: who answers, with what noise.
    coordinates: the start, the scale and the ball that phi is kept in.
    plan: the Plan that is followed.
    mechanism: the Mechanism that draws the noise.
    runs: number of replications.
    streams: the randomness, keyed by an owner's name and the number of a run.
    regularisation: r of g_1 = r/2 |theta|^2, known to the learner.
    weights: array (n_owners,), how much each owner's answers count; by records unless given.
    n_draws: number of replications drawn apart, all unless given; the runs repeat them in turn, so that rehearsals
        compare runs of equal chance.
    step_scale: array (runs, 1), the factor on every step size by run; rehearsals try several at once.
    aggregation: what is made of the answers of a round, where several are given at once.
    data: the name of the data set that owners answer about, as a ledger keeps it; empty where they have but one.
    did: called with the share of the training that each round was.
    watch: called after each step, and first with step 0 at the start, with all runs' points and running means, arrays
        (runs, p) in phi that may change later: what is kept of them must be copied.
    """

    owners: Sequence[Client]
    coordinates: Coordinates
    plan: Schedule
    mechanism: Mechanism
    runs: int
    streams: Streams = field(repr=False)
    regularisation: float = 0.0
    weights: ArrayLike | None = None
    n_draws: int | None = None
    step_scale: Array | None = field(default=None, repr=False)
    aggregation: Aggregation = MEAN
    data: str = ""
    did: Did = field(default=unnoticed, repr=False, compare=False)
    watch: Watch = field(default=unwatched, repr=False, compare=False)

    @property
    def width(self) -> int:
        """p, the number of parameters trained."""
        return len(self.coordinates.centre)

    @property
    def steps(self) -> Array:
        """Step size of each query, (queries, 1, 1), or (queries, runs, 1) where runs differ in it."""
        steps = self.plan.steps[:, None, None]
        return steps if self.step_scale is None else steps * self.step_scale

    @property
    def draws(self) -> int:
        """Number of replications that are drawn apart."""
        return self.n_draws or self.runs

    @property
    def sizes(self) -> Array:
        """Records of each owner, (n_owners,)."""
        return np.array([owner.records.n_records for owner in self.owners], dtype=float)

    @property
    def shares(self) -> Array:
        """Weights q of the owners, (n_owners,): n_l/n, or those given, which `train` makes sum to 1."""
        return self.sizes / self.sizes.sum() if self.weights is None else np.asarray(self.weights, dtype=float)

    @property
    def relative_scales(self) -> Array:
        """Scale of the noise on each answer over that which owners state, (queries,)."""
        return self.plan.relative_scales(self.mechanism)

    @property
    def scale_factors(self) -> Iterator[float]:
        """The same, answer by answer in turn; without end where they are all alike."""
        return repeat(1.0) if self.plan.growth == 1 else iter(self.relative_scales.tolist())

    def start(self) -> Array:
        """phi = 0 in every run, (runs, p): the public start."""
        return np.zeros((self.runs, self.width))

    def noises(self) -> list[Noise]:
        """Each owner's source of noise."""
        return [owner.noise(self.mechanism, self.runs, self.streams, self.n_draws) for owner in self.owners]

    @cached_property
    def _penalty(self) -> tuple[Array, Array]:
        return self.coordinates.penalty(self.regularisation)

    def own_gradient(self, phi: Array) -> Array:
        """Gradient of g_1 in phi, (runs, p); the learner's own, without noise."""
        penalty, pull = self._penalty
        return phi @ penalty - pull


@dataclass(frozen=True)
class Trajectory:
    """What an algorithm did, in phi.

    Parameters
    ----------
    last: array (runs, p), the point where it stopped.
    mean: array (runs, p), its running mean, or the last point again.
    path: array (rounds + 1, p), the learner's point of the first run, round by round.
    projected: share of the coordinates that the projection moved.
    """

    last: Array = field(repr=False)
    mean: Array = field(repr=False)
    path: Array = field(repr=False)
    projected: float
