"""A comparison's folder: comparison.json, its tables and figure, a page and a memo."""

from __future__ import annotations

import json
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib
import pandas as pd

from scenarios.output.folders import replacing
from scenarios.output.unfinished import put
from scenarios.report import sentences_comparison as words
from scenarios.report.figure_comparison import comparison_figure
from scenarios.report.figure_page import STYLE, _svg
from scenarios.report.page import MOST, SHORT, environment, inline_svg
from scenarios.report.sentences_market import epsilon_of, places_listed_first
from scenarios.report.wording import money_heading
from scenarios.result import text_cell

CONTENT = "comparison.json"
FILES = (CONTENT, "comparison.csv", "owners.csv", "comparison.svg", "memo.md", "report.html")
NESTED = ("owners", "policy", "rules", "scaled", "interval", "gain_interval", "trained_gain")


def alternatives_frame(content: dict[str, Any]) -> pd.DataFrame:
    """A row for each alternative."""
    rows = []
    for row in content["alternatives"]:
        plain = {key: value for key, value in row.items() if key not in NESTED}
        plain |= dict(zip(("interval_low", "interval_high"), row["interval"], strict=True))
        plain |= dict(zip(("gain_low", "gain_high"), row["gain_interval"], strict=True))
        trained = row["trained_gain"] or {}
        plain |= {f"trained_gain_{key}": trained.get(key) for key in ("mean", "std_error", "q05", "q95")}
        rows.append(plain)
    return pd.DataFrame(rows)


def owners_frame(content: dict[str, Any]) -> pd.DataFrame:
    """A row for each alternative and owner."""
    rows = [{"alternative": row["name"], **owner} for row in content["alternatives"] for owner in row["owners"]]
    return pd.DataFrame([row | {"epsilon": epsilon_of(row)} for row in rows])


def draw_comparison(content: dict[str, Any]) -> str:
    """Its figure as SVG text."""
    with matplotlib.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*[Gg]lyph.*")
        return _svg(comparison_figure(content))


def render_comparison(content: dict[str, Any]) -> str:
    """Its page, one file that needs no other."""
    drawing = {"comparison": inline_svg(draw_comparison(content), "comparison")}
    template = environment().get_template("comparison.html.j2")
    return template.render(
        content=content,
        words=words,
        figures=drawing,
        epsilon_of=epsilon_of,
        order=places_listed_first(content["alternatives"][0]["owners"], SHORT, MOST),
        in_money=partial(money_heading, content),
    )


def save_comparison(content: dict[str, Any], folder: Path, *, force: bool = False) -> None:
    """Write a comparison's folder, whole or not at all.

    Raises
    ------
    InputError
        If the folder holds what is no comparison, or the disk refuses.
    """
    with replacing(folder, FILES, force=force) as new:
        put(new / CONTENT, json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
        for name, frame in (("comparison.csv", alternatives_frame(content)), ("owners.csv", owners_frame(content))):
            safe = frame.map(lambda cell: text_cell(cell) if isinstance(cell, str) else cell)
            put(new / name, safe.to_csv(index=False, lineterminator="\n"))
        put(new / "comparison.svg", draw_comparison(content))
        put(new / "memo.md", words.memo(content))
        put(new / "report.html", render_comparison(content))
