"""Division of the rows of a table among owners, a public sample and a hold-out.

A person may have several rows, of which an owner keeps at most a number; names never leave it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from learning.data.rows import RowLabels, Rows, count_turns
from learning.errors import InputError

Held = TypeVar("Held", bound=Sized)
BLOCK = 2**16  # rows moved at a time
UNKNOWN = ""  # all rows without a person may be of one


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
    private = n_rows - public_rows
    held = 0
    if holdout != "rest":
        held = int(float(holdout) * private)
    public = order[private:].copy()
    held_out = order[private - held : private].copy()
    order.resize(private - held, refcheck=False)  # no view is left
    if sizes is not None:
        _check_total(sum(sizes), n_rows, public_rows, held)
        names = names or [f"owner {i + 1}" for i in range(len(sizes))]
        *parts, left = np.split(order, np.cumsum(sizes))
        taken = dict(zip(names, parts, strict=True))
    else:
        assert labels is not None
        taken, left = _rows_by_label(order, labels, names)
    if holdout == "rest":
        held_out = left
        left = left[:0]
    kept = large_enough(taken, min_records, "data.owner" if sizes is None else "data.split")
    too_small = tuple(name for name in taken if name not in kept)
    return Division(kept, public, held_out, len(left), too_small)


def _rows_by_label(
    free: Rows, labels: RowLabels, names: Sequence[str] | None
) -> tuple[dict[str, Rows], Rows]:
    """Rows of each owner by their labels, and the rows of no owner, in the order of ``free``.

    They are moved a block at a time, from the end of ``free``, which nothing is left of: so rows
    are held once.
    """
    names = names or [name for name in labels.names if name]
    place = {name: number for number, name in enumerate(names)}
    group = np.array([place.get(name, len(names)) for name in labels.names], dtype=np.intp)
    counts = np.zeros(len(names) + 1, dtype=np.intp)
    for i in range(0, len(free), BLOCK):
        of_row = group[labels.of_row[free[i : i + BLOCK]]]
        counts += np.bincount(of_row, minlength=len(counts))
    ends = np.cumsum(counts)
    by_owner = np.empty_like(free)
    room = ends.copy()  # where what is left of each group's ends
    while len(free):
        block = free[-BLOCK:].copy()
        free.resize(len(free) - len(block), refcheck=False)
        of_row = group[labels.of_row[block]]
        order = np.argsort(of_row, kind="stable")
        sizes = np.bincount(of_row, minlength=len(counts))
        moved_by = room - np.cumsum(sizes)
        by_owner[np.arange(len(block)) + moved_by[of_row[order]]] = block[order]
        room -= sizes
    *parts, left = np.split(by_owner, ends[:-1])
    return dict(zip(names, parts, strict=True)), left


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


def large_enough(taken: Mapping[str, Held], min_records: int, key: str) -> dict[str, Held]:
    """Select owners with ``min_records`` records; one without any is an error at ``key``."""
    if not taken:
        raise InputError(key, "needs at least one owner", "none", "Give data.split or data.owner.")
    empty = [name for name, rows in taken.items() if not len(rows)]
    if empty and min_records == 1:
        raise InputError(
            key,
            "every owner needs a record",
            f"none for {empty[0]!r} beside public and held-out rows",
            "Remove this owner's rows from the table.",
        )
    kept = {name: rows for name, rows in taken.items() if len(rows) >= min_records}
    if not kept:
        rule = f"at least one owner must have {min_records:,} records"
        found = f"at most {max(map(len, taken.values())):,}"
        raise InputError("data.min_records", rule, found, "Lower it.")
    return kept


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
