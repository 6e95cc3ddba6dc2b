"""Output of the command on a result or a forecast."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from learning.display import PlainTable
from learning.forecast.planner import Planner
from learning.forecast.prediction import Prediction
from learning.phrases import format_number, format_percent
from learning.terminal import Terminal, titled
from scenarios.report.facts_errors import error_format, error_rows
from scenarios.report.facts_outcome import best_short
from scenarios.report.facts_owners import epsilon_of, listed_first
from scenarios.report.phrases import render_lines, render_phrase, terminal_lines
from scenarios.report.wording import currency_of, format_interval
from scenarios.tables.dataset import MarketData

WIDEST = 20  # owners printed; all owners are in owners.csv


def print_result(content: Mapping[str, Any], folder: Path) -> None:
    """Print the owners, what came out by topic, and the place of the report."""
    out = Terminal()
    if content.get("errors"):
        out.print(_errors_table(content))
        out.print()
    out.print(_owners_table(content))
    hidden = len(content["owners"]) - WIDEST
    if hidden > 0:
        out.say(f"... and {hidden:,} more, with less money at stake, in owners.csv")
    out.print()
    out.say(*summary_lines(content))
    shared = [
        render_phrase("privacy", name, content) for name in ("shared_records", "shared_persons")
    ]
    filled = content["data"].get("filled_cells")
    out.say(titled("warning", *shared))
    out.say(titled("filled", render_phrase("privacy", "filled_cells", filled)))
    out.say(titled("persons", render_phrase("privacy", "persons_counted", content)))
    out.say(f"\nreport: {folder / 'report.html'}")


def _errors_table(content: Mapping[str, Any]) -> PlainTable:
    """Make the table of errors in plain units, with that of the model that is bought first."""
    title = render_phrase("errors", "heading", content)
    rows = error_rows(content)
    spreads = {row["kind"]: render_phrase("errors", "spread", row, content) for row in rows}
    trained = any(spreads.values())  # else a column would be empty
    heads = ["in nine trainings in ten"] * trained + ["forecast (95 % interval)"]
    table = PlainTable(title, "model", "measured", *heads)
    show = error_format(content["errors"], content)
    for row in rows:
        measured = "not trained" if row["kind"] == "bought" else "–"
        if row["measured"] is not None:
            measured = show(row["measured"])
        words = [spreads[row["kind"]]] * trained
        words.append(render_phrase("errors", "forecast", row, content))
        table.add_row(render_phrase("errors", "row_words", row, content), measured, *words)
    return table


def _owners_table(content: Mapping[str, Any]) -> PlainTable:
    owners = content["owners"]
    moved = {"tax": "tax", "transfer": "ring", "spillover": "others' sales"}
    if content.get("unions"):
        moved["transfer"] = "union"
    moved = {key: head for key, head in moved.items() if any(row.get(key) for row in owners)}
    heads = {"payment": "paid", "privacy_cost": "privacy cost", **moved, "surplus": "surplus"}
    title = in_title(content["title"] or "Owners", content)
    table = PlainTable(title, "owner", "records", "epsilon", *heads.values())
    for row in listed_first(owners, WIDEST, WIDEST):
        numbers = [epsilon_of(row), *(row[key] for key in heads)]
        table.add_row(row["name"], f"{row['records']:,}", *map(format_number, numbers))
    return table


def summary_lines(content: Mapping[str, Any]) -> list[str]:
    """Render what came out, with a title for each topic."""
    return [titled(title, *lines) for title, lines in terminal_lines(content)]


def say_phrases(out: Terminal, topic: str, names: str, *values: Any) -> None:
    """Print phrases of a topic by their names, which blanks part."""
    for name in names.split():
        out.say(*render_lines(topic, name, *values))


def in_title(title: str, content: Mapping[str, Any]) -> str:
    """Title of a table, with the currency that its money is in."""
    currency = currency_of(content)
    return title + f" (money in {currency})" * bool(currency)


def print_forecast(
    data: MarketData,
    planner: Planner,
    budgets: np.ndarray,
    part: Mapping[str, Any],
    prediction: Prediction,
) -> None:
    """Print a forecast at given budgets.

    Parameters
    ----------
    data: the market's data.
    planner: the learner's planner.
    budgets: epsilon of each owner, (n_owners,).
    part: the forecast, in the form of results.
    prediction: the forecast with its intervals.
    """
    oracle = part["oracle"]
    pooled = "trained on the pooled records at other noise"
    if part["kind"] == "exact":
        pooled = "the same formula on the pooled records"
    error = ""
    if oracle and oracle["std_error"]:
        error = f"+- {format_percent(oracle['std_error'])} (std. error)"
    own = {"public": "on its public rows"}.get(part["basis"], "from its start")
    zero = f"relative fitness (0 = the {best_short(planner.coordinates.loss)})"
    made = render_phrase("learning", "forecast_made", part)
    interval = render_phrase("model", "interval", part)
    alone = format_interval(*prediction.outside_interval(), show=format_percent)
    rows = PlainTable("", zero, "value", "interval")
    fitness = format_percent(part["relative_fitness"])
    rows.add_row(f"model at these budgets, {made}", fitness, interval)
    rows.add_row("  of this, error without noise", format_percent(part["bias"]))
    rows.add_row("  of this, error from noise", format_percent(part["noise"]))
    if oracle:
        rows.add_row(f"{pooled} (oracle)", format_percent(oracle["relative_fitness"]), error)
    rows.add_row(f"learner alone, {own}", format_percent(planner.forecast.outside), alone)
    out = Terminal()
    out.print(rows)
    open_owners = [name for name, e in zip(data.names, budgets, strict=True) if e == np.inf]
    out.say(
        render_phrase("learning", "forecast_plan", part, planner),
        render_phrase("model", "published_bound", part),
        render_phrase("model", "may_bind", part),
        render_phrase("privacy", "unlike_owners", part),
        *(f"{name} adds no noise: its records have no guarantee" for name in open_owners),
    )
