"""The training problem that clipped records make in public coordinates, and how far clipping moves its optimum by chance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from learning.arrays import Array
from learning.forecast.wide import affordable
from learning.losses.coordinates import Coordinates
from learning.losses.squared import Fitness, SquaredStatistics
from learning.training.law import Problem, quadratic_problems


def clipped_problems(
    coordinates: Coordinates,
    hessian: Array,
    linears: Sequence[Array],
    true_hessian: Array,
    truth: Array,
    regularisation: float,
    optimum: float,
) -> Iterator[Problem]:
    """Training on clipped records in phi against fitness counted on whole ones, one row per problem; for each linear part.

    Parameters
    ----------
    coordinates : of each problem, or one for all.
    hessian : array (m, p, p), of the mean loss of the clipped records, in phi.
    linears : arrays (m, p), linear parts of it, one for each bound on targets.
    true_hessian, truth : arrays (p, p) and (p,), of the mean loss that counts, and the optimum, in the model's parameters.
    regularisation : r >= 0.
    optimum : f* > 0.
    """
    penalty, pull = coordinates.penalty(regularisation)
    transform = coordinates.transform
    counted = transform @ (true_hessian + regularisation * np.eye(len(truth))) @ transform
    away = np.linalg.solve(transform, (truth - coordinates.centre)[..., None])[..., 0]
    return quadratic_problems(
        hessian + penalty,
        [linear + pull for linear in linears],
        np.broadcast_to(counted, hessian.shape),
        np.broadcast_to(away, hessian.shape[:-1]),
        np.full(len(hessian), optimum),
    )


def oracle_problem(coordinates: Coordinates, seen: SquaredStatistics, fitness: Fitness) -> Problem:
    """The true training problem, in one row, from the pooled records themselves.

    Parameters
    ----------
    coordinates : Coordinates
    seen : statistics of the clipped records of those who share, in phi.
    fitness : Fitness of all pooled records, in the model's own parameters.
    """
    whole, truth = fitness.statistics.hessian, fitness.minimiser
    made = clipped_problems(
        coordinates, seen.hessian[None], [seen.linear[None]], whole, truth, fitness.regularisation, fitness.optimum
    )
    return next(made)


def chance_share(problem: Problem, clipped: Array, target: Array, whole: Array, residual: Array) -> Array:
    """How much of the squared offset of clipping, |fixed point - optimum|^2 in the counted Hessian G, is chance.

    The offset is a difference of two means over the n public rows; its variance is mean_i d_i'G d_i/n, with
    d_i = 2 H^-1 x~_i (u_i - x~_i'phi_fixed) - 2 G^-1 W x_i (y_i - x_i'theta*) the influence of row i on it. Where the model
    is wide, the mean over i is taken over some of the rows.

    Parameters
    ----------
    problem : Problem of m rows, uncorrected.
    clipped, target : arrays (m, n, p) and (m, n), the records as training sees them.
    whole : array (m, n, p), W x unclipped.
    residual : array (n,), y - x'theta*.

    Returns
    -------
    array (m,), each in [0, 1]
    """
    curved = problem.eigenvalues > 0
    inverse = np.where(curved, 1 / np.where(curved, problem.eigenvalues, 1.0), 0.0)
    rows = len(residual)
    some = slice(None, None, max(1, rows // affordable(rows, 1, clipped.shape[-1])))
    clipped, target, whole, residual = clipped[:, some], target[:, some], whole[:, some], residual[some]
    fixed = problem.basis @ problem.start_error[..., None]  # minus the fixed point
    missed = target + (clipped @ fixed)[..., 0]
    influence = missed[..., None] * (clipped @ (problem.basis * inverse[:, None, :]))
    influence -= residual[:, None] * (whole @ (problem.basis @ np.linalg.pinv(problem.gram, hermitian=True)))
    spread = influence.swapaxes(-1, -2) @ influence
    variance = 4 * np.einsum("wij,wij->w", problem.gram, spread) / (rows * len(residual))
    size = np.einsum("wi,wij,wj->w", problem.offset, problem.gram, problem.offset)
    return np.where(size > 0, np.minimum(1.0, variance / np.where(size > 0, size, 1.0)), 0.0)
