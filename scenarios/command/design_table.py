"""Output of `dpmarket design`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from exchange.terminal import Terminal
from scenarios.command.terminal import PlainTable, in_title
from scenarios.report.facts_outcome import policy_name
from scenarios.report.phrases import render_lines, render_phrase
from scenarios.report.wording import format_number, format_percent


def print_design(content: dict[str, Any], folder: Path, chosen: Path | None) -> None:
    """Print the best of each kind of policy, the offer, whom to ask, and the files."""
    out = Terminal()
    title = in_title(content["title"], content["chosen"])
    table = PlainTable(title, "policy", "paid", "error", "gain", "will do")
    for row in content["policies"]:
        if not row["refused"]:
            table.add_row(
                policy_name(row),
                format_number(row["payments"]),
                format_percent(row["relative_fitness"]),
                format_number(row["gain"]),
                {True: "yes", False: "no"}[bool(row["feasible"])],
            )
    out.print(table)
    out.print()
    out.say(
        render_phrase("design", "answer", content),
        render_phrase("design", "what_would_change", content),
        *render_lines("design", "joining", content),
        render_phrase("design", "not_bought", content),
        render_phrase("design", "frontier", content),
    )
    out.say(f"\nreport: {folder / 'report.html'}")
    if chosen is not None:
        out.say(f"run it: dpmarket run {chosen}")
