"""What every training algorithm is given, and what it gives back."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from learning.arrays import Array
from learning.losses.coordinates import Coordinates
from learning.privacy.mechanism import Mechanism
from learning.randomness import Streams
from learning.training.client import Client, Noise
from learning.training.plan import Plan


@dataclass(frozen=True)
class Task:
    """One training, all its replications at once.

    Parameters
    ----------
    owners : who answers, with what noise; at least one.
    weights : array (n_owners,), q, sums to 1.
    coordinates : start, scale and the ball that phi is kept in.
    plan, mechanism : Plan, Mechanism. runs : replications.
    streams : randomness, keyed by owner's name and number of the run.
    regularisation : r of g_1 = r/2 |theta|^2, known to the learner.
    n_draws : replications drawn apart; the runs repeat them in turn (rehearsals compare runs of equal chance).
    step_scale : array (runs, 1), factor on every step size by run; rehearsals try several at once.
    """

    owners: tuple[Client, ...]
    weights: Array
    coordinates: Coordinates
    plan: Plan
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
    last : array (runs, p), where it stopped. mean : array (runs, p), its running mean, or the last point again.
    path : array (rounds + 1, p), the learner's point of the first run, round by round.
    projected : share of coordinates that the projection moved.
    """

    last: Array = field(repr=False)
    mean: Array = field(repr=False)
    path: Array = field(repr=False)
    projected: float
