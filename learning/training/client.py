"""The owners' side of training: what answers a query, with what noise; the learner gets answers and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.losses.protocols import GradientOracle
from learning.privacy.budget import Budget
from learning.privacy.mechanism import Mechanism
from learning.randomness import Streams
from learning.training.conduct import HONEST, Conduct


@dataclass(frozen=True)
class Noise:
    """One owner's noise, taken round after round, each replication from its own stream.

    Taking it in pieces gives the same numbers as taking it at once.

    Parameters
    ----------
    shape: (runs, p), of the noise on one answer.
    draws: number of replications that are drawn apart; the runs repeat them in turn.
    parts: what is added up, of a group one part for each member: (scale (runs,), a stream for each draw).
    relative: the factor on the scale of each answer in turn, as many as are priced; all alike unless given.
    """

    mechanism: Mechanism
    shape: tuple[int, int]
    draws: int
    parts: Sequence[tuple[Array, Sequence[np.random.Generator]]] = field(repr=False)
    relative: Iterator[float] | None = field(default=None, repr=False)

    def take(self, queries: int) -> Array:
        """Noise of the next queries, (queries, runs, p).

        Raises
        ------
        ValueError
            If shares of the budget grow and fewer answers are left.
        """
        (runs, width), draws = self.shape, self.draws
        taken, drawn = np.zeros((queries, runs, width)), np.empty((queries, draws, width))
        for scale, streams in self.parts:
            for run, stream in enumerate(streams):
                drawn[:, run] = self.mechanism.draw(1.0, (queries, width), rng=stream)
            for first in range(0, runs, draws):  # they repeat the draws in turn
                again = slice(first, min(first + draws, runs))
                taken[:, again] += drawn[:, : again.stop - first] * scale[again, None]
        if self.relative is not None:
            taken *= np.fromiter(islice(self.relative, queries), float, queries)[:, None, None]
        return taken

    def of_run(self, run: int, queries: int) -> Array:
        """Noise of the next queries of one run and of those that repeat its draws, (queries, 1 + repeats, p).

        Rehearsals share draws between runs, so that what differs between them is no chance.
        """
        shape = queries, self.shape[1]
        parts = [
            self.mechanism.draw(1.0, shape, rng=streams[run])[:, None] * scale[run :: self.draws, None]
            for scale, streams in self.parts
        ]
        alike = len(range(run, self.shape[0], self.draws))
        return sum(parts[1:], parts[0]) if parts else np.zeros((queries, alike, self.shape[1]))


@dataclass(frozen=True)
class Client:
    """One owner's side of training. The learner gets `answer` and nothing else.

    Parameters
    ----------
    name : str, key of its noise.
    records : Answers of its clipped records, in phi; stays here. Of a dishonest owner whatever it answers from.
    scale : b, of the noise that it sold on each coordinate of each answer; (runs,) where runs differ in it.
    horizon : rounds its budget was split over; it answers no longer training.
    epsilon : the budget that scale was priced for; None if unknown: answers are then counted.
    conduct : what it does when it answers; the learner does not know.
    growth : each answer's share of its budget over that of the one before; ``scale`` is that of the even split.
    """

    name: str
    records: GradientOracle = field(repr=False)
    scale: float | Array
    horizon: int
    epsilon: float | None = None
    conduct: Conduct = field(default=HONEST, repr=False)
    growth: float = 1.0

    @property
    def silent(self) -> bool:
        """Whether it adds no noise."""
        return not np.any(self.scale)

    @property
    def as_sold(self) -> Client:
        """The same owner were it honest: what the learner reckons with."""
        return replace(self, conduct=HONEST)

    @property
    def asked(self) -> tuple[Client, ...]:
        """Who answers, and is charged, when it is asked."""
        return (self,)

    def budget(self, mechanism: Mechanism, bounds: str = "") -> Budget:
        """What its answers may spend under a mechanism and the announced bounds; inf if it adds no noise."""
        epsilon = np.inf if self.silent else self.epsilon
        return Budget(
            self.name,
            epsilon,
            self.horizon,
            mechanism.delta,
            mechanism.label,
            mechanism.overlap,
            n_records=self.records.n_records,
            bounds=bounds,
            growth=self.growth,
        )

    def noise(self, mechanism: Mechanism, runs: int, streams: Streams, n_draws: int | None = None) -> Noise:
        """Where its noise is drawn from; ``n_draws`` replications are drawn and repeated over the runs."""
        draws, scale = (
            n_draws or runs,
            np.broadcast_to(np.asarray(self.scale * self.conduct.noise, dtype=float), (runs,)),
        )
        parts = [] if self.silent else [(scale, streams.rngs(self.name, count=draws))]
        return Noise(mechanism, (runs, self.records.n_parameters), draws, parts, self.relative(mechanism))

    def relative(self, mechanism: Mechanism) -> Iterator[float] | None:
        """The factor on ``scale`` of each answer that its budget covers, in turn; None where they are all alike."""
        if self.growth == 1 or self.silent:
            return None
        return iter(mechanism.relative_scales(self.growth, self.horizon).tolist())

    def answer(self, phi: Array, noise: Array) -> Array:
        """Mean gradient over its records plus noise, at phi (runs, p)."""
        return self.noised(self.records.gradient(phi), noise)

    def noised(self, gradient: Array, noise: Array) -> Array:
        """What is told of gradients (runs, p): of an owner's own, or where single records answer of all owners' at once."""
        return gradient + noise


def make_clients(
    names: Sequence[str],
    records: Sequence[GradientOracle],
    epsilon: ArrayLike,
    mechanism: Mechanism,
    gradient_bound: float,
    horizon: int,
    conducts: Sequence[Conduct] = (),
    growth: float = 1.0,
) -> tuple[Client, ...]:
    """The owners who share (epsilon > 0), each with the noise scale that its own budget buys; honest unless given.

    Budgets are shared evenly between the answers unless ``growth`` says else.
    """
    epsilon = np.asarray(epsilon, dtype=float)
    sizes = [r.n_records for r in records]
    scales = mechanism.scale(epsilon, sizes, gradient_bound, horizon)
    return tuple(
        Client(n, c.answers_from(r), float(b), horizon, float(e), c, growth)
        for n, r, b, e, c in zip(names, records, scales, epsilon, conducts or [HONEST] * len(sizes), strict=True)
        if e > 0
    )
