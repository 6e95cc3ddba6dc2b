"""Records of owners as training asks about them: one by one, in batches, clipped, pooled.

Each record is a line t = a'phi + b in the parameters trained: a = y W x shortened to the public
bound and b = y x'centre for labels, a = W x shortened and b = -(y - x'centre) clipped for numbers.
Its gradient is loss'(t) a. All replications of a round take one product per block of records.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from learning.arrays import Array
from learning.losses.statistics import SquaredStatistics
from learning.threads import over_blocks

if TYPE_CHECKING:
    from learning.losses.loss import Loss

ROWS = 2**15  # records of a batch
HELD = 2**16  # records of a block, where a result is made of each
NUMBERS = 2**20  # numbers of records that are stacked at once
NUMBERS_IN_A_BLOCK = 200_000  # t of a block for all runs, in single precision: a core's own cache
MOST_ROWS = 4096  # of a block: they limit its rounding


class GradientOracle(Protocol):
    """An owner's computation on its own clipped records, in phi, before noise."""

    @property
    def n_records(self) -> int: ...

    @property
    def n_parameters(self) -> int: ...

    def gradient(self, phi: Array) -> Array:
        """Mean gradient over the records at phi: (runs, p) -> (runs, p)."""
        ...


class RecordOracle(GradientOracle, Protocol):
    """An oracle that answers for single records too."""

    def record_gradient(self, phi: Array, rows: NDArray[Any]) -> Array:
        """Gradient of one record per run: (runs, p), rows (runs,) -> (runs, p)."""
        ...


def in_batches(parts: Sequence[tuple[Array, ...]]) -> Iterator[tuple[Array, ...]]:
    """Yield arrays of parts (n_l, ...), such as x and y, in batches of about `ROWS` rows.

    >>> [x.tolist() for (x,) in in_batches([(np.arange(2),), (np.arange(3),)])]
    [[0, 1, 0, 1, 2]]
    """
    waiting: list[tuple[Array, ...]] = []
    rows = 0
    for part in parts:
        if waiting and rows + len(part[0]) > ROWS:
            yield join_parts(waiting)
            waiting = []
            rows = 0
        waiting.append(part)
        rows += len(part[0])
    if waiting:
        yield join_parts(waiting)


def join_parts(parts: Sequence[tuple[Array, ...]]) -> tuple[Array, ...]:
    """Concatenate arrays of parts; a single part is returned as it is."""
    return parts[0] if len(parts) == 1 else tuple(map(np.concatenate, zip(*parts, strict=True)))


def row_blocks(count: int, size: int = HELD) -> Iterator[slice]:
    """Yield slices of a number of records, ``size`` at a time, to bound intermediate memory."""
    return (slice(first, first + size) for first in range(0, count, size))


def stack_by_size(
    parts: Sequence[tuple[Array, Array]],
) -> Iterator[tuple[NDArray[np.intp], Array, Array]]:
    """Yield parts of equal size stacked: their numbers (k,), x (k, n, p) and y (k, n).

    >>> parts = [(np.ones((n, 1)), np.full(n, n)) for n in (2, 1, 2)]
    >>> [(which.tolist(), y.tolist()) for which, x, y in stack_by_size(parts)]
    [([1], [[1]]), ([0, 2], [[2, 2], [2, 2]])]
    """
    sizes = np.array([len(y) for _, y in parts])
    for size in np.unique(sizes):
        equal = np.flatnonzero(sizes == size)
        most = max(1, NUMBERS // max(1, parts[equal[0]][0].size))
        for which in np.split(equal, range(most, len(equal), most)):
            x, y = parts[which[0]]
            if len(which) == 1:  # a view, which keeps the order in memory
                yield which, x[None], y[None]
                continue
            x = np.stack([parts[at][0] for at in which])
            y = np.stack([parts[at][1] for at in which])
            yield which, x, y


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

    loss: Loss
    lines: NDArray[np.float32] = field(repr=False)

    @classmethod
    def of(cls, loss: Loss, slopes: Array, constants: Array) -> LinearRecords:
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
        cls, radius: float, loss: Loss, lines: NDArray[np.float32], norm: float
    ) -> ClippedRecords:
        """Make records of lines (n, p + 1), with gradients no longer than a radius in a norm."""
        limits = np.empty(len(lines), dtype=np.float32)
        for rows in row_blocks(len(lines)):
            lengths = np.linalg.norm(lines[rows, :-1].astype(np.float64), ord=norm, axis=1)
            reach = np.divide(radius, lengths, out=np.full(len(lengths), np.inf), where=lengths > 0)
            limits[rows] = np.nextafter(reach.astype(np.float32), np.float32(0))
        return cls(loss, lines, limits)

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

    def second_moments(self, radius: float) -> Array:
        """Mean of aa' over the records, each a no longer than a radius, (p, p)."""
        total = np.zeros((self.n_parameters, self.n_parameters))
        for rows in row_blocks(self.n_records):
            short = self.lines[rows, :-1].astype(np.float64)
            short *= (radius / np.maximum(np.linalg.norm(short, axis=1), radius))[:, None]
            total += short.T @ short
        return total / self.n_records

    def slopes(self, t: Array, rows: NDArray[np.intp]) -> Array:
        """Clipped slopes at t (runs,) of one record each."""
        limits = self.limits[rows].astype(np.float64)
        return np.clip(super().slopes(t, rows), -limits, limits)


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

    >>> from learning.losses.statistics import squared_statistics
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
