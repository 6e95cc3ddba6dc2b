"""Relative fitness over records and budgets of three equal owners (VC 3-5, 8-10)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from learning.arrays import Array
from reproduction.collaboration.laws import (
    FEWEST_POINTS,
    WIDTH,
    add_law,
    check_fit,
    check_slopes,
    fit_slope,
)
from reproduction.collaboration.setups import BUDGETS, OWNERS, Prepared, Setup
from reproduction.drawing import (
    PALETTE,
    add_caption,
    plot_series,
    plot_surface,
)
from reproduction.item import Check, Setting, check_law

MEASURED = "mean relative fitness ψ"
ORDERS = ("random", "file")
FORMS = {
    "theorem_2": ("--", "form of Theorem 2, slope −2"),
    "theorem_3": (":", "form of Theorem 3, slope −1"),
}
LABELS = {"n_records": "{:,.0f} records each", "epsilon": "ε = {:g}"}


def budget_grid(setting: Setting) -> Array:
    """Budgets over the two decades of the paper."""
    return np.geomspace(0.1, 10.0, setting.pick_value(9, 7))


def size_grid(prepared: Prepared, most: float) -> list[int]:
    """Sizes from the least to the most of the paper, as far as the table goes."""
    least = prepared.setup.least
    points = round(prepared.setting.pick_value(3, 2) * np.log10(most / least)) + 1
    return prepared.limit_sizes(np.geomspace(least, most, points))


def measure_grid(
    prepared: Prepared,
    sizes: list[int],
    budgets: Array,
    purpose: str,
    *,
    as_filed: bool = False,
    sharp: bool = True,
) -> pd.DataFrame:
    """Measure relative fitness of three equal owners at each size and budget, with its law."""
    parts = []
    profiles = np.repeat(np.asarray(budgets, dtype=float)[:, None], OWNERS, axis=1)
    for size in sizes:
        found = prepared.measure_fitness(
            [size] * OWNERS, profiles, purpose, as_filed=as_filed, sharp=sharp
        )
        parts.append(pd.DataFrame({"n_records": size, "epsilon": budgets, **found}))
        prepared.setting.did(1 / len(sizes))
    return add_law(pd.concat(parts, ignore_index=True).assign(**prepared.constants))


def compute_surface(setup: Setup, setting: Setting) -> pd.DataFrame:
    """Relative fitness by sizes and budgets."""
    prepared = Prepared(setup, setting)
    sizes = size_grid(prepared, 1e5)
    return measure_grid(prepared, sizes, budget_grid(setting), "surface", sharp=False)


def share_improving(frame: pd.DataFrame, along: str, by: str) -> float:
    """Share of steps along a column that improve the model, where noise dominates at the start.

    >>> points = pd.DataFrame({"x": [1, 2, 3], "y": 0, "relative_fitness": [9.0, 4.0, 5.0]})
    >>> share_improving(points.assign(dominated=1), "x", "y")
    0.5
    """
    frame = frame.sort_values(along)
    steps = frame.groupby(by)["relative_fitness"].diff(-1)
    counted = steps[(frame["dominated"] > 0) & steps.notna()]
    return float((counted > 0).mean())


def check_surface(setup: Setup, frame: pd.DataFrame) -> list[Check]:
    """Check that fitness improves with records and with budgets, as the law has it."""
    sides = (("n_records", "epsilon", "records"), ("epsilon", "n_records", "budgets"))
    found = []
    for along, by, words in sides:
        what = f"share of steps along {words} that improve the model"
        found.append(check_law(what, share_improving(frame, along, by), 1, 1, "all"))
    return found + check_fit(frame)


def draw_surface(setup: Setup, panels: Sequence[Axes], frame: pd.DataFrame) -> None:
    """Draw powers of ten of relative fitness over records and budgets."""
    (axes,) = panels
    plot_surface(axes, frame, "n_records", "epsilon", "relative_fitness", law="law")
    law = "the exact law" if frame["exact_law"].all() else "B + K S/f*"
    add_caption(axes, f"{MEASURED}; dashed: {law}")


def compute_epsilon(setup: Setup, setting: Setting) -> pd.DataFrame:
    """Relative fitness at three sizes, budgets over two decades."""
    prepared = Prepared(setup, setting)
    sizes = prepared.limit_sizes([1e3, 1e4, 1e5])
    return measure_grid(prepared, sizes, budget_grid(setting), "epsilon")


def check_epsilon(setup: Setup, frame: pd.DataFrame) -> list[Check]:
    """Check a slope of -2 at each size."""
    slopes = check_slopes(frame, "n_records", "epsilon", "slope in ε, n_i = {:,.0f}")
    return slopes + check_exact(frame)


def check_exact(frame: pd.DataFrame) -> list[Check]:
    """Check the exact law, where there is one."""
    return check_fit(frame) if frame["exact_law"].all() else []


def draw_epsilon(setup: Setup, panels: Sequence[Axes], frame: pd.DataFrame) -> None:
    """Draw relative fitness against the budget, by size."""
    (axes,) = panels
    _draw_slopes(axes, frame, "epsilon", "n_records")
    _add_room(axes)


def compute_records(setup: Setup, setting: Setting) -> pd.DataFrame:
    """Relative fitness at three budgets, sizes over two decades; also in the file's order."""
    prepared = Prepared(setup, setting)
    quadratic = setup.loss.quadratic
    sizes = size_grid(prepared, 1e5 if quadratic else 1e4)
    parts = []
    for order in ORDERS[: 1 + quadratic]:
        budgets = np.array(BUDGETS)
        part = measure_grid(prepared, sizes, budgets, "records", as_filed=order == "file")
        parts.append(part.assign(order=order))
    return pd.concat(parts, ignore_index=True)


def check_records(setup: Setup, frame: pd.DataFrame) -> list[Check]:
    """Check a slope of -2 at each budget, and in the file's order the slope of the exact law."""
    dealt, filed = (frame[frame["order"] == order] for order in ORDERS)
    checks = check_slopes(dealt, "epsilon", "n_records", "slope in n, ε = {:g}")
    checks += check_exact(dealt)
    for epsilon, part in filed.groupby("epsilon"):
        found, error, points = fit_slope(part, "n_records")
        if points >= FEWEST_POINTS:
            law = fit_slope(part, "n_records", "law")[0]
            what = f"slope in n in the file's order, ε = {epsilon:g}, {points} points"
            what += f"; the exact law has {law:.3f}"
            checks.append(Check(what, found, law - WIDTH, law + WIDTH, tolerance=4 * error))
    return checks


def draw_records(setup: Setup, panels: Sequence[Axes], frame: pd.DataFrame) -> None:
    """Draw relative fitness against the size, by budget, a panel for each order of the records."""
    shown = frame["order"].unique().tolist()
    for axes, order in zip(panels, shown, strict=True):
        _draw_slopes(axes, frame[frame["order"] == order], "n_records", "epsilon")
    _add_room(panels[0])
    spans = np.array([axes.get_ylim() for axes in panels])
    for axes in panels:
        axes.set_ylim(spans[:, 0].min(), spans[:, 1].max())


def _draw_slopes(axes: Axes, frame: pd.DataFrame, x: str, by: str) -> None:
    """Draw measured points, the law, and the forms of the two theorems."""
    plot_series(axes, frame, x, "relative_fitness", by, label=LABELS[by], law="law")
    noisiest = frame[frame[by] == frame[by].min()]
    for column, (style, text) in FORMS.items():
        axes.plot(noisiest[x], noisiest[column], style, color=PALETTE[4], lw=1.2, label=text)


def _add_room(axes: Axes) -> None:
    """Add room for a legend below the lines."""
    axes.set_ylim(bottom=axes.get_ylim()[0] / 300)


KINDS = {
    "surface": (compute_surface, check_surface, draw_surface),
    "epsilon": (compute_epsilon, check_epsilon, draw_epsilon),
    "records": (compute_records, check_records, draw_records),
}
