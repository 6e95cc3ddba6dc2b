"""TH-2.2: the bound on min-entropy leakage, against the leakage of channels on whole databases."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any

import numpy as np
import pandas as pd

from learning.arrays import Array
from market.costs.channels import bayes_utility, channel_matrix, min_entropy_leakage
from market.costs.leakage import leakage_bits, leakage_slope
from reproduction.checks import select_rows
from reproduction.item import Setting
from reproduction.specification import Found, Law, Rows


def prior_odds(name: str, values: int) -> Array:
    """Prior of the values: "uniform", "halving" or "nine in ten", (values,)."""
    odds = {
        "uniform": np.ones(values),
        "halving": 0.5 ** np.arange(values),
        "nine in ten": np.append(9.0 * (values - 1), np.ones(values - 1)),
    }[name]
    return odds / odds.sum()


def sample_guesses(
    matrix: Array, odds: Array, count: int, *, rng: np.random.Generator
) -> tuple[float, float, float]:
    """Share of right guesses of drawn answers, its expectation and its standard error.

    Parameters
    ----------
    matrix : the channel, (v, answers).
    odds : prior, (v,).
    count : number of draws.
    rng : randomness.
    """
    truth = rng.choice(len(odds), count, p=odds)
    answer = (rng.random(count)[:, None] > matrix[truth].cumsum(axis=1)).sum(axis=1)
    guess = (odds[:, None] * matrix).argmax(axis=0)[np.minimum(answer, matrix.shape[1] - 1)]
    expected = float(bayes_utility(matrix, odds))
    error = float(np.sqrt(expected * (1 - expected) / count))
    return float((guess == truth).mean()), expected, error


def rows_over(grid: Array, columns: Mapping[str, Array], **common: Any) -> Rows:
    """A row for each epsilon of a grid, after the common values."""
    for at, epsilon in enumerate(grid):
        values = {name: float(column[at]) for name, column in columns.items()}
        yield common | {"epsilon": epsilon} | values


CHANNELS = ("randomised_response", "truncated_geometric", "discrete_laplace")
VALUES = (2, 10)
INDIVIDUALS = (1, 10, 100)
PRIORS = ("uniform", "halving", "nine in ten")
COUNTED = 100  # individuals of a counting query
RATES = {"uniform": 0.5, "rare": 0.1}  # probability of each to be counted
GUESSES = 200_000


def compute_leakage(setting: Setting) -> Rows:
    """Leakage over ε beside the bound, for each channel, prior, u and v, and three cross-checks."""
    grid = np.linspace(0, 8, setting.pick_value(33, 9))
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
    count = setting.pick_value(GUESSES, GUESSES // 10)
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


def check_leakage(frame: pd.DataFrame) -> Found:
    """No channel leaks more than the bound, one attains it, and the derivative is right."""
    leaks = frame[frame["panel"].isin(["each", "count"]) & (frame["epsilon"] > 0)]
    yield "bound", (leaks["leakage"] / leaks["bound"]).max()
    met = select_rows(leaks, channel="randomised_response", prior="uniform")
    yield "attained", (met["leakage"] / met["bound"]).min()
    keys = ["panel", "channel", "prior", "v", "u"]
    rising = leaks.sort_values("epsilon").groupby(keys)["leakage"]
    yield "rise", rising.apply(lambda bits: np.diff(bits).min()).min()
    slope, whole, seen = (select_rows(frame, panel=name) for name in ("slope", "whole", "guessed"))
    yield "derivative", largest_distance(slope)
    yield "databases", largest_distance(whole)
    yield "guesses", (abs(seen["leakage"] - seen["route"]) / seen["std_error"]).max()


LAWS: dict[str, Law] = {
    "TH-2.2": (compute_leakage, check_leakage),
}
