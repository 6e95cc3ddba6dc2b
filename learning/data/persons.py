"""Persons with several rows: at most so many of them stay with an owner, and none of their names leaves it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from learning.arrays import Array
from learning.data.division import Division, RowLabels, large_enough

UNKNOWN = ""  # rows of nobody in particular may all be one person's


@dataclass(frozen=True)
class Persons:
    """What the simulator counts of persons, by looking at all owners' rows.

    Parameters
    ----------
    left_out: rows that owners left out, beyond the most of one person.
    shared: persons with rows at several owners.
    kappa: the largest number of owners that one person has rows at, >= 1.
    """

    left_out: int
    shared: int
    kappa: int


def neighbours(rows_per_person: int) -> str:
    """How neighbouring data sets of an owner differ that keeps at most so many rows of a person.

    >>> neighbours(3)
    "replace one person's rows, at most 3 at an owner, by as many"
    """
    return f"replace one person's rows, at most {rows_per_person} at an owner, by as many"


def unit_of_privacy(person: bool, rows: int = 1) -> str:
    """The unit that privacy is promised to: a record; or a person, where each row's is known, with its rows at an owner.

    Parameters
    ----------
    person: whether a column says whose each row is.
    rows: the most rows of one person that an owner keeps.

    >>> unit_of_privacy(False), unit_of_privacy(True, 3)
    ('one record', 'one person, up to 3 records')
    """
    return f"one person, up to {rows} record{'s' * (rows > 1)}" if person else "one record"


def turns(persons: NDArray) -> Array:
    """Which of its person's rows each row is, in their order, from 0: array (n,).

    >>> turns(np.array(["ann", "bob", "ann", "ann"])).tolist()
    [0, 0, 1, 2]
    """
    order = np.argsort(persons, kind="stable")
    _, first, counts = np.unique(persons[order], return_index=True, return_counts=True)
    turn = np.empty(len(persons), dtype=int)
    turn[order] = np.arange(len(persons)) - np.repeat(first, counts)
    return turn


def capped(division: Division, persons: RowLabels, most: int, *, min_records: int = 1) -> tuple[Division, Persons]:
    """Leave each person at most so many rows at an owner: the first in the order in which rows were divided.

    That order does not depend on whose rows they are: which rows of one person stay, no other person can tell.

    Parameters
    ----------
    division: who holds which row; public and held-out rows stay as they are.
    persons: whose each row of the table is; rows of `UNKNOWN` count as one person's.
    most: k >= 1, the rows of one person that an owner keeps.
    min_records: owners that keep fewer records are left out and listed.

    Returns
    -------
    (Division, Persons): the division that is left, and what the simulator counts of it.

    Raises
    ------
    InputError
        If no owner keeps so many records.

    >>> whole = Division({"A": np.arange(4), "B": np.arange(4, 6)}, np.arange(0), np.arange(0), 0)
    >>> kept, counted = capped(whole, RowLabels.of(["ann", "bob", "ann", "ann", "bob", "carl"]), 2)
    >>> kept.owners["A"].tolist(), counted
    ([0, 1, 2], Persons(left_out=1, shared=1, kappa=2))
    """
    of_row, nobody = persons.of_row, {place for place, name in enumerate(persons.names) if name == UNKNOWN}
    kept = {name: rows[turns(of_row[rows]) < most] for name, rows in division.owners.items()}
    left_out = sum(map(len, division.owners.values())) - sum(map(len, kept.values()))
    owners = large_enough(kept, min_records, "data.owner")
    held = Counter(person for rows in owners.values() for person in set(of_row[rows].tolist()) - nobody)
    counted = Persons(left_out, sum(n > 1 for n in held.values()), max(held.values(), default=1))
    too_small = (*division.too_small, *(name for name in kept if name not in owners))
    return replace(division, owners=owners, too_small=too_small), counted
