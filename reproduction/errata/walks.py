"""Errata of the algorithms of Wu et al. and of their proofs: steps, curvature, bound, weights."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from learning.arrays import Array
from learning.privacy.laplace import Laplace
from learning.training.descent import Averaged, Synchronous
from learning.training.law import error_moments, iterate_weights
from reproduction.checks import (
    at_least,
    close_to,
    equal_to,
    estimate_mean,
    log_slope,
    pick_number,
    select_rows,
)
from reproduction.claims import Checks, Rows, make_item, quick_or_full
from reproduction.item import Check, Setting
from reproduction.plots import DOTTED, curve, draw_panel, estimates_and_law, legend_entry, level
from scenarios.report.figure_page import INK

# Quadratic cost of ten parameters: smoothness 1, strong convexity 0.1.
CURVATURES = np.geomspace(1.0, 0.1, 10)
START = 0.5 * CURVATURES.sum()  # excess of the start, one off in every direction
OWNERS = 3
RECORDS = 90_000
BOUND = 10.0  # of gradients


def noise_power(epsilon: float, horizon: int) -> float:
    """Variance of a coordinate of one round's noise, 8 bound^2 T^2/n^2 sum 1/epsilon^2."""
    return float(8 * BOUND**2 * horizon**2 / RECORDS**2 * OWNERS / epsilon**2)


# ---- E-2: the step size that does not move


def walk_without_noise(steps: Array) -> tuple[float, float]:
    """Length of the noiseless walk, and the excess at its end."""
    error = np.ones_like(CURVATURES)
    way = 0.0
    for step in steps:
        move = step * CURVATURES * error
        error = error - move
        way = way + float(np.linalg.norm(move))
    return way, float(0.5 * CURVATURES @ error**2)


def least_excess(steps: Array, power: float) -> float:
    """Least expected excess of any point, the start included: the minimum in Theorem 2."""
    decay = np.ones_like(CURVATURES)
    variance = np.zeros_like(CURVATURES)
    least = START
    for step in steps:
        shrink = 1 - step * CURVATURES
        decay = decay * shrink
        variance = variance * shrink**2 + step**2 * power
        least = min(least, float(0.5 * CURVATURES @ (decay**2 + variance)))
    return least


def compute_stopping_walks(setting: Setting) -> Rows:
    """Noiseless walks with rho fixed, and with rho in proportion to T^2."""
    horizons = (2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 5000)
    for horizon in horizons[: quick_or_full(setting, 10, None)]:
        for rule, constant in (("fixed", 1.0), ("grows", float(horizon**2))):
            steps = Synchronous().steps(constant, horizon)
            way, end = walk_without_noise(steps)
            decay, _ = error_moments(CURVATURES, steps, "last")
            harmonic = float(np.sum(1 / np.arange(1, horizon)))
            bound = 8 * BOUND**2 * constant / (CURVATURES.min() * RECORDS**2) * OWNERS
            yield dict(
                rule=rule,
                horizon=horizon,
                left_walked=end / START,
                left_law=float(0.5 * CURVATURES @ decay**2) / START,
                way=way,
                way_formula=constant * harmonic / horizon**2 * np.linalg.norm(CURVATURES),
                least_noisy=least_excess(steps, noise_power(1.0, horizon)) / START,
                bound=bound / START,
            )


def check_stopping_walks(frame: pd.DataFrame) -> Checks:
    """Long walks with rho fixed stay at their start."""
    fixed = select_rows(frame, rule="fixed")
    (last,) = select_rows(fixed, horizon=1000).itertuples()
    yield at_least("left", last.left_walked, 0.999, "0")
    yield at_least("over_bound", (fixed["least_noisy"] / fixed["bound"]).min(), 1.0, "at most 1")
    yield Check("way", last.way / last.way_formula, 0.99, 1.01, "", "law")
    yield equal_to("law", (frame["left_law"] / frame["left_walked"]).max(), 1.0)


STEP_RULES = {
    "fixed": "ρ fixed, as printed (no noise)",
    "grows": "ρ in proportion to T² (no noise)",
}


def draw_shares_left(axes: Axes, frame: pd.DataFrame) -> None:
    """Shares above 0, since the scale is logarithmic."""
    mark = estimates_and_law("horizon", "left_walked", "left_law", "rule", STEP_RULES)
    mark(axes, frame[frame["left_walked"] > 0])


draw_stopping_walks = draw_panel(
    "E-2",
    draw_shares_left,
    curve(
        "horizon",
        "bound",
        "bound of Theorem 2, ρ fixed (n = 90,000, ε = 1)",
        INK,
        {"rule": "fixed"},
        ls="--",
        lw=1,
    ),
    labels=("rounds T", "share left"),
    logs="xy",
)


# ---- E-17: a bound that falls to nothing without noise


def simulate_excess(
    epsilon: float, horizon: int, runs: int, rng: np.random.Generator
) -> dict[str, float]:
    """Mean excess of Algorithm 2's running mean in drawn walks, with its standard error."""
    theta = np.ones((runs, len(CURVATURES)))
    mean = np.zeros((runs, len(CURVATURES)))
    eta = horizon**-0.5
    scale = np.sqrt(noise_power(epsilon, horizon) / OWNERS / 2)  # of each owner
    for k, step in enumerate(Averaged().steps(1.0, horizon), start=1):
        noise = Laplace().draw(scale, (OWNERS, *theta.shape), rng=rng).sum(axis=0)
        mean = (k - 1) / (eta + k) * mean + (eta + 1) / (eta + k) * theta
        theta = theta - step * (CURVATURES * theta + noise)
    return estimate_mean(0.5 * mean**2 @ CURVATURES)


def compute_vanishing_bound(setting: Setting) -> pd.DataFrame:
    """Excess of Algorithm 2 over the budget, and the constant that Theorem 3 would need."""
    horizon = 100
    streams = setting.streams("E-17")
    trials = np.geomspace(0.01, 1.9, quick_or_full(setting, 20, 200))
    steps = Averaged().steps(trials, horizon)[:, None, :]
    decay, _ = error_moments(CURVATURES[:, None], steps, "averaged")
    least = float((0.5 * CURVATURES @ decay**2).min())
    decay, variance = error_moments(CURVATURES, Averaged().steps(1.0, horizon), "averaged")
    rows = []
    for number, epsilon in enumerate(np.geomspace(0.01, 1000, 11)):
        law = float(0.5 * CURVATURES @ (decay**2 + variance * noise_power(epsilon, horizon)))
        unit = BOUND / RECORDS * np.sqrt(OWNERS / epsilon**2)
        rng = streams.rng("noise", number)
        rows.append(
            {"epsilon": epsilon}
            | simulate_excess(float(epsilon), horizon, 5 * setting.runs, rng)
            | {"law": law, "unit": unit, "constant_needed": law / unit}
            | {"least_without_noise": least}
        )
    frame = pd.DataFrame(rows)
    return frame.assign(bound=frame["constant_needed"].iloc[4] * frame["unit"])


def check_vanishing_bound(frame: pd.DataFrame) -> Checks:
    """The constant grows with epsilon, since the excess does not vanish."""
    last = frame.iloc[-1]
    least = last["least_without_noise"]
    yield at_least("least", least, 1e-12, "0")
    ratio = last["constant_needed"] / pick_number(frame, "constant_needed", epsilon=1.0)
    yield at_least("constant", ratio, 10.0, "1")
    power = log_slope(frame["epsilon"][-3:], frame["constant_needed"][-3:])
    yield Check("power", power, 0.95, 1.05, "0", "law")
    for what, epsilon in (
        ("small_budget", 0.01),
        ("unit_budget", 1.0),
    ):
        (one,) = select_rows(frame, epsilon=epsilon).itertuples()
        yield close_to(what, one.measured / one.law, 1.0, one.std_error / one.law)


draw_vanishing_bound = draw_panel(
    "E-17",
    estimates_and_law("epsilon", law="law"),
    curve("epsilon", "bound", "Theorem 3, its constant fitted at ε = 1", 1, ls="--", lw=1),
    legend_entry("measured, and the exact law"),
    labels=("ε of each of three owners, 30,000 records each", "mean excess of the running mean"),
    logs="xy",
)


# ---- E-16: the curvature that the descent inequality loses


def compute_rise(setting: Setting) -> Rows:
    """Rise of the cost in one noisy step from the optimum of smoothness theta^2/2."""
    rng = setting.streams("E-16").rng("noise")
    draws = quick_or_full(setting, 5000, 50_000)
    power = noise_power(1.0, 10)
    for smoothness in (0.2, 0.5, 1.0, 2.0, 5.0, 20.0, 100.0):
        step = 1 / smoothness
        noise = Laplace().draw(np.sqrt(power / 2), (draws,), rng=rng)
        yield dict(
            smoothness=smoothness,
            step=step,
            printed=step**2 * power,
            corrected=smoothness / 2 * step**2 * power,
            **estimate_mean(0.5 * smoothness * (step * noise) ** 2),
        )


def relate_to_printed(frame: pd.DataFrame) -> pd.DataFrame:
    """Measured rise, its error and the corrected bound over the printed one."""
    return pd.DataFrame(
        {
            "smoothness": frame["smoothness"],
            "ratio": frame["measured"] / frame["printed"],
            "law": frame["corrected"] / frame["printed"],
            "std_error": frame["std_error"] / frame["printed"],
        }
    )


def check_rise(frame: pd.DataFrame) -> Checks:
    """The ratio to the printed bound grows with the smoothness."""
    ratio = relate_to_printed(frame)
    (steep,) = select_rows(ratio, smoothness=20.0).itertuples()
    (flat,) = select_rows(ratio, smoothness=0.2).itertuples()
    yield close_to("steep", steep.ratio, 10.0, steep.std_error, "at most 1", "law")
    yield close_to("flat", flat.ratio, 0.1, flat.std_error, "at most 1")
    power = log_slope(ratio["smoothness"], ratio["ratio"])
    yield Check("power", power, 0.95, 1.05, "0", "law", 0.03)


draw_ratio = draw_panel(
    "E-16",
    estimates_and_law("smoothness", "ratio", "law"),
    level(1.0, "the most there is as printed"),
    legend_entry("measured, and λ/2"),
    labels=(
        "smoothness λ, in other words the unit that the model is counted in",
        "over what is printed",
    ),
    logs="xy",
)


# ---- E-18: the weights of the running mean


def compute_weights(setting: Setting) -> Rows:
    """Rise of the running mean's weights from round to round, over the printed bound."""
    for horizon in (10, 100, 1000):
        for rule, eta in (("printed", horizon**-0.5), ("one", 1.0)):
            k = np.arange(1, horizon + 1)
            kept = (k - 1) / (eta + k)
            weights = (eta + 1) / (eta + k) * np.append(np.cumprod(kept[:0:-1])[::-1], 1.0)
            factor = eta + 1 if eta >= 1 else 2.0  # 2/(sqrt(T) T (T+1)) as printed
            ratio = np.diff(weights) / (eta * factor / (horizon * (horizon + 1)))
            for place in np.unique(np.geomspace(2, horizon, 25).astype(int)):
                yield dict(horizon=horizon, rule=rule, k=place, rise_over_bound=ratio[place - 2])


def check_weights(frame: pd.DataFrame) -> Checks:
    """The printed bound fails, the one with eta = 1 holds."""
    rise = frame.groupby(["rule", "horizon"])["rise_over_bound"].max()
    yield at_least("hundred_rounds", rise["printed", 100], 1.0 + 1e-9, "at most 1")
    yield at_least("thousand_rounds", rise["printed", 1000], 1.0 + 1e-9, "at most 1")
    yield Check("unit_eta", rise["one"].max(), 0.0, 1.0 + 1e-9, "at most 1", "law")
    yield equal_to("weights", float(iterate_weights(101, "averaged").sum()), 1.0)


draw_weights = draw_panel(
    "E-18",
    estimates_and_law(
        "k", "rise_over_bound", by="horizon", label=lambda rounds: f"T = {rounds:,}, η = 1/√T"
    ),
    level(1.0, **DOTTED),
    labels=("round k", "rise over its bound"),
    heading="dotted: the most there is as printed",
    where={"rule": "printed"},
    logs="xy",
)

ITEMS = (
    make_item("E-2", compute_stopping_walks, check_stopping_walks, draw_stopping_walks),
    make_item("E-17", compute_vanishing_bound, check_vanishing_bound, draw_vanishing_bound),
    make_item(
        "E-16",
        compute_rise,
        check_rise,
        lambda frame, note: draw_ratio(relate_to_printed(frame), note),
    ),
    make_item("E-18", compute_weights, check_weights, draw_weights),
)
