"""What the market's training was compared with, and the Polyak-Lojasiewicz ratios found, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from learning.training.baselines import BASELINES
from scenarios.report.wording import counted, number, percent

Content = Mapping[str, Any]
POINTS = {"path": "along the first training", "trained": "at the trained models", "cloud": "around the best model"}


def compared(result: Content) -> Sequence[Mapping[str, Any]]:
    """The rows of what was trained besides, the market's own first; none where nothing was."""
    return (result["validation"] or {}).get("baselines") or []


def called(name: str) -> str:
    """A training of the comparison in a few words."""
    return BASELINES[name].says if name in BASELINES else "this market"


def compared_lines(result: Content) -> list[str]:
    """A line for each: how far above the best, on fresh rows, and what an accountant makes of its noise."""
    return [_line(row) for row in compared(result)]


def _line(row: Mapping[str, Any]) -> str:
    found = row["relative_fitness"]
    parts = [
        f"{called(row['name'])}: {percent(found['mean'])} above the best (standard error {percent(found['std_error'])})"
    ]
    if row["holdout_error"] is not None:
        parts.append(f"error {number(row['holdout_error'])} on fresh rows")
    if row["claimed_epsilon"] is not None:
        parts.append(f"ε up to {number(row['claimed_epsilon'])} claimed against {row['seen_by']}")
    return ", ".join(parts)


def curvature_found(result: Content) -> str:
    """The ratios found, as the finding that they are; empty where none were looked for."""
    found = (result["validation"] or {}).get("lojasiewicz")
    if not found:
        return ""
    parts = [
        f"{number(one['mu_at_most'])} {POINTS[name]} ({counted(one['points'], 'point')})" for name, one in found.items()
    ]
    return (
        f"The smallest ratio |∇f|²/(2 (f − f*)) found is {', '.join(parts)}. The "
        "Polyak-Łojasiewicz condition holds with no μ above the least of them; that it holds with one is not proved."
    )
