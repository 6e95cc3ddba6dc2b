"""Results kept on disk, by everything they depend on: what took long once takes no time again."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from learning.arrays import Array

RELEASE = f"{version('dpmarket')}/1"  # the number is raised whenever what is kept would come out otherwise


def folder() -> Path | None:
    """Where results are kept: DPMARKET_CACHE, or the user's cache folder; None where that is empty: nothing is kept."""
    named = os.environ.get("DPMARKET_CACHE")
    if named is not None:
        return Path(named) if named else None
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dpmarket"
    except RuntimeError:  # a user without a home
        return None


def remembered(function: Callable[[], dict[str, Array]], *key: Any) -> dict[str, Array]:
    """function(), or what it gave before for the same key: arrays by name.

    The key, all that the result depends on, is hashed with this program's release. Nothing but arrays is read, so a file
    that somebody put there can be wrong, but not run. A folder that cannot be written, a full disk or a damaged file cost
    the time that keeping would have saved, nothing else.
    """
    place = folder()
    if place is None:
        return function()
    file = place / f"{joblib.hash((RELEASE, key))}.npz"
    # Absent, damaged or foreign: computed anew. A zip archive with a bit turned over may raise almost anything.
    with suppress(Exception), open(file, "rb") as raw, np.load(raw, allow_pickle=False) as kept:
        return {name: kept[name] for name in kept.files}
    result = function()
    with suppress(OSError):
        _keep(file, result)
    return result


def _keep(file: Path, result: dict[str, Array]) -> None:
    """Written beside and renamed, so that a file that is there is whole."""
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=file.parent, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as temporary:
            np.savez(temporary, **result)  # type: ignore[arg-type]
        os.replace(name, file)
    except OSError:
        os.unlink(name)
        raise
