"""Several owners' records as one party's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from learning.arrays import Array
from learning.losses.linear_records import LinearRecords
from learning.losses.protocols import GradientOracle
from learning.losses.squared import SquaredStatistics


@dataclass(frozen=True)
class Joint:
    """Several owners' records, answering as one: the mean over all of them. No record leaves its owner for that."""

    parts: tuple[GradientOracle, ...] = field(repr=False)

    @property
    def n_records(self) -> int:
        return sum(part.n_records for part in self.parts)

    @property
    def n_parameters(self) -> int:
        return self.parts[0].n_parameters

    def gradient(self, phi: Array) -> Array:
        """Mean over all records of the gradient at phi: (runs, p) -> (runs, p)."""
        total = sum(part.n_records * part.gradient(phi) for part in self.parts)
        return np.asarray(total / self.n_records)

    def record_gradient(self, phi: Array, rows: NDArray[np.intp]) -> Array:
        """Gradient of one record per run, rows (runs,) counted through all parts; of records that answer singly."""
        ends = np.cumsum([part.n_records for part in self.parts])
        gradient = np.empty(phi.shape)
        for part, end in zip(self.parts, ends, strict=True):
            asked = (end - part.n_records <= rows) & (rows < end)
            if asked.any():
                gradient[asked] = part.record_gradient(phi[asked], rows[asked] - end + part.n_records)  # type: ignore[attr-defined]
        return gradient


def together(records: Sequence[GradientOracle]) -> GradientOracle:
    """Records of several owners as one party's, such as one that trains on all of them.

    Added up where all are sums of squared loss, stacked where all are lines of one loss, else asked one by one and averaged.

    Parameters
    ----------
    records : of each owner, at least one.

    Source: Kang et al., Weighted Distributed Differential Privacy ERM, Experiments: the centralised method.

    >>> from learning.losses.squared import squared_statistics
    >>> together([squared_statistics(np.eye(2), np.ones(2)), squared_statistics(np.ones((3, 2)), np.ones(3))]).n_records
    5
    """
    sums = [one for one in records if isinstance(one, SquaredStatistics)]
    if len(sums) == len(records):
        return sum(sums[1:], start=sums[0])
    lines = [one for one in records if isinstance(one, LinearRecords)]
    if len(lines) == len(records) and all(one.loss is lines[0].loss and type(one) is type(lines[0]) for one in lines):
        return lines[0].with_more(lines[1:])
    return Joint(tuple(records))
