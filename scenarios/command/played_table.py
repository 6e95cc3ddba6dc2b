"""Mechanisms by the reports that owners learn, as one table for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from exchange.terminal import Terminal, hanging
from market.procurement.comparison import ROUNDING
from market.procurement.manipulation import PlayedRow
from market.procurement.played import LEARNING
from market.procurement.spending import AtBudget
from market.procurement.strategies import TYPES
from scenarios.command.mechanisms_table import WIDEST, format_estimate
from scenarios.command.terminal import PlainTable
from scenarios.report.phrases import render_lines
from scenarios.report.wording import format_number

HEADINGS = (
    "mechanism",
    "best lie",
    "gain left",
    "at most",
    "report",
    "error left %",
    "spent",
    "owners",
    "wasted",
)
SEARCHED = 460  # reports, about: costs, evenly spaced ones, and a hair below what others report


def print_played(
    rows: Sequence[PlayedRow], made: Mapping[str, AtBudget], outside: float, owners: int
) -> None:
    """Print the mechanisms, notes on the columns, and how each strategy was learned.

    Parameters
    ----------
    rows: results of the mechanisms, those in which lies pay last.
    made: the mechanisms by name.
    outside: relative fitness of the learner's own model.
    owners: number of owners in a market.
    """
    table = PlainTable("", *HEADINGS)
    out = Terminal()
    for row in rows:
        table.add_row(*_played_cells(row, outside))
    width = min(out.width, WIDEST)
    out.print(table)
    notes = (rows, made, owners, TYPES, SEARCHED, LEARNING)
    for line in render_lines("procurement", "played_notes", *notes):
        out.say(hanging(line, width))


def _played_cells(row: PlayedRow, outside: float) -> list[str]:
    least = ROUNDING * row.spend.mean
    bound = "0"
    if row.bound > least:
        bound = format_number(row.bound, 2)
    wasted = "0"
    if abs(row.lost.mean) > least:
        wasted = format_estimate(row.lost)
    figures = [
        (row.fitness.mean * 100 / outside, row.truth_fitness.mean * 100 / outside),
        (row.spend.mean, row.truth_spend.mean),
        (row.surplus.mean, row.truth_surplus.mean),
    ]
    report = "true"
    played = [format_number(now) for now, _ in figures]
    if not row.honest:
        report = f"{100 * row.markup:+.1f} %"
        played = [f"{format_number(now)} ({format_number(truth)})" for now, truth in figures]
    lie = format_estimate(row.lie) + " !" * bool(row.manipulable)
    return [row.name, lie, format_estimate(row.loss), bound, report, *played, wasted]
