"""What `dpmarket compare` prints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from scenarios.command.terminal import PlainTable, Terminal, in_title
from scenarios.report import sentences_comparison as words
from scenarios.report.wording import number, percent


def print_comparison(content: dict[str, Any], folder: Path) -> None:
    """A line for each alternative, who gains most, how owners would vote, and where the page is."""
    out, rows = Terminal(), content["alternatives"]
    trained = any(row["trained_gain"] for row in rows)
    heads = [
        "alternative",
        "paid",
        "error",
        *(["trained"] if trained else []),
        "gain",
        *(["trained"] if trained else []),
    ]
    table = PlainTable(in_title(content["title"], content), *heads, "pays", "owners", "total")
    for row in rows:
        errors = [row["relative_fitness"], *([row["trained_fitness"]] if trained else [])]
        gains = [row["gain"], *([(row["trained_gain"] or {}).get("mean")] if trained else [])]
        cells = [*map(percent, errors), *map(number, gains), percent(row["chance_pays"], 2)]
        table.add_row(
            words.named(row), number(row["payments"]), *cells, number(row["owners_surplus"]), number(row["welfare"])
        )
    out.print(table)
    out.print()
    out.say(
        words.aim(content), *words.missed(content), words.best(content), words.vote(content), *words.cautions(content)
    )
    out.say(f"\nreport: {folder / 'report.html'}")
