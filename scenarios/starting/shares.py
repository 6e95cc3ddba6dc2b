"""How many rows are public, and whose the others are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from learning.data.division import Division, divide_rows
from learning.errors import InputError
from learning.phrases import format_value
from scenarios.tables.dataset import check_owners, row_shuffler
from scenarios.tables.reading import Table

SEED = 1
LEAST_ROWS = (
    100  # of a table: with fewer there is neither a public sample nor an owner worth asking
)
LEAST_PUBLIC = 60
MOST_PUBLIC = 1000
PUBLIC_PART = 20  # a twentieth of the rows; up to a quarter where one of two labels is rare
MOST_PUBLIC_PART = 4
LABELLED = 20  # public rows of the rarer label that are looked for
HOLDOUT = 0.1  # share of the rows, and rows from which any are held out
HELD_OUT_FROM = 1000
OWNERS = 3  # where nothing says whose a row is
MORE_NOISE = (
    5.0  # times the noise variance of the best set of owners, that small ones may bring it to
)
LEAST_RECORDS = 20  # of an owner that takes part
FEWEST_OWNERS = 3  # kept, where there are so many, however small the others are


def rows_in_order(n_rows: int) -> np.ndarray:
    """The rows as a run shuffles them: whatever number is public, they are the last."""
    return row_shuffler(SEED).permutation(n_rows)


def first_public(table: Table) -> int:
    """How many rows are looked at to begin with.

    Raises
    ------
    InputError
        If the table has too few.
    """
    if table.n_rows < LEAST_ROWS:
        found = f"{table.n_rows:,} row{'' if table.n_rows == 1 else 's'}"
        raise InputError(
            f"{table.source}: rows", f"must be {LEAST_ROWS} or more to share out", found
        )
    return int(np.clip(table.n_rows // PUBLIC_PART, LEAST_PUBLIC, MOST_PUBLIC))


def enough_public(count: int, table: Table, rarer: int) -> int:
    """As many public rows, or more where ``rarer`` of them, the rows of the rarer label, are too few to learn from.

    Only rows that become public decide: more are made public until enough show the label, or a
    quarter of all rows is.
    """
    if rarer >= LABELLED:
        return count
    return min(2 * count, max(count, table.n_rows // MOST_PUBLIC_PART))


@dataclass(frozen=True)
class Holders:
    """Whose the rows are that are not public.

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
        """How many owners take no part."""
        return len(self.division.owners) + len(self.division.too_small) - len(self.sizes)


def by_column(table: Table, column: str, public: int) -> Holders:
    """Owners that a column names; those left out whose noise outweighs their records at budgets like the others'.

    Raises
    ------
    InputError
        If names cannot be told apart, or nobody holds a row.
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
    noise = (
        np.arange(1, len(sizes) + 1) / np.cumsum(sizes) ** 2.0
    )  # of the largest owners, at equal budgets
    quiet = int(np.flatnonzero(noise <= MORE_NOISE * noise.min())[-1]) + 1
    large = int((sizes >= LEAST_RECORDS).sum())
    kept = max(min(quiet, large), FEWEST_OWNERS)
    return Holders({"owner": column}, division, int(sizes[kept - 1]) if kept < len(sizes) else 2)


def by_chance(table: Table, owners: int, public: int) -> Holders:
    """So many owners of as many rows each, drawn at random.

    Raises
    ------
    InputError
        If there are not enough rows.
    """
    private = table.n_rows - public
    each = (private - int(_holdout(table) * private)) // owners
    if each < 2:
        found = f"{owners:,} for {private:,} rows that are not public"
        raise InputError("--owners", "must leave each owner two rows or more", found, "Lower it.")
    names = [f"Owner {i + 1}" for i in range(owners)]
    rng = row_shuffler(SEED)
    holdout = _holdout(table)
    sizes = [each] * owners
    division = divide_rows(
        table.n_rows, rng=rng, sizes=sizes, names=names, public_rows=public, holdout=holdout
    )
    return Holders({"split": sizes, "names": names}, division, 1)


def _holdout(table: Table) -> float:
    return HOLDOUT if table.n_rows >= HELD_OUT_FROM else 0.0
