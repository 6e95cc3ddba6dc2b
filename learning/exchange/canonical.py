"""Files that leave a party's house: one text for one content, so that its digest names it and all can sign the same bytes.

JSON with sorted keys, one value a line, in UTF-8; a float is the shortest decimal that reads back to the same double. A file
whose bytes are not those of its content is refused: what was signed would not be what is read.

Source: the idea is that of RFC 8785, JSON Canonicalization Scheme; numbers here are as Python writes them.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from learning.errors import InputError
from learning.privacy.sealed import sync_folder

LARGEST = 2**25  # bytes of a file: a contract of a thousand parameters has some 25 MB


def canonical(content: Mapping[str, Any]) -> bytes:
    """The bytes of a content of dicts, lists, texts, finite numbers, true, false and null.

    >>> canonical({"b": [1, 0.5], "a": None})
    b'{\\n "a": null,\\n "b": [\\n  1,\\n  0.5\\n ]\\n}\\n'
    """
    text = json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return (text + "\n").encode()


def digest(raw: bytes) -> str:
    """The SHA-256 of some bytes, 64 hexadecimal digits."""
    return hashlib.sha256(raw).hexdigest()


def parse(raw: bytes, where: str) -> dict[str, Any]:
    """The content of canonical bytes.

    Raises
    ------
    InputError
        If they are no JSON object, or not the bytes that its content has. Nothing of them is shown.
    """
    try:
        content = json.loads(raw.decode("utf-8"), parse_constant=_refuse)
        same = isinstance(content, dict) and canonical(content) == raw
    except (ValueError, RecursionError):
        content, same = None, False
    if not isinstance(content, dict):
        raise InputError(
            where, "must be a JSON object, UTF-8, as this program writes it", "something else or a part of one"
        )
    if not same:
        remedy = "Ask for the file as it was written."
        raise InputError(
            where, "must be the very bytes that were written", "a text that was edited or formatted", remedy
        )
    return content


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number")


def read(path: Path, largest: int = LARGEST) -> bytes:
    """The bytes of a file, opened once: what is looked at is what is read.

    Raises
    ------
    InputError
        If it is none, or larger than any that this program writes.
    """
    where = str(path)
    handle = None
    try:
        # Opening a pipe would wait for its writer.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            kind = "a folder" if stat.S_ISDIR(found.st_mode) else "a pipe or a device"
            raise InputError(where, "must be a file", kind)
        with open(handle, "rb", closefd=False) as file:
            raw = b"" if found.st_size > largest else file.read(largest + 1)
    except OSError as error:
        raise InputError(where, "must be a file that can be read", error.strerror or "an error") from None
    finally:
        if handle is not None:
            os.close(handle)
    if max(found.st_size, len(raw)) > largest:
        raise InputError(where, f"must be no larger than {largest:,} bytes", f"{found.st_size:,}")
    return raw


def put(path: Path, raw: bytes, *, private: bool = False, room: int = 0) -> None:
    """Write a file whole or not at all; when this returns, the disk has it.

    Parameters
    ----------
    private: whether its owner alone may read it; others as the system lets them unless given.
    room: bytes that the disk must have for it, if more than it needs: whether it has them then depends on no content.

    Raises
    ------
    InputError
        If the disk refuses; what stood there before still does.
    """
    # A name that no reader takes for a message, in the same folder, so that it can be put in place at once.
    beside = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666)
        with open(handle, "wb") as file:
            lock(handle)
            file.write(raw.ljust(room))
            file.flush()
            os.fsync(file.fileno())
            if len(raw) < room:
                file.truncate(len(raw))
                os.fsync(file.fileno())
        os.replace(beside, path)
        sync_folder(path.parent)
    except OSError as error:
        raise InputError(str(path), "must be a file that can be written", error.strerror or "an error") from None
    finally:
        with suppress(OSError):
            os.unlink(beside)


def lock(handle: int) -> bool:
    """Lock an open file until it is closed or its program ends; False where files cannot be locked.

    Raises
    ------
    BlockingIOError
        If another program has locked it.
    """
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except (ImportError, OSError):
        return False
    return True
