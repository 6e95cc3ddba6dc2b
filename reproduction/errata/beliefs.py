"""Omissions of the sources about beliefs, and about records with several owners."""

from __future__ import annotations

import numpy as np
import pandas as pd
import scipy
from matplotlib.axes import Axes

from learning.arrays import Array
from learning.privacy.gaussian import exact_distance, gaussian_belief
from learning.privacy.guarantees import measure_pure
from learning.privacy.laplace import Laplace
from reproduction.checks import (
    at_least,
    attack_epsilon,
    close_to,
    equal_to,
    estimate_mean,
    pick_number,
    select_rows,
)
from reproduction.claims import Checks, Rows, make_item, quick_or_full
from reproduction.item import Check, Setting
from reproduction.plots import (
    DOTS,
    Style,
    draw_panel,
    estimates_and_law,
    legend_entry,
    level,
)
from scenarios.report.figure_page import BAND, PALETTE

# ---- E-14: belief under (epsilon, delta)

BUDGETS = (
    *((epsilon, 1e-6) for epsilon in (0.1, 0.3, 1.0, 3.0, 10.0)),
    (1.0, 1e-9),
    (1.0, 1e-3),
)


def compute_surer_beliefs(setting: Setting) -> Rows:
    """Probability of a belief above the cap under Gaussian noise, exact and simulated."""
    draws = quick_or_full(setting, 20_000, 200_000)
    streams = setting.streams("E-14")
    for number, (epsilon, delta) in enumerate(BUDGETS):
        distance = float(exact_distance(epsilon, delta))
        # answers beyond it leave one version more than e^epsilon/(1 + e^epsilon) likely
        cap = epsilon / distance + distance / 2
        right = scipy.special.ndtr(distance - cap)
        wrong = scipy.special.ndtr(-cap)
        # importance sampling: answers drawn beyond the cap, weighed by their likelihood ratio
        drawn = cap + streams.rng("answers", number).exponential(1 / cap, draws)
        density = np.exp(-(drawn**2) / 2) + np.exp(-((drawn - distance) ** 2) / 2)
        weight = density / np.sqrt(2 * np.pi) * (np.exp(cap * (drawn - cap)) / cap)
        simulated = estimate_mean(weight)
        yield dict(
            epsilon=epsilon,
            delta=delta,
            distance=distance,
            right_over_delta=right / delta,
            over_delta=(right + wrong) / delta,
            measured=simulated["measured"] / delta,
            std_error=simulated["std_error"] / delta,
            cap=np.exp(epsilon) / (1 + np.exp(epsilon)),
            surest=float(gaussian_belief(distance, delta)),
        )


def check_surer_beliefs(frame: pd.DataFrame) -> Checks:
    """Beliefs pass the cap with a probability of many times delta."""
    one = select_rows(frame, epsilon=1.0)
    one = one[np.isclose(one["delta"], 1e-6)].iloc[0]
    right = one["right_over_delta"]
    yield Check("right", right, 19.5, 20.5, "0 (1 at most)", "law", 1e-3)
    yield at_least("either", one["over_delta"], right, "0 (1 at most)")
    yield close_to("simulated", one["measured"], one["over_delta"], one["std_error"])
    yield at_least("least", frame["over_delta"].min(), 1.0, "at most 1")
    yield at_least("surest", one["surest"] / one["cap"], 1.0, "1")


draw_surer_beliefs = draw_panel(
    "E-14",
    lambda axes, frame: estimates_and_law("epsilon", law="over_delta")(
        axes, frame[np.isclose(frame["delta"], 1e-6)]
    ),
    level(1.0, "δ itself"),
    legend_entry("measured, and exact, δ = 1e-6"),
    labels=("ε", "chance over δ"),
    logs="xy",
)


# ---- E-15: records with several owners


def sample_evidence(budgets: Array, added: bool, draws: int, rng: np.random.Generator) -> Array:
    """Log-likelihood ratio of a record's version, from one answer of each of its kappa owners.

    Each answers with noise for epsilon/kappa, in units of the noise scale.
    """
    kept = budgets / len(budgets)
    noise = Laplace().draw(1.0, (draws, len(budgets)), rng=rng)
    seen = noise + kept * added
    return np.asarray((np.abs(seen) - np.abs(seen - kept)).sum(axis=1))


def compute_joint_loss(setting: Setting) -> Rows:
    """Joint privacy loss of a record with several owners, exact and by an attack."""
    draws = quick_or_full(setting, 10_000, 100_000)
    streams = setting.streams("E-15")
    holders = (1.0, 1.0), (0.5, 0.5, 0.5), (0.5, 2.0), (0.5, 5.0), (0.2, 1.0, 4.0), (0.1, 8.0)
    for number, budgets in enumerate(holders):
        held = np.array(budgets)

        def draw(half: str, world: int, held: Array = held, number: int = number) -> Array:
            return sample_evidence(held, world == 0, draws, streams.rng(half, world, number))

        yield dict(
            budgets=" and ".join(f"{one:g}" for one in budgets),
            owners=len(held),
            strictest=held.min(),
            formula=held.mean(),
            shown=attack_epsilon(draw, measure_pure),
        )


def check_joint_loss(frame: pd.DataFrame) -> Checks:
    """The joint loss exceeds the strictest owner's promise."""
    (uneven,) = select_rows(frame, budgets="0.5 and 5").itertuples()
    yield equal_to("joint_loss", uneven.formula / 0.5, 5.5, "1")
    yield at_least("attack", uneven.shown / 0.5, 1.0, "at most 1", 0.5)
    least = (frame["formula"] / frame["shown"]).min()
    yield at_least("exact_over_attack", least, 1.0, "at least 1", 0.2)
    even = pick_number(frame, "formula", budgets="1 and 1")
    yield equal_to("equal_budgets", even, 1.0, "1", "value")


def draw_bars(axes: Axes, frame: pd.DataFrame) -> None:
    """A bar for each record, with the attack's bound and the strictest promise."""
    places = np.arange(len(frame))
    bars: Style = {"width": 0.55, "color": BAND, "edgecolor": PALETTE[0]}
    axes.bar(places, frame["formula"], label="Σ ε_l/κ", **bars)
    dots = DOTS | {"ms": 5, "color": PALETTE[0]}
    axes.plot(places, frame["shown"], label="shown by an attack (99 %)", **dots)
    dashes: Style = {"marker": "_", "ms": 26, "mew": 2, "ls": "", "color": PALETTE[1]}
    axes.plot(places, frame["strictest"], label="promised by the strictest owner", **dashes)
    axes.set_xticks(places, frame["budgets"], fontsize=7.5)


draw_joint_loss = draw_panel(
    "E-15",
    draw_bars,
    labels=("budgets of the owners that hold the record", "ε"),
    logs=None,
    legend={"loc": "upper left"},
)

ITEMS = (
    make_item("E-14", compute_surer_beliefs, check_surer_beliefs, draw_surer_beliefs),
    make_item("E-15", compute_joint_loss, check_joint_loss, draw_joint_loss),
)
