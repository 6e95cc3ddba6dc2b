"""One owner's records on its side of the market."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np

from learning.arrays import Array
from learning.data.encoding import Columns, Encoder
from learning.data.rows import Rows
from learning.errors import InputError


@dataclass(frozen=True)
class OwnerData:
    """One owner's encoded records, which stay with the owner.

    Parameters
    ----------
    name : the owner's name.
    x : (n, p), encoded features, the last of them the constant 1.
    y : (n,), the target, clipped to its public range.
    clipped : number of the owner's cells outside the public ranges, for the owner only.
    """

    name: str
    x: Array = field(repr=False)
    y: Array = field(repr=False)
    clipped: int = 0

    @property
    def n_records(self) -> int:
        return len(self.y)


@dataclass(frozen=True)
class OwnerAway:
    """One owner whose records stay in the file until one is needed; then all are read.

    Parameters
    ----------
    name : the owner's name.
    n_records : number of its records.
    read : returns x (n, p) and y (n,) as in `OwnerData`.
    """

    name: str
    n_records: int
    read: Callable[[], tuple[Array, Array]] = field(repr=False)

    @cached_property
    def _held(self) -> tuple[Array, Array]:
        return self.read()

    @property
    def x(self) -> Array:
        """Encoded features (n, p)."""
        return self._held[0]

    @property
    def y(self) -> Array:
        """Target (n,)."""
        return self._held[1]


@dataclass(frozen=True)
class OwnerUnseen:
    """One owner that has shared nothing but the number of its records.

    Parameters
    ----------
    name : the owner's name.
    n_records : number of its records, >= 1.
    """

    name: str
    n_records: int

    @property
    def x(self) -> Array:
        """Refuse: no record is here."""
        raise no_record()

    y = x


def no_record() -> InputError:
    """Error to raise where a record is needed and none is here."""
    rule = "states numbers of records only, so nothing that needs the records can be computed"
    remedy = "Give a table with the owners' rows, and data.split or data.owner."
    return InputError("owners.records", rule, "no record of any owner", remedy)


Holding = OwnerData | OwnerAway | OwnerUnseen


def encode_owners(
    encoder: Encoder, columns: Columns, held: Mapping[str, Rows]
) -> tuple[OwnerData, ...]:
    """Encode the records of every owner, name -> its rows, in one pass.

    Where there are several targets a row becomes a record for each.
    """
    rows = np.concatenate(list(held.values()))
    ends = np.cumsum([0, *map(len, held.values())])
    x, y, outside = encoder.records(columns, rows)
    counted = np.concatenate([[0], np.cumsum(outside)])[ends].tolist()
    places = len(encoder.targets) * ends
    spans = zip(held, pairwise(places.tolist()), pairwise(counted), strict=True)
    return tuple(
        OwnerData(name, x[i:j], y[i:j], after - before) for name, (i, j), (before, after) in spans
    )
