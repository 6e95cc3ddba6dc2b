"""Encoding of columns as features: clipped to public ranges, coded, reduced.

Every number that shapes the encoding (ranges, categories, means, components) comes from the public
rows or from the scenario. Values outside the ranges are clipped to them; only the owner learns how
many. A cell that is missing, or unlike its public column, counts as the public fill: a number as
the public mean, a category that the public rows do not show as none of theirs. A record without
target counts as the mean public one, with the commoner label: it hardly moves a model, and the
number of records stays public.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from learning.arrays import Array
from learning.data.coding import CategoryCoder, principal_axes
from learning.data.division import Rows
from learning.data.owner_data import OwnerData
from learning.errors import InputError

Columns = Mapping[str, NDArray]
Counts = NDArray[np.intp]
Bounds = Mapping[str, tuple[float, float]]
OWN_CATEGORY = "(missing)"
ROWS_AT_A_TIME = 2**12  # rows of a block near the processor
OUTERMOST = 0.005  # share of public rows, at either end, outside a feature's range


def clip_and_count(values: Array, low: Array | float, high: Array | float) -> tuple[Array, Counts]:
    """Clip values (n, ...) to their limits, and count those of each row outside, (n,)."""
    outside = (values < low) | (values > high)
    counts = outside.sum(axis=tuple(range(1, outside.ndim)), dtype=np.intp)
    return np.clip(values, low, high), counts


@dataclass(frozen=True)
class Numbers:
    """Columns of numbers, scaled from their public ranges to [-1, 1].

    Parameters
    ----------
    names : the columns, k of them.
    low, high : (k,), public ranges.
    fill : (k,), values of missing cells.
    """

    names: tuple[str, ...]
    low: Array
    high: Array
    fill: Array

    def encode(
        self, columns: Columns, rows: Rows, out: Array | None = None
    ) -> tuple[Array, Counts]:
        """Scale numbers (n, k) of rows, in ``out`` if given; count clipped cells of each row."""
        table = np.empty((len(rows), len(self.names))) if out is None else out
        outside = np.zeros(len(rows), dtype=np.intp)
        limits = zip(self.names, self.low, self.high, self.fill, strict=True)
        for place, (name, low, high, fill) in enumerate(limits):
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
            table[:, place] = cells
        return table, outside


@dataclass(frozen=True)
class Categories:
    """Columns of text; an unseen category is coded as none.

    Parameters
    ----------
    coder : their coder, with the categories of the public rows.
    """

    coder: CategoryCoder

    @property
    def coded_names(self) -> tuple[str, ...]:
        """Names of the coded columns (k,)."""
        return self.coder.coded_names

    @property
    def bound(self) -> Array:
        """Public bound on each coded column (k,)."""
        return self.coder.bound

    def count_unseen(self, columns: Columns, rows: Rows) -> int:
        """Count the cells of the given rows in no public category."""
        return self.coder.count_unseen(_stack_texts(columns, self.coder.names, rows))

    def encode(self, columns: Columns, rows: Rows) -> Array:
        """Code categories (n, k) of the given rows."""
        return self.coder.code_texts(_stack_texts(columns, self.coder.names, rows))


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

    def encode(self, columns: Columns, rows: Rows) -> tuple[Array, Counts]:
        """Target (n,) of the given rows, and numbers of clipped cells, (n,)."""
        y = columns[self.name][rows].astype(float)
        y, outside = clip_and_count(np.where(np.isnan(y), self.fill, y), self.low, self.high)
        return y - self.centre + 0.0, outside  # -0.0 becomes 0.0


@dataclass(frozen=True)
class Encoder:
    """Public facts of features: scaled numbers and coded categories, or their components; then 1.

    Parameters
    ----------
    numbers : the columns of numbers.
    categories : the columns of text.
    target : the target column.
    dropped : names of the columns that are constant in public and therefore carry nothing.
    components : the principal components, or None.
    mean : (p,), features of the mean public row, or of the middle of all ranges without public
        rows.
    """

    numbers: Numbers
    categories: Categories
    target: Target
    dropped: tuple[str, ...]
    components: Components | None = None
    mean: Array = field(default_factory=lambda: np.ones(1), compare=False)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the encoded features (p,), the last of them "1"."""
        if self.components is not None:
            return (*(f"component {i + 1}" for i in range(len(self.components.low))), "1")
        return (*self.numbers.names, *self.categories.coded_names, "1")

    @property
    def n_parameters(self) -> int:
        """Number of encoded features, p."""
        return len(self.feature_names)

    @property
    def feature_bound(self) -> Array:
        """Public bound on each encoded |x_j|, (p,)."""
        if self.components is not None:
            largest = np.maximum(np.abs(self.components.low), np.abs(self.components.high))
            return np.append(largest, 1.0)
        return np.concatenate([np.ones(len(self.numbers.names)), self.categories.bound, [1.0]])

    def code_columns(
        self, columns: Columns, rows: Rows, out: Array | None = None
    ) -> tuple[Array, Counts]:
        """Scaled numbers and coded categories (n, d), and numbers of clipped cells, (n,)."""
        count = len(self.numbers.names)
        if out is None:
            out = np.empty((len(rows), count + len(self.categories.coded_names)))
        _, outside = self.numbers.encode(columns, rows, out[:, :count])
        out[:, count:] = self.categories.encode(columns, rows)
        return out, outside

    def encode(
        self, columns: Columns, rows: Rows, order: Literal["C", "F"] = "C"
    ) -> tuple[Array, Counts]:
        """Features (n, p) of rows in a memory order, and numbers of clipped cells, (n,)."""
        x = np.ones((len(rows), self.n_parameters), order=order)
        if self.components is None:
            return x, self.code_columns(columns, rows, x[:, :-1])[1]
        raw, outside = self.code_columns(columns, rows)
        x[:, :-1], beyond = self.components.encode(raw)
        return x, outside + beyond

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

    def encode_owner(self, name: str, columns: Columns, rows: Rows) -> OwnerData:
        """Encode the records of one owner."""
        return self.encode_owners(columns, {name: rows})[0]

    def encode_owners(self, columns: Columns, held: Mapping[str, Rows]) -> tuple[OwnerData, ...]:
        """Encode the records of every owner, name -> its rows, in one pass."""
        rows = np.concatenate(list(held.values()))
        ends = np.cumsum([0, *map(len, held.values())])
        x, y, outside = self.records(columns, rows)
        counted = np.concatenate([[0], np.cumsum(outside)])[ends].tolist()
        spans = zip(held, pairwise(ends.tolist()), pairwise(counted), strict=True)
        return tuple(
            OwnerData(name, x[i:j], y[i:j], after - before)
            for name, (i, j), (before, after) in spans
        )

    def count_filled(self, columns: Columns, rows: Rows) -> int:
        """Count the cells of the given rows that count as the public fill."""
        missing = 0
        for name in (*self.numbers.names, self.target.name):
            holes = np.isnan(columns[name].astype(float, copy=False))
            if holes.any():
                missing += int(holes[rows].sum())
        return missing + self.categories.count_unseen(columns, rows)


def fit_encoder(
    columns: Columns,
    *,
    target: str,
    features: Sequence[str],
    public: Rows,
    bounds: Bounds,
    encoding: str = "onehot",
    components: int | None = None,
    labels: bool = False,
) -> Encoder:
    """Fit the encoding to the public rows and the stated bounds alone.

    Parameters
    ----------
    columns : name -> (n,), float for numbers (nan missing), object for text (None missing).
    target : name of the target column.
    features : names of the columns that become features.
    public : row numbers of the public sample; may be empty when ``bounds`` covers every column.
    bounds : name -> (low, high), public ranges; default: the range of the public rows.
    encoding : "onehot" or "integer" (the papers' coding of categories).
    components : number of principal components, fitted on the standardised public rows, or None.
    labels : whether the target is a label, -1 or +1, used as it is.

    Raises
    ------
    InputError
        If a range or a category list would have to be read from private records, or public rows
        show one label only.
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
    ranges = {name: _public_range(name, columns, public, bounds, OUTERMOST) for name in numeric}
    goal = (
        _label_target(target, columns, public)
        if labels
        else _number_target(target, columns, public, bounds)
    )
    flat = [name for name in numeric if not ranges[name][0] < ranges[name][1]]
    flat += [name for name in text if len(set(columns[name][public].tolist())) < 2]
    numbers = _fit_numbers(columns, {k: v for k, v in ranges.items() if k not in flat}, public)
    text = [name for name in text if name not in flat]
    categories = _fit_categories(columns, text, public, encoding)
    encoder = Encoder(numbers, categories, goal, tuple(flat))
    if components is not None:
        raw, _ = encoder.code_columns(columns, public)
        encoder = replace(encoder, components=_fit_components(raw, components))
    mean = np.append(np.zeros(encoder.n_parameters - 1), 1.0)
    if len(public):
        mean = encoder.encode(columns, public)[0].mean(axis=0)
    return replace(encoder, mean=mean)


def describe_encoder(encoder: Encoder) -> dict[str, Any]:
    """Describe an encoder by dicts, lists, texts and numbers, for a model or a contract."""
    coder = encoder.categories.coder
    numbers = encoder.numbers
    components = None
    if encoder.components is not None:
        parts = asdict(encoder.components)
        components = {name: array.tolist() for name, array in parts.items()}
    return {
        "target": asdict(encoder.target),
        "numbers": {
            "names": list(numbers.names),
            "low": numbers.low.tolist(),
            "high": numbers.high.tolist(),
            "fill": numbers.fill.tolist(),
        },
        "categories": {
            "names": list(coder.names),
            "categories": [one.tolist() for one in coder.categories],
            "places": coder.places,
        },
        "components": components,
        "constant_columns": list(encoder.dropped),
        "mean": encoder.mean.tolist(),
    }


def read_encoder(content: Mapping[str, Any]) -> Encoder:
    """Make the encoder of a description; a KeyError or TypeError for another content."""
    target = {name: value for name, value in content["target"].items() if name != "labels"}
    numbers = content["numbers"]
    coded = content["categories"]
    parts = content["components"]
    ranges = (np.array(numbers[name], dtype=float) for name in ("low", "high", "fill"))
    categories = tuple(np.array(one, dtype=object) for one in coded["categories"])
    components = None
    if parts is not None:
        components = Components(**{name: np.array(values) for name, values in parts.items()})
    return Encoder(
        Numbers(tuple(numbers["names"]), *ranges),
        Categories(CategoryCoder(tuple(coded["names"]), categories, coded["places"])),
        Target(**target),
        tuple(content["constant_columns"]),
        components,
        np.array(content["mean"]),
    )


def _label_target(name: str, columns: Columns, public: Rows) -> Target:
    """Make the target of labels -1 and +1; public rows must show both."""
    shown = columns[name][public]
    if len(set(shown.tolist())) == 1:
        raise InputError(
            "data.public_rows",
            "must show both values of the target, or the learner has no model of its own to start "
            "from",
            f"{shown[0]:+.0f} in all {len(shown):,} public rows",
            "Raise it, or change the seed.",
        )
    return Target(name, -1.0, 1.0, 0.0, 1.0 if shown.sum() > 0 else -1.0)


def _number_target(name: str, columns: Columns, public: Rows, bounds: Bounds) -> Target:
    """Make a numeric target relative to its public mean, or to the middle of its range."""
    low, high = _public_range(name, columns, public, bounds, 0.0)
    y = np.clip(columns[name][public].astype(float), low, high)
    centre = float(y.mean()) if len(public) else float(np.mean((low, high)))
    return Target(name, low, high, centre, centre)


def _fit_numbers(columns: Columns, ranges: Bounds, public: Rows) -> Numbers:
    low, high = (np.array([ends[i] for ends in ranges.values()]) for i in (0, 1))
    fill = []
    for name, ends in ranges.items():
        shown = columns[name][public].astype(float)
        known = np.isfinite(shown).any()
        fill.append(np.clip(np.nanmean(shown), *ends) if known else np.mean(ends))
    return Numbers(tuple(ranges), low, high, np.array(fill))


def _fit_categories(
    columns: Columns, names: Sequence[str], public: Rows, encoding: str
) -> Categories:
    if encoding not in ("onehot", "integer"):
        raise InputError("data.encoding", "must be 'onehot' or 'integer'", repr(encoding))
    texts = _stack_texts(columns, names, public)
    return Categories(CategoryCoder.of(tuple(names), texts, encoding == "integer"))


def _stack_texts(columns: Columns, names: Sequence[str], rows: Rows) -> NDArray:
    """Stack text columns to an object array (n, k); missing cells are a category of their own."""
    none = np.empty((len(rows), 0), dtype=object)
    table = np.column_stack([none, *(columns[name][rows] for name in names)])
    table[table == None] = OWN_CATEGORY  # noqa: E711  (elementwise)
    return table


def _fit_components(raw: Array, components: int) -> Components:
    """Fit the first components of encoded public rows (n, d)."""
    if not 1 <= components <= min(raw.shape):
        rule = f"must lie between 1 and {min(raw.shape)}, the smaller of public rows and features"
        raise InputError("data.components", rule, components, "Lower it, or add public rows.")
    centre = raw.mean(axis=0)
    spread = raw.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    axes = principal_axes((raw - centre) / spread, components)
    scores = project_rows(axes, raw, centre, spread)
    return Components(centre, spread, axes, scores.min(axis=0), scores.max(axis=0))


def _public_range(
    name: str, columns: Columns, public: Rows, bounds: Bounds, outermost: float
) -> tuple[float, float]:
    """Public range of a column: as stated, or of the public rows without ``outermost`` shares.

    Outliers among many public rows would set the scale of a whole column; where nothing is left
    without them (a rare yes among noes), the whole range counts.
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
    if not low < high:
        low, high = values.min(), values.max()
    return float(low), float(high)
