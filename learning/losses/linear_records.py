"""An owner's clipped records under any loss of a linear model: all replications of a round in one product per block.

Each record is a line t = a'phi + b in the parameters trained: a = y W x shortened to the public bound and b = y x'centre
for labels, a = W x shortened and b = -(y - x'centre) clipped for numbers. Its gradient is loss'(t) a.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from learning.arrays import Array
from learning.losses.protocols import Slope
from learning.threads import over_blocks

NUMBERS_IN_A_BLOCK = 200_000  # t of a block for all runs, single precision: stays in a core's own cache
MOST_ROWS = 4096  # of a block: what rounding in it can amount to


@dataclass(frozen=True)
class LinearRecords:
    """Records of one owner as training sees them; single precision, which is what the products are made in.

    Parameters
    ----------
    loss: the loss, whose slopes are asked.
    lines: array (n, p + 1) of float32, (a, b) of each record.

    Notes
    -----
    Single precision leaves a relative error near 1e-6 in a mean gradient, far below any noise. Blocks are summed up in
    double precision, so replacing a record changes the rounding of its own block only: by some 1e-4 of what the record
    itself may change. Fitness is always counted in double precision, on the records themselves.
    """

    loss: Slope
    lines: NDArray[np.float32] = field(repr=False)

    @classmethod
    def of(cls, loss: Slope, slopes: Array, constants: Array) -> LinearRecords:
        """From a (n, p) and b (n,)."""
        lines = np.empty((len(constants), slopes.shape[1] + 1), dtype=np.float32)  # filled in place: memory counts
        lines[:, :-1], lines[:, -1] = slopes, constants
        return cls(loss, lines)

    def with_more(self, others: Sequence[LinearRecords]) -> LinearRecords:
        """These and others' records of the same kind as one party's."""
        names, parts = [one.name for one in fields(self) if one.name != "loss"], (self, *others)
        stacked: dict[str, Any] = {name: np.concatenate([getattr(one, name) for one in parts]) for name in names}
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
        blocks = (slice(first, first + count) for first in range(0, self.n_records, count))
        total = np.zeros(points.shape)
        for falls in over_blocks(lambda rows: self.falls(points, rows) @ self.lines[rows], blocks):
            total -= falls
        return total[:, :-1] / self.n_records

    def falls(self, points: NDArray[np.float32], rows: slice) -> NDArray[np.float32]:
        """Minus the slopes of some records at points (runs, p + 1), (runs, rows)."""
        return np.asarray(self.loss.falls(points @ self.lines[rows].T))

    def record_gradient(self, phi: Array, rows: NDArray[np.intp]) -> Array:
        """Gradient of one record per run: (runs, p), rows (runs,) -> (runs, p)."""
        lines = self.lines[rows].astype(np.float64)
        t = np.einsum("rp,rp->r", lines, np.column_stack([phi, np.ones(len(phi))]))
        return self.slopes(t, rows)[:, None] * lines[:, :-1]

    def slopes(self, t: Array, rows: NDArray[np.intp]) -> Array:
        """Slopes at t (runs,) of one record each, (runs,)."""
        return np.asarray(self.loss.derivative(t))
