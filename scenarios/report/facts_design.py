"""The table of a design: its alternatives as cells, for terminal and page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from learning.money import format_cents, round_to_cent
from scenarios.report.facts_errors import error_format
from scenarios.report.facts_outcome import policy_name
from scenarios.report.wording import format_number, format_percent

HEADS = ("policy", "paid", "gain: low", "expected", "high", "pays", "error", "owners", "")


def design_cells(content: dict[str, Any]) -> list[tuple[str, ...]]:
    """Write the alternatives as cells under `HEADS`, the best first."""
    return [_cells(row, content) for row in content["policies"]]


def _cells(row: dict[str, Any], content: dict[str, Any]) -> tuple[str, ...]:
    name = policy_name(row)
    if "payments" not in row:
        return name, *[""] * (len(HEADS) - 2), row["refused"] or row["reason"]
    low, high = row["interval"]
    gains = (format_number(gain) for gain in (low, row["gain"], high))
    error = format_percent(row["relative_fitness"])
    if row["error"] is not None:
        error = error_format(content["chosen"]["errors"], content["chosen"])(row["error"])
    paid = format_cents(round_to_cent(row["payments"]))
    chance = format_percent(row["chance_pays"], 2)
    return name, paid, *gains, chance, error, owners_asked(row["left_out"]), mark(row)


def owners_asked(left_out: Sequence[str]) -> str:
    """Say which owners are asked."""
    return f"without {', '.join(left_out)}" if left_out else "all"


def mark(row: dict[str, Any]) -> str:
    """Mark the row chosen, those as good, and those that the attitude does not allow."""
    if row["chosen"]:
        return "chosen"
    if row["as_good"]:
        return "as good"
    return "" if row["allowed"] else "too risky"
