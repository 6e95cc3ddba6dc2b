"""Errata about the asynchronous walk of Farokhi et al.: its cost, its answers, and its noise."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from learning.arrays import Array
from learning.training.clocks import Clocks, covered_talks
from reproduction.checks import (
    at_least,
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
    DOTTED,
    curve,
    draw_panel,
    draw_panels,
    estimates_and_law,
    legend_entry,
    level,
    make_panel,
)

RIDGE = 1.0  # of g and of every owner's part, one parameter
CURVATURE = 1.0


def affine_tick(
    owner: int, owners: int, step: float, lead: float, reach: float = 1.0
) -> tuple[Array, Array, Array]:
    """Matrix, shift and noise gain of one tick of Algorithm 1 on (theta_1 .. theta_N, theta_L).

    With m the mean of both copies, theta_i = m - N step reach (ridge m/(2N) + (curvature (m - a_i)
    + w)/N) and theta_L = m - step lead ridge m. All owners hold n/N records.
    """
    matrix = np.eye(owners + 1)
    shift = np.zeros(owners + 1)
    noise = np.zeros(owners + 1)
    middle = np.zeros(owners + 1)
    middle[[owner, -1]] = 0.5
    matrix[owner] = (1 - step * reach * (RIDGE / 2 + CURVATURE)) * middle
    matrix[-1] = (1 - step * lead * RIDGE) * middle
    shift[owner] = step * reach * CURVATURE * owner_optima(owners)[owner]
    noise[owner] = -step * reach
    return matrix, shift, noise


def owner_optima(owners: int) -> Array:
    """Minimisers a_i of the owners' parts, evenly from 0 to 2."""
    return np.linspace(0, 2, owners)


def learner_share(reading: str, owners: int) -> float:
    """Learner's part of g's gradient in (7): 1/2 in the proof, (N - 1)/N as printed."""
    return 0.5 if reading == "proved" else (owners - 1) / owners


# ---- E-10: where the walk settles


def fixed_point(owners: int, reading: str, step: float) -> float:
    """Mean of the learner's copy in the long run, without noise."""
    lead = learner_share(reading, owners)
    ticks = [affine_tick(i, owners, step, lead) for i in range(owners)]
    matrix, shift = (np.mean([one[part] for one in ticks], axis=0) for part in (0, 1))
    return float(np.linalg.solve(np.eye(owners + 1) - matrix, shift)[-1])


def simulate_walk(
    owners: int, reading: str, step: float, runs: int, rng: np.random.Generator
) -> dict[str, float]:
    """Mean of the learner's copy at the end of drawn walks, with its standard error."""
    lead = learner_share(reading, owners)
    copies = np.zeros((runs, owners))
    learner = np.zeros(runs)
    rows = np.arange(runs)
    optima = owner_optima(owners)
    for called in rng.integers(owners, size=(int(12 * owners / step), runs)):
        middle = (learner + copies[rows, called]) / 2
        own = CURVATURE * (middle - optima[called])
        copies[rows, called] = middle - step * (RIDGE / 2 * middle + own)
        learner = middle - step * lead * RIDGE * middle
    found = estimate_mean(learner, "walked")
    return found | {"std_error": max(found["std_error"], 1e-12)}


def compute_settled_walks(setting: Setting) -> Rows:
    """Fixed points under both readings of (7), beside drawn walks."""
    step = 0.1
    streams = setting.streams("E-10")
    for owners in (2, 3, 5, 10, 86)[: quick_or_full(setting, 4, None)]:
        for reading in ("proved", "printed"):
            settles = fixed_point(owners, reading, 1e-6)
            rng = streams.rng("ticks", reading, owners)
            yield dict(
                owners=owners,
                reading=reading,
                settles=settles,
                optimum=CURVATURE / (RIDGE + CURVATURE),
                weight_of_g=CURVATURE * (1 - settles) / (RIDGE * settles),
                step=step,
                **simulate_walk(owners, reading, step, setting.runs, rng),
                expected=fixed_point(owners, reading, step),
            )


def check_settled_walks(frame: pd.DataFrame) -> Checks:
    """The printed steps descend on another weight of g."""
    (ten,) = select_rows(frame, owners=10, reading="printed").itertuples()
    two = pick_number(frame, "weight_of_g", owners=2, reading="printed")
    most = select_rows(frame, reading="proved")["weight_of_g"].max()
    yield Check("weight_of_g", ten.weight_of_g, 1.399, 1.401, "1", "law", 1e-5)
    yield Check("two_owners", two, 0.999, 1.001, "1", "value", 1e-5)
    yield Check("proved", most, 0.999, 1.001, "1", "law", 1e-5)
    yield close_to("walk", ten.walked, ten.expected, ten.std_error)


READINGS = {"printed": "(7) as printed, (N - 1)/N", "proved": "(7) with 1/2"}


def draw_fixed_points(axes: Axes, frame: pd.DataFrame) -> None:
    """Fixed points; the standard errors are those of the walks."""
    mark = estimates_and_law("owners", "settles", by="reading", label=READINGS)
    mark(axes, frame.drop(columns="std_error"))


draw_settled_walks = draw_panel(
    "E-10",
    draw_fixed_points,
    level(0.5, "optimum of f", **DOTTED),
    labels=("owners N", "θ_L, small steps"),
    logs="x",
)


# ---- E-22: answers paid for and answers given


def compute_answers(setting: Setting) -> Rows:
    """Answers that one owner gives in T ticks, and what noise for T of them costs."""
    horizon = 1000
    streams = setting.streams("E-22")
    for owners in (3, 10, 30, 86, 100):
        chances = np.full(owners, 1 / owners)
        called = streams.rng("ticks", owners).multinomial(horizon, chances, size=setting.runs)
        priced = covered_talks(Clocks(), owners, horizon)
        given = called[:, 0]
        yield dict(
            owners=owners,
            horizon=horizon,
            paid_for=horizon,
            expected=horizon / owners,
            **estimate_mean(given, "given"),
            given_most=called.max(),
            priced_here=priced,
            epsilon_spent=given.mean() / horizon,
            variance=(horizon / priced) ** 2,
        )


def check_answers(frame: pd.DataFrame) -> Checks:
    """An owner gives T/N answers, and pays for T."""
    three, many = (next(select_rows(frame, owners=n).itertuples()) for n in (3, 86))
    yield close_to("answers", three.given, 1000 / 3, three.std_error, "1000", "law")
    error = many.std_error / 1000
    yield close_to("spent", many.epsilon_spent, 1 / 86, error, "1", "law")
    yield at_least("variance", many.variance, 86.0, "1")


draw_answers = draw_panels(
    "E-22",
    make_panel(
        estimates_and_law("owners", "given", "expected"),
        curve("owners", "priced_here", "hardly ever exceeded (1 %)", 2, **DOTS | {"marker": "s"}),
        level(1000, "paid for"),
        legend_entry("given on average"),
        labels=("owners N", "answers of one owner"),
        logs="xy",
        legend={},
    ),
    make_panel(
        curve("owners", "variance", **DOTS),
        labels=("owners N", "noise variance over what would do"),
        logs="xy",
    ),
)


# ---- E-23: owners that talk less often


def learner_variance(rates: Array, step: float, ticks: int) -> float:
    """Exact variance of the learner's copy after these ticks, with unit noise in every answer."""
    owners = len(rates)
    chances = rates / rates.sum()
    moment = np.zeros((owners + 1, owners + 1))
    maps = [affine_tick(i, owners, step, 0.5, 1 / (owners * chances[i])) for i in range(owners)]
    for _ in range(ticks):
        moment = sum(
            chance * (matrix @ moment @ matrix.T + np.outer(noise, noise))
            for chance, (matrix, _, noise) in zip(chances, maps, strict=True)
        )
    return float(moment[-1, -1])


def compute_rare_owners(setting: Setting) -> Rows:
    """Variance of the model where one of three owners talks less often."""
    step = 0.005
    ticks = quick_or_full(setting, 400, 2000)
    equal = learner_variance(np.ones(3), step, ticks)
    for rate in (1.0, 0.5, 0.2, 0.1, 0.05):
        rates = np.array([1.0, 1.0, rate])
        share = rates / rates.sum()
        yield dict(
            rate=rate,
            variance_over_alike=learner_variance(rates, step, ticks) / equal,
            formula=np.sum(1 / share) / 9,
            rare_owner_alone=1 / share[-1] / 3,
        )


def check_rare_owners(frame: pd.DataFrame) -> Checks:
    """A rare owner makes the model noisier."""
    (rare,) = select_rows(frame, rate=0.1).itertuples()
    ratio = rare.variance_over_alike
    yield at_least("variance", ratio, 1.0 + 1e-6, "1")
    yield Check("formula", ratio / rare.formula, 0.9, 1.1, "", "value", 0.02)
    ratio = pick_number(frame, "variance_over_alike", rate=1.0)
    yield equal_to("equal_rates", ratio, 1.0, "1")


draw_rare_owners = draw_panel(
    "E-23",
    estimates_and_law("rate", "variance_over_alike", "formula"),
    level(1.0, "the same, as Remark 4 has it"),
    legend_entry("exact, and Σ 1/γ_i/N²"),
    labels=(
        "how often it talks over how often each of the others does",
        "variance over that of owners alike",
    ),
    logs="x",
)

ITEMS = (
    make_item("E-10", compute_settled_walks, check_settled_walks, draw_settled_walks),
    make_item("E-22", compute_answers, check_answers, draw_answers),
    make_item("E-23", compute_rare_owners, check_rare_owners, draw_rare_owners),
)
