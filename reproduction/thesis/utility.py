"""TH-2.3: the bound on utility against channels under the Bayes remap, with gains and distances."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.optimize import linprog

from learning.arrays import Array
from market.costs.channels import (
    answered_distance,
    bayes_utility,
    channel_matrix,
    expected_gain,
    gain_bound,
    gain_matrix,
    value_distances,
)
from market.costs.leakage import utility_bound
from reproduction.checks import select_rows
from reproduction.item import Setting
from reproduction.specification import Found, Law, Rows
from reproduction.thesis.leakage import prior_odds, rows_over, sample_guesses

VALUES = 11
FROM_MIDDLE = "line, as from its middle"
# Channel, graph of its values, and the largest distance n and the border c that fit it.
CASES = (
    ("ring_geometric", "ring", 5, 2),
    ("randomised_response", "any two neighbours", 1, 10),
    ("truncated_geometric", "line", 10, 1),
    ("truncated_geometric", FROM_MIDDLE, 5, 2),
    ("discrete_laplace", "line", 10, 1),
)
PRIORS = {name: prior_odds(name, VALUES) for name in ("uniform", "nine in ten")}
GAINS = ("right", "near", "near_squared")
SMALL = 5  # values of the line whose best channel is searched for
WIDE = 4001  # values of a line with ends out of reach
DRAWS = 200_000


def compute_utility(setting: Setting) -> Rows:
    """Utilities and gains over ε beside their bounds, and cross-checks."""
    grid = np.linspace(0, 6, setting.pick_value(25, 7))
    for name, graph, distance, border in CASES:
        matrix = channel_matrix(name, grid, VALUES, sensitivity=1)
        bound = utility_bound(grid, distance, border)
        for prior, odds in PRIORS.items():
            columns = {
                "utility": bayes_utility(matrix, odds),
                "bound": bound,
                "any_prior": np.minimum(1, VALUES * float(odds.max()) * bound),
            }
            common = {"channel": name, "graph": graph, "n": distance, "c": border, "prior": prior}
            yield from rows_over(grid, columns, panel="right", **common)
    yield from compute_gains(grid)
    yield from compute_distances(grid)
    yield from search_best_channels()
    yield from simulate_guesses(setting)


def compute_gains(grid: Array) -> Rows:
    """Expected gain of guesses, any two values hidden by ε, beside the bound of any channel."""
    for name in ("randomised_response", "truncated_geometric"):
        matrix = channel_matrix(name, grid, VALUES)
        for gain in GAINS:
            worth = gain_matrix(gain, VALUES)
            for prior, odds in PRIORS.items():
                columns = {
                    "utility": expected_gain(matrix, worth, odds),
                    "any_prior": gain_bound(grid, worth, odds),
                }
                common = {"panel": "gain", "channel": name, "gain": gain, "prior": prior}
                yield from rows_over(grid, columns, **common)


def compute_distances(grid: Array) -> Rows:
    """Mean distance from the truth, of answers and of guesses; without ends in closed form."""
    matrix = channel_matrix("truncated_geometric", grid, VALUES, sensitivity=1)
    far = value_distances("truncated_geometric", VALUES)
    for prior, odds in PRIORS.items():
        columns = {
            "answered": answered_distance(matrix, far, odds),
            "guessed": -expected_gain(matrix, -far, odds),
        }
        yield from rows_over(grid, columns, panel="distance", prior=prior)
    middle = np.abs(np.arange(WIDE) - WIDE // 2)
    for epsilon in (0.05, 0.5, 2.0):
        mass = np.tanh(epsilon / 2) * np.exp(-epsilon * middle)
        mean = float((mass * middle).sum())
        closed = float(1 / np.sinh(epsilon))
        yield dict(panel="no ends", epsilon=epsilon, answered=mean, guessed=closed)


def search_best_channels() -> Rows:
    """Largest utility of any private channel on a line, by linear programming.

    The variables are the probabilities of each guess (columns) at each value (rows).
    """
    neighbours = [(i, i + step) for step in (1, -1) for i in range(SMALL) if 0 <= i + step < SMALL]
    ones = np.kron(np.eye(SMALL), np.ones(SMALL))  # probabilities of a value add up
    for epsilon in (0.5, 1.5):
        private = np.zeros((SMALL, len(neighbours), SMALL, SMALL))
        for guess in range(SMALL):
            for number, (one, other) in enumerate(neighbours):
                private[guess, number, one, guess] = 1
                private[guess, number, other, guess] = -np.exp(epsilon)
        limits = private.reshape(-1, SMALL**2)
        gain = -np.eye(SMALL).ravel() / SMALL
        best = linprog(gain, limits, np.zeros(len(limits)), ones, np.ones(SMALL))
        matrix = channel_matrix("truncated_geometric", np.array(epsilon), SMALL, sensitivity=1)
        found = float(bayes_utility(matrix))
        yield dict(panel="best", epsilon=epsilon, utility=found, bound=float(-best.fun))


def simulate_guesses(setting: Setting) -> Rows:
    """Share of right guesses of drawn answers."""
    count = setting.pick_value(DRAWS, DRAWS // 10)
    for name in ("ring_geometric", "truncated_geometric"):
        rng = setting.streams("TH-2.3").rng(name)
        matrix = channel_matrix(name, np.array(1.0), VALUES, sensitivity=1)
        right, expected, error = sample_guesses(matrix, PRIORS["uniform"], count, rng=rng)
        routes = {"utility": right, "bound": expected, "std_error": error}
        yield {"panel": "drawn", "channel": name, "epsilon": 1.0} | routes


def check_utility(frame: pd.DataFrame) -> Found:
    """The bound is met on rings, holds under a uniform prior, and fails under a skewed one."""
    right, gain, best, seen, endless = (
        select_rows(frame, panel=name) for name in ("right", "gain", "best", "drawn", "no ends")
    )
    part = (right["utility"] / right["bound"]).groupby([right["prior"], right["graph"]])
    largest = part.max()
    least = part.min()
    regular = ("ring", "any two neighbours")
    met = max(abs(ends["uniform", graph] - 1) for ends in (largest, least) for graph in regular)
    yield "attained", 1 + met
    yield "even", max(largest["uniform", graph] for graph in (*regular, "line"))
    rising = right.sort_values("epsilon").groupby(["channel", "graph", "prior"])["utility"]
    yield "rise", min(np.diff(one).min() for _, one in rising)
    yield "skewed", largest["nine in ten"].drop(FROM_MIDDLE).max()
    yield "best_channel", (best["utility"] - best["bound"]).abs().max()
    fitting = right[right["graph"] != FROM_MIDDLE]
    yield "any_prior", max((part["utility"] / part["any_prior"]).max() for part in (fitting, gain))
    yield "no_ends", (endless["answered"] - endless["guessed"]).abs().max()
    yield "guesses", (abs(seen["utility"] - seen["bound"]) / seen["std_error"]).max()


LAWS: dict[str, Law] = {
    "TH-2.3": (compute_utility, check_utility),
}
