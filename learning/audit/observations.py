"""What an attacker sees of two neighbouring data sets, draw by draw, through the very engine that training runs on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import cast

import numpy as np
from numpy.typing import NDArray

from learning.arrays import Array
from learning.audit.worst_pairs import Pair, worst_pair, worst_sums
from learning.losses.coordinates import Coordinates
from learning.losses.protocols import GradientOracle
from learning.losses.squared import SquaredStatistics
from learning.privacy.mechanism import Mechanism
from learning.randomness import Streams
from learning.training.adassp import Released, released
from learning.training.algorithm import Algorithm
from learning.training.algorithms import ALGORITHMS, DEFAULT
from learning.training.client import Client, make_clients
from learning.training.plan import Plan
from learning.training.task import Task

Observed = list[tuple[Array, Array]]  # statistic by statistic, under the first data set and under the second
Tests = list[Array]  # under one data set, statistic by statistic; large values speak for the first data set

VALUES_AT_ONCE = 4_000_000
ORDERS = {"l2": 2}  # the norm of the length that a density of noise falls with, where it is not 1


@dataclass(frozen=True)
class AuditTarget:
    """The training whose answers are attacked.

    Parameters
    ----------
    coordinates: the announced bounds.
    mechanism: what makes answers noisy.
    horizon: T, the answers that budgets are split over (`Plan.priced`).
    growth: each answer's share of a budget over that of the one before.
    algorithm: the name of the training algorithm.
    overlap: kappa, the owners that one record may sit with, as the scenario states it, whatever the mechanism counts.
    client: what owners answer by.
    rows: k, the most rows of one person at an owner, all of which are replaced, as the scenario states it.
    """

    coordinates: Coordinates
    mechanism: Mechanism
    horizon: int
    algorithm: str = DEFAULT
    overlap: int = 1
    client: type[Client] = Client
    rows: int = 1
    growth: float = 1.0

    @classmethod
    def of(cls, task: Task, overlap: int = 1, rows: int = 1) -> AuditTarget:
        """That of a training."""
        plan, client = task.plan, type(task.owners[0])
        return cls(task.coordinates, task.mechanism, plan.priced, plan.algorithm, overlap, client, rows, plan.growth)

    @property
    def trains_by(self) -> Algorithm:
        return ALGORITHMS[self.algorithm]

    @property
    def answers(self) -> int:
        """Answers that one owner gives at most, of those that its budget covers; under SGD1, the rounds seen."""
        return self.trains_by.queries(self.horizon) if self.growth == 1 else self.horizon

    @property
    def factors(self) -> Array:
        """Of the scale of the noise in each answer, (answers,)."""
        return self.mechanism.relative_scales(self.growth, self.horizon)[: self.answers]

    @cached_property
    def pair(self) -> Pair:
        """The worst pair for what the algorithm asks of an owner."""
        return (worst_pair if self.trains_by.takes_steps else worst_sums)(self.coordinates)


@dataclass(frozen=True)
class NeighbouringDatasets:
    """Two data sets of one owner that differ in one record, or in all of a person's, and how they are asked.

    Parameters
    ----------
    owners: the owner of either data set; its last record, or as many as a person may have, are those that differ.
    target: the training audited; under SGD1 only the rounds that sample the owner's record show anything of it.
    seed: the seed of the noise.
    """

    owners: tuple[Client, Client] = field(repr=False)
    target: AuditTarget
    seed: int

    def streams(self, key: str) -> Streams:
        return Streams(self.seed, f"audit {key}")


def neighbouring_datasets(
    name: str, x: Array, y: Array, epsilon: float, target: AuditTarget, *, seed: int
) -> NeighbouringDatasets:
    """An owner's records, the first k of which give way to either of the worst pair, answering as in training."""
    coordinates, rows, made = target.coordinates, min(target.rows, len(y)), list[Client]()
    one_by_one, bound = target.trains_by.one_by_one, coordinates.noise_bound
    for record, value in (target.pair.first, target.pair.second):
        person, values = np.tile(record, (rows, 1)), np.full(rows, value)
        held = np.vstack([x[rows:], person]), np.append(y[rows:], values)
        clipped = coordinates.oracle(*held, one_by_one=one_by_one)
        (owner,) = make_clients(
            (name,), [clipped], [epsilon], target.mechanism, bound, target.horizon, (), target.growth
        )
        made.append(target.client(**vars(owner)))
    return NeighbouringDatasets((made[0], made[1]), target, seed)


def observations(datasets: NeighbouringDatasets, draws: int, half: str) -> tuple[Observed, list[Observed]]:
    """Test statistics of all answers together and of single ones, (draws under the first, under the second) for each.

    |w - b|_1 - |w - a|_1, the likelihood ratio of Laplace noise on an answer w of mean a or b, in 2-norm that of l2 noise,
    and (w - (a + b)/2)'(a - b), that of Gaussian noise; summed over the answers. Of sums released at once, the last, in
    units of their noise, and under l2 noise the one before. Single answers are taken together where they are all alike, and
    by themselves where shares of the budget grow.
    """
    see = _answered if datasets.target.trains_by.takes_steps else _released
    (one, ones), (two, twos) = (see(datasets, i, draws, half) for i in range(2))
    return _paired(one, two), [_paired(*pair) for pair in zip(ones, twos, strict=True)]


def _paired(first: Tests, second: Tests) -> Observed:
    return list(zip(first, second, strict=True))


def _statistics(first: Array, second: Array, order: int) -> tuple[Callable[[Array], Array], ...]:
    """Both, of answers (.., p), the first in the norm of that order."""
    middle, direction = (first + second) / 2, first - second

    def length(apart: Array) -> Array:
        return np.abs(apart).sum(axis=-1) if order == 1 else np.asarray(np.linalg.norm(apart, axis=-1))

    return (
        lambda w: length(w - second) - length(w - first),
        lambda w: (w - middle) @ direction,
    )


def _blocks(draws: int, numbers: int) -> Iterator[tuple[int, int]]:
    """(first, how many) of the draws, as many at once as so many numbers each allow."""
    ahead = max(1, VALUES_AT_ONCE // max(1, numbers))
    return ((first, min(ahead, draws - first)) for first in range(0, draws, ahead))


def _answered(datasets: NeighbouringDatasets, which: int, draws: int, half: str) -> tuple[Tests, list[Tests]]:
    """Gradients at the worst query, every one with fresh noise: means, or where records are sampled those of the one.

    Rounds that sample other records say nothing, and the attacker knows the samples, uniform over all records of all owners
    as in training. A single answer is then one use.
    """
    owner, target = datasets.owners[which], datasets.target
    query, sampled = target.pair.query[None], target.trains_by.one_by_one
    means = [
        (_record_gradient(one.records, query) if sampled else one.records.gradient(query)) for one in datasets.owners
    ]
    tests = _statistics(means[0][0], means[1][0], ORDERS.get(target.mechanism.name, 1))
    uses = np.full(draws, target.answers)
    if sampled:
        total = target.mechanism.total_size  # type: ignore[attr-defined]
        uses = _uses(datasets.seed, f"{half} {which}", total, target.answers, draws)
    most, uneven = max(1, int(uses.max())), target.growth != 1
    shown = [1 / target.factors[:, None] ** power for power in (1, 2)] if uneven else [np.ones((most, 1))] * 2
    joint, single = [], []
    for done, runs in _blocks(draws, most * query.size):
        noise = _noise(owner, target.mechanism, runs, datasets.streams(f"{half} {which} {done}"), most)
        answers = owner.noised(means[which], noise) if sampled else owner.answer(query, noise)
        used = np.arange(most)[:, None] < uses[done : done + runs]
        found = [test(answers) for test in tests]
        joint.append([(one * used * told).sum(axis=0) for one, told in zip(found, shown, strict=True)])
        single.append([one[:1] if sampled else one for one in found])
    together = [np.concatenate(parts) for parts in zip(*joint, strict=True)]
    alone = [np.concatenate(parts, axis=1) for parts in zip(*single, strict=True)]
    return together, [list(one) for one in zip(*alone, strict=True)] if uneven else [[one.ravel() for one in alone]]


def _noise(owner: Client, mechanism: Mechanism, runs: int, streams: Streams, queries: int) -> Array:
    """What hides an answer of an owner: its own noise, or the parts of as many owners as make up noise made together."""
    noise = owner.noise(mechanism, runs, streams).take(queries)
    for part in range(1, mechanism.parts):
        noise = noise + replace(owner, name=f"{owner.name}, part {part}").noise(mechanism, runs, streams).take(queries)
    return noise


def _record_gradient(records: GradientOracle, query: Array) -> Array:
    """Gradient (1, p) of the last record, as SGD1 asks for it."""
    return np.asarray(records.record_gradient(query, np.array([records.n_records - 1])))  # type: ignore[attr-defined]


@lru_cache(maxsize=4)
def _uses(seed: int, key: str, total: int, rounds: int, draws: int) -> NDArray[np.intp]:
    """How often a record is sampled in each draw of all rounds, (draws,); that reads no records, so owners share it."""
    rng = Streams(seed, f"audit {key} picks").rng("picks")
    picks = (rng.integers(0, total, size=(runs, rounds), dtype=np.int32) for _, runs in _blocks(draws, rounds))
    return np.concatenate([(block == 0).sum(axis=1) for block in picks])


def _released(datasets: NeighbouringDatasets, which: int, draws: int, half: str) -> tuple[Tests, list[Tests]]:
    """Noisy sums over all records, released once: (xx - middle) and (xu - middle) against their differences."""
    owner, target = datasets.owners[which], datasets.target
    first, second = (cast(SquaredStatistics, one.records) for one in datasets.owners)
    plan, parts, lengths = Plan(target.algorithm, "last", 1, 1.0), [], []
    for done, runs in _blocks(draws, first.xx.size):
        streams = datasets.streams(f"{half} {which} {done}")
        task = Task((owner,), target.coordinates, plan, target.mechanism, runs, streams)
        seen = released(task, owner, range(runs))
        xx, xu = seen.xx - (first.xx + second.xx) / 2, seen.xu - (first.xy + second.xy) / 2
        matrix = np.einsum("rij,ij->r", xx, first.xx - second.xx) / seen.matrix_deviation**2
        parts.append(matrix + xu @ (first.xy - second.xy) / seen.vector_deviation**2)
        if target.mechanism.name in ORDERS:
            one, other = (_length(seen, sums, bool(target.mechanism.pairs)) for sums in (first, second))
            lengths.append(other - one)
    found = [np.concatenate(each) for each in (parts, lengths) if each]
    return found, [found]


def _length(seen: Released, sums: SquaredStatistics, apart: bool) -> Array:
    """How far released sums lie from an owner's own, in units of their noise, (runs,); by part where noise is."""
    matrix = np.square(seen.xx - sums.xx).sum(axis=(1, 2)) / seen.matrix_deviation**2
    vector = np.square(seen.xu - sums.xy).sum(axis=1) / seen.vector_deviation**2
    if not apart:
        return np.asarray(np.sqrt(matrix + vector))
    width = seen.xu.shape[1]
    return np.sqrt((width * (width + 1) // 2 + 1) * matrix) + np.sqrt((width + 1) * vector)
