"""`dpmarket exchange`: a whole exchange rehearsed on a scenario's table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from learning.display import PlainTable, show_stages
from learning.extras import check_extra
from learning.phrases import format_percent
from learning.privacy.mechanisms import BEST
from learning.program import declare_command
from learning.terminal import Terminal, titled
from scenarios.command.options import Changes, ScenarioArg

if TYPE_CHECKING:
    from scenarios.schema.scenario import Scenario

SHOWN = 10  # exchanges that are printed


@declare_command
def exchange(
    scenario: ScenarioArg,
    *,
    out: Path | None = None,
    repeat: Annotated[int, Option(min=1, max=1000)] = 1,
    flower: bool = False,
    unsigned: bool = False,
    changes: Changes,
) -> None:
    """Rehearse an exchange: divide a scenario's table among owners, and run every party's program.

    Parameters
    ----------
    out : Folder of the rehearsal [default: exchanges/NAME, changes in its name].
    repeat : Number of exchanges, each with new ledgers.
    unsigned : Make no keys: nobody signs anything.
    flower : Use Flower on this machine instead of a folder; needs the extra federated.
    """
    from scenarios.result import default_folder

    if flower:
        check_extra("--flower", "federated", "flwr")
    check_extra("exchange", "release", "opendp")
    chosen = changes.load_scenario(scenario)
    if chosen.learning.mechanism == BEST:  # of the noise that owners' programs can draw
        exact = chosen.learning.model_copy(update={"exact": True})
        chosen = chosen.model_copy(update={"learning": exact})
    folder = out or Path("exchanges") / default_folder(scenario, changes.assignments).name
    from exchange.rehearsal.rehearsal import check_place_of, rehearse_exchange

    check_place_of(folder)
    with changes.placing_faults(scenario), show_stages() as progress:
        facts = rehearse_exchange(
            chosen,
            folder,
            repeat=repeat,
            flower=flower,
            signed=not unsigned,
            progress=progress,
        )
    print_rehearsal(chosen, facts, folder)


def print_rehearsal(scenario: Scenario, facts: Mapping[str, Any], folder: Path) -> None:
    """Print the error of the exchanged models, the simulation's, and the search of the files."""
    from scenarios.report.phrases import render_phrase

    rows = PlainTable(scenario.title, "exchange in", "seconds", "above the best error, measured")
    exchanges = facts["exchanges"]
    for one in exchanges[:SHOWN]:
        error = format_percent(one["relative_fitness"])
        rows.add_row(str(folder / one["folder"]), f"{one['seconds']:.1f}", error)
    terminal = Terminal()
    terminal.print(rows)
    if len(exchanges) > SHOWN:
        terminal.say(f"and {len(exchanges) - SHOWN} more")
    terminal.say(
        *(titled(name, render_phrase("rehearsal", name, facts)) for name in ("measured", "shared")),
        titled("limits", *lifted_words(folder)),
        f"contract     {facts['contract']}",
        f"settlement   {folder / 'shared' / 'settlement.html'}",
    )


def lifted_words(folder: Path) -> list[str]:
    """Name the limits that owners' programs were started with."""
    from exchange.contract import read_contract
    from exchange.rehearsal.rehearsal import CONTRACT, lifted_limits

    contract = read_contract(folder / CONTRACT)
    names = contract.names[:SHOWN]
    return [f"{name} accepted with {' '.join(lifted_limits(contract, name))}" for name in names]
