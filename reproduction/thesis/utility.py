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
from reproduction.checks import (
    ROUNDING,
    agrees_within,
    attains_bound,
    select_rows,
    within_bound,
)
from reproduction.claims import Checks, Rows, make_item, quick_or_full
from reproduction.item import Check, Setting
from reproduction.plots import RINGS, Mark, curve, draw_panels, level, make_panel
from reproduction.thesis.channels import prior_odds, rows_over, sample_guesses
from scenarios.report.figure_page import MUTED

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
    grid = np.linspace(0, 6, quick_or_full(setting, 7, 25))
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
    count = quick_or_full(setting, DRAWS // 10, DRAWS)
    for name in ("ring_geometric", "truncated_geometric"):
        rng = setting.streams("TH-2.3").rng(name)
        matrix = channel_matrix(name, np.array(1.0), VALUES, sensitivity=1)
        right, expected, error = sample_guesses(matrix, PRIORS["uniform"], count, rng=rng)
        routes = {"utility": right, "bound": expected, "std_error": error}
        yield {"panel": "drawn", "channel": name, "epsilon": 1.0} | routes


def check_utility(frame: pd.DataFrame) -> Checks:
    """The bound is met on rings, holds under a uniform prior, and fails under a skewed one."""
    right, gain, best, seen, endless = (
        select_rows(frame, panel=name) for name in ("right", "gain", "best", "drawn", "no ends")
    )
    part = (right["utility"] / right["bound"]).groupby([right["prior"], right["graph"]])
    largest = part.max()
    least = part.min()
    regular = ("ring", "any two neighbours")
    met = max(abs(float(e["uniform", g]) - 1) for e in (largest, least) for g in regular)
    yield attains_bound("attained", 1 + met)
    even = max(float(largest["uniform", graph]) for graph in (*regular, "line"))
    yield within_bound("even", even)
    rising = right.sort_values("epsilon").groupby(["channel", "graph", "prior"])["utility"]
    rise = min(float(np.diff(one).min()) for _, one in rising)
    yield Check("rise", rise, -ROUNDING, np.inf, "increasing", "law", ROUNDING)
    skewed = float(largest["nine in ten"].drop(FROM_MIDDLE).max())
    said = "at most 1; no prior is named"
    yield within_bound("skewed", skewed, said, "value")
    short = float((best["utility"] - best["bound"]).abs().max())
    yield Check("best_channel", short, 0, 1e-7, "optimal", "value", 1e-7)
    fitting = right[right["graph"] != FROM_MIDDLE]
    over = max(float((part["utility"] / part["any_prior"]).max()) for part in (fitting, gain))
    yield within_bound("any_prior", over, "")
    off = float((endless["answered"] - endless["guessed"]).abs().max())
    yield agrees_within("no_ends", off, 1e-6)
    off = float((abs(seen["utility"] - seen["bound"]) / seen["std_error"]).max())
    yield agrees_within("guesses", off, 4)


def mark_graphs() -> tuple[Mark, ...]:
    """A line and its bound for each graph, and the level of certainty."""
    marks: list[Mark] = []
    for number, (name, graph, label) in enumerate(
        (
            ("ring_geometric", "ring", "ring"),
            ("truncated_geometric", "line", "line"),
            ("randomised_response", "any two neighbours", "complete graph"),
        )
    ):
        rows = {"channel": name, "graph": graph}
        marks.append(curve("epsilon", "utility", label, number, rows, order=True, lw=1.5))
        marks.append(curve("epsilon", "bound", None, number, rows, **RINGS))
    return (*marks, level(1, color=MUTED, lw=0.5))


def mark_gains() -> tuple[Mark, ...]:
    """A line and the bound of any channel for each gain."""
    marks: list[Mark] = []
    for number, gain in enumerate(GAINS):
        label = gain.replace("_", ", ")
        marks.append(curve("epsilon", "utility", label, number, {"gain": gain}, lw=1.5))
        marks.append(curve("epsilon", "any_prior", None, number, {"gain": gain}, lw=1, ls="--"))
    return tuple(marks)


def beyond_zero(mark: Mark) -> Mark:
    """The mark without ε = 0."""
    return lambda axes, frame: mark(axes, frame[frame["epsilon"] > 0])


draw_utility = draw_panels(
    "TH-2.3",
    *(
        make_panel(
            *mark_graphs(),
            labels=("", "probability of a right guess"),
            heading=title,
            where={"panel": "right", "prior": prior},
            legend={"loc": "lower right"} if prior == "uniform" else None,
            ylim=(0, 1.05),
        )
        for prior, title in (
            ("uniform", "(a) right guesses, uniform prior"),
            ("nine in ten", "(b) one answer has probability 0.9"),
        )
    ),
    make_panel(
        *mark_gains(),
        labels=("privacy budget ε", "mean gain"),
        heading="(c) gain of guesses; dashed: bound on any",
        where={"panel": "gain", "prior": "uniform", "channel": "truncated_geometric"},
        legend={"loc": "lower right"},
        ylim=(0, 1.05),
    ),
    make_panel(
        beyond_zero(curve("epsilon", "answered", "the answer itself", lw=1.5)),
        beyond_zero(curve("epsilon", "guessed", "the best guess", 1, lw=1.5)),
        labels=("privacy budget ε", "mean distance from the truth"),
        heading="(d) distance, as the thesis's general utility",
        where={"panel": "distance", "prior": "uniform"},
        legend={"loc": "upper right"},
        ylim=(0, None),
    ),
    columns=2,
    says=(
        f"{VALUES} true answers, guessed after the Bayes remap; circles: the bound (2.3) of the"
        " same colour\nε hides neighbours (a, b, d), or any two answers (c)"
    ),
    height=2.3,
)

UTILITY_BOUND = make_item("TH-2.3", compute_utility, check_utility, draw_utility)
