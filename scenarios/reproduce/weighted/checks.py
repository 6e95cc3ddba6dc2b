"""What WD says of its figures, as checks on the numbers behind ours. WD's figures have no numbers that can be read."""

from __future__ import annotations

import numpy as np
import pandas as pd

from scenarios.reproduce.item import Check
from scenarios.reproduce.weighted.methods import CENTRAL, KEPT, PLAIN, WEIGHTED
from scenarios.reproduce.weighted.rows import ONE_HOT, TABLES

SIMILAR = 0.05  # share of test rows up to which we call two methods "similar", as WD does
STEADY = 0.02  # the same for "steady"
FALLS = 0.01  # by how much more than WD-DP's a falling accuracy must fall, at least
MOVES, MOVES_LOG = 0.04, 0.25  # how far another seed moves a mean accuracy, and a log10 of optimal gaps


def unsteady(frame: pd.DataFrame) -> float:
    """How many times as far another seed moves a number, where trainings are few."""
    return 1.0 if frame["trainings"].min() > 5 else 1.5


def against_budgets(frame: pd.DataFrame) -> list[Check]:
    """Figures against epsilon: WD-DP above plain averaging, like the centralised method, better with more budget."""
    right, gap = (
        frame.pivot(index=["data", "epsilon"], columns="method", values=v) for v in ("accuracy", "optimal_gap")
    )
    more = unsteady(frame)
    wider = np.log10(gap[PLAIN] / gap[WEIGHTED]).mean()
    beside = (right[WEIGHTED] - right[CENTRAL]).mean()
    low, high = frame["epsilon"].min(), frame["epsilon"].max()
    rise = right[WEIGHTED].xs(high, level="epsilon") - right[WEIGHTED].xs(low, level="epsilon")
    fall = np.log10(gap[WEIGHTED].xs(high, level="epsilon") / gap[WEIGHTED].xs(low, level="epsilon"))
    return [
        Check(
            "accuracy of WD-DP less that of plain averaging, mean over tables and budgets",
            float((right[WEIGHTED] - right[PLAIN]).mean()),
            0.0,
            1.0,
            "better",
            "law",
            MOVES * more,
        ),
        Check(
            "log10 of plain averaging's optimal gap over WD-DP's, mean over tables and budgets",
            float(wider),
            0.0,
            10.0,
            "better",
            "law",
            MOVES_LOG * more,
        ),
        Check(
            "accuracy of WD-DP less that of the centralised method, mean: no worse",
            float(beside),
            -SIMILAR,
            1.0,
            "straight up to centralised methods",
            "law",
            MOVES * more,
        ),
        Check(
            "accuracy of WD-DP less that of the centralised method, mean: similar",
            float(beside),
            -SIMILAR,
            SIMILAR,
            "similar",
            tolerance=MOVES * more,
        ),
        Check(
            f"accuracy of WD-DP at epsilon = {high:g} less that at {low:g}, smallest of the tables",
            float(rise.min()),
            0.0,
            1.0,
            "increases",
            "law",
            2 * MOVES * more,
        ),
        Check(
            f"log10 of WD-DP's optimal gap at epsilon = {high:g} over that at {low:g}, largest of the tables",
            float(fall.max()),
            -10.0,
            0.0,
            "decreases",
            "law",
            MOVES_LOG * more,
        ),
    ]


def against_skews(frame: pd.DataFrame) -> list[Check]:
    """Figures against u: WD-DP steady, plain averaging falling."""
    frame = frame[frame["data"].isin(list(TABLES))]
    more = unsteady(frame)
    ends = frame.groupby(["data", "method"])["skew"].transform
    first, last = (
        frame[frame["skew"] == ends(which)].pivot(index="data", columns="method", values=["accuracy", "optimal_gap"])
        for which in ("min", "max")
    )
    fell = (first["accuracy"] - last["accuracy"]).mean()
    grew = np.log10(last["optimal_gap"] / first["optimal_gap"]).mean()
    made = [
        Check(
            "fall of WD-DP's accuracy from u = 1 to the largest u, mean over tables",
            float(fell[WEIGHTED]),
            -STEADY,
            STEADY,
            "steady",
            "law",
            MOVES * more,
        )
    ]
    for name in (PLAIN, KEPT):
        made += [
            Check(
                f"how much more the accuracy of {name} falls, mean over tables",
                float(fell[name] - fell[WEIGHTED]),
                FALLS,
                1.0,
                "decreases rapidly or fluctuates sharply",
                "law",
                MOVES * more,
            ),
            Check(
                f"log10 by how much more the optimal gap of {name} grows, mean over tables",
                float(grew[name] - grew[WEIGHTED]),
                0.0,
                10.0,
                "increases rapidly or fluctuates sharply",
                "law",
                MOVES_LOG * more,
            ),
        ]
    return made


def on_adult(frame: pd.DataFrame) -> list[Check]:
    """Adult at m = 16 and epsilon = 0.05 against an independent run: .825 to .822, plain averaging .825 to .760."""
    ours = frame[(frame["data"] == ONE_HOT) & ~frame["stand_in"]].set_index(["method", "skew"])["accuracy"]
    if ours.empty:
        return []
    last = ours.index.get_level_values("skew").max()

    def near(name: str, skew: float, known: float) -> Check:
        what = f"Adult, one-hot: accuracy of {name} at u = {skew:g}"
        source = f"{known:g} (an independent run)"
        return Check(what, float(ours[name, skew]), known - STEADY, known + STEADY, source, tolerance=MOVES / 2)

    fell = ours[WEIGHTED, 1] - ours[WEIGHTED, last]
    more = float(ours[PLAIN, 1] - ours[PLAIN, last] - fell)
    return [
        Check("Adult, one-hot: fall of WD-DP's accuracy", float(fell), -STEADY, STEADY, "0.003", "law", MOVES / 2),
        Check(f"Adult, one-hot: how much more that of {PLAIN} falls", more, FALLS, 1.0, "0.062", "law", MOVES / 2),
        near(WEIGHTED, 1, 0.825),
        near(WEIGHTED, last, 0.822),
        near(PLAIN, last, 0.760),
    ]
