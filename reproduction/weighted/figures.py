"""WD's figures and Theorem 3 as items: accuracy and optimal gap of methods, and its condition."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import matplotlib.ticker
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from learning.arrays import Array
from learning.losses.lojasiewicz import draw_cloud, smallest_ratio
from learning.losses.loss import RecordFitness, TrainingCost
from learning.losses.losses import make_loss
from learning.losses.network import draw_start
from learning.privacy.published_noise import PublishedNoise
from reproduction.checks import log_slope, select_rows
from reproduction.drawing import Style, plot_series
from reproduction.item import Setting
from reproduction.specification import Found, Law, Rows
from reproduction.weighted import methods
from reproduction.weighted.methods import (
    CENTRAL,
    DELTA,
    KEPT,
    LIPSCHITZ,
    ONE_HOT,
    PLAIN,
    TABLES,
    WEIGHTED,
    count_rounds,
    load_available,
    vary_budget,
    vary_skew,
)
from reproduction.weighted.perturbation import check_rivals, compute_rivals
from reproduction.weighted.table import check_table, compute_table
from scenarios.report.figure_page import MUTED

SURE = 2  # standard errors from which on a method is better
STEADY = 0.02  # accuracy within which a method is "steady"
MOVES = 0.04  # tolerance of a mean accuracy for another seed
MOVES_LOG = 0.25  # tolerance of a mean log10 of optimal gaps
MEASURES = ("accuracy", "optimal_gap")


# ---- checks


def seed_factor(frame: pd.DataFrame) -> float:
    """Factor on tolerances where trainings are few."""
    return 1.0 if frame["trainings"].min() > 5 else 1.5


def error_of_mean(frame: pd.DataFrame, methods: Sequence[str]) -> float:
    """Standard error of the difference of two methods' mean accuracy, common draws left aside."""
    errors = frame.loc[frame["method"].isin(methods), "accuracy_std_error"]
    return float(np.sqrt((errors**2).sum()) * len(methods) / len(errors))


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
    for table, own in right.groupby(level="data"):
        gaps = gap.loc[table]
        words = {"table": table} | moves
        least = SURE * error_of_mean(frame[frame["data"] == table], (WEIGHTED, PLAIN))
        yield "better_there", (own[WEIGHTED] - own[PLAIN]).mean(), least, 1.0, words
        logs = np.log10(gaps[PLAIN] / gaps[WEIGHTED]).mean()
        yield "gap_there", logs, {"table": table} | moves_log
        yield "similar_there", (own[WEIGHTED] - own[CENTRAL]).mean(), words
        risen = last[table] - first[table]
        yield "increases_there", risen, ends | words | {"tolerance": 2 * moves["tolerance"]}


def check_skews(frame: pd.DataFrame) -> Found:
    """WD-DP is steady over u, and plain averaging falls, on the mean of tables and on each."""
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
    falls = first["accuracy"] - last["accuracy"]
    growth = np.log10(last["optimal_gap"] / first["optimal_gap"])
    fell = falls.mean()
    grew = growth.mean()
    yield "steady", fell[WEIGHTED], moves
    for name in (PLAIN, KEPT):
        yield "falls", fell[name] - fell[WEIGHTED], {"name": name, **moves}
        yield "grows", grew[name] - grew[WEIGHTED], {"name": name, **moves_log}
    for table in falls.index:
        own = falls.loc[table]
        gaps = growth.loc[table]
        yield "steady_there", own[WEIGHTED], {"table": table, **moves}
        yield "falls_there", own[PLAIN] - own[WEIGHTED], {"table": table, **moves}
        yield "grows_there", gaps[PLAIN] - gaps[WEIGHTED], {"table": table, **moves_log}


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
    plot_series(axes, frame, x, measure, "method", law=measure, logs=logs)
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


NAMES = ("adult", "cancer")
MOST_ROWS = 4000
HIDDEN = 4
NETWORK = "network"
BARE = "logistic, no ridge"
RIDGES = {
    "logistic, ridge 0.01": 1e-2,
    "logistic, ridge 0.0001": 1e-4,
    BARE: 1e-9,
    NETWORK: 1e-4,
}
STEP = 1.0
EPSILON = 0.25
REACHES = np.geomspace(1.0, 1e4, 9)  # distances from the best model along a ray
FAR = 100.0  # least distance in the fit of the slope along rays
RAYS = 10
AROUND = 200
ALONG = 60


def compute_ratios(setting: Setting) -> Rows:
    """Ratios along training, around the best model, along rays, and at a network's origin."""
    for rows in load_available(NAMES, setting):
        for name, ridge in RIDGES.items():
            cost = make_cost(rows, name, ridge)
            rng = setting.streams("lojasiewicz").rng(rows.name, name)
            places = choose_points(rows, name, cost, setting, rng)
            common = {"data": rows.name, "cost": name, "ridge": ridge}
            for where, points in places.items():
                for row in list_ratios(cost, points):
                    yield {"where": where} | row | common
            setting.did(1 / (len(NAMES) * len(RIDGES)))


def make_cost(rows: methods.Rows, name: str, ridge: float) -> RecordFitness:
    """The cost on the first rows of a table."""
    loss = make_loss("network", hidden=HIDDEN) if name == NETWORK else make_loss("logistic")
    return RecordFitness(loss, ((rows.x[:MOST_ROWS], rows.y[:MOST_ROWS]),), ridge)


def choose_points(
    rows: methods.Rows, name: str, cost: TrainingCost, setting: Setting, rng: np.random.Generator
) -> dict[str, Array]:
    """Models at which the ratio is computed, by kind of place.

    A network starts at random, since at zero its units stay equal.
    """
    best = cost.minimiser
    width = rows.x.shape[1]
    start = draw_start(HIDDEN, width, rng=rng) if name == NETWORK else np.zeros(width)
    path = noisy_path(rows, cost, start, setting, rng)
    around = draw_cloud(best, float(np.linalg.norm(best - start)), AROUND, rng=rng)
    ways = rng.standard_normal((RAYS, len(best)))
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    rays = (best + REACHES[:, None, None] * ways).reshape(-1, len(best))
    points = {"path": path, "cloud": around, "ray": rays}
    return points | {"origin": network_origin(rows)} if name == NETWORK else points


def noisy_path(
    rows: methods.Rows,
    cost: TrainingCost,
    start: Array,
    setting: Setting,
    rng: np.random.Generator,
) -> Array:
    """Some sixty points of one descent with noise by (3), even in the log of the round, (m, p)."""
    count = min(MOST_ROWS, len(rows.y))
    rounds = count_rounds(setting)
    law = PublishedNoise("weighted", DELTA, (count,))
    sigma = float(law.scale([EPSILON], [count], LIPSCHITZ, rounds)[0])
    kept = np.unique(np.geomspace(1, rounds, ALONG).astype(int))
    theta = start
    points = [start]
    for k in range(1, rounds + 1):
        theta = theta - STEP * (cost.gradient(theta) + sigma * rng.standard_normal(len(theta)))
        if k in kept:
            points.append(theta)
    return np.array(points)


def network_origin(rows: methods.Rows) -> Array:
    """A network with zero units and the best constant score: no minimum, and no gradient."""
    share = float(np.mean(rows.y[:MOST_ROWS] > 0))
    point = np.zeros((1, HIDDEN * (rows.x.shape[1] + 1) + 1))
    point[0, -1] = np.log(share / (1 - share))
    return point


def list_ratios(cost: TrainingCost, points: Array) -> Rows:
    """Ratio at each point except the best model, with distance from it and excess."""
    for point in points:
        try:
            one = smallest_ratio(cost, point[None])
        except ValueError:  # the best model itself
            continue
        distance = float(np.linalg.norm(point - cost.minimiser))
        yield {"distance": distance, "excess": one.excess_there, "ratio": one.mu_at_most}


def check_ratios(frame: pd.DataFrame) -> Found:
    """Ratios with a ridge, without one, and of a network."""
    ridged = frame[~frame["cost"].isin([NETWORK, BARE])]
    yield "ridge", (ridged["ratio"] / ridged["ridge"]).min()
    far = select_rows(frame, cost=BARE, where="ray")
    far = far[far["distance"] >= FAR * 0.99]
    yield "slope", log_slope(far["distance"], far["ratio"])
    network = select_rows(frame, cost=NETWORK).groupby("where")["ratio"]
    yield "origin", network.max()["origin"] / network.min()["path"]


def _vary(owners: int) -> Law:
    """Law of a figure over the budget."""
    return partial(vary_budget, owners), check_budgets, DRAWN


def _skew(owners: int, epsilon: float) -> Law:
    """Law of a figure over the skew of sizes."""
    return partial(vary_skew, owners, epsilon, tuple(TABLES)), check_skews, DRAWN


DRAWN = {"measure": draw_measure}
WITH_ADULT = partial(vary_skew, 16, 0.05, (*TABLES, ONE_HOT))
LAWS: dict[str, Law] = {
    "WD-1": _vary(32),
    "WD-2": (WITH_ADULT, check_skews_and_adult, DRAWN),
    "WD-4": _vary(2),
    "WD-6": _vary(4),
    "WD-8": _vary(8),
    "WD-10": _vary(16),
    "WD-13": _skew(32, 0.1),
    "WD-15": _skew(8, 0.01),
    "WD-T1": (compute_table, check_table),
    "WD-RV": (compute_rivals, check_rivals, DRAWN),
    "WD-PL": (compute_ratios, check_ratios),
}
