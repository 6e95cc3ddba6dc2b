"""Reproduction book: items computed, checked, drawn and stored; stored items are reused."""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from time import process_time
from typing import Any

import pandas as pd

from learning.canonical import check_place
from learning.errors import InputError, describe_system_error
from learning.progress import Progress, count_progress
from learning.threads import one_blas_thread
from reproduction.drawing import render_svg
from reproduction.item import Check, Item, NotPossible, Setting, Status, name_status, status_of
from reproduction.items import ITEMS
from reproduction.tables import load_table
from reproduction.tables.sources import SOURCES
from scenarios.output.manifest import file_checksum
from scenarios.output.places import check_file
from scenarios.output.unfinished import put_file
from scenarios.sweeping.sharing import processes, shared_out

HEADER = "# Published results recomputed"  # of the page
CHECKS = "item,status,what,found,low,high,published,kind,tolerance,std_error,trait,verdict"
FOLDER = "reproduction"  # in the folder that the user names
DIGITS = "%.10g"
BY_KEY = {item.key: item for item in ITEMS}
USUAL = Setting()
QUICK = "Quick: coarse grids, few runs."
# Kinds of facts.
KINDS: dict[str, type] = dict.fromkeys(("item", "dpmarket", "note", "reason", "numbers"), str)
KINDS |= {"stand_in": bool, "seconds": float}
Facts = dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """Outcome of an item.

    Parameters
    ----------
    item: the item.
    checks: comparisons with the source; none where it was not possible.
    note: data of the computation, in words; empty where it needs none.
    stand_in: True for generated data.
    reason: reason why it was not possible here; empty otherwise.
    """

    item: Item
    checks: tuple[Check, ...]
    note: str
    stand_in: bool
    reason: str = ""

    @property
    def verdict(self) -> Status:
        """Status by the checks of the source, whatever the item's group."""
        return "not possible here" if self.reason else status_of(self.checks)

    @property
    def status(self) -> str:
        """Status in the words of the item's group."""
        return name_status(self.item, self.verdict)


def compute_items(
    items: Sequence[Item], setting: Setting, out: Path, workers: int, progress: Progress
) -> list[Outcome]:
    """Compute, check and draw items, the dearest first; each is stored as soon as it is done.

    Parameters
    ----------
    items : some of ITEMS.
    setting : data, resolution and seed.
    out : folder that gets a folder "reproduction" with numbers, figures and facts of every item.
    workers : number of processes.
    progress : called with the name of the stage, and the share of it that is done.

    Returns
    -------
    list : in the order of ``items``.

    Raises
    ------
    InputError
        If the folder cannot be written to, a file of an item's there is not ours, or a published
        table cannot be read.
    """
    folder = check_folder_of_items(out, items)
    missing = [item for item in items if not is_stored(item, setting, folder)]
    cost = sum(item.cost for item in items)
    did = count_progress(
        progress, f"{len(items)} items", cost, cost - sum(item.cost for item in missing)
    )
    missing.sort(key=lambda item: -item.cost)
    turns = [[item.key] for item in missing]
    workers = max(1, min(workers, len(turns)))
    compute = partial(compute_and_store, setting=setting, folder=folder)
    with processes(workers) as pool:
        for done in shared_out(turns, lambda keys: pool.submit(compute, keys), workers):
            did(sum(BY_KEY[key].cost for key in done))
    return [outcome for item in items if (outcome := read_outcome(item, folder))]


def check_folder_of_items(out: Path, items: Iterable[Item]) -> Path:
    """Check the folder of the items, and make it; no file of others is written over.

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
        for path in (numbers, figure):
            if path.is_dir() or (path.exists() and not facts.exists()):
                rule = "must be a new folder or an earlier one"
                found = f"{path}, which is of something else"
                raise InputError("--out", rule, found, "Name another one.")
    return folder


def check_page(out: Path) -> tuple[Path, Path]:
    """Check the places of the page and of the table of checks; a page by others is spared.

    Raises
    ------
    InputError
    """
    check_folder_of_items(out, ())
    page = check_file(out / "reproduction.md", HEADER)
    return page, check_file(out / FOLDER / "checks.csv", CHECKS)


@one_blas_thread()
def compute_and_store(keys: Sequence[str], setting: Setting, folder: Path) -> list[str]:
    """Compute one item after the other.

    Its facts are written first, so that its files are known as ours, and its numbers last: an item
    is whole if it has the numbers that its facts name.
    """
    for key in keys:
        item = BY_KEY[key]
        began = process_time()
        facts: Facts = {"item": key, **_dependencies(item, setting)}
        facts |= {"note": "", "stand_in": False, "reason": ""}
        numbers = figure = ""
        try:
            facts |= _describe_data(item, setting)
            frame = item.compute(setting)
            numbers = frame.to_csv(index=False, float_format=DIGITS, lineterminator="\n")
        except NotPossible as reason:
            facts["reason"] = str(reason)
        else:
            if item.draw is not None:
                figure = render_svg(item.draw, pd.read_csv(io.StringIO(numbers)), facts["note"])
        facts["seconds"] = round(process_time() - began, 2)
        facts["numbers"] = hashlib.sha256(numbers.encode()).hexdigest() if numbers else ""
        write_text(folder / f"{key}.json", json.dumps(facts, indent=1) + "\n")
        for end, content in (("svg", figure), ("csv", numbers)):
            if content:
                write_text(folder / f"{key}.{end}", content)
            else:
                (folder / f"{key}.{end}").unlink(missing_ok=True)
    return list(keys)


def write_text(path: Path, text: str) -> None:
    """Write a file: at any moment it is the old one or the new one.

    Raises
    ------
    InputError
        For example if the disk is full; finished items stay.
    """
    try:
        put_file(path, text)
    except OSError as error:
        rule = "must be a place that can be written to"
        remedy = "What is done is kept: start the same command again."
        raise InputError(str(path), rule, describe_system_error(error), remedy) from None


def _describe_data(item: Item, setting: Setting) -> Facts:
    """Describe the data of an item, as far as its tables are there."""
    tables = []
    lacking = []
    for name in item.tables:
        try:
            tables.append(load_table(name, setting))
        except NotPossible:
            lacking.append(SOURCES[name][0])
    words = [table.says for table in tables]
    words += [f"Left out: {name} is not there." for name in lacking]
    words += [QUICK] * setting.quick
    if setting.seed != USUAL.seed:
        words.append(f"Seed {setting.seed}.")
    return {"note": " ".join(words), "stand_in": any(table.stand_in for table in tables)}


def _dependencies(item: Item, setting: Setting) -> Facts:
    """Facts that an outcome depends on, besides the item itself."""
    data = None
    if setting.data and item.tables:
        data = fingerprint_folder(setting.data)
    facts = {"dpmarket": version("dpmarket"), "data": data}
    return facts | {"quick": setting.quick, "seed": setting.seed}


def fingerprint_folder(folder: Path) -> str:
    """Fingerprint of a folder of tables: names and sizes of its files, and of those below it."""
    paths = [path for pattern in ("*", "*/*") for path in folder.glob(pattern)]
    files = [path for path in sorted(paths) if path.is_file()]
    lines = [f"{path.relative_to(folder).as_posix()} {path.stat().st_size}" for path in files]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def is_stored(item: Item, setting: Setting, folder: Path) -> bool:
    """True for an item computed before in the same setting, by the same version."""
    facts = _read_facts(item, folder)
    if facts is None or not _is_whole(facts, item, folder):
        return False
    asked = _dependencies(item, setting)
    return all(facts.get(name) == value for name, value in asked.items())


def _is_whole(facts: Facts, item: Item, folder: Path) -> bool:
    """True where an item's numbers are those that its facts name, and its figure is there."""
    there = file_checksum(folder / f"{item.key}.csv")
    complete = item.draw is None or not there or (folder / f"{item.key}.svg").is_file()
    return facts["numbers"] == there and complete


def read_outcome(item: Item, folder: Path) -> Outcome | None:
    """Read the outcome of an item; None where none is whole. Its note names another version.

    Raises
    ------
    InputError
        If its facts are damaged, or its numbers are not those that the item needs.
    """
    facts = _read_facts(item, folder)
    if facts is None or not _is_whole(facts, item, folder):
        return None
    checks: Sequence[Check] = ()
    if not facts["reason"]:
        path = folder / f"{item.key}.csv"
        try:
            checks = item.checks(pd.read_csv(path))
        except (OSError, LookupError, AttributeError, TypeError, ValueError) as error:
            rule = "must hold the item's numbers"
            found = f"{type(error).__name__}: {error}"
            raise InputError(str(path), rule, found, "Remove it to start again.") from None
    note = facts["note"]
    if facts["dpmarket"] != version("dpmarket"):
        note = f"{note} Computed by version {facts['dpmarket']}.".strip()
    return Outcome(item, tuple(checks), note, facts["stand_in"], facts["reason"])


def _read_facts(item: Item, folder: Path) -> Facts | None:
    """Read the facts of an item; None where there are none."""
    path = folder / f"{item.key}.json"
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        whole = all(isinstance(facts[name], kind) for name, kind in KINDS.items())
        whole = whole and facts["item"] == item.key
    except FileNotFoundError:
        return None
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        whole = False
    if not whole:
        rule = "must hold facts as they were written"
        remedy = f"Remove all files {item.key}.* there to start again."
        raise InputError(str(path), rule, "something else", remedy)
    return facts


def all_kept(out: Path) -> Iterator[Outcome]:
    """Every outcome of a folder, in the order of ITEMS."""
    for item in ITEMS:
        outcome = read_outcome(item, out / FOLDER)
        if outcome is not None:
            yield outcome


def table_of_checks(outcomes: Iterable[Outcome]) -> pd.DataFrame:
    """Table of every check of every outcome, a row each, as golden tables have it."""
    rows = [
        {
            "item": one.item.key,
            "status": one.status,
            **asdict(check),
            "verdict": "reported" if check.kind == "told" else check.verdict,
        }
        for one in outcomes
        for check in one.checks
    ]
    return pd.DataFrame(rows, columns=CHECKS.split(","))
