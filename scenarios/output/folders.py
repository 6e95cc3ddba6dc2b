"""A folder written whole: the old one or the new one at any moment, with what others put into it."""

from __future__ import annotations

import ctypes
import os
import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from learning.errors import InputError
from scenarios.output.manifest import seal
from scenarios.output.places import check_contents, check_folder
from scenarios.output.unfinished import alone, beside, clear

KEY = "--out"


@contextmanager
def replacing(out: Path, names: Collection[str], *, force: bool = False) -> Iterator[Path]:
    """A folder to write into, which takes the place of ``out`` when the block ends; others' files in it are kept.

    Ctrl-C, a full disk or a kill at any moment leave the old folder or the new one. Parameters and rules are those of
    ``check_folder``. What a kill leaves beside it, under a hidden name, the next folder written there clears away.

    Raises
    ------
    InputError
        Also where the disk refuses.
    """
    place = check_folder(out, names, force=force)
    made = [parent for parent in place.parents if not parent.exists()]
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with _unfinished(place.parent) as unfinished:
            new = unfinished / "new" / place.name
            new.mkdir(parents=True)
            yield new
            seal(new)
            if place.exists():
                shutil.copymode(place, new)
                for path in check_contents(place, out, names, force=force, key=KEY):
                    _keep(place / path, new / path)
            _change_places(new, place, unfinished / "old" / place.name)
    except BaseException as error:
        for parent in made:
            with suppress(OSError):  # not empty, or not made
                parent.rmdir()
        if isinstance(error, OSError):
            found, remedy = f"{out}: {error.strerror or error}", "Free some space or name another folder."
            raise InputError(KEY, "must be a folder that can be written to", found, remedy) from None
        raise


@contextmanager
def together(folder: Path, needed: Collection[str] = ()) -> Iterator[Path]:
    """A folder to write files into that belong together; they take their places in ``folder`` as one when the block ends.

    A full disk, Ctrl-C or an error leave all of them as they were.

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
        with _unfinished(folder) as unfinished:
            new = unfinished / "new"
            new.mkdir(parents=True)
            for name in needed:
                if (folder / name).is_file():
                    _keep(folder / name, new / name)
            yield new
            paths = [path for path in new.rglob("*") if path.is_file()]
            names = [path.relative_to(new).as_posix() for path in paths]
            written = [name for name in names if not _is_same(new / name, folder / name)]
            _move_together(new, folder, written)
    except OSError as error:
        rule = "must be a folder that can be written to"
        remedy = "What was there is kept: free some space, and give the same command again."
        raise InputError(str(folder), rule, error.strerror or error, remedy) from None


@contextmanager
def _unfinished(folder: Path) -> Iterator[Path]:
    """Name a folder for what is not whole yet; nobody else writes here meanwhile, and it is cleared when the block ends."""
    unfinished = beside(folder)
    with alone(folder):
        try:
            yield unfinished
        finally:
            clear(unfinished)


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
                _keep(folder / name, old / name)
            begun.append(name)
            os.replace(new / name, folder / name)
    except BaseException:
        for name in begun:
            if (old / name).exists():
                os.replace(old / name, folder / name)
            else:
                (folder / name).unlink(missing_ok=True)
        raise


def _keep(path: Path, new: Path) -> None:
    """Another's file or folder in the new folder too: the same files, so that they are there whichever folder is."""
    if path.is_dir() and not path.is_symlink():
        shutil.copytree(path, new, symlinks=True, copy_function=_link)
    else:
        new.parent.mkdir(parents=True, exist_ok=True)
        _link(path, new)


def _link(path: str | Path, new: str | Path) -> None:
    try:
        os.link(path, new, follow_symlinks=False)
    except (OSError, NotImplementedError):  # a file system or a system without links, or another's file
        shutil.copy2(path, new, follow_symlinks=False)


def _change_places(new: Path, place: Path, old: Path) -> None:
    """The new folder in its place, and the one that was there in the new one's: at once where the system can do that.

    Elsewhere one is set aside for a moment; whoever clears up puts it back where nothing has taken its place.
    """
    if place.exists() and _exchanged(new, place):
        return
    if place.exists():
        old.parent.mkdir()
        place.rename(old)
    new.rename(place)


def _exchanged(one: Path, other: Path) -> bool:
    """Whether two folders have changed places at one stroke, by Linux's renameat2; not every file system knows it."""
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    try:
        call = ctypes.CDLL(None).renameat2
    except (AttributeError, TypeError, OSError):
        return False
    return bool(call(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0)
