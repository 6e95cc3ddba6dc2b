"""Card payments, a support vector machine, over sizes and budgets; T = 100 (AS 11)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from learning.losses.margin import Hinge
from reproduction.item import Setting
from reproduction.tables import load_table
from reproduction.timing.laws import (
    PSI,
    add_bound,
    draw_slopes,
    falls_along,
    noise_aggregate,
    noisy_slopes,
)
from reproduction.timing.training import make_market, make_plan, sweep_budgets

OWNERS = 3
TICKS = 100
RIDGE = 1e-5  # r of g = (1e-5/2) theta'theta
SIZES = (100, 300, 1_000, 4_000, 10_000, 30_000)
QUICK_SIZES = (100, 1_000)


def compute_sizes(setting: Setting) -> pd.DataFrame:
    """Mean relative fitness over sizes and budgets."""
    payments = load_table("fraud", setting)
    most = payments.n_records // OWNERS
    sizes = [n for n in setting.pick_value(SIZES, QUICK_SIZES) if n <= most]
    epsilon = np.geomspace(0.1, 10, setting.pick_value(5, 3))
    parts = []
    for size in sizes:
        market = make_market(payments, payments.slices([size] * OWNERS), Hinge(), RIDGE)
        plan = make_plan(payments, market, TICKS)
        part = sweep_budgets(market, plan, epsilon, setting, 1 / len(sizes))
        constants = {
            "n_records": size,
            "optimum": market.cost.optimum,
            "gradient_bound": market.gradient_bound,
            "step_size": plan.step_size,
        }
        parts.append(part.assign(**constants))
    frame = pd.concat(parts, ignore_index=True)
    frame = frame.assign(excess=frame[PSI] * frame["optimum"])
    return add_bound(frame, noise_aggregate(frame["epsilon"], frame["n_records"], OWNERS))


def measure_sizes(frame: pd.DataFrame) -> dict[str, float]:
    """Falls along both, and median slopes."""
    return {
        "falls_in_budget": falls_along(frame, "epsilon", "n_records"),
        "falls_in_records": falls_along(frame, "n_records", "epsilon"),
        "slope_in_budget": noisy_slopes(frame, "epsilon", "n_records").median(),
        "slope_in_records": noisy_slopes(frame, "n_records", "epsilon").median(),
    }


def draw_sizes(panels: Sequence[Axes], frame: pd.DataFrame) -> None:
    """Draw fitness against budgets, and against records."""
    budgets = np.sort(frame["epsilon"].unique())
    few = budgets[:: max(1, (len(budgets) - 1) // 2)]
    draw_slopes(panels, frame, frame[frame["epsilon"].isin(few)])


SURFACE = (compute_sizes, measure_sizes, draw_sizes)
