"""Arrays in an unnamed file, for records too many to hold; the file ends with the program."""

from __future__ import annotations

import math
import os
import shutil
import tempfile
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import DTypeLike, NDArray

from learning.errors import InputError

LASTING = Path("/var/tmp")  # /tmp may be memory


def spool_folder() -> Path:
    """Folder of such files: TMPDIR, or the system's folder for large temporary files."""
    if "TMPDIR" not in os.environ and os.access(LASTING, os.W_OK):
        return LASTING
    return Path(tempfile.gettempdir())


def on_disk(shape: tuple[int, ...], dtype: DTypeLike = float) -> NDArray:
    """Make an array of zeros in a file, which the system holds in memory as far as it can.

    Raises
    ------
    InputError
        If there is no room on the disk.

    >>> on_disk((2, 3)).sum()
    np.float64(0.0)
    """
    place = spool_folder()
    size = math.prod(shape) * np.dtype(dtype).itemsize
    free = shutil.disk_usage(place).free
    if size >= free:
        rule = "must have room for the encoded records"
        found = f"{free / 2**30:,.1f} of {size / 2**30:,.1f} GiB in {place}"
        raise InputError("TMPDIR", rule, found, "Name another folder.")
    with tempfile.TemporaryFile(prefix="dpmarket-", dir=place) as file:
        return np.memmap(file, dtype, mode="w+", shape=shape)


def open_spool() -> IO[bytes]:
    """Open an unnamed file that grows, and ends with the program."""
    return tempfile.TemporaryFile(prefix="dpmarket-", dir=spool_folder())


def allocate_like(shape: tuple[int, ...], dtype: DTypeLike, example: NDArray) -> NDArray:
    """Allocate an array in a file if an example is in one, else in memory."""
    return on_disk(shape, dtype) if isinstance(example, np.memmap) else np.empty(shape, dtype)
