"""Ridge regression whose penalty is chosen by generalised cross-validation."""

from __future__ import annotations

import numpy as np

from learning.arrays import Array

RIDGES = np.geomspace(1e-8, 1e2, 41)  # tried, over the mean square of a standardised column
FLAT = 1e-10  # directions with less than this share of the largest variance have none


def fit_ridge(x: Array, y: Array, counts: Array | None = None) -> Array:
    """Fit ridge regressions whose penalty is chosen by generalised cross-validation, (m, p).

    Columns are standardised, and coefficients shrink to 0 but for the constant: without any signal
    the model is the mean. The penalty k is the one of `RIDGES` with the smallest

        GCV(k) = mean residual^2 / (1 - df(k)/n)^2,    df(k) = 1 + sum_j l_j/(l_j + k),

    l_j the eigenvalues of the correlations.

    Parameters
    ----------
    x : array (n, p), with a constant among its columns or in their span.
    y : array (n,).
    counts : array (m, n), how often each of m samples has each row; all once unless given.

    Source: Golub, Heath and Wahba, Generalized Cross-Validation as a Method for Choosing a Good
        Ridge Parameter.

    >>> x = np.column_stack([np.linspace(-1, 1, 50), np.ones(50)])
    >>> fit_ridge(x, x @ [2.0, 1.0]).round(2)
    array([[2., 1.]])
    """
    rows = len(y)
    counts = np.ones((1, rows)) if counts is None else counts
    constant: Array = np.asarray(np.linalg.lstsq(x, np.ones(rows), rcond=None)[0], dtype=float)
    return np.stack([_fit_one(x, y, count / rows, constant) for count in counts])


def _fit_one(x: Array, y: Array, weight: Array, constant: Array) -> Array:
    """Fit one of `fit_ridge`, rows of weights (n,) that add up to 1."""
    middle = weight @ x
    mean = weight @ y
    centred = x - middle
    variance = weight @ centred**2
    varies = variance > FLAT * variance.max()
    if not varies.any():
        return mean * constant
    deviation = np.sqrt(variance[varies])
    z = centred[:, varies] / deviation
    values, axes = np.linalg.eigh((z * weight[:, None]).T @ z)
    kept = values > FLAT * values[-1]
    values = values[kept]
    axes = axes[:, kept]
    left = y - mean
    slopes = axes.T @ (z.T @ (weight * left))
    shrunk = values / (values + RIDGES[:, None])
    residual = weight @ left**2 - np.sum(slopes**2 / values * (2 * shrunk - shrunk**2), axis=1)
    freedom = 1 - (1 + shrunk.sum(axis=1)) / len(y)
    chosen = int(np.argmin(residual / freedom**2))
    model = np.zeros(x.shape[1])
    model[varies] = axes @ (slopes / (values + RIDGES[chosen])) / deviation
    return np.asarray(model + (mean - middle @ model) * constant)
