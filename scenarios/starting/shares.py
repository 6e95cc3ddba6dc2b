"""Numbers of public rows, and owners of the others."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from learning.data.division import Division, divide_rows
from learning.errors import InputError
from learning.phrases import count_noun, format_value
from scenarios.tables.dataset import check_owners, row_shuffler
from scenarios.tables.reading import Table

SEED = 1
LEAST_ROWS = 100  # of a table: fewer hold neither a public sample nor an owner worth asking
LEAST_PUBLIC = 60
MOST_PUBLIC = 1000
PUBLIC_PART = 20  # a twentieth of the rows; up to a quarter where one of two labels is rare
MOST_PUBLIC_PART = 4
LABELLED = 20  # public rows of the rarer label that are looked for
HOLDOUT = 0.1  # share of the rows, and rows from which any are held out
HELD_OUT_FROM = 1000
OWNERS = 3  # where nothing says whose a row is
MORE_NOISE = 5.0  # small owners may bring noise to so many times the best set's variance
LEAST_RECORDS = 20  # of an owner that takes part
FEWEST_OWNERS = 3  # kept, where there are so many, however small the others are


def rows_in_order(n_rows: int) -> np.ndarray:
    """Shuffle the rows as a run does: whatever number is public, they are the last."""
    return row_shuffler(SEED).permutation(n_rows)


def first_public(table: Table) -> int:
    """Count the rows that are looked at to begin with.

    Raises
    ------
    InputError
        If the table has too few.
    """
    if table.n_rows < LEAST_ROWS:
        rule = f"must be {LEAST_ROWS} or more to share out"
        raise InputError(f"{table.source}: rows", rule, count_noun(table.n_rows, "row"))
    return int(np.clip(table.n_rows // PUBLIC_PART, LEAST_PUBLIC, MOST_PUBLIC))


def enough_public(count: int, table: Table, rarer: int) -> int:
    """Return as many public rows, or more where those of the rarer label are too few.

    Only rows that become public decide: more are made public until enough show the label, or a
    quarter of all rows is.
    """
    if rarer >= LABELLED:
        return count
    return min(2 * count, max(count, table.n_rows // MOST_PUBLIC_PART))


@dataclass(frozen=True)
class Holders:
    """Owners of the rows that are not public.

    Parameters
    ----------
    keys : what [data] says of it.
    division : the rows of each.
    least : records of the smallest owner that takes part.
    """

    keys: dict[str, Any]
    division: Division = field(repr=False)
    least: int

    @property
    def sizes(self) -> np.ndarray:
        """Records of each owner that takes part, (n_owners,)."""
        sizes = np.array([len(rows) for rows in self.division.owners.values()])
        return sizes[sizes >= self.least]

    @property
    def left_out(self) -> int:
        """Number of owners that take no part."""
        return len(self.division.owners) + len(self.division.too_small) - len(self.sizes)


def share_by_column(table: Table, column: str, public: int) -> Holders:
    """Take the owners that a column names, without the small ones that add too much noise.

    The noise is that of answers weighted by records, if all owners sell the same budget. As many of
    the largest are kept as bring it to `MORE_NOISE` times its minimum at most.

    Raises
    ------
    InputError
        If names cannot be told apart, or no owner has two rows that are not public.
    """
    labels = table.whose_rows(column)
    check_owners(labels)
    rng = row_shuffler(SEED)
    holdout = _holdout(table)
    try:
        division = divide_rows(
            table.n_rows, rng=rng, labels=labels, public_rows=public, holdout=holdout, min_records=2
        )
    except InputError:
        found = f"none in column {format_value(column)}"
        raise InputError(
            "--owner", "some owner must have two rows that are not public", found, "Name another."
        ) from None
    sizes = np.sort([len(rows) for rows in division.owners.values()])[::-1]
    # Noise of the largest owners, at equal budgets.
    noise = np.arange(1, len(sizes) + 1) / np.cumsum(sizes) ** 2.0
    quiet = int(np.flatnonzero(noise <= MORE_NOISE * noise.min())[-1]) + 1
    large = int((sizes >= LEAST_RECORDS).sum())
    kept = max(min(quiet, large), FEWEST_OWNERS)
    least = int(sizes[kept - 1]) if kept < len(sizes) else 2
    return Holders({"owner": column}, division, least)


def share_by_chance(table: Table, owners: int, public: int) -> Holders:
    """Make so many owners of as many rows each, drawn at random.

    Raises
    ------
    InputError
        If no owner is asked for, or an owner would get fewer than two rows.
    """
    if owners < 1:
        raise InputError("--owners", "must be 1 or more", owners)
    private = table.n_rows - public
    each = (private - int(_holdout(table) * private)) // owners
    if each < 2:
        found = f"{owners:,} for {private:,} rows that are not public"
        raise InputError("--owners", "must leave each owner two or more rows", found, "Lower it.")
    names = [f"Owner {i + 1}" for i in range(owners)]
    sizes = [each] * owners
    rng = row_shuffler(SEED)
    division = divide_rows(
        table.n_rows, rng=rng, sizes=sizes, names=names, public_rows=public, holdout=_holdout(table)
    )
    return Holders({"split": sizes, "names": names}, division, 1)


def _holdout(table: Table) -> float:
    return HOLDOUT if table.n_rows >= HELD_OUT_FROM else 0.0
