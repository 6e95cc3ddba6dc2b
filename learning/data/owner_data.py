"""One owner's records, as its side of the market holds them."""

from __future__ import annotations

from dataclasses import dataclass, field

from learning.arrays import Array


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
