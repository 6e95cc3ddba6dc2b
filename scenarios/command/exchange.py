"""The command that plays a whole exchange: a scenario's table divided, every party a program of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from learning.errors import check_extra
from scenarios.command.options import DataFolder, Overrides, ScenarioArg, Seed, changes, naming
from scenarios.command.progress import stages

if TYPE_CHECKING:
    from scenarios.schema.loading import Scenario

SHOWN = 10  # exchanges that are printed


def exchange(
    scenario: ScenarioArg,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the rehearsal [default: exchanges/NAME, changes in its name].")
    ] = None,
    repeat: Annotated[int, typer.Option(min=1, max=1000, help="How many exchanges, each with new ledgers.")] = 1,
    flower: Annotated[
        bool, typer.Option("--flower", help="Over Flower on this machine, not a folder; needs the extra federated.")
    ] = False,
    overrides: Overrides = None,
    seed: Seed = None,
    data_folder: DataFolder = None,
) -> None:
    """Rehearse an exchange: divide a scenario's table into owners' files, and let every party's own program do its part."""
    from scenarios.result import default_folder
    from scenarios.schema.loading import load

    changed = changes(overrides, seed)
    if flower:
        check_extra("--flower", "federated", "flwr")
    chosen = load(scenario, changed, data_folder=data_folder)
    folder = out or Path("exchanges") / default_folder(scenario, changed).name
    from scenarios.exchange.rehearsal import check_place_of, rehearse

    check_place_of(folder)
    with naming(scenario, changed), stages() as progress:
        facts = rehearse(chosen, folder, repeat=repeat, flower=flower, progress=progress)
    print_rehearsal(chosen, facts, folder)


def print_rehearsal(scenario: Scenario, facts: Mapping[str, Any], folder: Path) -> None:
    """How good the exchanged models are, whether that is what the simulation says, and what was on the wire."""
    from scenarios.command.console import titled
    from scenarios.command.terminal import PlainTable, Terminal
    from scenarios.report.wording import percent

    rows = PlainTable(scenario.title, "exchange in", "seconds", "above the best error, measured")
    for one in facts["exchanges"][:SHOWN]:
        rows.add_row(str(folder / one["folder"]), f"{one['seconds']:.1f}", percent(one["relative_fitness"]))
    out = Terminal()
    out.print(rows)
    more = len(facts["exchanges"]) - SHOWN
    out.say(f"and {more} more" if more > 0 else "", as_simulated(facts), seen_on_the_wire(facts["exchanges"]))
    out.say(titled("limits", *limits_lifted(folder)))
    out.say(f"contract     {facts['contract']}", f"settlement   {folder / 'shared' / 'settlement.html'}")


def limits_lifted(folder: Path) -> list[str]:
    """Say which limits owners' programs were started with."""
    from learning.exchange.contract import read_contract
    from scenarios.exchange.rehearsal import CONTRACT, lifted_limits

    contract = read_contract(folder / CONTRACT)
    return [f"{name} accepted by {' '.join(lifted_limits(contract, name))}" for name in contract.names[:SHOWN]]


def as_simulated(facts: Mapping[str, Any]) -> str:
    """The exchanged models against the simulator's law at the same plan."""
    from scenarios.report.wording import percent

    made, z = len(facts["exchanges"]), facts["z_score"]
    said = f"measured     {percent(facts['mean'])} " + ("in the exchange" if made == 1 else f"on average of {made}")
    told = f"{said}, where the simulation of the same plan says {percent(facts['law'])}"
    return told if z is None else f"{told}: z = {z:.2f}"


def seen_on_the_wire(exchanges: Sequence[Mapping[str, Any]]) -> str:
    """What a search of everything that left a party's hands came to."""
    wires = [one["wire"] for one in exchanges]
    files, values = sum(one["files"] for one in wires), wires[0]["values"]
    found = [place for one in wires for place in one["found"]]
    said = f"on the wire  {files:,} files, searched for {values:,} values of records, their sums and bare gradients: "
    if not found:
        return said + "none"
    return said + f"{len(found)} FOUND, the first of {found[0]['owner']} in {found[0]['file']}"
