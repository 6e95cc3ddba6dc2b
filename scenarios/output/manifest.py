"""Manifest of a folder: the list of the files that the program wrote there, with their sums.

All other files in it are somebody else's.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Iterator
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from scenarios.output.unfinished import LEFT, put_file

PROGRAM = "dpmarket"
MANIFEST = "manifest.json"


def write_manifest(folder: Path, only: Collection[Path] | None = None) -> None:
    """Write the manifest of a folder: its files and their SHA-256.

    Parameters
    ----------
    folder : its files are all ours.
    only : files of a folder with a manifest that were written anew; others keep the sums that they
        have.
    """
    kept: dict[str, str] = {}
    paths = only
    if paths is None:
        paths = [path for path in folder.rglob("*") if path.is_file()]
    else:
        kept = _list_files(folder)
        if not kept:
            return  # without a manifest no file in it is ours
    sums = kept | {path.relative_to(folder).as_posix(): file_checksum(path) for path in paths}
    made = {"program": PROGRAM, "version": version("dpmarket"), "files": dict(sorted(sums.items()))}
    put_file(folder / MANIFEST, json.dumps(made, indent=1, ensure_ascii=False) + "\n")


def written_files(folder: Path, names: Collection[str]) -> dict[str, str]:
    """Files of a folder that the program wrote, with their checksums.

    >>> written_files(Path("no folder"), ["result.json"])
    {}
    """
    files = _list_files(folder)
    if files:
        return {name: files[name] for name in names if name in files} | {MANIFEST: ""}
    if {"schema", "scenario_sha256", "equilibrium"} <= set(_read_json(folder / "result.json")):
        return dict.fromkeys(names, "")  # of an earlier version
    return {}


def changed_files(folder: Path, names: Collection[str]) -> list[str]:
    """Files that differ from the folder's manifest; none where it has no manifest.

    A manifest that is not the program's, or damaged, is named itself: no file can be judged by it.

    >>> changed_files(Path("no folder"), ["result.json"])
    []
    """
    sums = _list_files(folder)
    if not sums and (folder / MANIFEST).exists():
        return [MANIFEST]
    return [name for name in names if name in sums and file_checksum(folder / name) != sums[name]]


def _list_files(folder: Path) -> dict[str, str]:
    """Files of a folder's manifest, with their sums; none where it is no manifest of ours."""
    found = _read_json(folder / MANIFEST)
    if found.get("program") == PROGRAM and isinstance(found.get("files"), dict):
        return dict(found["files"])
    return {}


def _read_json(path: Path) -> dict[str, Any]:
    """Content of a JSON file; empty where it is no table."""
    with suppress(OSError, ValueError, TypeError, RecursionError):
        if path.is_file():  # a pipe would be waited for
            return dict(json.loads(path.read_bytes()))
    return {}


def file_checksum(path: Path) -> str:
    """The SHA-256 of a file; empty where there is none."""
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def other_files(
    folder: Path, written: Collection[str], names: Collection[str], above: str = ""
) -> Iterator[str]:
    """Paths of all that is not ours in a folder.

    A folder in which nothing of ours can be is one path.
    """
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        path = above + entry.name
        inside = any(name.startswith(f"{path}/") for name in (*written, *names))
        if inside and entry.is_dir(follow_symlinks=False):
            yield from other_files(Path(entry), written, names, f"{path}/")
            continue
        ours = path in written or LEFT.fullmatch(entry.name)
        if not ours or not entry.is_file(follow_symlinks=False):
            yield path
