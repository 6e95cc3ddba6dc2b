"""Fitting of an encoder to the public rows and the stated bounds alone, and its description."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from learning.arrays import Array
from learning.data.categories import fewest_rows, fewest_that_fit, fit_categories, select_categories
from learning.data.encoding import (
    Bounds,
    Columns,
    Components,
    Encoder,
    Numbers,
    Target,
    project_rows,
    stack_texts,
)
from learning.data.expanding import choose_pairs, draw_frequencies, fit_knots, list_pairs
from learning.data.expansion import Expansion, count_columns
from learning.data.feature_kinds import KINDS, LINEAR, MOST_PRODUCTS, FeatureKind
from learning.data.ranges import OUTERMOST, public_range
from learning.data.rows import Rows
from learning.errors import InputError

DESCRIBED = {"dropped": "constant_columns"}
NEAR = 1e-3  # of a column's deviation: other columns tell it but for that
ROWS_PER_PRODUCT = 20  # public rows for each product that is chosen
CARRYING = 0.1  # of the largest addition of a column: rows with more carry it
ROWS_PER_PARAMETER = 5  # with fewer, the error of the public model is forecast far too high


def fit_encoder(
    columns: Columns,
    *,
    target: str,
    features: Sequence[str],
    public: Rows,
    bounds: Bounds,
    components: int | None = None,
    labels: bool = False,
    kind: FeatureKind = KINDS[LINEAR],
) -> Encoder:
    """Fit the encoding to the public rows and the stated bounds alone.

    A category that fewer than `fewest_rows` public rows show is joined with the others like it, and
    with those that the rows do not show; with more rows, where there are too many categories for a
    forecast otherwise. Columns that add nothing to those before them are left out
    (`find_additions`), so that no direction is stretched which public rows cannot tell.

    Parameters
    ----------
    columns : name -> (n,), float for numbers (nan missing), object for text (None missing).
    target : name of the target column.
    features : names of the columns that become features.
    public : row numbers of the public sample; may be empty when ``bounds`` covers every column.
    bounds : name -> (low, high), public ranges; default: the range of the public rows.
    components : number of principal components, fitted on the standardised public rows; None for
        as many as ``kind`` has at most.
    labels : whether the target is a label, -1 or +1, used as it is.
    kind : what features are made of the columns; they are used as they are unless given.

    Raises
    ------
    InputError
        If a range or a category list would have to be read from private records, or public rows
        show one label only.
    """
    stated = components is not None
    if stated:
        kind = replace(kind, components=components)
    numeric = [name for name in features if columns[name].dtype != object]
    text = [name for name in features if columns[name].dtype == object]
    _check_categories_shown(text, public)
    ranges = {name: public_range(name, columns, public, bounds, OUTERMOST) for name in numeric}
    goal = (
        _label_target(target, columns, public)
        if labels
        else number_target(target, columns, public, bounds)
    )
    ranges = {name: ends for name, ends in ranges.items() if ends[0] < ends[1]}
    numbers = _fit_numbers(columns, ranges, public)
    raw, encoder = _fit_columns(numbers, goal, columns, public, numeric + text, kind)
    if kind.pieces or kind.products or kind.kernel:
        encoder = replace(encoder, expansion=_fit_expansion(encoder, columns, public, kind))
        raw, _ = encoder.make_columns(columns, public)
    if kind.components is not None:
        if stated or not raw.size:
            _check_components(raw, kind.components)
        raw, _ = encoder.make_columns(columns, public)
        encoder = replace(encoder, components=_fit_components(raw, kind.components))
    return _centre(encoder, columns, public)


def _fit_columns(
    numbers: Numbers,
    goal: Target,
    columns: Columns,
    public: Rows,
    names: Sequence[str],
    kind: FeatureKind,
) -> tuple[Array, Encoder]:
    """Fit the categories of the texts among some columns; leave out columns that add nothing.

    Returns
    -------
    All coded columns of the public rows, (n, d), and the encoder of those that are left.
    """
    text = [name for name in names if columns[name].dtype == object]
    texts = stack_texts(columns, text, public)
    shown = np.empty((len(public), len(numbers.names)))
    numbers.encode(columns, public, shown)

    def code_categories(least: int) -> tuple[Array, Encoder]:
        categories = fit_categories(text, texts, kind.encoding, least)
        coded = np.column_stack([shown, categories.encode(columns, public)])
        whole = Encoder(numbers, categories, goal, ())
        return coded, _leave_out_columns(whole, coded, names)

    raw, encoder = code_categories(fewest_rows(len(public)))
    most = len(public) // ROWS_PER_PARAMETER
    if kind.components is None and encoder.n_parameters > most and kind.encoding == "onehot":
        room = most - len(encoder.numbers.names) - 1
        raw, encoder = code_categories(fewest_that_fit(texts, room))
    return raw, encoder


def _check_categories_shown(text: Sequence[str], public: Rows) -> None:
    if text and not len(public):
        raise InputError(
            "data.public_rows",
            "text columns need public rows that show their categories",
            f"0 public rows and text in {', '.join(map(repr, text))}",
            "Set data.public_rows or data.features.",
        )


def _centre(encoder: Encoder, columns: Columns, public: Rows) -> Encoder:
    """Centre the features on their means over the public rows, if there are any."""
    mean = np.append(np.zeros(encoder.n_parameters - 1), 1.0)
    if len(public):
        mean = encoder.encode(columns, public)[0].mean(axis=0)
    return replace(encoder, mean=mean)


def describe_encoder(encoder: Encoder) -> dict[str, Any]:
    """Describe an encoder by dicts, lists, texts and numbers, for a model or a contract."""
    parts = ("target", "numbers", "categories", "components", "expansion", "dropped", "mean")
    described = {name: _plain_value(getattr(encoder, name)) for name in parts}
    if encoder.expansion is None:
        del described["expansion"]
    elif not len(encoder.expansion.frequencies):
        del described["expansion"]["frequencies"]
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


def number_target(name: str, columns: Columns, public: Rows, bounds: Bounds) -> Target:
    """Make a numeric target relative to its public mean, or to the middle of its range."""
    low, high = public_range(name, columns, public, bounds, 0.0)
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
    return Numbers(tuple(ranges), low, high, np.array(fill), np.ones(len(low)))


def find_additions(raw: Array) -> NDArray[np.bool_]:
    """Find the columns of public rows (n, d) that add something to a constant and those before.

    An addition is what is left of a column by least squares. It counts if its size is more than
    `NEAR` of the column's own. That of a column of two values must also be carried by `fewest_rows`
    or more: they have more than `CARRYING` of the largest. A direction of a row or two is theirs,
    and its variance unknown. Columns beyond half as many as rows are kept: so many fit any other.

    >>> x = np.linspace(-1, 1, 100)
    >>> few = np.where(np.arange(100) % 50 == 20, 1.0, 0.0)
    >>> find_additions(np.column_stack([x, x + 1e-6 * x**2, x**2, few])).tolist()
    [True, False, True, False]
    """
    basis = [np.full(len(raw), len(raw) ** -0.5)]
    added = np.zeros(raw.shape[1], dtype=bool)
    for place, column in enumerate(raw.T):
        if 2 * len(basis) > len(raw):
            added[place] = column.min() < column.max()
            continue
        left = column - column.mean()
        spread = np.linalg.norm(left)
        for _ in range(2):  # once leaves rounding errors
            held = np.stack(basis)
            left = left - (held @ left) @ held
        size = np.linalg.norm(left)
        if size <= NEAR * spread:
            continue
        carried = np.count_nonzero(np.abs(left) > CARRYING * np.abs(left).max())
        two_values = np.isin(column, (column.min(), column.max())).all()
        if two_values and carried < fewest_rows(len(raw)):
            continue
        added[place] = True
        basis.append(left / size)
    return added


def _leave_out_columns(encoder: Encoder, raw: Array, names: Sequence[str]) -> Encoder:
    """Leave out columns that add nothing to others in public rows (n, d), and say which of names.

    Without public rows all are kept.
    """
    if len(raw):
        added = find_additions(raw)
        encoder = replace(
            encoder,
            numbers=_select_numbers(encoder.numbers, added),
            categories=select_categories(encoder.categories, added[len(encoder.numbers.names) :]),
        )
    used = {*encoder.numbers.names, *encoder.categories.names}
    return replace(encoder, dropped=tuple(name for name in names if name not in used))


def _select_numbers(numbers: Numbers, added: NDArray[np.bool_]) -> Numbers:
    """Columns of numbers of which those that add something (k or more,) are kept."""
    kept = added[: len(numbers.names)]
    names = tuple(np.array(numbers.names, dtype=object)[kept])
    parts = (numbers.low, numbers.high, numbers.fill, numbers.reach)
    return Numbers(names, *(part[kept] for part in parts))


def _fit_expansion(
    encoder: Encoder, columns: Columns, public: Rows, kind: FeatureKind
) -> Expansion:
    """Fit knots, products or a kernel to public rows; leave out what adds nothing to the rest."""
    if not len(public):
        rule = "must be above 0 for features whose knots or widths come from public rows"
        raise InputError("data.public_rows", rule, 0, "Set it, or leave out learning.features.")
    coded, _ = encoder.code_columns(columns, public)
    count = len(encoder.numbers.names)
    knots = tuple(fit_knots(column, kind.pieces) for column in coded.T[:count])
    made = Expansion(kind.degree, knots, (), np.arange(0))
    width = sum(count_columns(one, kind.degree) for one in knots) + coded.shape[1] - count
    used = np.arange(width)
    if kind.kernel:
        made = replace(made, frequencies=draw_frequencies(coded, kind))
        used = width + np.arange(2 * len(made.frequencies))
    added = find_additions(replace(made, kept=used).encode(coded))
    made = replace(made, kept=used[added])
    if not kind.products:
        return made
    y, _ = encoder.target.encode(columns, public)
    pairs = list_pairs(coded, whose_columns(encoder))
    most = min(MOST_PRODUCTS, len(public) // ROWS_PER_PRODUCT)
    chosen = choose_pairs(made.encode(coded), coded, pairs, y, most)
    return replace(made, pairs=chosen, kept=np.append(made.kept, width + np.arange(len(chosen))))


def whose_columns(encoder: Encoder) -> list[int]:
    """Number, for each coded column, the column of the table that it comes from, (d,)."""
    found = list(range(len(encoder.numbers.names)))
    for place, known in enumerate(encoder.categories.categories, start=len(found)):
        found += [place] * (1 if encoder.categories.places else len(known) - 1)
    return found


def _check_components(raw: Array, components: int) -> None:
    """Refuse more components than public rows or columns (n, d)."""
    if not 1 <= components <= min(raw.shape):
        rule = f"must lie between 1 and {min(raw.shape)}, the smaller of public rows and features"
        raise InputError("data.components", rule, components, "Lower it, or add public rows.")


def _fit_components(raw: Array, components: int) -> Components:
    """Fit the first components of encoded public rows (n, d), or as many as they allow."""
    components = min(components, *raw.shape)
    centre = raw.mean(axis=0)
    spread = raw.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    axes = principal_axes((raw - centre) / spread, components)
    scores = project_rows(axes, raw, centre, spread)
    return Components(centre, spread, axes, scores.min(axis=0), scores.max(axis=0))


def principal_axes(x: Array, count: int) -> Array:
    """Directions of largest variance of rows (n, d), (count, d), largest entries above 0."""
    axes = scipy.linalg.svd(x - x.mean(axis=0), full_matrices=False)[2]
    largest = np.argmax(np.abs(axes), axis=1)
    return np.asarray(axes * np.sign(axes[np.arange(len(axes)), largest])[:, None])[:count]
