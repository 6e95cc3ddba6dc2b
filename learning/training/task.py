"""What every training algorithm is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.losses.coordinates import Coordinates
from learning.privacy.mechanism import Mechanism
from learning.randomness import Streams
from learning.training.client import Client, Noise
from learning.training.clocks import Clocks
from learning.training.law import Returned


class Schedule(Protocol):
    """What training follows of a `learning.training.plan.Plan`."""

    @property
    def algorithm(self) -> str: ...
    @property
    def returned(self) -> Returned: ...
    @property
    def horizon(self) -> int: ...
    @property
    def steps(self) -> Array: ...
    @property
    def priced(self) -> int: ...
    @property
    def clocks(self) -> Clocks: ...


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
    def sizes(self) -> Array:
        """Records of each owner, (n_owners,)."""
        return np.array([owner.records.n_records for owner in self.owners], dtype=float)

    @property
    def shares(self) -> Array:
        """Weights q of the owners, (n_owners,): n_l/n, or those given, which `train` makes sum to 1."""
        return self.sizes / self.sizes.sum() if self.weights is None else np.asarray(self.weights, dtype=float)

    def start(self) -> Array:
        """phi = 0 in every run, (runs, p): the public start."""
        return np.zeros((self.runs, self.width))

    def noises(self) -> list[Noise]:
        """Each owner's source of noise."""
        return [owner.noise(self.mechanism, self.runs, self.streams, self.n_draws) for owner in self.owners]

    def own_gradient(self, phi: Array) -> Array:
        """Gradient of g_1 in phi, (runs, p); the learner's own, without noise."""
        penalty, pull = self.coordinates.penalty(self.regularisation)
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
