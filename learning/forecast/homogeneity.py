"""Are the owners alike? What their first noisy answers tell, and what public rows with the owners' names told before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from learning.arrays import Array
from learning.forecast.wide import affordable
from learning.losses.coordinates import RECORD, Coordinates, whitening
from learning.losses.loss import Loss
from learning.training.client import Client
from learning.training.task import Task

DRAWS = 999  # under the hypothesis that all are alike
LEAST_DRAWS = 99
DEALS = 199  # of all records, in the simulator's own test
LEAST_DOUBTS = 8  # covariances of a wide model, which the draws take in turn
NUMBERS_DRAWN = 8_000_000  # up to which there are so many


@dataclass(frozen=True)
class Homogeneity:
    """A test of the hypothesis that records are alike in kind.

    Parameters
    ----------
    statistic : of first answers, squared deviations from the common mean in units of their variance; of public rows, F.
    dof : (number of means - 1) times parameters; the mean of the former if they are, were variances known exactly.
    p_value : the chance of one as large if they are.
    """

    statistic: float
    dof: int
    p_value: float


def record_gradients(coordinates: Coordinates, x: Array, y: Array) -> Array:
    """The gradient of each record (n, p) and (n,), clipped as announced, at the start of training, (n, p)."""
    if coordinates.loss.quadratic and not coordinates.clips_gradients:
        moved, shown = coordinates.records(x, y)
        return np.asarray(-2 * shown[:, None] * moved)
    start = np.zeros((1, len(coordinates.centre)))
    if coordinates.clipping == RECORD:
        held = coordinates.oracle(x, y, one_by_one=True)
        return np.asarray(held.record_gradient(np.tile(start, (len(y), 1)), np.arange(len(y))))  # type: ignore[attr-defined]
    each = (coordinates.oracle(x[i : i + 1], y[i : i + 1]).gradient(start) for i in range(len(y)))
    return np.concatenate(list(each))


def gradients_at(loss: Loss, x: Array, y: Array, theta: Array) -> Array:
    """The gradient of each of many records (n, p) and (n,), unclipped, at theta (p,), (n, p) in single precision."""
    held = Coordinates(theta, np.eye(len(theta)), loss=loss).oracle(x, y, one_by_one=True)
    return np.asarray(held.record_gradient(np.zeros((len(y), len(theta))), np.arange(len(y))))  # type: ignore[attr-defined]


def records_alike(gradients: Array, sizes: Sequence[int], *, rng: np.random.Generator) -> float:
    """The chance that mean gradients lie as far apart as these where all records are of one kind: the simulator's own test.

    The statistic is sum_l n_l |mean_l|^2, with gradients whitened; its law is that of the same records dealt out anew, so
    the test is exact whatever tails they have.

    Parameters
    ----------
    gradients : array (n, p), of every record at one model, group after group.
    sizes : how many records each group has.
    rng : deals the records out, `DEALS` times.

    Returns
    -------
    float in (0, 1], the p-value.

    Source: permutation tests, Lehmann and Romano, Testing Statistical Hypotheses, 15.2; the statistic is the score test's.
    """
    centred = gradients - gradients.mean(axis=0)
    white = centred @ whitening(centred.T @ centred / len(centred))
    counts = np.array(sizes)
    starts = np.cumsum(counts) - counts

    def apart(dealt: Array) -> float:
        return float(np.sum(np.add.reduceat(dealt, starts, axis=0) ** 2 / counts[:, None]))

    seen = apart(white) * (1 - 1e-9)
    return (1 + sum(apart(white[rng.permutation(len(white))]) >= seen for _ in range(DEALS))) / (1 + DEALS)


def answers_alike(task: Task, public: Array, *, rng: np.random.Generator) -> dict[str, Homogeneity]:
    """Whether the owners' first answers, all given at the start of training, have one mean gradient.

        statistic = sum_l (a_l - mu)'V_l^-1 (a_l - mu),    V_l = v_l I + Sigma/n_l,

    with v_l the variance of the owner's noise, Sigma the covariance of a record's gradient as the public rows show it, and
    mu the mean weighted by V_l^-1. Noise is not Gaussian under every mechanism and Sigma is known from few rows only, so the
    p-value comes from draws: of the very noise, and of means of n_l records whose Sigma is as uncertain as the rows leave it
    (Sigma Sigma_b^-1 Sigma, over resamples b of them).

    Parameters
    ----------
    task : the training; its first run is looked at, as the learner would see it.
    public : array (m, p), gradients of the public rows at the same start.
    rng : of the draws.

    Returns
    -------
    dict : "owners", among the owners; "public", among them and the public rows, which tells whether the learner's rows are
        of their kind. Nothing is said about one mean alone, and of owners who share a noise only their sum is
        looked at.

    Source: ours; a test of equal means with known parts of variance (Cochran 1937), calibrated by Monte Carlo.
    """
    axes = _principal_axes(public)
    seen = public @ axes
    power, sizes = np.array([_noise_power(owner, task) for owner in task.owners]), task.sizes
    answers = np.array([_first_answer(owner, task) for owner in task.owners]) @ axes
    spread = seen.var(axis=0, ddof=1)
    null = _null(task, seen, spread, axes, rng)
    if not task.mechanism.whole:  # a single answer has too little noise of its own: nobody sees it
        power, sizes, answers, null = _summed(task.shares, power, sizes, answers, null)
    points = np.vstack([answers, seen.mean(axis=0)])
    variance = np.append(power, 0.0)[:, None] + spread / np.append(sizes, len(public))[:, None]
    variance = np.maximum(variance, 1e-12 * variance.max())
    found = {}
    for name, count in (("owners", len(sizes)), ("public", len(sizes) + 1)):
        if count > 1:
            statistic = float(_deviation(points[None, :count], variance[:count])[0])
            drawn = _deviation(null[:, :count], variance[:count])
            p_value = (1 + np.count_nonzero(drawn >= statistic)) / (1 + len(drawn))
            found[name] = Homogeneity(statistic, (count - 1) * public.shape[1], float(p_value))
    return found


def _principal_axes(rows: Array) -> Array:
    """Compute the principal axes of rows (m, p), (p, p) by column; the largest number of each is positive.

    A library may return either of two opposite axes, and draws along an axis depend on which.
    """
    axes = np.linalg.eigh(np.atleast_2d(np.cov(rows, rowvar=False)))[1]
    largest = np.abs(axes).argmax(axis=0)
    return np.asarray(axes * np.sign(axes[largest, np.arange(len(axes))]))


def _summed(
    shares: Array, power: Array, sizes: Array, answers: Array, null: Array
) -> tuple[Array, Array, Array, Array]:
    """The same of one owner in the place of all: its answer is their weighted sum."""
    drawn = np.einsum("k,dkp->dp", shares, null[:, :-1])[:, None]
    size = 1 / (shares**2 @ (1 / sizes))
    return (
        np.array([shares**2 @ power]),
        np.array([size]),
        (shares @ answers)[None],
        np.concatenate([drawn, null[:, -1:]], axis=1),
    )


def _noise_power(owner: Client, task: Task) -> float:
    """The variance of the noise on its first answer."""
    return float(np.mean(np.square(owner.scale * next(task.scale_factors)))) * task.mechanism.unit_variance


def _first_answer(owner: Client, task: Task) -> Array:
    """What the owner answers first in the first run, (p,)."""
    noise = owner.noise(task.mechanism, 1, task.streams).take(1)[0]
    return owner.answer(np.zeros((1, task.width)), noise)[0]


def _deviation(points: Array, variance: Array) -> Array:
    """The statistic of points (draws, k, p), whose variances are (k, p): (draws,)."""
    weights = 1 / variance
    mean = np.einsum("dkp,kp->dp", points, weights) / weights.sum(axis=0)
    return np.einsum("dkp,kp->d", (points - mean[:, None]) ** 2, weights)


def _null(task: Task, seen: Array, spread: Array, axes: Array, rng: np.random.Generator) -> Array:
    """Draws (draws, k, p) of what would be seen if all were alike: chance of their records, and noise of the owners."""
    sizes, width = np.append(task.sizes, len(seen))[:, None], len(axes)
    draws = int(np.clip(NUMBERS_DRAWN // (len(sizes) * width), LEAST_DRAWS, DRAWS))
    normal = rng.standard_normal((draws, len(sizes), width))
    doubts = _doubts(seen, spread, affordable(draws, LEAST_DOUBTS, width, power=2), rng)
    null = np.stack([one @ doubts[i % len(doubts)] for i, one in enumerate(normal)]) * np.sqrt(spread / sizes)
    first = next(task.scale_factors)
    for place, owner in enumerate(task.owners):
        for scale, _ in owner.as_sold.noise(task.mechanism, 1, task.streams).parts:
            null[:, place] += first * scale[0] * task.mechanism.draw(1.0, (draws, width), rng=rng) @ axes
    return null


def _doubts(seen: Array, spread: Array, count: int, rng: np.random.Generator) -> Array:
    """Compute Sigma_b^(-1/2), (count, p, p), in units of Sigma: how far Sigma may be off, by resamples b."""
    rows = len(seen)
    white = (seen - seen.mean(axis=0)) / np.sqrt(np.maximum(spread, 1e-12 * spread.max()))
    shares = rng.multinomial(rows, np.full(rows, 1 / rows), count) / rows
    values, turned = np.linalg.eigh(np.stack([white.T * share @ white for share in shares]))
    scaled = turned / np.sqrt(np.maximum(values, 1e-3))[:, None, :]
    return np.asarray(scaled @ turned.swapaxes(1, 2))  # the root that no choice of eigenvectors changes
