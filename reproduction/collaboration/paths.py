"""Relative fitness of the running mean, round by round: quartiles at three budgets (VC 2, 7)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from reproduction.collaboration.setups import BUDGETS, OWNERS, Prepared, Setup
from reproduction.drawing import plot_band, set_scales
from reproduction.item import Check, Setting, check_law

WITHIN = 1 / 0.9 - 1  # relative fitness of a model "within 90 %" of the one without noise
HUNDREDFOLD = (50.0, 200.0)  # about a hundredfold: a factor of two either way
QUARTILES = ("q25", "median", "q75")


def compute_path(setup: Setup, setting: Setting) -> pd.DataFrame:
    """Quartiles and mean over the trainings after each round, at each budget."""
    prepared = Prepared(setup, setting)
    (size,) = prepared.limit_sizes(setup.followed)
    market = prepared.make_market([size] * OWNERS)
    runs = min(setting.runs, prepared.count_runs(OWNERS * size, len(BUDGETS)))
    parts = []
    for epsilon in BUDGETS:
        streams = setting.streams(f"{setup.name} path {epsilon}")
        budgets = np.full(OWNERS, epsilon)
        paths = market.paths(budgets, prepared.plan, runs=runs, streams=streams)
        steps, quartiles = paths.quartiles(of_means=True)
        kept = np.array([paths.kept_means[step] for step in steps.tolist()])
        part = {
            "n_records": size,
            "wanted_records": setup.followed,
            "epsilon": epsilon,
            "round": steps + 1,
            **dict(zip(QUARTILES, quartiles.T, strict=True)),
            "mean": kept.mean(axis=1),
            "std_error": kept.std(axis=1, ddof=1) / np.sqrt(runs),
            "runs": runs,
        }
        parts.append(pd.DataFrame(part))
        setting.did(1 / len(BUDGETS))
    frame = pd.concat(parts, ignore_index=True)
    return frame.assign(**prepared.constants, protocol="published")


def check_path(setup: Setup, frame: pd.DataFrame) -> list[Check]:
    """Check that models improve with the budget, and that running means settle."""
    last = frame[frame["round"] == frame["round"].max()].set_index("epsilon")
    checks = []
    for low, high in pairwise(BUDGETS):
        ratio, error = ratio_of_means(last, low, high)
        what = f"mean ψ at ε = {low:g} over that at {high:g}"
        checks.append(check_law(what, ratio, 1.0, np.inf, "above 1", 5 * error * ratio))
    for epsilon, part in frame.groupby("epsilon")["median"]:
        what = f"median at the end over its highest on the way, ε = {epsilon:g}"
        settled = part.iloc[-1] / part.max()
        checks.append(check_law(what, settled, 0.0, 1 - 1e-9, "below 1", 0.2))
    size = int(frame["n_records"].iloc[0])
    if setup.loss.quadratic:
        return [*checks, check_hundredfold(last, size)]
    return [*checks, check_within(last, size, int(frame["wanted_records"].iloc[0]))]


def ratio_of_means(last: pd.DataFrame, low: float, high: float) -> tuple[float, float]:
    """Ratio of mean fitness at two budgets, and its relative standard error."""
    mean = last["mean"]
    spread = last["std_error"] / mean
    ratio = float(mean[low] / mean[high])
    return ratio, float(np.hypot(spread[low], spread[high]))


def check_hundredfold(last: pd.DataFrame, size: int) -> Check:
    """Check the improvement from a budget of 1 to one of 10, about a hundredfold."""
    ratio, error = ratio_of_means(last, 1.0, 10.0)
    what = f"mean ψ at ε = 1 over that at ε = 10, n_i = {size:,}"
    return Check(what, ratio, *HUNDREDFOLD, "about 100", tolerance=5 * error * ratio)


def check_within(last: pd.DataFrame, size: int, wanted: int) -> Check:
    """Check "within 90 %" at a budget of 1, carried to the records of the paper by 1/n^2."""
    carried = float(last["mean"][1.0]) * (size / wanted) ** 2
    error = float(last["std_error"][1.0] / last["mean"][1.0])
    what = f"mean ψ at ε = 1, n_i = {wanted:,}"
    if size != wanted:
        what += f", carried from {size:,} by 1/n²"
    tolerance = 5 * carried * error + 0.1 * carried
    return Check(what, carried, 0.0, WITHIN, "within 90 %", tolerance=tolerance)


def draw_path(setup: Setup, panels: Sequence[Axes], frame: pd.DataFrame) -> None:
    """Draw a panel for each budget."""
    spread = (frame["q25"].min() / 1.5, frame["q75"].max() * 1.5)
    for number, (axes, epsilon) in enumerate(zip(panels, BUDGETS, strict=True)):
        part = frame[frame["epsilon"] == epsilon]
        plot_band(axes, part, "round", *QUARTILES, number=number)
        set_scales(axes, "xy")
        axes.set(ylim=spread)


KINDS = {"path": (compute_path, check_path, draw_path)}
