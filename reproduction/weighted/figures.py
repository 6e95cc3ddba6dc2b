"""WD's figures as items: claims in words as checks, accuracy above and optimal gap below.

The paper's figures carry no numbers that can be read.
"""

from __future__ import annotations

from functools import partial

import matplotlib.ticker
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from reproduction.drawing import plot_series
from reproduction.plots import Style
from reproduction.specification import Found, Law
from reproduction.weighted.methods import CENTRAL, KEPT, PLAIN, WEIGHTED, vary_budget, vary_skew
from reproduction.weighted.rows import ONE_HOT, TABLES
from scenarios.report.figure_page import MUTED

STEADY = 0.02  # accuracy within which a method is "steady"
MOVES = 0.04  # tolerance of a mean accuracy for another seed
MOVES_LOG = 0.25  # tolerance of a mean log10 of optimal gaps
MEASURES = ("accuracy", "optimal_gap")


# ---- checks


def seed_factor(frame: pd.DataFrame) -> float:
    """Factor on tolerances where trainings are few."""
    return 1.0 if frame["trainings"].min() > 5 else 1.5


def check_budgets(frame: pd.DataFrame) -> Found:
    """WD-DP is above plain averaging, near the centralised method, and improves with epsilon."""
    keys = ["data", "epsilon"]
    right, gap = (frame.pivot(index=keys, columns="method", values=v) for v in MEASURES)
    moves = {"tolerance": MOVES * seed_factor(frame)}
    moves_log = {"tolerance": MOVES_LOG * seed_factor(frame)}
    yield "accuracy", (right[WEIGHTED] - right[PLAIN]).mean(), moves
    yield "gap", np.log10(gap[PLAIN] / gap[WEIGHTED]).mean(), moves_log
    for name in ("no_worse", "similar"):
        yield name, (right[WEIGHTED] - right[CENTRAL]).mean(), moves
    ends = {"low": frame["epsilon"].min(), "high": frame["epsilon"].max()}
    (first, last), (wide, narrow) = (
        [one[WEIGHTED].xs(end, level="epsilon") for end in ends.values()] for one in (right, gap)
    )
    yield "increases", (last - first).min(), ends | {"tolerance": 2 * moves["tolerance"]}
    yield "decreases", np.log10(narrow / wide).max(), ends | moves_log


def check_skews(frame: pd.DataFrame) -> Found:
    """WD-DP is steady over u, and plain averaging falls."""
    frame = frame[frame["data"].isin(list(TABLES))]
    moves = {"tolerance": MOVES * seed_factor(frame)}
    moves_log = {"tolerance": MOVES_LOG * seed_factor(frame)}
    ends = frame.groupby(["data", "method"])["skew"].transform
    first, last = (
        frame[frame["skew"] == ends(end)].pivot(
            index="data", columns="method", values=list(MEASURES)
        )
        for end in ("min", "max")
    )
    fell = (first["accuracy"] - last["accuracy"]).mean()
    grew = np.log10(last["optimal_gap"] / first["optimal_gap"]).mean()
    yield "steady", fell[WEIGHTED], moves
    for name in (PLAIN, KEPT):
        yield "falls", fell[name] - fell[WEIGHTED], {"name": name, **moves}
        yield "grows", grew[name] - grew[WEIGHTED], {"name": name, **moves_log}


def check_skews_and_adult(frame: pd.DataFrame) -> Found:
    """Figures 2 and 12, with the one-hot coding of Adult against an independent run."""
    yield from check_skews(frame)
    own = frame[(frame["data"] == ONE_HOT) & ~frame["stand_in"]]
    if own.empty:
        return
    ours = own.set_index(["method", "skew"])["accuracy"]
    last = own["skew"].max()
    fell = ours[WEIGHTED, 1] - ours[WEIGHTED, last]
    yield "adult_steady", fell
    yield "adult_falls", ours[PLAIN, 1] - ours[PLAIN, last] - fell, {"name": PLAIN}
    for name, skew, known in ((WEIGHTED, 1, 0.825), (WEIGHTED, last, 0.822), (PLAIN, last, 0.760)):
        words = {"name": name, "skew": skew, "known": known}
        yield "adult", ours[name, skew], known - STEADY, known + STEADY, words


# ---- figures


def draw_measure(axes: Axes, frame: pd.DataFrame, measure: str, x: str) -> None:
    """Draw one measure of every method, with the best model and the commonest label."""
    logs = ("x" if x == "epsilon" else "") + ("" if measure == "accuracy" else "y")
    error = f"{measure}_std_error"
    plot_series(axes, frame, x, measure, "method", law=measure, error=error, logs=logs)
    axes.set_xticks(sorted(frame[x].unique()))
    if measure == "accuracy":
        axes.axhline(frame["best_accuracy"].iloc[0], color=MUTED, lw=0.8, ls=":")
        axes.axhline(frame["commonest"].iloc[0], color=MUTED, lw=0.8, ls="--")
    else:
        axes.yaxis.set_major_locator(matplotlib.ticker.LogLocator(subs=(1, 2, 5)))
    if axes is axes.figure.axes[0]:
        handles, labels = axes.get_legend_handles_labels()
        style: Style = {"ncol": len(labels), "frameon": False, "fontsize": 8}
        axes.figure.legend(handles, labels, loc="upper right", **style)


DRAWN = {"measure": draw_measure}
BUDGETS = {1: 32, 4: 2, 6: 4, 8: 8, 10: 16}  # owners, by the figure
SKEWS = {13: (32, 0.1), 15: (8, 0.01)}  # owners and epsilon, by the figure
LAWS: dict[str, Law] = {
    f"WD-{number}": (partial(vary_budget, owners), check_budgets, DRAWN)
    for number, owners in BUDGETS.items()
}
LAWS["WD-2"] = (partial(vary_skew, 16, 0.05, (*TABLES, ONE_HOT)), check_skews_and_adult, DRAWN)
for number, market in SKEWS.items():
    LAWS[f"WD-{number}"] = (partial(vary_skew, *market, tuple(TABLES)), check_skews, DRAWN)
