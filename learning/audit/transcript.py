"""A training watched from the owners' side: the very engine, clients and streams of a run, and the noise on every answer."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from learning.arrays import Array
from learning.losses.coordinates import Coordinates
from learning.losses.protocols import GradientOracle
from learning.losses.squared import SquaredStatistics
from learning.privacy.ledger import Ledger
from learning.privacy.mechanism import Mechanism
from learning.randomness import Streams
from learning.training.adassp import released
from learning.training.algorithms import ALGORITHMS
from learning.training.client import Client, Noise
from learning.training.engine import train
from learning.training.lots import by_answer
from learning.training.task import Task

NUMBERS = 40_000  # of noise that are looked at of each owner: a tenth less noise shows clearly
NUMBERS_IN_ALL = 4_000_000
FEWEST_RUNS, MOST_RUNS = 4, 2000
KEPT = 8  # queries kept of each owner, the first ones
EXACT = 16 * float(np.finfo(float).eps)  # rounding of a few sums, over their largest term
SAME_NOISE = 1e-12  # of the scale of noise


@dataclass(frozen=True)
class Answers:
    """What was seen of one owner.

    Parameters
    ----------
    owner: the owner, with the scale that its noise is stated to have.
    noise: array (answers, runs, width), the noise on its k-th answer of each run; nan where a run asked less often.
    scale: the stated scale of these numbers, in an answer that gets an even share of the budget.
    asked: answers over all runs; of them ``noisy`` had noise drawn for them.
    widths: numbers of each part of an answer, where parts have noise of their own.
    factors: array (answers,), of the scale of each answer; 1 where shares are even.
    drawn: array (answers, runs, width), the noise that was drawn for these answers; None where it is not known apart.
    rounding: of the noise as it is seen, over its stated scale.
    most: the answers of the run that asks most.
    """

    owner: Client
    noise: Array = field(repr=False)
    scale: float
    asked: int
    noisy: int
    widths: tuple[int, ...] = ()
    factors: Array | None = field(default=None, repr=False)
    drawn: Array | None = field(default=None, repr=False)
    rounding: float = 0.0
    most: int = 1

    @property
    def seen(self) -> bool:
        """Whether any noise was seen."""
        return bool(np.isfinite(self.noise).any())

    @property
    def parts(self) -> list[Answers]:
        """The same part by part where parts of an answer have noise of their own."""
        if not self.widths:
            return [self]
        ends = np.cumsum((0, *self.widths)).tolist()
        return [replace(self, noise=self.noise[..., i:j], widths=()) for i, j in pairwise(ends)]

    @property
    def relative(self) -> Array:
        """The noise in units of its stated scale."""
        if self.factors is None:
            return self.noise / self.scale
        return self.noise / (self.scale * self.factors[: len(self.noise), None, None])


@dataclass(frozen=True)
class Transcript:
    """What was seen of a training.

    Parameters
    ----------
    task: the training.
    answers: of every owner that adds noise.
    queries: array (m, p), some of the points asked.
    furthest: the length of the longest query, in the norm of the ball.
    ledger: the ledger that the training was charged to.
    picks: array (rounds, runs), the records picked among all, where single records answer; -1 where none was.
    """

    task: Task
    answers: tuple[Answers, ...]
    queries: Array = field(repr=False)
    furthest: float
    ledger: Ledger
    picks: Array | None = field(default=None, repr=False)


class WatchedRecords:
    """An owner's records that remember what they were asked."""

    def __init__(self, records: GradientOracle, norm: int) -> None:
        self.records, self.order = records, np.inf if norm == 1 else 2
        self.asked, self.furthest, self.queries, self.last = 0, 0.0, list[Array](), np.zeros(1)
        self.single = list[tuple[int, Array, NDArray[np.intp]]]()
        self.steps: _Steps | None = None

    @property
    def n_records(self) -> int:
        return self.records.n_records

    @property
    def n_parameters(self) -> int:
        return self.records.n_parameters

    def gradient(self, phi: Array) -> Array:
        return self._remembered(phi, self.records.gradient(phi))

    def record_gradient(self, phi: Array, rows: NDArray[np.intp]) -> Array:
        if self.steps is not None:
            self.single.append((len(self.steps.asked) - 1, phi, rows))
        return self._remembered(phi, self.records.record_gradient(phi, rows))  # type: ignore[attr-defined]

    def _remembered(self, phi: Array, gradient: Array) -> Array:
        self.asked += len(phi)
        self.furthest = max(self.furthest, float(np.linalg.norm(phi, self.order, axis=1).max(initial=0.0)))
        if len(self.queries) < KEPT and len(phi):
            self.queries.append(phi[0].copy())
        self.last = gradient
        return gradient


@dataclass(frozen=True)
class WatchedNoise(Noise):
    """An owner's noise that is remembered run by run as it is taken."""

    source: Any = None
    taken: list[list[Array]] = field(default_factory=list, repr=False)

    def take(self, queries: int) -> Array:
        noise = np.asarray(self.source.take(queries))
        for run, kept in enumerate(self.taken):
            kept.append(noise[:, run])
        return noise

    def of_run(self, run: int, queries: int) -> Array:
        noise = np.asarray(self.source.of_run(run, queries))
        self.taken[run].append(noise[:, 0])
        return noise


@dataclass(frozen=True)
class Watched(Client):
    """An owner as it is, with what it is asked and the noise that it answers with remembered."""

    inner: Any = None
    taken: list[list[Array]] = field(default_factory=list, repr=False)
    answered: list[Array] = field(default_factory=list, repr=False)
    longest: list[float] = field(default_factory=lambda: [0.0], repr=False)

    def noise(self, mechanism: Mechanism, runs: int, streams: Streams, n_draws: int | None = None) -> Noise:
        source = self.inner.noise(mechanism, runs, streams, n_draws)
        self.taken.extend([] for _ in range(runs))
        return WatchedNoise(mechanism, source.shape, source.draws, source.parts, source=source, taken=self.taken)

    def noised(self, gradient: Array, noise: Array) -> Array:
        return np.asarray(self.inner.noised(gradient, noise))

    def answer(self, phi: Array, noise: Array) -> Array:
        """The answer; what it holds beside the mean gradient is remembered."""
        answer = np.asarray(self.inner.answer(phi, noise))
        self.answered.append(answer - self.records.last)  # type: ignore[attr-defined]
        self.longest[0] = max(self.longest[0], float(np.abs(answer).max(initial=0.0)))
        return answer


def replications(task: Task, owners: int) -> int:
    """How many runs show enough numbers of each owner's noise."""
    algorithm, rounds = ALGORITHMS[task.plan.algorithm], max(1, len(task.plan.steps))
    width = task.width if algorithm.takes_steps else task.width * (task.width + 3) // 2
    in_all = rounds * width * (1 if algorithm.asks_at_random else owners)
    wanted = min(NUMBERS * owners, NUMBERS_IN_ALL) // in_all
    return int(np.clip(wanted, FEWEST_RUNS, MOST_RUNS))


def watched_training(task: Task) -> Transcript:
    """Train as `learning.training.engine.train` does, owners one by one, and keep the noise on every answer.

    Where all runs ask an owner at once, the noise is what its answers hold beside the gradient; where they ask one by one,
    what it drew, and its answers are held against that; where single records answer (SGD1), what the steps hold.
    Of sums released at once it is what is released beside them, in coordinates in which it is alike in all directions.
    """
    task, ledger = apart(task), Ledger()
    if not ALGORITHMS[task.plan.algorithm].takes_steps:
        train(replace(task, runs=1), ledger)
        released_by_each = tuple(_release(task, one) for one in task.owners if not one.silent)
        return Transcript(task, released_by_each, task.start()[:1], 0.0, ledger)
    owners = tuple(_watched(owner, task.coordinates.norm) for owner in task.owners)
    steps = _Steps(task.coordinates, task.start()) if ALGORITHMS[task.plan.algorithm].one_by_one else None
    for owner in owners:
        owner.records.steps = steps  # type: ignore[attr-defined]
    seen = replace(task, owners=owners, coordinates=steps.coordinates if steps else task.coordinates)
    with np.errstate(all="ignore"):  # a training that leaves its ball may overflow: that is found, not told of
        train(seen, ledger)
        picks = None if steps is None else _picked(steps.asked, [owner.records for owner in owners])
        told = None if steps is None else steps.told(task)
    records: list[Any] = [owner.records for owner in owners]
    queries = np.array([query for one in records for query in one.queries]).reshape(-1, task.width)
    furthest = max(one.furthest for one in records)
    rounding = 0.0 if steps is None else steps.rounding(task)
    noisy = [(owner, None if told is None else told[number]) for number, owner in enumerate(owners) if not owner.silent]
    factors = None if task.plan.growth == 1 else task.relative_scales
    answers = tuple(_answers(*one, factors, rounding) for one in noisy)
    return Transcript(task, answers, queries, furthest, ledger, picks)


def _picked(asked: list[Array], records: list[Any]) -> Array:
    """The records that each round of each run picked, as the points show at which they were asked; -1 where they do not."""
    picks = np.full((max(1, len(asked) - 1), len(asked[0])), -1)
    first = np.cumsum([0, *(one.n_records for one in records)])
    free = [_runs_at(points) for points in asked]
    for owner, one in enumerate(records):
        for number, points, rows in one.single:
            for point, row in zip(points, rows, strict=True):
                runs = free[number].get(point.tobytes(), [])
                if len(runs) == 1 and number < len(picks):  # where several stand, nobody knows which it was
                    picks[number, runs[0]] = first[owner] + row
    return picks


def _runs_at(points: Array) -> dict[bytes, list[int]]:
    """The runs that stand at each point."""
    runs: dict[bytes, list[int]] = {}
    for run, point in enumerate(points):
        runs.setdefault(point.tobytes(), []).append(run)
    return runs


class _Steps:
    """The steps of a training, which its coordinates see before they project them."""

    def __init__(self, inner: Coordinates, start: Array) -> None:
        self.asked, self.moved = [start], list[Array]()

        def project(coordinates: Any, phi: Array) -> Array:
            self.moved.append(phi.copy())
            self.asked.append(np.asarray(inner.project(phi)))
            return self.asked[-1]

        self.coordinates = type("Watched", (type(inner),), {"project": project})(**vars(inner))

    def rounding(self, task: Task) -> float:
        """Of the noise as the steps tell it."""
        furthest = max(float(np.abs(one).max()) for one in (*self.asked, *self.moved))
        weight = task.shares * task.sizes.sum() / task.sizes / task.shares.sum()
        return float(EXACT * furthest / (task.plan.steps.min() * weight.min()))

    def told(self, task: Task) -> list[Array] | None:
        """The noise that owners' answers held, owner by owner, as the algorithm reads it from its steps."""
        weighed = replace(task, weights=task.shares / task.shares.sum())
        return ALGORITHMS[task.plan.algorithm].noise_told(weighed, np.array(self.asked[:-1]), np.array(self.moved))


def apart(task: Task) -> Task:
    """The training with every owner answering for itself: members of a group, whose noise is each one's own."""
    owners = tuple(member for owner in task.owners for member in owner.asked)
    if len(owners) == len(task.owners):
        return task
    return replace(task, owners=owners, weights=None, plan=replace(task.plan, clocks=type(task.plan.clocks)()))


def _watched(owner: Client, norm: int) -> Watched:
    records: Any = WatchedRecords(owner.records, norm)
    inner = replace(owner, records=records)
    return Watched(owner.name, records, owner.scale, owner.horizon, owner.epsilon, growth=owner.growth, inner=inner)


def _answers(owner: Watched, told: Array | None, factors: Array | None, rounding: float) -> Answers:
    """Lay the noise out by answer and run; ``told`` where the steps tell it, as precisely as ``rounding``."""
    width, scale = owner.records.n_parameters, float(np.max(owner.scale))
    taken = [np.concatenate(kept) if kept else np.zeros((0, width)) for kept in owner.taken]
    drawn, most = by_answer(taken, width), max(map(len, taken), default=0)
    asked = owner.records.asked  # type: ignore[attr-defined]
    rounding += EXACT * owner.longest[0]
    if told is None and owner.answered and all(len(one) == len(taken) for one in owner.answered):
        told = np.stack(owner.answered)
    if told is not None:
        noisy = _held(told, drawn, rounding + SAME_NOISE * scale)
        return Answers(owner.inner, told, scale, asked, noisy, (), factors, drawn, rounding / scale, most)
    noisy = sum(map(len, taken))
    if owner.answered:
        noisy = _carried(np.concatenate(owner.answered), np.concatenate(taken), scale)
    return Answers(owner.inner, drawn, scale, asked, noisy, (), factors, drawn, 0.0, most)


def _held(told: Array, drawn: Array, rounding: float) -> int:
    """How many answers hold the noise that was drawn for them and nothing else."""
    answers = min(len(told), len(drawn))
    return int((np.abs(told[:answers] - drawn[:answers]) <= rounding).all(axis=2).sum())


def _carried(answered: Array, drawn: Array, scale: float) -> int:
    """How many answers hold, beside the gradient, noise that was drawn, in whatever order."""
    if answered.shape != drawn.shape:
        return 0
    held, made = (one[np.argsort(one[:, 0], kind="stable")] for one in (answered, drawn))
    return int(np.isclose(held, made, rtol=1e-6, atol=1e-6 * scale).all(axis=1).sum())


def _release(task: Task, owner: Client) -> Answers:
    """Noise on (diagonal of sum xx', sqrt(2) times what is above it, c sum xu): of one scale in every coordinate."""
    seen, held = released(task, owner, range(task.runs)), owner.records
    assert isinstance(held, SquaredStatistics)
    beside = task.width * (task.width + 1) // 2
    widths = (beside, task.width) if task.mechanism.pairs else ()
    unit = float(np.sqrt(task.mechanism.unit_variance))
    wide = float(np.sqrt(beside + 1)) if widths else unit  # l2 noise on so many numbers, of scale 1
    matrix, scale = seen.xx - held.xx, float(seen.matrix_deviation[0]) / wide
    rows, columns = np.triu_indices(task.width, 1)
    parts = [np.diagonal(matrix, axis1=1, axis2=2), np.sqrt(2) * matrix[:, rows, columns]]
    parts.append((seen.xu - held.xy) * scale * unit / float(seen.vector_deviation[0]))
    noise, largest = np.concatenate(parts, axis=1)[None], float(np.abs(held.xx).max() + np.abs(held.xy).max())
    rounding = EXACT * largest / scale
    return Answers(owner, noise, scale, task.runs, task.runs, widths, rounding=rounding)
