"""The owners' side of training: an owner's noise, its answers to queries, and groups of owners."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.losses.records import GradientOracle, Joint
from learning.privacy.ledger import Budget
from learning.privacy.mechanism import Mechanism
from learning.randomness import Streams
from learning.training.conduct import HONEST, Conduct


@dataclass(frozen=True)
class Noise:
    """One owner's noise, taken round after round, each replication from its own stream.

    Noise taken in pieces has the same numbers as noise taken at once.

    Parameters
    ----------
    shape: (runs, p), of the noise on one answer.
    draws: number of independent replications; the runs repeat them in turn.
    parts: summands, one for each member of a group: (scale (runs,), a stream for each draw).
    relative: yields the factor on the scale of each priced answer; 1 for all unless given.
    """

    mechanism: Mechanism
    shape: tuple[int, int]
    draws: int
    parts: Sequence[tuple[Array, Sequence[np.random.Generator]]] = field(repr=False)
    relative: Iterator[float] | None = field(default=None, repr=False)

    def take(self, queries: int) -> Array:
        """Draw the noise of the next queries, (queries, runs, p).

        Raises
        ------
        ValueError
            If shares of the budget grow and fewer answers are left.
        """
        runs, width = self.shape
        taken = np.zeros((queries, runs, width))
        drawn = np.empty((queries, self.draws, width))
        for scale, streams in self.parts:
            for run, stream in enumerate(streams):
                drawn[:, run] = self.mechanism.draw(1.0, (queries, width), rng=stream)
            for first in range(0, runs, self.draws):  # the runs repeat the draws in turn
                again = slice(first, min(first + self.draws, runs))
                taken[:, again] += drawn[:, : again.stop - first] * scale[again, None]
        if self.relative is not None:
            taken *= np.fromiter(islice(self.relative, queries), float, queries)[:, None, None]
        return taken

    def of_run(self, run: int, queries: int) -> Array:
        """Draw the next queries' noise of one run and its repeats, (queries, 1 + repeats, p).

        Rehearsals share draws between runs, so that chance makes no difference between them.
        """
        runs, width = self.shape
        if not self.parts:
            return np.zeros((queries, len(range(run, runs, self.draws)), width))
        drawn = [
            self.mechanism.draw(1.0, (queries, 1, width), rng=streams[run])
            * scale[run :: self.draws, None]
            for scale, streams in self.parts
        ]
        return sum(drawn[1:], start=drawn[0])


@dataclass(frozen=True)
class Client:
    """One owner's side of training. The learner gets `answer` and nothing else.

    Parameters
    ----------
    name : key of its noise.
    records : its clipped records, in phi, which stay here; a dishonest owner may have others.
    scale : b, of the noise that it sold on each coordinate of each answer; (runs,) where runs
        differ in it.
    horizon : rounds its budget was split over, the most that it answers.
    epsilon : the budget that scale was priced for; None if unknown: answers are then counted.
    conduct : its conduct as it answers, which the learner does not know.
    growth : each answer's share of its budget over that of the one before; ``scale`` stays the
        scale of the even split.
    repeats : answers to each query of a learner that asks it so often and averages them.
    """

    name: str
    records: GradientOracle = field(repr=False)
    scale: float | Array
    horizon: int
    epsilon: float | None = None
    conduct: Conduct = field(default=HONEST, repr=False)
    growth: float = 1.0
    repeats: int = 1

    @property
    def silent(self) -> bool:
        """True if it adds no noise."""
        return not np.any(self.scale)

    @property
    def as_sold(self) -> Client:
        """The same owner with honest conduct, as the learner assumes it."""
        return replace(self, conduct=HONEST)

    def ask_again(self, repeats: int) -> Client:
        """The same owner, asked each query so often."""
        return replace(self, repeats=repeats)

    @property
    def asked(self) -> tuple[Client, ...]:
        """Owners that answer, and are charged, when it is asked."""
        return (self,)

    def budget(self, mechanism: Mechanism, bounds: str = "") -> Budget:
        """Budget of its answers under a mechanism and announced bounds; inf without noise."""
        return Budget(
            self.name,
            np.inf if self.silent else self.epsilon,
            self.horizon,
            mechanism.delta,
            mechanism.label,
            mechanism.overlap,
            n_records=self.records.n_records,
            bounds=bounds,
            growth=self.growth,
        )

    def noise(
        self, mechanism: Mechanism, runs: int, streams: Streams, n_draws: int | None = None
    ) -> Noise:
        """Source of its noise; ``n_draws`` replications are drawn and repeated over the runs."""
        draws = n_draws or runs
        parts = self.noise_parts(mechanism, runs, streams, draws)
        shape = runs, self.records.n_parameters
        return Noise(mechanism, shape, draws, parts, self.relative_scales(mechanism))

    def noise_parts(
        self, mechanism: Mechanism, runs: int, streams: Streams, draws: int
    ) -> list[tuple[Array, Sequence[np.random.Generator]]]:
        """Scales (runs,) and streams of the summands of its noise."""
        if self.silent:
            return []
        scale = np.asarray(self.scale * self.conduct.noise / self.repeats, dtype=float)
        keys = [
            (self.name, f"repeat {number}")[: 1 + (number > 0)] for number in range(self.repeats)
        ]
        return [(np.broadcast_to(scale, (runs,)), streams.rngs(*key, count=draws)) for key in keys]

    def relative_scales(self, mechanism: Mechanism) -> Iterator[float] | None:
        """Yield the factor on ``scale`` of each answer of its budget; None if all are 1."""
        if self.growth == 1 or self.silent:
            return None
        return iter(mechanism.relative_scales(self.growth, self.horizon).tolist())

    def answer(self, phi: Array, noise: Array) -> Array:
        """Mean gradient over its records plus noise, at phi (runs, p)."""
        return self.noised(self.records.gradient(phi), noise)

    def noised(self, gradient: Array, noise: Array) -> Array:
        """Add noise to gradients (runs, p) of its own records, or of single records of owners."""
        return gradient + noise


@dataclass(frozen=True)
class Group(Client):
    """Owners that are always asked together: one fictitious owner. Made by `group_owners`."""

    members: tuple[Client, ...] = field(default=(), repr=False)

    @property
    def as_sold(self) -> Client:
        """The same group of honest members."""
        return replace(self, members=tuple(one.as_sold for one in self.members))

    def ask_again(self, repeats: int) -> Client:
        """The same group of members who are asked so often."""
        return replace(self, members=tuple(one.ask_again(repeats) for one in self.members))

    @property
    def asked(self) -> tuple[Client, ...]:
        """Its members: a group has no budget of its own."""
        return self.members

    def noise_parts(
        self, mechanism: Mechanism, runs: int, streams: Streams, draws: int
    ) -> list[tuple[Array, Sequence[np.random.Generator]]]:
        """Parts of its members' noise, each scaled to its share of the records."""
        return [
            (scale * (owner.records.n_records / self.records.n_records), sources)
            for owner in self.members
            for scale, sources in owner.noise(mechanism, runs, streams, draws).parts
        ]


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
    """Make clients of the owners with epsilon > 0, each with the noise scale of its budget.

    Owners are honest unless ``conducts`` are given, and budgets are split evenly between the
    answers unless ``growth`` differs from 1.
    """
    epsilon = np.asarray(epsilon, dtype=float)
    sizes = [one.n_records for one in records]
    scales = mechanism.scale(epsilon, sizes, gradient_bound, horizon)
    conducts = conducts or [HONEST] * len(sizes)
    return tuple(
        Client(n, c.answers_from(r), float(b), horizon, float(e), c, growth)
        for n, r, b, e, c in zip(names, records, scales, epsilon, conducts, strict=True)
        if e > 0
    )


def group_owners(owners: Sequence[Client], groups: Sequence[Sequence[int]]) -> tuple[Client, ...]:
    """Average owners group by group, weighted by records.

        answer = sum_{i in group} (n_i/n_group) answer_i,
        scale = sqrt(sum (n_i/n_group)^2 b_i^2).

    Members keep their own noise, by their own key and scale, and answer whenever their group talks.
    Clocks, weights and the N of the steps are then those of the groups.

    Parameters
    ----------
    owners : the clients to group.
    groups : numbers of the owners of each group; every owner in one of them.

    Returns
    -------
    One Client per group, in order; a group of one is that owner itself.

    Raises
    ------
    ValueError
        If an owner is in no group or in several, or a group is empty.

    Source: Farokhi et al., The Cost of Privacy in Asynchronous DP ML, Remark 2 (the way to average
        is left open there).
    """
    grouped = sorted(i for group in groups for i in group)
    if grouped != list(range(len(owners))) or not all(map(len, groups)):
        raise ValueError(
            f"every one of {len(owners)} owners must be in one group, and no group empty; "
            f"got {groups}"
        )
    return tuple(_join_members([owners[i] for i in group]) for group in groups)


def _join_members(members: Sequence[Client]) -> Client:
    """Join members to one client."""
    if len(members) == 1:
        return members[0]
    records = Joint(tuple(owner.records for owner in members))
    shares = [owner.records.n_records / records.n_records for owner in members]
    pairs = zip(shares, members, strict=True)
    power = np.asarray(
        sum((share * np.asarray(one.scale)) ** 2 for share, one in pairs), dtype=float
    )
    horizons = [owner.horizon for owner in members if not owner.silent]
    return Group(
        " + ".join(owner.name for owner in members),
        records,
        float(np.sqrt(power)) if power.ndim == 0 else np.sqrt(power),
        min(horizons, default=members[0].horizon),
        growth=members[0].growth,
        members=tuple(members),
    )
