"""Arrays in a file without a name: for records too many to hold. The file is gone with the program, however it ends."""

from __future__ import annotations

import math
import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike, NDArray

from learning.errors import InputError

LASTING = Path("/var/tmp")  # /tmp may be memory


def folder() -> Path:
    """Where such files lie: TMPDIR, or the system's folder for large temporary files."""
    return LASTING if "TMPDIR" not in os.environ and os.access(LASTING, os.W_OK) else Path(tempfile.gettempdir())


def on_disk(shape: tuple[int, ...], dtype: DTypeLike = float) -> NDArray:
    """An array of zeros in a file, of which the system keeps in memory what it has room for.

    Raises
    ------
    InputError
        If there is no room on the disk.

    >>> on_disk((2, 3)).sum()
    np.float64(0.0)
    """
    place, size = folder(), math.prod(shape) * np.dtype(dtype).itemsize
    free = shutil.disk_usage(place).free
    if size >= free:
        rule, found = (
            "must have room for the encoded records",
            f"{free / 2**30:,.1f} of {size / 2**30:,.1f} GiB in {place}",
        )
        raise InputError("TMPDIR", rule, found, "Name another folder.")
    with tempfile.TemporaryFile(prefix="dpmarket-", dir=place) as file:
        return np.memmap(file, dtype, mode="w+", shape=shape)


def room(shape: tuple[int, ...], dtype: DTypeLike, beside: NDArray) -> NDArray:
    """An array whose cells are not set yet, in a file where another array is, else in memory."""
    return on_disk(shape, dtype) if isinstance(beside, np.memmap) else np.empty(shape, dtype)
