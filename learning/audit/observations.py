"""Test statistics of two neighbouring data sets, drawn through the engine that training runs on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from learning.arrays import Array
from learning.audit.worst_pairs import Pair, worst_pair, worst_sums
from learning.losses.coordinates import Coordinates
from learning.losses.statistics import SquaredStatistics
from learning.privacy.mechanism import Mechanism
from learning.randomness import Streams
from learning.training.algorithms import ALGORITHMS, DEFAULT, Algorithm
from learning.training.client import Client, make_clients
from learning.training.noisy_statistics import NoisyStatistics, release_statistics
from learning.training.plan import Plan
from learning.training.task import Task

Observed = list[tuple[Array, Array]]  # statistics under the first data set and under the second
Tests = list[Array]  # statistics under one data set; large values speak for the first one

VALUES_AT_ONCE = 4_000_000
ORDERS = {"l2": 2, "wishart": 2}  # norm in which a density of noise falls, where it is not 1


@dataclass(frozen=True)
class AuditTarget:
    """Training whose answers are attacked.

    Parameters
    ----------
    coordinates: the announced bounds.
    mechanism: the noise.
    horizon: T, the answers that budgets are split over (`Plan.priced`).
    algorithm: the name of the training algorithm.
    overlap: kappa, the owners that one record may sit with, as the scenario states it, whatever the
        mechanism counts.
    client: the class of owners.
    rows: k, the most rows of one person at an owner, all of which are replaced, as the scenario
        states it.
    growth: each answer's share of a budget over that of the one before.
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
        """Make the target of a training."""
        plan = task.plan
        named = (task.coordinates, task.mechanism, plan.priced, plan.algorithm)
        return cls(*named, overlap, type(task.owners[0]), rows, plan.growth)

    @property
    def trains_by(self) -> Algorithm:
        return ALGORITHMS[self.algorithm]

    @property
    def answers(self) -> int:
        """Most answers of one owner that its budget covers; under SGD1, the rounds seen."""
        if self.growth != 1:
            return self.horizon
        return self.trains_by.queries(self.horizon)

    @property
    def factors(self) -> Array:
        """Factors of the scale of the noise in each answer, (answers,)."""
        return self.mechanism.relative_scales(self.growth, self.horizon)[: self.answers]

    @cached_property
    def pair(self) -> Pair:
        """Worst pair for the queries of the algorithm."""
        if self.trains_by.takes_steps:
            return worst_pair(self.coordinates)
        return worst_sums(self.coordinates)


@dataclass(frozen=True)
class NeighbouringDatasets:
    """Two data sets of one owner that differ in one record, or in all of a person's.

    Parameters
    ----------
    owners: the owner of either data set; its last record, or as many as a person may have, differ.
    target: the training audited; under SGD1 only the rounds that sample the owner's record depend
        on it.
    seed: the seed of the noise.
    """

    owners: tuple[Client, Client] = field(repr=False)
    target: AuditTarget
    seed: int


def neighbouring_datasets(
    name: str, x: Array, y: Array, epsilon: float, target: AuditTarget, *, seed: int
) -> NeighbouringDatasets:
    """Replace the first k of an owner's records by either record of the worst pair."""
    targets = target.coordinates.targets
    rows = min(target.rows, len(y) // targets)
    bound = target.coordinates.noise_bound
    priced = (target.mechanism, bound, target.horizon, (), target.growth)
    made: list[Client] = []
    for record, value in (target.pair.first, target.pair.second):
        features = np.vstack([x[rows * targets :], np.tile(record, (rows, 1))])
        values = np.append(y[rows * targets :], np.tile(value, rows))
        one_by_one = target.trains_by.one_by_one
        clipped = target.coordinates.oracle(features, values, one_by_one=one_by_one)
        (owner,) = make_clients((name,), [clipped], [epsilon], *priced)
        made.append(target.client(**vars(owner)))
    return NeighbouringDatasets((made[0], made[1]), target, seed)


def draw_statistics(
    datasets: NeighbouringDatasets, draws: int, half: str
) -> tuple[Observed, list[Observed]]:
    """Draw test statistics of all answers together and of single ones, under both data sets.

    An answer w has mean a or b. Its statistics are log likelihood ratios up to a factor: |w - b| -
    |w - a|, in 1-norm that of Laplace noise and in 2-norm that of l2 noise; and (w - (a + b)/2)'(a
    - b), that of Gaussian noise. Those of all answers are summed in units of their noise. Sums that
    are released at once have the second statistic, and under l2 noise the first one too. Single
    answers are pooled where all have the same noise, and kept apart where shares of the budget
    grow.
    """
    draw = _draw_answers if datasets.target.trains_by.takes_steps else _draw_releases
    (one, ones), (two, twos) = (draw(datasets, i, draws, half) for i in range(2))
    singles = [list(zip(*pair, strict=True)) for pair in zip(ones, twos, strict=True)]
    return list(zip(one, two, strict=True)), singles


def _make_statistics(
    first: Array, second: Array, order: int
) -> tuple[Callable[[Array], Array], ...]:
    """Make both statistics of answers (.., p), the first in the norm of an order."""
    middle = (first + second) / 2
    direction = first - second

    def norm_length(vectors: Array) -> Array:
        return np.asarray(np.linalg.norm(vectors, order, axis=-1))

    return (
        lambda w: norm_length(w - second) - norm_length(w - first),
        lambda w: (w - middle) @ direction,
    )


def _split_draws(draws: int, numbers: int) -> Iterator[tuple[int, int]]:
    """Split draws of ``numbers`` each into blocks (first, count) that fit into memory."""
    ahead = max(1, VALUES_AT_ONCE // max(1, numbers))
    return ((first, min(ahead, draws - first)) for first in range(0, draws, ahead))


def _draw_answers(
    datasets: NeighbouringDatasets, which: int, draws: int, half: str
) -> tuple[Tests, list[Tests]]:
    """Draw noisy gradients at the worst query: means, or those of one record where it is sampled.

    Samples are uniform over all records of all owners, as in training, and known to the attacker.
    Rounds that sample other records show nothing. A single answer is then one use.
    """
    owner = datasets.owners[which]
    target = datasets.target
    query = target.pair.query[None]
    sampled = target.trains_by.one_by_one
    means = [_query_gradient(one.records, query, sampled) for one in datasets.owners]
    tests = _make_statistics(means[0][0], means[1][0], ORDERS.get(target.mechanism.name, 1))
    uses = np.full(draws, target.answers)
    if sampled:
        total = target.mechanism.total_size  # type: ignore[attr-defined]
        uses = _count_uses(datasets.seed, f"{half} {which}", total, target.answers, draws)
    most = max(1, int(uses.max()))
    uneven = target.growth != 1
    weights = [np.ones((most, 1))] * 2
    if uneven:
        weights = [1 / target.factors[:, None] ** power for power in (1, 2)]
    joint = []
    single = []
    for done, runs in _split_draws(draws, most * query.size):
        streams = Streams(datasets.seed, f"audit {half} {which} {done}")
        noise = _draw_noise(owner, target.mechanism, runs, streams, most)
        answers = owner.noised(means[which], noise) if sampled else owner.answer(query, noise)
        used = np.arange(most)[:, None] < uses[done : done + runs]
        found = [test(answers) for test in tests]
        weighed = zip(found, weights, strict=True)
        joint.append([(one * used * weight).sum(axis=0) for one, weight in weighed])
        single.append([one[:1] if sampled else one for one in found])
    together = [np.concatenate(parts) for parts in zip(*joint, strict=True)]
    alone = [np.concatenate(parts, axis=1) for parts in zip(*single, strict=True)]
    if uneven:
        return together, [list(one) for one in zip(*alone, strict=True)]
    return together, [[one.ravel() for one in alone]]


def _draw_noise(
    owner: Client, mechanism: Mechanism, runs: int, streams: Streams, queries: int
) -> Array:
    """Draw the noise on an owner's answers; all parts of it where owners make it together."""
    noise = owner.noise(mechanism, runs, streams).take(queries)
    for part in range(1, mechanism.parts):
        other = replace(owner, name=f"{owner.name}, part {part}")
        noise = noise + other.noise(mechanism, runs, streams).take(queries)
    return noise


def _query_gradient(records: Any, query: Array, sampled: bool) -> Array:
    """Compute the mean gradient (1, p), or that of the last record, as SGD1 asks for it."""
    if sampled:
        return np.asarray(records.record_gradient(query, np.array([records.n_records - 1])))
    return np.asarray(records.gradient(query))


@lru_cache(maxsize=4)
def _count_uses(seed: int, key: str, total: int, rounds: int, draws: int) -> NDArray[np.intp]:
    """Count the samples of a record in each draw of all rounds, (draws,); alike for all owners."""
    rng = Streams(seed, f"audit {key} picks").rng("picks")
    counts = []
    for _, runs in _split_draws(draws, rounds):
        picks = rng.integers(0, total, size=(runs, rounds), dtype=np.int32)
        counts.append((picks == 0).sum(axis=1))
    return np.concatenate(counts)


def _draw_releases(
    datasets: NeighbouringDatasets, which: int, draws: int, half: str
) -> tuple[Tests, list[Tests]]:
    """Draw noisy sums, released once: (xx - middle) and (xu - middle) against their differences."""
    owner = datasets.owners[which]
    target = datasets.target
    first, second = (cast(SquaredStatistics, one.records) for one in datasets.owners)
    plan = Plan(target.algorithm, "last", 1, 1.0)
    parts = []
    lengths = []
    for done, runs in _split_draws(draws, first.xx.size):
        streams = Streams(datasets.seed, f"audit {half} {which} {done}")
        task = Task((owner,), target.coordinates, plan, target.mechanism, runs, streams)
        seen = _release_whole(task, owner, runs)
        xx = seen.xx - (first.xx + second.xx) / 2
        xu = seen.xu - (first.xy + second.xy) / 2
        matrix = np.einsum("rij,ij->r", xx, first.xx - second.xx) / seen.matrix_deviation**2
        parts.append(matrix + xu @ (first.xy - second.xy) / seen.vector_deviation**2)
        if target.mechanism.name in ORDERS:
            law = target.mechanism.name if target.mechanism.pairs else ""
            one, other = (_release_distance(seen, sums, law) for sums in (first, second))
            lengths.append(other - one)
    found = [np.concatenate(each) for each in (parts, lengths) if each]
    return found, [found]


def _release_whole(task: Task, owner: Client, runs: int) -> NoisyStatistics:
    """Release an owner's sums with all parts of the noise, where owners make it together."""
    records = cast(SquaredStatistics, owner.records)
    seen = release_statistics(task, owner, range(runs))
    for part in range(1, task.mechanism.parts):
        other = replace(owner, name=f"{owner.name}, part {part}")
        more = release_statistics(task, other, range(runs))
        seen = replace(seen, xx=seen.xx + more.xx - records.xx, xu=seen.xu + more.xu - records.xy)
    wider = float(np.sqrt(task.mechanism.parts))
    return replace(
        seen,
        matrix_deviation=wider * seen.matrix_deviation,
        vector_deviation=wider * seen.vector_deviation,
    )


def _release_distance(seen: NoisyStatistics, sums: SquaredStatistics, law: str) -> Array:
    """Compute the distance of released sums from an owner's own in units of noise, (runs,).

    Where parts have noise of their own, ``law`` is that of the moments. The density of Wishart
    noise falls about as its trace norm.
    """
    off = seen.xx - sums.xx
    matrix = np.square(off).sum(axis=(1, 2)) / seen.matrix_deviation**2
    vector = np.square(seen.xu - sums.xy).sum(axis=1) / seen.vector_deviation**2
    if not law:
        return np.sqrt(matrix + vector)
    width = seen.xu.shape[1]
    if law == "wishart":
        trace = np.abs(np.linalg.eigvalsh(off)).sum(axis=1) / seen.matrix_deviation
        return np.sqrt(width + 1) * (trace + np.sqrt(vector))
    return np.sqrt((width * (width + 1) // 2 + 1) * matrix) + np.sqrt((width + 1) * vector)
