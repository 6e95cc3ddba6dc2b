"""Target, owners, features and public rows that a first scenario takes of a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from learning.data.rows import Rows
from scenarios.starting.columns import Column, show_columns, write_cell
from scenarios.starting.roles import (
    Columns,
    Features,
    Role,
    called_target,
    choose_features,
    find_owner,
    find_person,
    find_target,
)
from scenarios.starting.shares import (
    LABELLED,
    OWNERS,
    Holders,
    enough_public,
    first_public,
    rows_in_order,
    share_by_chance,
    share_by_column,
)
from scenarios.tables.reading import Table

COMPONENTS = 10
ROWS_PER_FEATURE = 10  # public rows with a target
OUTERMOST = 0.01  # of a target's public values, at either end
WIDER = 1.5  # times the range of all but the outermost: a target spread further is cut off there
DELTA = 1e-6

Ask = Callable[[str, str], str]


@dataclass(frozen=True)
class Wanted:
    """Wishes of the user for the table, None where it is to be guessed.

    Parameters
    ----------
    target : the column to predict.
    owner : the column that says whose each row is.
    owners : number of owners to share the rows out to at random; not beside ``owner``.
    """

    target: str | None = None
    owner: str | None = None
    owners: int | None = None


@dataclass(frozen=True)
class Guesses:
    """Columns and rows of a table for a first scenario, before money.

    Parameters
    ----------
    table : the table.
    public : how many rows are public, the last of the shuffled ones.
    columns : its columns as these rows show them.
    target, owner : columns with their parts; owner None where rows are shared out at random.
    features : the columns to learn from, and those left out.
    holders : whose the rows are.
    person : a column that seems to say which person a row is of.
    """

    table: Table = field(repr=False)
    public: int
    columns: Columns = field(repr=False)
    target: Role
    owner: Role | None
    features: Features
    holders: Holders = field(repr=False)
    person: Column | None

    @property
    def labels(self) -> tuple[str | float, ...]:
        """The two values of a target that takes no other, the commoner first; else none."""
        target = self.target.column
        if len(target.values) != 2:
            return ()
        return tuple(sorted(target.values, key=lambda value: (-target.count(value), str(value))))

    @property
    def label_texts(self) -> list[str]:
        """The two values as they are written."""
        return [write_cell(value) for value in self.labels]

    @property
    def has_gaps(self) -> bool:
        """Test whether cells in use are missing from public rows."""
        used = [self.columns[name] for name in self.features.used]
        return any(column.missing > 0 for column in [*used, self.target.column])

    @property
    def protected(self) -> list[str]:
        """Columns in use that the law may forbid to judge people by, by their names."""
        return [name for name in self.features.used if self.columns[name].is_protected]

    @property
    def width(self) -> int:
        """Encoded columns that the features become."""
        return sum(self.columns[name].width for name in self.features.used)

    @property
    def components(self) -> int | None:
        """Principal components that features are reduced to where public rows are few, or None.

        Where they are not, kinds of features are compared, components among them.
        """
        most = len(self.target.column.known) // ROWS_PER_FEATURE - 1
        if self.width <= most or most > COMPONENTS:
            return None
        return most

    @property
    def limits(self) -> tuple[float, float] | None:
        """Limits at which the few far values of a target are cut off; None where it has none.

        They are its outermost hundredths in the public rows, rounded outwards to two digits.
        """
        shown = self.target.column.known
        if self.labels or len(shown) < 1 / OUTERMOST:
            return None
        low, high = np.quantile(shown, [OUTERMOST, 1 - OUTERMOST], method="inverted_cdf")
        if not low < high or shown.max() - shown.min() <= WIDER * (high - low):
            return None
        step = 10.0 ** (np.floor(np.log10(high - low)) - 1)
        low = max(float(shown.min()), float(np.floor(low / step) * step))
        return float(f"{low:.12g}"), float(f"{np.ceil(high / step) * step:.12g}")

    @property
    def delta(self) -> float:
        """Chance of failure, well below one over the records of an owner."""
        return float(min(DELTA, 10.0 ** -(np.ceil(np.log10(self.holders.sizes.max())) + 1)))


def guess(table: Table, wanted: Wanted, ask: Ask | None) -> Guesses:
    """Guess what a first scenario takes of a table.

    Parameters
    ----------
    table : the table.
    wanted : what the user says.
    ask : puts a question with the guess to the user and gives the answer; None: nothing is asked.

    Raises
    ------
    InputError
        If it has too few rows, nothing to predict, or nothing to predict it from.
    """
    order = rows_in_order(table.n_rows)
    name = wanted.target or called_target(list(table.columns))
    public, columns = show_public(table, order, first_public(table), name)
    named = wanted.target
    asks = ask is not None
    target = find_target(columns, named, wanted.owner, asks=asks)
    if ask is not None and named is None:
        named = ask("Column to predict", target.column.name)
        target = target if named == target.column.name else find_target(columns, named)
    public, columns = show_public(table, order, public, target.column.name)
    while not columns[target.column.name].can_be_target:  # more rows show a third text
        target = find_target(columns, named, wanted.owner, asks=asks)
        public, columns = show_public(table, order, public, target.column.name)
    target = target._replace(column=columns[target.column.name])
    owner = _owner(columns, wanted, target, ask)
    taken = {role.column.name for role in (target, owner) if role is not None}
    features = choose_features(columns, target.column, taken)
    if owner is None:
        count = OWNERS if wanted.owners is None else wanted.owners
        holders = share_by_chance(table, count, public)
    else:
        holders = share_by_column(table, owner.column.name, public)
    return Guesses(table, public, columns, target, owner, features, holders, find_person(columns))


def show_public(table: Table, order: Rows, count: int, target: str | None) -> tuple[int, Columns]:
    """Count the public rows, and show all columns by them.

    More than ``count`` rows become public where these hardly show the rarer label of the target.
    Only rows that become public decide that.
    """
    while True:
        columns = show_columns(table, order[-count:])
        shown = columns.get(target or "")
        rarer = LABELLED
        if shown is not None and len(shown.values) == 2:
            rarer = min(map(shown.count, shown.values))
        elif shown is not None and len(shown.values) < 2:
            rarer = 0
        more = enough_public(count, table, rarer)
        if more == count:
            return count, columns
        count = more


def _owner(columns: Columns, wanted: Wanted, target: Role, ask: Ask | None) -> Role | None:
    """Find the column that names the owners; None where rows are shared out at random."""
    if wanted.owners is not None:
        return None
    found = find_owner(columns, wanted.owner, target.column.name)
    if ask is None or wanted.owner is not None:
        return found
    guessed = found.column.name if found else "-"
    answer = ask("Column that says whose each row is, or - to share rows out at random", guessed)
    if answer == guessed:
        return found
    if answer == "-":
        return None
    return find_owner(columns, answer, target.column.name)
