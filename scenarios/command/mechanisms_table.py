"""Mechanisms side by side as two tables for a terminal, and as one file with all columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from learning.errors import InputError
from market.procurement.comparison import ESTIMATES, ComparisonRow, Estimate
from market.procurement.spending import AtBudget
from scenarios.command.terminal import PlainTable, Terminal, hanging
from scenarios.output.unfinished import put
from scenarios.report.wording import number, percent

SMALL = 4  # decimals at most
WIDEST = 118  # columns of a line of words
MONEY = ("mechanism", "error left %", "spent", "net gain", "owners", "reports")
DETAILS = ("mechanism", "best lie", "if all true", "elsewhere", "count off", "most", "sell", "gini")
READ = (
    "error left: variance of a mean bought from all, as a part of the learner's alone. net gain: the learner's, "
    "{worth} x (1 - error left) - spent. owners: what all together are left with."
)
ERRORS = " ±: standard error, from {markets} markets with other owners."
REPORTS = (
    "reports: truth, where a lie is proved not to help; equilibrium, where it can help: each owner's report is its best "
    "against the others', which it knows (nobody could gain more than {gain})."
)
CHEAPEST = "only the cheapest {part} of the owners of a market may misreport; the others report the truth."
BOUND = (
    "bound: in {part} of the markets best responses came to no rest, so that no equilibrium was found; there stands what "
    "leaves the learner least of all they led to."
)
LOTTERY = (
    "{name}: a draw between two versions, one spending less and one more, with odds that spend the money on average."
)
UNEQUAL = "{name}: cannot be made to spend the money on average, but {spend}; it is no match for the others."
LIES = (
    "best lie: what one owner could gain by a false report while all others tell the truth. if all true: the error left, "
    "in %, if all did. elsewhere: at other equilibria, led to from reports of three times the costs. count off: error of a "
    "count of one bit each, in % of the owners. most: spent in any market; on average the money is kept to, where owners are "
    "truthful or at rest. sell: owners who sell, in %. gini: of payments, 0 all alike."
)


def measured(estimate: Estimate, unit: float = 1.0) -> str:
    """A mean to four digits, or to two of its standard error where these are fewer, and that error; what is small briefly.

    >>> measured(Estimate(29.9871, 0.0823)), measured(Estimate(30.0, 0.0)), measured(Estimate(1234.5, 310.0))
    ('29.99±0.08', '30', '1,230±310')
    >>> measured(Estimate(9.3e-5, 6.8e-5))
    '9.3e-5±7e-5'
    """
    mean, spread = estimate.mean / unit, estimate.std_error / unit
    if not np.isfinite([mean, spread]).all() or mean == 0:  # one market alone
        return number(mean, 4)
    digits = 3 - int(np.floor(np.log10(abs(mean))))
    if not spread >= 0.5 * 10.0**-digits:
        return number(mean, 4)
    if digits > SMALL:
        return f"{mean:.1e}±{spread:.0e}".replace("e-0", "e-")
    digits = min(digits, 1 - int(np.floor(np.log10(spread))))
    return "±".join(f"{round(one, digits):,.{max(digits, 0)}f}" for one in (mean, spread))


def print_comparison(rows: Sequence[ComparisonRow], made: Mapping[str, AtBudget], outside: float, worth: float) -> None:
    """What each left of the error, spent and left to whom; how to read it; details; what each mechanism does."""
    money, details, out = PlainTable("", *MONEY), PlainTable("", *DETAILS), Terminal()
    part = outside / 100
    for row in rows:
        spent = measured(row.spend) + ("" if row.equal else " !")
        gains = measured(row.net_gain), measured(row.surplus)
        money.add_row(row.name, measured(row.fitness, part), spent, *gains, row.reports)
        lying = ("0", "", "") if row.reports == "truth" else lies(row, part)
        shares = number(100 * row.count_error.mean), number(row.largest_spend), number(100 * row.selling.mean)
        details.add_row(row.name, *lying, *shares, f"{row.gini.mean:.2f}")
    width = min(out.width, WIDEST)
    out.print(money)
    for line in notes(rows, made, worth):
        out.say(hanging(line, width))
    out.print()
    out.print(details)
    out.say(hanging(LIES, width), " ")
    widest = max(map(len, made))
    for name, mechanism in made.items():
        out.say(hanging(f"{name:{widest}}  {mechanism.title}", width))


def lies(row: ComparisonRow, part: float) -> tuple[str, str, str]:
    """What lying does: the best lie against the truth, the error left if all were true, and that of other equilibria."""
    return measured(row.lie), number(row.truth.mean / part), number(row.elsewhere.mean / part)


def notes(rows: Sequence[ComparisonRow], made: Mapping[str, AtBudget], worth: float) -> list[str]:
    """How to read the first table, and what its marks mean."""
    markets = max(row.markets for row in rows)
    said = [READ.format(worth=number(worth)) + (ERRORS.format(markets=markets) if markets > 1 else "")]
    settled = [row for row in rows if row.reports != "truth"]
    if settled:
        gain = max((row.largest_gain for row in settled if row.reports == "equilibrium"), default=0.0)
        said.append(REPORTS.format(gain=number(gain, 1)))
    if settled and settled[0].tried < 1:
        said.append(CHEAPEST.format(part=percent(settled[0].tried)))
    said += [f"{row.name}, {BOUND.format(part=percent(1 - row.found))}" for row in rows if row.reports == "bound"]
    for row in rows:
        one = made[row.name]
        if len(one.versions) > 1:
            said.append(LOTTERY.format(name=row.name))
        if not row.equal:
            at = f"at {'most' if one.spend < one.budget else 'least'} {number(one.spend)}"
            said.append("! " + UNEQUAL.format(name=row.name, spend=at))
    losers = [f"{row.name} ({number(row.largest_loss)})" for row in rows if row.largest_loss > 1e-9]
    if losers:
        said.append(f"taking part made an owner lose money: {', '.join(losers)}.")
    return said


def columns() -> list[str]:
    """Every column of the file; a standard error stands beside its mean."""
    names = [field.name for field in fields(ComparisonRow)]
    return [column for name in names for column in ([name, f"{name}_std_error"] if name in ESTIMATES else [name])]


def write_comparison(rows: Sequence[ComparisonRow], path: Path) -> None:
    """All columns as CSV, numbers in full."""
    put_table(rows, columns(), path)


def put_table(rows: Sequence[Any], names: list[str], path: Path) -> None:
    """Rows as CSV; a standard error stands beside its mean."""
    import pandas as pd

    def cells(row: Any) -> list[object]:
        values = [getattr(row, field.name) for field in fields(row)]
        pairs = ([v.mean, v.std_error] if isinstance(v, Estimate) else [v] for v in values)
        return [cell for pair in pairs for cell in pair]

    table = pd.DataFrame([cells(row) for row in rows], columns=names)
    try:
        put(path, table.to_csv(index=False, lineterminator="\r\n", na_rep="nan"))
    except OSError as error:
        raise InputError("--out", "must be a file that can be written", f"{path}: {error.strerror}") from None
