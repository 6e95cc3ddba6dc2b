"""Errata of the multi-party write-up: samples that are not secret, and a failure probability."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.optimize import brentq

from learning.arrays import Array
from learning.privacy.guarantees import measure_approximate
from learning.privacy.published_noise import PublishedNoise, fixed_sample_epsilons
from learning.privacy.subsampled import sampled_epsilon, subsampled_epsilon
from learning.randomness import Streams
from reproduction.checks import (
    at_least,
    at_most,
    attack_epsilon,
    equal_to,
    log_slope,
    pick_number,
    select_rows,
)
from reproduction.claims import Checks, Rows, make_item, quick_or_full
from reproduction.item import Check, Setting
from reproduction.plots import (
    DOTS,
    DOTTED,
    MARKED,
    Mark,
    curve,
    draw_panel,
    draw_panels,
    legend_entry,
    level,
    make_panel,
)
from scenarios.report.figure_page import MUTED

VIEWS = {
    "hidden": "sees the answers only",
    "turns": "sees whose turn it is: the other owners",
    "picks": "knows which record is used: the learner B",
}
PROMISED = 1.0
OWNERS = 3


# ---- E-5: amplification by sampling


def epsilon_by_view(distance: float, records: int, delta: float) -> dict[str, float]:
    """Epsilon of n^2 rounds against each observer, with three owners of n/3 records."""
    rounds = records**2
    return {
        "hidden": sampled_epsilon(distance, rounds, records, delta),
        "turns": sampled_epsilon(distance, rounds, records // OWNERS, delta, 1 / OWNERS),
        "picks": subsampled_epsilon(distance, rounds, 1 / records, delta),
    }


def least_distance(records: int, delta: float) -> float:
    """Distance of one use at which the answers alone give exactly the epsilon promised."""

    def excess(distance: float) -> float:
        return sampled_epsilon(distance, records**2, records, delta) - PROMISED

    return float(brentq(excess, 1e-3, 3.0, xtol=1e-4))


def sample_evidence(
    view: str, distance: float, records: int, used: bool, rng: np.random.Generator, draws: int
) -> Array:
    """Log-likelihood ratio of n^2 answers with the record and without it.

    ``distance`` is the shift of an answer that uses it, in deviations of the noise.
    """
    rounds = records**2
    if view == "picks":
        uses = rng.binomial(rounds, 1 / records, draws)
        drawn = rng.normal(size=draws) * np.sqrt(uses) + distance * uses * used
        return np.asarray(distance * drawn - distance**2 / 2 * uses)
    total = np.zeros(draws)
    for start in range(0, rounds, 2000):
        shape = (draws, min(2000, rounds - start))
        answers = rng.standard_normal(shape) + distance * (used * (rng.random(shape) < 1 / records))
        total += np.log1p(np.expm1(distance * answers - distance**2 / 2) / records).sum(axis=1)
    return total


def evidence_sampler(
    view: str, distance: float, records: int, draws: int, streams: Streams
) -> Callable[[str, int], Array]:
    """Draws of the evidence for an attack, by half and world."""

    def draw(half: str, world: int) -> Array:
        rng = streams.rng(half, world, view)
        return sample_evidence(view, distance, records, world == 0, rng, draws)

    return draw


def compute_views(setting: Setting) -> Rows:
    """Epsilon against each observer, and lower bounds by attacks."""
    attacked, draws = quick_or_full(setting, (30, 1000), (100, 3000))
    streams = setting.streams("E-5")
    for size in (30, 100, 300, 1000, 3000, 10_000)[: quick_or_full(setting, 3, None)]:
        delta = 0.5 / size**3
        printed = float(PublishedNoise("sgd1", delta, (size,)).distance(PROMISED, 1, size**2))
        for noise, distance in (("as printed", printed), ("least", least_distance(size, delta))):
            for view, spent in epsilon_by_view(distance, size, delta).items():
                shown = np.nan
                if noise == "least" and size == attacked and view != "turns":
                    draw = evidence_sampler(view, distance, size, draws, streams)
                    shown = attack_epsilon(draw, measure_approximate(delta))
                row = dict(noise=noise, records=size, delta=delta, view=view)
                yield {**row, "epsilon": spent, "shown": shown}


def check_views(frame: pd.DataFrame) -> Checks:
    """Nothing is amplified against an observer of the picks."""
    shown = frame[frame["shown"].notna()].set_index("view")["shown"]
    yield at_least("known_picks", shown["picks"], 1.0, "at most 1", 1.0)
    yield at_most("hidden_picks", shown["hidden"], 1.0, "at most 1", 0.5)
    known, hidden = (
        select_rows(frame, noise="least", view=view).set_index("records")["epsilon"]
        for view in ("picks", "hidden")
    )
    yield at_least("ratio", known[100] / hidden[100], 2.0, "1", 1e-3)
    power = log_slope(known.index, known / hidden)
    yield at_least("power", power, 0.4, "0", 1e-3)


def draw_views(axes: Axes, frame: pd.DataFrame) -> None:
    """A line for each observer, with the attacks."""
    for view, rows in frame.groupby("view", sort=False):
        (line,) = axes.plot(rows["records"], rows["epsilon"], label=VIEWS[str(view)])
        dots = DOTS | {"ms": 5, "color": line.get_color()}
        axes.plot(rows["records"], rows["shown"], **dots)


def draw_amplification(frame: pd.DataFrame, note: str) -> Figure:
    """Both noises side by side; room for the legend above the lines of the second."""
    shown: list[Mark] = [draw_views, level(PROMISED, **DOTTED)]
    attacks = legend_entry("shown by an attack (99 %)", color=MUTED, ms=5, ls="")
    common = {"labels": ("records n", "ε"), "logs": "xy"}
    draw = draw_panels(
        "E-5",
        make_panel(*shown, heading="noise as printed", where={"noise": "as printed"}, **common),
        make_panel(
            *shown,
            attacks,
            heading="as little noise as hidden picks allow",
            where={"noise": "least"},
            legend={},
            ylim=(None, 30 * frame["epsilon"].max()),
            **common,
        ),
        height=2.9,
    )
    return draw(frame, note)


# ---- E-20: a failure probability that is left behind


def compute_composition(setting: Setting) -> Rows:
    """Epsilon and delta of the proof's composition, beside the claims."""
    for records in (10, 30, 100, 300, 1000, 3000, 10_000):
        delta = 0.5 / records**3
        log = np.log(1 / delta)  # delta' of the proof
        aside = delta ** (1 / 3)
        total = -np.expm1(records**2 * np.log1p(-delta / records**2) + np.log1p(-aside))
        claimed, _, exact = fixed_sample_epsilons(
            PublishedNoise("sgd1", delta, (records,)), PROMISED
        )
        use = PROMISED / (records * np.sqrt(log))  # epsilon of a round, as the proof has it
        squares = records**2 * use**2
        yield dict(
            records=records,
            delta=delta,
            delta_of_proof=total,
            over=total / delta,
            epsilon_printed=squares + use * np.sqrt(2 * records**2 * np.log(1 / aside)),
            epsilon_at_delta=squares + use * np.sqrt(2 * records**2 * np.log(2 / delta)),
            epsilon_sgd2=PROMISED**2 / log + np.sqrt(2) * PROMISED,
            delta_sgd2=2 * delta,
            use_claimed=claimed,
            use_exact=exact,
        )


def check_composition(frame: pd.DataFrame) -> Checks:
    """The proof's failure probability is far above delta."""
    over = pick_number(frame, "over", records=100)
    yield at_least("failure", over, 1.0, "at most 1")
    power = log_slope(frame["delta"], frame["delta_of_proof"])
    yield Check("power", power, 0.32, 0.35, "1", "law")
    found = pick_number(frame, "epsilon_at_delta", records=100)
    yield at_least("epsilon_at_delta", found, 1.0, "at most 1")
    yield at_least("epsilon_sgd2", float(frame["epsilon_sgd2"].min()), 1.0, "1")
    found = pick_number(frame, "epsilon_printed", records=100)
    wanted = 1 / np.log(2e6) + np.sqrt(2 / 3)
    yield equal_to("epsilon_printed", found, wanted, "", "value")


draw_composition = draw_panel(
    "E-20",
    curve("records", "delta_of_proof", "1 - (1 - δ/n²)^(n²) (1 - δ^(1/3))", **MARKED),
    curve("records", "delta", "δ = 1/(2n³), as claimed", 1, ls="--"),
    labels=("records n", "probability"),
    logs="xy",
)

ITEMS = (
    make_item("E-5", compute_views, check_views, draw_amplification),
    make_item("E-20", compute_composition, check_composition, draw_composition),
)
