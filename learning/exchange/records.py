"""An owner's records as the rules of a contract make them of its table: they never leave its machine."""

from __future__ import annotations

from dataclasses import dataclass, field

from learning.arrays import Array


@dataclass(frozen=True, eq=False)
class Records:
    """Encoded records, for the owner's program alone.

    Parameters
    ----------
    x: array (n, p), features in the columns of the contract; the last the constant 1.
    y: array (n,), targets.
    persons: array (n,), whose each record is; None where each is somebody else's.
    clipped: how many cells lay outside their column's range and count as its end.
    written: the digest of each record's row as the owner's file has it, all columns; in memory only. None where there is no
        file.
    """

    x: Array = field(repr=False)
    y: Array = field(repr=False)
    persons: Array | None = field(default=None, repr=False)
    clipped: int = 0
    written: list[bytes] | None = field(default=None, repr=False)
