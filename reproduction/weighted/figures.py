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
from reproduction.checks import SURE, log_slope, select_rows
from reproduction.drawing import Style, plot_series
from reproduction.item import Setting
from reproduction.specification import Found, Law, Rows
from reproduction.weighted import methods
from reproduction.weighted.methods import (
    CENTRAL,
    DELTA,
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

STEADY = 0.02  # accuracy within which a method is "steady"
MOVES = 0.04  # tolerance of a mean accuracy for another seed
MOVES_LOG = 0.25  # tolerance of a mean log10 of optimal gaps
MEASURES = ("accuracy", "optimal_gap")


# ---- checks


def seed_factor(frame: pd.DataFrame) -> float:
    """Factor on tolerances where trainings are few."""
    return 1.0 if frame["trainings"].min() > 5 else 1.5


def error_of_mean(frame: pd.DataFrame, methods: Sequence[str], measure: str = "accuracy") -> float:
    """Standard error of the difference of two methods' mean, common draws left aside.

    Of the optimal gap it is that of the mean difference of its log10.
    """
    frame = frame[frame["method"].isin(methods)]
    errors = frame[f"{measure}_std_error"]
    if measure == "optimal_gap":
        errors = errors / frame[measure] / np.log(10)
    return float(np.sqrt((errors**2).sum()) * len(methods) / len(errors))


def check_budgets(frame: pd.DataFrame) -> Found:
    """On each table WD-DP is above plain averaging, like the centralised method, and improves."""
    moves = {"tolerance": MOVES * seed_factor(frame)}
    moves_log = {"tolerance": MOVES_LOG * seed_factor(frame)}
    pair = (WEIGHTED, PLAIN)
    ends = {"low": frame["epsilon"].min(), "high": frame["epsilon"].max()}
    for table, rows in frame.groupby("data"):
        right, gap = (rows.pivot(index="epsilon", columns="method", values=v) for v in MEASURES)
        logs = np.log10(gap)
        words = {"table": table, **ends}
        least, least_log = (SURE * error_of_mean(rows, pair, measure) for measure in MEASURES)
        yield "accuracy", (right[WEIGHTED] - right[PLAIN]).mean(), least, 1.0, words | moves
        yield "gap", (logs[PLAIN] - logs[WEIGHTED]).mean(), least_log, 10.0, words | moves_log
        yield "similar", (right[WEIGHTED] - right[CENTRAL]).mean(), words | moves
        yield "similar_gap", (logs[CENTRAL] - logs[WEIGHTED]).mean(), words | moves_log
        rise, fall = (
            one[WEIGHTED][ends["high"]] - one[WEIGHTED][ends["low"]] for one in (right, logs)
        )
        yield "increases", rise, words | {"tolerance": 2 * moves["tolerance"]}
        yield "decreases", fall, words | moves_log


def check_skews(frame: pd.DataFrame) -> Found:
    """On each table WD-DP is steady over u, and plain averaging falls."""
    frame = frame[frame["data"].isin(list(TABLES))]
    moves = {"tolerance": MOVES * seed_factor(frame)}
    moves_log = {"tolerance": MOVES_LOG * seed_factor(frame)}
    for table, rows in frame.groupby("data"):
        right, gap = (rows.pivot(index="skew", columns="method", values=v) for v in MEASURES)
        falls = right.iloc[0] - right.iloc[-1]
        grows = np.log10(gap.iloc[-1] / gap.iloc[0])
        words = {"table": table, "last": right.index[-1]}
        yield "steady", falls[WEIGHTED], words | moves
        yield "steady_gap", grows[WEIGHTED], words | moves_log
        yield "falls", falls[PLAIN] - falls[WEIGHTED], words | moves
        yield "grows", grows[PLAIN] - grows[WEIGHTED], words | moves_log


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
