"""WD's figures and Theorem 3 as items: accuracy and optimal gap of methods, and its condition."""

from __future__ import annotations

from functools import partial
from typing import Any

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
from reproduction.weighted.methods import (
    CENTRAL,
    DELTA,
    LIPSCHITZ,
    PLAIN,
    WEIGHTED,
    count_rounds,
    vary_budget,
    vary_skew,
)
from reproduction.weighted.perturbation import check_rivals, compute_rivals
from reproduction.weighted.rows import ONE_HOT, TABLES, load_available
from reproduction.weighted.rows import Rows as TableRows
from reproduction.weighted.table import check_table, compute_table
from scenarios.report.figure_page import MUTED

STEADY = 0.02  # accuracy within which a method is "steady"
SIMILAR = 0.05  # accuracy within which two methods are "similar"
MOVES = 0.04  # tolerance of a mean accuracy for another seed
MOVES_LOG = 0.25  # tolerance of a mean log10 of optimal gaps
MEASURES = ("accuracy", "optimal_gap")


# ---- checks


def seed_factor(frame: pd.DataFrame) -> float:
    """Factor on tolerances where trainings are few."""
    return 1.0 if frame["trainings"].min() > 5 else 1.5


def tabulate(rows: pd.DataFrame, x: str, measure: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Accuracy, or log10 of the optimal gap, by x and method, and its standard errors."""
    found, error = (
        rows.pivot(index=x, columns="method", values=one)
        for one in (measure, f"{measure}_std_error")
    )
    if measure == "accuracy":
        return found, error
    return np.log10(found), error / found / np.log(10)


def subtract_means(
    table: tuple[pd.DataFrame, pd.DataFrame], other: str, words: dict[str, Any], sign: int = 1
) -> tuple[float, dict[str, Any]]:
    """Mean of WD-DP less that of another method, and its error, common draws left aside."""
    found, errors = table
    squares = (errors[[WEIGHTED, other]] ** 2).to_numpy().sum()
    error = np.sqrt(squares) / len(errors)
    return sign * (found[WEIGHTED] - found[other]).mean(), words | {"std_error": error}


def judge_band(accuracies: pd.DataFrame, band: float) -> dict[str, str]:
    """Kind of a check that holds within a band: a law where some accuracies lie apart.

    Within a band wider than all that a figure has of a table they lie whatever they are.
    """
    span = np.ptp(accuracies.to_numpy())
    return {"judged": "law" if span > band else "control"}


def furthest_change(found: pd.Series, error: pd.Series) -> tuple[float, float, float]:
    """Change from the first place to the one furthest from it, its error, and that place.

    >>> tried = pd.Series([0.8, 0.9, 0.75], index=[1, 3, 9])
    >>> [round(float(one), 3) for one in furthest_change(tried, tried * 0 + 0.03)]
    [0.1, 0.042, 3.0]
    """
    change = found.iloc[1:] - found.iloc[0]
    at = change.abs().idxmax()
    return float(change[at]), float(np.hypot(error.iloc[0], error[at])), at


def check_budgets(frame: pd.DataFrame) -> Found:
    """On each table WD-DP is above plain averaging, like the centralised method, and improves."""
    moves = {"tolerance": MOVES * seed_factor(frame)}
    moves_log = {"tolerance": MOVES_LOG * seed_factor(frame)}
    ends = {"low": frame["epsilon"].min(), "high": frame["epsilon"].max()}
    for table, rows in frame.groupby("data"):
        words = {"table": table, **ends}
        accuracy, gap = (tabulate(rows, "epsilon", measure) for measure in MEASURES)
        yield "accuracy", *subtract_means(accuracy, PLAIN, words | moves)
        yield "gap", *subtract_means(gap, PLAIN, words | moves_log, sign=-1)
        found, told = subtract_means(accuracy, CENTRAL, words | moves)
        yield "similar", found, -SIMILAR, SIMILAR, told | judge_band(accuracy[0], SIMILAR)
        yield "similar_gap", *subtract_means(gap, CENTRAL, words | moves_log, sign=-1)
        for name, (found, error), wide in (
            ("increases", accuracy, words | {"tolerance": 2 * moves["tolerance"]}),
            ("decreases", gap, words | moves_log),
        ):
            change = found[WEIGHTED].iloc[-1] - found[WEIGHTED].iloc[0]
            yield name, change, wide | {"std_error": np.hypot(*error[WEIGHTED].iloc[[0, -1]])}


def check_skews(frame: pd.DataFrame) -> Found:
    """On each table WD-DP is steady over u, and plain averaging moves more, either way."""
    frame = frame[frame["data"].isin(list(TABLES))]
    factor = seed_factor(frame)
    apart: list[float] = []
    for table, rows in frame.groupby("data"):
        for measure, steady, moves, tolerance in (
            ("accuracy", "steady", "moves", MOVES),
            ("optimal_gap", "steady_gap", "moves_gap", MOVES_LOG),
        ):
            found, error = tabulate(rows, "skew", measure)
            (still, still_error, at), (plain, plain_error, _) = (
                furthest_change(found[method], error[method]) for method in (WEIGHTED, PLAIN)
            )
            words = {"table": table, "at": at, "tolerance": tolerance * factor}
            if measure == "accuracy":
                apart.append(abs(found[WEIGHTED].iloc[0] - found[PLAIN].iloc[0]))
            band = judge_band(found, STEADY) if measure == "accuracy" else {}
            yield steady, still, words | band | {"std_error": still_error}
            both = {"std_error": np.hypot(still_error, plain_error)}
            yield moves, abs(plain) - abs(still), words | both
    yield "even", max(apart), {}


def check_skews_and_adult(frame: pd.DataFrame) -> Found:
    """Figures 2 and 12, with the one-hot coding of Adult against an independent run."""
    yield from check_skews(frame)
    own = frame[(frame["data"] == ONE_HOT) & ~frame["stand_in"]]
    if own.empty:
        return
    ours = own.set_index(["method", "skew"])["accuracy"]
    squares = own.set_index(["method", "skew"])["accuracy_std_error"] ** 2
    last = own["skew"].max()
    fell = ours[WEIGHTED, 1] - ours[WEIGHTED, last]
    error = np.sqrt(squares[WEIGHTED, 1] + squares[WEIGHTED, last])
    yield "adult_steady", fell, {"std_error": error}
    words = {"name": PLAIN, "std_error": np.hypot(error, np.sqrt(squares[PLAIN, last]))}
    yield "adult_falls", ours[PLAIN, 1] - ours[PLAIN, last] - fell, words
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
    for rows in load_available(tuple(TABLES), setting):
        for name, ridge in RIDGES.items():
            cost = make_cost(rows, name, ridge)
            rng = setting.streams("lojasiewicz").rng(rows.name, name)
            places = choose_points(rows, name, cost, setting, rng)
            common = {"data": rows.name, "cost": name, "ridge": ridge}
            for where, points in places.items():
                for row in list_ratios(cost, points):
                    yield {"where": where} | row | common
            setting.did(1 / (len(TABLES) * len(RIDGES)))


def make_cost(rows: TableRows, name: str, ridge: float) -> RecordFitness:
    """The cost on the first rows of a table."""
    loss = make_loss("network", hidden=HIDDEN) if name == NETWORK else make_loss("logistic")
    return RecordFitness(loss, ((rows.x[:MOST_ROWS], rows.y[:MOST_ROWS]),), ridge)


def choose_points(
    rows: TableRows, name: str, cost: TrainingCost, setting: Setting, rng: np.random.Generator
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
    rows: TableRows,
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


def network_origin(rows: TableRows) -> Array:
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
    for table, rows in far[far["distance"] >= FAR * 0.99].groupby("data"):
        yield "slope", log_slope(rows["distance"], rows["ratio"]), {"table": table, "far": FAR}
    network = select_rows(frame, cost=NETWORK)
    least = network.groupby(["where", "data"])["ratio"].min()
    yield "origin", (least["origin"] / least["path"]).max()


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
