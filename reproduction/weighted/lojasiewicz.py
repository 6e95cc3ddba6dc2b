"""WD-PL: the condition of WD's Theorem 3 for logistic loss and for a network."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from learning.arrays import Array
from learning.losses.lojasiewicz import draw_cloud, smallest_ratio
from learning.losses.loss import RecordFitness
from learning.losses.losses import make_loss
from learning.losses.network import draw_start
from learning.losses.protocols import TrainingCost
from learning.privacy.published_noise import PublishedNoise
from reproduction.checks import log_slope, select_rows
from reproduction.item import Setting
from reproduction.plots import Style
from reproduction.specification import Found, Law, Rows
from reproduction.weighted import rows as tables
from reproduction.weighted.methods import DELTA, LIPSCHITZ, count_rounds
from reproduction.weighted.rows import load_available
from scenarios.report.figure_page import PALETTE

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


def make_cost(rows: tables.Rows, name: str, ridge: float) -> RecordFitness:
    """The cost on the first rows of a table."""
    loss = make_loss("network", hidden=HIDDEN) if name == NETWORK else make_loss("logistic")
    return RecordFitness(loss, ((rows.x[:MOST_ROWS], rows.y[:MOST_ROWS]),), ridge)


def choose_points(
    rows: tables.Rows, name: str, cost: TrainingCost, setting: Setting, rng: np.random.Generator
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
    rows: tables.Rows,
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


def network_origin(rows: tables.Rows) -> Array:
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


def draw_points(axes: Axes, frame: pd.DataFrame) -> None:
    """Large markers along training, small ones elsewhere."""
    for number, cost in enumerate(RIDGES):
        part = select_rows(frame, cost=cost)
        path = part[part["where"] == "path"]
        other = part[part["where"] != "path"]
        color = PALETTE[number % len(PALETTE)]
        small: Style = {"ms": 2, "alpha": 0.5, "rasterized": True}
        axes.plot(other["excess"], other["ratio"], ".", color=color, **small)
        axes.plot(path["excess"], path["ratio"], "o", color=color, ms=3, label=cost)


LAWS: dict[str, Law] = {"WD-PL": (compute_ratios, check_ratios, {"points": draw_points})}
