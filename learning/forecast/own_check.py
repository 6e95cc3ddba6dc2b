"""What the learner can see of its models itself: from the answers it was given, and from public rows kept aside."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learning.arrays import Array
from learning.forecast.public_sample import PublicSample
from learning.training.algorithms import ALGORITHMS
from learning.training.engine import Trained
from learning.training.task import Task

SHOWN = 0.1  # directions with less than this share of the largest curvature are left out: noise drowns what is in them


@dataclass(frozen=True)
class Seen:
    """Relative fitness, or a difference of it, as the learner can tell: right on average, and its standard error."""

    relative_fitness: float
    std_error: float


def start_in_answers(trained: Trained, sample: PublicSample) -> Seen | None:
    """Relative fitness of the model that training began with, as the first answers tell it, under squared loss.

    The first step shows the noisy gradient a = g + w that it went along. With H the Hessian of training and G that of
    fitness, both as the public rows have them, and S the known variance of w, the start's excess is

        (g'A g)/2 = E (a'A a)/2 - S tr(A)/2,    A = H^-1 G H^-1,

    over directions that the public rows show well (`SHOWN`). What clipping moves the best model by does not show in clipped
    answers, and is not counted.

    Parameters
    ----------
    trained : the training, of which the first run's first step is looked at.
    sample : the learner's own rows.

    Returns
    -------
    Seen, below 0 where noise makes it so; None where nobody was asked, the loss, the first step or what is made of answers
    is another, gradients are clipped, or the ball bent it.
    """
    task, steps = trained.task, trained.plan.steps
    sums = task is not None and task.aggregation.sums and not task.coordinates.clips_gradients
    if task is None or not (sums and sample.loss.quadratic and ALGORITHMS[trained.plan.algorithm].exact and len(steps)):
        return None
    before, after = np.linalg.solve(task.coordinates.transform, (trained.path[:2] - task.coordinates.centre).T).T
    reached = after[None] * (1 + 1e-9)
    if not np.array_equal(task.coordinates.project(reached), reached):
        return None
    power, gradient, (hessian, counted) = _noise_power(task), (before - after) / steps[0], _hessians(task, sample)
    inverse = np.linalg.pinv(hessian, rcond=SHOWN, hermitian=True)
    form = inverse @ counted @ inverse
    value = 0.5 * (gradient @ form @ gradient - power * np.trace(form))
    square = form @ form
    tilt = max(0.0, float(gradient @ square @ gradient - power * np.trace(square)))
    std_error = np.sqrt(power * tilt + power**2 * np.trace(square) / 2)  # of Gaussian noise
    optimum = float(sample.fitness.optimum)
    return Seen(float(value) / optimum, float(std_error) / optimum)


def better_on(sample: PublicSample, x: Array, y: Array, models: Array) -> Seen:
    """By how much relative fitness the second of two models (2, p) is better on public rows kept aside, (n, p) and (n,).

    The rows had no part in either model, so the mean of what they lose is right on average; both models meet the same rows.
    """
    loss, penalty = sample.loss, 0.5 * sample.regularisation * np.sum(models**2, axis=1)
    first, second = loss.value(loss.scores(x, y, models)) + penalty[:, None]
    return gained(first, second, float(sample.fitness.optimum))


def gained(first: Array, second: Array, optimum: float) -> Seen:
    """The difference in relative fitness that two models' losses on the same rows show, each (n,); optimum is f*.

    >>> gained(np.array([2.0, 3.0, 1.0, 2.0]), np.array([1.0, 1.0, 1.0, 2.0]), 0.5)
    Seen(relative_fitness=1.5, std_error=0.9574271077563381)
    """
    found = first - second
    return Seen(float(np.mean(found)) / optimum, float(np.std(found, ddof=1)) / len(found) ** 0.5 / optimum)


def _noise_power(task: Task) -> float:
    """S, the variance per coordinate of the weighted noise of the first round in the first run."""
    scales = np.array([np.broadcast_to(owner.scale, (task.runs,))[0] for owner in task.owners])
    scales = scales * task.relative_scales[0]
    return float(np.sum((task.shares * scales) ** 2)) * task.mechanism.unit_variance


def _hessians(task: Task, sample: PublicSample) -> tuple[Array, Array]:
    """Hessians of training and of fitness in phi, as the public rows have them."""
    x, y = sample.population()
    penalty, _ = task.coordinates.penalty(task.regularisation)
    whole = 2 * x.T @ x / len(y) + task.regularisation * np.eye(x.shape[1])
    transform = task.coordinates.transform
    return task.coordinates.statistics(x, y).hessian + penalty, transform @ whole @ transform
