"""TH-2.4: an adversary's posterior belief and its cap, after Lee and Clifton."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from learning.arrays import Array
from market.costs.leakage import belief_bound
from reproduction.checks import (
    ROUNDING,
    agrees_within,
    attains_bound,
    select_rows,
    within_bound,
)
from reproduction.claims import Checks, Rows, make_item, quick_or_full
from reproduction.item import Check, Setting
from reproduction.plots import DOTS, RINGS, Style, curve, draw_panels, make_panel
from scenarios.report.figure_page import INK, MUTED, PALETTE

# True answers in each possible world, in units of the sensitivity Δf.
WORLDS = {
    "two worlds": np.array([0.0, 1.0]),
    "one of ten stands apart": np.array([0.0, *[1.0] * 9]),
    "ten in a row": np.linspace(0.0, 1.0, 10),
    "ten in a row, half as far": np.linspace(0.0, 0.5, 10),
}
WORST = ("two worlds", "one of ten stands apart")
CAPS = (0.2, 1 / 3, 0.5, 0.75, 0.9)  # on the belief
WORLDS_CAPPED = 10
DRAWS = 100_000


def posterior_beliefs(answers: Array, worlds: Array, epsilon: float) -> Array:
    """Posterior of each world after an answer, (m, answers).

    Laplace noise has scale 1/ε, and the prior is uniform.
    """
    distance = np.abs(answers - worlds[:, None])
    weights = np.exp(-epsilon * (distance - distance.min(axis=0)))
    return weights / weights.sum(axis=0)


def largest_belief(worlds: Array, epsilon: float) -> float:
    """The largest posterior of any world after any answer.

    Between two true answers the log of a belief is concave, or convex with kinks at true answers
    alone; beyond all of them it is constant. So the true answers and one beyond each end suffice.
    """
    answers = np.append(worlds, [worlds.min() - 1, worlds.max() + 1])
    return float(posterior_beliefs(answers, worlds, epsilon).max())


def epsilon_for_cap(belief: float, worlds: int) -> float:
    """The largest ε that keeps a belief at or below a cap: ``ln((m-1) r/(1-r))``, Δf = Δv."""
    return float(np.log((worlds - 1) * belief / (1 - belief)))


def compute_beliefs(setting: Setting) -> Rows:
    """Largest beliefs over ε beside the bound, drawn answers, and caps."""
    grid = np.linspace(0, 6, quick_or_full(setting, 13, 49))
    fine = np.linspace(-3, 4, 2001)
    draws = quick_or_full(setting, DRAWS // 10, DRAWS)
    for name, worlds in WORLDS.items():
        count = len(worlds)
        spread = float(np.ptp(worlds))
        common = {"worlds": name, "m": count, "ratio": spread}
        for epsilon in grid:
            yield dict(
                panel="belief",
                **common,
                epsilon=epsilon,
                belief=largest_belief(worlds, epsilon),
                on_a_grid=float(posterior_beliefs(fine, worlds, epsilon).max()),
                bound=float(belief_bound(np.array(epsilon), count, spread)),
                as_printed=float(1 / (1 + (count - 1) * np.exp(-math.e * spread))),
            )
        rng = setting.streams("TH-2.4").rng(name)
        for epsilon in (0.5, 2.0):
            truth = rng.integers(count, size=draws)
            answers = worlds[truth] + rng.laplace(scale=1 / epsilon, size=draws)
            held = posterior_beliefs(answers, worlds, epsilon)
            # its mean is 0, since beliefs are posterior probabilities
            gap = held[truth, np.arange(draws)] - (held**2).sum(axis=0)
            yield dict(
                panel="drawn",
                **common,
                epsilon=epsilon,
                belief=float(held.max()),
                bound=float(belief_bound(np.array(epsilon), count, spread)),
                gap=float(gap.mean()),
                std_error=float(gap.std() / np.sqrt(draws)),
            )
    for belief in CAPS:
        epsilon = epsilon_for_cap(belief, WORLDS_CAPPED)
        reached = largest_belief(WORLDS["one of ten stands apart"], epsilon)
        cap = {"panel": "cap", "m": WORLDS_CAPPED, "epsilon": epsilon, "bound": belief}
        yield cap | {"belief": reached}


def check_beliefs(frame: pd.DataFrame) -> Checks:
    """No belief passes the bound, one reaches it, and the caps hold."""
    held, drawn, caps = (select_rows(frame, panel=name) for name in ("belief", "drawn", "cap"))
    part = held["belief"] / held["bound"]
    yield within_bound("bound", float(part.max()))
    least = float(part[held["worlds"].isin(WORST)].min())
    yield attains_bound("attained", least, "the worst case")
    reached = float((caps["belief"] - caps["bound"]).abs().max())
    yield Check("caps", reached, 0, ROUNDING, "r", "value", ROUNDING)
    most = float((drawn["belief"] / drawn["bound"]).max())
    yield within_bound("drawn", most)
    missed = float((held["on_a_grid"] - held["belief"]).max())
    yield Check("grid", missed, -np.inf, ROUNDING, "", "law", 1e-6)
    off = float((drawn["gap"] / drawn["std_error"]).abs().max())
    yield agrees_within("calibration", off, 4.5)


def draw_worlds(axes: Axes, frame: pd.DataFrame) -> None:
    """A line and its bound for each set of worlds, and the bound as printed."""
    for number, name in enumerate(WORLDS):
        part = select_rows(frame, worlds=name).sort_values("epsilon")
        curve("epsilon", "belief", name, number, lw=1.5)(axes, part)
        some = part.iloc[:: max(1, len(part) // 13)]
        curve("epsilon", "bound", None, number, **RINGS)(axes, some)
    printed = select_rows(frame, worlds="one of ten stands apart")["as_printed"].iloc[0]
    axes.axhline(printed, color=MUTED, lw=1, ls="--")
    axes.text(3.2, printed + 0.015, "as printed (m = 10)", fontsize=7, color=MUTED)


def draw_caps(axes: Axes, frame: pd.DataFrame) -> None:
    """The ε for any cap, with some in numbers."""
    risks = np.linspace(0.11, 0.97, 200)
    budgets = [epsilon_for_cap(risk, WORLDS_CAPPED) for risk in risks]
    axes.plot(risks, budgets, color=PALETTE[0], lw=1.5)
    curve("bound", "epsilon", color=INK, **DOTS)(axes, frame)
    style: Style = {"textcoords": "offset points", "ha": "right", "fontsize": 7.5}
    for row in frame.itertuples():
        axes.annotate(f"{row.epsilon:.2f}", (row.bound, row.epsilon), (-4, 4), **style)


draw_beliefs = draw_panels(
    "TH-2.4",
    make_panel(
        draw_worlds,
        labels=("privacy budget ε", "surest belief"),
        heading="(a) Laplace noise, worlds alike beforehand",
        where={"panel": "belief"},
        legend={"loc": "upper left"},
        ylim=(0, 1.5),
        xlim=(0, 6),
        yticks=[0, 0.2, 0.4, 0.6, 0.8, 1],
    ),
    make_panel(
        draw_caps,
        labels=("cap r on the belief", "largest ε"),
        heading=f"(b) ε for a cap, {WORLDS_CAPPED} worlds, Δv = Δf",
        where={"panel": "cap"},
        xlim=(0, 1),
        ylim=(0, None),
    ),
    says=(
        "Solid: the most that any answer makes of any world; circles: the bound (2.4) of the same"
        " colour"
    ),
    height=2.7,
)

BELIEF = make_item("TH-2.4", compute_beliefs, check_beliefs, draw_beliefs)
