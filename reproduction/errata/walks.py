"""Errata of the walks of Wu et al. and Farokhi et al., of their proofs and of isolated models."""

from __future__ import annotations

import operator
from functools import reduce
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from learning.arrays import Array
from learning.losses.squared import Fitness, SquaredStatistics, squared_statistics
from learning.privacy.laplace import Laplace
from learning.training.descent import Averaged, Synchronous
from learning.training.law import error_moments, iterate_weights
from reproduction.checks import (
    AGAIN,
    estimate_mean,
    log_slope,
    pick_number,
    select_rows,
    slope_error,
)
from reproduction.drawing import series
from reproduction.item import Setting
from reproduction.specification import Found, Law, Rows
from reproduction.tables import load_table
from reproduction.tables.records import Records

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
    for horizon in horizons[: setting.pick_value(None, 10)]:
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


def check_stopping_walks(frame: pd.DataFrame) -> Found:
    """Long walks with rho fixed stay at their start."""
    fixed = select_rows(frame, rule="fixed")
    (last,) = select_rows(fixed, horizon=1000).itertuples()
    yield "left", last.left_walked
    yield "over_bound", (fixed["least_noisy"] / fixed["bound"]).min()
    yield "way", last.way / last.way_formula
    yield "law", (frame["left_law"] / frame["left_walked"]).max()


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
    trials = np.geomspace(0.01, 1.9, setting.pick_value(200, 20))
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


def check_vanishing_bound(frame: pd.DataFrame) -> Found:
    """The constant grows with epsilon, since the excess does not vanish."""
    last = frame.iloc[-1]
    yield "least", last["least_without_noise"]
    yield "constant", last["constant_needed"] / pick_number(frame, "constant_needed", epsilon=1.0)
    yield "power", log_slope(frame["epsilon"][-3:], frame["constant_needed"][-3:])
    for what, epsilon in (("small_budget", 0.01), ("unit_budget", 1.0)):
        (one,) = select_rows(frame, epsilon=epsilon).itertuples()
        yield what, one.measured / one.law, 1.0, one.std_error / one.law


# ---- E-16: the curvature that the descent inequality loses


def compute_rise(setting: Setting) -> Rows:
    """Rise of the cost in one noisy step from the optimum of smoothness theta^2/2."""
    rng = setting.streams("E-16").rng("noise")
    draws = setting.pick_value(50_000, 5000)
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


def draw_ratios(axes: Axes, frame: pd.DataFrame, **options: Any) -> None:
    """Ratios to the printed bound."""
    series(axes, relate_to_printed(frame), **options)


def check_rise(frame: pd.DataFrame) -> Found:
    """The ratio to the printed bound grows with the smoothness."""
    ratio = relate_to_printed(frame)
    (steep,) = select_rows(ratio, smoothness=20.0).itertuples()
    (flat,) = select_rows(ratio, smoothness=0.2).itertuples()
    yield "steep", steep.ratio, 10.0, steep.std_error
    yield "flat", flat.ratio, 0.1, flat.std_error
    error = slope_error(ratio["smoothness"], ratio["std_error"] / ratio["ratio"])
    yield "power", log_slope(ratio["smoothness"], ratio["ratio"]), {"std_error": error}


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


def check_weights(frame: pd.DataFrame) -> Found:
    """The printed bound fails, the one with eta = 1 holds."""
    rise = frame.groupby(["rule", "horizon"])["rise_over_bound"].max()
    yield "hundred_rounds", rise["printed", 100]
    yield "thousand_rounds", rise["printed", 1000]
    yield "unit_eta", rise["one"].max()
    yield "weights", iterate_weights(101, "averaged").sum()


RIDGE = 1e-5  # g = 1e-5 theta'theta, as published
FEWEST = 100  # records of a hospital that takes part


def sum_records(records: Records) -> SquaredStatistics:
    """Sums over records (x, y) in double precision."""
    x, y = (np.asarray(part, dtype=float) for part in records)
    return squared_statistics(x, y)


def pool_records(parts: list[SquaredStatistics]) -> Fitness:
    """Training cost of all owners' records."""
    return Fitness(reduce(operator.add, parts), 2 * RIDGE)


# ---- E-12: the noiseless walk that moves away


def record_shares(parts: list[SquaredStatistics]) -> Array:
    """Share of all records of each owner."""
    sizes = np.array([part.n_records for part in parts])
    return sizes / sizes.sum()


def simulate_ticks(
    parts: list[SquaredStatistics],
    constant: float,
    horizon: int,
    runs: int,
    rng: np.random.Generator,
) -> Array:
    """Learner's copy after T ticks of Algorithm 1 without noise, 1/2 in (7), from 0: (runs, p)."""
    owners = len(parts)
    step = constant / horizon**2
    share = record_shares(parts)
    hessians = np.stack([part.hessian for part in parts])
    linears = np.stack([part.linear for part in parts])
    copies = np.zeros((runs, *linears.shape))
    learner = np.zeros((runs, linears.shape[1]))
    rows = np.arange(runs)
    for called in rng.integers(owners, size=(horizon, runs)):
        middle = (learner + copies[rows, called]) / 2
        ridge = 2 * RIDGE * middle
        loss = np.einsum("rij,rj->ri", hessians[called], middle) - linears[called]
        slope = ridge / (2 * owners) + share[called, None] * loss
        copies[rows, called] = middle - owners * step * slope
        learner = middle - step / 2 * ridge
    return learner


def expected_end(parts: list[SquaredStatistics], constant: float, horizon: int) -> Array:
    """Exact mean of that copy: the mean of the affine ticks, T times over."""
    owners = len(parts)
    width = parts[0].n_parameters
    step = constant / horizon**2
    one = np.eye(width)
    mean = np.zeros(((owners + 1) * width + 1,) * 2)
    last = slice(owners * width, -1)
    for i, (part, share) in enumerate(zip(parts, record_shares(parts), strict=True)):
        tick = np.eye(len(mean))
        own = slice(i * width, (i + 1) * width)
        talked = one - owners * step * (RIDGE / owners * one + share * part.hessian)
        for rows, matrix in ((own, talked), (last, (1 - step * RIDGE) * one)):
            tick[rows] = 0.0
            tick[rows, own] = tick[rows, last] = matrix / 2
        tick[own, -1] = owners * step * share * part.linear
        mean += tick / owners
    return np.asarray(np.linalg.matrix_power(mean, horizon)[last, -1])


def compute_moving_away(setting: Setting) -> Rows:
    """Relative fitness of noiseless walks of growing length, beside the exact law."""
    loans = load_table("lending", setting)
    loans.require_records(OWNERS)
    slices = loans.slices([min(35_900, loans.n_records // OWNERS)] * OWNERS)
    parts = [sum_records(records) for records in slices]
    pooled = pool_records(parts)
    streams = setting.streams("E-12")
    # the longest steps that are stable at T = 100
    constant = 100**2 / np.linalg.eigvalsh(pooled.statistics.hessian)[-1]
    untrained = float(pooled.relative(np.zeros(pooled.statistics.n_parameters)))
    for horizon in (100, 200, 500, 1000, 2000, 5000, 10_000)[: setting.pick_value(None, 5)]:
        ends = simulate_ticks(parts, constant, horizon, 20, streams.rng("ticks", horizon))
        law = pooled.relative(expected_end(parts, constant, horizon))
        yield dict(
            horizon=horizon,
            **estimate_mean(pooled.relative(ends), "relative_fitness"),
            law=float(law),
            untrained=untrained,
        )


def check_moving_away(frame: pd.DataFrame) -> Found:
    """Longer walks end nearer to their start."""
    part = frame[frame["horizon"] >= 200]
    left = part["relative_fitness"] / part["untrained"]
    error = {"tolerance": AGAIN * (part["std_error"] / part["untrained"]).max()}
    yield "fall", left.iloc[-1] - left.iloc[0], error
    yield "steps", np.diff(left).min(), error
    thousand = frame[frame["horizon"] == 1000].iloc[0]
    yield "law", thousand["relative_fitness"] / thousand["law"]


# ---- E-13: isolated error of heterogeneous owners


def gradient_spread(parts: list[Records], pooled: Fitness) -> float:
    """C = tr(H^-1 cov(gradient))/2 of the pooled records, in units of fitness times records."""
    residuals = [
        (np.asarray(x, float), np.asarray(y, float) - x @ pooled.minimiser) for x, y in parts
    ]
    moment = sum((x * (4 * r**2)[:, None]).T @ x for x, r in residuals)
    moment = moment / pooled.statistics.n_records
    return float(np.trace(np.linalg.solve(pooled.statistics.hessian, moment)) / 2)


def isolated_error(part: SquaredStatistics, pooled: Fitness) -> float:
    """Relative fitness of an owner's own model on all records."""
    return float(pooled.relative(Fitness(part, 2 * RIDGE).minimiser))


def compute_isolated(setting: Setting) -> Rows:
    """Error of each hospital's own model, of as many permuted records, and of the formula."""
    hospitals = load_table("hospitals", setting)
    everyone = zip(hospitals.owner_names, hospitals.of_owners(), strict=True)
    named = [(name, own) for name, own in everyone if len(own[1]) >= FEWEST]
    x, y = (np.concatenate([np.asarray(own[part], float) for _, own in named]) for part in (0, 1))
    cuts = np.cumsum([len(own[1]) for _, own in named])[:-1]
    parts = [sum_records(own) for _, own in named]
    pooled = pool_records(parts)
    permuted = np.zeros(len(named))
    deals = setting.pick_value(10, 3)
    for deal in range(deals):
        mixed = setting.streams("E-13").rng("order", deal).permutation(len(y))
        parts_drawn = [sum_records((x[rows], y[rows])) for rows in np.split(mixed, cuts)]
        permuted += [isolated_error(part, pooled) / deals for part in parts_drawn]
    spread = gradient_spread([own for _, own in named], pooled)
    n_records = pooled.statistics.n_records
    for (name, _), part, other in zip(named, parts, permuted, strict=True):
        yield dict(
            hospital=name,
            records=part.n_records,
            formula=spread * (1 / part.n_records - 1 / n_records) / pooled.optimum,
            isolated=isolated_error(part, pooled),
            isolated_alike=other,
        )


def check_isolated(frame: pd.DataFrame) -> Found:
    """The formula fits permuted records, and not the hospitals' own."""
    medians = frame[["formula", "isolated", "isolated_alike"]].median()
    yield "permuted", medians["isolated_alike"] / medians["formula"]
    yield (
        "worse_share",
        (frame["isolated"] > frame["isolated_alike"]).mean(),
        0.5 + 2 / np.sqrt(len(frame)),
    )
    yield "mean_ratio", frame["isolated"].mean() / frame["isolated_alike"].mean()
    yield "median_ratio", medians["isolated"] / medians["formula"]


LAWS: dict[str, Law] = {
    "E-2": (compute_stopping_walks, check_stopping_walks),
    "E-17": (compute_vanishing_bound, check_vanishing_bound),
    "E-16": (compute_rise, check_rise, {"ratios": draw_ratios}),
    "E-18": (compute_weights, check_weights),
    "E-12": (compute_moving_away, check_moving_away),
    "E-13": (compute_isolated, check_isolated),
}
