"""Persons with several rows: a cap on a person's rows at an owner; names never leave the owner."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from learning.arrays import Array
from learning.data.division import Division, RowLabels, large_enough

UNKNOWN = ""  # all rows without a person may be of one


@dataclass(frozen=True)
class Persons:
    """The simulator's counts of persons over all owners' rows.

    Parameters
    ----------
    left_out: rows that owners left out, beyond the cap.
    shared: persons with rows at several owners.
    kappa: the largest number of owners of one person's rows, >= 1.
    """

    left_out: int
    shared: int
    kappa: int


def describe_neighbours(rows_per_person: int) -> str:
    """Describe neighbouring data sets of an owner with a cap on a person's rows.

    >>> describe_neighbours(3)
    "replace one person's rows, at most 3 at an owner, by as many"
    """
    return f"replace one person's rows, at most {rows_per_person} at an owner, by as many"


def unit_of_privacy(person: bool, rows: int = 1) -> str:
    """Describe the unit of privacy: a record, or a person with its rows at an owner.

    Parameters
    ----------
    person: whether a column has the person of each row.
    rows: the most rows of one person that an owner keeps.

    >>> unit_of_privacy(False), unit_of_privacy(True, 3)
    ('one record', 'one person, up to 3 records')
    """
    return f"one person, up to {rows} record{'s' * (rows > 1)}" if person else "one record"


def count_turns(persons: NDArray) -> Array:
    """Number each row among its person's rows, in their order, from 0: array (n,).

    >>> count_turns(np.array(["ann", "bob", "ann", "ann"])).tolist()
    [0, 0, 1, 2]
    """
    order = np.argsort(persons, kind="stable")
    _, first, counts = np.unique(persons[order], return_index=True, return_counts=True)
    turn = np.empty(len(persons), dtype=int)
    turn[order] = np.arange(len(persons)) - np.repeat(first, counts)
    return turn


def cap_persons(
    division: Division, persons: RowLabels, most: int, *, min_records: int = 1
) -> tuple[Division, Persons]:
    """Keep at most k rows of each person at an owner: the first in the order of the division.

    That order does not depend on the persons, so the rows kept of one person do not depend on
    another.

    Parameters
    ----------
    division: rows of each party; public and held-out rows stay.
    persons: the person of each row of the table; rows of `UNKNOWN` count as one person's.
    most: k >= 1, the rows of one person that an owner keeps.
    min_records: owners that keep fewer records are left out and listed.

    Returns
    -------
    (Division, Persons): the capped division, and the simulator's counts of it.

    Raises
    ------
    InputError
        If no owner keeps enough records.

    >>> none = np.arange(0)
    >>> whole = Division({"A": np.arange(4), "B": np.arange(4, 6)}, none, none, 0)
    >>> persons = RowLabels.of(["ann", "bob", "ann", "ann", "bob", "carl"])
    >>> kept, counted = cap_persons(whole, persons, 2)
    >>> kept.owners["A"].tolist(), counted
    ([0, 1, 2], Persons(left_out=1, shared=1, kappa=2))
    """
    of_row = persons.of_row
    unknown = {place for place, name in enumerate(persons.names) if name == UNKNOWN}
    kept = {name: rows[count_turns(of_row[rows]) < most] for name, rows in division.owners.items()}
    left_out = sum(map(len, division.owners.values())) - sum(map(len, kept.values()))
    owners = large_enough(kept, min_records, "data.owner")
    held: Counter[int] = Counter()
    for rows in owners.values():
        held.update(set(of_row[rows].tolist()) - unknown)
    counted = Persons(left_out, sum(n > 1 for n in held.values()), max(held.values(), default=1))
    too_small = (*division.too_small, *(name for name in kept if name not in owners))
    return replace(division, owners=owners, too_small=too_small), counted
