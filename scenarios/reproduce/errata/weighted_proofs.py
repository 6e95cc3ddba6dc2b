"""Errata of what weighted distributed ERM proves: of another algorithm, for another objective, under another condition."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import scipy
from matplotlib.figure import Figure

from learning.arrays import Array
from learning.losses.optimum import logistic_optimum
from scenarios.reproduce.drawing import legend, lines, page, say
from scenarios.reproduce.errata.showing import above, below, equal, pick
from scenarios.reproduce.item import Check, Item, Setting

# ---- E-25, E-26: a proof of another algorithm, and another objective


def _party(unlike: float, which: int, records: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Records of one of two parties, two features of norm 1 at most; ``unlike`` turns features and labels apart."""
    sign = 1 if which else -1
    spread = np.array([1 + 0.9 * sign * unlike, 1 - 0.9 * sign * unlike])
    x = rng.normal(size=(records, 2)) * spread
    x /= np.linalg.norm(x, axis=1).max()
    label = np.where(
        rng.random(records) < scipy.special.expit(8 * x @ np.array([1.0, 1.0 - 2 * unlike * which])), 1.0, -1.0
    )
    return x, label


def _gradient(x: Array, y: Array, theta: Array) -> Array:
    """Of logistic loss with ridge 0.01."""
    return -(y * scipy.special.expit(-y * (x @ theta))) @ x / len(y) + 0.01 * theta


def _loss(x: Array, y: Array, theta: Array) -> float:
    return float(np.logaddexp(0, -y * (x @ theta)).mean() + 0.005 * theta @ theta)


def _descended(x: Array, y: Array, rounds: int) -> list[Array]:
    """Points of descent with steps of 2, below 2/smoothness."""
    path = [np.zeros(2)]
    for _ in range(rounds):
        path.append(path[-1] - 2 * _gradient(x, y, path[-1]))
    return path


def _other_algorithm(setting: Setting) -> pd.DataFrame:
    records, rounds = (500, 300) if setting.quick else (2000, 2000)
    rows, streams = [], setting.streams("E-25")
    for unlike in (0.0, 0.5, 1.0):
        parts = [_party(unlike, which, records, streams.rng("records", which)) for which in (0, 1)]
        x, y = (np.concatenate(both) for both in zip(*parts, strict=True))
        least = _loss(x, y, logistic_optimum(x, y, 0.01).theta)
        first, second, common = (_descended(*part, rounds) for part in (*parts, (x, y)))
        for k in np.unique(np.geomspace(1, rounds, 20).astype(int)):
            as_run, as_proved = _loss(x, y, (first[k] + second[k]) / 2), _loss(x, y, common[k])
            gaps = {"as_run": as_run - least, "as_proved": max(as_proved - least, 1e-12)}
            rows.append({"unlike": unlike, "round": k, **gaps})
    return pd.DataFrame(rows)


def _check_other_algorithm(frame: pd.DataFrame) -> list[Check]:
    last = frame[frame["round"] == frame["round"].max()].set_index("unlike")
    return [
        above(
            "excess loss of the average of local models without noise, unlike parties",
            last["as_run"][1.0],
            1e-4,
            "0",
            tolerance=0.05,
        ),
        below(
            "the same where all step from one common model, as the proof has it",
            last["as_proved"][1.0],
            1e-6,
            "0",
            tolerance=1e-6,
        ),
        above(
            "the first over the same for parties alike",
            last["as_run"][1.0] / max(last["as_run"][0.0], 1e-12),
            10.0,
            "1",
            tolerance=np.inf,
        ),
    ]


def _draw_other_algorithm(frame: pd.DataFrame, note: str) -> Figure:
    figure, panels = page("Two parties without any noise: excess empirical risk of the average", note, columns=2)
    titles = {"as_run": "Algorithm 1: local steps, one average", "as_proved": "the proof: steps from one common model"}
    for axes, (column, title) in zip(panels, titles.items(), strict=True):
        lines(
            axes,
            frame,
            "round",
            column,
            by="unlike",
            label=lambda unlike: {0.0: "alike", 0.5: "less alike", 1.0: "unlike"}[unlike],
        )
        axes.set(xlabel="rounds T", ylabel="L - L*", ylim=(3e-13, 1))
        say(axes, title)
    legend(panels[0])
    return figure


def _objectives(setting: Setting) -> pd.DataFrame:
    records, streams, rows = 1000 if setting.quick else 5000, setting.streams("E-26"), []
    noise = [streams.rng("records", which).normal(size=9 * records) for which in (0, 1)]
    for skew in (1, 2, 3, 5, 7, 9):
        means = np.array(
            [noise[0][: skew * records].mean(), 1 + noise[1][:records].mean()]
        )  # of two parties; squared loss
        weights, halves = np.array([skew, 1]) / (skew + 1), np.array([0.5, 0.5])
        for rule, model in (("weighted", weights @ means), ("plain", halves @ means)):
            rows.append(
                {
                    "skew": skew,
                    "rule": rule,
                    "gap_printed": (model - halves @ means) ** 2,
                    "gap_pooled": (model - weights @ means) ** 2,
                }
            )
    return pd.DataFrame(rows)


def _check_objectives(frame: pd.DataFrame) -> list[Check]:
    nine = frame[frame["skew"] == 9].set_index("rule")
    return [
        above(
            "gap of weighted averaging under objective (1), u = 9",
            nine["gap_printed"]["weighted"],
            0.1,
            "0",
            tolerance=0.1,
        ),
        equal("the same of plain averaging", nine["gap_printed"]["plain"], 0.0, "above the other's"),
        equal(
            "gap of weighted averaging under the mean over all records, u = 9", nine["gap_pooled"]["weighted"], 0.0, "0"
        ),
        above("the same of plain averaging", nine["gap_pooled"]["plain"], 0.1, "above 0", tolerance=0.1),
    ]


def _draw_objectives(frame: pd.DataFrame, note: str) -> Figure:
    figure, panels = page("Which objective each way of averaging minimises: two parties, no noise", note, columns=2)
    for axes, (column, title) in zip(
        panels,
        (("gap_printed", "objective (1): mean of the parties' means"), ("gap_pooled", "mean over all records")),
        strict=True,
    ):
        lines(axes, frame, "skew", column, by="rule", logs="")
        axes.set(xlabel="largest over smallest party u", ylabel="gap to the minimum")
        say(axes, title)
    legend(panels[0])
    return figure


# ---- E-27: convex functions need not satisfy the Polyak-Lojasiewicz condition


def _ratios(setting: Setting) -> pd.DataFrame:
    # where z leads, the function there (its least value is 0), and its slope
    functions: dict[str, tuple[Callable[[float], float], Callable[[float], float], Callable[[float], float]]] = {
        "logistic": (lambda z: z, lambda at: np.log1p(np.exp(-at)), lambda at: -1 / (1 + np.exp(at))),
        "quartic": (lambda z: 1 / z, lambda at: at**4, lambda at: 4 * at**3),
        "ridge": (lambda z: z, lambda at: at**2 / 2, lambda at: at),
    }
    rows = []
    for name, (place, value, slope) in functions.items():
        for z in (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0):
            at, width = place(z), 1e-4 * place(z)
            differences = (value(at + width) - value(at - width)) / (2 * width)
            ratio = slope(at) ** 2 / 2 / value(at)
            rows.append({"function": name, "z": z, "ratio": ratio, "slope": slope(at), "by_differences": differences})
    return pd.DataFrame(rows)


def _check_ratios(frame: pd.DataFrame) -> list[Check]:
    return [
        below(
            "|∇L|²/(2(L - L*)) of logistic loss at a margin of 30",
            pick(frame, "ratio", function="logistic", z=30.0),
            1e-9,
            "above some μ > 0",
        ),
        below("the same of θ⁴ at θ = 1/30", pick(frame, "ratio", function="quartic", z=30.0), 0.01, "above some μ > 0"),
        equal(
            "the same of θ²/2, strongly convex",
            frame["ratio"][frame["function"] == "ridge"].min(),
            1.0,
            "above some μ > 0",
        ),
        Check(
            "slopes by finite differences over the formula's",
            float((frame["by_differences"] / frame["slope"]).max()),
            0.999,
            1.001,
        ),
    ]


def _draw_ratios(frame: pd.DataFrame, note: str) -> Figure:
    figure, (axes,) = page("The ratio that the Polyak-Lojasiewicz condition bounds from below", note)
    words = {"logistic": "logistic loss at margin z", "quartic": "θ⁴ at θ = 1/z", "ridge": "θ²/2 at θ = z"}
    lines(axes, frame, "z", "ratio", by="function", label=words.__getitem__)
    axes.set(xlabel="z", ylabel="|∇L|²/(2(L - L*))")
    legend(axes)
    return figure


WHO = "Kang et al."
ITEMS = (
    Item(
        key="E-25",
        where=f"{WHO}, Theorems 2 and 3 against Algorithm 1",
        title="A bound proved for another algorithm",
        claim=(
            "The expected excess risk of the averaged model is O(p G² ln(1/δ) log n/(n²ε²)): it vanishes without noise."
        ),
        compute=_other_algorithm,
        checks=_check_other_algorithm,
        draw=_draw_other_algorithm,
        differs=(
            "Algorithm 1 has every party walk T steps on its own records and averages once. The proofs walk one model "
            "along the gradient of all records. The two agree where parties are alike. Where they are not, an average "
            "of the parties' best models is not the best model of all records, and the gap stays however small the "
            "noise and however many the records. The same holds of (4), which composes queries at a common model that "
            "nobody makes."
        ),
        cost=2,
    ),
    Item(
        key="E-26",
        where=f"{WHO}, (1) against its weighted average",
        title="An objective that the weights do not serve",
        claim=(
            "The objective of several parties, (1), is the mean of their mean losses, and is called L_D as is the mean "
            "loss of all records; averaging with weights n_j/n lowers the excess of L_D."
        ),
        compute=_objectives,
        checks=_check_objectives,
        draw=_draw_objectives,
        differs=(
            "The mean of means counts a record of a small party more; weights n_j/n count all records alike, as (4) "
            "does. Of two unlike parties each way of averaging is exact for its own objective and off for the other. "
            "What the paper's proofs and experiments go by is the mean over all records; (1) is the objective that "
            "plain averaging serves."
        ),
        cost=1,
    ),
    Item(
        key="E-27",
        where=f"{WHO}, after (13)",
        title="Convex functions that fail the Polyak-Lojasiewicz condition",
        claim=(
            "Convex functions obviously satisfy |∇L|² ≥ 2μ(L - L*) for some μ > 0; the condition is more general than "
            "convexity."
        ),
        compute=_ratios,
        checks=_check_ratios,
        draw=_draw_ratios,
        differs=(
            "Strongly convex functions do. Logistic loss, which the experiments use without a regulariser, is convex, "
            "and its ratio falls to 0 as margins grow; θ⁴ fails at its minimum. Neither condition contains the other, "
            "so over all θ Theorem 3 covers neither convex losses at large nor the one of the experiments. WD-PL looks "
            "for the ratio on the published tables."
        ),
        cost=1,
    ),
)
