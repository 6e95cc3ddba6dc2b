"""Command that computes published results anew, with a status each."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from learning.display import PlainTable, show_stages
from learning.errors import InputError
from learning.program import declare_command
from learning.terminal import Terminal
from scenarios.command.options import UNMET, DataFolder, Workers

if TYPE_CHECKING:
    from reproduction.book import Outcome
    from reproduction.item import Item
    from reproduction.study import Options, Study

ALL = "all"
STATUS = {True: "holds", False: "FAILS", None: "-"}


def list_keys() -> list[str]:
    """List all names that can be asked for, for completion in a shell."""
    from reproduction.items import ITEMS, STUDIES

    return [
        ALL,
        *dict.fromkeys(item.source for item in ITEMS),
        *(item.key for item in ITEMS),
        *STUDIES,
    ]


@dataclass(frozen=True, kw_only=True)
class Effort:
    """Extent of what is computed, and its seeds.

    Parameters
    ----------
    quick : Coarse grids and few runs.
    seed : Of everything that items draw.
    seeds : Seeds of each market, for calibration, intervals, differing and beside.
    """

    quick: bool = False
    seed: Annotated[int, Option(min=0, max=2**32 - 1)] = 1
    seeds: Annotated[int, Option(min=1, max=10_000)] = 40
    workers: Workers = None


@declare_command
def reproduce(
    ids: Annotated[list[str] | None, Argument(autocompletion=list_keys)] = None,
    *,
    data_folder: DataFolder = None,
    out: Path = Path("reproduced"),
    effort: Effort,
    strict: bool = False,
    listing: Annotated[bool, Option("--list")] = False,
) -> int:
    """Recompute published figures, tables, theorems and errata, and write a page with the status of
    each.

    Without --data, generated tables replace data sets that are not bundled, and figures say so. The
    studies protocol, calibration, intervals and differing test the program's own forecasts; beside
    trains outside private learners on the same rows, and writes a page of its own.

    Parameters
    ----------
    ids [ID]... : Items such as VC-4, a source such as VC, all of them, or a study.
        [default: all]
    out : Folder of the results; the same command continues there.
    strict : Exit with status 3 if anything is not reproduced.
    listing : Print the items, and compute nothing.
    """
    from reproduction.study import Options

    items, studies = _select_ids(ids or [ALL])
    if listing:
        _print_items(items)
        return 0
    workers = effort.workers or os.cpu_count() or 1
    options = Options(_find_data(data_folder), out, effort.seeds, workers)
    if "calibration" in studies:
        from reproduction.calibration import check_outcomes

        check_outcomes(out)
    met = True
    if items:
        met = _compute_items(items, options, effort.quick, effort.seed)
    if studies:
        met = _compute_studies(studies, options) and met
    return UNMET * (strict and not met)


def _select_ids(ids: Sequence[str]) -> tuple[list[Item], list[str]]:
    """Select items in the order of the page, and studies in the order asked for."""
    from reproduction.items import ITEMS, STUDIES
    from scenarios.schema.fields import suggest_name

    known = {name.lower(): name for name in list_keys()}
    for one in ids:
        if one.lower() not in known:
            rule = "must be an item, a source, a study or all"
            remedy = suggest_name(one, list(known.values())) or "--list prints what there is."
            raise InputError("reproduce", rule, one, remedy)
    asked = dict.fromkeys(known[one.lower()] for one in ids)
    items = [item for item in ITEMS if {ALL, item.source, item.key} & set(asked)]
    return items, [name for name in asked if name in STUDIES]


def _find_data(folder: Path | None) -> Path | None:
    """Find the folder with published tables, by the option or the environment."""
    from scenarios.schema.data import DATA_VARIABLE

    place = folder or os.environ.get(DATA_VARIABLE)
    if not place:
        return None
    if not Path(place).is_dir():
        remedy = "Leave it out to compute on stand-ins."
        raise InputError("--data", "must be a folder that exists", place, remedy)
    return Path(place)


def _compute_items(items: Sequence[Item], options: Options, quick: bool, seed: int) -> bool:
    """Compute, print and store items; True where every law and number checked is reproduced."""
    from reproduction.book import all_kept, check_page, compute_items, table_of_checks, write_text
    from reproduction.item import Setting
    from reproduction.pages import render_page

    page, table = check_page(options.out)
    setting = Setting(options.data, quick, seed)
    with show_stages() as progress:
        outcomes = compute_items(items, setting, options.out, options.workers, progress)
    held = list(all_kept(options.out))
    write_text(page, render_page(held))
    write_text(table, table_of_checks(held).to_csv(index=False, lineterminator="\n"))
    _print_outcomes(outcomes, page)
    return all(one.verdict != "not reproduced" for one in outcomes)


def _print_items(items: Sequence[Item]) -> None:
    """Print a line for each item."""

    rows = PlainTable("", "item", "what", "where", left=3)
    for item in items:
        rows.add_row(item.key, item.title, item.where)
    Terminal().print(rows)


def _print_outcomes(outcomes: Sequence[Outcome], page: Path) -> None:
    """Print a line for each item, and the checks that do not hold."""
    from reproduction.item import limited_checks
    from reproduction.pages import describe_miss

    rows = PlainTable("", "item", "what", "status", "hold", left=3)
    failed = []
    for one in outcomes:
        key = one.item.key
        status = one.status + ", stand-in" * (one.stand_in and not one.reason)
        limited = limited_checks(one.checks)
        holding = sum(check.holds for check in limited)
        rows.add_row(key, one.item.title, status, f"{holding}/{len(limited)}")
        if one.reason:
            failed.append(f"{key}: {one.reason}")
        failed += [f"{key}: {describe_miss(check)}" for check in one.checks if not check.holds]
    out = Terminal()
    out.print(rows)
    out.say(*failed, f"Page with every figure: {page}")


def _compute_studies(names: Sequence[str], options: Options) -> bool:
    """Compute and print studies; True where every row holds."""
    from reproduction.items import STUDIES

    with show_stages() as progress:
        found = [STUDIES[name](options, progress) for name in names]
    for study in found:
        print_study(study)
    return all(row.holds is not False for study in found for row in study.rows)


def print_study(study: Study) -> None:
    """Print a reproduced table with its status."""

    table = PlainTable(study.title, "", *study.columns, "reference", "status")
    for row in study.rows:
        table.add_row(row.name, *row.values, row.reference, STATUS[row.holds])
    out = Terminal()
    out.print(table)
    out.say(*study.notes)
    out.print()
