"""Results kept on disk, by everything they depend on: what took long once takes no time again."""

from __future__ import annotations

import hashlib
import inspect
import os
import tempfile
import uuid
from abc import ABC
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any, Generic, Protocol

import numpy as np

from learning.arrays import Array

RELEASE = f"{version('dpmarket')}/6"  # the number is raised whenever what is kept would come out otherwise
CHECKSUM = "checksum"


def folder() -> Path | None:
    """Where results are kept: DPMARKET_CACHE, or the user's cache folder; None where that is empty: nothing is kept."""
    named = os.environ.get("DPMARKET_CACHE")
    if named is not None:
        return Path(named) if named else None
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dpmarket"
    except RuntimeError:  # a user without a home
        return None


def identity(plug_in: object) -> str:
    """What a plug-in is told apart by in a key: its parameters, and its source text where it is not this program's own.

    Who edits a class of their own is so never given what the class did before. Where the text is unknown, nothing is
    remembered: the answer is another one each time.
    """
    others = [kind for kind in type(plug_in).__mro__ if kind not in (ABC, Generic, Protocol, object)]
    foreign = [kind for kind in others if not kind.__module__.startswith("learning.")]
    try:
        return repr(plug_in) + "".join(inspect.getsource(kind) for kind in foreign)
    except (OSError, TypeError):
        return f"{plug_in!r} {uuid.uuid4()}"


def remembered(function: Callable[[], dict[str, Array]], *key: Any) -> dict[str, Array]:
    """function(), or what it gave before for the same key: arrays by name.

    The key, all that the result depends on, is hashed with this program's release. Nothing but arrays is read, and these only
    with the checksum that they were kept with. A folder that cannot be written, a full disk or a file that is damaged or
    was put there by somebody cost the time that keeping would have saved, nothing else.
    """
    place = folder()
    if place is None:
        return function()
    import joblib  # takes a tenth of a second to load

    name = joblib.hash((RELEASE, key))
    file = place / f"{name}.npz"
    # Absent, damaged or foreign: computed anew. A zip archive with a bit turned over may raise almost anything.
    with suppress(Exception), open(file, "rb") as raw, np.load(raw, allow_pickle=False) as kept:
        held = {each: kept[each] for each in kept.files}
        if str(held.pop(CHECKSUM)) == _checksum(name, held):
            return held
    result = function()
    with suppress(OSError):
        _keep(file, {**result, CHECKSUM: np.array(_checksum(name, result))})
    return result


def _checksum(name: str, arrays: Mapping[str, Array]) -> str:
    """The SHA-256 of arrays and of the name that they are kept by."""
    told = hashlib.sha256(name.encode())
    for each, array in sorted(arrays.items()):
        told.update(repr((each, array.dtype.str, array.shape)).encode() + array.tobytes())
    return told.hexdigest()


def _keep(file: Path, arrays: dict[str, Array]) -> None:
    """Written beside and renamed, so that a file that is there is whole."""
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=file.parent, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as temporary:
            np.savez(temporary, **arrays)  # type: ignore[arg-type]
        os.replace(name, file)
    except BaseException:
        os.unlink(name)
        raise
