"""Errata of the thesis's measures: e for epsilon, a distance as utility, a missing prior."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from market.costs.channels import channel_matrix, truncated_geometric
from market.costs.leakage import belief_bound, utility_bound
from reproduction.checks import (
    at_least,
    at_most,
    close_to,
    equal_to,
    estimate_mean,
    estimate_share,
    select_rows,
)
from reproduction.claims import Checks, Rows, make_item, quick_or_full
from reproduction.item import Check, Setting
from reproduction.plots import (
    MARKED,
    curve,
    draw_panel,
    draw_panels,
    estimates,
    estimates_and_law,
    make_panel,
)
from reproduction.thesis.channels import sample_guesses
from scenarios.report.figure_page import INK

# ---- E-7: e for epsilon


def compute_beliefs(setting: Setting) -> Rows:
    """Belief in the true world after randomised response, beside both bounds."""
    draws = quick_or_full(setting, 20_000, 200_000)
    for worlds in (2, 10):
        for number, epsilon in enumerate((0.1, 0.5, 1.0, 2.0, 2.718281828, 3.0, 4.0, 5.0)):
            rng = setting.streams("E-7").rng("answers", worlds, number)
            # odds e^epsilon of the true world's name, 1 of every other's
            right = np.exp(epsilon) / (np.exp(epsilon) + worlds - 1)
            # among equally likely worlds the belief in the named one is the share of true names
            measured = (rng.random(draws) < right).mean()
            yield dict(
                worlds=worlds,
                epsilon=epsilon,
                printed=1 / (1 + (worlds - 1) * np.exp(-math.e)),
                meant=float(belief_bound(np.array(epsilon), worlds)),
                **estimate_share(measured, draws),
            )


def check_beliefs(frame: pd.DataFrame) -> Checks:
    """Only the bound with epsilon holds."""
    ten = select_rows(frame, worlds=10).set_index("epsilon")
    strict = ten.loc[0.1]
    lax = ten.loc[5.0]
    ratio = lax.printed / strict.printed
    yield equal_to("printed_ratio", ratio, 1.0, "rises with ε")
    yield at_least("over_printed", lax.measured / lax.printed, 1.0, "at most 1", 0.01)
    low = 1 - 4 * lax.std_error
    high = 1 + 4 * lax.std_error / lax.meant
    yield Check("over_meant", lax.measured / lax.meant, low, high, "at most 1", "law", 0.01)
    spread = 4 * strict.std_error / strict.meant
    ratio = strict.measured / strict.meant
    yield Check("small_budget", ratio, 1 - spread, 1 + spread, "", "value", 0.2)


draw_beliefs = draw_panels(
    "E-7",
    *(
        make_panel(
            curve("epsilon", "meant", "bound with ε"),
            curve("epsilon", "printed", "bound as printed, with e", 1, ls="--"),
            estimates("epsilon", label="measured"),
            labels=("ε", "belief"),
            heading=f"m = {worlds}",
            where={"worlds": worlds},
            legend={"loc": "lower right"} if worlds == 10 else None,
            ylim=(0, 1.05),
        )
        for worlds in (2, 10)
    ),
)


# ---- E-28: a utility that is a loss


def compute_distances(setting: Setting) -> Rows:
    """Mean distance and right guesses of a truncated geometric answer."""
    answers = 6
    draws = quick_or_full(setting, 20_000, 200_000)
    places = np.arange(answers)
    distances = np.abs(places[:, None] - places)
    for number, epsilon in enumerate((0.1, 0.5, 1.0, 2.0, 3.0, 5.0)):
        odds = truncated_geometric(np.array(epsilon), answers)[0]
        rng = setting.streams("E-28").rng("answers", number)
        true = rng.integers(answers, size=draws)
        rate = -np.expm1(-epsilon)
        noise = rng.geometric(rate, draws) - rng.geometric(rate, draws)
        distance = np.abs(np.clip(true + noise, 0, answers - 1) - true)
        yield dict(
            epsilon=epsilon,
            right_guesses=float(odds.max(axis=0).sum() / answers),
            printed=float((odds * distances).sum() / answers),
            **estimate_mean(distance),
        )


def check_distances(frame: pd.DataFrame) -> Checks:
    """The printed utility falls where right guesses rise."""
    rise = frame["printed"].diff().max()
    yield at_most("printed_rise", rise, 0.0, "rises")
    rise = frame["right_guesses"].diff().min()
    yield at_least("right_guesses_rise", rise, 0.0, "rises")
    (one,) = select_rows(frame, epsilon=1.0).itertuples()
    yield close_to("simulated", one.measured, one.printed, one.std_error)


draw_distances = draw_panels(
    "E-28",
    make_panel(
        curve("epsilon", "right_guesses", **MARKED), labels=("ε", "chance of a right guess")
    ),
    make_panel(estimates_and_law("epsilon", law="printed"), labels=("ε", "Σ p(y, z) |y - z|")),
)


# ---- E-29: a bound without a prior

PLACES = {
    "even": "a ring of eleven, all values as likely",
    "prior": "a ring of eleven, one value with 0.9",
    "line": "a line of eleven, all values as likely",
}


def compute_guesses(setting: Setting) -> Rows:
    """Right guesses of drawn answers, beside the bound."""
    values = 11
    draws = quick_or_full(setting, 20_000, 200_000)
    for place in PLACES:
        skewed = place == "prior"
        prior = np.full(values, 0.01 if skewed else 1 / values)
        prior[5] = 0.9 if skewed else 1 / values
        name = "truncated_geometric" if place == "line" else "ring_geometric"
        for number, epsilon in enumerate((0.0, 0.1, 0.5, 1.0, 2.0, 4.0)):
            odds = channel_matrix(name, np.array(epsilon), values, 1)
            rng = setting.streams("E-29").rng(place, number)
            right, expected, _ = sample_guesses(odds, prior, draws, rng=rng)
            yield dict(
                place=place,
                epsilon=epsilon,
                bound=float(utility_bound(np.array(epsilon), 5, 2)),
                right_guesses=expected,
                **estimate_share(right, draws),
            )


def check_guesses(frame: pd.DataFrame) -> Checks:
    """The bound is met on a ring with an even prior, and fails elsewhere."""
    over = (frame["right_guesses"] / frame["bound"]).groupby(frame["place"]).max()
    yield equal_to("even", over["even"], 1.0, "at most 1")
    yield at_least("skewed", over["prior"], 1.0 + 1e-9, "at most 1")
    yield at_least("line", over["line"], 1.0 + 1e-9, "at most 1")
    (one,) = select_rows(frame, place="prior", epsilon=0.5).itertuples()
    yield close_to("simulated", one.measured, one.right_guesses, one.std_error)


draw_guesses = draw_panel(
    "E-29",
    estimates_and_law("epsilon", law="right_guesses", by="place", label=PLACES),
    curve("epsilon", "bound", "bound as printed", INK, {"place": "even"}, ls="--", lw=1.2),
    labels=("ε between neighbouring values", "chance of a right guess"),
    ylim=(0, 1.05),
)

ITEMS = (
    make_item("E-7", compute_beliefs, check_beliefs, draw_beliefs),
    make_item("E-28", compute_distances, check_distances, draw_distances),
    make_item("E-29", compute_guesses, check_guesses, draw_guesses),
)
