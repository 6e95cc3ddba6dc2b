"""Descent in rounds that every owner answers: the synchronous and averaged algorithms and SGD2."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from learning.arrays import Array
from learning.training.algorithms import Algorithm
from learning.training.bounds import (
    BoundInputs,
    averaged_training_bound,
    step_as_printed,
    summed_steps_bound,
    synchronous_bound,
)
from learning.training.client import Noise
from learning.training.law import Returned, averaging_coefficients
from learning.training.task import Task, Trajectory

NUMBERS_HELD = 4_000_000  # numbers of noise, over all owners, that are drawn ahead
GROWN = 2.0  # times the first gradient: a longer one has grown,
CLEAR = 10.0  # where it is longer by so many deviations of the noise than noise usually is


class GrowthCheck:
    """Test, answer by answer, whether the gradients of a training grow.

    Under squared loss, and with steps that suit the curvature, the gradient without noise shrinks
    from step to step. Where the curvature of the owners' records is larger than the steps were
    planned for, it grows, and the steps lead away from the best model without limit. A gradient has
    grown where

        |a_k| > GROWN |a_1| + (sqrt(p) + CLEAR) (s_1 + s_k),

    a_k being the k-th and s_k the deviation of the noise on each of its p numbers. It is computed
    from the answers alone, and so at no further cost in privacy.

    Parameters
    ----------
    noise: array (queries,) or (queries, runs), the deviations s_k.

    Source: ours.

    >>> check = GrowthCheck(np.zeros(3))
    >>> lengths = [1.0, 1.9, 2.1]
    >>> [bool(check.has_grown(np.array([[length, 0.0]]))[0]) for length in lengths]
    [False, False, True]
    """

    def __init__(self, noise: Array) -> None:
        self.noise = noise
        self.seen = 0
        self.first: Array = np.zeros(0)

    def has_grown(self, gradient: Array) -> NDArray[np.bool_]:
        """Test the next gradient of each run, (runs, p) to (runs,)."""
        length = np.linalg.norm(gradient, axis=1)
        if self.seen == 0:
            self.first = length
        either = self.noise[0] + self.noise[self.seen]
        self.seen += 1
        clear = (np.sqrt(gradient.shape[1]) + CLEAR) * either
        return np.asarray(length > GROWN * self.first + clear)


class Walk:
    """Points phi of all runs and their running mean: theta[k+1] = Pi[theta[k] - rho_k gradient].

    Parameters
    ----------
    task: gives the steps rho_k, the start and the ball.
    part: share of the training that this walk makes up.
    check: test of the gradients; a run whose gradients grow goes back to the start and stays there.
        Without one, no run is stopped.
    """

    def __init__(self, task: Task, part: float = 1.0, check: GrowthCheck | None = None) -> None:
        self.task = task
        self.check = check
        self.stopped = np.zeros(task.runs, dtype=bool)
        self.phi = task.start()
        self.mean = task.start()
        self.steps = task.steps
        self.path = np.zeros((len(self.steps) + 1, task.width))
        self.rounds = 0
        self.moved = 0
        self.share = part / max(1, len(self.steps))

    def move(self, gradient: Array) -> None:
        """Take the next step along a gradient (runs, p) of the whole cost."""
        kept, added = averaging_coefficients(self.rounds + 1, self.task.plan.horizon)
        self.mean = kept * self.mean + added * self.phi
        free = self.phi - self.steps[self.rounds] * gradient
        self.phi = self.task.coordinates.project(free)
        self.moved += int((self.phi != free).sum())
        if self.check is not None:
            self.stopped |= self.check.has_grown(gradient)
            self.phi[self.stopped] = 0.0
            self.mean[self.stopped] = 0.0
        self.rounds += 1
        self.path[self.rounds] = self.phi[0]
        self.task.did(self.share)
        self.task.watch(self.rounds, self.phi, self.mean)

    def reach(self, phi: Array) -> None:
        """Go to points (runs, p) that answers were solved for."""
        self.phi = phi
        self.rounds += 1
        self.path[self.rounds] = phi[0]

    def trajectory(self) -> Trajectory:
        """Return the result of the walk."""
        projected = self.moved / max(1, len(self.steps) * self.phi.size)
        stopped = float(self.stopped.mean())
        return Trajectory(self.phi, self.mean, self.path, projected, stopped)


class Descent(Algorithm):
    """Descent in rounds that every owner answers; subclasses set steps and returned points."""

    exact = True

    def run(self, task: Task) -> Trajectory:
        """Iterate theta[k+1] = Pi[theta[k] - rho_k (grad g_1 + sum_l q_l answer_l(theta[k]))].

        The task's aggregation may replace the sum.

        Source: Wu et al., The Value of Collaboration, Algorithms 1 (no projection there) and 2; the
            multi-party write-up, SGD2 (sums there, means here: the step size takes the factor n).
        """
        walk = Walk(task, check=GrowthCheck(noise_in_gradients(task)) if task.stops else None)
        combine = task.aggregation.make_combiner(task)
        sources = [iterate_noise(task, noise, len(task.owners)) for noise in task.noises()]
        for noises in zip(*sources, strict=True):
            answers = (
                owner.answer(walk.phi, noise)
                for owner, noise in zip(task.owners, noises, strict=True)
            )
            walk.move(combine(task.own_gradient(walk.phi), answers))
        return walk.trajectory()

    def trial_points(self, returned: Sequence[Returned], horizon: int) -> list[Returned]:
        """Points to rehearse; the running mean of a single step is the start itself."""
        return [point for point in returned if point == "last" or self.queries(horizon) != 1]


class Synchronous(Descent):
    """Step c/(T^2 k) at query k = 1 .. T - 1.

    Source: Wu et al., The Value of Collaboration, Algorithm 1.
    """

    name = "synchronous"
    decline = 1
    stops_short = True
    horizon_power = 2
    theorem = staticmethod(synchronous_bound)
    says = "every owner answers in every round, and the steps shrink with the rounds (synchronous)"


class Averaged(Descent):
    """Step c/sqrt(k) at query k = 1 .. T - 1; the mean of all rounds may be returned.

    Source: Wu et al., The Value of Collaboration, Algorithm 2.

    >>> Averaged().steps(0.5, 5)
    array([0.5       , 0.35355339, 0.28867513, 0.25      ])
    """

    name = "averaged"
    compared = True
    decline = 0.5
    stops_short = True
    returned = ("last", "averaged")
    theorem = staticmethod(averaged_training_bound)
    says = (
        "every owner answers in every round, and the steps shrink with the root of the rounds "
        "(averaged)"
    )


class SGD2(Descent):
    """Step c/sqrt(k) at query k = 1 .. T on means; the paper has sums, so c takes the factor n.

    Source: the multi-party write-up, Algorithm SGD2 and (4).
    """

    name = "sgd2"
    compared = True
    decline = 0.5
    published_formulas = True
    theorem = staticmethod(summed_steps_bound)
    says = "every owner answers in every round with the sum over its records (sgd2)"

    def printed_step(self, at: BoundInputs) -> float | None:
        """|C|/sqrt(G^2 + V) of steps c/sqrt(k), as (4) for SGD1; 1/Delta of steps c/k; else open.

        Theorem 4 says "pick eta(t) appropriately": both are those of Theorem 2, with the noise of a
        whole round.
        """
        return step_as_printed(at, at.noise_power)


def noise_in_gradients(task: Task) -> Array:
    """Deviation of the noise on each number of the weighted answers, (queries, runs)."""
    scales = [np.broadcast_to(owner.scale, (task.runs,)) for owner in task.owners]
    variance = task.mechanism.unit_variance * (task.shares**2 @ np.square(scales))
    return np.outer(task.relative_scales, np.sqrt(variance))


def iterate_noise(task: Task, noise: Noise, owners: int) -> Iterator[Array]:
    """Draw the noise of each query, (runs, p), a few rounds ahead in bounded memory."""
    queries = len(task.plan.steps)
    ahead = max(1, NUMBERS_HELD // (task.runs * task.width * owners))
    for first in range(0, queries, ahead):
        yield from noise.take(min(ahead, queries - first))
