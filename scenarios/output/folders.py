"""Folders written whole, with the files of others in them kept."""

from __future__ import annotations

import ctypes
import os
import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from learning.errors import InputError, describe_system_error
from scenarios.output.manifest import write_manifest
from scenarios.output.places import KEY, WRITABLE, check_contents, check_folder
from scenarios.output.unfinished import clear_unfinished, lock_folder, temporary_path


@contextmanager
def replace_folder(out: Path, names: Collection[str], *, force: bool = False) -> Iterator[Path]:
    """A folder to write into, which takes the place of ``out`` when the block ends.

    Others' files in ``out`` are kept. Ctrl-C, a full disk or a kill at any moment leave the old
    folder or the new one. A kill may leave a folder of a hidden name beside it; the next folder
    written there clears that away. Parameters and rules are those of `check_folder`.

    Raises
    ------
    InputError
        Also where the disk refuses.
    """
    place = check_folder(out, names, force=force)
    made = [parent for parent in place.parents if not parent.exists()]
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with _unfinished_folder(place.parent) as unfinished:
            new = unfinished / "new" / place.name
            new.mkdir(parents=True)
            yield new
            write_manifest(new)
            if place.exists():
                shutil.copymode(place, new)
                for path in check_contents(place, out, names, force=force):
                    _keep_files(place / path, new / path)
            _change_places(new, place, unfinished / "old" / place.name)
    except BaseException as error:
        for parent in made:
            with suppress(OSError):  # not empty, or not made
                parent.rmdir()
        if isinstance(error, OSError):
            found = f"{out}: {describe_system_error(error)}"
            remedy = "Free some space or name another folder."
            raise InputError(KEY, WRITABLE, found, remedy) from None
        raise


@contextmanager
def write_together(folder: Path, needed: Collection[str] = ()) -> Iterator[Path]:
    """A folder to write files into that belong together.

    They take their places in ``folder`` as one when the block ends. A full disk, Ctrl-C or an error
    leave all of them as they were.

    Parameters
    ----------
    folder : where the files belong; others' files in it stay as they are.
    needed : files that the block reads in the folder it is given, as far as they are there.

    Raises
    ------
    InputError
        If the disk refuses.
    """
    try:
        with _unfinished_folder(folder) as unfinished:
            new = unfinished / "new"
            new.mkdir(parents=True)
            for name in needed:
                if (folder / name).is_file():
                    _keep_files(folder / name, new / name)
            yield new
            paths = [path for path in new.rglob("*") if path.is_file()]
            names = [path.relative_to(new).as_posix() for path in paths]
            written = [name for name in names if not _is_same(new / name, folder / name)]
            _move_together(new, folder, written)
    except OSError as error:
        remedy = "The earlier files are kept. Free some space, and give the same command again."
        raise InputError(str(folder), WRITABLE, describe_system_error(error), remedy) from None


@contextmanager
def _unfinished_folder(folder: Path) -> Iterator[Path]:
    """Name a folder for what is not whole yet.

    Nobody else writes here meanwhile, and it is cleared when the block ends.
    """
    unfinished = temporary_path(folder)
    with lock_folder(folder):
        try:
            yield unfinished
        finally:
            clear_unfinished(unfinished)


def _is_same(one: Path, other: Path) -> bool:
    return other.exists() and one.samefile(other)


def _move_together(new: Path, folder: Path, names: Sequence[str]) -> None:
    """Move files from one folder to another, all of them or none."""
    old = new.parent / "old"
    begun = []
    try:
        for name in names:
            (folder / name).parent.mkdir(exist_ok=True)
            if (folder / name).exists():
                _keep_files(folder / name, old / name)
            begun.append(name)
            os.replace(new / name, folder / name)
    except BaseException:
        for name in begun:
            if (old / name).exists():
                os.replace(old / name, folder / name)
            else:
                (folder / name).unlink(missing_ok=True)
        raise


def _keep_files(path: Path, new: Path) -> None:
    """Link another's file or folder into the new folder."""
    if path.is_dir() and not path.is_symlink():
        shutil.copytree(path, new, symlinks=True, copy_function=_link_files)
    else:
        new.parent.mkdir(parents=True, exist_ok=True)
        _link_files(path, new)


def _link_files(path: str | Path, new: str | Path) -> None:
    try:
        os.link(path, new, follow_symlinks=False)
    except (OSError, NotImplementedError):  # a disk or a system without links, or another's file
        shutil.copy2(path, new, follow_symlinks=False)


def _change_places(new: Path, place: Path, old: Path) -> None:
    """Exchange the new folder and the old one, at once where the system supports it.

    Elsewhere one is set aside for a moment; whoever clears up puts it back where nothing has taken
    its place.
    """
    if place.exists() and _exchange_folders(new, place):
        return
    if place.exists():
        old.parent.mkdir()
        place.rename(old)
    new.rename(place)


def _exchange_folders(one: Path, other: Path) -> bool:
    """Exchange two folders at one stroke by Linux's renameat2; False where it is not supported."""
    here = -100  # AT_FDCWD
    exchange = 2  # RENAME_EXCHANGE
    try:
        call = ctypes.CDLL(None).renameat2
    except (AttributeError, TypeError, OSError):
        return False
    return bool(call(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0)
