"""Output of `dpmarket compare` and `dpmarket design`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from learning.display import PlainTable
from learning.terminal import Terminal
from scenarios.command.console import in_title, say_phrases
from scenarios.report.facts_design import HEADS, design_cells, design_refusals
from scenarios.report.facts_outcome import alternative_name
from scenarios.report.wording import format_number, format_percent


def print_comparison(content: dict[str, Any], folder: Path) -> None:
    """Print a line for each alternative, the learner's best, the owners' vote, and the page."""
    rows = [_table_cells(row) for row in content["alternatives"]]
    if not any(row["trained_gain"] for row in content["alternatives"]):
        rows = [{key: cell for key, cell in row.items() if "trained" not in key} for row in rows]
    heads = [head.split(",")[0] for head in rows[0]]
    out = Terminal()
    table = PlainTable(in_title(content["title"], content), *heads)
    for row in rows:
        table.add_row(*row.values())
    out.print(table)
    out.print()
    say_phrases(out, "comparison", "aim missed best vote cautions", content)
    out.say(f"\nreport: {folder / 'report.html'}")


def _table_cells(row: dict[str, Any]) -> dict[str, str]:
    return {
        "alternative": alternative_name(row),
        "paid": format_number(row["payments"]),
        "error": format_percent(row["relative_fitness"]),
        "trained, error": format_percent(row["trained_fitness"]),
        "gain": format_number(row["gain"]),
        "trained, gain": format_number((row["trained_gain"] or {}).get("mean")),
        "pays": format_percent(row["chance_pays"], 2),
        "owners": format_number(row["owners_surplus"]),
        "total": format_number(row["welfare"]),
    }


def print_design(content: dict[str, Any], folder: Path, advice: str) -> None:
    """Print the best of each kind of policy, the offer, whom to ask, the page, and advice."""
    out = Terminal()
    title = in_title(content["title"], content["chosen"])
    table = PlainTable(title, *HEADS)
    for cells in design_cells(content):
        table.add_row(*cells)
    out.print(table)
    for line in design_refusals(content):
        out.say(line)
    say_phrases(out, "design", "reading where_explained", content)
    out.print()
    say_phrases(out, "design", "answer what_would_change not_bought", content)
    out.say(f"\nreport: {folder / 'report.html'}", advice)
