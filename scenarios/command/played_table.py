"""Mechanisms by what owners learn to report, as one table for a terminal, and as one file with all columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path

from market.procurement.certificate import TYPES
from market.procurement.comparison import ROUNDING
from market.procurement.manipulation import PlayedRow
from market.procurement.report_learning import LEARNING
from market.procurement.spending import AtBudget
from scenarios.command.mechanisms_table import LOTTERY, WIDEST, measured, put_table
from scenarios.command.terminal import PlainTable, Terminal, hanging
from scenarios.report.wording import number

HEADINGS = ("mechanism", "best lie", "gain left", "at most", "report", "error left %", "spent", "owners", "wasted")
SEARCHED = 460  # reports, about: costs, evenly spaced ones, and a hair below what others report
READ = (
    "best lie: what the owner who gains most by a false report expects to gain while all others tell the truth (!: surely "
    "more than nothing: lies pay). gain left: what one could still gain where reports settled, in markets drawn anew; at "
    "most: with 95 % confidence, at all of {types} costs by all of some {reports} reports; 0 would be a Bayes-Nash "
    "equilibrium. Of what stands under owners each is left with {part} on average."
)
MORE = (
    "report: over the cost. error left, spent, owners (what all are left with): as played (if all told the truth), in the "
    "same {markets} markets. wasted: what all together lose by that. ±: standard error."
)


def print_played(rows: Sequence[PlayedRow], made: Mapping[str, AtBudget], outside: float, owners: int) -> None:
    """The mechanisms in which lies pay, last; how to read it; how the others' reports were learned."""
    table, out = PlainTable("", *HEADINGS), Terminal()
    for row in rows:
        pairs = (
            (row.fitness.mean * 100 / outside, row.truth_fitness.mean * 100 / outside),
            (row.spend.mean, row.truth_spend.mean),
            (row.surplus.mean, row.truth_surplus.mean),
        )
        wasted = abs(row.lost.mean) > ROUNDING * row.spend.mean
        table.add_row(
            row.name,
            measured(row.lie) + (" !" if row.manipulable else ""),
            measured(row.loss),
            number(row.bound, 2) if row.bound > ROUNDING * row.spend.mean else "0",
            "true" if row.honest else f"{100 * row.markup:+.1f} %",
            *(number(now, 3) + ("" if row.honest else f" ({number(truth, 3)})") for now, truth in pairs),
            measured(row.lost) if wasted else "0",
        )
    width = min(out.width, WIDEST)
    out.print(table)
    out.say(
        hanging(
            READ.format(types=TYPES, reports=SEARCHED, part="all" if owners == 1 else f"one part in {owners}"), width
        )
    )
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
