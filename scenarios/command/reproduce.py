"""The command that computes published results anew, with a status each."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from learning.errors import InputError
from scenarios.command.options import DataFolder
from scenarios.command.progress import stages

if TYPE_CHECKING:
    from scenarios.reproduce.book import Outcome
    from scenarios.reproduce.item import Item
    from scenarios.reproduce.study import Study

ALL = "all"
UNMET = 3  # exit status with --strict


def keys() -> list[str]:
    """Everything that can be asked for, for completion in a shell."""
    from scenarios.reproduce import STUDIES
    from scenarios.reproduce.items import ITEMS

    return [ALL, *dict.fromkeys(item.source for item in ITEMS), *(item.key for item in ITEMS), *STUDIES]


def reproduce(
    ids: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ID]...",
            help="Items such as VC-4, a source such as VC, all of them, or protocol or calibration. [default: all]",
            autocompletion=keys,
        ),
    ] = None,
    data_folder: DataFolder = None,
    out: Annotated[Path, typer.Option(help="Folder where what is done is kept; run again, it goes on there.")] = Path(
        "reproduced"
    ),
    quick: Annotated[bool, typer.Option("--quick", help="Coarse grids and few runs.")] = False,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Of everything that items draw.")] = 1,
    seeds: Annotated[int, typer.Option(min=1, max=10_000, help="Seeds of each market, for calibration.")] = 40,
    workers: Annotated[int | None, typer.Option(min=1, max=1000, help="Processes [default: one a processor].")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Status 3 where anything is not reproduced.")] = False,
    listing: Annotated[bool, typer.Option("--list", help="Print what there is, and compute nothing.")] = False,
) -> int:
    """Compute published figures, tables, theorems and errata anew: numbers, figure and status of each, and a page of all.

    Without --data, generated stand-ins take the place of tables that do not come along, and figures say so. The studies
    protocol and calibration check the program's own promises.
    """
    from scenarios.reproduce import STUDIES

    items, studies = _chosen(ids or [ALL])
    if listing:
        _list(items)
        return 0
    folder, many = _data(data_folder), workers or os.cpu_count() or 1
    if "calibration" in studies:
        from scenarios.reproduce.calibration import check_outcomes

        check_outcomes(out)
    met = _items(items, folder, out, quick, seed, many) if items else True
    if studies:
        from scenarios.reproduce.study import Options

        with stages() as progress:
            found = [STUDIES[name](Options(folder, out, seeds, many), progress) for name in studies]
        met = _print_studies(found) and met
    return UNMET if strict and not met else 0


def _chosen(ids: Sequence[str]) -> tuple[list[Item], list[str]]:
    """Items in the order of the page, and studies in the order asked for."""
    from scenarios.reproduce import STUDIES
    from scenarios.reproduce.items import ITEMS
    from scenarios.schema.fields import nearest

    known = {name.lower(): name for name in keys()}
    asked = []
    for one in ids:
        if one.lower() not in known:
            rule = "must be an item, a source, a study or all"
            raise InputError(
                "reproduce", rule, one, nearest(one, list(known.values())) or "--list prints what there is."
            )
        asked.append(known[one.lower()])
    items = [item for item in ITEMS if {ALL, item.source, item.key} & set(asked)]
    return items, [name for name in dict.fromkeys(asked) if name in STUDIES]


def _data(folder: Path | None) -> Path | None:
    """The folder with published tables, as named or as the environment has it."""
    from scenarios.schema.data import DATA_VARIABLE

    if folder is None and not os.environ.get(DATA_VARIABLE):
        return None
    found = Path(folder or os.environ[DATA_VARIABLE])
    if not found.is_dir():
        raise InputError("--data", "must be a folder that exists", found, "Leave it out to compute on stand-ins.")
    return found


def _items(items: Sequence[Item], data: Path | None, out: Path, quick: bool, seed: int, workers: int) -> bool:
    """Compute, print and keep; whether every law and number checked is reproduced."""
    from scenarios.reproduce.book import all_kept, check_page, keep, reproduce, table_of_checks
    from scenarios.reproduce.item import Setting
    from scenarios.reproduce.pages import page

    places = check_page(out)
    with stages() as progress:
        outcomes = reproduce(items, Setting(data, quick, seed), out, workers, progress)
    held = list(all_kept(out))
    for place, text in zip(
        places, (page(held), table_of_checks(held).to_csv(index=False, lineterminator="\n")), strict=True
    ):
        keep(place, text)
    _print_outcomes(outcomes, places[0])
    return all(one.status != "not reproduced" for one in outcomes)


def _list(items: Sequence[Item]) -> None:
    from scenarios.command.terminal import PlainTable, Terminal

    rows = PlainTable("", "item", "what", "where")
    for column in rows.columns:
        column.justify = "left"
    for item in items:
        rows.add_row(item.key, item.title, item.where)
    Terminal().print(rows)


def _print_outcomes(outcomes: Sequence[Outcome], page: Path) -> None:
    """A line for each item, and what did not hold."""
    from scenarios.command.terminal import PlainTable, Terminal
    from scenarios.reproduce.item import compared
    from scenarios.reproduce.pages import digits, must

    rows, failed = PlainTable("", "item", "what", "status", "hold"), []
    for column in rows.columns[:3]:
        column.justify = "left"
    for one in outcomes:
        status = one.status + (", stand-in" if one.stand_in and not one.reason else "")
        limited = compared(one.checks)
        rows.add_row(one.item.key, one.item.title, status, f"{sum(c.holds for c in limited)}/{len(limited)}")
        failed += [f"{one.item.key}: {one.reason}"] if one.reason else []
        failed += [
            f"{one.item.key}: {check.what}: {digits(check.found)}, must be {must(check)}"
            for check in one.checks
            if not check.holds
        ]
    out = Terminal()
    out.print(rows)
    out.say(*failed, f"Page with every figure: {page}")


def _print_studies(found: Sequence[Study]) -> bool:
    from scenarios.command.console import print_study

    for study in found:
        print_study(study)
    return all(row.holds is not False for study in found for row in study.rows)
