"""An owner's records whose gradients are clipped, each by itself: whatever the query, none is longer than the radius.

A record of a linear model is a line t = a'phi + b with gradient s a, s = loss'(t). Its norm is |s| |a|, so clipping the
gradient to a radius c is clipping the slope to c/|a|: a number per record that is known before any query. A round costs one
product, one cut and one product per block of records, and no record's gradient is ever formed.

Cut so, slopes still rise with t: training goes along the gradient of a convex cost, each record's loss growing along a
straight line from where its slope is c/|a| (a Huber loss of squared errors).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from learning.arrays import Array
from learning.losses.linear_records import LinearRecords
from learning.losses.protocols import Slope

BLOCK = 2**16  # records whose lengths are counted at once, in double precision


@dataclass(frozen=True)
class ClippedRecords(LinearRecords):
    """Records of one owner, each of whose gradients is shortened to a radius at every query.

    Parameters
    ----------
    loss: the loss, whose slopes are asked.
    lines: array (n, p + 1) of float32, (a, b) of each record, not shortened.
    limits: array (n,) of float32, the largest slope of each: radius/|a|, rounded down.

    Notes
    -----
    Replacing one record moves the mean by at most 2 radius/n in the norm, wherever it is asked: no ball is needed.

    Source: Abadi et al., Deep Learning with Differential Privacy, Algorithm 1; Song, Steinke, Thakkar and Thakurta,
    Evading the Curse of Dimensionality in Unconstrained Private GLMs (of a linear model: gradients of a Huberised loss).

    >>> from learning.losses.losses import LOSSES
    >>> lines = np.array([[3.0, 4.0, -1.0], [0.0, 1.0, -0.25]], dtype=np.float32)
    >>> ClippedRecords.within(1.0, LOSSES["squared"], lines, norm=2).gradient(np.zeros((1, 2))).round(6)
    array([[-0.3 , -0.65]])
    """

    limits: NDArray[np.float32] = field(repr=False)

    @classmethod
    def within(cls, radius: float, loss: Slope, lines: NDArray[np.float32], norm: float) -> ClippedRecords:
        """Records as lines (n, p + 1), their gradients no longer than a radius in a norm."""
        limits = np.empty(len(lines), dtype=np.float32)
        for first in range(0, len(lines), BLOCK):
            rows = slice(first, first + BLOCK)
            lengths = np.linalg.norm(lines[rows, :-1].astype(np.float64), ord=norm, axis=1)
            reach = np.divide(radius, lengths, out=np.full(len(lengths), np.inf), where=lengths > 0)
            limits[rows] = np.nextafter(reach.astype(np.float32), np.float32(0))
        return cls(loss, lines, limits)

    @property
    def shortened_at_start(self) -> int:
        """How many records' gradients are shortened at the start of training, which is public: for the owner only to know.

        At later points the count would depend on everybody's noise; no count of records leaves the owner.
        """
        t = self.lines[:, -1].astype(np.float64)
        return int(np.count_nonzero(np.abs(self.loss.derivative(t)) > self.limits))

    def gradient(self, phi: Array) -> Array:
        """Mean over the records of their clipped gradients at phi: (runs, p) -> (runs, p); runs at one point cost one."""
        if len(phi) > 1 and (phi == phi[0]).all():
            return np.tile(self.gradient(phi[:1]), (len(phi), 1))
        return super().gradient(phi)

    def falls(self, points: NDArray[np.float32], rows: slice) -> NDArray[np.float32]:
        """Minus the slopes at points (runs, p + 1), cut to what each record may have, (runs, rows); so is one that is NaN."""
        falls, limits = super().falls(points, rows), self.limits[rows]
        np.minimum(falls, limits, out=falls)
        return np.asarray(np.fmax(falls, -limits, out=falls))

    def slopes(self, t: Array, rows: NDArray[np.intp]) -> Array:
        """Slopes at t (runs,) of one record each, cut."""
        limits = self.limits[rows].astype(np.float64)
        return np.clip(super().slopes(t, rows), -limits, limits)
