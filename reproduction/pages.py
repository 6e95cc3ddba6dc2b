"""Page of the reproduction book: status of each item, then its claim, checks and figure."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path

from reproduction.book import FOLDER, HEADER, Outcome
from reproduction.item import STATUSES, Check, limited_checks

TEXT = tomllib.loads((Path(__file__).parent / "page.toml").read_text(encoding="utf-8"))
HEADS = ("item", "what", "status", "checks that hold", "what does not")
STOOD_IN = "Some items were computed on generated **stand-ins**, and say so.\n"


def render_page(outcomes: Sequence[Outcome]) -> str:
    """Render the page as Markdown; figures and numbers lie in a folder "reproduction" next to it.

    Parameters
    ----------
    outcomes : outcomes of the items, sorted by source.
    """
    meanings = [f"* **{status}**: {meaning}." for status, meaning in STATUSES.items()]
    parts = [f"{HEADER}\n\n{TEXT['introduction']}", "\n".join(meanings) + "\n"]
    if any(one.stand_in for one in outcomes):
        parts.append(STOOD_IN)
    parts += _render_table(HEADS, map(_status_row, outcomes))
    for source, group in groupby(outcomes, lambda one: one.item.source):
        words = TEXT["sources"][source]
        parts += [f"## {words['title']}\n", f"{words['about']}\n", *map(_render_section, group)]
    return "\n".join(parts)


def _status_row(one: Outcome) -> tuple[str, ...]:
    """Row of an item in the table of statuses."""
    key = one.item.key
    link = f"[{key}](#{key.lower().replace('.', '')})"
    return link, one.item.title, _mark_status(one), _count_holding(one.checks), explain_status(one)


def _render_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Render a Markdown table; a bar in a cell is escaped."""
    lines = [heads, ["---"] * len(heads), *rows]
    cells = ([cell.replace("|", "\\|") for cell in line] for line in lines)
    return [*(f"| {' | '.join(line)} |" for line in cells), ""]


def explain_status(one: Outcome) -> str:
    """Explain a status: the first check that fails, and the number of others."""
    failed = [check for check in one.checks if not check.holds]
    if one.reason or not failed:
        return one.reason
    first = failed[0]
    text = f"{first.what}: {format_digits(first.found)}, not {describe_limits(first)}"
    if failed[1:]:
        text += f"; and {len(failed) - 1} more"
    return text


def _mark_status(one: Outcome) -> str:
    """Status in bold, with a mark for a stand-in."""
    return f"**{one.status}**" + (", on a stand-in" if one.stand_in and not one.reason else "")


def _count_holding(checks: Sequence[Check]) -> str:
    """Number of limited checks that hold, of all."""
    limited = limited_checks(checks)
    return f"{sum(check.holds for check in limited)} of {len(limited)}" if limited else ""


def _render_section(one: Outcome) -> str:
    """Render the section of an item."""
    item = one.item
    parts = [
        f"### {item.key}\n",
        f"**{item.title}.** {item.where}. Status: {_mark_status(one)}.\n",
        f"*The source:* {item.claim}\n",
    ]
    if one.reason:
        parts.append(f"*Not possible here:* {one.reason}\n")
    if one.checks:
        heads = ("checked", "source", "found", "must lie in", "")
        parts += _render_table(heads, map(_check_row, one.checks))
    if item.differs:
        parts.append(f"*Why ours differs, and readings taken:* {item.differs}\n")
    if one.note:
        parts.append(f"*Data:* {one.note}\n")
    if not one.reason:
        if item.draw is not None:
            parts.append(f"![{item.title}]({FOLDER}/{item.key}.svg)\n")
        parts.append(f"Every number: [{item.key}.csv]({FOLDER}/{item.key}.csv).\n")
    return "\n".join(parts)


def _check_row(check: Check) -> tuple[str, ...]:
    """Row of a check."""
    word = "holds" if check.holds else "fails"
    if check.kind == "told":
        word = "told"
    found = format_digits(check.found)
    return check.what, check.published, found, describe_limits(check), word


def describe_limits(check: Check) -> str:
    """Describe the limits of a check; empty without limits."""
    if check.kind == "told":
        return ""
    low = format_digits(check.low)
    high = format_digits(check.high)
    if check.low == check.high:
        return low
    if check.high == float("inf"):
        return f"at least {low}"
    return f"at most {high}" if check.low == -float("inf") else f"{low} to {high}"


def format_digits(value: float) -> str:
    """Format a number with four digits.

    >>> format_digits(-2.0031), format_digits(0.98), format_digits(3.0), format_digits(12345.6)
    ('-2.003', '0.98', '3', '1.235e+04')
    """
    return f"{value:.4g}"
