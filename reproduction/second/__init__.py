"""Figures of the papers with this program's own protocol as a second column."""

from __future__ import annotations

import tomllib
from functools import partial
from pathlib import Path

from reproduction.item import Item
from reproduction.second import value
from reproduction.second.column import Second, join_column
from reproduction.second.grids import (
    ASYNCHRONOUS,
    ASYNCHRONOUS_FRAUD,
    FRAUD,
    LENDING,
    Setup,
    check_better,
    check_ranks,
    compute_grid,
    compute_scenarios,
    draw_budgets,
    draw_records,
    draw_scenarios,
)

SAYS = tomllib.loads((Path(__file__).parent / "says.toml").read_text(encoding="utf-8"))


def _grid(setup: Setup, cost: float = 2.0, says: str = SAYS["grids"]) -> Second:
    """Second column of a figure over sizes and budgets, against the budget."""
    return Second(partial(compute_grid, setup), check_better, draw_budgets, (1, 1), says, cost)


def _records(setup: Setup, cost: float = 2.0) -> Second:
    """Second column of such a figure against records."""
    compute = partial(compute_grid, setup)
    return Second(compute, check_better, draw_records, (1, 1), SAYS["grids"], cost)


def _scenarios(setup: Setup, cost: float) -> Second:
    """Second column of four scenarios."""
    compute = partial(compute_scenarios, setup)
    return Second(compute, check_ranks, draw_scenarios, (2, 2), SAYS["grids"], cost)


SECOND: dict[str, Second] = {
    "VC-4": _grid(LENDING),
    "VC-5": _records(LENDING),
    "VC-6": _scenarios(LENDING, 5.0),
    "VC-9": _grid(FRAUD, 8.0),
    "VC-10": _records(FRAUD, 8.0),
    "VC-11": _scenarios(FRAUD, 15.0),
    "AS-5": _grid(ASYNCHRONOUS),
    "AS-6": Second(*value.VALUE, (2, 1), SAYS["value"], 16.0),
    "AS-9": Second(*value.CURVE, (1, 1), SAYS["hospitals"], 1.5),
    "AS-10": Second(*value.GAINS, (1, 1), SAYS["hospitals"], 1.5),
    "AS-11": _grid(ASYNCHRONOUS_FRAUD, 8.0, f"{SAYS['grids']} {SAYS['separable']}"),
}


def add_second_column(item: Item) -> Item:
    """Add our protocol to an item, if there is a second column for it."""
    return join_column(item, SECOND[item.key]) if item.key in SECOND else item
