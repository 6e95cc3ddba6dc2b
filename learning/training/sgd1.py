"""SGD1: every round uses one record, picked uniformly among all records of all owners."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, TypeGuard

import numpy as np
from numpy.typing import NDArray

from learning.arrays import Array
from learning.losses.linear_records import LinearRecords
from learning.losses.oracle import GradientOracle
from learning.training.algorithm import Algorithm
from learning.training.client import Noise
from learning.training.descent import NUMBERS_HELD
from learning.training.law import averaging
from learning.training.task import Task, Trajectory

Rows = NDArray[np.intp]

PICKS = ("picks", "records")  # first keys of the streams that records are picked from; no owner has two


class Single(GradientOracle, Protocol):
    """Records that answer with the gradient of one of them."""

    def record_gradient(self, phi: Array, rows: Rows) -> Array:
        """Gradient of one record per run: (runs, p), rows (runs,) -> (runs, p)."""
        ...


class SGD1(Algorithm):
    """Step c/sqrt(k) at each of T rounds, each with one record.

    Source: the multi-party write-up, Algorithm SGD1 and (4).
    """

    name = "sgd1"
    one_by_one = True
    weighs_owners = False
    published_formula = "sgd1"
    asks_at_random = True
    rounds = (1, 1_000_000)
    returned = ("last", "averaged")
    step_lengths = np.geomspace(0.003, 1, 10)
    says = "each round asks one owner about one record, drawn at random (sgd1)"

    def step(self, constant: Array, k: Array, horizon: int) -> Array:
        """c/sqrt(k)."""
        return constant / np.sqrt(k)

    def trial_horizons(self, *, coarse: bool = False) -> Sequence[int]:
        """Hundreds of rounds and more, since each asks for one record."""
        return (100, 300, 1000, 3000)

    def answers(self, task: Task) -> list[int]:
        """Queries that each owner answers: how often its records are picked in the run that picks them most.

        Raises
        ------
        ValueError
            If noise is added that was scaled to mean gradients: one record's gradient moves n_l times as far.
        """
        _check_noise(task)
        starts = _starts(task)
        counts = np.zeros((len(task.owners), task.n_draws or task.runs), dtype=int)
        for picks in _picks(task):
            owner = np.searchsorted(starts, picks, side="right") - 1
            counts += np.stack([(owner == number).sum(axis=0) for number in range(len(counts))])
        return [int(most) for most in counts.max(axis=1)]

    def run(self, task: Task) -> Trajectory:
        """theta[t+1] = Pi[theta[t] - rho_t (grad g_1 + grad g_2(theta[t]; d) + z)], d one record picked from all n.

        Picks are uniform over all records, apart in each run; the k-th answer of an owner in a run carries the k-th noise of
        its stream. Uniform picks weigh owners by n_l/n. Where the task's weights q differ from that, an owner's answers are
        scaled by q_l n/n_l, so that they follow sum_l q_l (mean gradient of l) on average.

        Raises
        ------
        ValueError
            If an owner keeps sums over its records and cannot answer for one of them, or noise is added that was scaled to
            mean gradients: use `learning.privacy.subsampled.SubsampledGaussian`, or
            `learning.privacy.published_noise.PublishedNoise("sgd1", ..)`.

        Source: the multi-party write-up, Algorithm SGD1 (n grad + z there; means here, so grad + z/n: the step size takes up
        the factor n). It returns the last point; the running mean beside it is that of Algorithm 2 of The Value of
        Collaboration.
        """
        _check_noise(task)
        held, starts = _held(task), _starts(task)
        factor = task.shares * task.sizes.sum() / task.sizes
        penalty, pull = task.coordinates.penalty(task.regularisation)
        steps, step_scale = task.plan.steps, 1.0 if task.step_scale is None else task.step_scale
        phi, mean = task.start(), task.start()
        path, moved = np.empty((len(steps) + 1, task.width)), 0
        path[0] = phi[0]
        for t, (step, (pick, noise)) in enumerate(zip(steps, _rounds(task, starts), strict=True), start=1):
            owner = np.searchsorted(starts, pick, side="right") - 1
            answer = _gradients(held, phi, owner, pick - starts[owner], pick) + noise
            gradient = phi @ penalty - pull + factor[owner, None] * answer
            a, b = averaging(t, task.plan.horizon)
            mean = a * mean + b * phi
            free = phi - step * step_scale * gradient
            phi = task.coordinates.project(free)
            moved += int((phi != free).sum())
            path[t] = phi[0]
        return Trajectory(phi, mean, path, moved / max(1, len(steps) * phi.size))


def step_size_as_printed(ball_diameter: float, bound: float, n_parameters: int, deviation: float) -> float:
    """c of the step size c/sqrt(t): |C|_2/sqrt(G^2 + p s^2), on the scale of mean gradients.

    Parameters
    ----------
    ball_diameter : |C|_2, twice theta_max for a ball in 2-norm.
    bound : G, largest 2-norm of one record's gradient.
    n_parameters : p. deviation : s, of the noise on each coordinate of one answer, as `Mechanism.scale` gives it.

    Returns
    -------
    c of theta <- theta - c/sqrt(t) (gradient + noise).

    Source: the multi-party write-up, (4): |C|_2/sqrt(t (n^2 G^2 + p sigma^2)) on sums of gradients. Times n for means,
    with sigma = n s, the number of records drops out.

    >>> step_size_as_printed(2.0, 3.0, 4, 2.0)
    0.4
    """
    if not (ball_diameter < np.inf and bound**2 + n_parameters * deviation**2 > 0):
        raise ValueError("the printed step size needs a bounded ball, and gradients or noise that are not all zero")
    return float(ball_diameter / np.sqrt(bound**2 + n_parameters * deviation**2))


def _check_noise(task: Task) -> None:
    """Replacing a record moves an answer of one record by 2 G, and an answer of n_l records by 2 G/n_l."""
    if not task.mechanism.single_record and not all(owner.silent for owner in task.owners):
        raise ValueError(f"SGD1 needs noise for one record's gradient; {task.mechanism!r} is scaled to mean gradients")


def _starts(task: Task) -> Rows:
    """Number of each owner's first record among all records, (n_owners,)."""
    sizes = np.array([owner.records.n_records for owner in task.owners])
    return np.concatenate([[0], np.cumsum(sizes)[:-1]])


def _blocks(task: Task) -> Iterator[int]:
    """Rounds at a time, so that picks and noise held stay bounded however many rounds there are."""
    rounds = len(task.plan.steps)
    ahead = max(1, NUMBERS_HELD // (max(1, task.runs) * (task.width + 1)))
    return (min(ahead, rounds - first) for first in range(0, rounds, ahead))


def _picks(task: Task) -> Iterator[Rows]:
    """Numbers of the records picked, (rounds of a block, distinct runs); each run from its own stream."""
    total = sum(owner.records.n_records for owner in task.owners)
    sources = [task.streams.rng(*PICKS, run) for run in range(task.n_draws or task.runs)]
    for rounds in _blocks(task):
        yield np.stack([source.integers(0, total, size=rounds) for source in sources], axis=1)


def _rounds(task: Task, starts: Rows) -> Iterator[tuple[Rows, Array]]:
    """Round by round: the record picked in each run, (runs,), and the noise on its answer, (runs, p)."""
    noises = task.noises()
    for picks in _picks(task):
        owner = np.searchsorted(starts, picks, side="right") - 1
        noise = np.zeros((len(picks), task.runs, task.width))
        repeats = task.runs // picks.shape[1]  # rehearsals share draws between runs
        for number, source in enumerate(noises):
            _add_noise(noise, owner == number, source, repeats)
        yield from zip(np.tile(picks, (1, repeats)), noise, strict=True)


def _add_noise(noise: Array, asked: NDArray[np.bool_], source: Noise, repeats: int) -> None:
    """Put one owner's next draws where it is asked; ``asked`` (rounds, distinct runs), ``noise`` (rounds, runs, p)."""
    n_draws = asked.shape[1]
    for run, stream in enumerate(source.sources):
        rounds = np.flatnonzero(asked[:, run])
        unit = source.mechanism.draw(1.0, (len(rounds), source.width), rng=stream)
        for copy in range(repeats):
            noise[rounds, run + copy * n_draws] = unit * source.scale[run + copy * n_draws]


def _held(task: Task) -> LinearRecords | list[Single]:
    """Every owner's records: one stack of lines where all are lines of one loss, so that a round is one gather."""
    records = [owner.records for owner in task.owners]
    single = [one for one in records if _answers_singly(one)]
    if len(single) < len(records):
        raise ValueError(
            "SGD1 uses one record at a time: records kept as sums cannot answer; keep them as LinearRecords"
        )
    lines = [one for one in records if isinstance(one, LinearRecords)]
    if len(lines) == len(records) and all(one.loss is lines[0].loss for one in lines):
        return LinearRecords(lines[0].loss, np.concatenate([one.lines for one in lines]))
    return single


def _answers_singly(records: GradientOracle) -> TypeGuard[Single]:
    return hasattr(records, "record_gradient")


def _gradients(held: LinearRecords | list[Single], phi: Array, owner: Rows, rows: Rows, picks: Rows) -> Array:
    """Gradient of the record picked in each run, (runs, p)."""
    if isinstance(held, LinearRecords):
        return held.record_gradient(phi, picks)
    gradient = np.empty(phi.shape)
    for number, records in enumerate(held):
        asked = owner == number
        if asked.any():
            gradient[asked] = records.record_gradient(phi[asked], rows[asked])
    return gradient
