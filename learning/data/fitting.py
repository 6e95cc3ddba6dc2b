"""Fitting of an encoder to the public rows and the stated bounds alone, and its description."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import scipy

from learning.arrays import Array
from learning.data.encoding import (
    Bounds,
    Categories,
    Columns,
    Components,
    Encoder,
    Numbers,
    Target,
    project_rows,
    stack_texts,
)
from learning.data.rows import Rows
from learning.errors import InputError

DESCRIBED = {"dropped": "constant_columns"}
OUTERMOST = 0.005  # share of public rows, at either end, outside a feature's range


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
    parts = ("target", "numbers", "categories", "components", "dropped", "mean")
    described = {name: _plain_value(getattr(encoder, name)) for name in parts}
    return {DESCRIBED.get(name, name): part for name, part in described.items()}


def _plain_value(value: Any) -> Any:
    if is_dataclass(value):
        return {one.name: _plain_value(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, tuple):
        return [_plain_value(item) for item in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


def _label_target(name: str, columns: Columns, public: Rows) -> Target:
    """Make the target of labels -1 and +1; public rows must show both, if there are any."""
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
    texts = stack_texts(columns, names, public)
    return Categories.of(tuple(names), texts, encoding == "integer")


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
    """Public range of a column: as stated, or of public rows but a share ``outermost`` at each end.

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


def principal_axes(x: Array, count: int) -> Array:
    """Directions of largest variance of rows (n, d), (count, d), largest entries above 0."""
    axes = scipy.linalg.svd(x - x.mean(axis=0), full_matrices=False)[2]
    largest = np.argmax(np.abs(axes), axis=1)
    return np.asarray(axes * np.sign(axes[np.arange(len(axes)), largest])[:, None])[:count]
