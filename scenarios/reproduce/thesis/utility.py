"""The bound on utility, (2.3) of the thesis, against channels under the Bayes remap; and with general gains and distances."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.optimize import linprog

from market.costs.channels import bayes_utility, channel
from market.costs.gains import answered_distance, distances, expected_gain, gain_bound, gain_matrix
from market.costs.leakage import utility_bound
from scenarios.report.figure_page import MUTED, PALETTE
from scenarios.reproduce.drawing import legend, page, say
from scenarios.reproduce.item import Check, Item, Setting
from scenarios.reproduce.thesis.guessing import ROUNDING, agrees, at_most_one, attained, guesses_drawn

VALUES = 11
# Channel, what its values lie on, and the largest distance n and the border c that fit them.
CASES = (
    ("ring_geometric", "ring", 5, 2),
    ("randomised_response", "any two neighbours", 1, 10),
    ("truncated_geometric", "line", 10, 1),
    ("truncated_geometric", "line, as from its middle", 5, 2),
    ("discrete_laplace", "line", 10, 1),
)
PRIORS = ("uniform", "nine in ten")
GAINS = ("right", "near", "near_squared")
SMALL = 5  # values of the line whose best channel is looked for among all
DRAWS = 200_000


def prior(name: str, values: int = VALUES) -> np.ndarray:
    """Odds of each true answer."""
    odds = np.append(9.0 * (values - 1), np.ones(values - 1)) if name == "nine in ten" else np.ones(values)
    return odds / odds.sum()


def compute(setting: Setting) -> pd.DataFrame:
    """Utilities and gains of every channel and prior over ε, by neighbours, beside the bounds; and second routes."""
    grid = np.linspace(0, 6, 7 if setting.quick else 25)
    rows: list[dict[str, Any]] = []
    for name, graph, distance, border in CASES:
        matrix = channel(name, grid, VALUES, sensitivity=1)
        for odds in PRIORS:
            found = bayes_utility(matrix, prior(odds))
            about = {"panel": "right", "channel": name, "graph": graph, "n": distance, "c": border, "prior": odds}
            known = float(prior(odds).max())
            columns = {
                "utility": found,
                "bound": utility_bound(grid, distance, border),
                "any_prior": np.minimum(1, VALUES * known * utility_bound(grid, distance, border)),
            }
            rows += _rows(about, grid, columns)
    rows += gains(grid) + off_by(grid) + best_of_all() + drawn_guesses(setting)
    return pd.DataFrame(rows)


def _rows(about: dict[str, Any], grid: np.ndarray, columns: dict[str, np.ndarray]) -> list[dict[str, Any]]:
    return [
        about | {"epsilon": e, **{key: float(values[at]) for key, values in columns.items()}}
        for at, e in enumerate(grid)
    ]


def gains(grid: np.ndarray) -> list[dict[str, Any]]:
    """What guesses bring where near ones count too, any two values hidden by ε, beside the bound of any private answer."""
    rows = []
    for name in ("randomised_response", "truncated_geometric"):
        matrix = channel(name, grid, VALUES)
        for gain in GAINS:
            for odds in PRIORS:
                worth, given = gain_matrix(gain, VALUES), prior(odds)
                columns = {"utility": expected_gain(matrix, worth, given), "any_prior": gain_bound(grid, worth, given)}
                rows += _rows({"panel": "gain", "channel": name, "gain": gain, "prior": odds}, grid, columns)
    return rows


def off_by(grid: np.ndarray) -> list[dict[str, Any]]:
    """How far the answer lies from the truth on average, as it is and after the remap; and without ends, in closed form."""
    apart, rows = distances("truncated_geometric", VALUES), []
    for odds in PRIORS:
        matrix = channel("truncated_geometric", grid, VALUES, sensitivity=1)
        told, guess = answered_distance(matrix, apart, prior(odds)), -expected_gain(matrix, -apart, prior(odds))
        rows += _rows({"panel": "distance", "prior": odds}, grid, {"answered": told, "guessed": guess})
    wide = 4001  # far ends, at which no answer heaps up
    for epsilon in (0.05, 0.5, 2.0):
        middle = np.abs(np.arange(wide) - wide // 2)
        mass = np.tanh(epsilon / 2) * np.exp(-epsilon * middle)
        lone = {"panel": "no ends", "epsilon": epsilon, "answered": float((mass * middle).sum())}
        rows.append(lone | {"guessed": float(1 / np.sinh(epsilon))})
    return rows


def best_of_all() -> list[dict[str, Any]]:
    """The most that any private channel makes of right guesses on a line, by linear programming: the answer is the guess."""
    rows = []
    for epsilon in (0.5, 1.5):
        private, ceilings = [], []
        for guess in range(SMALL):
            for one, other in ((i, i + step) for step in (1, -1) for i in range(SMALL) if 0 <= i + step < SMALL):
                row = np.zeros((SMALL, SMALL))
                row[one, guess], row[other, guess] = 1, -np.exp(epsilon)
                private.append(row.ravel())
        for value in range(SMALL):
            row = np.zeros((SMALL, SMALL))
            row[value] = 1
            ceilings.append(row.ravel())
        best = linprog(-np.eye(SMALL).ravel() / SMALL, private, np.zeros(len(private)), ceilings, np.ones(SMALL))
        found = float(bayes_utility(channel("truncated_geometric", np.array(epsilon), SMALL, sensitivity=1)))
        rows.append({"panel": "best", "epsilon": epsilon, "utility": found, "bound": float(-best.fun)})
    return rows


def drawn_guesses(setting: Setting) -> list[dict[str, Any]]:
    """Answers drawn and guessed: how often right, in the mean."""
    rows = []
    for name in ("ring_geometric", "truncated_geometric"):
        rng, count = setting.streams("TH-2.3").rng(name), DRAWS // 10 if setting.quick else DRAWS
        matrix = channel(name, np.array(1.0), VALUES, sensitivity=1)
        right, expected, error = guesses_drawn(matrix, prior("uniform"), count, rng=rng)
        told = {"panel": "drawn", "channel": name, "epsilon": 1.0, "utility": right, "bound": expected}
        rows.append(told | {"std_error": error})
    return rows


def checks(frame: pd.DataFrame) -> list[Check]:
    """Where the bound is met, where it holds, where it does not, and that the one for any gain and prior does."""
    panels = dict(list(frame.groupby("panel")))
    right, gain, best, seen = panels["right"], panels["gain"], panels["best"], panels["drawn"]
    part = (right["utility"] / right["bound"]).groupby([right["prior"], right["graph"]])
    largest, least = part.max(), part.min()
    even = [("uniform", graph) for graph in ("ring", "any two neighbours", "line")]
    met = max(abs(float(ends[place]) - 1) for ends in (largest, least) for place in even[:2])
    rising = right.sort_values("epsilon").groupby(["channel", "graph", "prior"])["utility"]
    steps = min(float(np.diff(one).min()) for _, one in rising)
    over = max(
        float((right["utility"] / right["any_prior"])[right["graph"] != CASES[3][1]].max()),
        float((gain["utility"] / gain["any_prior"]).max()),
    )
    endless, even_most = panels["no ends"], max(float(largest[one]) for one in even)
    skewed = float(largest["nine in ten"].drop(CASES[3][1]).max())
    off = float((endless["answered"] - endless["guessed"]).abs().max())
    drawn = float((abs(seen["utility"] - seen["bound"]) / seen["std_error"]).max())
    short = float((best["utility"] - best["bound"]).abs().max())
    return [
        attained("ring and complete graph, uniform prior: part of the bound furthest from 1", 1 + met),
        at_most_one("uniform prior: largest utility over the bound", even_most),
        Check("smallest rise of utility with ε", steps, -ROUNDING, np.inf, "increasing", "law", ROUNDING),
        at_most_one("prior of nine in ten: the same", skewed, "at most 1; no prior is named", law=False),
        Check("a line: distance from the best of all channels", short, 0, 1e-7, "optimal", "value", 1e-7),
        at_most_one("any gain, any prior: largest part of our bound", over, ""),
        agrees("mean distance without ends against 1/sinh ε", off, 1e-6),
        agrees("guesses drawn, standard errors", drawn, 4),
    ]


def draw(frame: pd.DataFrame, note: str) -> Figure:
    """Right guesses beside the bound; under a skewed prior; what near guesses bring; and how far off answers are."""
    said = (
        f"{VALUES} true answers, guessed after the Bayes remap; circles: the bound (2.3) of the same colour\n"
        "ε hides neighbours (a, b, d), or any two answers (c)"
    )
    figure, panels = page(
        "What guesses from an ε-private answer bring", "\n".join(filter(None, [said, note])), 2, 2, height=2.3
    )
    for axes, odds, letter in zip(panels, PRIORS, "ab", strict=False):
        _right(axes, frame[(frame["panel"] == "right") & (frame["prior"] == odds)])
        say(
            axes,
            f"({letter}) right guesses, {odds} prior"
            if letter == "a"
            else f"({letter}) one answer has probability 0.9",
        )
    legend(panels[0], loc="lower right")
    gain = frame[(frame["panel"] == "gain") & (frame["prior"] == "uniform")]
    for number, name in enumerate(GAINS):
        part = gain[(gain["gain"] == name) & (gain["channel"] == "truncated_geometric")]
        panels[2].plot(part["epsilon"], part["utility"], color=PALETTE[number], lw=1.5, label=name.replace("_", ", "))
        panels[2].plot(part["epsilon"], part["any_prior"], color=PALETTE[number], lw=1, ls="--")
    panels[2].set(ylim=(0, 1.05), ylabel="mean gain")
    legend(panels[2], loc="lower right")
    say(panels[2], "(c) gain of guesses; dashed: bound on any")
    off = frame[(frame["panel"] == "distance") & (frame["prior"] == "uniform") & (frame["epsilon"] > 0)]
    for number, (column, words) in enumerate({"answered": "the answer itself", "guessed": "the best guess"}.items()):
        panels[3].plot(off["epsilon"], off[column], color=PALETTE[number], lw=1.5, label=words)
    panels[3].set(ylabel="mean distance from the truth", ylim=(0, None))
    legend(panels[3], loc="upper right")
    say(panels[3], "(d) distance, as the thesis's general utility")
    for axes in panels:
        axes.grid(True)
    for axes in panels[2:]:
        axes.set_xlabel("privacy budget ε")
    return figure


def _right(axes: Any, part: pd.DataFrame) -> None:
    shown = (("ring", "ring", "-"), ("line", "line", "-"), ("any two neighbours", "complete graph", "-"))
    rows = part[part["channel"] != "discrete_laplace"]
    for number, (graph, words, style) in enumerate(shown):
        line = rows[rows["graph"] == graph].sort_values("epsilon")
        axes.plot(line["epsilon"], line["utility"], color=PALETTE[number], lw=1.5, ls=style, label=words)
        axes.plot(line["epsilon"], line["bound"], "o", color=PALETTE[number], ms=3, mfc="none")
    axes.set(ylim=(0, 1.05), ylabel="probability of a right guess")
    axes.axhline(1, color=MUTED, lw=0.5)


UTILITY_BOUND = Item(
    key="TH-2.3",
    where="Wu, MRes thesis, equation 2.3 and section 2.4.1.2 (after Alvim et al.)",
    title="The bound on utility against channels under the Bayes remap",
    claim=(
        "The chance of guessing the true answer from an ε-private one is at most z^n(1-z)/(z^n(1-z)+c(1-z^n)), z = e^ε, "
        "with n the largest distance between answers and c the border; the bound is tight and grows with ε. With another "
        "measure the utility is the mean distance of answer and truth."
    ),
    compute=compute,
    checks=checks,
    draw=draw,
    differs=(
        "Under a uniform prior it holds, and is met for all ε where all answers have one place among their neighbours: "
        "on a ring, and where any two are neighbours. On a line, as of a count, the truncated geometric channel is the "
        "best of all private ones (linear programming agrees) and stays under it, read with n = 10 and c = 1; read "
        "with the n = 5 and c = 2 of the middle answer it is passed by up to 23 %, which the theorem's condition on "
        "borders rules out. The thesis names no prior: where one answer has chance 0.9 a guess is right nine times in "
        "ten without any answer, ten times the bound. What holds for any prior is the bound times the chance of the "
        "likeliest answer times the number of answers; for any gain, what guesses bring without an answer times v "
        "e^ε/(v-1+e^ε). The thesis's distance is a loss, not a utility, and counts the answer as it is: a best guess "
        "is off by less."
    ),
    cost=1.0,
)
