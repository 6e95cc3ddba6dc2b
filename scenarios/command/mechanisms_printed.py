"""Output of `dpmarket mechanisms`: tables for a terminal, and one file with all columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from learning.display import PlainTable
from learning.terminal import Terminal, hanging
from market.procurement.comparison import ROUNDING, ComparisonRow, Estimate
from market.procurement.manipulation import PlayedRow
from market.procurement.played import LEARNING
from market.procurement.spending import AtBudget
from market.procurement.strategies import TYPES
from scenarios.output.unfinished import put_file
from scenarios.report.phrases import render_lines, render_phrase
from scenarios.report.wording import format_number

SMALL = 4  # decimals at most
WIDEST = 118  # columns of a line of words
MONEY = ("mechanism", "error left %", "spent", "net gain", "owners", "reports")
DETAILS = ("mechanism", "best lie", "if all true", "elsewhere", "count off", "most", "sell", "gini")
PLAYED = ("mechanism", "best lie", "gain left", "at most", "report", "error left %", "spent") + (
    "owners",
    "wasted",
)
SEARCHED = 460  # reports, about: costs, evenly spaced ones, and a hair below what others report


def format_estimate(estimate: Estimate, unit: float = 1.0) -> str:
    """Format a mean with its standard error.

    The mean has four digits, or as many as leave two to its standard error.

    >>> format_estimate(Estimate(29.9871, 0.0823)), format_estimate(Estimate(30.0, 0.0))
    ('29.99±0.08', '30')
    >>> format_estimate(Estimate(1234.5, 310.0)), format_estimate(Estimate(9.3e-5, 6.8e-5))
    ('1,230±310', '9.3e-5±7e-5')
    """
    mean = estimate.mean / unit
    spread = estimate.std_error / unit
    if not np.isfinite([mean, spread]).all() or mean == 0:  # one market alone
        return format_number(mean, 4)
    digits = 3 - int(np.floor(np.log10(abs(mean))))
    if not spread >= 0.5 * 10.0**-digits:
        return format_number(mean, 4)
    if digits > SMALL:
        return f"{mean:.1e}±{spread:.0e}".replace("e-0", "e-")
    digits = min(digits, 1 - int(np.floor(np.log10(spread))))
    return "±".join(f"{round(one, digits):,.{max(digits, 0)}f}" for one in (mean, spread))


def print_comparison(
    rows: Sequence[ComparisonRow], made: Mapping[str, AtBudget], outside: float, worth: float
) -> None:
    """Print error, spending and surplus of each mechanism, notes, details, and its rule.

    Parameters
    ----------
    rows: results of the mechanisms, in the order of the table.
    made: the mechanisms by name.
    outside: relative fitness of the learner's own model.
    worth: money that a model without error is worth.
    """
    money = PlainTable("", *MONEY)
    details = PlainTable("", *DETAILS)
    part = outside / 100
    for row in rows:
        estimates = format_estimate(row.net_gain), format_estimate(row.surplus)
        spent = format_estimate(row.spend) + " !" * (not row.equal)
        money.add_row(row.name, format_estimate(row.fitness, part), spent, *estimates, row.reports)
        lie = ("0", "", "")
        if row.reports != "truth":
            errors = (row.truth.mean / part, row.elsewhere.mean / part)
            lie = format_estimate(row.lie), format_number(errors[0]), format_number(errors[1])
        numbers = (100 * row.count_error.mean, row.largest_spend, 100 * row.selling.mean)
        details.add_row(row.name, *lie, *map(format_number, numbers), f"{row.gini.mean:.2f}")
    out = Terminal()
    out.print(money)
    _say_hanging(out, *render_lines("procurement", "comparison_notes", rows, made, worth))
    out.print()
    out.print(details)
    _say_hanging(out, render_phrase("procurement", "lie_columns"))
    out.say(" ")
    widest = max(map(len, made))
    _say_hanging(out, *(f"{name:{widest}}  {one.title}" for name, one in made.items()))


def print_played(
    rows: Sequence[PlayedRow], made: Mapping[str, AtBudget], outside: float, owners: int
) -> None:
    """Print the mechanisms by the reports that owners learn, and notes on the columns.

    Parameters
    ----------
    rows: results of the mechanisms, those in which lies pay last.
    made: the mechanisms by name.
    outside: relative fitness of the learner's own model.
    owners: number of owners in a market.
    """
    table = PlainTable("", *PLAYED)
    for row in rows:
        table.add_row(*_played_cells(row, outside))
    out = Terminal()
    out.print(table)
    notes = (rows, made, owners, TYPES, SEARCHED, LEARNING)
    _say_hanging(out, *render_lines("procurement", "played_notes", *notes))


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


def _say_hanging(out: Terminal, *lines: str) -> None:
    for line in lines:
        out.say(hanging(line, min(out.width, WIDEST)))


def column_names(kind: type[Any]) -> list[str]:
    """Name the columns of a file of rows: each field, and the standard error of each estimate."""
    names = []
    for field in fields(kind):
        names.append(field.name)
        if field.type in (Estimate, "Estimate"):
            names.append(f"{field.name}_std_error")
    return names


def write_rows(rows: Sequence[Any], path: Path) -> None:
    """Write rows as CSV, numbers in full, each estimate followed by its standard error."""
    cells: list[list[Any]] = []
    for row in rows:
        cells.append([])
        for field in fields(row):
            value = getattr(row, field.name)
            if not isinstance(value, Estimate):
                value = [value]
            cells[-1] += value
    table = pd.DataFrame(cells, columns=column_names(type(rows[0])))
    put_file(path, table.to_csv(index=False, lineterminator="\r\n", na_rep="nan"))
