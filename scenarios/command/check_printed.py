"""What the command prints of a scenario that is good."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from scenarios.command.terminal import PlainTable, Terminal, noted
from scenarios.duration import expected_seconds
from scenarios.report.sentences_ahead import duration, leaving, steps
from scenarios.report.sentences_privacy import filled_cells, identical_records, persons_beyond, persons_left_out
from scenarios.report.sentences_worth import worth_ahead
from scenarios.report.wording import number
from scenarios.schema.behaviours import kinds_of
from scenarios.schema.fields import Interval
from scenarios.schema.scenario import Scenario
from scenarios.schema.toml import visible
from scenarios.summary.worth import past_worth_ahead
from scenarios.tables.dataset import MarketData

WIDEST = 40  # owners printed


def print_check(scenario: Scenario, data: MarketData, reading: float) -> None:
    """What a scenario would work with and do, and how long that takes; the owners in the order of its lists.

    Parameters
    ----------
    scenario : the scenario.
    data : its data.
    reading : seconds of processor time that reading and checking it took.
    """
    division, encoder, dropped = data.division, data.encoder, data.table.n_dropped
    stated, counted = scenario.learning.overlap, None if data.persons is None else asdict(data.persons)
    beyond = [identical_records(asdict(data.overlap), stated), persons_beyond(counted, stated)]
    out = Terminal()
    out.say(
        f"{visible(scenario.title) or 'scenario'}: good. {len(data.owners)} owners, {data.sizes.sum():,} records, "
        f"{len(division.public):,} public rows, {len(division.holdout):,} held out, {encoder.n_parameters} parameters.",
        noted("columns constant in the public rows, dropped", encoder.dropped),
        noted("owners with too few records left out", division.too_small),
        *(f"warning: {said}" for said in beyond if said),
        persons_left_out(counted, scenario.data.most_rows),
        f"public rows dropped for missing cells: {dropped:,}" if dropped else "",
        filled_cells(data.filled),
        f"rows left over: {division.left_over:,}" if division.left_over else "",
    )
    out.print()
    took = expected_seconds(scenario, data, reading)
    out.say(steps(scenario, data), leaving(scenario, data), worth_ahead(scenario, past_worth_ahead(scenario, data)))
    out.say(duration(took))
    out.print()
    out.print(owners_table(scenario, data))
    if len(data.owners) > WIDEST:
        out.say(f"... and {len(data.owners) - WIDEST:,} more, in the order of their names")


def owners_table(scenario: Scenario, data: MarketData) -> PlainTable:
    """The owners in the order in which lists give values to them, each with its values."""
    ordered = data.in_order(scenario)
    places = (("owners", ordered.owners), ("owners.cost", ordered.owners.cost), ("policy", ordered.policy))
    lists: dict[str, Any] = {f"{table}.{key}": value for table, part in places for key, value in part.lists().items()}
    if scenario.behaviours:
        lists["behaviour"] = kinds_of(scenario.behaviours, data.names, scenario.seed)
    rows = PlainTable("Owners, in the order of lists", "owner", "records", *lists)
    for i, owner in enumerate(data.owners[:WIDEST]):
        rows.add_row(owner.name, f"{owner.n_records:,}", *(shown(values[i]) for values in lists.values()))
    return rows


def shown(value: float | Interval | str) -> str:
    """An owner's number, its interval of budgets, or a word."""
    if isinstance(value, str):
        return value
    return " to ".join(map(number, value)) if isinstance(value, Interval) else number(value)
