"""An owner's records under any loss of a linear model, with or without clipped gradients.

Each record is a line t = a'phi + b in the parameters trained: a = y W x shortened to the public
bound and b = y x'centre for labels, a = W x shortened and b = -(y - x'centre) clipped for numbers.
Its gradient is loss'(t) a. All replications of a round take one product per block of records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from learning.arrays import Array
from learning.losses.parts import row_blocks
from learning.losses.protocols import Slope
from learning.threads import over_blocks

NUMBERS_IN_A_BLOCK = 200_000  # t of a block for all runs, in single precision: a core's own cache
MOST_ROWS = 4096  # of a block: they limit its rounding


@dataclass(frozen=True)
class LinearRecords:
    """Records of one owner in training; single precision, as in the products.

    Parameters
    ----------
    loss: the loss, which gives the slopes.
    lines: array (n, p + 1) of float32, (a, b) of each record.

    Notes
    -----
    Single precision leaves a relative error near 1e-6 in a mean gradient, far below any noise.
    Blocks are summed up in double precision, so replacing a record changes the rounding of its own
    block only: by some 1e-4 of what the record itself may change. Fitness is always counted in
    double precision, on the records themselves.
    """

    loss: Slope
    lines: NDArray[np.float32] = field(repr=False)

    @classmethod
    def of(cls, loss: Slope, slopes: Array, constants: Array) -> LinearRecords:
        """Make records of a (n, p) and b (n,)."""
        lines = np.empty((len(constants), slopes.shape[1] + 1), dtype=np.float32)
        lines[:, :-1] = slopes
        lines[:, -1] = constants
        return cls(loss, lines)

    def with_more(self, others: Sequence[LinearRecords]) -> LinearRecords:
        """Stack these and others' records of the same kind."""
        names = [one.name for one in fields(self) if one.name != "loss"]
        parts = (self, *others)
        stacked: dict[str, Any] = {
            name: np.concatenate([getattr(one, name) for one in parts]) for name in names
        }
        return replace(self, **stacked)

    @property
    def n_records(self) -> int:
        return len(self.lines)

    @property
    def n_parameters(self) -> int:
        return self.lines.shape[1] - 1

    def gradient(self, phi: Array) -> Array:
        """Mean over the records of loss'(t) a at phi: (runs, p) -> (runs, p)."""
        points = np.column_stack([phi, np.ones(len(phi))]).astype(np.float32)
        count = min(max(256, NUMBERS_IN_A_BLOCK // len(phi)), MOST_ROWS)
        total = np.zeros(points.shape)
        for part in over_blocks(
            lambda rows: self.negative_slopes(points, rows) @ self.lines[rows],
            row_blocks(self.n_records, count),
        ):
            total -= part
        return total[:, :-1] / self.n_records

    def negative_slopes(self, points: NDArray[np.float32], rows: slice) -> NDArray[np.float32]:
        """Negative slopes of some records at points (runs, p + 1), (runs, rows)."""
        return np.asarray(self.loss.negative_slopes(points @ self.lines[rows].T))

    def record_gradient(self, phi: Array, rows: NDArray[np.intp]) -> Array:
        """Gradient of one record per run: (runs, p), rows (runs,) -> (runs, p)."""
        lines = self.lines[rows].astype(np.float64)
        t = np.einsum("rp,rp->r", lines, np.column_stack([phi, np.ones(len(phi))]))
        return self.slopes(t, rows)[:, None] * lines[:, :-1]

    def slopes(self, t: Array, rows: NDArray[np.intp]) -> Array:
        """Slopes at t (runs,) of one record each, (runs,)."""
        return np.asarray(self.loss.derivative(t))


@dataclass(frozen=True)
class ClippedRecords(LinearRecords):
    """Records of one owner whose gradients are clipped to a radius at every query.

    Parameters
    ----------
    loss: the loss, which gives the slopes.
    lines: array (n, p + 1) of float32, (a, b) of each record, not shortened.
    limits: array (n,) of float32, the largest slope of each: radius/|a|, rounded down.

    Notes
    -----
    Replacing one record moves the mean by at most 2 radius/n in the norm at any point: no ball is
    needed.

    Source: Abadi et al., Deep Learning with Differential Privacy, Algorithm 1; Song, Steinke,
        Thakkar and Thakurta, Evading the Curse of Dimensionality in Unconstrained Private GLMs (of
        a linear model: gradients of a Huberised loss).

    >>> from learning.losses.losses import LOSSES
    >>> lines = np.array([[3.0, 4.0, -1.0], [0.0, 1.0, -0.25]], dtype=np.float32)
    >>> records = ClippedRecords.within(1.0, LOSSES["squared"], lines, norm=2)
    >>> records.gradient(np.zeros((1, 2))).round(6)
    array([[-0.3 , -0.65]])
    """

    limits: NDArray[np.float32] = field(repr=False)

    @classmethod
    def within(
        cls, radius: float, loss: Slope, lines: NDArray[np.float32], norm: float
    ) -> ClippedRecords:
        """Make records of lines (n, p + 1), with gradients no longer than a radius in a norm."""
        limits = np.empty(len(lines), dtype=np.float32)
        for rows in row_blocks(len(lines)):
            lengths = np.linalg.norm(lines[rows, :-1].astype(np.float64), ord=norm, axis=1)
            reach = np.divide(radius, lengths, out=np.full(len(lengths), np.inf), where=lengths > 0)
            limits[rows] = np.nextafter(reach.astype(np.float32), np.float32(0))
        return cls(loss, lines, limits)

    @property
    def shortened_at_start(self) -> int:
        """Number of gradients clipped at the public start of training, for the owner only.

        At later points the number would depend on all owners' noise; no number of records leaves
        the owner.
        """
        t = self.lines[:, -1].astype(np.float64)
        return int(np.count_nonzero(np.abs(self.loss.derivative(t)) > self.limits))

    def gradient(self, phi: Array) -> Array:
        """Mean clipped gradient at phi: (runs, p) -> (runs, p); runs at one point cost one."""
        if len(phi) > 1 and (phi == phi[0]).all():
            return np.tile(self.gradient(phi[:1]), (len(phi), 1))
        return super().gradient(phi)

    def negative_slopes(self, points: NDArray[np.float32], rows: slice) -> NDArray[np.float32]:
        """Negative slopes, clipped to each record's limit, NaN too, (runs, rows)."""
        falls = super().negative_slopes(points, rows)
        limits = self.limits[rows]
        np.minimum(falls, limits, out=falls)
        return np.asarray(np.fmax(falls, -limits, out=falls))

    def slopes(self, t: Array, rows: NDArray[np.intp]) -> Array:
        """Clipped slopes at t (runs,) of one record each."""
        limits = self.limits[rows].astype(np.float64)
        return np.clip(super().slopes(t, rows), -limits, limits)
