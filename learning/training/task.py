"""What every training algorithm is given, and what it gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from learning.arrays import Array
from learning.losses.coordinates import Coordinates
from learning.privacy.mechanism import Mechanism
from learning.randomness import Streams
from learning.training.client import Client, Noise
from learning.training.clocks import Clocks


class Schedule(Protocol):
    """What training follows of a `learning.training.plan.Plan`: T, its step sizes, answers per budget, and clocks."""

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
    owners: who answers, with what noise; at least one.
    weights: array (n_owners,), q, which sums to 1.
    coordinates: the start, the scale and the ball that phi is kept in.
    plan: the Plan that is followed.
    mechanism: the Mechanism that draws the noise.
    runs: number of replications.
    streams: the randomness, keyed by an owner's name and the number of a run.
    regularisation: r of g_1 = r/2 |theta|^2, known to the learner.
    n_draws: number of replications drawn apart, all unless given; the runs repeat them in turn, so that rehearsals
        compare runs of equal chance.
    step_scale: array (runs, 1), the factor on every step size by run; rehearsals try several at once.
    """

    owners: tuple[Client, ...]
    weights: Array
    coordinates: Coordinates
    plan: Schedule
    mechanism: Mechanism
    runs: int
    streams: Streams = field(repr=False)
    regularisation: float = 0.0
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
