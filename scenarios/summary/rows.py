"""Rows of tables, and the same market at other budgets, for several parts of a result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from market.analysis.welfare import learner_surplus, welfare

if TYPE_CHECKING:
    from scenarios.run import Run


def rows_of(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Rows of columns (n_rows,), as plain numbers."""
    lists = [one.tolist() if isinstance(one, np.ndarray) else one for one in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]


def compare_market(run: Run, epsilon: np.ndarray) -> dict[str, Any]:
    """Outcome of a run's market if owners had settled on other budgets."""
    game = run.game
    return {
        "epsilon": epsilon,
        "relative_fitness": run.planner.forecast.at(epsilon),
        "payments": float(game.payments(epsilon).sum()),
        "owners": float(game.payoffs(epsilon).sum()),
        "learner": learner_surplus(game, epsilon),
        "total": welfare(game, epsilon),
    }
