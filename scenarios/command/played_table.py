"""Mechanisms by what owners learn to report, as one table for a terminal, and as one file with all columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path

from market.procurement.manipulation import PlayedRow
from market.procurement.played import LEARNING
from market.procurement.spending import AtBudget
from scenarios.command.mechanisms_table import LOTTERY, WIDEST, measured, put_table
from scenarios.command.terminal import PlainTable, Terminal, hanging
from scenarios.report.wording import number

SEARCHED = 460  # reports, about: costs, evenly spaced ones, a hair below what others report
HEADINGS = (
    *("mechanism", "best lie", "gain left", "at most", "report", "error left %", "if true"),
    *("spent", "if true", "owners", "if true", "wasted"),
)
READ = (
    "best lie: what the owner who gains most by a false report expects to gain while all others tell the truth (!: surely "
    "more than nothing: lies pay). gain left: what one could still gain where reports settled, in markets drawn anew; at most: "
    "with 95 % confidence, for all {types} costs and some {reports} reports searched. 0 would be a Bayes-Nash equilibrium; an owner is left with "
    "what stands under owners, divided by {owners}."
)
MORE = (
    "report: over the cost, in %. error left, spent, owners (what all are left with): as played, and if all told the truth, in "
    "the same {markets} markets. wasted: gain of all together, lost by misreporting. ±: standard error."
)


def print_played(rows: Sequence[PlayedRow], made: Mapping[str, AtBudget], outside: float, owners: int) -> None:
    """The mechanisms in which lies pay, last; how to read it; how the others' reports were learned."""
    from market.procurement.certificate import TYPES

    table, out = PlainTable("", *HEADINGS), Terminal()
    part = outside / 100
    for row in rows:
        table.add_row(
            row.name,
            measured(row.lie) + (" !" if row.manipulable else ""),
            measured(row.loss),
            number(row.bound, 2),
            "true" if row.honest else f"{100 * row.markup:+.0f} %",
            *(number(one.mean / part, 3) for one in (row.fitness, row.truth_fitness)),
            *(number(one.mean, 3) for one in (row.spend, row.truth_spend, row.surplus, row.truth_surplus)),
            "0" if row.honest else measured(row.lost),
        )
    width = min(out.width, WIDEST)
    out.print(table)
    out.say(hanging(READ.format(types=TYPES, reports=SEARCHED, owners=owners), width))
    out.say(hanging(MORE.format(markets=max(row.markets for row in rows)), width))
    for row in rows:
        if not row.honest:
            out.say(hanging(f"{row.name}: learned by {LEARNING[row.learning].title}, {row.rounds} rounds.", width))
        if len(made[row.name].versions) > 1:
            out.say(hanging(LOTTERY.format(name=row.name), width))


def write_played(rows: Sequence[PlayedRow], path: Path) -> None:
    """All columns as CSV, numbers in full."""
    put_table(rows, columns(), path)


def columns() -> list[str]:
    """Every column of the file; a standard error stands beside its mean."""
    return [
        column
        for field in fields(PlayedRow)
        for column in ([field.name, f"{field.name}_std_error"] if field.type == "Estimate" else [field.name])
    ]
