"""The table of a design: its alternatives as cells, for terminal and page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from learning.money import format_cents
from learning.rounding import round_to_cent
from scenarios.report.facts_errors import error_format
from scenarios.report.facts_outcome import policy_name
from scenarios.report.wording import format_number, format_percent

HEADS = ("policy", "", "paid", "gain: low", "expected", "high", "chance of gain", "error", "owners")

FEW = 2  # owners left out who are named


def design_cells(content: dict[str, Any]) -> list[tuple[str, ...]]:
    """Write the alternatives as cells under `HEADS`, the best first."""
    return [_cells(row, content) for row in content["policies"] if "payments" in row]


def design_refusals(content: dict[str, Any]) -> list[str]:
    """Write the kinds of policy without an offer, each reason with its kinds."""
    kinds: dict[str, list[str]] = {}
    for row in content["policies"]:
        if "payments" not in row:
            kinds.setdefault(row["refused"] or row["reason"], []).append(policy_name(row))
    return [f"No offer under {'; '.join(names)}: {reason}" for reason, names in kinds.items()]


def _cells(row: dict[str, Any], content: dict[str, Any]) -> tuple[str, ...]:
    low, high = row["interval"]
    gains = (format_number(gain) for gain in (low, row["gain"], high))
    error = format_percent(row["relative_fitness"])
    if row["error"] is not None:
        error = error_format(content["chosen"]["errors"], content["chosen"])(row["error"])
    paid = format_cents(round_to_cent(row["payments"]))
    chance = format_percent(row["chance_pays"], 2)
    asked = owners_asked(row["left_out"])
    return policy_name(row), mark(row), paid, *gains, chance, error, asked


def owners_asked(left_out: Sequence[str]) -> str:
    """Say which owners are asked."""
    if len(left_out) > FEW:
        return f"all but {len(left_out)}"
    return f"all but {' and '.join(left_out)}" if left_out else "all"


def mark(row: dict[str, Any]) -> str:
    """Mark the row chosen, those as good, and those that the attitude does not allow."""
    if row["chosen"]:
        return "chosen"
    if row["as_good"]:
        return "as good"
    return "" if row["allowed"] else "too risky"
