"""Checks by the learner itself, on first noisy answers and on rows that it kept aside."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from learning.arrays import Array
from learning.forecast.homogeneity import DRAWS, Homogeneity, permutation_p_value
from learning.forecast.public_sample import PublicSample, affordable_count
from learning.training.algorithms import ALGORITHMS
from learning.training.engine import Trained
from learning.training.task import Task

LEAST_DRAWS = 99
LEAST_COVARIANCES = 8  # of a wide model; the draws take them in turn
NUMBERS_DRAWN = 8_000_000  # in all draws together, up to which there are `DRAWS` of them
SHOWN = 0.1  # least curvature of a direction that is looked at, over the largest


def homogeneity_of_answers(task: Task, public: Array, *, rng: Generator) -> dict[str, Homogeneity]:
    """Test whether the owners' first answers, given at the start, have one mean gradient.

        statistic = sum_l (a_l - mu)'V_l^-1 (a_l - mu),    V_l = v_l I + Sigma/n_l,

    with v_l the variance of the owner's noise, Sigma the covariance of a record's gradient on the
    public rows, and mu the mean weighted by V_l^-1. Noise is not Gaussian under every mechanism and
    Sigma is known from few rows only, so the p-value comes from draws: of the very noise, and of
    means of n_l records whose Sigma is as uncertain as the rows leave it (Sigma Sigma_b^-1 Sigma,
    over bootstrap samples b of them).

    Parameters
    ----------
    task : the training; its first run is tested.
    public : array (m, p), gradients of the public rows at the same start.
    rng : of the draws.

    Returns
    -------
    dict : test "owners", among the owners, and "public", among them and the public rows. A test of
        one mean alone is left out. Of owners who make one noise together only their sum is tested.

    Source: ours; a test of equal means with known parts of variance (Cochran 1937), calibrated by
        Monte Carlo.
    """
    axes = principal_axes(public)
    seen = public @ axes
    sizes = task.sizes
    first = next(task.scale_factors)
    start = np.zeros((1, task.width))
    scales = [float(np.mean(np.square(owner.scale * first))) for owner in task.owners]
    power = np.array(scales) * task.mechanism.unit_variance
    noises = [owner.noise(task.mechanism, 1, task.streams).take(1)[0] for owner in task.owners]
    pairs = zip(task.owners, noises, strict=True)
    answers = np.array([owner.answer(start, noise)[0] for owner, noise in pairs]) @ axes
    spread = seen.var(axis=0, ddof=1)
    null = _null_of_answers(task, seen, spread, axes, rng)
    if not task.mechanism.whole:  # parts of one noise are too small to hide an answer alone
        shares = task.shares
        power = np.array([shares**2 @ power])
        sizes = np.array([1 / (shares**2 @ (1 / sizes))])
        answers = (shares @ answers)[None]
        drawn = np.einsum("k,dkp->dp", shares, null[:, :-1])[:, None]
        null = np.concatenate([drawn, null[:, -1:]], axis=1)
    points = np.vstack([answers, seen.mean(axis=0)])
    variance = np.append(power, 0.0)[:, None] + spread / np.append(sizes, len(public))[:, None]
    variance = np.maximum(variance, 1e-12 * variance.max())
    found = {}
    for name, count in (("owners", len(sizes)), ("public", len(sizes) + 1)):
        if count > 1:
            statistic = float(_answer_statistic(points[None, :count], variance[:count])[0])
            drawn = _answer_statistic(null[:, :count], variance[:count])
            p_value = permutation_p_value(statistic, drawn)
            found[name] = Homogeneity(statistic, (count - 1) * public.shape[1], p_value)
    return found


def principal_axes(rows: Array) -> Array:
    """Principal axes of rows (m, p), (p, p) by column; the largest number of each is positive.

    A library may return either of two opposite axes, and draws along an axis depend on its sign.
    """
    axes = np.linalg.eigh(np.atleast_2d(np.cov(rows, rowvar=False)))[1]
    largest = np.abs(axes).argmax(axis=0)
    return axes * np.sign(axes[largest, np.arange(len(axes))])


def _answer_statistic(points: Array, variance: Array) -> Array:
    """Statistic (draws,) of points (draws, k, p), whose variances are (k, p)."""
    weights = 1 / variance
    mean = np.einsum("dkp,kp->dp", points, weights) / weights.sum(axis=0)
    return np.einsum("dkp,kp->d", (points - mean[:, None]) ** 2, weights)


def _null_of_answers(task: Task, seen: Array, spread: Array, axes: Array, rng: Generator) -> Array:
    """Draws (draws, k, p) of the answers if all are of one kind: sampled records, and noise."""
    sizes = np.append(task.sizes, len(seen))[:, None]
    width = len(axes)
    draws = int(np.clip(NUMBERS_DRAWN // (len(sizes) * width), LEAST_DRAWS, DRAWS))
    normal = rng.standard_normal((draws, len(sizes), width))
    count = affordable_count(draws, LEAST_COVARIANCES, width, power=2)
    roots = covariance_roots(seen, spread, count, rng)
    null = np.stack([one @ roots[i % len(roots)] for i, one in enumerate(normal)])
    null *= np.sqrt(spread / sizes)
    first = next(task.scale_factors)
    for place, owner in enumerate(task.owners):
        for scale, _ in owner.as_sold.noise(task.mechanism, 1, task.streams).parts:
            drawn = task.mechanism.draw(1.0, (draws, width), rng=rng)
            null[:, place] += first * scale[0] * drawn @ axes
    return null


def covariance_roots(seen: Array, spread: Array, count: int, rng: Generator) -> Array:
    """Sigma_b^(-1/2), (count, p, p), in units of Sigma, over bootstrap samples b of the rows."""
    rows = len(seen)
    white = (seen - seen.mean(axis=0)) / np.sqrt(np.maximum(spread, 1e-12 * spread.max()))
    shares = rng.multinomial(rows, np.full(rows, 1 / rows), count) / rows
    values, turned = np.linalg.eigh(np.stack([white.T * share @ white for share in shares]))
    scaled = turned / np.sqrt(np.maximum(values, 1e-3))[:, None, :]
    return scaled @ turned.swapaxes(1, 2)  # the same for any eigenvectors


@dataclass(frozen=True)
class Seen:
    """Unbiased estimate of relative fitness, or of a difference of it, and its standard error."""

    relative_fitness: float
    std_error: float


def estimate_start(trained: Trained, sample: PublicSample) -> Seen | None:
    """Estimate relative fitness of the start of training from the first answers.

    The first step shows the noisy gradient a = g + w. With H the Hessian of training and G that of
    fitness, both on the public rows, and S the known variance of w, the start's excess is

        (g'A g)/2 = E (a'A a)/2 - S tr(A)/2,    A = H^-1 G H^-1,

    over directions that the public rows show well (`SHOWN`). The bias of clipping cannot be seen in
    clipped answers, and is not counted.

    Parameters
    ----------
    trained : the training, of which the first run's first step is used.
    sample : the learner's own rows.

    Returns
    -------
    Seen, below 0 where noise makes it so. None where this does not hold: no owner was asked, the
    loss is not squared, the algorithm is not linear in its noise, answers are not summed up,
    gradients are clipped, or the ball bent the step.
    """
    task = trained.task
    steps = trained.plan.steps
    lawful = sample.loss.quadratic and ALGORITHMS[trained.plan.algorithm].exact and len(steps)
    if task is None or not lawful or not task.aggregation.sums or task.coordinates.clips_gradients:
        return None
    coordinates = task.coordinates
    transform = coordinates.transform
    path = np.linalg.solve(transform, (trained.path[:2] - coordinates.centre).T).T
    reached = np.asarray(path[1:] * (1 + 1e-9))
    if not np.array_equal(coordinates.project(reached), reached):
        return None
    gradient = (path[0] - path[1]) / steps[0]
    scales = np.array([np.broadcast_to(owner.scale, (task.runs,))[0] for owner in task.owners])
    variance = np.sum((task.shares * (scales * task.relative_scales[0])) ** 2)
    power = float(variance) * task.mechanism.unit_variance
    x, y = sample.population()
    whole = 2 * x.T @ x / len(y) + task.regularisation * np.eye(x.shape[1])
    hessian = coordinates.statistics(x, y).hessian + coordinates.penalty(task.regularisation)[0]
    inverse = np.linalg.pinv(hessian, rcond=SHOWN, hermitian=True)
    form = inverse @ (transform @ whole @ transform) @ inverse
    value = 0.5 * (gradient @ form @ gradient - power * np.trace(form))
    square = form @ form
    tilt = max(0.0, float(gradient @ square @ gradient - power * np.trace(square)))
    std_error = np.sqrt(power * tilt + power**2 * np.trace(square) / 2)  # of Gaussian noise
    optimum = float(sample.fitness.optimum)
    return Seen(float(value) / optimum, float(std_error) / optimum)


def compare_models(sample: PublicSample, x: Array, y: Array, models: Array) -> Seen:
    """Estimate how much lower the relative fitness of the second of two models (2, p) is.

    It is estimated on public rows kept aside, (n, p) and (n,), which had no part in either model.
    """
    loss = sample.loss
    penalty = 0.5 * sample.regularisation * np.sum(models**2, axis=1)
    first, second = loss.value(loss.scores(x, y, models)) + penalty[:, None]
    return fitness_gain(first, second, float(sample.fitness.optimum))


def fitness_gain(first: Array, second: Array, optimum: float) -> Seen:
    """Relative fitness of a first model less that of a second, by losses on the same rows, (n,).

    >>> fitness_gain(np.array([2.0, 3.0, 1.0, 2.0]), np.array([1.0, 1.0, 1.0, 2.0]), 0.5)
    Seen(relative_fitness=1.5, std_error=0.9574271077563381)
    """
    found = first - second
    std_error = float(np.std(found, ddof=1)) / len(found) ** 0.5
    return Seen(float(np.mean(found)) / optimum, std_error / optimum)
