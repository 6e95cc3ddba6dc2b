"""WD's figures as items: claims in words as checks, accuracy above and optimal gap below.

The paper's figures carry no numbers that can be read.
"""

from __future__ import annotations

import textwrap
from functools import partial

import matplotlib.ticker
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reproduction.claims import Checks, Draw, make_item, read_text
from reproduction.drawing import plot_series
from reproduction.item import Check, Item
from reproduction.plots import Panel, Style, draw_panels, make_panel
from reproduction.weighted.methods import CENTRAL, KEPT, PLAIN, WEIGHTED, vary_budget, vary_skew
from reproduction.weighted.rows import ONE_HOT, TABLES, TITLES
from scenarios.report.figure_page import MUTED

SIMILAR = 0.05  # accuracy within which two methods are "similar", as WD says
STEADY = 0.02  # the same for "steady"
FALLS = 0.01  # least fall of an accuracy beyond WD-DP's
MOVES = 0.04  # tolerance of a mean accuracy for another seed
MOVES_LOG = 0.25  # tolerance of a mean log10 of optimal gaps
LETTERS = 170  # in a line of a note
LINES = "dotted: the best model without noise; dashed: always guessing the commoner label"
MEASURES = {"accuracy": "accuracy on test rows", "optimal_gap": "optimal gap, nats"}


# ---- checks


def seed_factor(frame: pd.DataFrame) -> float:
    """Factor on tolerances where trainings are few."""
    return 1.0 if frame["trainings"].min() > 5 else 1.5


def check_budgets(frame: pd.DataFrame) -> Checks:
    """WD-DP is above plain averaging, near the centralised method, and improves with epsilon."""
    keys = ["data", "epsilon"]
    right, gap = (frame.pivot(index=keys, columns="method", values=v) for v in MEASURES)
    moves = MOVES * seed_factor(frame)
    moves_log = MOVES_LOG * seed_factor(frame)
    better = float((right[WEIGHTED] - right[PLAIN]).mean())
    yield Check("accuracy", better, 0.0, 1.0, "better", "law", moves)
    wider = float(np.log10(gap[PLAIN] / gap[WEIGHTED]).mean())
    yield Check("gap", wider, 0.0, 10.0, "better", "law", moves_log)
    difference = float((right[WEIGHTED] - right[CENTRAL]).mean())
    what = "accuracy of WD-DP less that of the centralised method, mean"
    said = "straight up to centralised methods"
    yield Check(f"{what}: no worse", difference, -SIMILAR, 1.0, said, "law", moves)
    yield Check(f"{what}: similar", difference, -SIMILAR, SIMILAR, "similar", tolerance=moves)
    low = frame["epsilon"].min()
    high = frame["epsilon"].max()
    (first, last), (wide, narrow) = (
        [one[WEIGHTED].xs(end, level="epsilon") for end in (low, high)] for one in (right, gap)
    )
    what = f"accuracy of WD-DP at epsilon = {high:g} less that at {low:g}, smallest of the tables"
    yield Check(what, float((last - first).min()), 0.0, 1.0, "increases", "law", 2 * moves)
    what = (
        f"log10 of WD-DP's optimal gap at epsilon = {high:g} over that at {low:g}, largest of the"
        " tables"
    )
    fall = float(np.log10(narrow / wide).max())
    yield Check(what, fall, -10.0, 0.0, "decreases", "law", moves_log)


def check_skews(frame: pd.DataFrame) -> Checks:
    """WD-DP is steady over u, and plain averaging falls."""
    frame = frame[frame["data"].isin(list(TABLES))]
    moves = MOVES * seed_factor(frame)
    moves_log = MOVES_LOG * seed_factor(frame)
    ends = frame.groupby(["data", "method"])["skew"].transform
    first, last = (
        frame[frame["skew"] == ends(end)].pivot(
            index="data", columns="method", values=list(MEASURES)
        )
        for end in ("min", "max")
    )
    fell = (first["accuracy"] - last["accuracy"]).mean()
    grew = np.log10(last["optimal_gap"] / first["optimal_gap"]).mean()
    yield Check("steady", float(fell[WEIGHTED]), -STEADY, STEADY, "steady", "law", moves)
    for name in (PLAIN, KEPT):
        more = float(fell[name] - fell[WEIGHTED])
        what = f"how much more the accuracy of {name} falls, mean over tables"
        said = "decreases rapidly or fluctuates sharply"
        yield Check(what, more, FALLS, 1.0, said, "law", moves)
        more = float(grew[name] - grew[WEIGHTED])
        what = f"log10 by how much more the optimal gap of {name} grows, mean over tables"
        said = "increases rapidly or fluctuates sharply"
        yield Check(what, more, 0.0, 10.0, said, "law", moves_log)


def check_adult(frame: pd.DataFrame) -> Checks:
    """Adult at m = 16 and epsilon = 0.05 against an independent run."""
    own = frame[(frame["data"] == ONE_HOT) & ~frame["stand_in"]]
    if own.empty:
        return
    ours = own.set_index(["method", "skew"])["accuracy"]
    last = own["skew"].max()
    fell = float(ours[WEIGHTED, 1] - ours[WEIGHTED, last])
    what = "Adult, one-hot: fall of WD-DP's accuracy"
    yield Check(what, fell, -STEADY, STEADY, "0.003", "law", MOVES / 2)
    more = float(ours[PLAIN, 1] - ours[PLAIN, last] - fell)
    what = f"Adult, one-hot: how much more that of {PLAIN} falls"
    yield Check(what, more, FALLS, 1.0, "0.062", "law", MOVES / 2)
    for name, skew, known in ((WEIGHTED, 1, 0.825), (WEIGHTED, last, 0.822), (PLAIN, last, 0.760)):
        what = f"Adult, one-hot: accuracy of {name} at u = {skew:g}"
        said = f"{known:g} (an independent run)"
        found = float(ours[name, skew])
        yield Check(what, found, known - STEADY, known + STEADY, said, tolerance=MOVES / 2)


def check_skews_and_adult(frame: pd.DataFrame) -> Checks:
    """Figures 2 and 12, with the one-hot coding of Adult."""
    yield from check_skews(frame)
    yield from check_adult(frame)


# ---- figures


def draw_measure(measure: str, x: str, axes: Axes, frame: pd.DataFrame) -> None:
    """One measure of every method, with the best model and the commonest label."""
    logs = ("x" if x == "epsilon" else "") + ("" if measure == "accuracy" else "y")
    errors = frame.assign(std_error=frame[f"{measure}_std_error"])
    plot_series(axes, errors, x, measure, "method", law=measure, logs=logs)
    axes.set_xticks(sorted(frame[x].unique()))
    if measure == "accuracy":
        axes.axhline(frame["best_accuracy"].iloc[0], color=MUTED, lw=0.8, ls=":")
        axes.axhline(frame["commonest"].iloc[0], color=MUTED, lw=0.8, ls="--")
    else:
        axes.yaxis.set_major_locator(matplotlib.ticker.LogLocator(subs=(1, 2, 5)))


def draw_methods(words: str, title: str, x: str, label: str) -> Draw:
    """A figure of both measures of every method on every table, over one column.

    Parameters
    ----------
    words : table of ``claims.toml``.
    title : above the figure.
    x, label : the column along the bottom, and its words.
    """

    def make_row(measure: str, names: list[str]) -> list[Panel]:
        above = measure == "accuracy"
        return [
            make_panel(
                partial(draw_measure, measure, x),
                labels=("" if above else label, MEASURES[measure] if name == names[0] else ""),
                heading=TITLES[name] if above else "",
                where={"data": name},
                logs=None,
            )
            for name in names
        ]

    def draw(frame: pd.DataFrame, note: str) -> Figure:
        names = [name for name in TITLES if name in set(frame["data"])]
        text = "\n".join(textwrap.fill(line, LETTERS) for line in f"{note}\n{LINES}".split("\n"))
        panels = [panel for measure in MEASURES for panel in make_row(measure, names)]
        figure = draw_panels(
            words, *panels, columns=len(names), title=title, width=11.5, height=2.0
        )(frame, text)
        handles, labels = figure.axes[0].get_legend_handles_labels()
        style: Style = {"ncol": len(labels), "frameon": False, "fontsize": 8}
        figure.legend(handles, labels, loc="upper right", **style)
        return figure

    return draw


# ---- items


def make_budget_item(number: int, owners: int, figures: str) -> Item:
    """Accuracy and optimal gap over epsilon, which are one computation."""
    title = read_text("WD-budgets", "title", owners=owners)
    return make_item(
        f"WD-{number}",
        partial(vary_budget, owners),
        check_budgets,
        draw_methods("WD-budgets", title, "epsilon", "privacy budget ε"),
        words="WD-budgets",
        owners=owners,
        figures=figures,
    )


def make_skew_item(number: int, owners: int, epsilon: float, figures: str) -> Item:
    """Accuracy and optimal gap over u; Figure 2 with the one-hot coding of Adult."""
    title = read_text("WD-skews", "title", owners=owners, epsilon=epsilon)
    one_hot = number == 2
    return make_item(
        f"WD-{number}",
        partial(vary_skew, owners, epsilon, (*TABLES, ONE_HOT) if one_hot else tuple(TABLES)),
        check_skews_and_adult if one_hot else check_skews,
        draw_methods("WD-skews", title, "skew", "u = n_max/n_min"),
        words="WD-skews",
        cost=105.0 if one_hot else None,
        owners=owners,
        epsilon=epsilon,
        figures=figures,
        coding=read_text("WD-skews", "coding") + " " if one_hot else "",
    )


ITEMS = (
    make_budget_item(1, 32, "1 and 3"),
    make_skew_item(2, 16, 0.05, "2 and 12"),
    make_budget_item(4, 2, "4 and 5"),
    make_budget_item(6, 4, "6 and 7"),
    make_budget_item(8, 8, "8 and 9"),
    make_budget_item(10, 16, "10 and 11"),
    make_skew_item(13, 32, 0.1, "13 and 14"),
    make_skew_item(15, 8, 0.01, "15 and 16"),
)
