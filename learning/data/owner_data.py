"""One owner's records, as its side of the market holds them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from learning.arrays import Array


class Holding(Protocol):
    """What is asked of an owner's side: its name, the number of its records, and these, encoded."""

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
    """One owner's encoded records; stays behind the owner.

    Parameters
    ----------
    name : the owner's name.
    x : (n, p), encoded features, the last of them the constant 1.
    y : (n,), the target, clipped to its public range.
    clipped : how many cells of this owner lay outside the public ranges; told to the owner only.
    """

    name: str
    x: Array = field(repr=False)
    y: Array = field(repr=False)
    clipped: int = 0

    @property
    def n_records(self) -> int:
        """How many records the owner has."""
        return len(self.y)


@dataclass(frozen=True)
class OwnerAway:
    """One owner whose records stay in the file; they are read, all of them, when somebody looks at one.

    Parameters
    ----------
    name : the owner's name.
    n_records : how many records it has.
    read : gives x (n, p) and y (n,) as `OwnerData` holds them.
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
        """The target (n,)."""
        return self._held[1]
