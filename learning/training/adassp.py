"""One-shot training under squared loss: every owner releases its noisy sufficient statistics once, the learner solves.

An owner's clipped records enter squared loss through sum xx' and sum xu alone (|x|_2 <= B, |u| <= Y, in the public
coordinates). Both leave the owner in one noisy query: the vector (sum xx', c sum xu), in which the factor c shares the
noise between the parts. One query needs less noise than two with a split budget, because no pair of records is worst
for both parts: sum xx' moves furthest, by sqrt(2) B^2, between orthogonal records, sum xu, by 2BY, between opposite ones
(`sensitivity`). The learner adds up the releases and solves for phi with AdaSSP's damping. Damping pulls towards
phi = 0, which is the public model. How much damping is needed is read off the noisy matrix itself, so that no budget
goes into a smallest eigenvalue.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.losses.coordinates import PARTS, Coordinates
from learning.losses.squared import SquaredStatistics
from learning.training.algorithm import Algorithm
from learning.training.client import Client
from learning.training.task import Task, Trajectory

FAILURE = 0.05  # chance that the noise is wider than the damping allows for
FLAT = 1e-12  # directions with less than this share of the largest curvature have none
NUMBERS_HELD = 4_000_000  # of released matrices: how many runs are solved at once


@dataclass(frozen=True)
class Released:
    """What the learner receives of one owner: noisy sums, and how noisy they are; one row per run.

    Parameters
    ----------
    xx : array (runs, p, p), symmetric, sum xx' with noise.
    xu : array (runs, p), sum xu with noise.
    matrix_deviation : array (runs,), of the noise on a diagonal entry of xx; off it is smaller by sqrt(2).
    vector_deviation : array (runs,), of the noise on an entry of xu.
    """

    xx: Array = field(repr=False)
    xu: Array = field(repr=False)
    matrix_deviation: Array
    vector_deviation: Array


def sensitivity(radius: float, target_bound: float, factor: float) -> float:
    """Furthest that (sum xx', c sum xu) moves, in 2-norm (Frobenius for the matrix), when one record is replaced.

    Delta = (2 + k) B^2/sqrt(2) for k = (c Y/B)^2 <= 2, and 2 c B Y beyond.

    Proof. Let records (x, u) and (z, v) have lengths r, t <= B and x'z = r t a. The squared distance is
    r^4 + t^4 - 2 r^2 t^2 a^2 + c^2 |u x - v z|^2. It is convex in (u, v), hence largest at |u| = |v| = Y with
    u v a <= 0, where the last term is c^2 Y^2 (r^2 + t^2 + 2 r t |a|). With K = c^2 Y^2, the best |a| is
    min(1, K/(2 r t)). Where that is below 1 the value is r^4 + t^4 + K (r^2 + t^2) + K^2/2; where it is 1,
    (r^2 - t^2)^2 + K (r + t)^2, of slope (r + t)(4 r (r - t) + 2 K) >= 4 r^2 (r + t) in r, as K >= 2 r t. Both grow in
    r and in t, so r = t = B is worst: 2 B^4 + 2 K B^2 + K^2/2 = (2 B^2 + K)^2/2, or 4 K B^2. With c = 0 this is
    sqrt(2) B^2 for the matrix alone, and 2BY is the furthest that sum xu alone moves. For p = 1 it is an upper bound.

    Parameters
    ----------
    radius : the bound B on a record's norm, above 0.
    target_bound : the bound Y on a target, above 0.
    factor : the factor c on the target in the release, at least 0.

    Source: ours; the parts alone: Wang, Revisiting DP Linear Regression, Algorithm 2 (another adjacency there).

    >>> round(sensitivity(1.0, 1.0, 0.0) ** 2, 12), round(sensitivity(1.0, 1.0, 2**0.5) ** 2, 12)
    (2.0, 8.0)
    """
    share = (factor * target_bound / radius) ** 2
    return float(radius**2 * ((2 + share) / np.sqrt(2) if share <= 2 else 2 * np.sqrt(share)))


def balance(coordinates: Coordinates) -> float:
    """Factor c on sum xu that makes the error of the solution smallest, from public bounds.

    To first order the solution errs by A^-1 (e - E phi*), with noise e on sum xu, of deviation w = Delta/(c m), and E on
    sum xx', of deviation s = Delta/m. E phi has mean square s^2 |phi|^2 (p + 1)/(2p) in a coordinate, so
    Delta^2 (1/c^2 + h) is minimised, with h = theta_max^2 (p + 1)/(2p), theta_max the public bound on |phi*|. In
    k = (c Y/B)^2 that is (2 + k)^2 (1/k + h B^2/Y^2), smallest at the root of 2 h (B/Y)^2 k^2 + k - 2 = 0. As
    theta_max falls to 0, k rises to 2: sum xu then has the noise it would have alone, and sum xx' comes for nothing.
    """
    width = len(coordinates.centre)
    tilt = coordinates.theta_max**2 * (width + 1) / (2 * width) * (coordinates.radius / coordinates.target_bound) ** 2
    share = 4 / (1 + np.sqrt(1 + 16 * tilt))
    return float(np.sqrt(share) * coordinates.radius / coordinates.target_bound)


def deviations(coordinates: Coordinates, scale: ArrayLike, n_records: int, widened: float = 1.0) -> tuple[Array, Array]:
    """Deviation of the noise on sum xx' (diagonal) and on sum xu that spends what one noisy mean gradient would.

    What noise spends hangs on how far replacing a record moves an answer, in units of its deviation: m = 2 G/(n s) for a
    mean gradient with deviation s. As much is spent by noise of the same law and deviation Delta/m on the vector
    (sum xx', c sum xu), and k Delta/m where k rows of a person are replaced together. Of second moments and scores
    (`learning.losses.scores`) the scores have the noise of a mean gradient, n s/2, widened for the moments beside them.

    Parameters
    ----------
    coordinates : the public bounds.
    scale : array (...), the deviation s of the noise.
    n_records : the number n of records.
    widened : how much wider noise on scores is for the moments beside them: `Mechanism.beside_moments`.

    Returns
    -------
    (matrix, vector) : arrays (...), both 0 where s is 0.

    Raises
    ------
    ValueError
        If noise is asked for and a bound is missing or zero, or the noise is infinite.
    """
    scale = np.asarray(scale, dtype=float)
    if not np.any(scale):
        return np.zeros_like(scale), np.zeros_like(scale)
    if not np.all(np.isfinite(scale) & (scale >= 0)):
        raise ValueError("a release needs noise that is finite and at least 0")
    scores = coordinates.scores
    if scores is not None:
        vector = n_records * scale / 2 * widened
        return coordinates.radius**2 / (2 * scores.bound * scores.share) * vector, vector
    bounds = (coordinates.radius, coordinates.target_bound, coordinates.gradient_bound)
    if not all(0 < bound < np.inf for bound in bounds):
        raise ValueError(f"a noisy release needs finite positive bounds on records and gradients, got {bounds}")
    factor = balance(coordinates)
    reach = sensitivity(coordinates.radius, coordinates.target_bound, factor)
    matrix = coordinates.rows_per_person * reach * n_records * scale / (2 * coordinates.gradient_bound)
    return matrix, matrix / factor


def released(task: Task, owner: Client, runs: Sequence[int]) -> Released:
    """What one owner releases in the given runs.

    The matrix is released in coordinates that keep its Frobenius norm (the diagonal, and sqrt(2) times the upper
    triangle), so the noise on it is symmetric, with entries off the diagonal smaller by sqrt(2).

    Raises
    ------
    ValueError
        If the mechanism or the coordinates do not go by 2-norm, or the records are not sums of squared loss.
    """
    records, width = owner.records, task.width
    if task.mechanism.norm != 2 or task.coordinates.norm != 2:
        raise ValueError("a one-shot release is defined for noise that goes by 2-norm, with records clipped in it")
    if not isinstance(records, SquaredStatistics):
        raise ValueError(f"{owner.name}: a one-shot release needs the sums of squared loss, SquaredStatistics")
    scale = np.broadcast_to(np.asarray(owner.scale, dtype=float), (task.runs,))[list(runs)]
    unit = np.sqrt(task.mechanism.unit_variance)
    widened = 1.0 if task.coordinates.scores is None else task.mechanism.beside_moments(task.coordinates.scores.share)
    matrix, vector = deviations(task.coordinates, scale * unit, records.n_records, widened)
    xx, xu = np.tile(records.xx, (len(runs), 1, 1)), np.tile(records.xy, (len(runs), 1))
    if owner.silent:
        return Released(xx, xu, matrix, vector)
    rows, columns = np.triu_indices(width, 1)
    count = width, width + len(rows)  # for sum xu; for the diagonal of sum xx', and for its upper triangle
    numbers = np.asarray(runs) % task.draws
    streams = task.streams.rngs(owner.name, "statistics", count=int(numbers.max(initial=0)) + 1)
    drawn = {i: task.mechanism.draw_release(count, rng=streams[i]) for i in sorted(set(numbers.tolist()))}
    draws = np.stack([drawn[i] for i in numbers.tolist()])
    symmetric = np.zeros_like(xx)
    symmetric[:, rows, columns] = symmetric[:, columns, rows] = draws[:, 2 * width :] / np.sqrt(2)
    symmetric[:, np.arange(width), np.arange(width)] = draws[:, width : 2 * width]
    added = owner.conduct.noise  # the learner reckons with what was sold
    xx, xu = xx + added * matrix[:, None, None] * symmetric, xu + added * vector[:, None] * draws[:, :width]
    return Released(xx, xu, matrix, vector)


def damping(smallest: ArrayLike, deviation: ArrayLike, width: int) -> Array:
    """AdaSSP's damping: max(0, R - L), with R above the noise and L a lower bound on the smallest eigenvalue.

    R = s (sqrt(2p) + sqrt(2 ln 1/FAILURE)) exceeds each extreme eigenvalue of the noise but with chance FAILURE, and
    L = max(0, smallest - R). Well-curved problems (smallest >= 2R) are not damped at all.

    Parameters
    ----------
    smallest : array (...), smallest eigenvalue of the noisy matrix.
    deviation : array (...), s, of its noise (diagonal).
    width : p.

    Source: Wang, Revisiting DP Linear Regression, Algorithm 2. There R = s sqrt(p ln(2 p^2/FAILURE)) for independent
    entries above the diagonal; ours is for symmetric noise, with mean of the largest eigenvalue at most s sqrt(2p)
    and Gaussian concentration around it, and is sharper; of noise that is Gaussian given how large it is, as l2 noise
    is, s counts as `Mechanism.swing` times its deviation. There L is released with a third of the budget; the noisy
    matrix already tells it.
    """
    reach = np.asarray(deviation, dtype=float) * (np.sqrt(2 * width) + np.sqrt(2 * np.log(1 / FAILURE)))
    return np.maximum(0.0, reach - np.maximum(0.0, np.asarray(smallest, dtype=float) - reach))


def solved(matrix: Array, vector: Array, deviation: Array) -> Array:
    """(matrix + damping)^-1 vector, of least norm where there is no curvature, with the matrix made semi-definite first.

    Noise may make eigenvalues negative, which the records' own cannot be; they are set to 0 before damping.

    Parameters
    ----------
    matrix : array (runs, p, p), symmetric.
    vector : array (runs, p).
    deviation : array (runs,), of the matrix's noise.
    """
    values, basis = np.linalg.eigh(matrix)
    curved = np.maximum(values, 0.0) + damping(values[:, 0], deviation, values.shape[1])[:, None]
    flat = curved <= FLAT * curved[:, -1:]
    turned = np.einsum("rij,ri->rj", basis, vector)
    return np.einsum("rij,rj->ri", basis, np.where(flat, 0.0, turned / np.where(flat, 1.0, curved)))


class AdaSSP(Algorithm):
    """One noisy release of every owner's sums, solved for the model.

    Source: Wang, Revisiting DP Linear Regression, Algorithm 2.
    """

    name = "adassp"
    compared = True
    takes_steps = False
    clippings = (PARTS,)
    weighs_owners = False
    noise_norm = 2
    rounds = (1, 1)
    step_lengths = np.ones(1)
    trial_horizons = coarse_horizons = (1,)
    says = "every owner answers once, with noisy sums over its records that the learner solves for the model (adassp)"
    counts = "answer"
    falls_short = ("the solution is held back as far as noise may mislead it",)

    def queries(self, horizon: int) -> int:
        """One, whatever the horizon."""
        return 1

    def answer_width(self, n_parameters: int) -> int:
        """p for sum xu, and p (p + 1)/2 for what sum xx' holds on its diagonal and above it."""
        return n_parameters * (n_parameters + 3) // 2

    def run(self, task: Task) -> Trajectory:
        """phi = Pi[(sum q_l A_l/n_l + penalty/2 + damping)^-1 (sum q_l b_l/n_l + pull/2)] of the owners' noisy sums A_l, b_l.

        With weights q_l = n_l/n the sums of all owners add up. The penalty of g_1 is the learner's own and counts as
        curvature before damping. The last step is the projection onto the public ball: it is free of privacy cost, moves
        little when the noise is small, and keeps a solution that noise has thrown off from leaving the ball.

        Source: Wang, Revisiting DP Linear Regression, Algorithm 2; one owner and no public model there.
        """
        block = max(1, NUMBERS_HELD // task.width**2)
        parts = [range(first, min(first + block, task.runs)) for first in range(0, task.runs, block)]
        free = np.concatenate([self.solution(task, *_pooled(task, part)) for part in parts])
        phi = task.coordinates.project(free)
        path = np.stack([np.zeros(task.width), phi[0]])
        task.watch(1, phi, phi)
        return Trajectory(phi, phi, path, int((phi != free).sum()) / phi.size)

    def solution(self, task: Task, matrix: Array, vector: Array, deviation: Array) -> Array:
        """Where the step leads before projection, (runs, p); parameters as in `solved`, the noise's own deviation."""
        return solved(matrix, vector, task.mechanism.swing(FAILURE) * deviation)


def _pooled(task: Task, runs: Sequence[int]) -> tuple[Array, Array, Array]:
    """The matrix and the vector of the given runs that are solved, and the deviation of the noise on the matrix."""
    penalty, pull = task.coordinates.penalty(task.regularisation)
    matrix = np.tile(penalty / 2, (len(runs), 1, 1))
    vector = np.tile(pull / 2, (len(runs), 1))
    variance = np.zeros(len(runs))
    for weight, owner in zip(task.shares, task.owners, strict=True):
        sums = released(task, owner, runs)
        share = weight / owner.records.n_records
        matrix += share * sums.xx
        vector += share * sums.xu
        variance += (share * sums.matrix_deviation) ** 2
    return matrix, vector, np.sqrt(variance)
