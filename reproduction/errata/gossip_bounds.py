"""Errata about the bounds of Farokhi et al.: constants, a mixing rate of one, and an abstract."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from learning.arrays import Array
from reproduction.checks import (
    EXACT,
    at_least,
    at_most,
    close_to,
    equal_to,
    estimate_mean,
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
    make_panel,
)
from scenarios.report.figure_page import PALETTE

OWNERS = 3  # of the paper's regression; sigma, C and rho are 1
RECORDS = 750_000
PUBLISHED_T = 1000
LOANS = 890_000  # records of the papers' table, as they say
HOSPITALS = 86  # of 10,000 records and more: Figure 10
GAIN = 8  # hospitals of Figure 10 that gain at epsilon = 10


def mixing_rate(owners: int) -> float:
    """Second eigenvalue of the mean averaging matrix: 1 - 1/(2N), 0 for one owner."""
    return 0.0 if owners == 1 else 1 - 1 / (2 * owners)


# ---- E-11: constants


def distance_bounds(horizon: float, epsilon: float) -> dict[str, float]:
    """The proof's last bound and (8), with c_1 and c_2 of Appendix B and C = sigma = rho = 1."""
    first = float(OWNERS)
    second = 2 * OWNERS**2 * np.sqrt(OWNERS + 1) / (1 - np.sqrt(mixing_rate(OWNERS)))
    noise = 2 * np.sqrt(2) / (RECORDS * epsilon)
    inner = 1 + OWNERS**2 * (1 + 2 * np.sqrt(2) * horizon / (RECORDS * epsilon)) ** 2
    spent = 1 / horizon**2 + OWNERS**2 * (1 / horizon + noise) ** 2  # A
    return {
        "proof": (first * inner + second * np.sqrt(inner)) / horizon**2,
        "named": first * np.sqrt(spent) + second * spent,
        "exchanged": second * np.sqrt(spent) + first * spent,
        "whole": second * np.sqrt(spent) / horizon + first * spent,
    }


def compute_constants(setting: Setting) -> Rows:
    """Bounds over the horizon, and their slopes in epsilon at epsilon = 1."""
    horizons = np.geomspace(10, 1e9, quick_or_full(setting, 9, 25)).tolist()
    for horizon in sorted({float(PUBLISHED_T), *horizons}):
        low, high = (distance_bounds(horizon, epsilon) for epsilon in np.exp([-0.01, 0.01]))
        slopes = {
            f"{name}_slope": np.log(high[name] / low[name]) / 0.02 for name in ("named", "proof")
        }
        yield {"horizon": horizon, **distance_bounds(horizon, 1.0), **slopes}


def check_constants(frame: pd.DataFrame) -> Checks:
    """Only the exchanged constants with 1/T give the proof's bound."""
    yield equal_to("whole", (frame["whole"] / frame["proof"]).max(), 1.0, "1")
    yield at_least("named", (frame["named"] / frame["proof"]).min(), 1.0, "1")
    (thousand,) = select_rows(frame, horizon=1000.0).itertuples()
    yield at_least("exchanged", thousand.exchanged / thousand.proof, 100.0, "1")
    power = thousand.named_slope
    yield Check("named_power", power, -0.05, 0.0, "between -1 and -2", "law", EXACT)
    power = frame["proof_slope"].iloc[-1]
    yield Check("proof_power", power, -2.05, -1.9, "-2", "law", EXACT)


draw_constants = draw_panels(
    "E-11",
    make_panel(
        curve("horizon", "proof", "what the proof gives"),
        curve("horizon", "named", "(8), constants as named", 1),
        curve("horizon", "exchanged", "(8), constants exchanged", 2),
        labels=("ticks T", "bound on the squared distance"),
        logs="xy",
        legend={},
    ),
    make_panel(
        curve("horizon", "proof_slope"),
        curve("horizon", "named_slope", color=1),
        lambda axes, frame: axes.axvline(PUBLISHED_T, **DOTTED),
        labels=("ticks T", "power of ε at ε = 1"),
        heading="dotted: T of the experiments",
        logs="x",
    ),
)


# ---- E-21: a mixing rate of one


def averaging_matrix(owner: int, size: int) -> Array:
    """W: owner and learner, who is last, take the mean of both."""
    difference = np.zeros(size)
    difference[owner] = 1.0
    difference[-1] = -1.0
    return np.eye(size) - np.outer(difference, difference) / 2


def compute_rates(setting: Setting) -> Rows:
    """Mixing rates of one tick and of the mean tick, beside drawn ticks."""
    streams = setting.streams("E-21")
    for owners in (1, 2, 3, 10, 30, 86):
        size = owners + 1
        centred = np.eye(size) - 1 / size
        matrices = [averaging_matrix(i, size) for i in range(owners)]
        mean = np.mean([(centred @ one).T @ (centred @ one) for one in matrices], axis=0)
        eigenvalues, vectors = np.linalg.eigh(mean)
        kept = [np.sum(np.square(centred @ one @ vectors[:, -1])) for one in matrices]
        drawn = streams.rng("ticks", owners).choice(np.array(kept), 50 * setting.runs)
        yield dict(
            owners=owners,
            printed=np.linalg.norm(centred @ matrices[0], 2) ** 2,
            of_mean=eigenvalues[-1],
            formula=mixing_rate(owners),
            **estimate_mean(drawn),
            factor=1 / (1 - np.sqrt(max(eigenvalues[-1], 0.0))),
        )


def check_rates(frame: pd.DataFrame) -> Checks:
    """One tick has rate 1, the mean tick 1 - 1/(2N)."""
    least = frame["printed"][frame["owners"] > 1].min()
    yield equal_to("printed", least, 1.0, "below 1")
    three, many = (next(select_rows(frame, owners=n).itertuples()) for n in (3, 86))
    yield equal_to("mean_matrix", many.of_mean / many.formula, 1.0, "below 1")
    yield close_to("simulated", three.measured, three.formula, three.std_error, "below 1")


draw_rates = draw_panels(
    "E-21",
    make_panel(
        estimates_and_law("owners", law="formula"),
        curve("owners", "printed", "as printed", 1, ls="--", lw=1),
        legend_entry("measured, and 1 - 1/(2N)"),
        labels=("owners N", "λ"),
        logs="x",
        legend={},
    ),
    make_panel(
        curve("owners", "factor", **DOTS),
        labels=("owners N", "1/(1 - √λ); infinite as printed"),
        logs="xy",
    ),
)


# ---- E-24: abstract against figure, and records against tables

COLLABORATIONS = (("Figure 6", 5, 10.0), ("Figure 6", 100, 2.5), ("abstract", 10, 1.0))
TABLES = (
    ("Wu et al., section I: three banks of 350,000", 3, 350_000),
    ("Farokhi et al., Figure 6: over a hundred of 10,000", 101, 10_000),
)


def compute_claims(setting: Setting) -> Rows:
    """Fitted cost of privacy of each claim, and records that tables would need."""
    for what, owners, epsilon in COLLABORATIONS:
        # (11) with the constants fitted in section V
        noise = 2.1e9 * owners / (owners * 10_000) ** 2 / epsilon**2
        cost = {"cost_of_privacy": noise, "of_theorem": noise * owners / 3}
        yield {"what": what, "owners": owners, "epsilon": epsilon, **cost}
    for what, owners, each in TABLES:
        needed = {"records_needed": owners * each, "records_there": LOANS}
        yield {"what": what, "owners": owners, **needed}


def check_claims(frame: pd.DataFrame) -> Checks:
    """The abstract's claim costs more than the figure's, and tables are too small."""
    named = frame.set_index("what")

    def relate_abstract(column: str) -> float:
        cost = named[column]
        return float(cost["abstract"]) / float(cost.loc["Figure 6"].max())

    yield at_least("abstract", relate_abstract("cost_of_privacy"), 10.0, "at most 1")
    ratio = relate_abstract("of_theorem")
    yield at_least("abstract_by_theorem", ratio, 1.0, "at most 1")
    yield at_most("hospitals", GAIN / HOSPITALS, 0.5, "1")
    for row in frame[frame["records_needed"] > 0].itertuples():
        what = f"records needed over records there: {row.what}"
        yield at_least(what, row.records_needed / row.records_there, 1.0, "at most 1")


def draw_costs(axes: Axes, frame: pd.DataFrame) -> None:
    """One bar for each claim, with its words."""
    part = frame[frame["cost_of_privacy"] > 0]
    for number, row in enumerate(part.itertuples()):
        color = PALETTE[row.what == "abstract"]
        axes.barh(number, row.cost_of_privacy, color=color, height=0.45)
        text = f"{row.what}: N = {row.owners:.0f}, ε = {row.epsilon:g}"
        axes.text(0.011, number - 0.3, text, fontsize=8, va="bottom")


draw_claims = draw_panel(
    "E-24",
    draw_costs,
    labels=("cost of privacy 2.1e9/n² Σ 1/ε², in relative fitness", ""),
    logs="x",
    yticks=[],
    xlim=(0.01, 4),
    ylim=(2.5, -0.7),
    legend=None,
)

ITEMS = (
    make_item("E-11", compute_constants, check_constants, draw_constants),
    make_item("E-21", compute_rates, check_rates, draw_rates),
    make_item("E-24", compute_claims, check_claims, draw_claims),
)
