"""Several owners' records as one party's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np
from numpy.typing import NDArray

from learning.arrays import Array
from learning.losses.linear_records import LinearRecords
from learning.losses.protocols import GradientOracle, RecordOracle
from learning.losses.squared import SquaredStatistics


@dataclass(frozen=True)
class Joint:
    """Several owners' records with the mean over all of them; no record leaves its owner."""

    parts: tuple[GradientOracle, ...] = field(repr=False)

    @property
    def n_records(self) -> int:
        return sum(part.n_records for part in self.parts)

    @property
    def n_parameters(self) -> int:
        return self.parts[0].n_parameters

    def gradient(self, phi: Array) -> Array:
        """Mean gradient over all records at phi: (runs, p) -> (runs, p)."""
        total = sum(part.n_records * part.gradient(phi) for part in self.parts)
        return np.asarray(total / self.n_records)

    def record_gradient(self, phi: Array, rows: NDArray[np.intp]) -> Array:
        """Gradient of one record per run, rows (runs,) counted through all parts."""
        gradient = np.empty(phi.shape)
        first = 0
        for part in cast(tuple[RecordOracle, ...], self.parts):
            asked = (first <= rows) & (rows < first + part.n_records)
            if asked.any():
                gradient[asked] = part.record_gradient(phi[asked], rows[asked] - first)
            first += part.n_records
        return gradient


def pool_records(records: Sequence[GradientOracle]) -> GradientOracle:
    """Pool the records of several owners, such as for one party that trains on all of them.

    Sums of squared loss are added, lines of one loss stacked, and other records averaged.

    Parameters
    ----------
    records : of each owner, at least one.

    Source: Kang et al., Weighted Distributed Differential Privacy ERM, Experiments: the centralised
        method.

    >>> from learning.losses.squared import squared_statistics
    >>> one = squared_statistics(np.eye(2), np.ones(2))
    >>> pool_records([one, squared_statistics(np.ones((3, 2)), np.ones(3))]).n_records
    5
    """
    sums = [one for one in records if isinstance(one, SquaredStatistics)]
    if len(sums) == len(records):
        return sum(sums[1:], start=sums[0])
    lines = [one for one in records if isinstance(one, LinearRecords)]
    if len(lines) == len(records) and len({(type(one), id(one.loss)) for one in lines}) == 1:
        return lines[0].with_more(lines[1:])
    return Joint(tuple(records))
