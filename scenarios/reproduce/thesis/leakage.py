"""The bound on min-entropy leakage, (2.2) of the thesis, against what channels leak of whole databases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from market.costs.channels import channel, min_entropy_leakage
from market.costs.leakage import leakage_bits, leakage_slope
from scenarios.report.figure_page import INK, PALETTE
from scenarios.reproduce.drawing import legend, page, say
from scenarios.reproduce.item import Check, Item, Setting
from scenarios.reproduce.thesis.guessing import ROUNDING, agrees, at_most_one, attained, guesses_drawn

CHANNELS = ("randomised_response", "truncated_geometric", "discrete_laplace")
VALUES, INDIVIDUALS = (2, 10), (1, 10, 100)
PRIORS = ("uniform", "halving", "nine in ten")
COUNTED, RARE = (
    100,
    0.1,
)  # individuals of a counting query; the odds of each to be counted under a prior that is not even
GUESSES = 200_000


def prior(name: str, values: int) -> np.ndarray:
    """Odds of each value of one individual's record."""
    odds = {
        "uniform": np.ones(values),
        "halving": 0.5 ** np.arange(values),
        "nine in ten": np.append(9.0 * (values - 1), np.ones(values - 1)),
    }[name]
    return odds / odds.sum()


def compute(setting: Setting) -> pd.DataFrame:
    """Leakage of every channel, prior, u and v over ε, beside the bound; with three second routes."""
    grid = np.linspace(0, 8, 9 if setting.quick else 33)
    rows: list[dict[str, Any]] = []
    for values in VALUES:
        for name in CHANNELS:
            matrix = channel(name, grid, values)
            for odds in PRIORS:
                told = min_entropy_leakage(matrix, prior(odds, values))
                for people in INDIVIDUALS:
                    about = {"panel": "each", "channel": name, "prior": odds, "v": values, "u": people}
                    rows += _rows(about, grid, people * told, people * leakage_bits(grid, values))
    for name, rate in (("uniform", 0.5), ("rare", RARE)):
        told = counting_leakage(grid, COUNTED, rate)
        about = {"panel": "count", "channel": "truncated_geometric", "prior": name, "v": 2, "u": COUNTED}
        rows += _rows(about, grid, told, COUNTED * leakage_bits(grid, 2))
    rows += whole_databases() + guessed(setting) + slopes()
    return pd.DataFrame(rows)


def _rows(about: dict[str, Any], grid: np.ndarray, told: np.ndarray, bound: np.ndarray) -> list[dict[str, Any]]:
    triples = zip(grid, told, bound, strict=True)
    return [about | {"epsilon": e, "leakage": bits, "bound": most} for e, bits, most in triples]


def counting_leakage(epsilon: np.ndarray, people: int, rate: float) -> np.ndarray:
    """Bits about the whole database that a count of ``people`` leaks through the truncated geometric channel.

    Each is counted with odds ``rate``, independently. Every database with the same count tells alike, so of those the
    likeliest is guessed: ``log2(sum_z max_y max_x(y) H_yz / max_x)``.
    """
    counts = np.arange(people + 1)
    single = np.exp(counts * np.log(rate) + (people - counts) * np.log1p(-rate))  # of one database with that count
    matrix = channel("truncated_geometric", epsilon, people + 1, sensitivity=1)
    return np.log2((single[:, None] * matrix).max(axis=-2).sum(axis=-1) / single.max())


def whole_databases() -> list[dict[str, Any]]:
    """Second route: all v^u databases of two and three individuals one by one, answers about all of them at once."""
    rows = []
    for people, values in ((2, 3), (3, 2), (2, 10)):
        for name in CHANNELS:
            single = channel(name, np.array(1.3), values)
            odds = [prior(kind, values) for kind in ("halving", "nine in ten", "uniform")][:people]
            matrix, joint = single, odds[0]
            for other in odds[1:]:
                matrix, joint = np.kron(matrix, single), np.kron(joint, other)
            one_by_one = sum(float(min_entropy_leakage(single, one)) for one in odds)
            told = {"panel": "whole", "channel": name, "v": values, "u": people, "epsilon": 1.3}
            rows.append(told | {"leakage": float(min_entropy_leakage(matrix, joint)), "route": one_by_one})
    return rows


def guessed(setting: Setting) -> list[dict[str, Any]]:
    """Third route: records drawn, answered and guessed; how often the guess is right."""
    rows = []
    for name in CHANNELS:
        rng = setting.streams("TH-2.2").rng(name)
        matrix, odds = channel(name, np.array(1.3), 10), prior("halving", 10)
        right, expected, error = guesses_drawn(matrix, odds, GUESSES // 10 if setting.quick else GUESSES, rng=rng)
        told = {"panel": "guessed", "channel": name, "prior": "halving", "v": 10, "u": 1, "epsilon": 1.3}
        rows.append(told | {"leakage": right, "route": expected, "std_error": error})
    return rows


def slopes() -> list[dict[str, Any]]:
    """The derivative as the thesis prints it, for one individual, beside a difference of the bound."""
    rows = []
    for values in VALUES:
        for epsilon in np.linspace(0.05, 8, 20):
            step = 1e-5
            ends = leakage_bits(np.array([epsilon - step, epsilon + step]), values)
            told = {"panel": "slope", "v": values, "u": 1, "epsilon": epsilon}
            rows.append(
                told | {"leakage": float(leakage_slope(epsilon, values)), "route": float(np.diff(ends)[0] / (2 * step))}
            )
    return rows


def checks(frame: pd.DataFrame) -> list[Check]:
    """No channel leaks more than the bound, one leaks as much, and the derivative is the one printed."""
    panels = dict(list(frame.groupby("panel")))
    leaks = frame[frame["panel"].isin(["each", "count"]) & (frame["epsilon"] > 0)]
    over = float((leaks["leakage"] / leaks["bound"]).max())
    met = leaks[(leaks["channel"] == "randomised_response") & (leaks["prior"] == "uniform")]
    rising = leaks.sort_values("epsilon").groupby(["panel", "channel", "prior", "v", "u"])["leakage"]
    whole, seen, slope = panels["whole"], panels["guessed"], panels["slope"]
    steps = float(rising.apply(lambda bits: np.diff(bits).min()).min())
    met = float((met["leakage"] / met["bound"]).min())
    derivative = "u/ln 2 (v-1)/(v-1+e^ε)"
    return [
        at_most_one("largest leakage as a part of the bound", over),
        attained("randomised response, uniform prior: smallest part", met),
        Check("smallest rise of leakage with ε", steps, -ROUNDING, np.inf, "increasing", "law", ROUNDING),
        agrees("printed derivative against differences", apart(slope), 1e-6, derivative),
        agrees("all databases one by one", apart(whole)),
        agrees(
            "guesses drawn, standard errors", float((abs(seen["leakage"] - seen["route"]) / seen["std_error"]).max()), 4
        ),
    ]


def apart(rows: pd.DataFrame) -> float:
    """The largest distance between two routes."""
    return float((rows["leakage"] - rows["route"]).abs().max())


def draw(frame: pd.DataFrame, note: str) -> Figure:
    """Bits about each individual's record over ε for v = 2 and 10; and a count of a hundred, as a part of its bound."""
    said = "Bits about one record under a uniform prior (solid) and under halving odds (dotted); black: the bound"
    figure, panels = page(
        "What an ε-private answer leaks, and the bound on it", "\n".join(filter(None, [said, note])), 3, width=10.5
    )
    each = frame[(frame["panel"] == "each") & (frame["u"] == 1)]
    for axes, values in zip(panels, VALUES, strict=False):
        part = each[each["v"] == values]
        for number, name in enumerate(CHANNELS):
            for odds, style in (("uniform", "-"), ("halving", ":")):
                line = part[(part["channel"] == name) & (part["prior"] == odds)].sort_values("epsilon")
                label = name.replace("_", " ") if style == "-" else None
                dashes = (0, (5, 4)) if name == "discrete_laplace" and style == "-" else style
                axes.plot(line["epsilon"], line["leakage"], color=PALETTE[number], ls=dashes, lw=1.6, label=label)
        bound = part[part["channel"] == CHANNELS[0]].drop_duplicates("epsilon").sort_values("epsilon")
        axes.plot(bound["epsilon"], bound["bound"], "o", color=INK, ms=3, mfc="none", label="bound (2.2)")
        axes.set(xlabel="privacy budget ε", ylabel="bits about one record")
        axes.grid(True)
        say(axes, f"v = {values} values of a record")
    legend(panels[0], loc="lower right")
    count = frame[frame["panel"] == "count"]
    for number, (name, part) in enumerate(count.groupby("prior", sort=False)):
        words = "even odds" if name == "uniform" else "1 in 10 is counted"
        panels[2].plot(part["epsilon"], part["leakage"], color=PALETTE[number], lw=1.6, label=words)
    bound = count[count["prior"] == "uniform"]
    panels[2].plot(bound["epsilon"], bound["bound"], "o", color=INK, ms=3, mfc="none", label="bound (2.2)")
    panels[2].set(xlabel="privacy budget ε", ylabel="bits about the database", yscale="symlog")
    panels[2].set_yticks([0, 1, 10, 100], ["0", "1", "10", "100"])
    panels[2].grid(True)
    legend(panels[2], loc="lower right", bbox_to_anchor=(1.0, 0.18))
    say(panels[2], f"one count of {COUNTED} individuals, v = 2")
    return figure


LEAKAGE_BOUND = Item(
    key="TH-2.2",
    where="Wu, MRes thesis, equation 2.2 and section 4.3 (after Alvim et al.)",
    title="The bound on min-entropy leakage against channels",
    claim=(
        "What an ε-private answer about u individuals, each with one of v values, leaks of the database in bits of "
        "min-entropy is at most u log2(v e^ε/(v-1+e^ε)); the bound is tight, and grows with ε at the rate "
        "(u/ln 2)(v-1)/(v-1+e^ε)."
    ),
    compute=compute,
    checks=checks,
    draw=draw,
    differs=(
        "It holds for every channel and prior tried, and randomised response on every record, under a uniform prior, "
        "meets it for all u, v and ε: it is tight. Noise along a line (truncated geometric, and discrete Laplace, which "
        "tells exactly as much) hides any two of v values by the whole ε, and leaks far less; so does a single count of "
        "all individuals. Next to the formula the thesis calls v the number of possible responses; it is the number of "
        "values of one record."
    ),
    cost=1.0,
)
