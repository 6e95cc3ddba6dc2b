"""Canonical files: one text for one content, so that parties sign the same bytes.

JSON with sorted keys, one value a line, in UTF-8; a float is the shortest decimal that reads back
to the same double. A file whose bytes are not those of its content is refused: the signed and the
read content could differ.

Source: the idea is that of RFC 8785, JSON Canonicalization Scheme; numbers here are as Python
    writes them.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import stat
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from learning.errors import InputError, describe_system_error

REMEDY = "Name another one."
LARGEST = 2**25  # bytes of a file: a contract of a thousand parameters has some 25 MB


def encode_canonical(content: Mapping[str, Any]) -> bytes:
    """Encode dicts, lists, texts, finite numbers, true, false and null.

    >>> encode_canonical({"b": [1, 0.5], "a": None})
    b'{\\n "a": null,\\n "b": [\\n  1,\\n  0.5\\n ]\\n}\\n'
    """
    text = json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return (text + "\n").encode()


def sha256_digest(raw: bytes) -> str:
    """SHA-256 of some bytes, 64 hexadecimal digits."""
    return hashlib.sha256(raw).hexdigest()


def parse_canonical(raw: bytes, where: str) -> dict[str, Any]:
    """Decode canonical bytes.

    Raises an InputError if they are no JSON object, or not the canonical bytes of it. The message
    shows no content.
    """
    try:
        content = json.loads(raw.decode("utf-8"), parse_constant=_refuse_constant)
        same = isinstance(content, dict) and encode_canonical(content) == raw
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        rule = "must be a JSON object, UTF-8, as this program writes it"
        raise InputError(where, rule, "something else, or a part of such a file")
    if not same:
        rule = "must be unchanged, byte for byte"
        found = "a text that was edited or formatted"
        raise InputError(where, rule, found, "Get the original file again.")
    return content


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number")


def read_bytes(path: Path, largest: int = LARGEST, *, private: bool = False) -> bytes:
    """Read a file that is opened once, so that the file checked is the file read.

    Parameters
    ----------
    private: whether nobody but its user may be able to read it.

    Raises an InputError if it is no file, larger than any that this program writes, or open to
    others.
    """
    where = str(path)
    handle = None
    try:
        # Opening a pipe would wait for its writer.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        status = os.fstat(handle)
        if stat.S_ISDIR(status.st_mode):
            raise InputError(where, "must be a file", "a folder")
        if not stat.S_ISREG(status.st_mode):
            raise InputError(where, "must be a file", "a pipe or a device")
        if private and sys.platform != "win32" and status.st_mode & 0o077:
            mode = f"mode {stat.S_IMODE(status.st_mode):03o}"
            remedy = f"Type chmod 600 {path}. If others may have read it, it is no secret."
            raise InputError(where, "must be readable by its user alone", mode, remedy)
        with open(handle, "rb", closefd=False) as file:
            raw = b"" if status.st_size > largest else file.read(largest + 1)
    except OSError as error:
        found = describe_system_error(error)
        raise InputError(where, "must be a file that can be read", found) from None
    finally:
        if handle is not None:
            os.close(handle)
    if max(status.st_size, len(raw)) > largest:
        raise InputError(where, f"must be no larger than {largest:,} bytes", f"{status.st_size:,}")
    return raw


def write_atomically(path: Path, raw: bytes, *, private: bool = False, room: int = 0) -> None:
    """Write a file whole or not at all; when this returns, the disk has it.

    Parameters
    ----------
    private: whether only its owner may read it; the system's default unless given.
    room: bytes that the disk must have room for, so that success does not depend on the content.

    Raises an InputError if the disk refuses; an earlier file then stays.
    """
    # a name that no reader takes for a message, in the same folder, for an atomic replacement
    part = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666)
        with open(handle, "wb") as file:
            lock_file(handle)
            file.write(raw.ljust(room))
            file.flush()
            os.fsync(file.fileno())
            if len(raw) < room:
                file.truncate(len(raw))
                os.fsync(file.fileno())
        os.replace(part, path)
        sync_folder(path.parent)
    except OSError as error:
        found = describe_system_error(error)
        raise InputError(str(path), "must be a file that can be written", found) from None
    finally:
        with suppress(OSError):
            os.unlink(part)


def lock_file(handle: int) -> bool:
    """Lock an open file until it is closed or its program ends; False where files cannot be locked.

    Raises a BlockingIOError if another program has locked it.
    """
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except (ImportError, OSError):
        return False
    return True


def check_place(out: Path, key: str = "--out") -> Path:
    """Resolve the links of a place to be written; refuse one where nothing can be written.

    Parameters
    ----------
    out : what the user named.
    key : how the user named it, for the error.

    Raises an InputError if the name is too long, passes through something that is no folder or a
    link to nothing, or lies where one may not write.
    """
    rule = "must be a place that can be written to"
    try:
        for path in (out, *out.parents):
            if path.name == "..":
                os.stat(path)
            if path.is_symlink() and not path.exists():
                raise InputError(key, rule, f"{path}, a broken link", REMEDY)
        place = Path(os.path.realpath(out))
        above = next((parent for parent in place.parents if os.path.lexists(parent)), place)
        for part in place.relative_to(above).parts:
            with suppress(FileNotFoundError):
                os.lstat(above / part)
        tempfile.TemporaryFile(dir=above).close()
    except OSError as error:
        raise InputError(key, rule, f"{out}: {describe_system_error(error)}", REMEDY) from None
    return place


def sync_folder(folder: Path) -> None:
    """Make the disk confirm new names in a folder, where the system can."""
    if sys.platform == "win32":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
