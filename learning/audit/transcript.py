"""Watched trainings: engine, clients and streams of a run, with every answer's noise kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from learning.arrays import Array
from learning.audit.accountant import laplace_numbers, wishart_freedom
from learning.losses.coordinates import Coordinates
from learning.losses.records import GradientOracle
from learning.losses.statistics import SquaredStatistics
from learning.privacy.ledger import Ledger
from learning.privacy.mechanism import Mechanism
from learning.randomness import Streams
from learning.training.algorithms import ALGORITHMS
from learning.training.client import Client, Noise
from learning.training.engine import train
from learning.training.lots import by_answer
from learning.training.newton import release_moments
from learning.training.noisy_statistics import release_statistics
from learning.training.task import Task

NUMBERS = 40_000  # of each owner's noise: a tenth less noise shows clearly
NUMBERS_IN_ALL = 4_000_000
FEWEST_RUNS = 4
MOST_RUNS = 2000
KEPT = 8  # first queries kept of each owner
EXACT = 16 * float(np.finfo(float).eps)  # rounding of a few sums, over their largest term
SAME_NOISE = 1e-12  # of the scale of noise


@dataclass(frozen=True)
class Answers:
    """Answers of one owner, as watched.

    Parameters
    ----------
    owner: the owner, with the stated scale of its noise.
    noise: array (answers, runs, width), the noise on its k-th answer of each run; nan where a run
        asked less often.
    scale: the stated scale of these numbers, in an answer with an even share of the budget.
    asked: number of answers over all runs.
    noisy: number of them for which noise was drawn.
    widths: numbers of each part of an answer, where parts have noise of their own.
    factors: array (answers,), factor on the scale of each answer; None for even shares.
    drawn: array (answers, runs, width), the noise that was drawn for these answers; None where it
        is unknown.
    rounding: rounding error of the noise as seen, over its stated scale.
    most: number of answers in the run that asks most.
    laws: the law of the noise of each part; that of the mechanism unless given.
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
    laws: tuple[str, ...] = ()

    @property
    def seen(self) -> bool:
        """True if any noise was seen."""
        return bool(np.isfinite(self.noise).any())

    @property
    def parts(self) -> list[Answers]:
        """Answers by part, where parts of an answer have noise of their own."""
        if not self.widths:
            return [self]
        ends = pairwise(np.cumsum((0, *self.widths)).tolist())
        return [
            replace(self, noise=self.noise[..., i:j], widths=(), laws=(law,))
            for (i, j), law in zip(ends, self.laws, strict=True)
        ]

    def law(self, mechanism: Mechanism) -> str:
        """Name of the law of this noise."""
        return self.laws[0] if self.laws else mechanism.name

    @property
    def relative(self) -> Array:
        """Noise in units of its stated scale."""
        if self.factors is None:
            return self.noise / self.scale
        return self.noise / (self.scale * self.factors[: len(self.noise), None, None])


@dataclass(frozen=True)
class Transcript:
    """Training as watched.

    Parameters
    ----------
    task: the training.
    answers: the answers of every owner that adds noise.
    queries: array (m, p), some of the points asked.
    furthest: the length of the longest query, in the norm of the ball.
    ledger: the ledger that the training was charged to.
    picks: array (rounds, runs), the records picked among all, where single records answer; -1 where
        unknown.
    moments: the noise on second moments in the first answer of every owner that adds noise, where
        they are released beside gradients.
    """

    task: Task
    answers: tuple[Answers, ...]
    queries: Array = field(repr=False)
    furthest: float
    ledger: Ledger
    picks: Array | None = field(default=None, repr=False)
    moments: tuple[Answers, ...] = ()


class WatchedRecords:
    """Records of an owner that remember their queries."""

    def __init__(self, records: GradientOracle, norm: int, steps: WatchedSteps | None) -> None:
        self.records = records
        self.order = np.inf if norm == 1 else 2
        self.steps = steps
        self.asked = 0
        self.furthest = 0.0
        self.queries: list[Array] = []
        self.last: Array = np.zeros(1)
        self.single: list[tuple[int, Array, NDArray[np.intp]]] = []

    @property
    def n_records(self) -> int:
        return self.records.n_records

    @property
    def n_parameters(self) -> int:
        return self.records.n_parameters

    def second_moments(self, radius: float) -> Array:
        records: Any = self.records
        return np.asarray(records.second_moments(radius))

    def gradient(self, phi: Array) -> Array:
        return self._remember_query(phi, self.records.gradient(phi))

    def record_gradient(self, phi: Array, rows: NDArray[np.intp]) -> Array:
        if self.steps is not None:
            self.single.append((len(self.steps.asked) - 1, phi, rows))
        return self._remember_query(phi, self.records.record_gradient(phi, rows))  # type: ignore[attr-defined]

    def _remember_query(self, phi: Array, gradient: Array) -> Array:
        lengths = np.linalg.norm(phi, self.order, axis=1)
        self.asked += len(phi)
        self.furthest = max(self.furthest, float(lengths.max(initial=0.0)))
        if len(self.queries) < KEPT and len(phi):
            self.queries.append(phi[0].copy())
        self.last = gradient
        return gradient


@dataclass(frozen=True)
class WatchedNoise(Noise):
    """Noise of an owner that is remembered run by run as it is taken."""

    source: Any = None
    taken: list[list[Array]] = field(default_factory=list, repr=False)

    def take(self, queries: int) -> Array:
        noise = self.source.take(queries)
        for run, kept in enumerate(self.taken):
            kept.append(noise[:, run])
        return noise

    def of_run(self, run: int, queries: int) -> Array:
        noise = self.source.of_run(run, queries)
        self.taken[run].append(noise[:, 0])
        return noise


@dataclass(frozen=True)
class Watched(Client):
    """An owner whose queries and noise are remembered."""

    inner: Any = None
    taken: list[list[Array]] = field(default_factory=list, repr=False)
    answered: list[Array] = field(default_factory=list, repr=False)
    longest: list[float] = field(default_factory=lambda: [0.0], repr=False)

    def noise(
        self, mechanism: Mechanism, runs: int, streams: Streams, n_draws: int | None = None
    ) -> Noise:
        source = self.inner.noise(mechanism, runs, streams, n_draws)
        self.taken.extend([] for _ in range(runs))
        drawn = (source.shape, source.draws, source.parts)
        return WatchedNoise(mechanism, *drawn, source=source, taken=self.taken)

    def noised(self, gradient: Array, noise: Array) -> Array:
        return self.inner.noised(gradient, noise)

    def answer(self, phi: Array, noise: Array) -> Array:
        """Answer, and remember the answer less the mean gradient."""
        answer = self.inner.answer(phi, noise)
        self.answered.append(answer - self.records.last)  # type: ignore[attr-defined]
        self.longest[0] = max(self.longest[0], float(np.abs(answer).max(initial=0.0)))
        return answer


class WatchedSteps:
    """Steps of a training, which its coordinates see before they project them."""

    def __init__(self, inner: Coordinates, start: Array) -> None:
        self.asked = [start]
        self.moved: list[Array] = []

        def project(coordinates: Any, phi: Array) -> Array:
            self.moved.append(phi.copy())
            self.asked.append(np.asarray(inner.project(phi)))
            return self.asked[-1]

        self.coordinates = type("Watched", (type(inner),), {"project": project})(**vars(inner))


def _read_steps(steps: WatchedSteps, task: Task) -> tuple[list[Array] | None, float]:
    """Noise of each owner's answers as the algorithm reads it from its steps; its rounding."""
    shares = task.shares / task.shares.sum()
    points = (np.array(steps.asked[:-1]), np.array(steps.moved))
    shown = ALGORITHMS[task.plan.algorithm].noise_told(replace(task, weights=shares), *points)
    furthest = max(float(np.abs(one).max()) for one in (*steps.asked, *steps.moved))
    weight = task.shares * task.sizes.sum() / task.sizes / task.shares.sum()
    return shown, float(EXACT * furthest / (task.plan.steps.min() * weight.min()))


def replications_for(task: Task) -> int:
    """Choose the number of runs that show enough numbers of each owner's noise."""
    algorithm = ALGORITHMS[task.plan.algorithm]
    owners = len(task.owners)
    width = task.width
    if not algorithm.takes_steps:
        width = width * (width + 3) // 2
    numbers = max(1, len(task.plan.steps)) * width
    if not algorithm.asks_at_random:
        numbers *= owners
    wanted = min(NUMBERS * owners, NUMBERS_IN_ALL) // numbers
    return int(np.clip(wanted, FEWEST_RUNS, MOST_RUNS))


def watch_training(task: Task) -> Transcript:
    """Train as `learning.training.engine.train` does, and keep the noise on every answer.

    Where all runs ask an owner at once, its noise is the answer less the gradient. Where they ask
    it one by one, it is the noise drawn, which the answers are compared with. Where single records
    answer (SGD1), it is read from the steps. Where sums are released at once, it is the difference
    from the owner's own sums, in coordinates in which it has one scale.
    """
    task = ask_members_singly(task)
    ledger = Ledger()
    algorithm = ALGORITHMS[task.plan.algorithm]
    if not algorithm.takes_steps:
        train(replace(task, runs=1), ledger)
        releases = tuple(_watch_release(task, one) for one in task.owners if not one.silent)
        return Transcript(task, releases, task.start()[:1], 0.0, ledger)
    steps = WatchedSteps(task.coordinates, task.start()) if algorithm.one_by_one else None
    owners = tuple(_watch_owner(owner, task.coordinates.norm, steps) for owner in task.owners)
    records: list[Any] = [owner.records for owner in owners]
    shown: Sequence[Any] = [None] * len(owners)
    picks = None
    rounding = 0.0
    with np.errstate(all="ignore"):  # a training that leaves its ball may overflow
        if steps is None:
            train(replace(task, owners=owners), ledger)
        else:
            train(replace(task, owners=owners, coordinates=steps.coordinates), ledger)
            picks = _match_picks(steps.asked, records)
            told, rounding = _read_steps(steps, task)
            shown = told or shown
    factors = None if task.plan.growth == 1 else task.relative_scales
    answers = tuple(
        _lay_out_answers(owner, seen, factors, rounding)
        for owner, seen in zip(owners, shown, strict=True)
        if not owner.silent
    )
    queries = np.array([query for one in records for query in one.queries]).reshape(-1, task.width)
    furthest = max(one.furthest for one in records)
    moments: tuple[Answers, ...] = ()
    if algorithm.moments:
        answers = tuple(replace(one, laws=("l2",)) for one in answers)
        moments = tuple(_watch_moments(task, one) for one in task.owners if not one.silent)
    return Transcript(task, answers, queries, furthest, ledger, picks, moments)


def _match_picks(asked: list[Array], records: list[Any]) -> Array:
    """Match the record picked in each round and run by the point of the query; -1 if unknown."""
    picks = np.full((max(1, len(asked) - 1), len(asked[0])), -1)
    first = np.cumsum([0, *(one.n_records for one in records)])
    runs_at: list[dict[bytes, list[int]]] = []
    for points in asked:
        runs_at.append({})
        for run, point in enumerate(points):
            runs_at[-1].setdefault(point.tobytes(), []).append(run)
    for owner, one in enumerate(records):
        for number, points, rows in one.single:
            for point, row in zip(points, rows, strict=True):
                runs = runs_at[number].get(point.tobytes(), [])
                if len(runs) == 1 and number < len(picks):  # ambiguous where several runs coincide
                    picks[number, runs[0]] = first[owner] + row
    return picks


def ask_members_singly(task: Task) -> Task:
    """Let the members of groups answer one by one, since each adds noise of its own.

    Clocks that name no owners take the place of the groups'.
    """
    owners = tuple(member for owner in task.owners for member in owner.asked)
    if len(owners) == len(task.owners):
        return task
    plan = replace(task.plan, clocks=type(task.plan.clocks)())
    return replace(task, owners=owners, weights=None, plan=plan)


def _watch_owner(owner: Client, norm: int, steps: WatchedSteps | None) -> Watched:
    records: Any = WatchedRecords(owner.records, norm, steps)
    sold = (owner.scale, owner.horizon, owner.epsilon)
    inner = replace(owner, records=records)
    return Watched(owner.name, records, *sold, growth=owner.growth, inner=inner)


def _lay_out_answers(
    owner: Watched, shown: Array | None, factors: Array | None, rounding: float
) -> Answers:
    """Lay the noise out by answer and run.

    Parameters
    ----------
    owner: the owner that was watched.
    shown: array (answers, runs, p), the noise that steps show; None where they show none.
    factors: as in `Answers`.
    rounding: rounding error of ``shown``.
    """
    width = owner.records.n_parameters
    scale = float(np.max(owner.scale))
    taken = [np.concatenate(kept) if kept else np.zeros((0, width)) for kept in owner.taken]
    drawn = by_answer(taken, width)
    most = max(map(len, taken), default=0)
    asked = owner.records.asked  # type: ignore[attr-defined]
    rounding += EXACT * owner.longest[0]
    if shown is None and owner.answered and all(len(one) == len(taken) for one in owner.answered):
        shown = np.stack(owner.answered)
    if shown is not None:
        noisy = _count_held(shown, drawn, rounding + SAME_NOISE * scale)
        seen = (shown, scale, asked, noisy, (), factors, drawn, rounding / scale)
        return Answers(owner.inner, *seen, most)
    noisy = sum(map(len, taken))
    if owner.answered:
        noisy = _count_carried(np.concatenate(owner.answered), np.concatenate(taken), scale)
    return Answers(owner.inner, drawn, scale, asked, noisy, (), factors, drawn, 0.0, most)


def _count_held(shown: Array, drawn: Array, rounding: float) -> int:
    """Count answers whose noise is exactly what was drawn for them."""
    answers = min(len(shown), len(drawn))
    return int((np.abs(shown[:answers] - drawn[:answers]) <= rounding).all(axis=2).sum())


def _count_carried(answered: Array, drawn: Array, scale: float) -> int:
    """Count answers whose noise was drawn, in any order."""
    if answered.shape != drawn.shape:
        return 0
    held, made = (one[np.argsort(one[:, 0], kind="stable")] for one in (answered, drawn))
    return int(np.isclose(held, made, rtol=1e-6, atol=1e-6 * scale).all(axis=1).sum())


def _watch_release(task: Task, owner: Client) -> Answers:
    """Watch noise of one scale on sum xx' (diagonal, sqrt(2) times above it) and c sum xu.

    Of Wishart noise, the numbers of `laplace_numbers`.
    """
    seen = release_statistics(task, owner, range(task.runs))
    held = owner.records
    assert isinstance(held, SquaredStatistics)
    mechanism = task.mechanism
    moments = task.width * (task.width + 1) // 2
    unit = float(np.sqrt(mechanism.unit_variance))
    matrix = seen.xx - held.xx
    vector = (seen.xu - held.xy) * unit / float(seen.vector_deviation[0])
    wide = unit
    widths: tuple[int, ...] = ()
    laws: tuple[str, ...] = ()
    if mechanism.pairs:
        wide = float(np.sqrt((moments + 1) / mechanism.parts))  # deviation of l2 noise of scale 1
        widths = (moments, task.width)
        laws = ("l2", "l2")
    scale = float(seen.matrix_deviation[0]) / wide
    numbers = symmetric_numbers(matrix) / scale
    if mechanism.name == "wishart":
        numbers, scale, law = _lay_out_wishart(mechanism, matrix, float(seen.matrix_deviation[0]))
        widths = (numbers.shape[1], task.width)
        laws = (law, "l2")
    noise = np.concatenate([numbers, vector], axis=1) * scale
    largest = float(np.abs(held.xx).max() + np.abs(held.xy).max())
    rounding = EXACT * largest / scale
    counts = (task.runs, task.runs)
    return Answers(owner, noise[None], scale, *counts, widths, rounding=rounding, laws=laws)


def _lay_out_wishart(
    mechanism: Mechanism, matrix: Array, deviation: float
) -> tuple[Array, float, str]:
    """Lay Wishart noise (runs, p, p) out as numbers in units of its scale; scale and law."""
    width = matrix.shape[1]
    freedom = wishart_freedom(width, mechanism.parts)
    scale = deviation * float(np.sqrt(mechanism.parts / (4 * freedom)))
    if mechanism.parts == 1:
        return laplace_numbers(matrix / scale, freedom), scale, "laplace"
    # of parts that owners add, the law is none that the audit knows
    return symmetric_numbers(matrix) / scale, scale, ""


def _watch_moments(task: Task, owner: Client) -> Answers:
    """Watch noise of one scale on the second moments that an owner releases beside its gradient."""
    bounds = task.coordinates.moments
    assert bounds is not None
    released, deviations = release_moments(task, owner)
    records: Any = owner.records
    held = records.second_moments(bounds.radius)
    mechanism = task.mechanism
    deviation = float(deviations[0])
    if mechanism.name == "wishart":
        numbers, scale, law = _lay_out_wishart(mechanism, released - held, deviation)
    else:
        count = task.width * (task.width + 1) // 2
        scale = deviation / float(np.sqrt((count + 1) / mechanism.parts))
        numbers = symmetric_numbers(released - held) / scale
        law = "l2"
    rounding = EXACT * float(np.abs(held).max()) / scale
    noise = numbers[None] * scale
    counts = (task.runs, task.runs)
    return Answers(owner, noise, scale, *counts, rounding=rounding, laws=(law,))


def symmetric_numbers(matrix: Array) -> Array:
    """Diagonal of symmetric matrices (runs, p, p), and sqrt(2) times the numbers above it."""
    rows, columns = np.triu_indices(matrix.shape[1], 1)
    diagonal = np.diagonal(matrix, axis1=1, axis2=2)
    return np.concatenate([diagonal, np.sqrt(2) * matrix[:, rows, columns]], axis=1)
