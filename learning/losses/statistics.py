"""Sufficient statistics of records under squared loss."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from learning.arrays import Array


@dataclass(frozen=True)
class SquaredStatistics:
    """Sufficient statistics of n records: sums of xx', xy and y^2; a sum has both their records.

    mean loss(theta) = theta' A theta - 2 b'theta + c with A = sum xx'/n, b = sum xy/n, c = sum
    y^2/n. Where ``xy`` holds those of several targets, one after another, ``xx`` holds for each.
    """

    n_records: int
    xx: Array = field(repr=False)
    xy: Array = field(repr=False)
    yy: float = field(repr=False)

    def __add__(self, other: SquaredStatistics) -> SquaredStatistics:
        return SquaredStatistics(
            self.n_records + other.n_records,
            self.xx + other.xx,
            self.xy + other.xy,
            self.yy + other.yy,
        )

    def __mul__(self, factor: float) -> SquaredStatistics:
        """As many records, each weighted by a factor."""
        return replace(self, xx=factor * self.xx, xy=factor * self.xy, yy=factor * self.yy)

    @property
    def n_parameters(self) -> int:
        return len(self.xy)

    @cached_property
    def hessian(self) -> Array:
        """Hessian of the mean loss, 2 A, (p, p); of several targets a block for each."""
        block = 2 * self.xx / self.n_records
        return repeat_block(block, len(self.xy) // len(block))

    @cached_property
    def linear(self) -> Array:
        """Negative gradient at zero, 2 b, (p,)."""
        return 2 * self.xy / self.n_records

    def gradient(self, theta: Array) -> Array:
        """Gradient of the mean loss at theta (..., p)."""
        return theta @ self.hessian - self.linear

    def mean_loss(self, theta: Array) -> Array:
        """Mean loss at theta (..., p)."""
        quadratic = 0.5 * np.einsum("...i,ij,...j->...", theta, self.hessian, theta)
        return quadratic - theta @ self.linear + self.yy / self.n_records


def squared_statistics(x: Array, y: Array) -> SquaredStatistics:
    """Sum xx', xy and y^2 over the records."""
    return SquaredStatistics(len(y), x.T @ x, x.T @ y, float(y @ y))


def share_moments(sums: SquaredStatistics, targets: int) -> SquaredStatistics:
    """Statistics whose xx' is the mean over the blocks of several targets.

    With record i of the k rows (x_j, u_j) in place of another, the squared distance of scores and
    of c times the moments is at most the sum over j of |change of u_j x_j|^2 + c^2/k |change of
    x_j x_j'|^2, since the square of a mean is at most the mean of squares. By `noise_stretch` each
    part is at most (2 h stretch(t))^2 for c/sqrt(k) = 2 h t/R^2. So the release is that of one
    target with h sqrt(k) for h (`Scores.joint_bound`), and moments cost as much as those of one.

    >>> x, y = np.kron(np.eye(2), [[1.0, 3.0]]), np.ones(2)
    >>> share_moments(squared_statistics(x, y), 2).xx.tolist()
    [[1.0, 3.0], [3.0, 9.0]]
    """
    return replace(sums, xx=target_blocks(sums.xx, targets).mean(axis=-3))


def mean_of_blocks(matrix: Array, targets: int) -> Array:
    """Matrix (k p, k p) that has the mean of its targets' blocks for each of them, and no other."""
    if targets == 1:
        return matrix
    return repeat_block(target_blocks(matrix, targets).mean(axis=-3), targets)


def repeat_block(block: Array, targets: int) -> Array:
    """Matrices (..., k p, k p) with a block (..., p, p) for each of k targets, and 0 elsewhere."""
    return block if targets == 1 else np.asarray(np.kron(np.eye(targets), block), dtype=float)


def target_blocks(matrix: Array, targets: int) -> Array:
    """Blocks of each target on the diagonal of matrices (..., k p, k p), (..., k, p, p)."""
    width = matrix.shape[-1] // targets
    cut = matrix.reshape(*matrix.shape[:-2], targets, width, targets, width)
    return np.einsum("...kikj->...kij", cut)


def weighted_statistics(x: Array, y: Array, counted: Array) -> SquaredStatistics:
    """Statistics of records with weights ``counted`` (n,)."""
    heavy = counted[:, None] * x
    return SquaredStatistics(len(y), heavy.T @ x, heavy.T @ y, float((counted * y) @ y))
