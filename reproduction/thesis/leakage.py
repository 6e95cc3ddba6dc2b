"""TH-2.2: the bound on min-entropy leakage, against the leakage of channels on whole databases."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from learning.arrays import Array
from market.costs.channels import channel_matrix, min_entropy_leakage
from market.costs.leakage import leakage_bits, leakage_slope
from reproduction.checks import (
    ROUNDING,
    agrees_within,
    attains_bound,
    select_rows,
    within_bound,
)
from reproduction.claims import Checks, Rows, make_item, quick_or_full
from reproduction.item import Check, Setting
from reproduction.plots import RINGS, curve, draw_panels, make_panel
from reproduction.thesis.channels import prior_odds, rows_over, sample_guesses
from scenarios.report.figure_page import INK

CHANNELS = ("randomised_response", "truncated_geometric", "discrete_laplace")
VALUES = (2, 10)
INDIVIDUALS = (1, 10, 100)
PRIORS = ("uniform", "halving", "nine in ten")
COUNTED = 100  # individuals of a counting query
RATES = {"uniform": 0.5, "rare": 0.1}  # probability of each to be counted
GUESSES = 200_000


def compute_leakage(setting: Setting) -> Rows:
    """Leakage over ε beside the bound, for each channel, prior, u and v, and three cross-checks."""
    grid = np.linspace(0, 8, quick_or_full(setting, 9, 33))
    for values in VALUES:
        bound = leakage_bits(grid, values)
        for name in CHANNELS:
            matrix = channel_matrix(name, grid, values)
            for prior in PRIORS:
                bits = min_entropy_leakage(matrix, prior_odds(prior, values))
                for people in INDIVIDUALS:
                    columns = {"leakage": people * bits, "bound": people * bound}
                    common = {"channel": name, "prior": prior, "v": values, "u": people}
                    yield from rows_over(grid, columns, panel="each", **common)
    for prior, rate in RATES.items():
        bits = counting_leakage(grid, COUNTED, rate)
        columns = {"leakage": bits, "bound": COUNTED * leakage_bits(grid, 2)}
        common = {"channel": "truncated_geometric", "prior": prior, "v": 2, "u": COUNTED}
        yield from rows_over(grid, columns, panel="count", **common)
    yield from enumerate_databases()
    yield from simulate_guesses(setting)
    yield from compare_slopes()


def counting_leakage(epsilon: Array, people: int, rate: float) -> Array:
    """Bits about the whole database in a count of ``people``, truncated geometric channel.

    Each is counted with probability ``rate``, independently. Databases with the same count leak the
    same, so the likeliest of them is guessed: ``log2(sum_z max_y max_x(y) H_yz / max_x)``.
    """
    counts = np.arange(people + 1)
    # probability of one database with that count
    single = np.exp(counts * np.log(rate) + (people - counts) * np.log1p(-rate))
    matrix = channel_matrix("truncated_geometric", epsilon, people + 1, sensitivity=1)
    return np.log2((single[:, None] * matrix).max(axis=-2).sum(axis=-1) / single.max())


def enumerate_databases() -> Rows:
    """Second route: all v^u databases of two and three individuals, one by one."""
    for people, values in ((2, 3), (3, 2), (2, 10)):
        kinds = ("halving", "nine in ten", "uniform")[:people]
        odds: list[Any] = [prior_odds(kind, values) for kind in kinds]
        for name in CHANNELS:
            single: Any = channel_matrix(name, np.array(1.3), values)
            matrix = reduce(np.kron, [single] * people)
            joint = reduce(np.kron, odds)
            yield dict(
                panel="whole",
                channel=name,
                v=values,
                u=people,
                epsilon=1.3,
                leakage=float(min_entropy_leakage(matrix, joint)),
                route=sum(float(min_entropy_leakage(single, one)) for one in odds),
            )


def simulate_guesses(setting: Setting) -> Rows:
    """Third route: records drawn, answered and guessed."""
    count = quick_or_full(setting, GUESSES // 10, GUESSES)
    odds = prior_odds("halving", 10)
    for name in CHANNELS:
        rng = setting.streams("TH-2.2").rng(name)
        matrix = channel_matrix(name, np.array(1.3), 10)
        right, expected, error = sample_guesses(matrix, odds, count, rng=rng)
        common = {"channel": name, "prior": "halving", "v": 10, "u": 1, "epsilon": 1.3}
        routes = {"leakage": right, "route": expected, "std_error": error}
        yield {"panel": "guessed"} | common | routes


def compare_slopes() -> Rows:
    """The printed derivative for one individual, and a difference of the bound."""
    step = 1e-5
    for values in VALUES:
        for epsilon in np.linspace(0.05, 8, 20):
            ends = leakage_bits(np.array([epsilon - step, epsilon + step]), values)
            printed = float(leakage_slope(epsilon, values))
            slope = float(np.diff(ends)[0] / (2 * step))
            common = {"panel": "slope", "v": values, "u": 1, "epsilon": epsilon}
            yield common | {"leakage": printed, "route": slope}


def largest_distance(rows: pd.DataFrame) -> float:
    """Largest distance between two routes."""
    return float((rows["leakage"] - rows["route"]).abs().max())


def check_leakage(frame: pd.DataFrame) -> Checks:
    """No channel leaks more than the bound, one attains it, and the derivative is right."""
    leaks = frame[frame["panel"].isin(["each", "count"]) & (frame["epsilon"] > 0)]
    over = float((leaks["leakage"] / leaks["bound"]).max())
    yield within_bound("bound", over)
    met = select_rows(leaks, channel="randomised_response", prior="uniform")
    least = float((met["leakage"] / met["bound"]).min())
    yield attains_bound("attained", least)
    keys = ["panel", "channel", "prior", "v", "u"]
    rising = leaks.sort_values("epsilon").groupby(keys)["leakage"]
    rise = float(rising.apply(lambda bits: np.diff(bits).min()).min())
    yield Check("rise", rise, -ROUNDING, np.inf, "increasing", "law", ROUNDING)
    slope, whole, seen = (select_rows(frame, panel=name) for name in ("slope", "whole", "guessed"))
    yield agrees_within("derivative", largest_distance(slope), 1e-6, "u/ln 2 (v-1)/(v-1+e^ε)")
    yield agrees_within("databases", largest_distance(whole))
    off = float((abs(seen["leakage"] - seen["route"]) / seen["std_error"]).max())
    yield agrees_within("guesses", off, 4)


def draw_channels(axes: Axes, frame: pd.DataFrame) -> None:
    """A solid and a dotted line for each channel, and the bound."""
    for number, name in enumerate(CHANNELS):
        solid = (0, (5, 4)) if name == "discrete_laplace" else "-"
        for prior, style, label in (
            ("uniform", solid, name.replace("_", " ")),
            ("halving", ":", None),
        ):
            rows = {"channel": name, "prior": prior}
            curve("epsilon", "leakage", label, number, rows, True, ls=style, lw=1.6)(axes, frame)
    bound = select_rows(frame, channel=CHANNELS[0]).drop_duplicates("epsilon")
    curve("epsilon", "bound", "bound (2.2)", INK, order=True, **RINGS)(axes, bound)


draw_leakage = draw_panels(
    "TH-2.2",
    *(
        make_panel(
            draw_channels,
            labels=("privacy budget ε", "bits about one record"),
            heading=f"v = {values} values of a record",
            where={"panel": "each", "u": 1, "v": values},
            legend={"loc": "lower right"} if values == VALUES[0] else None,
        )
        for values in VALUES
    ),
    make_panel(
        curve("epsilon", "leakage", "even odds", 0, {"prior": "uniform"}, lw=1.6),
        curve("epsilon", "leakage", "1 in 10 is counted", 1, {"prior": "rare"}, lw=1.6),
        curve("epsilon", "bound", "bound (2.2)", INK, {"prior": "uniform"}, **RINGS),
        lambda axes, frame: axes.set_yscale("symlog"),
        lambda axes, frame: axes.set_yticks([0, 1, 10, 100], ["0", "1", "10", "100"]),
        labels=("privacy budget ε", "bits about the database"),
        heading=f"one count of {COUNTED} individuals, v = 2",
        where={"panel": "count"},
        legend={"loc": "lower right", "bbox_to_anchor": (1.0, 0.18)},
    ),
    says=(
        "Bits about one record under a uniform prior (solid) and under halving odds (dotted);"
        " black: the bound"
    ),
    width=10.5,
)

LEAKAGE_BOUND = make_item("TH-2.2", compute_leakage, check_leakage, draw_leakage)
