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
(`learning.losses.moment_bounds.noise_stretch`). Under pure DP, the noise on moments is least where
it suits matrices that one record moves by rank one (`learning.privacy.wishart`).

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
`learning.losses.loss.Loss.working_records`, so that sum xx' is half the Hessian at the public
model and sum xu minus half the gradient. What remains of the error without noise is then of the
order of the squared distance of the start.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from learning.arrays import Array
from learning.losses.records import GradientOracle
from learning.losses.statistics import SquaredStatistics, target_blocks
from learning.privacy.mechanism import Mechanism
from learning.training.algorithms import Algorithm
from learning.training.noisy_solving import FAILURE, solve_damped, solve_newton_step
from learning.training.noisy_statistics import release_statistics
from learning.training.task import Task, Trajectory

NUMBERS_HELD = 4_000_000  # in the released matrices of the runs that are solved at once


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
            [self.solve_release(task.mechanism, *_pool_releases(task, part)) for part in parts]
        )
        phi = task.coordinates.project(free)
        path = np.stack([np.zeros(task.width), phi[0]])
        task.watch(1, phi, phi)
        return Trajectory(phi, phi, path, int((phi != free).sum()) / phi.size)

    def solve_release(
        self, mechanism: Mechanism, matrix: Array, vector: Array, deviation: Array
    ) -> Array:
        """Solve for phi before projection, (runs, p); parameters as in `solve_damped`."""
        return solve_damped(matrix, vector, mechanism.deviation_quantile(FAILURE) * deviation)


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

    def solve_release(
        self, mechanism: Mechanism, matrix: Array, vector: Array, deviation: Array
    ) -> Array:
        """Solve for the Newton step."""
        return solve_newton_step(matrix, vector, deviation)

    def answer_width(self, n_parameters: int) -> int:
        """p, of the score; second moments have noise of their own."""
        return n_parameters


def _pool_releases(task: Task, runs: Sequence[int]) -> tuple[Array, Array, Array]:
    """Pool the releases of given runs: matrix, vector, and deviation of the matrix's noise.

    The matrix is that of one target.
    """
    penalty, pull = task.coordinates.penalty(task.regularisation)
    penalty = target_blocks(penalty, task.coordinates.targets)[0]
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


def pool_in_parts(task: Task) -> tuple[tuple[Array, Array], tuple[Array, Array, Array]]:
    """Pool the releases of a task in two parts: exact sums, and noise as wide as owners' scales.

    Returns
    -------
    (exact, noise) : matrix (p, p) and vector (p,); matrix (runs, p, p), vector (runs, p), and the
        deviation of the matrix's noise (runs,), which add to them.
    """
    silent = [replace(owner, scale=0.0) for owner in task.owners]
    matrix, vector, _ = _pool_releases(replace(task, owners=silent), range(1))
    empty = [replace(owner, records=_empty(owner.records)) for owner in task.owners]
    alone = replace(task, owners=empty, regularisation=0.0)
    return (matrix[0], vector[0]), _pool_releases(alone, range(task.runs))


def _empty(records: GradientOracle) -> SquaredStatistics:
    """As many records that are all 0."""
    assert isinstance(records, SquaredStatistics)
    return SquaredStatistics(records.n_records, 0 * records.xx, 0 * records.xy, 0.0)
