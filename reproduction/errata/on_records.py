"""Errata that show on records: a walk that moves away, and models of heterogeneous owners."""

from __future__ import annotations

import operator
from functools import reduce

import numpy as np
import pandas as pd

from learning.arrays import Array
from learning.losses.squared import Fitness
from learning.losses.statistics import SquaredStatistics, squared_statistics
from reproduction.checks import AGAIN, EXACT, at_least, estimate_mean
from reproduction.claims import Checks, Rows, make_item, quick_or_full
from reproduction.item import Check, Setting
from reproduction.plots import (
    DOTS,
    DOTTED,
    Style,
    curve,
    draw_panel,
    estimates_and_law,
    legend_entry,
    level,
)
from reproduction.tables import load_table
from reproduction.tables.records import Records
from scenarios.report.figure_page import INK

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
    slices = loans.slices([min(35_900, loans.n_records // 3)] * 3)
    parts = [sum_records(records) for records in slices]
    pooled = pool_records(parts)
    streams = setting.streams("E-12")
    # the longest steps that are stable at T = 100
    constant = 100**2 / np.linalg.eigvalsh(pooled.statistics.hessian)[-1]
    untrained = float(pooled.relative(np.zeros(pooled.statistics.n_parameters)))
    for horizon in (100, 200, 500, 1000, 2000, 5000, 10_000)[: quick_or_full(setting, 5, None)]:
        ends = simulate_ticks(parts, constant, horizon, 20, streams.rng("ticks", horizon))
        law = pooled.relative(expected_end(parts, constant, horizon))
        yield dict(
            horizon=horizon,
            **estimate_mean(pooled.relative(ends), "relative_fitness"),
            law=float(law),
            untrained=untrained,
        )


def check_moving_away(frame: pd.DataFrame) -> Checks:
    """Longer walks end nearer to their start."""
    part = frame[frame["horizon"] >= 200]
    left = part["relative_fitness"] / part["untrained"]
    error = AGAIN * (part["std_error"] / part["untrained"]).max()
    yield at_least("fall", float(left.iloc[-1] - left.iloc[0]), 0.0, "below 0", error)
    yield at_least("steps", float(np.diff(left).min()), 0.0, "below 0", error)
    thousand = frame[frame["horizon"] == 1000].iloc[0]
    ratio = thousand["relative_fitness"] / thousand["law"]
    yield Check("law", ratio, 0.95, 1.05, "", "value", 0.02)


draw_moving_away = draw_panel(
    "E-12",
    estimates_and_law("horizon", "relative_fitness", "law"),
    legend_entry("mean of 20 walks, and fitness of the exact mean end"),
    level("untrained", "untrained", **DOTTED),
    labels=("ticks T", "relative fitness ψ of θ_L"),
    logs="xy",
    legend={"loc": "lower right"},
)


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
    deals = quick_or_full(setting, 3, 10)
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


def check_isolated(frame: pd.DataFrame) -> Checks:
    """The formula fits permuted records, and not the hospitals' own."""
    medians = frame[["formula", "isolated", "isolated_alike"]].median()
    ratio = medians["isolated_alike"] / medians["formula"]
    yield Check("permuted", ratio, 0.5, 2.0, "1", "law", 0.2)
    worse = float((frame["isolated"] > frame["isolated_alike"]).mean())
    sure = 0.5 + 2 / np.sqrt(len(frame))  # four standard errors of as many even chances
    yield at_least("worse_share", worse, sure, "one half", 0.1)
    ratio = frame["isolated"].mean() / frame["isolated_alike"].mean()
    yield at_least("mean_ratio", ratio, 1.0, "1", 0.8)
    ratio = medians["isolated"] / medians["formula"]
    yield Check("median_ratio", ratio, 35.0, 3500.0, "345 in an independent run", "value", EXACT)


SQUARES: Style = {"marker": "s", "ms": 3.5, "ls": ""}
draw_isolated = draw_panel(
    "E-13",
    curve("records", "isolated", "its own records", **DOTS),
    curve("records", "isolated_alike", "as many, dealt at random", 1, **SQUARES),
    curve("records", "formula", "C(1/n_i - 1/n)", INK, order=True, lw=1.1),
    labels=("records n_i", "relative fitness ψ"),
    logs="xy",
)

ITEMS = (
    make_item("E-12", compute_moving_away, check_moving_away, draw_moving_away),
    make_item("E-13", compute_isolated, check_isolated, draw_isolated),
)
