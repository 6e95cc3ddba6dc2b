"""One owner's records on its side of the market."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from learning.arrays import Array


class Holding(Protocol):
    """An owner's side: its name, and its encoded records."""

    @property
    def name(self) -> str: ...

    @property
    def x(self) -> Array: ...

    @property
    def y(self) -> Array: ...

    @property
    def n_records(self) -> int: ...


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
