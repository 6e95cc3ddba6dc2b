"""The exact law of noisy descent on a quadratic: remaining bias and surviving noise.

While the projection does not bind, the synchronous and the averaged algorithm are linear maps
driven by noise. In the eigenbasis of the Hessian each coordinate runs alone, so its mean and
variance follow from the recursion itself, and

    E f(returned) - f* = bias + gain * S,

with S the variance per coordinate of the aggregated noise of one round. The law has no unknown
constant.

>>> parts = [[2.0]], [[[1.0]]], [[[2.0]]], [[1.0]], [[0.0]], [1.0]
>>> one = Problem(*(np.array(part) for part in parts))
>>> [float(v[0]) for v in bias_and_gain(one, [0.25], "last")]  # error 0.5, noise 0.25^2
[0.25, 0.0625]
>>> along_the_way(one, [0.25], 1.0)[:, 0].tolist()
[1.0, 0.3125]
>>> told = bias_and_gain(of_distance(one), [0.25], "last")  # the excess over half the curvature
>>> [float(v[0]) for v in told]
[0.25, 0.0625]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike

from learning.arrays import Array

Returned = Literal["last", "averaged"]
TINY = 1e-300  # a divisor in place of a spread of 0


def averaging_coefficients(k: Any, horizon: int) -> tuple[Any, Any]:
    """Coefficients (a, b) of the running mean, mean[k+1] = a mean[k] + b theta[k], at rounds k.

    a = (k-1)/(eta+k), b = (eta+1)/(eta+k), eta = 1/sqrt(T): later rounds weigh a little more, and
    a = 0 at k = 1. Source: Wu et al., The Value of Collaboration, Algorithm 2.
    """
    eta = horizon**-0.5
    return (k - 1) / (eta + k), (eta + 1) / (eta + k)


def iterate_weights(horizon: int, returned: Returned) -> Array:
    """Weight of each of theta[1] .. theta[T] in the point returned, (T,): they sum to 1.

    The running mean's update at k uses theta[k], so theta[T] is not in it. For T = 1 both points
    are theta[1].

    >>> iterate_weights(3, "averaged").round(3).tolist(), iterate_weights(3, "last").tolist()
    ([0.388, 0.612, 0.0], [0.0, 0.0, 1.0])
    """
    if returned not in ("last", "averaged"):
        raise ValueError(f"returned must be 'last' or 'averaged', got {returned!r}")
    weights = np.zeros(horizon)
    if returned == "last" or horizon == 1:
        weights[-1] = 1.0
        return weights
    kept, added = averaging_coefficients(np.arange(1, horizon), horizon)
    # all later rounds keep a part of what round k adds
    weights[:-1] = added * np.append(np.cumprod(kept[:0:-1])[::-1], 1.0)
    return weights


def error_moments(
    eigenvalues: ArrayLike, steps: ArrayLike, returned: Returned, relative: ArrayLike | None = None
) -> tuple[Array, Array]:
    """Mean and variance of theta[k+1] = theta[k] - rho_k (lambda (theta[k] - theta*) + w_k).

    With unit-variance w_k and u_k the weights of `iterate_weights`, the point returned moves by g_k
    where theta[k+1] moves by 1,

        g_{T-1} = u_T,   g_{k-1} = u_k + (1 - rho_k lambda) g_k,

    so that g_0 of the initial error remains, and the variance is the sum of (rho_k g_k)^2. A sum of
    squares keeps its digits where early steps overshoot and later ones make up for it.

    Parameters
    ----------
    eigenvalues : array (...), curvatures lambda.
    steps : array (T-1, ...), broadcast against ``eigenvalues``.
    returned : {"last", "averaged"}; theta[T] or the running mean of Algorithm 2 (whose update at k
        uses theta[k]).
    relative : array (T-1,), the deviation of each w_k, 1 unless given; or (g, T-1), several ways at
        once.

    Returns
    -------
    (decay, variance): arrays of the broadcast shape, the remaining part of the initial error, and
        the variance of unit noise, (g, ...) where there are several ways.

    Source: ours.
    """
    eigenvalues = np.asarray(eigenvalues, dtype=float)
    steps = np.asarray(steps, dtype=float)
    weights = iterate_weights(len(steps) + 1, returned)
    shape = np.broadcast_shapes(eigenvalues.shape, steps.shape[1:])
    powers = np.ones(len(steps)) if relative is None else np.square(relative)
    variance = np.zeros((*powers.shape[:-1], *shape))
    moved = np.full(shape, weights[-1])
    part = np.empty(shape)
    last_first = zip(steps[::-1], weights[-2::-1], np.moveaxis(powers, -1, 0)[::-1], strict=True)
    for step, weight, power in last_first:  # in place: fresh arrays would take longer
        np.multiply(step, moved, out=part)
        np.square(part, out=part)
        variance += part if relative is None else np.multiply.outer(power, part)
        np.multiply(step, eigenvalues, out=part)
        moved *= np.subtract(1, part, out=part)
        moved += weight
    return moved, variance


@dataclass(frozen=True)
class Problem:
    """Quadratic trainings in the eigenbasis of their Hessians, m at once, such as one per textbook.

    Parameters
    ----------
    eigenvalues : array (m, p), of the Hessian that training sees.
    basis : array (m, p, p), eigenvectors in columns.
    gram : array (m, p, p), Hessian of the fitness that counts, in that basis.
    start_error : array (m, p), start minus the fixed point of training.
    offset : array (m, p), fixed point of training minus the true optimum (clipping moves it).
    optimum : array (m,), minimum fitness f*; fitness is compared with it.
    """

    eigenvalues: Array
    basis: Array
    gram: Array
    start_error: Array
    offset: Array
    optimum: Array

    @property
    def untrained(self) -> Array:
        """Excess fitness of the start itself, (m,): no training, T = 1."""
        return 0.5 * self.quadratic_form(self.start_error + self.offset)

    def quadratic_form(self, error: Array) -> Array:
        """error' gram error of errors (m, p), (m,)."""
        return np.einsum("wi,wij,wj->w", error, self.gram, error)


def quadratic_problem(
    hessian: Array, linear: Array, true_hessian: Array, true_optimum: Array, optimum: Array
) -> Problem:
    """Make the problem of training on theta'H theta/2 - linear'theta, judged by another quadratic.

    That one is theta'H_0 theta/2 around its own optimum. Training starts at the origin. Directions
    without curvature (a column that is zero) do not move.

    Parameters
    ----------
    hessian, true_hessian : array (m, p, p), symmetric, positive semi-definite.
    linear, true_optimum : array (m, p).
    optimum : array (m,), f* > 0.
    """
    return next(quadratic_problems(hessian, [linear], true_hessian, true_optimum, optimum))


def quadratic_problems(
    hessian: Array,
    linears: Iterable[Array],
    true_hessian: Array,
    true_optimum: Array,
    optimum: Array,
) -> Iterator[Problem]:
    """Yield problems of several linear parts with one Hessian, which is diagonalised once."""
    eigenvalues, basis = np.linalg.eigh(hessian)
    flat = eigenvalues <= 1e-12 * eigenvalues[:, -1:]
    truth = np.einsum("wij,wi->wj", basis, true_optimum)
    gram = basis.swapaxes(1, 2) @ true_hessian @ basis
    for linear in linears:
        turned = np.einsum("wij,wi->wj", basis, linear)
        fixed = np.where(flat, 0.0, turned / np.where(flat, 1.0, eigenvalues))
        yield Problem(np.where(flat, 0.0, eigenvalues), basis, gram, -fixed, fixed - truth, optimum)


def concatenate_problems(problems: Sequence[Problem]) -> Problem:
    """Concatenate the rows of several problems."""
    names = [part.name for part in fields(Problem)]
    return Problem(*(np.concatenate([getattr(one, name) for one in problems]) for name in names))


def bias_and_gain(
    problem: Problem, steps: ArrayLike, returned: Returned, relative: ArrayLike | None = None
) -> tuple[Array, Array]:
    """Bias B and gain K of E f - f* = B + K S, per problem and step-size constant.

    Parameters
    ----------
    problem : Problem of (m, p).
    steps : array (T-1,) or (T-1, k): k schedules at once.
    returned : {"last", "averaged"}.
    relative : array (T-1,), the deviation of each answer's noise over that of S, 1 unless given; or
        (g, T-1), several.

    Returns
    -------
    (bias, gain) : arrays (m,) or (m, k), in units of fitness and fitness per unit of noise
        variance; for several ways of sharing a budget, gain is (g, m) or (g, m, k), and the bias is
        the same.

    Source: ours; the mean square is the squared mean plus the variance, by `error_moments`. It
        counts every coordinate of the noise, where the published proofs drop p.
    """
    steps = np.asarray(steps, dtype=float)
    schedules = steps[:, None] if steps.ndim == 1 else steps
    eigenvalues = problem.eigenvalues[:, :, None]
    decay, variance = error_moments(eigenvalues, schedules[:, None, None, :], returned, relative)
    error = decay * problem.start_error[:, :, None] + problem.offset[:, :, None]
    bias = 0.5 * np.einsum("wim,wim->wm", error, problem.gram @ error)
    curvature = np.diagonal(problem.gram, axis1=1, axis2=2)
    gain = 0.5 * (curvature[:, None, :] @ variance)[..., 0, :]
    shape = (len(bias), *steps.shape[1:])
    return bias.reshape(shape), gain.reshape((*gain.shape[:-2], *shape))


def of_distance(problem: Problem, transform: Array | None = None) -> Problem:
    """Put |theta - theta*|^2 in place of the excess of a problem, for `bias_and_gain`.

    Parameters
    ----------
    problem : Problem of (m, p).
    transform : array (p, p), W of theta = centre + W phi for a distance between models; the
        distance in phi unless given.

    Source: ours; the distance is a quadratic form too, so that the same recursion applies.
    """
    length = np.eye(problem.basis.shape[-1]) if transform is None else transform.T @ transform
    return replace(problem, gram=2 * (problem.basis.swapaxes(1, 2) @ length @ problem.basis))


def along_the_way(
    problem: Problem, steps: ArrayLike, noise_power: float, relative: ArrayLike | None = None
) -> Array:
    """E f - f* at theta[1] and after each step, (T, m), for bounds on the best point of a path.

    Parameters
    ----------
    problem : Problem of (m, p); of `of_distance` for E |theta[k] - theta*|^2.
    steps : array (T-1,).
    noise_power : S.
    relative : array (T-1,), the deviation of each answer's noise over that of S, 1 unless given.
    """
    curvature = np.diagonal(problem.gram, axis1=1, axis2=2)
    found = [problem.untrained]
    for moved, variance in _iterate_moments(problem, steps, noise_power, relative):
        squared = problem.quadratic_form(problem.start_error + moved + problem.offset)
        found.append(0.5 * (squared + (curvature * variance).sum(axis=1)))
    return np.array(found)


def largest_excursion(
    problem: Problem,
    steps: ArrayLike,
    noise_power: ArrayLike,
    relative: ArrayLike | None = None,
    deviations: float = 3.0,
    *,
    norm: int = 1,
) -> Array:
    """Largest distance of the path from the start, at ``deviations`` standard deviations.

    In norm 1 every coordinate is projected by itself: the maximum over rounds k and coordinates j
    of |E theta_j[k] - start_j| + deviations sd(theta_j[k]). In norm 2 it is the maximum over k of
    |E theta[k] - start| + sqrt(trace V) + deviations sqrt(largest eigenvalue of V), with V the
    covariance. A projection onto a wider ball hardly ever binds, so the law holds.

    Parameters
    ----------
    problem : Problem of (m, p).
    steps : array (T-1,).
    noise_power : array (...), S.
    relative : array (T-1,), the deviation of each answer's noise over that of S, 1 unless given.
    deviations : the number of standard deviations.
    norm : of the gradient bound, 1 or 2.

    Returns
    -------
    array (..., m)
    """
    noise = np.sqrt(np.asarray(noise_power, dtype=float))[..., None]
    furthest = np.zeros((*noise.shape[:-1], len(problem.eigenvalues)))
    for error, variance in _iterate_moments(problem, steps, 1.0, relative):
        if norm == 2:
            spread = np.sqrt(variance.sum(axis=1)) + deviations * np.sqrt(variance.max(axis=1))
            strays = np.linalg.norm(error, axis=1) + noise * spread
        else:
            moved, spread = _coordinate_moments(problem, error, variance)
            strays = (np.abs(moved) + deviations * noise[..., None] * spread).max(axis=-1)
        furthest = np.maximum(furthest, strays)
    return furthest


def projected_share(
    problem: Problem,
    steps: ArrayLike,
    noise_power: float,
    ball: float,
    relative: ArrayLike | None = None,
    *,
    norm: int = 1,
) -> Array:
    """Expected share of coordinates, over all rounds, that a projection onto a ball moves.

    The path is that of the law, which holds while the share is small. In norm 1 a coordinate counts
    as a normal or a Laplace variable, whichever has more beyond the ball: the noise of a single
    answer may be Laplace. In norm 2 the squared distance counts as a gamma variable of its mean and
    variance, and all coordinates move together.

    Parameters
    ----------
    problem : Problem of (m, p).
    steps : array (T-1,).
    noise_power : float, S.
    ball : radius of the ball around the start.
    relative : array (T-1,), the deviation of each answer's noise over that of S, 1 unless given.
    norm : of the gradient bound, 1 or 2.

    Returns
    -------
    array (m,)

    >>> parts = [[1.0]], [[[1.0]]], [[[1.0]]], [[0.0]], [[0.0]], [1.0]
    >>> still = Problem(*(np.array(part, float) for part in parts))    # one step, to the noise
    >>> [projected_share(still, [1.0], 1.0, ball).round(4).item() for ball in (1.0, 3.0)]
    [0.3173, 0.0144]
    """
    beyond = np.zeros(len(problem.eigenvalues))
    for error, variance in _iterate_moments(problem, steps, noise_power, relative):
        if norm == 2:
            mean = (error**2 + variance).sum(axis=1)
            spread = (2 * variance * (variance + 2 * error**2)).sum(axis=1)
            spread = np.maximum(spread, 1e-12 * mean**2 + TINY)
            beyond += scipy.special.gammaincc(mean**2 / spread, ball**2 * mean / spread)
        else:
            moved, spread = _coordinate_moments(problem, error, variance)
            tails = _upper_tail(ball - moved, spread) + _upper_tail(ball + moved, spread)
            beyond += tails.mean(axis=1)
    return beyond / max(1, len(np.asarray(steps)))


def _iterate_moments(
    problem: Problem, steps: ArrayLike, noise_power: float, relative: ArrayLike | None = None
) -> Iterator[tuple[Array, Array]]:
    """Yield each step's mean move from the start and variance, (m, p) in the eigenbasis."""
    decay = np.ones_like(problem.eigenvalues)
    variance = np.zeros_like(problem.eigenvalues)
    steps = np.asarray(steps, dtype=float)
    deviations = np.ones(len(steps)) if relative is None else np.asarray(relative, dtype=float)
    for step, deviation in zip(steps, deviations, strict=True):
        contraction = 1 - step * problem.eigenvalues
        decay = decay * contraction
        variance = contraction**2 * variance + (step * deviation) ** 2
        yield (decay - 1) * problem.start_error, variance * noise_power


def _coordinate_moments(problem: Problem, error: Array, variance: Array) -> tuple[Array, Array]:
    """Mean and standard deviation of each coordinate, (m, p), from those in the eigenbasis."""
    moved = (problem.basis @ error[..., None])[..., 0]
    spread = (problem.basis**2 @ variance[..., None])[..., 0]
    return moved, np.sqrt(spread)


def _upper_tail(distance: Array, spread: Array) -> Array:
    """Larger probability, of a normal or a Laplace variable, to exceed its mean by a distance."""
    far = distance / np.maximum(spread, TINY)
    laplace = 0.5 * np.exp(-np.sqrt(2) * np.maximum(far, 0.0)) * (far > 0)
    return np.maximum(scipy.special.ndtr(-far), laplace)
