"""Knots, products and frequencies from public rows, for `learning.data.expansion`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement

import numpy as np
import scipy

from learning.arrays import Array
from learning.data.expansion import LEAST_GAP
from learning.data.feature_kinds import MOST_FREQUENCIES, FeatureKind
from learning.randomness import Streams

FLAT = 1e-8  # share of a product's variance below which the other features tell it
ROWS_PER_FREQUENCY = 20  # public rows for each frequency, where their number is not stated
COMPARED = 1000  # public rows at most whose distances set a bandwidth


def fit_knots(values: Array, pieces: int) -> Array:
    """Knots at quantiles of public values (n,) on [-1, 1], both ends among them; () for two values.

    >>> fit_knots(np.array([-0.5, -0.4, 0.0, 0.3, 0.6, 0.6]), 2).tolist()
    [-1.0, 0.0, 1.0]
    """
    if pieces == 0 or len(np.unique(values)) < 3:
        return np.empty(0)
    inner = np.quantile(values, np.arange(1, pieces) / pieces, method="inverted_cdf")
    inner = np.unique(inner[(inner > LEAST_GAP - 1) & (inner < 1 - LEAST_GAP)])
    apart = np.diff(inner, prepend=-1.0) >= LEAST_GAP
    return np.concatenate([[-1.0], inner[apart], [1.0]])


def list_pairs(coded: Array, whose: Sequence[int]) -> list[tuple[int, int]]:
    """List products to choose from: of columns (n, d) that do not tell each other.

    Parameters
    ----------
    coded : the coded columns of public rows.
    whose : number of the table's column that each comes from, (d,).
    """
    several = [len(np.unique(column)) > 2 for column in coded.T]
    return [
        (one, other)
        for one, other in combinations_with_replacement(range(len(whose)), 2)
        if whose[one] != whose[other] or (one == other and several[one])
    ]


def choose_pairs(
    features: Array, coded: Array, pairs: Sequence[tuple[int, int]], y: Array, most: int
) -> tuple[tuple[int, int], ...]:
    """Choose products by forward selection on public rows, the surest first.

    With z a product, as far as least squares on the features and the products before it does not
    tell it, and r the residual, its square of t is (z'r)^2/sum (z r)^2. That is at most the number
    of rows that carry z: a few rows with large residuals choose nothing. The last is the one whose
    square is above 2 ln m, m the number of candidates: of as many products that tell nothing the
    largest comes up to that.

    Parameters
    ----------
    features : array (n, k), features beside the products.
    coded : array (n, d), coded columns.
    pairs : the candidates.
    y : array (n,), the target.
    most : number of products beyond which none is added.

    Source: Foster and George, The Risk Inflation Criterion for Multiple Regression; White, A
        Heteroskedasticity-Consistent Covariance Matrix Estimator (the square of t).
    """
    if not pairs:
        return ()
    places = np.array(pairs)
    made = coded[:, places[:, 0]] * coded[:, places[:, 1]]
    basis = np.linalg.qr(np.column_stack([np.ones(len(y)), features]))[0]
    spread = np.linalg.norm(made - made.mean(axis=0), axis=0)
    for _ in range(2):  # once leaves rounding errors
        made = made - basis @ (basis.T @ made)
    left = y - basis @ (basis.T @ y)
    chosen: list[int] = []
    while len(chosen) < min(most, len(y) - basis.shape[1] - 1):
        size = np.linalg.norm(made, axis=0)
        error = (made**2).T @ left**2
        sure = np.where(size > FLAT**0.5 * spread, (left @ made) ** 2, 0.0)
        sure = sure / np.where(error > 0, error, 1.0)
        best = int(sure.argmax())
        if sure[best] <= 2 * np.log(len(pairs)):
            break
        chosen.append(best)
        direction = made[:, best] / size[best]
        left = left - direction * (direction @ left)
        made = made - np.outer(direction, direction @ made)
        made[:, chosen] = 0.0
    return tuple(pairs[one] for one in chosen)


def draw_frequencies(coded: Array, kind: FeatureKind) -> Array:
    """Draw frequencies (m, d) of a kernel on columns (n, d) in units of their public deviations."""
    spread = coded.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    count = kind.frequencies or max(1, min(MOST_FREQUENCIES, len(coded) // ROWS_PER_FREQUENCY))
    rng = Streams(kind.seed, "data").rng("kernel")
    drawn = rng.normal(size=(count, coded.shape[1]))
    return np.asarray(drawn / (kind.bandwidth or median_distance(coded / spread)) / spread)


def median_distance(rows: Array) -> float:
    """Median distance of two of the rows (n, d) that differ; of `COMPARED` rows, evenly spaced.

    >>> median_distance(np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 0.0], [0.0, 7.0]]))
    5.0
    """
    found = scipy.spatial.distance.pdist(rows[:: -(-len(rows) // COMPARED)])
    found = found[found > 0]
    return float(np.median(found)) if len(found) else 1.0
