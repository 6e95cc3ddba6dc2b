"""Least squares solved from noisy second moments."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import Array

FAILURE = 0.05  # probability that the noise is wider than the damping allows for
FLAT = 1e-12  # directions with less than this share of the largest curvature have none


def adaptive_damping(smallest: ArrayLike, deviation: ArrayLike, width: int) -> Array:
    """AdaSSP's damping: max(0, R - L), R above the noise and L below the smallest eigenvalue.

    R = s (sqrt(2p) + sqrt(2 ln 1/FAILURE)) exceeds each extreme eigenvalue of the noise with
    probability 1 - FAILURE, and L = max(0, smallest - R). Well-curved problems (smallest >= 2R) are
    not damped at all.

    Parameters
    ----------
    smallest : array (...), smallest eigenvalue of the noisy matrix.
    deviation : array (...), s, of its noise (diagonal).
    width : p.

    Source: Wang, Revisiting DP Linear Regression, Algorithm 2. There R = s sqrt(p ln(2
        p^2/FAILURE)) for independent entries above the diagonal; ours is for symmetric noise, with
        mean of the largest eigenvalue at most s sqrt(2p) and Gaussian concentration around it, and
        is sharper. For l2 noise, Gaussian given its length, s counts as
        `Mechanism.deviation_quantile` times its deviation. L is released with a third of the budget
        there, and read off the noisy matrix here.
    """
    tail = np.sqrt(2 * width) + np.sqrt(2 * np.log(1 / FAILURE))
    reach = np.asarray(deviation, dtype=float) * tail
    return np.maximum(0.0, reach - np.maximum(0.0, np.asarray(smallest, dtype=float) - reach))


def solve_damped(matrix: Array, vector: Array, deviation: Array) -> Array:
    """Solve (matrix + damping) phi = vector, with the least norm where there is no curvature.

    Negative eigenvalues, which only noise can make, are set to 0 before damping.

    Parameters
    ----------
    matrix : array (runs, p, p), symmetric.
    vector : array (runs, p).
    deviation : array (runs,), of the matrix's noise.
    """
    values, basis = np.linalg.eigh(matrix)
    damping = adaptive_damping(values[:, 0], deviation, values.shape[1])
    curved = np.maximum(values, 0.0) + damping[:, None]
    return _solve_spectral(curved, basis, vector, curved <= FLAT * curved[:, -1:])


def solve_newton_step(matrix: Array, vector: Array, deviation: Array) -> Array:
    """Solve (matrix + C) phi = vector, with a correction C for noise on the matrix.

    Symmetric noise E of deviation s on the diagonal, s/sqrt(2) off it, has E[E B E] = s^2/2 (tr(B)
    I + B) =: D at B = M^-1. As (M + E)^-1 = B - B E B + B E B E B - ..., the step from M + E is too
    long by B D phi on average, and D added to the matrix corrects that. The remaining error, B E
    phi, has either sign, and a step that is shorter by another B D phi has the least mean square:
    so C = 2 D. B is the inverse of the noisy matrix, whose eigenvalues are raised to the edge of
    the noise's own, s sqrt(2p). The solution has the least norm where there is no curvature.

    Parameters
    ----------
    matrix : array (runs, p, p), symmetric.
    vector : array (runs, p); (runs, k p) of k targets, which are solved for one by one.
    deviation : array (runs,), s.

    >>> matrix = np.diag([2.0, 1.0, 0.0])[None]
    >>> solve_newton_step(matrix, np.array([[2.0, 3.0, 0.5]]), np.zeros(1)).tolist()
    [[1.0, 3.0, 0.0]]
    """
    values, basis, flat = hold_spectrum(matrix, deviation)
    each = vector.reshape(len(vector), -1, values.shape[1]).swapaxes(0, 1)
    return np.concatenate([_solve_spectral(values, basis, one, flat) for one in each], axis=1)


def hold_spectrum(matrix: Array, deviation: Array) -> tuple[Array, Array, Array]:
    """Spectrum of matrix + C of `solve_newton_step`, with a mask of the flat directions.

    Returns
    -------
    (values, basis, flat) : arrays (runs, p), (runs, p, p) by column, and (runs, p).
    """
    values, basis = np.linalg.eigh(matrix)
    values = np.maximum(values, deviation[:, None] * np.sqrt(2 * values.shape[1]))
    flat = values <= FLAT * values[:, -1:]
    inverse = np.where(flat, 0.0, 1 / np.where(flat, 1.0, values))
    held = values + deviation[:, None] ** 2 * (inverse.sum(axis=1, keepdims=True) + inverse)
    return held, basis, flat


def invert_held(matrix: Array, deviation: Array, period: int | None = None) -> Array:
    """Inverse of matrix + C of `solve_newton_step`, (runs, p, p); 0 in flat directions.

    Where runs repeat after ``period`` of them, each is inverted once.
    """
    runs = len(matrix)
    if period and runs > period and _repeat_after(period, matrix, deviation):
        return np.tile(invert_held(matrix[:period], deviation[:period]), (runs // period, 1, 1))
    values, basis, flat = hold_spectrum(matrix, deviation)
    inverse = np.where(flat, 0.0, 1 / np.where(flat, 1.0, values))
    return (basis * inverse[:, None, :]) @ basis.swapaxes(1, 2)


def _repeat_after(period: int, *arrays: Array) -> bool:
    """Test whether arrays (runs, ...) are the same again and again after so many runs."""
    return all(
        len(one) % period == 0 and np.array_equal(one[period:], one[:-period]) for one in arrays
    )


def _solve_spectral(values: Array, basis: Array, vector: Array, flat: Array) -> Array:
    """Solve systems with eigenvalues (runs, p) and eigenvectors; 0 in flat directions."""
    turned = np.einsum("rij,ri->rj", basis, vector)
    return np.einsum("rij,rj->ri", basis, np.where(flat, 0.0, turned / np.where(flat, 1.0, values)))
