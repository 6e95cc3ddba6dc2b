"""Comparison of mechanisms: two tables for a terminal, and one file with all columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from exchange.terminal import Terminal, hanging
from learning.errors import InputError
from market.procurement.comparison import ComparisonRow, Estimate
from market.procurement.spending import AtBudget
from scenarios.command.terminal import PlainTable
from scenarios.output.unfinished import put_file
from scenarios.report.phrases import render_lines, render_phrase
from scenarios.report.wording import format_number

SMALL = 4  # decimals at most
WIDEST = 118  # columns of a line of words
MONEY = ("mechanism", "error left %", "spent", "net gain", "owners", "reports")
DETAILS = ("mechanism", "best lie", "if all true", "elsewhere", "count off", "most", "sell", "gini")


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
    out = Terminal()
    part = outside / 100
    for row in rows:
        money.add_row(
            row.name,
            format_estimate(row.fitness, part),
            format_estimate(row.spend) + " !" * (not row.equal),
            format_estimate(row.net_gain),
            format_estimate(row.surplus),
            row.reports,
        )
        details.add_row(
            row.name,
            *_lie_cells(row, part),
            format_number(100 * row.count_error.mean),
            format_number(row.largest_spend),
            format_number(100 * row.selling.mean),
            f"{row.gini.mean:.2f}",
        )
    width = min(out.width, WIDEST)
    out.print(money)
    for line in render_lines("procurement", "comparison_notes", rows, made, worth):
        out.say(hanging(line, width))
    out.print()
    out.print(details)
    out.say(hanging(render_phrase("procurement", "lie_columns"), width), " ")
    widest = max(map(len, made))
    for name, mechanism in made.items():
        out.say(hanging(f"{name:{widest}}  {mechanism.title}", width))


def _lie_cells(row: ComparisonRow, part: float) -> tuple[str, str, str]:
    """Format the best lie, the error left if all were true, and that of other equilibria."""
    if row.reports == "truth":
        return "0", "", ""
    errors = (row.truth.mean / part, row.elsewhere.mean / part)
    return format_estimate(row.lie), format_number(errors[0]), format_number(errors[1])


def column_names(kind: type[Any]) -> list[str]:
    """Name the columns of a file of rows: each field, and the standard error of each estimate."""
    names = []
    for field in fields(kind):
        names.append(field.name)
        if field.type in (Estimate, "Estimate"):
            names.append(f"{field.name}_std_error")
    return names


def write_rows(rows: Sequence[Any], path: Path) -> None:
    """Write rows as CSV, numbers in full, each estimate followed by its standard error.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    import pandas as pd

    cells = []
    for row in rows:
        values = (getattr(row, field.name) for field in fields(row))
        parts = (value if isinstance(value, Estimate) else (value,) for value in values)
        cells.append([cell for part in parts for cell in part])
    table = pd.DataFrame(cells, columns=column_names(type(rows[0])))
    try:
        put_file(path, table.to_csv(index=False, lineterminator="\r\n", na_rep="nan"))
    except OSError as error:
        found = f"{path}: {error.strerror}"
        raise InputError("--out", "must be a file that can be written", found) from None
