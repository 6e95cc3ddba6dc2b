"""Results that are kept on disk between runs, by everything that they depend on."""

from __future__ import annotations

import hashlib
import inspect
import os
import pickle
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

RELEASE = f"{version('dpmarket')}/15"  # the number is raised when kept results would change
CHECKSUM = "checksum"


def cache_folder() -> Path | None:
    """Folder of kept results: DPMARKET_CACHE, or the user's cache folder; None: none are kept."""
    named = os.environ.get("DPMARKET_CACHE")
    if named is not None:
        return Path(named) if named else None
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dpmarket"
    except RuntimeError:  # a user without a home
        return None


def source_identity(plug_in: object) -> str:
    """Identity of a plug-in in a key: its parameters, and its source text where it is foreign.

    So results of a class that has been edited are computed anew. Where the text is unknown, the
    identity is different every time.
    """
    kinds = [one for one in type(plug_in).__mro__ if one not in (ABC, Generic, Protocol, object)]
    foreign = [kind for kind in kinds if not kind.__module__.startswith("learning.")]
    try:
        return repr(plug_in) + "".join(inspect.getsource(kind) for kind in foreign)
    except (OSError, TypeError):
        return f"{plug_in!r} {uuid.uuid4()}"


def load_or_compute(function: Callable[[], dict[str, Array]], *key: Any) -> dict[str, Array]:
    """Load what function() gave before for the same key, arrays by name, or call it.

    The key must hold all that the result depends on; it is hashed with this program's release. Only
    arrays are read, and only with the checksum that they were kept with. A folder that cannot be
    written, a full disk or a damaged or foreign file costs nothing but the time that keeping would
    have saved.
    """
    folder = cache_folder()
    if folder is None:
        return function()
    name = _digest((RELEASE, key)).hex()
    file = folder / f"{name}.npz"
    # Absent, damaged or foreign: computed anew. A zip archive with a bit turned over may raise
    # almost anything.
    with suppress(Exception), open(file, "rb") as raw, np.load(raw, allow_pickle=False) as kept:
        held = {each: kept[each] for each in kept.files}
        if str(held.pop(CHECKSUM)) == _checksum(name, held):
            return held
    result = function()
    with suppress(OSError):
        _write_arrays(file, {**result, CHECKSUM: np.array(_checksum(name, result))})
    return result


def _digest(key: Any) -> bytes:
    """SHA-256 of arrays, of what holds them, and of all else as pickled."""
    parts: list[bytes]
    match key:
        case np.ndarray() if key.dtype != object:
            parts = [repr((key.dtype.str, key.shape)).encode(), key.tobytes()]
        case dict():
            parts = [_digest(item) for item in key.items()]
        case list() | tuple():
            parts = [_digest(one) for one in key]
        case _:
            parts = [pickle.dumps(key, 4)]
    parts = [type(key).__name__.encode(), *parts]
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).digest()


def _checksum(name: str, arrays: Mapping[str, Array]) -> str:
    """SHA-256 of arrays and of the name that they are kept by."""
    digest = hashlib.sha256(name.encode())
    for each, array in sorted(arrays.items()):
        digest.update(repr((each, array.dtype.str, array.shape)).encode() + array.tobytes())
    return digest.hexdigest()


def _write_arrays(file: Path, arrays: dict[str, Array]) -> None:
    """Write another file and rename it, so that a file of this name is whole."""
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=file.parent, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as temporary:
            np.savez(temporary, **arrays)  # type: ignore[arg-type]
        os.replace(name, file)
    except BaseException:
        os.unlink(name)
        raise
