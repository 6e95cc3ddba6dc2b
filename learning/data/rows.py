"""Rows of a table, and whose they are: labels, turns of a person, and the unit of privacy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learning.arrays import Array

Rows = NDArray[np.integer]


@dataclass(frozen=True)
class RowLabels:
    """A text for each row of a table, such as its owner, in the memory of a number for each row.

    Parameters
    ----------
    names : the distinct texts, sorted; "" stands for no owner.
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
        """Label rows by codes (n_rows,): code k takes the label of row k here, -1 of the last."""
        return RowLabels(self.names, self.of_row[codes])


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
