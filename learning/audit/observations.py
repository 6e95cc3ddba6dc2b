"""What an attacker sees of two neighbouring worlds, draw by draw, through the very engine that training runs on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from learning.arrays import Array
from learning.audit.worst_pairs import Pair
from learning.losses.coordinates import Coordinates
from learning.losses.oracle import GradientOracle
from learning.losses.records import make_oracle
from learning.privacy.mechanism import Mechanism
from learning.randomness import Streams
from learning.training.adassp import released
from learning.training.client import Client, make_clients
from learning.training.plan import Plan
from learning.training.task import Task

Tests = list[Array]  # of one world, statistic by statistic; large values speak for the first world

VALUES_AT_ONCE = 4_000_000


@dataclass(frozen=True)
class NeighbouringDatasets:
    """Two neighbouring worlds of one owner, and how they are asked.

    Parameters
    ----------
    owners : the owner in either world; its last record is the one that differs. pair : Pair of those records.
    coordinates, mechanism, algorithm : of the training audited. answers : asked; for SGD1 rounds, of which its picks
        give it some. seed : of the noise.
    """

    owners: tuple[Client, Client] = field(repr=False)
    pair: Pair
    coordinates: Coordinates
    mechanism: Mechanism
    algorithm: str
    answers: int
    seed: int

    def streams(self, world: str) -> Streams:
        return Streams(self.seed, f"audit {world}")


def neighbouring_datasets(
    name: str,
    x: Array,
    y: Array,
    epsilon: float,
    coordinates: Coordinates,
    mechanism: Mechanism,
    horizon: int,
    pair: Pair,
    *,
    algorithm: str,
    answers: int,
    hidden: int,
    seed: int,
) -> NeighbouringDatasets:
    """An owner's records, the first of which gives way to either of the pair, made answers of as training does."""
    first, second = (
        make_clients(
            (name,),
            [
                make_oracle(
                    coordinates,
                    np.vstack([x[1:], record[None]]),
                    np.append(y[1:], target),
                    hidden=hidden,
                    one_by_one=algorithm == "sgd1",
                )
            ],
            [epsilon],
            mechanism,
            coordinates.gradient_bound,
            horizon,
        )[0]
        for record, target in (pair.first, pair.second)
    )
    return NeighbouringDatasets((first, second), pair, coordinates, mechanism, algorithm, answers, seed)


def observations(
    datasets: NeighbouringDatasets, draws: int, half: str
) -> tuple[list[tuple[Array, Array]], list[tuple[Array, Array]]]:
    """Test statistics of all answers together and of single ones, (draws in the first world, in the second) for each.

    |w - b|_1 - |w - a|_1, the likelihood ratio of Laplace noise on an answer w of mean a or b, and (w - (a + b)/2)'(a - b),
    that of Gaussian noise; summed over the answers. Of sums released at once, the second, in units of their noise.
    """
    see = {"sgd1": _picked, "adassp": _released}.get(datasets.algorithm, _answered)
    one, two = (see(datasets, i, draws, half) for i in range(2))
    joint, single = (list(zip(a, b, strict=True)) for a, b in zip(one, two, strict=True))
    return joint, single


def _statistics(first: Array, second: Array) -> tuple[Callable[[Array], Array], ...]:
    """Both, of answers (.., p)."""
    middle, direction = (first + second) / 2, first - second
    return (
        lambda w: np.abs(w - second).sum(axis=-1) - np.abs(w - first).sum(axis=-1),
        lambda w: (w - middle) @ direction,
    )


def _blocks(draws: int, numbers: int) -> Iterator[tuple[int, int]]:
    """(first, how many) of the draws, as many at once as so many numbers each allow."""
    ahead = max(1, VALUES_AT_ONCE // max(1, numbers))
    return ((first, min(ahead, draws - first)) for first in range(0, draws, ahead))


def _answered(datasets: NeighbouringDatasets, world: int, draws: int, half: str) -> tuple[Tests, Tests]:
    """Mean gradients at the worst query, every one with fresh noise."""
    owner, query = datasets.owners[world], datasets.pair.query[None]
    tests = _statistics(*(one.records.gradient(query)[0] for one in datasets.owners))
    parts = []
    for done, runs in _blocks(draws, datasets.answers * query.size):
        streams = datasets.streams(f"{half} {world} {done}")
        answers = owner.answer(query, owner.noise(datasets.mechanism, runs, streams).take(datasets.answers))
        parts.append([test(answers) for test in tests])
    each = [np.concatenate([part[i] for part in parts], axis=1) for i in range(len(tests))]
    return [found.sum(axis=0) for found in each], [found.ravel() for found in each]


def _picked(datasets: NeighbouringDatasets, world: int, draws: int, half: str) -> tuple[Tests, Tests]:
    """Single gradients of the record that differs, in the rounds that pick it; all other rounds say nothing.

    The attacker knows the picks, uniform over all records of all owners as in training. A single answer is one use.
    """
    owner, query = datasets.owners[world], datasets.pair.query[None]
    means = [_record_gradient(one.records, query) for one in datasets.owners]
    tests = _statistics(*(mean[0] for mean in means))
    total = datasets.mechanism.total_size  # type: ignore[attr-defined]
    uses = _uses(datasets.seed, f"{half} {world}", total, datasets.answers, draws)
    most = max(1, int(uses.max()))
    joint, single = [], []
    for done, runs in _blocks(draws, most * query.size):
        streams = datasets.streams(f"{half} {world} {done}")
        answers = means[world] + owner.noise(datasets.mechanism, runs, streams).take(most)
        used = np.arange(most)[:, None] < uses[done : done + runs]
        found = [test(answers) for test in tests]
        joint.append([(one * used).sum(axis=0) for one in found])
        single.append([one[0] for one in found])
    together, alone = ([np.concatenate([part[i] for part in parts]) for i in range(2)] for parts in (joint, single))
    return together, alone


def _record_gradient(records: GradientOracle, query: Array) -> Array:
    """Gradient (1, p) of the last record, as SGD1 asks for it."""
    return np.asarray(records.record_gradient(query, np.array([records.n_records - 1])))  # type: ignore[attr-defined]


@lru_cache(maxsize=4)
def _uses(seed: int, world: str, total: int, rounds: int, draws: int) -> NDArray[np.intp]:
    """How often a record is picked in each draw of all rounds, (draws,); picks read no records, so owners share them."""
    rng = Streams(seed, f"audit {world} picks").rng("picks")
    picked = [
        (rng.integers(0, total, size=(runs, rounds), dtype=np.int32) == 0).sum(axis=1)
        for _, runs in _blocks(draws, rounds)
    ]
    return np.concatenate(picked)


def _released(datasets: NeighbouringDatasets, world: int, draws: int, half: str) -> tuple[Tests, Tests]:
    """Noisy sums over all records, released once: (xx - middle) and (xu - middle) against their differences."""
    owner, (first, second) = datasets.owners[world], (one.records for one in datasets.owners)
    width, parts = datasets.coordinates.centre.size, []
    sums = [(one.xx, one.xy) for one in (first, second)]  # type: ignore[attr-defined]
    (xx, xu), (other, beside) = sums
    for done, runs in _blocks(draws, width * width):
        task = Task(
            (owner,),
            np.ones(1),
            datasets.coordinates,
            Plan("adassp", "last", 1, 1.0),
            datasets.mechanism,
            runs,
            datasets.streams(f"{half} {world} {done}"),
        )
        seen = released(task, owner, range(runs))
        matrix = np.einsum("rij,ij->r", seen.xx - (xx + other) / 2, xx - other) / seen.matrix_deviation**2
        vector = (seen.xu - (xu + beside) / 2) @ (xu - beside) / seen.vector_deviation**2
        parts.append(matrix + vector)
    found = [np.concatenate(parts)]
    return found, found
