"""Admission of records to a release: every record becomes finite numbers, and none is refused.

A refusal that depends on a record would leak it. So an answer is defined for every record: one with
a cell that is no number counts as zeros, numbers beyond `LIMIT` count as `LIMIT`, and rows of a
person beyond the announced number count as zeros. Only the announced shape of the table is checked.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from learning.arrays import Array
from learning.data.persons import count_turns
from learning.errors import InputError
from learning.losses.clipping import PublicCoordinates

LIMIT = 1e100  # of a number in a record: its square times all that `ReleaseTerms` allows is finite


def admit_records(
    x: ArrayLike,
    y: ArrayLike,
    persons: ArrayLike | None,
    n_records: int,
    coordinates: PublicCoordinates,
) -> tuple[Array, Array]:
    """Convert records to finite numbers.

    Features (n, p) and targets (n,), of labels within [-1, 1].

    Parameters
    ----------
    x: array (n, p), features.
    y: array (n,), targets.
    persons: array (n,), the person of each record; None where each person has one.
    n_records: n, as announced.
    coordinates: the announced bounds, with p and the most rows of a person.

    Raises
    ------
    InputError
        If the table is not n by p, or persons are not stated for each record. No cell decides it.
    """
    features = _numeric_cells(x, "records", (n_records, len(coordinates.centre)))
    targets = _numeric_cells(y, "targets", (n_records,))
    lost = np.isnan(features).any(axis=1) | np.isnan(targets)
    lost |= _surplus_rows(persons, n_records, coordinates.rows_per_person)
    most = 1.0 if coordinates.loss.labels else LIMIT
    features = np.clip(features, -LIMIT, LIMIT)
    targets = np.clip(targets, -most, most)
    features[lost] = 0.0
    targets[lost] = 0.0
    return features, targets


def _surplus_rows(persons: ArrayLike | None, n_records: int, most: int) -> NDArray[np.bool_]:
    """Mark rows of a person beyond the most that was announced, (n,)."""
    if persons is None and most == 1:
        return np.zeros(n_records, dtype=bool)
    whose = np.asarray([] if persons is None else persons, dtype=object)
    if whose.shape != (n_records,):
        rule = f"must say whose each of the {n_records} records is, nobody having more than {most}"
        raise InputError("release.persons", rule)
    codes: dict[str, int] = {}
    of_row = np.array([codes.setdefault(str(name), len(codes)) for name in whose])
    return np.asarray(count_turns(of_row) >= most)


def _numeric_cells(values: Any, name: str, shape: tuple[int, ...]) -> Array:
    """Convert an array of a shape cell by cell; NaN of a cell that is no number.

    Raises
    ------
    InputError
        If it has another shape. Its content is not shown: it may be private.
    """
    try:
        given = np.asarray(values)
        cells = given if given.dtype.kind in "biuf" else np.asarray(values, dtype=object)
    except ValueError:  # rows of different lengths
        cells = np.empty(0)
    if cells.shape != shape:
        size = " by ".join(str(length) for length in shape)
        raise InputError(f"release.{name}", f"must be {size} numbers, as announced")
    if cells.dtype != object:
        with np.errstate(all="ignore"):
            return cells.astype(float)
    return np.array([_cell_number(cell) for cell in cells.ravel()], dtype=float).reshape(shape)


def _cell_number(cell: object) -> float:
    """Convert a cell; NaN where it is no real number, or too large an integer for one."""
    if not isinstance(cell, (Real, np.bool_)):
        return np.nan
    try:
        return float(cell)
    except (OverflowError, TypeError, ValueError):
        return np.nan
