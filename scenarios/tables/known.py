"""Records with a target: the only ones on which a model is tried."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from learning.arrays import Array
from learning.data.encoding import Encoder
from learning.data.owner_data import Holding, OwnerData
from learning.forecast.pooled import Pooled, PooledRecords
from learning.losses.loss import FreshRecords
from learning.losses.records import row_blocks
from learning.spool import on_disk


def known_records(pooled: Pooled, encoder: Encoder) -> Sequence[Holding | FreshRecords]:
    """Leave out the owners' records without a target, which the owners have filled.

    Sums do not allow this; there the owners themselves are returned.
    """
    if not isinstance(pooled, PooledRecords):
        return pooled.owners
    found = [(owner, ~find_filled(encoder, owner.x, owner.y)) for owner in pooled.owners]
    ends = encoder.target.ends
    return [FreshRecords(*keep_rows(one, known), ends) for one, known in found if known.any()]


def find_filled(encoder: Encoder, x: Array, y: Array) -> NDArray[np.bool_]:
    """Find the encoded records (n, p), (n,) that stand for rows without a target, (n,)."""
    blank: dict[str, Any] = {encoder.target.name: np.array([np.nan])}
    fill, _ = encoder.target.encode(blank, np.arange(1))
    found = np.asarray(y == fill)
    width = len(encoder.mean)
    for rows in row_blocks(len(y)):
        own = x[rows].reshape(-1, x.shape[1] // width, width).sum(axis=1)  # of one target, others 0
        found[rows] &= np.all(own == encoder.mean, axis=1)
    return found


def keep_rows(owner: OwnerData, kept: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Keep some rows (n,) of an owner: on disk where its own are there."""
    if kept.all():
        return owner.x, owner.y
    if not isinstance(owner.x, np.memmap):
        return owner.x[kept], owner.y[kept]
    x = on_disk((int(kept.sum()), owner.x.shape[1]))
    end = 0
    for rows in row_blocks(len(kept)):
        some = owner.x[rows][kept[rows]]
        x[end : end + len(some)] = some
        end += len(some)
    return x, owner.y[kept]
