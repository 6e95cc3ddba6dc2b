"""Newton's steps along clipped gradients, with second moments in each owner's first answer.

Steps along gradients need the curvature of the owners' records. Public rows tell it as well as
their number allows: what one step leaves of the distance to the best model is of the order of
sqrt(p/n_public), and each further round costs a part of the budget. So each owner's first answer
holds noisy second moments besides its clipped gradient. The step that follows leaves so little that
a second gradient, with nearly all of the budget, ends at the best model.

The moments multiply what is left of the distance, and no more than a rough estimate is needed.
`OneStep` has one answer only, and needs moments as precise as its score.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from learning.arrays import Array
from learning.losses.clipping import RECORD, ClippedBy
from learning.losses.slopes import Slopes
from learning.training.algorithms import Algorithm
from learning.training.client import Client
from learning.training.descent import GrowthCheck, Walk, iterate_noise, noise_in_gradients
from learning.training.noisy_solving import invert_held
from learning.training.noisy_statistics import draw_release_noise
from learning.training.task import Task, Trajectory

GROWTH = 5.0  # of the second answer's share of a budget over the first


class Newton(Algorithm):
    """Two steps c, in the metric of second moments that owners release with the first answer.

    Source: ours; public curvature in place of released one: Ganesh et al., Faster Differentially
        Private Convex Optimization via Second-Order Methods.
    """

    name = "newton"
    compared = True
    sums_answers = True
    shares_may_grow = True
    moments = True
    growth = GROWTH
    decline = 0
    rounds = (2, 2)
    trial_horizons = coarse_horizons = (2,)
    noise_norm = 2
    clippings: tuple[ClippedBy, ...] = (RECORD,)
    says = (
        "every owner answers twice, the first time with noisy second moments, too, which tell the "
        "learner how far to step (newton)"
    )

    def trains(self, loss: Slopes) -> bool:
        """Test whether second moments are the curvature: under squared loss."""
        return loss.quadratic

    def run(self, task: Task) -> Trajectory:
        """Iterate theta[k+1] = Pi[theta[k] - c A^-1 (grad g_1 + sum_l q_l answer_l(theta[k]))].

        A are the moments of `pool_moments`.
        """
        inverse = invert_held(*pool_moments(task), task.draws)
        walk = Walk(task, check=GrowthCheck(noise_in_gradients(task)) if task.stops else None)
        sources = [iterate_noise(task, noise, len(task.owners)) for noise in task.noises()]
        for noises in zip(*sources, strict=True):
            answers = [
                weight * owner.answer(walk.phi, noise)
                for weight, owner, noise in zip(task.shares, task.owners, noises, strict=True)
            ]
            gradient = task.own_gradient(walk.phi) + sum(answers)
            walk.move(np.einsum("rij,rj->ri", inverse, gradient))
        return walk.trajectory()


def release_moments(task: Task, owner: Client) -> tuple[Array, Array]:
    """Release one owner's mean second moments: (runs, p, p), and the deviation of the noise.

    The deviation, (runs,), is that on the diagonal, R^2/(c t) times that on the half of its first
    gradient; off the diagonal it is smaller by sqrt(2).
    """
    coordinates = task.coordinates
    moments = coordinates.moments
    if moments is None:
        raise ValueError(f"{owner.name}: second moments have no bound")
    scale = np.broadcast_to(np.asarray(owner.scale, dtype=float), (task.runs,))
    half = scale * float(task.relative_scales[0]) * np.sqrt(task.mechanism.unit_variance) / 2
    deviation = moments.radius**2 / (coordinates.radius * moments.share) * half
    records: Any = owner.records
    released = np.tile(records.second_moments(moments.radius), (task.runs, 1, 1))
    if not owner.silent:
        on_matrix = draw_release_noise(task, owner, range(task.runs))[1]
        released += owner.conduct.noise * deviation[:, None, None] * on_matrix
    return released, deviation


def pool_moments(task: Task) -> tuple[Array, Array]:
    """Mean second moments of all owners, averaged with the learner's own, and their deviation.

    In the coordinates of training the learner's own moments are the identity, known as precisely as
    `Moments.spread` says.
    """
    assert task.coordinates.moments is not None
    penalty, _ = task.coordinates.penalty(task.regularisation)
    found = np.zeros((task.runs, task.width, task.width))
    variance = np.zeros(task.runs)
    for weight, owner in zip(task.shares, task.owners, strict=True):
        released, deviation = release_moments(task, owner)
        found += weight * released
        variance += (weight * deviation) ** 2
    own = variance / (variance + task.coordinates.moments.spread**2)
    found *= (1 - own)[:, None, None]
    found += own[:, None, None] * np.eye(task.width) + penalty / 2
    return found, (1 - own) * np.sqrt(variance)
