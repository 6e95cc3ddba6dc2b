"""Columns become owners' records: clipped to public ranges, encoded, reduced, and split; nothing private is looked at.

Every number that shapes the encoding (ranges, categories, means, components) comes from the public rows or from the
scenario. Values outside the ranges are clipped to them, and how many is told to the owner only.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from learning.arrays import Array
from learning.errors import InputError

Columns = Mapping[str, NDArray]
OWN_CATEGORY = "(missing)"
OUTERMOST = 0.005  # share of public rows, at either end, that a feature's range may leave out: none up to 200 rows


@dataclass(frozen=True)
class OwnerData:
    """One owner's encoded records; stays behind the owner.

    Parameters
    ----------
    name : str
    x : array (n, p), encoded features, the last of them the constant 1.
    y : array (n,), target, clipped to its public range.
    clipped : int, cells of this owner that lay outside the public ranges; told to the owner only.
    """

    name: str
    x: Array = field(repr=False)
    y: Array = field(repr=False)
    clipped: int = 0

    @property
    def n_records(self) -> int:
        return len(self.y)


@dataclass(frozen=True)
class Division:
    """Who holds which row: row numbers of each owner, of the public sample, and of the hold-out."""

    owners: Mapping[str, NDArray[np.intp]]
    public: NDArray[np.intp]
    holdout: NDArray[np.intp]
    left_over: int
    too_small: tuple[str, ...] = ()


def divide(
    n_rows: int,
    *,
    rng: np.random.Generator | None,
    sizes: Sequence[int] | None = None,
    labels: NDArray | None = None,
    names: Sequence[str] | None = None,
    public_rows: int = 0,
    holdout: float | str = 0.0,
    min_records: int = 1,
) -> Division:
    """Give rows to owners: the last ``public_rows`` are public, those before them held out, the rest split.

    Parameters
    ----------
    n_rows : int
    rng : Generator that shuffles the rows first, or None to keep the order of the file.
    sizes : records per owner, consecutive rows; or
    labels : array (n_rows,), the owner of each row.
    names : names of the owners; with ``labels``, the owners to take (default: all, in alphabetical order).
    public_rows : int
    holdout : share of the rows that are not public, or "rest": the rows that no owner took (with ``sizes``).
    min_records : owners with fewer are left out and listed.

    Raises
    ------
    InputError
        If more rows are asked for than there are, or an owner has none.
    """
    if (sizes is None) == (labels is None):
        raise InputError("data.split", "give either data.split or data.owner")
    order = np.arange(n_rows) if rng is None else rng.permutation(n_rows)
    if public_rows > n_rows:
        raise InputError(
            "data.public_rows", f"may be at most the table's {n_rows:,} rows", f"{public_rows:,}", "Lower it."
        )
    private, public = order[: n_rows - public_rows], order[n_rows - public_rows :]
    held = 0 if holdout == "rest" else int(float(holdout) * len(private))
    free, held_out = private[: len(private) - held], private[len(private) - held :]
    if sizes is not None:
        wanted = sum(sizes)
        if wanted > len(free):
            raise InputError(
                "data.split",
                f"may take at most the {len(free):,} rows that are left of {n_rows:,} after "
                f"{public_rows:,} public and {held:,} held-out ones",
                f"{wanted:,} in all",
                "Lower the sizes, data.public_rows or data.holdout.",
            )
        names = list(names) if names else [f"owner {i + 1}" for i in range(len(sizes))]
        edges = np.cumsum([0, *sizes])
        taken = {name: free[a:b] for name, a, b in zip(names, edges[:-1], edges[1:], strict=True)}
        left = free[wanted:]
    else:
        assert labels is not None
        of_row = labels[free].astype(str)
        names = list(names) if names else sorted(set(labels.astype(str).tolist()))
        taken = {name: free[of_row == name] for name in names}
        left = free[~np.isin(of_row, names)]
    if holdout == "rest":
        held_out, left = left, left[:0]
    for name, rows in taken.items():
        if not len(rows) and min_records == 1:  # else it is one of those left out
            raise InputError(
                "data.owner" if sizes is None else "data.split",
                "every owner needs a record",
                f"none for {name!r} beside public and held-out rows",
                "Take its rows out of the table.",
            )
    small = tuple(name for name, rows in taken.items() if len(rows) < min_records)
    kept = {name: rows for name, rows in taken.items() if name not in small}
    if not kept:
        raise InputError(
            "data.min_records",
            f"at least one owner must have {min_records:,} records",
            f"at most {max(map(len, taken.values())):,}" if taken else "no owner",
            "Lower it.",
        )
    return Division(kept, public, held_out, len(left), small)


@dataclass(frozen=True)
class Encoder:
    """Public facts that turn columns into features: x = (scaled numbers, coded categories) or their components, then 1.

    Made by `fit_encoder`; ``dropped`` names the columns that are constant in public and therefore carry nothing.
    """

    numeric: tuple[str, ...]
    low: Array
    high: Array
    fill: Array
    categorical: tuple[str, ...]
    coder: OneHotEncoder | OrdinalEncoder | None
    centre: Array
    spread: Array
    pca: PCA | None
    component_low: Array
    component_high: Array
    target: str
    target_range: tuple[float, float]
    target_centre: float
    dropped: tuple[str, ...]
    feature_names: tuple[str, ...]

    @property
    def n_parameters(self) -> int:
        return len(self.feature_names)

    @property
    def feature_bound(self) -> Array:
        """Public bound on each encoded |x_j|, (p,)."""
        if self.pca is not None:
            widest = np.maximum(np.abs(self.component_low), np.abs(self.component_high))
        elif isinstance(self.coder, OrdinalEncoder):  # codes run from -1 (unseen) to the last category
            levels = [max(1.0, len(seen) - 1.0) for seen in self.coder.categories_]
            widest = np.array([*np.ones(len(self.numeric)), *levels])
        else:
            widest = np.ones(self.n_parameters - 1)
        return np.append(widest, 1.0)

    @property
    def target_bound(self) -> float:
        """Public bound on the encoded |y|."""
        low, high = self.target_range
        return max(high - self.target_centre, self.target_centre - low)

    def encode(self, columns: Columns, rows: NDArray[np.intp]) -> tuple[Array, int]:
        """Features (n, p) of the given rows, and how many cells lay outside the public ranges."""
        raw, clipped = _matrix(self, columns, rows)
        if self.pca is not None:
            scores = self.pca.transform((raw - self.centre) / self.spread)
            clipped += int(((scores < self.component_low) | (scores > self.component_high)).sum())
            raw = np.clip(scores, self.component_low, self.component_high)
        return np.column_stack([raw, np.ones(len(raw))]), clipped

    def encode_target(self, columns: Columns, rows: NDArray[np.intp]) -> tuple[Array, int]:
        """Target (n,), clipped to its public range and counted from the public centre; and how many were clipped."""
        y = columns[self.target][rows].astype(float)
        low, high = self.target_range
        return np.clip(y, low, high) - self.target_centre, int(((y < low) | (y > high)).sum())

    def owner(self, name: str, columns: Columns, rows: NDArray[np.intp]) -> OwnerData:
        """The encoded records of one owner."""
        x, outside = self.encode(columns, rows)
        y, beyond = self.encode_target(columns, rows)
        return OwnerData(name, x, y, outside + beyond)


def _categories(columns: Columns, names: Sequence[str], rows: NDArray[np.intp]) -> NDArray:
    """Text columns as one object array (n, k), a missing cell being a category of its own."""
    table = np.column_stack([columns[name][rows] for name in names]).astype(object)
    table[table == None] = OWN_CATEGORY  # noqa: E711  (elementwise)
    return table


def _matrix(encoder: Encoder, columns: Columns, rows: NDArray[np.intp]) -> tuple[Array, int]:
    """Clipped, scaled numbers beside coded categories (n, d), and the count of clipped cells."""
    parts, clipped = [], 0
    if encoder.numeric:
        numbers = np.column_stack([columns[name][rows] for name in encoder.numeric]).astype(float)
        numbers = np.where(np.isnan(numbers), encoder.fill, numbers)
        clipped = int(((numbers < encoder.low) | (numbers > encoder.high)).sum())
        numbers = np.clip(numbers, encoder.low, encoder.high)
        parts.append(2 * (numbers - encoder.low) / (encoder.high - encoder.low) - 1)
    if encoder.coder is not None:
        with warnings.catch_warnings():  # an unseen category is coded as none, which is meant and documented
            warnings.simplefilter("ignore", UserWarning)
            coded = encoder.coder.transform(_categories(columns, encoder.categorical, rows))
        parts.append(np.asarray(coded, dtype=float))
    return (np.column_stack(parts) if parts else np.empty((len(rows), 0))), clipped


def fit_encoder(
    columns: Columns,
    *,
    target: str,
    features: Sequence[str],
    public: NDArray[np.intp],
    bounds: Mapping[str, tuple[float, float]],
    encoding: str = "onehot",
    components: int | None = None,
    labels: bool = False,
) -> Encoder:
    """Learn the encoding from the public rows and the stated bounds alone.

    Parameters
    ----------
    columns : name -> array (n,), float for numbers (nan missing), object for text (None missing).
    target, features : names.
    public : row numbers of the public sample; may be empty when ``bounds`` covers every column.
    bounds : name -> (low, high), public ranges; default: the range of the public rows.
    encoding : "onehot" or "integer" (the papers' coding of categories).
    components : number of principal components, fitted on the standardised public rows, or None.
    labels : whether the target is a label, -1 or +1, and taken as it is.

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
    if labels:
        _refuse_one_label(columns[target][public])
    ranges[target] = (-1.0, 1.0) if labels else _range(target, columns, public, bounds, 0.0)
    numeric, flat_numbers = _varying(numeric, lambda name: ranges[name][1] > ranges[name][0])
    text, flat_text = _varying(text, lambda name: len(set(columns[name][public].tolist())) > 1)
    low, high = (np.array([ranges[name][i] for name in numeric]) for i in (0, 1))
    shown = {name: columns[name][public].astype(float) for name in numeric}
    fill = np.array(
        [np.clip(np.nanmean(v), *ranges[k]) if np.isfinite(v).any() else np.mean(ranges[k]) for k, v in shown.items()]
    )
    coder = _coder(encoding).fit(_categories(columns, text, public)) if text else None
    y = np.clip(columns[target][public].astype(float), *ranges[target])
    centre_of_target = float(y.mean()) if len(public) and not labels else float(np.mean(ranges[target]))
    names = [*numeric, *(_coded_names(coder, text) if coder is not None else [])]
    empty = np.empty(0)
    encoder = Encoder(
        tuple(numeric),
        low,
        high,
        fill,
        tuple(text),
        coder,
        empty,
        empty,
        None,
        empty,
        empty,
        target,
        ranges[target],
        centre_of_target,
        tuple([*flat_numbers, *flat_text]),
        (*names, "1"),
    )
    return encoder if components is None else _with_components(encoder, columns, public, components)


def _refuse_one_label(shown: NDArray) -> None:
    if len(set(shown.tolist())) == 1:
        raise InputError(
            "data.public_rows",
            "must show both values of the target, or the learner has no model of its own to start from",
            f"{shown[0]:+.0f} in all {len(shown):,} public rows",
            "Raise it, or change the seed.",
        )


def _range(
    name: str, columns: Columns, public: NDArray[np.intp], bounds: Mapping[str, tuple[float, float]], outermost: float
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


def _varying(names: Sequence[str], varies) -> tuple[list[str], list[str]]:
    """Names whose public values differ, and those that are constant there."""
    return [n for n in names if varies(n)], [n for n in names if not varies(n)]


def _coder(encoding: str) -> OneHotEncoder | OrdinalEncoder:
    """One column per category but the first, or one integer per category; unseen categories are coded as none."""
    if encoding == "onehot":
        return OneHotEncoder(drop="first", handle_unknown="ignore", sparse_output=False)
    if encoding == "integer":
        return OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    raise InputError("data.encoding", "must be 'onehot' or 'integer'", repr(encoding))


def _coded_names(coder: OneHotEncoder | OrdinalEncoder, text: Sequence[str]) -> list[str]:
    return list(coder.get_feature_names_out(list(text)))


def _with_components(encoder: Encoder, columns: Columns, public: NDArray[np.intp], components: int) -> Encoder:
    """The same encoder followed by principal components of the standardised public rows, clipped to their ranges."""
    raw, _ = _matrix(encoder, columns, public)
    if not 1 <= components <= min(raw.shape):
        raise InputError(
            "data.components",
            f"must lie between 1 and {min(raw.shape)}, the smaller of public rows and features",
            components,
            "Lower it, or add public rows.",
        )
    centre, spread = raw.mean(axis=0), raw.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    standard = (raw - centre) / spread
    pca = PCA(n_components=components, svd_solver="full").fit(standard)
    scores = pca.transform(standard)
    state = {
        **vars(encoder),
        "centre": centre,
        "spread": spread,
        "pca": pca,
        "component_low": scores.min(axis=0),
        "component_high": scores.max(axis=0),
        "feature_names": (*(f"component {i + 1}" for i in range(components)), "1"),
    }
    return Encoder(**state)
