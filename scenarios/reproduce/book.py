"""Items of the reproduction book computed, checked, drawn and kept; what is kept is not computed again."""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from time import process_time
from typing import Any

import pandas as pd

from learning.errors import InputError
from learning.progress import Progress, counting
from learning.threads import one_blas_thread
from scenarios.output.manifest import checksum
from scenarios.output.places import check_file, check_place
from scenarios.output.unfinished import put
from scenarios.reproduce.drawing import drawn
from scenarios.reproduce.item import Check, Item, NotPossible, Setting, Status, status_of
from scenarios.reproduce.items import ITEMS
from scenarios.reproduce.tables import table
from scenarios.sweeping.sharing import processes, shared_out

HEADER = "# Published results, computed anew"  # of the page
CHECKS = "item,status,what,found,low,high,published,kind,tolerance,holds"
FOLDER = "reproduction"  # in the folder that the user names
DIGITS = "%.10g"
BY_KEY = {item.key: item for item in ITEMS}
USUAL = Setting()
QUICK = "Quick: coarse grids, few runs."
KINDS = {"item": str, "dpmarket": str, "note": str, "stand_in": bool, "seconds": float, "reason": str}  # of facts


@dataclass(frozen=True)
class Outcome:
    """What came of an item.

    Parameters
    ----------
    item: which.
    checks: what was compared with the source; none where it was not possible.
    note: the data it was computed on, in words; empty where it needs none.
    stand_in: whether those were generated.
    reason: why it was not possible here; empty otherwise.
    """

    item: Item
    checks: tuple[Check, ...]
    note: str
    stand_in: bool
    reason: str = ""

    @property
    def status(self) -> Status:
        """What to say of it in a word."""
        return "not possible here" if self.reason else status_of(self.checks)


def reproduce(items: Sequence[Item], setting: Setting, out: Path, workers: int, progress: Progress) -> list[Outcome]:
    """Compute, check and draw items, the dearest first; each is kept as soon as it is done.

    Parameters
    ----------
    items : which, of ITEMS.
    setting : the data, and how fine.
    out : the folder that a folder "reproduction" with numbers, figures and facts of every item is kept in.
    workers : processes.
    progress : called with what is being done, and the share of it that is done.

    Returns
    -------
    list : in the order of ``items``.

    Raises
    ------
    InputError
        If the folder cannot be written to, a file of an item's there is not ours, or a published table cannot be read.
    """
    folder = check_folder_of_items(out, items)
    missing = [item for item in items if not is_kept(item, setting, folder)]
    cost = sum(item.cost for item in items)
    did = counting(progress, f"{len(items)} items", cost, cost - sum(item.cost for item in missing))
    turns = [[item.key] for item in sorted(missing, key=lambda item: -item.cost)]
    workers = max(1, min(workers, len(turns)))
    with processes(workers) as pool:
        for done in shared_out(turns, lambda keys: pool.submit(compute_and_keep, keys, setting, folder), workers):
            did(sum(BY_KEY[key].cost for key in done))
    return [outcome for item in items if (outcome := kept(item, folder))]


def check_folder_of_items(out: Path, items: Iterable[Item]) -> Path:
    """The folder that items are kept in, made where it is not there; no file of anybody else's is written over.

    Raises
    ------
    InputError
    """
    folder = check_place(out) / FOLDER
    for place in (folder.parent, folder):
        if os.path.lexists(place) and not place.is_dir():
            raise InputError("--out", "must be a folder", f"a file: {place}", "Name another one.")
    folder.mkdir(parents=True, exist_ok=True)
    for item in items:
        numbers, figure, facts = (folder / f"{item.key}.{end}" for end in ("csv", "svg", "json"))
        strange = [str(path) for path in (numbers, figure) if path.is_dir() or (path.exists() and not facts.exists())]
        if strange:
            raise InputError(
                "--out", "must be a new folder or an earlier one", f"{strange[0]}, not ours", "Name another one."
            )
    return folder


def check_page(out: Path) -> tuple[Path, Path]:
    """Where the page and the table of checks are written; a page that somebody else wrote is spared.

    Raises
    ------
    InputError
    """
    check_folder_of_items(out, ())
    return check_file(out / "reproduction.md", HEADER), check_file(out / FOLDER / "checks.csv", CHECKS)


@one_blas_thread()
def compute_and_keep(keys: Sequence[str], setting: Setting, folder: Path) -> list[str]:
    """Compute one item after the other.

    Its facts are written first, so that its files are known as ours, and its numbers last: what has those that its facts
    name is whole.
    """
    for key in keys:
        item, began = BY_KEY[key], process_time()
        facts: dict[str, Any] = {"item": key, **_asked(item, setting), "note": "", "stand_in": False, "reason": ""}
        text = figure = ""
        try:
            facts |= _about(item, setting)
            text = item.compute(setting).to_csv(index=False, float_format=DIGITS, lineterminator="\n")
        except NotPossible as why:
            facts["reason"] = str(why)
        else:
            if item.draw is not None:
                figure = drawn(item.draw, pd.read_csv(io.StringIO(text)), facts["note"])
        facts["seconds"] = round(process_time() - began, 2)
        facts["numbers"] = hashlib.sha256(text.encode()).hexdigest() if text else ""
        keep(folder / f"{key}.json", json.dumps(facts, indent=1) + "\n")
        for end, content in (("svg", figure), ("csv", text)):
            if content:
                keep(folder / f"{key}.{end}", content)
            else:
                (folder / f"{key}.{end}").unlink(missing_ok=True)
    return list(keys)


def keep(path: Path, text: str) -> None:
    """Write a file: at any moment it is the old one or the new one.

    Raises
    ------
    InputError
        If the disk is full, say; what is done is kept.
    """
    try:
        put(path, text)
    except OSError as error:
        remedy = "What is done is kept: start the same command again."
        raise InputError(str(path), "must be a place that can be written to", error.strerror or error, remedy) from None


def _about(item: Item, setting: Setting) -> dict[str, Any]:
    """What is said of the data that an item is computed on; whether it can do without a table is its own to say."""
    tables = []
    for name in item.tables:
        with suppress(NotPossible):
            tables.append(table(name, setting))
    how = [QUICK] * setting.quick + [f"Seed {setting.seed}."] * (setting.seed != USUAL.seed)
    told = " ".join([one.says for one in tables] + how)
    return {"note": told, "stand_in": any(one.stand_in for one in tables)}


def _asked(item: Item, setting: Setting) -> dict[str, Any]:
    """What an outcome depends on, beside the item itself."""
    data = fingerprint(setting.data) if setting.data and item.tables else None
    return {"dpmarket": version("dpmarket"), "data": data, "quick": setting.quick, "seed": setting.seed}


def fingerprint(folder: Path) -> str:
    """What tells one folder of tables from another: names and sizes of its files, and of those one folder down."""
    files = sorted(path for pattern in ("*", "*/*") for path in folder.glob(pattern) if path.is_file())
    told = "\n".join(f"{path.relative_to(folder).as_posix()} {path.stat().st_size}" for path in files)
    return hashlib.sha256(told.encode()).hexdigest()


def is_kept(item: Item, setting: Setting, folder: Path) -> bool:
    """Whether an item was computed before in the same setting, by the same version."""
    facts = _facts(item, folder)
    return (
        facts is not None
        and all(facts.get(name) == value for name, value in _asked(item, setting).items())
        and _whole(facts, item, folder)
    )


def _whole(facts: dict[str, Any], item: Item, folder: Path) -> bool:
    """Whether an item's numbers are those that its facts name, and its figure is there."""
    there = checksum(folder / f"{item.key}.csv")
    drawn_too = item.draw is None or not there or (folder / f"{item.key}.svg").is_file()
    return facts.get("numbers", there) == there and drawn_too  # early facts name none


def kept(item: Item, folder: Path) -> Outcome | None:
    """What came of an item, from what is kept; None where nothing whole is, or another version left it.

    Raises
    ------
    InputError
        If its facts are damaged, or its numbers are not what the item needs.
    """
    facts, path = _facts(item, folder), folder / f"{item.key}.csv"
    if facts is None or facts["dpmarket"] != version("dpmarket") or not _whole(facts, item, folder):
        return None
    checks: Sequence[Check] = ()
    if not facts["reason"]:
        try:
            checks = item.checks(pd.read_csv(path))
        except (OSError, LookupError, AttributeError, TypeError, ValueError) as error:
            found = f"{type(error).__name__}: {error}"
            raise InputError(str(path), "must hold the item's numbers", found, "Remove it to begin anew.") from None
    return Outcome(item, tuple(checks), facts["note"], facts["stand_in"], facts["reason"])


def _facts(item: Item, folder: Path) -> dict[str, Any] | None:
    path = folder / f"{item.key}.json"
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        whole = all(isinstance(facts[name], kind) for name, kind in KINDS.items()) and facts["item"] == item.key
    except FileNotFoundError:
        return None
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        whole = False
    if not whole:
        remedy = f"Remove all files {item.key}.* there to begin anew."
        raise InputError(str(path), "must hold facts as they were written", "something else", remedy)
    return facts


def all_kept(out: Path) -> Iterator[Outcome]:
    """Every outcome that a folder holds, in the order of ITEMS."""
    for item in ITEMS:
        outcome = kept(item, out / FOLDER)
        if outcome is not None:
            yield outcome


def table_of_checks(outcomes: Iterable[Outcome]) -> pd.DataFrame:
    """Every check of every outcome, a row each: what golden tables hold."""
    rows = [
        {"item": one.item.key, "status": one.status, **asdict(check), "holds": check.holds}
        for one in outcomes
        for check in one.checks
    ]
    return pd.DataFrame(rows, columns=CHECKS.split(","))
