"""Which noise is least for the same promise: l2 noise beside Laplace and Gaussian noise, by numbers and by answers."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from learning.privacy.gaussian import Gaussian
from learning.privacy.l2 import L2, AccountedL2
from learning.privacy.l2_accounting import common_factor
from learning.privacy.laplace import Laplace
from scenarios.report.figure_page import PALETTE
from scenarios.reproduce.drawing import MARKERS, legend, page, scales
from scenarios.reproduce.item import Check, Item, Setting, told

WIDTH = 10  # numbers in an answer where answers differ
USUAL = (1.0, 1e-6)  # epsilon and delta of the figure
BUDGETS = (USUAL, (0.1, 1e-6), (5.0, 1e-6), (1.0, 1e-9))
WIDTHS, ANSWERS = (1, 2, 3, 5, 10, 20, 50, 100, 300, 1000), (*range(1, 13), 17, 30)
NOISES: dict[str, str] = {
    "laplace": "Laplace, pure",
    "laplace_pld": "Laplace, exactly counted",
    "gaussian": "Gaussian, exactly counted",
    "l2": "l2, pure",
    "l2_pld": "l2, exactly counted",
}


def factors(width: int, answers: int, epsilon: float, delta: float) -> dict[str, float]:
    """Variance per number of each noise, on answers that move by at most 1 in 2-norm, and so by sqrt(p) in 1-norm."""
    noises = {"gaussian": Gaussian(delta, "pld"), "l2": L2(width), "l2_pld": AccountedL2(delta, answers, width)}
    found = {name: float(noise.variance(epsilon, 1, 0.5, answers)) for name, noise in noises.items()}
    laplace = float(Laplace().variance(epsilon, 1, 0.5 * np.sqrt(width), answers))
    ratio = common_factor(((1.0, 1),) * answers, epsilon, delta)  # of `AccountedLaplace`, without its whole table
    return {"laplace": laplace, "laplace_pld": 2 * width / ratio**2, **found}


def compute(setting: Setting) -> pd.DataFrame:
    """The variance of every noise, by numbers in one answer and by answers of ten numbers."""
    budgets = BUDGETS[:2] if setting.quick else BUDGETS
    grid = [(width, 1, *budget) for budget in budgets for width in WIDTHS]
    grid += [(WIDTH, count, *budget) for budget in budgets for count in ANSWERS[1:]]
    rows = []
    for width, count, epsilon, delta in grid:
        found = factors(width, count, epsilon, delta)
        needed = found["gaussian"] * epsilon**2 / count**2  # p + 1 of pure l2 noise, 2 p of Laplace noise
        below = {"l2_below_gaussian_up_to": _below(needed - 1), "laplace_below_gaussian_up_to": _below(needed / 2)}
        rows.append({"numbers": width, "answers": count, "epsilon": epsilon, "delta": delta, **found, **below})
        setting.did(1 / len(grid))
    return pd.DataFrame(rows)


def _below(limit: float) -> int:
    """The largest whole number below a limit, at least 0.

    >>> _below(16.8), _below(16.0), _below(-3.0)
    (16, 15, 0)
    """
    return max(0, int(np.ceil(limit)) - 1)


def checks(frame: pd.DataFrame) -> list[Check]:
    """What the paper says of one answer; and, of several, where the noises cross."""
    single = frame[frame["answers"] == 1]
    least = single[["laplace_pld", "gaussian"]].min(axis=1)
    one, wide = single[single["numbers"] == 1], single[single["numbers"] == WIDTHS[-1]]
    usual = frame[np.isclose(frame["epsilon"], USUAL[0]) & np.isclose(frame["delta"], USUAL[1], rtol=0.1, atol=0)]
    ten = usual[usual["numbers"] == WIDTH].sort_values("answers").set_index("answers")
    many = frame[frame["numbers"] == WIDTH]

    def up_to(name: str) -> float:
        return float(ten.index[ten[name] < ten["gaussian"]].max())

    over_both = float((single["l2_pld"] / least).max())
    off = float((one["l2_pld"] / one["laplace_pld"] - 1).abs().max())
    least_wide = float((wide["l2_pld"] / wide["gaussian"]).min())
    most_many = float((many["l2_pld"] / many["gaussian"]).max())
    return [
        Check("one answer: l2 over the lesser of Laplace and Gaussian, all exactly counted, at most", over_both,
              -np.inf, 1.0005, "lower error than both", "law", 1e-4),
        Check("one answer of one number: l2 over Laplace, exactly counted, off 1 by at most", off, -np.inf, 1e-3,
              "matches Laplace at d = 1", "law", 1e-4),
        Check("one answer of 1,000 numbers: l2 over Gaussian noise, at least", least_wide, 0.98, np.inf,
              "approaches the Gaussian", "law", 1e-4),
        Check("any number of answers of ten numbers: l2 over Gaussian noise, at most", most_many, -np.inf,
              1 + 1 / WIDTH, "", "law", 1e-4),
        *(told(f"one answer of 10 numbers, ε = 1, δ = 1e-6: variance of {NOISES[name]}", float(ten[name][1]), 1e-3)
          for name in NOISES),
        *(told(f"one answer, ε = 1, δ = 1e-6: numbers up to which pure {name} noise is below Gaussian",
               float(ten[f"{name.lower()}_below_gaussian_up_to"][1])) for name in ("l2", "Laplace")),
        *(told(f"10 numbers, ε = 1, δ = 1e-6: answers up to which {NOISES[name]} is below Gaussian", up_to(name))
          for name in ("l2", "l2_pld")),
    ]  # fmt: skip


def draw(frame: pd.DataFrame, note: str) -> Figure:
    """Variance over that of Gaussian noise: by numbers in one answer, and by answers of ten numbers."""
    figure, panels = page("Noise for the same promise, over Gaussian noise: ε = 1, δ = 1e-6", note, 2)
    usual = frame[np.isclose(frame["epsilon"], USUAL[0]) & np.isclose(frame["delta"], USUAL[1], rtol=0.1, atol=0)]
    for axes, part, x in (
        (panels[0], usual[usual["answers"] == 1], "numbers"),
        (panels[1], usual[usual["numbers"] == WIDTH], "answers"),
    ):
        part = part.sort_values(x)
        for number, (name, label) in enumerate(NOISES.items()):
            share = part[name] / part["gaussian"]
            style = "--" if name == "laplace_pld" else "-"  # which lies on that of pure noise for long
            axes.plot(part[x], share, style, color=PALETTE[number], marker=MARKERS[number], ms=3, lw=1.1, label=label)
        scales(axes, "xy")
        axes.set_ylim(0.1, 40)
    panels[0].set(xlabel="numbers p in one answer", ylabel="variance over that of Gaussian noise")
    panels[1].set(xlabel="answers T of ten numbers each")
    legend(panels[1])
    return figure


ITEM = Item(
    key="JKY-1",
    where="Joseph, Kulesza and Yu, abstract",
    title="L2 noise beside Laplace and Gaussian noise",
    claim="Under (ε, δ)-differential privacy the l2 mechanism has less error than the Laplace and the Gaussian mechanism "
    "over a range of parameters; it matches the former at d = 1 and approaches the latter as d grows.",
    compute=compute,
    checks=checks,
    draw=draw,
    differs="The paper counts one answer, by bounds on two tails of the privacy loss; here the loss has a closed density in "
    "one dimension, so that answers compose. Over many answers Gaussian noise is less again: losses add up to a normal law, "
    "whose spread for the same variance no noise makes smaller; that of l2 noise is √((p + 1)/p) times as wide. A vector of "
    "2-norm at most c has a 1-norm of up to c√p, and Laplace noise is scaled to that. Answers share a budget evenly. "
    "Variances are per number, in units of the squared sensitivity.",
    cost=3.0,
)
ITEMS = (ITEM,)
