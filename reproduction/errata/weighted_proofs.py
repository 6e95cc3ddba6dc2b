"""Errata of the proofs of weighted distributed ERM: another algorithm, objective and condition."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import scipy

from learning.arrays import Array
from learning.losses.loss import RecordFitness
from learning.losses.losses import LOSSES
from reproduction.checks import at_least, at_most, equal_to, pick_number, select_rows
from reproduction.claims import Checks, Rows, make_item, quick_or_full
from reproduction.item import Check, Setting
from reproduction.plots import draw_panel, draw_panels, estimates_and_law, make_panel

RIDGE = 0.01
LOSS = LOSSES["logistic"]

# ---- E-25: a proof of another algorithm


def sample_party(
    unlike: float, which: int, records: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Records of one of two parties, two features of norm 1 at most.

    ``unlike`` from 0 to 1 is the difference between the parties' features and labels.
    """
    sign = 1 if which else -1
    spread = np.array([1 + 0.9 * sign * unlike, 1 - 0.9 * sign * unlike])
    x = rng.normal(size=(records, 2)) * spread
    x /= np.linalg.norm(x, axis=1).max()
    odds = scipy.special.expit(8 * x @ np.array([1.0, 1.0 - 2 * unlike * which]))
    return x, np.where(rng.random(records) < odds, 1.0, -1.0)


def descend(cost: RecordFitness, rounds: int) -> list[Array]:
    """Points of gradient descent with steps of 2, below 2/smoothness."""
    path = [np.zeros(2)]
    for _ in range(rounds):
        path.append(path[-1] - 2 * cost.gradient(path[-1]))
    return path


def compute_algorithms(setting: Setting) -> Rows:
    """Excess risk of the average of local models, and of the common model of the proof."""
    records, rounds = quick_or_full(setting, (500, 300), (2000, 2000))
    streams = setting.streams("E-25")
    for unlike in (0.0, 0.5, 1.0):
        parts = [
            sample_party(unlike, which, records, streams.rng("records", which)) for which in (0, 1)
        ]
        pooled = RecordFitness(LOSS, parts, RIDGE)
        costs = (*(RecordFitness(LOSS, (part,), RIDGE) for part in parts), pooled)
        first, second, common = (descend(cost, rounds) for cost in costs)
        for k in np.unique(np.geomspace(1, rounds, 20).astype(int)):
            models = np.stack([(first[k] + second[k]) / 2, common[k]])
            run, proved = pooled.value(models) - pooled.optimum
            yield dict(unlike=unlike, round=k, as_run=run, as_proved=max(proved, 1e-12))


def check_algorithms(frame: pd.DataFrame) -> Checks:
    """The average of local models misses the optimum of heterogeneous parties."""
    last = select_rows(frame, round=frame["round"].max()).set_index("unlike")
    run = last["as_run"]
    yield at_least("as_run", run[1.0], 1e-4, "0", 0.05)
    yield at_most("as_proved", last["as_proved"][1.0], 1e-6, "0", 1e-6)
    yield at_least("over_equal_parties", run[1.0] / max(run[0.0], 1e-12), 10.0, "1", np.inf)


PARTIES = {0.0: "alike", 0.5: "less alike", 1.0: "unlike"}
draw_algorithms = draw_panels(
    "E-25",
    *(
        make_panel(
            estimates_and_law("round", column, by="unlike", label=PARTIES),
            labels=("rounds T", "L - L*"),
            heading=title,
            logs="xy",
            legend={} if column == "as_run" else None,
            ylim=(3e-13, 1),
        )
        for column, title in (
            ("as_run", "Algorithm 1: local steps, one average"),
            ("as_proved", "the proof: steps from one common model"),
        )
    ),
)


# ---- E-26: another objective


def compute_objectives(setting: Setting) -> Rows:
    """Gap of weighted and plain averages of two parties, under both objectives, squared loss."""
    records = quick_or_full(setting, 1000, 5000)
    streams = setting.streams("E-26")
    noise = [streams.rng("records", which).normal(size=9 * records) for which in (0, 1)]
    for skew in (1, 2, 3, 5, 7, 9):
        means = np.array([noise[0][: skew * records].mean(), 1 + noise[1][:records].mean()])
        weighted = np.array([skew, 1]) / (skew + 1) @ means
        plain = np.array([0.5, 0.5]) @ means
        for rule, model in (("weighted", weighted), ("plain", plain)):
            gaps = {"gap_printed": (model - plain) ** 2, "gap_pooled": (model - weighted) ** 2}
            yield {"skew": skew, "rule": rule, **gaps}


def check_objectives(frame: pd.DataFrame) -> Checks:
    """Each average is exact for its own objective."""
    nine = select_rows(frame, skew=9).set_index("rule")
    printed = nine["gap_printed"]
    pooled = nine["gap_pooled"]
    yield at_least("weighted_printed", printed["weighted"], 0.1, "0", 0.1)
    yield equal_to("plain_printed", printed["plain"], 0.0, "above the other's")
    yield equal_to("weighted_pooled", pooled["weighted"], 0.0, "0")
    yield at_least("plain_pooled", pooled["plain"], 0.1, "above 0", 0.1)


draw_objectives = draw_panels(
    "E-26",
    *(
        make_panel(
            estimates_and_law("skew", column, by="rule"),
            labels=("largest over smallest party u", "gap to the minimum"),
            heading=title,
            legend={} if column == "gap_printed" else None,
        )
        for column, title in (
            ("gap_printed", "objective (1): mean of the parties' means"),
            ("gap_pooled", "mean over all records"),
        )
    ),
)


# ---- E-27: convex functions need not satisfy the Polyak-Lojasiewicz condition

Curve = Callable[[float], float]
# place of z, value there (the least value is 0), and slope
FUNCTIONS: dict[str, tuple[Curve, Curve, Curve]] = {
    "logistic": (lambda z: z, lambda at: np.log1p(np.exp(-at)), lambda at: -1 / (1 + np.exp(at))),
    "quartic": (lambda z: 1 / z, lambda at: at**4, lambda at: 4 * at**3),
    "ridge": (lambda z: z, lambda at: at**2 / 2, lambda at: at),
}
FUNCTION_LABELS = {
    "logistic": "logistic loss at margin z",
    "quartic": "θ⁴ at θ = 1/z",
    "ridge": "θ²/2 at θ = z",
}


def compute_ratios(setting: Setting) -> Rows:
    """Ratio of the condition for three convex functions."""
    for name, (place, value, slope) in FUNCTIONS.items():
        for z in (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0):
            at = place(z)
            width = 1e-4 * at
            yield dict(
                function=name,
                z=z,
                ratio=slope(at) ** 2 / 2 / value(at),
                slope=slope(at),
                by_differences=(value(at + width) - value(at - width)) / (2 * width),
            )


def check_ratios(frame: pd.DataFrame) -> Checks:
    """Only the strongly convex function has a ratio that stays away from 0."""
    for what, function, high in (
        ("logistic", "logistic", 1e-9),
        ("quartic", "quartic", 0.01),
    ):
        ratio = pick_number(frame, "ratio", function=function, z=30.0)
        yield at_most(what, ratio, high, "above some μ > 0")
    ratio = select_rows(frame, function="ridge")["ratio"].min()
    yield equal_to("ridge", ratio, 1.0, "above some μ > 0")
    ratio = float((frame["by_differences"] / frame["slope"]).max())
    yield Check("differences", ratio, 0.999, 1.001)


draw_ratios = draw_panel(
    "E-27",
    estimates_and_law("z", "ratio", by="function", label=FUNCTION_LABELS),
    labels=("z", "|∇L|²/(2(L - L*))"),
    logs="xy",
)

ITEMS = (
    make_item("E-25", compute_algorithms, check_algorithms, draw_algorithms),
    make_item("E-26", compute_objectives, check_objectives, draw_objectives),
    make_item("E-27", compute_ratios, check_ratios, draw_ratios),
)
