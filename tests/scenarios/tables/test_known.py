"""Records with a target are kept as they are, on disk where they were there."""

import numpy as np

from learning.data.owner_data import OwnerData
from learning.losses.records import HELD
from learning.spool import on_disk
from scenarios.tables.known import keep_rows


def test_rows_on_disk_are_kept_there_in_their_order():
    rng = np.random.default_rng(1)
    count = 2 * HELD + 7
    x = on_disk((count, 2))
    x[:] = rng.normal(size=x.shape)
    y = rng.normal(size=count)
    kept = rng.random(count) < 0.9
    held, target = keep_rows(OwnerData("North", x, y), kept)
    assert isinstance(held, np.memmap)
    np.testing.assert_array_equal(held, np.asarray(x)[kept])
    np.testing.assert_array_equal(target, y[kept])
    inside, _ = keep_rows(OwnerData("North", np.asarray(x), y), kept)
    assert not isinstance(inside, np.memmap)
    whole, _ = keep_rows(OwnerData("North", x, y), np.ones(count, dtype=bool))
    assert whole is x
