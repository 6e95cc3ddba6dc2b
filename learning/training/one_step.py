"""One Newton step from the public model, in one round: second moments and clipped scores, released once and together.

Squared loss is quadratic, so the step phi = M^-1 g from phi = 0, the public model, with M = mean xx' and g = mean ux over
all records, u = y - centre'x, ends at its minimum. Each owner releases both with noise. What is spent is what replacing one
record moves, once records are held to |x| <= R and |u x| <= h one by one: sqrt(2) R^2 at most in moments, 2 h in scores
 (`learning.losses.scores`). That is less than gradients need whose bound must hold anywhere in
a ball, R (Y + theta_max R), and less than AdaSSP's h = RY: no record is long, badly predicted and far out all at once. No
pair of records is worst for both parts: orthogonal ones move moments by sqrt(2) R^2 and scores by sqrt(2) h, opposite ones
scores by 2 h and moments by R^2. So both together cost hardly more than the scores (`learning.losses.scores.stretch`).

To first order the step errs by M^-1 (e - E phi*): noise e on the scores over the curvature, and noise E on the moments times
the step, which is short where the public model is good. The mean excess of that is, with deviations v of e and s of E
(diagonal), v^2 tr G + s^2/2 (|phi*|^2 tr G + phi*'G phi*), G = M^-1 A M^-1, A the moments of records as they are. It is
added to what shortened records miss, and the sum chooses R, h and the share of the noise on the public rows
(`learning.forecast.one_step_protocol`). The moments of the public rows alone do instead of released ones where rows are
many. With 150 public rows their error costs more than all noise (relative fitness 0.0055 in place of 0.0023 on the insurers
at epsilon = 1, delta = 1e-6; 0.00009 in place of 0.000026 on the banks with 1,000; at the best bounds), so moments are
always released.
Averaging them with the public ones by their precision, or a ridge that fits what the step may be, gains 3 % on some
shuffles of the rows and loses as much on others. AdaSSP's damping, which must not let noise through but once in twenty,
doubles the error here; what noise on the moments does on average is known, and made up for (`stepped`).
"""

from __future__ import annotations

import numpy as np

from learning.arrays import Array
from learning.training.adassp import FLAT, AdaSSP
from learning.training.task import Task


def stepped(matrix: Array, vector: Array, deviation: Array) -> Array:
    """(matrix + C)^-1 vector with C what noise on the matrix asks for; of least norm where there is no curvature.

    Symmetric noise E of deviation s on the diagonal, s/sqrt(2) off it, has E[E B E] = s^2/2 (tr(B) I + B) =: D at B = M^-1.
    As (M + E)^-1 = B - B E B + B E B E B - ..., the step from M + E is too long by B D phi on average, and D added to
    the matrix makes up for it. What E leaves beside that, B E phi, is as likely to either side, and a step shorter by B D
    phi once more has the least mean square: so C = 2 D, with B as the noisy matrix tells it, whose eigenvalues below the edge
    of the noise's own, s sqrt(2p), are raised to it.

    Parameters
    ----------
    matrix : array (runs, p, p), symmetric.
    vector : array (runs, p).
    deviation : array (runs,), s.

    >>> stepped(np.diag([2.0, 1.0, 0.0])[None], np.array([[2.0, 3.0, 0.5]]), np.zeros(1)).tolist()
    [[1.0, 3.0, 0.0]]
    """
    values, basis = np.linalg.eigh(matrix)
    values = np.maximum(values, deviation[:, None] * np.sqrt(2 * values.shape[1]))
    flat = values <= FLAT * values[:, -1:]
    inverse = np.where(flat, 0.0, 1 / np.where(flat, 1.0, values))
    held = values + deviation[:, None] ** 2 * (inverse.sum(axis=1, keepdims=True) + inverse)
    turned = np.einsum("rij,ri->rj", basis, vector)
    return np.einsum("rij,rj->ri", basis, np.where(flat, 0.0, turned / np.where(flat, 1.0, held)))


class OneStep(AdaSSP):
    """One release of every owner's second moments and score, and the Newton step that they tell.

    Source: ours; release of noisy moments, and damping: Wang, Revisiting DP Linear Regression (`AdaSSP`, of which this is
    the same step with another way of bounding what a record may do); one step from a good start does what many do: Le Cam.
    """

    name = "one_step"
    scores = True
    says = (
        "every owner answers once, with noisy second moments and a noisy score at the starting model, "
        "from which the learner takes one Newton step (one_step)"
    )

    def solution(self, task: Task, matrix: Array, vector: Array, deviation: Array) -> Array:
        """The step of `stepped`."""
        return stepped(matrix, vector, deviation)

    def answer_width(self, n_parameters: int) -> int:
        """p, of the score: the second moments beside it have noise of their own where the mechanism knows how."""
        return n_parameters
