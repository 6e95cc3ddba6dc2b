"""Rivals that are written here from their papers; each is our reading of it.

Guarantees are for replacing one record, of a number of records that is public. Where a paper counts
a record added or removed, sensitivities are those of the replacement.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import scipy.special
from numpy.random import Generator

from learning.arrays import Array
from learning.privacy.gaussian import exact_distance
from reproduction.beside.rows import Predict, Rows, Scale, find_scale

FAILURE = 0.05  # of AdaSSP's bound on its noise, as in its paper
ROUNDS = 100  # of BoostedAdaSSP, as in its code
BELOW = 1.96  # deviations of noise that it takes off, as in its code
SHORTEST = (0.95, 0.8, 0.5)  # shares of public rows that AdaSSP may leave as long as they are
TRIALS = 5  # of each, on public rows
MODELS = 1000  # of TukeyEM at most, as in its experiments
STEPS = 15  # of Newton's method, as in the runs of its authors, with the next three
ON_GRADIENT = 0.7  # share of its budget
ON_TRACE = 0.1  # of the rest, on the trace of the Hessian
OF_TRACE = 0.5  # what is counted of that trace
CURVATURE = 0.25  # largest of a record of length 1 under logistic loss


def draw_symmetric(width: int, rng: Generator) -> Array:
    """Draw a symmetric matrix, its diagonal and upper triangle of unit normals."""
    upper = np.triu(rng.standard_normal((width, width)))
    return upper + np.triu(upper, 1).T


def solve_adassp(
    xx: Array, xy: Array, noise: tuple[float, float, float], below: float, rng: Generator
) -> Array:
    """Solve noisy normal equations with the damping that AdaSSP reads off the smallest eigenvalue.

    Parameters
    ----------
    xx, xy : sums (p, p) and (p,), without noise.
    noise : deviations on the sum of squares, on that of products, and on the smallest eigenvalue.
    below : deviations that the noisy eigenvalue is lowered by.

    Source: Wang, Revisiting Differentially Private Linear Regression (2018), Algorithm 2.
    """
    width = len(xy)
    on_squares, on_products, on_least = noise
    least = max(float(np.linalg.eigvalsh(xx)[0]), 0.0) + on_least * rng.standard_normal()
    least = max(least - below * on_least, 0.0)
    damping = max(on_squares * np.sqrt(width * np.log(2 * width**2 / FAILURE)) - least, 0.0)
    noisy = xx + on_squares * draw_symmetric(width, rng) + damping * np.eye(width)
    return np.linalg.pinv(noisy) @ (xy + on_products * rng.standard_normal(width))


def replaced_noise(radius: float, bound: float, distance: float) -> tuple[float, float, float]:
    """Deviations of three Gaussian releases, each at a third of a squared distance mu^2.

    Replacing a record moves the sum of xx' by sqrt(2) R^2, that of xy by 2 R Y, and an eigenvalue
    by R^2.
    """
    part = np.sqrt(3) / distance
    return np.sqrt(2) * radius**2 * part, 2 * radius * bound * part, radius**2 * part


def fit_sums(
    scale: Scale, rows: Rows, delta: float, distance: float, rng: Generator, public: bool = False
) -> Predict:
    """AdaSSP in given units, of all records or of public rows taken for as many records."""
    x, y = scale.change_records(rows.public if public else rows.pooled)
    times = len(rows.pooled[1]) / len(y)
    noise = replaced_noise(scale.radius, scale.bound, distance)
    below = float(np.sqrt(np.log(6 / delta)))
    return scale.predict_by(solve_adassp(times * x.T @ x, times * x.T @ y, noise, below, rng))


def choose_scale(rows: Rows, delta: float, distance: float, rng: Generator) -> Scale:
    """Choose the units under which AdaSSP errs least on public rows taken for as many records."""
    shown = replace(rows, held=rows.public)
    best, least = find_scale(rows), np.inf
    either = (False, True)
    for share, raw, centred in product(SHORTEST, either, either if rows.labels else (False,)):
        scale = find_scale(rows, share, raw=raw, centred=centred)
        trials = [fit_sums(scale, rows, delta, distance, rng, True) for _ in range(TRIALS)]
        error = float(np.mean([shown.measure(one)[0] for one in trials]))
        if error < least:
            best, least = scale, error
    return best


def fit_adassp(
    rows: Rows, epsilon: float, delta: float, rng: Generator, noises: int = 1
) -> Predict:
    """AdaSSP of all records, its three releases accounted exactly; ``noises`` are added up."""
    distance = float(exact_distance(epsilon, delta)) / np.sqrt(noises)
    return fit_sums(choose_scale(rows, delta, distance, rng), rows, delta, distance, rng)


def fit_bounded_adassp(rows: Rows, epsilon: float, delta: float, rng: Generator) -> Predict:
    """AdaSSP that is told the public ranges of columns and target, and nothing else."""
    x, y = rows.pooled
    bounds = float(np.linalg.norm(rows.reach)), max(map(abs, rows.ends))
    noise = replaced_noise(*bounds, float(exact_distance(epsilon, delta)))
    theta = solve_adassp(x.T @ x, x.T @ y, noise, float(np.sqrt(np.log(6 / delta))), rng)
    return lambda fresh: fresh @ theta


def fit_local_adassp(rows: Rows, epsilon: float, delta: float, rng: Generator) -> Predict:
    """AdaSSP of sums to which every owner adds noise of its own."""
    return fit_adassp(rows, epsilon, delta, rng, len(rows.owners))


def boost_sums(
    x: Array, y: Array, distance: float, moved: tuple[float, float, float], rng: Generator
) -> Array:
    """Boost least squares by noisy scores of clipped residuals, on one noisy matrix.

    Parameters
    ----------
    x, y : records of length at most 1, and targets; residuals are clipped at 1.
    distance : mu of the whole guarantee.
    moved : how far a neighbour moves matrix, smallest eigenvalue and scores.

    Source: Tang et al., Improved Differentially Private Regression via Gradient Boosting (2023),
        Algorithm 1, with the damping of its code.
    """
    width = x.shape[1]
    part = np.sqrt(3) / distance
    xx = x.T @ x
    least = float(np.linalg.eigvalsh(xx)[0]) + moved[1] * part * rng.standard_normal()
    least = max(least - BELOW * moved[1] * part, 0.0)
    damping = max(BELOW * np.sqrt(width) * moved[0] * part - least, 0.0)
    noisy = xx + moved[0] * part * draw_symmetric(width, rng) + damping * np.eye(width)
    inverse = np.linalg.pinv(noisy)
    theta = np.zeros(width)
    for _ in range(ROUNDS):
        scores = x.T @ np.clip(y - x @ theta, -1, 1)
        scores += moved[2] * part * np.sqrt(ROUNDS) * rng.standard_normal(width)
        theta += inverse @ scores
    return theta


def fit_boosted(rows: Rows, epsilon: float, delta: float, rng: Generator) -> Predict:
    """BoostedAdaSSP of all records, clipped to length 1 as in its paper, in AdaSSP's units."""
    distance = float(exact_distance(epsilon, delta))
    scale = choose_scale(rows, delta, distance, rng)
    x, y = scale.change_records(rows.pooled)
    theta = boost_sums(x / scale.radius, y, distance, (np.sqrt(2), 1.0, 2.0), rng)
    return scale.predict_by(theta / scale.radius)


def choose_deep_model(models: Array, epsilon: float, delta: float, rng: Generator) -> Array | None:
    """Choose a point of high approximate Tukey depth among models (m, d); None if that is refused.

    A record added or removed changes one model. Half of epsilon tests that the volumes of deep
    regions are stable; the other half pays for the exponential mechanism.

    Source: Amin et al., Easy Differentially Private Linear Regression (2023), Algorithm 1. Its code
        draws the test's Laplace noise with scale epsilon/2; here it is 2/epsilon.
    """
    count = len(models)
    sides = np.sort(models.T + 1e-10 * rng.random(models.T.shape), axis=1)
    most = count // 2
    with np.errstate(divide="ignore"):
        volumes = np.log(np.flip(sides, axis=1)[:, :most] - sides[:, :most]).sum(axis=0)
    start = most // 2
    half = epsilon / 2
    steps = find_distance(volumes, half, delta, start)
    if steps + rng.laplace(scale=1 / half) <= np.log(1 / (2 * delta)) / half:
        return None
    kept = volumes[start:]
    exact = kept + np.log(-np.expm1(np.minimum(np.append(np.diff(kept), -np.inf), -1e-300)))
    depth = start + int(np.argmax(exact + half * np.arange(len(kept)) + rng.gumbel(size=len(kept))))
    return _draw_at_depth(sides, depth, rng)


def find_distance(volumes: Array, epsilon: float, delta: float, start: int) -> int:
    """Lower bound on the models that must change before volumes (log, by depth) are unstable.

    It is -1 where they may be unstable as they are.
    """
    threshold = np.log(delta / 8) - epsilon
    found = -1
    for k in range(start - 1):
        inner = volumes[start + k + 1 : -1]
        fall = volumes[start - k - 2] - inner - epsilon / 2 * np.arange(1, len(inner) + 1)
        if not len(inner) or not fall.min() <= threshold:
            break
        found = k + 1
    return found


def _draw_at_depth(sides: Array, depth: int, rng: Generator) -> Array:
    """Draw a point of exactly a depth, from 0, uniformly from that shell of nested boxes."""
    count = sides.shape[1]
    low, high = sides[:, depth], sides[:, count - 1 - depth]
    if depth + 1 >= count // 2:
        return rng.uniform(low, high)
    inside = sides[:, depth + 1], sides[:, count - 2 - depth]
    while True:  # of a shell that is thin in every direction, few boxes are refused
        point = rng.uniform(low, high)
        if np.any((point < inside[0]) | (point > inside[1])):
            return point


def fit_tukey(rows: Rows, epsilon: float, delta: float, rng: Generator) -> Predict:
    """TukeyEM, for a record added or removed; where it refuses, the public mean."""
    scale = find_scale(rows)
    x = scale.change_columns(rows.pooled[0])
    y = (rows.pooled[1] - scale.middle) / scale.unit
    count = min(MODELS, len(y) // x.shape[1])
    size = len(y) // count
    order = rng.permutation(len(y))[: count * size].reshape(count, size)
    models = np.einsum("mij,mj->mi", np.linalg.pinv(x[order]), y[order])
    theta = choose_deep_model(models, epsilon, delta, rng)
    return fit_constant(rows, epsilon, delta, rng) if theta is None else scale.predict_by(theta)


def newton_steps(x: Array, y: Array, rho: float, rng: Generator) -> Array:
    """Noisy Newton steps on logistic loss from 0, with noise on gradient and on direction.

    Parameters
    ----------
    x, y : records of length at most 1, and labels -1 and +1.
    rho : zCDP budget for a record added or removed.

    Source: Ganesh et al., Faster Differentially Private Convex Optimization via Second-Order
        Methods (2023), Algorithm 3 with eigenvalues added to, as in its code.
    """
    rows, width = x.shape
    signed = x * y[:, None]
    on_gradient = ON_GRADIENT * rho / STEPS
    rest = rho / STEPS - on_gradient
    on_step = (1 - ON_TRACE) * rest
    theta = np.zeros(width)
    for _ in range(STEPS):
        margin = signed @ theta
        falls = scipy.special.expit(-margin)
        gradient = -signed.T @ falls / rows
        gradient += np.sqrt(0.5 / on_gradient) / rows * rng.standard_normal(width)
        hessian = (x.T * (falls * (1 - falls))) @ x / rows
        noise = CURVATURE / rows * np.sqrt(0.5 / (ON_TRACE * rest)) * rng.standard_normal()
        trace = max(float(np.trace(hessian)) + noise, 0.0)
        least = max((OF_TRACE * trace / (rows**2 * on_step)) ** (1 / 3), 1 / rows)
        moved = CURVATURE * np.linalg.norm(gradient) / (rows * least**2 + CURVATURE * least)
        theta -= np.linalg.solve(hessian + least * np.eye(width), gradient)
        theta += moved * np.sqrt(0.5 / on_step) * rng.standard_normal(width)
    return theta


def fit_newton(rows: Rows, epsilon: float, delta: float, rng: Generator) -> Predict:
    """Private Newton of all records; a replacement costs four times an addition's zCDP."""
    scale = find_scale(rows)
    x, y = scale.change_records(rows.pooled)
    rho = float(exact_distance(epsilon, delta)) ** 2 / 2 / 4
    return scale.predict_by(newton_steps(x / scale.radius, y, rho, rng) / scale.radius)


def fit_constant(rows: Rows, epsilon: float, delta: float, rng: Generator) -> Predict:
    """The mean target of the public rows, for every row."""
    mean = rows.public[1].mean()
    return lambda x: np.full(len(x), mean)
