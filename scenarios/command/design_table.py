"""What `dpmarket design` prints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from scenarios.command.terminal import PlainTable, Terminal, in_title
from scenarios.report import sentences_design as words
from scenarios.report.wording import number, percent


def print_design(content: dict[str, Any], folder: Path, chosen: Path | None) -> None:
    """The best of each kind of policy, what to offer, whom to ask, and where the page and the scenario are."""
    out = Terminal()
    table = PlainTable(in_title(content["title"], content["chosen"]), "policy", "paid", "error", "gain", "will do")
    for row in content["policies"]:
        if not row["refused"]:
            cells = number(row["payments"]), percent(row["relative_fitness"]), number(row["gain"])
            table.add_row(words.named(row), *cells, "yes" if row["feasible"] else "no")
    out.print(table)
    out.print()
    out.say(words.answer(content), words.what_would_change(content), *words.joining(content), words.not_bought(content))
    out.say(words.frontier(content))
    out.say(f"\nreport: {folder / 'report.html'}", "" if chosen is None else f"run it: dpmarket run {chosen}")
