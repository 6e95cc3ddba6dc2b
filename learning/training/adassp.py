"""One-shot training under squared loss: every owner releases noisy statistics once.

An owner's clipped records enter squared loss through sum xx' and sum xu alone (|x|_2 <= B, |u| <=
Y, in the public coordinates). Both leave the owner in one noisy query: the vector (sum xx', c sum
xu), in which the factor c shares the noise between the parts. One query needs less noise than two
with a split budget, because no pair of records is worst for both parts: sum xx' moves furthest, by
sqrt(2) B^2, between orthogonal records, and sum xu moves furthest, by 2BY, between opposite ones.
The learner adds up the releases and solves for phi with AdaSSP's damping, which pulls towards phi =
0, the public model. The damping is read off the noisy matrix itself, so that no budget is spent on
a smallest eigenvalue.

`OneStep` releases second moments and clipped scores, and takes a Newton step from the public model.
The step is phi = M^-1 g from phi = 0, with M = mean xx' and g = mean ux over all records, u = y -
centre'x; without noise or clipping it ends at the minimum of squared loss. Each record is clipped
to |x| <= R and |u x| <= h, so its replacement moves the moments by at most sqrt(2) R^2 and the
scores by at most 2 h (`learning.losses.clipping`). These bounds are smaller than those of other
trainings: gradients need a bound that holds anywhere in a ball, R (Y + theta_max R), and AdaSSP has
h = RY, but hardly any record is both long and badly predicted. Again no pair of records is worst
for both parts: orthogonal ones move moments by sqrt(2) R^2 and scores by sqrt(2) h, opposite ones
move scores by 2 h and moments by R^2. Both parts together cost hardly more than the scores alone
(`learning.losses.clipping.noise_stretch`). Under pure DP, the noise on moments is least where it
suits matrices that one record moves by rank one (`learning.privacy.wishart`).

To first order the step errs by M^-1 (e - E phi*), with noise e on the scores and E on the moments.
The mean excess of that is v^2 tr G + s^2/2 (|phi*|^2 tr G + phi*'G phi*), with deviations v of e
and s of E (diagonal), G = M^-1 A M^-1, and A the moments of records before clipping. The learner
chooses R, h and the share of the noise by this excess and the effect of clipping on public rows
(`learning.forecast.one_step`). Moments are always released, since those of the public rows alone
err by more than all noise: at epsilon = 1, delta = 1e-6 and the best bounds, relative fitness is
0.0055 in place of 0.0023 on the insurers with 150 public rows, and 0.00009 in place of 0.000026 on
the banks with 1,000. Averaging released and public moments by their precision, or a ridge, gains
3 % on some shuffles of the rows and loses as much on others. AdaSSP's damping doubles the error
here, because it lets noise through only once in twenty times; `solve_newton_step` corrects the mean
effect of noise on the moments.

Under a loss of labels the same release gives a Newton step of the training cost: records enter as
`learning.losses.clipping.Slopes.working_records`, so that sum xx' is half the Hessian at the public
model and sum xu minus half the gradient. What remains of the error without noise is then of the
order of the squared distance of the start.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.losses.coordinates import Coordinates
from learning.losses.statistics import SquaredStatistics
from learning.privacy.mechanism import Mechanism
from learning.randomness import Streams
from learning.training.algorithms import Algorithm
from learning.training.client import Client
from learning.training.task import Task, Trajectory

FAILURE = 0.05  # probability that the noise is wider than the damping allows for
FLAT = 1e-12  # directions with less than this share of the largest curvature have none
KEPT = 2**15  # numbers of the noise of an owner's runs that are kept for other budgets
NUMBERS_HELD = 4_000_000  # in the released matrices of the runs that are solved at once


@dataclass(frozen=True)
class NoisyStatistics:
    """Noisy sums that one owner releases, and the deviations of their noise, a row for each run.

    Parameters
    ----------
    xx : array (runs, p, p), symmetric, sum xx' with noise.
    xu : array (runs, p), sum xu with noise.
    matrix_deviation : array (runs,), of the noise on a diagonal entry of xx; off it is smaller by
        sqrt(2).
    vector_deviation : array (runs,), of the noise on an entry of xu.
    """

    xx: Array = field(repr=False)
    xu: Array = field(repr=False)
    matrix_deviation: Array
    vector_deviation: Array


def release_sensitivity(radius: float, target_bound: float, factor: float) -> float:
    """Sensitivity of (sum xx', c sum xu) in 2-norm (Frobenius for the matrix).

    Delta = (2 + k) B^2/sqrt(2) for k = (c Y/B)^2 <= 2, and 2 c B Y beyond.

    Proof. Let records (x, u) and (z, v) have lengths r, t <= B and x'z = r t a. The squared
    distance is r^4 + t^4 - 2 r^2 t^2 a^2 + c^2 |u x - v z|^2. It is convex in (u, v), hence largest
    at |u| = |v| = Y with u v a <= 0, where the last term is c^2 Y^2 (r^2 + t^2 + 2 r t |a|). With K
    = c^2 Y^2, the best |a| is min(1, K/(2 r t)). Where that is below 1 the value is r^4 + t^4 + K
    (r^2 + t^2) + K^2/2; where it is 1, (r^2 - t^2)^2 + K (r + t)^2, of slope (r + t)(4 r (r - t) +
    2 K) >= 4 r^2 (r + t) in r, as K >= 2 r t. Both grow in r and in t, so r = t = B is worst: 2 B^4
    + 2 K B^2 + K^2/2 = (2 B^2 + K)^2/2, or 4 K B^2. With c = 0 this is sqrt(2) B^2 for the matrix
    alone, and sum xu alone moves by at most 2BY. For p = 1 it is an upper bound.

    Parameters
    ----------
    radius : the bound B on a record's norm, above 0.
    target_bound : the bound Y on a target, above 0.
    factor : the factor c on the target in the release, at least 0.

    Source: ours; the parts alone: Wang, Revisiting DP Linear Regression, Algorithm 2 (another
        adjacency there).

    >>> round(release_sensitivity(1.0, 1.0, 0.0) ** 2, 12)
    2.0
    >>> round(release_sensitivity(1.0, 1.0, 2**0.5) ** 2, 12)
    8.0
    """
    share = (factor * target_bound / radius) ** 2
    if share <= 2:
        return float(radius**2 * ((2 + share) / np.sqrt(2)))
    return float(radius**2 * (2 * np.sqrt(share)))


def balance_factor(coordinates: Coordinates) -> float:
    """Factor c on sum xu that minimises the error of the solution, from public bounds.

    To first order the solution errs by A^-1 (e - E phi*), with noise e on sum xu, of deviation w =
    Delta/(c m), and E on sum xx', of deviation s = Delta/m. E phi has mean square s^2 |phi|^2 (p +
    1)/(2p) in a coordinate, so Delta^2 (1/c^2 + h) is minimised, with h = theta_max^2 (p + 1)/(2p),
    theta_max the public bound on |phi*|. In k = (c Y/B)^2 that is (2 + k)^2 (1/k + h B^2/Y^2),
    smallest at the root of 2 h (B/Y)^2 k^2 + k - 2 = 0. As theta_max falls to 0, k rises to 2: sum
    xu then has the noise it would have alone, and sum xx' is free.
    """
    width = len(coordinates.centre)
    aspect = coordinates.radius / coordinates.target_bound
    tilt = coordinates.theta_max**2 * (width + 1) / (2 * width) * aspect**2
    share = 4 / (1 + np.sqrt(1 + 16 * tilt))
    return float(np.sqrt(share) * coordinates.radius / coordinates.target_bound)


def release_deviations(
    coordinates: Coordinates, scale: ArrayLike, n_records: ArrayLike, widened: float = 1.0
) -> tuple[Array, Array]:
    """Deviations of noise on sum xx' (diagonal) and sum xu that cost as much as one mean gradient.

    The privacy loss depends on the sensitivity in units of the noise's deviation: m = 2 G/(n s) for
    a mean gradient with deviation s. Noise of the same law and deviation Delta/m on (sum xx', c sum
    xu) costs as much, or k Delta/m where k rows of a person are replaced together. The noise on
    scores (`learning.losses.clipping`) is that on a mean gradient, n s/2, widened for the moments
    that are released with them.

    Parameters
    ----------
    coordinates : the public bounds.
    scale : array (...), the deviation s of the noise.
    n_records : the number n of records, or an array (...) of them.
    widened : factor on the noise of scores for the moments: `Mechanism.beside_moments`.

    Returns
    -------
    (matrix, vector) : arrays (...), both 0 where s is 0.

    Raises
    ------
    ValueError
        If noise is asked for and a bound is missing or zero, or the noise is infinite or negative.
    """
    scale = np.asarray(scale, dtype=float)
    n_records = np.asarray(n_records, dtype=float)
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
        raise ValueError(
            f"a noisy release needs finite positive bounds on records and gradients, got {bounds}"
        )
    radius, target_bound, gradient_bound = bounds
    factor = balance_factor(coordinates)
    moved = coordinates.rows_per_person * release_sensitivity(radius, target_bound, factor)
    matrix = moved * n_records * scale / (2 * gradient_bound)
    return matrix, matrix / factor


def release_statistics(task: Task, owner: Client, runs: Sequence[int]) -> NoisyStatistics:
    """Release one owner's statistics in the given runs.

    The matrix is released in coordinates that keep its Frobenius norm (the diagonal, and sqrt(2)
    times the upper triangle), so the noise on it is symmetric, with entries off the diagonal
    smaller by sqrt(2).

    Raises
    ------
    ValueError
        If the mechanism or the coordinates are not in 2-norm, or the records are not sums.
    """
    records = owner.records
    coordinates = task.coordinates
    if task.mechanism.norm != 2 or coordinates.norm != 2:
        raise ValueError(
            "a one-shot release is defined for noise that goes by 2-norm, "
            "with records clipped in it"
        )
    if not isinstance(records, SquaredStatistics):
        raise ValueError(
            f"{owner.name}: a one-shot release needs sums over the records, SquaredStatistics"
        )
    scale = np.broadcast_to(np.asarray(owner.scale, dtype=float), (task.runs,))[list(runs)]
    scale = scale * np.sqrt(task.mechanism.unit_variance)
    widened = 1.0
    if coordinates.scores is not None:
        widened = task.mechanism.beside_moments(coordinates.scores.share)
    matrix, vector = release_deviations(coordinates, scale, records.n_records, widened)
    xx = np.tile(records.xx, (len(runs), 1, 1))
    xu = np.tile(records.xy, (len(runs), 1))
    if not owner.silent:
        on_vector, on_matrix = draw_release_noise(task, owner, runs)
        added = owner.conduct.noise  # the stated deviations are those of the noise sold
        xx = xx + added * matrix[:, None, None] * on_matrix
        xu = xu + added * vector[:, None] * on_vector
    return NoisyStatistics(xx, xu, matrix, vector)


def release_pilot(task: Task, owner: Client, runs: Sequence[int], share: float) -> NoisyStatistics:
    """Release one owner's statistics first at a share of its budget.

    They are those of `release_statistics` with further noise, and their law is that of the share.
    So they cost the share of the budget, and both releases together what the later one costs alone.

    Parameters
    ----------
    share : part of epsilon, in (0, 1).
    """
    later = release_statistics(task, owner, runs)
    if owner.silent:
        return later
    assert owner.epsilon is not None
    mechanism = task.mechanism
    sizes = owner.records.n_records
    bound = task.coordinates.gradient_bound
    asked = np.array([owner.epsilon, share * owner.epsilon])
    variance = mechanism.variance(asked, sizes, bound, 1)
    factor = float(np.sqrt(variance[1] / variance[0]))
    rngs = task.streams.rngs(owner.name, "pilot", count=max(runs) + 1)
    on_vector, on_matrix = draw_unit_noise(mechanism, task.width, [rngs[i] for i in runs], factor)
    return NoisyStatistics(
        later.xx + later.matrix_deviation[:, None, None] * on_matrix,
        later.xu + later.vector_deviation[:, None] * on_vector,
        factor * later.matrix_deviation,
        factor * later.vector_deviation,
    )


def draw_release_noise(task: Task, owner: Client, runs: Sequence[int]) -> tuple[Array, Array]:
    """Draw unit noise on sum xu, (runs, p), and on sum xx', (runs, p, p) and symmetric."""
    numbers = np.asarray(runs) % task.draws
    distinct, again = np.unique(numbers, return_inverse=True)
    asked = (task.mechanism, task.width, task.streams, owner.name, tuple(distinct.tolist()))
    few = len(distinct) * task.width**2 <= KEPT
    draw = _kept_unit_noise if few else _kept_unit_noise.__wrapped__
    on_vector, on_matrix = draw(*asked)
    return on_vector[again], on_matrix[again]


@lru_cache(maxsize=1024)
def _kept_unit_noise(
    mechanism: Mechanism, width: int, streams: Streams, name: str, numbers: tuple[int, ...]
) -> tuple[Array, Array]:
    """Draw the unit noise of an owner's runs; a forecast trains with it at many budgets."""
    rngs = streams.rngs(name, "statistics", count=max(numbers, default=0) + 1)
    return draw_unit_noise(mechanism, width, [rngs[i] for i in numbers])


def draw_unit_noise(
    mechanism: Mechanism,
    width: int,
    rngs: Sequence[np.random.Generator],
    factor: float | None = None,
) -> tuple[Array, Array]:
    """Draw unit noise on sum xu, (k, p), and on sum xx', (k, p, p) symmetric, one from each rng.

    With a factor, draw what makes such noise that many times as wide.
    """
    rows, columns = np.triu_indices(width, 1)
    count = (width, width + len(rows))  # for sum xu, and for diagonal and upper triangle of sum xx'
    draw = mechanism.draw_release
    if factor is not None:
        draw = partial(mechanism.draw_further, factor)
    draws = np.stack([draw(count, rng=rng) for rng in rngs])
    diagonal = np.arange(width)
    symmetric = np.zeros((len(rngs), width, width))
    symmetric[:, rows, columns] = draws[:, 2 * width :] / np.sqrt(2)
    symmetric[:, columns, rows] = symmetric[:, rows, columns]
    symmetric[:, diagonal, diagonal] = draws[:, width : 2 * width]
    return draws[:, :width], symmetric


def adaptive_damping(smallest: ArrayLike, deviation: ArrayLike, width: int) -> Array:
    """AdaSSP's damping: max(0, R - L), R above the noise and L below the smallest eigenvalue.

    R = s (sqrt(2p) + sqrt(2 ln 1/FAILURE)) exceeds each extreme eigenvalue of the noise with
    probability 1 - FAILURE, and L = max(0, smallest - R). Well-curved problems (smallest >= 2R) are
    not damped at all.

    Parameters
    ----------
    smallest : array (...), smallest eigenvalue of the noisy matrix.
    deviation : array (...), s, of its noise (diagonal).
    width : p.

    Source: Wang, Revisiting DP Linear Regression, Algorithm 2. There R = s sqrt(p ln(2
        p^2/FAILURE)) for independent entries above the diagonal; ours is for symmetric noise, with
        mean of the largest eigenvalue at most s sqrt(2p) and Gaussian concentration around it, and
        is sharper. For l2 noise, Gaussian given its length, s counts as
        `Mechanism.deviation_quantile` times its deviation. L is released with a third of the budget
        there, and read off the noisy matrix here.
    """
    tail = np.sqrt(2 * width) + np.sqrt(2 * np.log(1 / FAILURE))
    reach = np.asarray(deviation, dtype=float) * tail
    return np.maximum(0.0, reach - np.maximum(0.0, np.asarray(smallest, dtype=float) - reach))


def solve_damped(matrix: Array, vector: Array, deviation: Array) -> Array:
    """Solve (matrix + damping) phi = vector, with the least norm where there is no curvature.

    Negative eigenvalues, which only noise can make, are set to 0 before damping.

    Parameters
    ----------
    matrix : array (runs, p, p), symmetric.
    vector : array (runs, p).
    deviation : array (runs,), of the matrix's noise.
    """
    values, basis = np.linalg.eigh(matrix)
    damping = adaptive_damping(values[:, 0], deviation, values.shape[1])
    curved = np.maximum(values, 0.0) + damping[:, None]
    return _solve_spectral(curved, basis, vector, curved <= FLAT * curved[:, -1:])


def solve_newton_step(matrix: Array, vector: Array, deviation: Array) -> Array:
    """Solve (matrix + C) phi = vector, with a correction C for noise on the matrix.

    Symmetric noise E of deviation s on the diagonal, s/sqrt(2) off it, has E[E B E] = s^2/2 (tr(B)
    I + B) =: D at B = M^-1. As (M + E)^-1 = B - B E B + B E B E B - ..., the step from M + E is too
    long by B D phi on average, and D added to the matrix corrects that. The remaining error, B E
    phi, has either sign, and a step that is shorter by another B D phi has the least mean square:
    so C = 2 D. B is the inverse of the noisy matrix, whose eigenvalues are raised to the edge of
    the noise's own, s sqrt(2p). The solution has the least norm where there is no curvature.

    Parameters
    ----------
    matrix : array (runs, p, p), symmetric.
    vector : array (runs, p).
    deviation : array (runs,), s.

    >>> matrix = np.diag([2.0, 1.0, 0.0])[None]
    >>> solve_newton_step(matrix, np.array([[2.0, 3.0, 0.5]]), np.zeros(1)).tolist()
    [[1.0, 3.0, 0.0]]
    """
    values, basis, flat = hold_spectrum(matrix, deviation)
    return _solve_spectral(values, basis, vector, flat)


def hold_spectrum(matrix: Array, deviation: Array) -> tuple[Array, Array, Array]:
    """Spectrum of matrix + C of `solve_newton_step`, with a mask of the flat directions.

    Returns
    -------
    (values, basis, flat) : arrays (runs, p), (runs, p, p) by column, and (runs, p).
    """
    values, basis = np.linalg.eigh(matrix)
    values = np.maximum(values, deviation[:, None] * np.sqrt(2 * values.shape[1]))
    flat = values <= FLAT * values[:, -1:]
    inverse = np.where(flat, 0.0, 1 / np.where(flat, 1.0, values))
    held = values + deviation[:, None] ** 2 * (inverse.sum(axis=1, keepdims=True) + inverse)
    return held, basis, flat


def invert_held(matrix: Array, deviation: Array, period: int | None = None) -> Array:
    """Inverse of matrix + C of `solve_newton_step`, (runs, p, p); 0 in flat directions.

    Where runs repeat after ``period`` of them, each is inverted once.
    """
    runs = len(matrix)
    if period and runs > period and _repeat_after(period, matrix, deviation):
        return np.tile(invert_held(matrix[:period], deviation[:period]), (runs // period, 1, 1))
    values, basis, flat = hold_spectrum(matrix, deviation)
    inverse = np.where(flat, 0.0, 1 / np.where(flat, 1.0, values))
    return (basis * inverse[:, None, :]) @ basis.swapaxes(1, 2)


def _repeat_after(period: int, *arrays: Array) -> bool:
    """Test whether arrays (runs, ...) are the same again and again after so many runs."""
    return all(
        len(one) % period == 0 and np.array_equal(one[period:], one[:-period]) for one in arrays
    )


def _solve_spectral(values: Array, basis: Array, vector: Array, flat: Array) -> Array:
    """Solve systems with eigenvalues (runs, p) and eigenvectors; 0 in flat directions."""
    turned = np.einsum("rij,ri->rj", basis, vector)
    return np.einsum("rij,rj->ri", basis, np.where(flat, 0.0, turned / np.where(flat, 1.0, values)))


class AdaSSP(Algorithm):
    """One noisy release of every owner's sums, solved for the model.

    Source: Wang, Revisiting DP Linear Regression, Algorithm 2.
    """

    name = "adassp"
    participation = "release"
    compared = True
    rounds = (1, 1)
    step_lengths = np.ones(1)
    trial_horizons = coarse_horizons = (1,)
    says = (
        "every owner answers once, with noisy sums over its records that the learner solves for "
        "the model (adassp)"
    )
    counts = "answer"
    falls_short = ("the solution is held back as far as noise may mislead it",)

    def queries(self, horizon: int) -> int:
        """Return 1 for any horizon."""
        return 1

    def answer_width(self, n_parameters: int) -> int:
        """p for sum xu, and p (p + 1)/2 for diagonal and upper triangle of sum xx'."""
        return n_parameters * (n_parameters + 3) // 2

    def run(self, task: Task) -> Trajectory:
        """Solve phi = Pi[(sum q_l A_l/n_l + penalty/2 + damping)^-1 (sum q_l b_l/n_l + pull/2)].

        A_l and b_l are the owners' noisy sums; with weights q_l = n_l/n the sums of all owners add
        up. The penalty of g_1 is the learner's own and counts as curvature before damping. The
        final projection onto the public ball has no privacy cost, moves little when the noise is
        small, and keeps solutions that noise has spoilt inside the ball.

        Source: Wang, Revisiting DP Linear Regression, Algorithm 2; one owner and no public model
            there.
        """
        block = max(1, NUMBERS_HELD // task.width**2)
        runs = range(task.runs)
        parts = [runs[first : first + block] for first in runs[::block]]
        free = np.concatenate(
            [self.solve_release(task, *_pool_releases(task, part)) for part in parts]
        )
        phi = task.coordinates.project(free)
        path = np.stack([np.zeros(task.width), phi[0]])
        task.watch(1, phi, phi)
        return Trajectory(phi, phi, path, int((phi != free).sum()) / phi.size)

    def solve_release(self, task: Task, matrix: Array, vector: Array, deviation: Array) -> Array:
        """Solve for phi before projection, (runs, p); parameters as in `solve_damped`."""
        return solve_damped(matrix, vector, task.mechanism.deviation_quantile(FAILURE) * deviation)


class OneStep(AdaSSP):
    """One release of every owner's second moments and score, and the Newton step that they give.

    Source: ours; release of noisy moments, and damping: Wang, Revisiting DP Linear Regression;
        efficiency of one step from a good start: Le Cam.
    """

    name = "one_step"
    scores = True
    sums_suffice = True
    says = (
        "every owner answers once, with noisy second moments and a noisy score at the starting "
        "model, from which the learner takes one Newton step (one_step)"
    )

    def solve_release(self, task: Task, matrix: Array, vector: Array, deviation: Array) -> Array:
        """Solve for the Newton step."""
        return solve_newton_step(matrix, vector, deviation)

    def answer_width(self, n_parameters: int) -> int:
        """p, of the score; second moments have noise of their own."""
        return n_parameters


def _pool_releases(task: Task, runs: Sequence[int]) -> tuple[Array, Array, Array]:
    """Pool the releases of given runs: matrix, vector, and deviation of the matrix's noise."""
    penalty, pull = task.coordinates.penalty(task.regularisation)
    matrix = np.tile(penalty / 2, (len(runs), 1, 1))
    vector = np.tile(pull / 2, (len(runs), 1))
    variance = np.zeros(len(runs))
    for weight, owner in zip(task.shares, task.owners, strict=True):
        sums = release_statistics(task, owner, runs)
        share = weight / owner.records.n_records
        matrix += share * sums.xx
        vector += share * sums.xu
        variance += (share * sums.matrix_deviation) ** 2
    return matrix, vector, np.sqrt(variance)
