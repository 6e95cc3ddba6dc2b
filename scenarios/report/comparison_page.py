"""Folder of a comparison: comparison.json, its tables and figure, a page and a memo."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

from scenarios.output.folders import replace_folder
from scenarios.output.unfinished import put_file
from scenarios.report.facts_owners import epsilon_of, places_listed_first
from scenarios.report.figure_comparison import comparison_figure
from scenarios.report.figure_page import draw_svg
from scenarios.report.memo import write_memo
from scenarios.report.page import MOST, SHORT, inline_svg, render_page
from scenarios.result import MEMO, text_cell

CONTENT = "comparison.json"
FILES = (CONTENT, "comparison.csv", "owners.csv", "comparison.svg", MEMO, "report.html")
NESTED = (
    "owners",
    "policy",
    "rules",
    "scaled",
    "interval",
    "gain_interval",
    "trained_gain",
    "errors",
)


def alternatives_frame(content: dict[str, Any]) -> pd.DataFrame:
    """Make a table with a row for each alternative."""
    rows = []
    for row in content["alternatives"]:
        plain = {key: value for key, value in row.items() if key not in NESTED}
        plain |= dict(zip(("interval_low", "interval_high"), row["interval"], strict=True))
        plain |= dict(zip(("gain_low", "gain_high"), row["gain_interval"], strict=True))
        errors = row.get("errors") or {"per": None, "measured": {}}
        plain["error_per"] = errors["per"]
        plain["error_trained"] = (errors["measured"].get("trained") or {}).get("mean")
        plain["error_outside"] = errors["measured"].get("outside")
        trained = row["trained_gain"] or {}
        for key in ("mean", "std_error", "q05", "q95"):
            plain[f"trained_gain_{key}"] = trained.get(key)
        rows.append(plain)
    return pd.DataFrame(rows)


def owners_frame(content: dict[str, Any]) -> pd.DataFrame:
    """Make a table with a row for each alternative and owner."""
    rows = [
        {"alternative": row["name"], **owner, "epsilon": epsilon_of(owner)}
        for row in content["alternatives"]
        for owner in row["owners"]
    ]
    return pd.DataFrame(rows)


def draw_comparison(content: dict[str, Any]) -> str:
    """Draw the figure of a comparison as SVG text."""
    return draw_svg(comparison_figure, content)


def render_comparison(content: dict[str, Any]) -> str:
    """Render the page of a comparison, one file that needs no other."""
    return render_page(
        "comparison.html.j2",
        content,
        content=content,
        figures={"comparison": inline_svg(draw_comparison(content), "comparison")},
        order=places_listed_first(content["alternatives"][0]["owners"], SHORT, MOST),
    )


def save_comparison(content: dict[str, Any], folder: Path, *, force: bool = False) -> None:
    """Write a comparison's folder, whole or not at all.

    Raises
    ------
    InputError
        If the folder holds what is no comparison, or the disk refuses.
    """
    tables = {"comparison.csv": alternatives_frame(content), "owners.csv": owners_frame(content)}
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
    with replace_folder(folder, FILES, force=force) as new:
        put_file(new / CONTENT, text + "\n")
        for name, frame in tables.items():
            safe = frame.map(lambda cell: text_cell(cell) if isinstance(cell, str) else cell)
            put_file(new / name, safe.to_csv(index=False, lineterminator="\n"))
        put_file(new / "comparison.svg", draw_comparison(content))
        write_memo(new, CONTENT, content)
        put_file(new / "report.html", render_comparison(content))
