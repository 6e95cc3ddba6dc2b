"""Division of the rows of a table among owners, a public sample and a hold-out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from learning.errors import InputError

Rows = NDArray[np.integer]


@dataclass(frozen=True)
class Division:
    """Row numbers of each party.

    Parameters
    ----------
    owners : name of each owner -> its row numbers.
    public : row numbers of the public sample.
    holdout : row numbers kept to test the model on.
    left_over : number of rows of no party.
    too_small : names of the owners left out for having too few records.
    """

    owners: Mapping[str, Rows]
    public: Rows
    holdout: Rows
    left_over: int
    too_small: tuple[str, ...] = ()


@dataclass(frozen=True)
class RowLabels:
    """A text for each row of a table, such as its owner, in the memory of a number for each row.

    Parameters
    ----------
    names : different texts, sorted; "" of rows without owner.
    of_row : (n_rows,), the place of each row's text among them.
    """

    names: tuple[str, ...]
    of_row: NDArray[np.integer]

    @classmethod
    def of(cls, texts: Sequence[str]) -> RowLabels:
        """Make the labels of rows (n_rows,) with these texts.

        >>> RowLabels.of(["b", "", "b"])
        RowLabels(names=('', 'b'), of_row=array([1, 0, 1], dtype=uint8))
        """
        names = sorted(set(texts))
        place = dict(zip(names, range(len(names)), strict=True))
        kind = np.min_scalar_type(max(len(names) - 1, 0))
        return cls(tuple(names), np.fromiter(map(place.__getitem__, texts), kind, len(texts)))

    def coded(self, codes: NDArray[np.integer]) -> RowLabels:
        """Label rows (n_rows,) by codes, of which these are the labels; -1 is the last."""
        return RowLabels(self.names, self.of_row[codes])

    def texts(self, rows: Rows) -> NDArray:
        """Texts of some rows."""
        return np.array(self.names, dtype=object)[self.of_row[rows]]


def divide_rows(
    n_rows: int,
    *,
    rng: np.random.Generator | None,
    sizes: Sequence[int] | None = None,
    labels: RowLabels | None = None,
    names: Sequence[str] | None = None,
    public_rows: int = 0,
    holdout: float | str = 0.0,
    min_records: int = 1,
) -> Division:
    """Divide rows: the last are public, those before them held out, the others split among owners.

    Parameters
    ----------
    n_rows : number of rows.
    rng : generator that shuffles the rows first, or None to keep the order of the file.
    sizes : records of each owner, who take consecutive rows; this or ``labels`` is given.
    labels : the owner of each row, "" for none.
    names : names of the owners; with ``labels``, the owners to take (default: all, in alphabetical
        order).
    public_rows : number of public rows.
    holdout : share of the rows that are not public, or "rest": the rows of no owner.
    min_records : owners with fewer records are left out and listed.

    Raises
    ------
    InputError
        If more rows are asked for than there are, or an owner has none.
    """
    if (sizes is None) == (labels is None):
        raise InputError("data.split", "give either data.split or data.owner")
    # the same order in half the memory
    order: Rows = np.arange(n_rows, dtype=np.int32 if n_rows < 2**31 else np.intp)
    if rng is not None:
        rng.shuffle(order)
    if public_rows > n_rows:
        rule = f"may be at most the table's {n_rows:,} rows"
        raise InputError("data.public_rows", rule, f"{public_rows:,}", "Lower it.")
    private, public = np.split(order, [n_rows - public_rows])
    held = 0
    if holdout != "rest":
        held = int(float(holdout) * len(private))
    free, held_out = np.split(private, [len(private) - held])
    if sizes is not None:
        _check_total(sum(sizes), n_rows, public_rows, held)
        names = names or [f"owner {i + 1}" for i in range(len(sizes))]
        *parts, left = np.split(free, np.cumsum(sizes))
        taken = dict(zip(names, parts, strict=True))
    else:
        assert labels is not None
        taken, left = _rows_by_label(free, labels, names)
    if holdout == "rest":
        held_out = left
        left = left[:0]
    kept = large_enough(taken, min_records, "data.owner" if sizes is None else "data.split")
    too_small = tuple(name for name in taken if name not in kept)
    return Division(kept, public, held_out, len(left), too_small)


def _rows_by_label(
    free: Rows, labels: RowLabels, names: Sequence[str] | None
) -> tuple[dict[str, Rows], Rows]:
    """Rows of each owner by their labels, and the rows of no owner."""
    of_row = labels.of_row[free]
    by_owner = free[np.argsort(of_row, kind="stable")]
    ends = np.cumsum([0, *np.bincount(of_row, minlength=len(labels.names))])
    spans = zip(labels.names, pairwise(ends.tolist()), strict=True)
    of_owner = {name: by_owner[i:j] for name, (i, j) in spans}
    names = names or [name for name in labels.names if name]
    taken = {name: of_owner.get(name, free[:0]) for name in names}
    untaken = np.array([name not in taken for name in labels.names], dtype=bool)
    return taken, free[untaken[of_row]]


def _check_total(wanted: int, n_rows: int, public_rows: int, held: int) -> None:
    free = n_rows - public_rows - held
    if wanted > free:
        raise InputError(
            "data.split",
            f"may take at most the {free:,} rows that are left of {n_rows:,} after "
            f"{public_rows:,} public and {held:,} held-out ones",
            f"{wanted:,} in all",
            "Lower the sizes, data.public_rows or data.holdout.",
        )


def large_enough(taken: Mapping[str, Rows], min_records: int, key: str) -> dict[str, Rows]:
    """Select owners with ``min_records`` records; one without any is an error at ``key``."""
    empty = [name for name, rows in taken.items() if not len(rows)]
    if empty and min_records == 1:
        raise InputError(
            key,
            "every owner needs a record",
            f"none for {empty[0]!r} beside public and held-out rows",
            "Take its rows out of the table.",
        )
    kept = {name: rows for name, rows in taken.items() if len(rows) >= min_records}
    if not kept:
        rule = f"at least one owner must have {min_records:,} records"
        found = f"at most {max(map(len, taken.values())):,}" if taken else "no owner"
        raise InputError("data.min_records", rule, found, "Lower it.")
    return kept
