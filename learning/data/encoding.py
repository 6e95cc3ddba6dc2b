"""Columns become features: clipped to public ranges, coded, reduced; nothing private is looked at.

Every number that shapes the encoding (ranges, categories, means, components) comes from the public rows or from the
scenario. Values outside the ranges are clipped to them, and how many is told to the owner only. A cell that is missing, or
cannot be read as what its column is in public, counts as the public fill: a number as the public mean, a category that the
public rows do not show as none of theirs. A record without target counts as the mean public one, with the commoner label:
it moves a model hardly at all, and the number of records stays what everybody knows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from learning.arrays import Array
from learning.data.coding import CategoryCoder, principal_axes
from learning.data.division import Rows
from learning.data.owner_data import OwnerData
from learning.errors import InputError

Columns = Mapping[str, NDArray]
Counts = NDArray[np.intp]
OWN_CATEGORY = "(missing)"
ROWS_AT_A_TIME = 2**12  # as many as processors keep near
OUTERMOST = 0.005  # share of public rows, at either end, that a feature's range may leave out: none up to 200 rows


def clipped(values: Array, low: Array | float, high: Array | float) -> tuple[Array, Counts]:
    """The values (n, ...) within their limits, and how many of each row lay outside, (n,)."""
    outside = (values < low) | (values > high)
    return np.clip(values, low, high), outside.sum(axis=tuple(range(1, outside.ndim)), dtype=np.intp)


@dataclass(frozen=True)
class Numbers:
    """Columns of numbers, scaled from their public ranges to [-1, 1].

    Parameters
    ----------
    names : the columns, k of them.
    low, high : (k,), public ranges.
    fill : (k,), what stands for a missing cell.
    """

    names: tuple[str, ...]
    low: Array
    high: Array
    fill: Array

    def encode(self, columns: Columns, rows: Rows, out: Array | None = None) -> tuple[Array, Counts]:
        """Scaled numbers (n, k) of the given rows, in ``out`` if given, and how many cells of each were clipped."""
        table = np.empty((len(rows), len(self.names))) if out is None else out
        outside = np.zeros(len(rows), dtype=np.intp)
        for place, (name, low, high, fill) in enumerate(zip(self.names, self.low, self.high, self.fill, strict=True)):
            cells = columns[name][rows].astype(float, copy=False)  # a copy, which few passes in place are made over
            lost = np.isnan(cells)
            if lost.any():
                cells[lost] = fill
            if len(cells) and not (low <= cells.min() and cells.max() <= high):
                outside += (cells < low) | (cells > high)
                np.clip(cells, low, high, out=cells)
            cells -= low
            cells *= 2
            cells /= high - low
            cells -= 1
            table[:, place] = cells
        return table, outside


@dataclass(frozen=True)
class Categories:
    """Columns of text, as one column per category but the first, or as whole numbers; an unseen category is coded as none.

    Parameters
    ----------
    coder : what codes them, with the categories of the public rows.
    """

    coder: CategoryCoder

    @property
    def coded_names(self) -> tuple[str, ...]:
        """The names of the coded columns (k,)."""
        return self.coder.coded_names

    @property
    def bound(self) -> Array:
        """Public bound on each coded column (k,)."""
        return self.coder.bound

    def unseen(self, columns: Columns, rows: Rows) -> int:
        """How many cells of the given rows are of no category that the public rows show."""
        return self.coder.unseen(_texts(columns, self.coder.names, rows))

    def encode(self, columns: Columns, rows: Rows) -> Array:
        """Coded categories (n, k) of the given rows."""
        return self.coder.code(_texts(columns, self.coder.names, rows))


def along(axes: Array, raw: Array, centre: Array, spread: Array) -> Array:
    """Rows (n, d), standardised, along axes (k, d): sum_j axes_kj (raw_nj - centre_j) / spread_j, (n, k).

    Term after term, so that a row comes out the same to the last bit whichever rows are coded with it, and on any machine: a
    product of matrices adds up in an order that hangs on both.
    """
    out = np.empty((len(raw), len(axes)))
    for start in range(0, len(raw), ROWS_AT_A_TIME):
        rows = slice(start, start + ROWS_AT_A_TIME)
        columns = (np.ascontiguousarray(raw[rows].T) - centre[:, None]) / spread[:, None]
        total, term = np.zeros((2, len(axes), columns.shape[1]))
        for column, weights in zip(columns, axes.T, strict=True):
            np.multiply(weights[:, None], column, out=term)
            total += term
        out[rows] = total.T
    return out


@dataclass(frozen=True)
class Components:
    """Principal components of the standardised public rows, clipped to the ranges that these show.

    Parameters
    ----------
    centre, spread : (d,), mean and standard deviation of each encoded column.
    axes : (k, d), directions of the components.
    low, high : (k,), ranges of the components.
    """

    centre: Array
    spread: Array
    axes: Array
    low: Array
    high: Array

    def encode(self, raw: Array) -> tuple[Array, Counts]:
        """Components (n, k) of encoded columns (n, d), and how many of each row were clipped."""
        return clipped(along(self.axes, raw, self.centre, self.spread), self.low, self.high)


@dataclass(frozen=True)
class Target:
    """The target column, clipped to its public range and counted from its public centre; ``fill`` where it is missing."""

    name: str
    low: float
    high: float
    centre: float
    fill: float

    @property
    def bound(self) -> float:
        """Public bound on the encoded |y|."""
        return max(self.high - self.centre, self.centre - self.low)

    def encode(self, columns: Columns, rows: Rows) -> tuple[Array, Counts]:
        """Target (n,) of the given rows, and how many cells of each were clipped."""
        y = columns[self.name][rows].astype(float)
        y, outside = clipped(np.where(np.isnan(y), self.fill, y), self.low, self.high)
        return y - self.centre + 0.0, outside  # of two zeros one


@dataclass(frozen=True)
class Encoder:
    """Public facts that turn columns into features: scaled numbers beside coded categories, or their components; then 1.

    Parameters
    ----------
    numbers : the columns of numbers.
    categories : the columns of text.
    target : the target column.
    dropped : names of the columns that are constant in public and therefore carry nothing.
    components : what the columns are reduced to, or None.
    mean : (p,), features of the mean public row, or of the middle of all ranges without public rows.
    """

    numbers: Numbers
    categories: Categories
    target: Target
    dropped: tuple[str, ...]
    components: Components | None = None
    mean: Array = field(default_factory=lambda: np.ones(1), compare=False)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the encoded features (p,), the last of them "1"."""
        if self.components is not None:
            return (*(f"component {i + 1}" for i in range(len(self.components.low))), "1")
        return (*self.numbers.names, *self.categories.coded_names, "1")

    @property
    def n_parameters(self) -> int:
        """How many encoded features there are, p."""
        return len(self.feature_names)

    @property
    def feature_bound(self) -> Array:
        """Public bound on each encoded |x_j|, (p,)."""
        if self.components is not None:
            return np.append(np.maximum(np.abs(self.components.low), np.abs(self.components.high)), 1.0)
        return np.concatenate([np.ones(len(self.numbers.names)), self.categories.bound, [1.0]])

    def coded(self, columns: Columns, rows: Rows, out: Array | None = None) -> tuple[Array, Counts]:
        """Scaled numbers beside coded categories (n, d) of the given rows, and how many cells of each were clipped."""
        count = len(self.numbers.names)
        table = np.empty((len(rows), count + len(self.categories.coded_names))) if out is None else out
        _, outside = self.numbers.encode(columns, rows, table[:, :count])
        table[:, count:] = self.categories.encode(columns, rows)
        return table, outside

    def encode(self, columns: Columns, rows: Rows, order: Literal["C", "F"] = "C") -> tuple[Array, Counts]:
        """Features (n, p) of the given rows, and how many cells of each lay outside the public ranges.

        In memory they lie row by row, or in the order "F" column by column.
        """
        x = np.ones((len(rows), self.n_parameters), order=order)
        if self.components is None:
            return x, self.coded(columns, rows, x[:, :-1])[1]
        raw, outside = self.coded(columns, rows)
        x[:, :-1], beyond = self.components.encode(raw)
        return x, outside + beyond

    def records(self, columns: Columns, rows: Rows, order: Literal["C", "F"] = "C") -> tuple[Array, Array, Counts]:
        """Features (n, p) and target (n,) of the given rows, and how many cells of each were clipped; ``order`` as above."""
        x, outside = self.encode(columns, rows, order)
        unknown = np.isnan(columns[self.target.name][rows].astype(float, copy=False))
        if unknown.any():
            x[unknown] = self.mean
        y, beyond = self.target.encode(columns, rows)
        return x, y, outside + beyond

    def owner(self, name: str, columns: Columns, rows: Rows) -> OwnerData:
        """The encoded records of one owner."""
        return self.owners(columns, {name: rows})[0]

    def owners(self, columns: Columns, held: Mapping[str, Rows]) -> tuple[OwnerData, ...]:
        """The encoded records of every owner, name -> its rows: each record by itself, all of them in one pass."""
        rows, ends = np.concatenate(list(held.values())), np.cumsum([0, *map(len, held.values())])
        x, y, outside = self.records(columns, rows)
        counted = np.concatenate([[0], np.cumsum(outside)])[ends].tolist()
        places = zip(held, pairwise(ends.tolist()), pairwise(counted), strict=True)
        return tuple(OwnerData(name, x[i:j], y[i:j], after - before) for name, (i, j), (before, after) in places)

    def filled(self, columns: Columns, rows: Rows) -> int:
        """How many cells of the given rows count as the public fill; for who may see all rows."""
        numbers = (*self.numbers.names, self.target.name)
        holes = [
            column for column in (columns[name].astype(float, copy=False) for name in numbers) if np.isnan(column).any()
        ]
        unread = sum(int(np.isnan(column[rows]).sum()) for column in holes)
        return unread + self.categories.unseen(columns, rows)


def fit_encoder(
    columns: Columns,
    *,
    target: str,
    features: Sequence[str],
    public: Rows,
    bounds: Mapping[str, tuple[float, float]],
    encoding: str = "onehot",
    components: int | None = None,
    labels: bool = False,
) -> Encoder:
    """Learn the encoding from the public rows and the stated bounds alone.

    Parameters
    ----------
    columns : name -> (n,), float for numbers (nan missing), object for text (None missing).
    target : name of the target column.
    features : names of the columns that become features.
    public : row numbers of the public sample; may be empty when ``bounds`` covers every column.
    bounds : name -> (low, high), public ranges; default: the range of the public rows.
    encoding : "onehot" or "integer" (the papers' coding of categories).
    components : number of principal components, fitted on the standardised public rows, or None.
    labels : whether the target is a label, -1 or +1, and taken as it is.

    Returns
    -------
    Encoder

    Raises
    ------
    InputError
        If a range or a category list would have to be read from private records, or public rows show one label only.
    """
    numeric = [name for name in features if columns[name].dtype != object]
    text = [name for name in features if columns[name].dtype == object]
    if text and not len(public):
        raise InputError(
            "data.public_rows",
            "text columns need public rows that show their categories",
            f"0 public rows and text in {', '.join(map(repr, text))}",
            "Set data.public_rows or data.features.",
        )
    ranges = {name: _range(name, columns, public, bounds, OUTERMOST) for name in numeric}
    goal = _label(target, columns, public) if labels else _number(target, columns, public, bounds)
    flat = [name for name in numeric if not ranges[name][0] < ranges[name][1]]
    flat += [name for name in text if len(set(columns[name][public].tolist())) < 2]
    numbers = _fit_numbers(columns, {name: ends for name, ends in ranges.items() if name not in flat}, public)
    categories = _fit_categories(columns, [name for name in text if name not in flat], public, encoding)
    encoder = Encoder(numbers, categories, goal, tuple(flat))
    if components is not None:
        encoder = replace(encoder, components=_fit_components(encoder.coded(columns, public)[0], components))
    middle = np.append(np.zeros(encoder.n_parameters - 1), 1.0)
    return replace(encoder, mean=encoder.encode(columns, public)[0].mean(axis=0) if len(public) else middle)


def _label(name: str, columns: Columns, public: Rows) -> Target:
    """A target of -1 and +1, taken as it is; public rows must show both."""
    shown = columns[name][public]
    if len(set(shown.tolist())) == 1:
        raise InputError(
            "data.public_rows",
            "must show both values of the target, or the learner has no model of its own to start from",
            f"{shown[0]:+.0f} in all {len(shown):,} public rows",
            "Raise it, or change the seed.",
        )
    return Target(name, -1.0, 1.0, 0.0, 1.0 if shown.sum() > 0 else -1.0)


def _number(name: str, columns: Columns, public: Rows, bounds: Mapping[str, tuple[float, float]]) -> Target:
    """A target that is a number, counted from its mean in public, or from the middle of its range."""
    low, high = _range(name, columns, public, bounds, 0.0)
    y = np.clip(columns[name][public].astype(float), low, high)
    centre = float(y.mean()) if len(public) else float(np.mean((low, high)))
    return Target(name, low, high, centre, centre)


def _fit_numbers(columns: Columns, ranges: Mapping[str, tuple[float, float]], public: Rows) -> Numbers:
    low, high = (np.array([ends[i] for ends in ranges.values()]) for i in (0, 1))
    shown = {name: columns[name][public].astype(float) for name in ranges}
    fill = np.array(
        [np.clip(np.nanmean(v), *ranges[k]) if np.isfinite(v).any() else np.mean(ranges[k]) for k, v in shown.items()]
    )
    return Numbers(tuple(ranges), low, high, fill)


def _fit_categories(columns: Columns, names: Sequence[str], public: Rows, encoding: str) -> Categories:
    if encoding not in ("onehot", "integer"):
        raise InputError("data.encoding", "must be 'onehot' or 'integer'", repr(encoding))
    return Categories(CategoryCoder.of(tuple(names), _texts(columns, names, public), encoding == "integer"))


def _texts(columns: Columns, names: Sequence[str], rows: Rows) -> NDArray:
    """Text columns as one object array (n, k), a missing cell being a category of its own."""
    table = np.column_stack([np.empty((len(rows), 0), dtype=object), *(columns[name][rows] for name in names)])
    table[table == None] = OWN_CATEGORY  # noqa: E711  (elementwise)
    return table


def _fit_components(raw: Array, components: int) -> Components:
    """The first components of encoded public rows (n, d)."""
    if not 1 <= components <= min(raw.shape):
        raise InputError(
            "data.components",
            f"must lie between 1 and {min(raw.shape)}, the smaller of public rows and features",
            components,
            "Lower it, or add public rows.",
        )
    centre, spread = raw.mean(axis=0), raw.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    axes = principal_axes((raw - centre) / spread, components)
    scores = along(axes, raw, centre, spread)
    return Components(centre, spread, axes, scores.min(axis=0), scores.max(axis=0))


def _range(
    name: str, columns: Columns, public: Rows, bounds: Mapping[str, tuple[float, float]], outermost: float
) -> tuple[float, float]:
    """The public range of a column: as stated, or as the public rows show it but for their ``outermost`` part at either end.

    Outliers among many public rows would set the scale of a whole column; where leaving them out leaves nothing (a rare
    yes among noes), the whole range counts.
    """
    if name in bounds:
        return float(bounds[name][0]), float(bounds[name][1])
    if not len(public):
        raise InputError(
            f"data.bounds.{name}",
            "a range must be public, and there is neither a bound nor a public row",
            remedy=f"Add {name} = [low, high] under [data.bounds], or set data.public_rows.",
        )
    values = columns[name][public].astype(float)
    values = values[np.isfinite(values)]
    if not len(values):
        return 0.0, 0.0
    low, high = np.quantile(values, [outermost, 1 - outermost], method="inverted_cdf")
    return (float(low), float(high)) if low < high else (float(values.min()), float(values.max()))
