"""Output of the command on a scenario that is good."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from learning.display import PlainTable, list_names
from learning.phrases import escape_control
from learning.terminal import Terminal
from scenarios.duration import expected_seconds
from scenarios.features.behaviours import kind_by_owner
from scenarios.report.phrases import render_phrase
from scenarios.report.wording import format_number
from scenarios.schema.fields import Interval
from scenarios.schema.scenario import Scenario
from scenarios.summary.features import features_part
from scenarios.summary.worth import past_worth_ahead
from scenarios.tables.dataset import MarketData

WIDEST = 40  # owners printed


def print_check(scenario: Scenario, data: MarketData, reading: float) -> None:
    """Print the data, the steps and the duration of a run, and the owners in the order of lists.

    Parameters
    ----------
    scenario: the scenario.
    data: its data.
    reading: seconds of processor time that reading and checking it took.
    """
    out = Terminal()
    out.say(*_describe_data(scenario, data))
    out.print()
    took = expected_seconds(scenario, data, reading)
    ahead = past_worth_ahead(scenario, data)
    out.say(
        render_phrase("features", "ahead", features_part(data)),
        render_phrase("ahead", "steps", scenario, data),
        render_phrase("ahead", "leaving", scenario, data),
        render_phrase("worth", "worth_ahead", scenario, ahead),
        render_phrase("ahead", "duration", took),
    )
    out.print()
    out.print(_owners_table(scenario, data))
    hidden = len(data.owners) - WIDEST
    if hidden > 0:
        out.say(f"... and {hidden:,} more")


def _describe_data(scenario: Scenario, data: MarketData) -> list[str]:
    """Count owners, records and rows, and warn of records and persons at several owners."""
    division = data.division
    dropped = data.table.n_dropped
    stated = scenario.learning.overlap
    persons = None
    if data.persons is not None:
        persons = asdict(data.persons)
    shared = asdict(data.overlap) if data.has_records else None
    warnings = [
        render_phrase("privacy", "identical_records", shared, stated),
        render_phrase("privacy", "persons_beyond", persons, stated),
    ]
    filled = data.filled if data.has_records else None
    return [
        f"{escape_control(scenario.title) or 'scenario'}: good. {len(data.owners)} owners, "
        f"{data.sizes.sum():,} records, {len(division.public):,} public rows, "
        f"{len(division.holdout):,} held out, {data.n_parameters} parameters.",
        list_names("columns that add nothing in the public rows, left out", data.encoder.dropped),
        list_names("owners with too few records left out", division.too_small),
        *(f"warning: {warning}" for warning in warnings if warning),
        render_phrase("privacy", "persons_left_out", persons, scenario.data.most_rows),
        f"public rows dropped for missing cells: {dropped:,}" * bool(dropped),
        render_phrase("privacy", "filled_cells", filled),
        f"rows left over: {division.left_over:,}" * bool(division.left_over),
    ]


def _owners_table(scenario: Scenario, data: MarketData) -> PlainTable:
    """Make a table of the owners with their values of lists, in the order of these."""
    ordered = data.in_order(scenario)
    sections = {
        "owners": ordered.owners,
        "owners.cost": ordered.owners.cost,
        "policy": ordered.policy,
    }
    lists: dict[str, Any] = {
        f"{name}.{key}": values
        for name, section in sections.items()
        for key, values in section.lists().items()
    }
    if scenario.behaviours:
        lists["behaviour"] = kind_by_owner(scenario.behaviours, data.names, scenario.seed)
    table = PlainTable("Owners, in the order of lists", "owner", "records", *lists)
    for i, (name, size) in enumerate(zip(data.names[:WIDEST], data.sizes, strict=False)):
        cells = [_format_value(values[i]) for values in lists.values()]
        table.add_row(name, f"{size:,}", *cells)
    return table


def _format_value(value: float | Interval | str) -> str:
    """Format an owner's number, its interval of budgets, or a word."""
    if isinstance(value, str):
        return value
    if isinstance(value, Interval):
        return " to ".join(map(format_number, value))
    return format_number(value)
