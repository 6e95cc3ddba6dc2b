"""Encoding of columns as features: clipped to public ranges, coded, reduced.

Every number that shapes the encoding (ranges, categories, means, components) comes from the public
rows or from the scenario. Values outside the ranges are clipped to them; only the owner learns how
many. A cell that is missing, or unlike its public column, counts as the public fill: a number as
the public mean, a category that too few public rows show as none of theirs. A record without
target counts as the mean public one, with the commoner label: it hardly moves a model, and the
number of records stays public.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from learning.arrays import Array
from learning.data.expansion import Expansion, read_expansion
from learning.data.rows import Rows

Columns = Mapping[str, NDArray]
Counts = NDArray[np.intp]
Bounds = Mapping[str, tuple[float, float]]
OWN_CATEGORY = "(missing)"
ROWS_AT_A_TIME = 2**12  # rows of a block near the processor


def clip_and_count(values: Array, low: Array | float, high: Array | float) -> tuple[Array, Counts]:
    """Clip values (n, ...) to their limits, and count those of each row outside, (n,)."""
    outside = (values < low) | (values > high)
    counts = outside.sum(axis=tuple(range(1, outside.ndim)), dtype=np.intp)
    return np.clip(values, low, high), counts


@dataclass(frozen=True)
class Numbers:
    """Columns of numbers, clipped to public ranges, which are scaled to [-reach, reach].

    Parameters
    ----------
    names : the columns, k of them.
    low, high : (k,), public ranges.
    fill : (k,), values of missing cells.
    reach : (k,), at least 1: a range that was widened keeps the scale that it had (`widen_ranges`).
    """

    names: tuple[str, ...]
    low: Array
    high: Array
    fill: Array
    reach: Array

    def encode(self, columns: Columns, rows: Rows, out: Array) -> Counts:
        """Scale the numbers of rows into ``out`` (n, k), and count clipped cells of each row."""
        outside = np.zeros(len(rows), dtype=np.intp)
        limits = zip(self.names, self.low, self.high, self.fill, self.reach, strict=True)
        for place, (name, low, high, fill, reach) in enumerate(limits):
            cells = columns[name][rows].astype(float, copy=False)  # a copy, changed in place
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
            cells *= reach
            out[:, place] = cells
        return outside


def stack_texts(columns: Columns, names: Sequence[str], rows: Rows) -> NDArray:
    """Stack text columns to an object array (n, k); missing cells are a category of their own."""
    none = np.empty((len(rows), 0), dtype=object)
    table = np.column_stack([none, *(columns[name][rows] for name in names)])
    table[table == None] = OWN_CATEGORY  # noqa: E711  (elementwise)
    return table


@dataclass(frozen=True)
class Categories:
    """Columns of texts as one column per category but the first, or as places among categories.

    Parameters
    ----------
    names : names of the columns, (k,).
    categories : categories of each column in order; other texts are coded by zeros, or by -1.
    places : whether a text becomes its place, and not a column of its own.

    >>> coder = Categories(("kind",), (np.array(["a", "b", "c"]),))
    >>> coder.encode({"kind": np.array(["c", "a", "z"], dtype=object)}, np.arange(3))
    array([[0., 1.],
           [0., 0.],
           [0., 0.]])
    """

    names: tuple[str, ...]
    categories: tuple[NDArray, ...] = field(repr=False)
    places: bool = False

    @property
    def width(self) -> int:
        """Number of coded columns, d."""
        if self.places:
            return len(self.names)
        return sum(len(categories) - 1 for categories in self.categories)

    def encode(self, columns: Columns, rows: Rows) -> Array:
        """Code the texts of the given rows as numbers (n, d)."""
        texts = stack_texts(columns, self.names, rows)
        coded = [np.empty((len(texts), 0))]
        for at, categories in zip(self.find_places(texts), self.categories, strict=True):
            coded.append(
                at[:, None] if self.places else at[:, None] == np.arange(1, len(categories))
            )
        return np.column_stack(coded).astype(float, copy=False)

    def find_places(self, texts: NDArray) -> list[Array]:
        """Place of each text (n,) among its categories, from 0, or -1, for each column."""
        found = []
        for column, categories in zip(texts.T, self.categories, strict=True):
            place = {one: at for at, one in enumerate(categories.tolist())}
            found.append(np.array([place.get(text, -1) for text in column.tolist()], dtype=float))
        return found


def project_rows(axes: Array, raw: Array, centre: Array, spread: Array) -> Array:
    """Project standardised rows (n, d) on axes: sum_j axes_kj (raw_nj - centre_j)/spread_j.

    Terms are added one by one, so a row has the same bits whichever rows are coded with it, on any
    machine: the order of sums in a product of matrices depends on both.
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
    """Principal components of the standardised public rows, clipped to their public ranges.

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
        """Components (n, k) of encoded columns (n, d), and numbers of clipped ones, (n,)."""
        found = project_rows(self.axes, raw, self.centre, self.spread)
        return clip_and_count(found, self.low, self.high)


@dataclass(frozen=True)
class Target:
    """The target column, clipped to its public range, relative to its public centre.

    Missing cells have the value ``fill``.
    """

    name: str
    low: float
    high: float
    centre: float
    fill: float

    @property
    def bound(self) -> float:
        """Public bound on the encoded |y|."""
        return max(self.high - self.centre, self.centre - self.low)

    @property
    def ends(self) -> tuple[float, float]:
        """Public range of the encoded target, to which predictions of numbers are held."""
        return self.low - self.centre, self.high - self.centre

    def encode(self, columns: Columns, rows: Rows) -> tuple[Array, Counts]:
        """Target (n,) of the given rows, and numbers of clipped cells, (n,)."""
        y = columns[self.name][rows].astype(float)
        y, outside = clip_and_count(np.where(np.isnan(y), self.fill, y), self.low, self.high)
        return y - self.centre + 0.0, outside  # -0.0 becomes 0.0


@dataclass(frozen=True)
class Encoder:
    """Public facts of features: scaled numbers and coded categories, what is made of them; then 1.

    Parameters
    ----------
    numbers : the columns of numbers.
    categories : the columns of text.
    target : the target column.
    dropped : names of the columns that add nothing to the others in public, constants among them.
    components : the principal components, or None.
    expansion : splines, bins, products and kernel features of the columns before, or None.
    mean : (p,), features of the mean public row, or of the middle of all ranges without public
        rows.
    """

    numbers: Numbers
    categories: Categories
    target: Target
    dropped: tuple[str, ...]
    components: Components | None = None
    expansion: Expansion | None = None
    mean: Array = field(default_factory=lambda: np.ones(1), compare=False)

    @property
    def targets(self) -> tuple[Target, ...]:
        """All target columns; one unless there are several."""
        return (self.target,)

    @property
    def n_parameters(self) -> int:
        """Number of encoded features, p."""
        if self.components is not None:
            return len(self.components.low) + 1
        if self.expansion is not None:
            return len(self.expansion.kept) + 1
        return len(self.numbers.names) + self.categories.width + 1

    def code_columns(
        self, columns: Columns, rows: Rows, out: Array | None = None
    ) -> tuple[Array, Counts]:
        """Scaled numbers and coded categories (n, d), and numbers of clipped cells, (n,)."""
        count = len(self.numbers.names)
        if out is None:
            out = np.empty((len(rows), count + self.categories.width))
        outside = self.numbers.encode(columns, rows, out[:, :count])
        out[:, count:] = self.categories.encode(columns, rows)
        return out, outside

    def encode(
        self, columns: Columns, rows: Rows, order: Literal["C", "F"] = "C"
    ) -> tuple[Array, Counts]:
        """Features (n, p) of rows in a memory order, and numbers of clipped cells, (n,)."""
        x = np.ones((len(rows), self.n_parameters), order=order)
        if self.components is None and self.expansion is None:
            return x, self.code_columns(columns, rows, x[:, :-1])[1]
        raw, outside = self.make_columns(columns, rows)
        if self.components is None:
            x[:, :-1] = raw
            return x, outside
        x[:, :-1], beyond = self.components.encode(raw)
        return x, outside + beyond

    def make_columns(self, columns: Columns, rows: Rows) -> tuple[Array, Counts]:
        """Features (n, d) before any reduction to components, and clipped cells of each, (n,)."""
        raw, outside = self.code_columns(columns, rows)
        return raw if self.expansion is None else self.expansion.encode(raw), outside

    def records(
        self, columns: Columns, rows: Rows, order: Literal["C", "F"] = "C"
    ) -> tuple[Array, Array, Counts]:
        """Features (n, p) and target (n,) of rows, and numbers of clipped cells, (n,)."""
        x, outside = self.encode(columns, rows, order)
        unknown = np.isnan(columns[self.target.name][rows].astype(float, copy=False))
        if unknown.any():
            x[unknown] = self.mean
        y, beyond = self.target.encode(columns, rows)
        return x, y, outside + beyond


def read_encoder(content: Mapping[str, Any]) -> Encoder:
    """Make the encoder of a description; a KeyError or TypeError for another content."""
    target = {name: value for name, value in content["target"].items() if name != "labels"}
    numbers = content["numbers"]
    coded = content["categories"]
    parts = content["components"]
    numbers = {"reach": [1.0] * len(numbers["names"]), **numbers}  # none in older files
    ranges = (np.array(numbers[name], dtype=float) for name in ("low", "high", "fill", "reach"))
    categories = tuple(np.array(one, dtype=object) for one in coded["categories"])
    components = None
    if parts is not None:
        components = Components(**{name: np.array(values) for name, values in parts.items()})
    expansion = content.get("expansion")
    return Encoder(
        Numbers(tuple(numbers["names"]), *ranges),
        Categories(tuple(coded["names"]), categories, coded["places"]),
        Target(**target),
        tuple(content["constant_columns"]),
        components,
        None if expansion is None else read_expansion(expansion),
        np.array(content["mean"]),
    )
