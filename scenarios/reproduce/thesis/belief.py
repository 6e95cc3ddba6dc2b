"""An adversary's posterior belief and its cap, (2.4) of the thesis after Lee and Clifton, against exact and drawn beliefs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from market.costs.leakage import belief_bound
from scenarios.report.figure_page import INK, MUTED, PALETTE
from scenarios.reproduce.drawing import legend, page, say
from scenarios.reproduce.item import Check, Item, Setting
from scenarios.reproduce.thesis.guessing import ROUNDING, agrees, at_most_one, attained

# True answers in each world that the adversary holds possible, in units of the sensitivity Δf.
WORLDS = {
    "two worlds": np.array([0.0, 1.0]),
    "one of ten stands apart": np.array([0.0, *[1.0] * 9]),
    "ten in a row": np.linspace(0.0, 1.0, 10),
    "ten in a row, half as far": np.linspace(0.0, 0.5, 10),
}
CAPS = (0.2, 1 / 3, 0.5, 0.75, 0.9)  # beliefs that shall not be passed
WORLDS_CAPPED = 10
DRAWS = 100_000


def beliefs(answers: np.ndarray, worlds: np.ndarray, epsilon: float) -> np.ndarray:
    """Posterior odds of each world after an answer under Laplace noise of scale 1/ε, all alike before: (m, answers)."""
    distance = np.abs(answers - worlds[:, None])
    weights = np.exp(-epsilon * (distance - distance.min(axis=0)))
    return weights / weights.sum(axis=0)


def surest(worlds: np.ndarray, epsilon: float) -> float:
    """The most that any answer makes of any world.

    Between two true answers the log of a belief is concave or convex with kinks at true answers alone, and beyond them all it
    is constant: so no answer tells more than one of the true ones, or any beyond.
    """
    return float(beliefs(np.append(worlds, [worlds.min() - 1, worlds.max() + 1]), worlds, epsilon).max())


def cap(belief: float, worlds: int) -> float:
    """The largest ε that keeps an adversary's belief at or below a cap: ``ln((m-1) r/(1-r))``, where Δf = Δv."""
    return float(np.log((worlds - 1) * belief / (1 - belief)))


def compute(setting: Setting) -> pd.DataFrame:
    """Surest beliefs over ε for several sets of worlds beside the bound; drawn answers; caps."""
    rows: list[dict[str, Any]] = []
    grid = np.linspace(0, 6, 13 if setting.quick else 49)
    fine = np.linspace(-3, 4, 2001)
    for name, worlds in WORLDS.items():
        count, spread = len(worlds), float(np.ptp(worlds))
        rng, draws = setting.streams("TH-2.4").rng(name), DRAWS // 10 if setting.quick else DRAWS
        for epsilon in grid:
            told = {"panel": "belief", "worlds": name, "m": count, "ratio": spread, "epsilon": epsilon}
            told |= {"belief": surest(worlds, epsilon), "on_a_grid": float(beliefs(fine, worlds, epsilon).max())}
            told |= {"bound": float(belief_bound(np.array(epsilon), count, spread))}
            rows.append(told | {"as_printed": float(1 / (1 + (count - 1) * np.exp(-np.e * spread)))})
        for epsilon in (0.5, 2.0):
            truth = rng.integers(count, size=draws)
            held = beliefs(worlds[truth] + rng.laplace(scale=1 / epsilon, size=draws), worlds, epsilon)
            gap = held[truth, np.arange(draws)] - (held**2).sum(
                axis=0
            )  # 0 in the mean, where beliefs are posterior odds
            told = {"panel": "drawn", "worlds": name, "m": count, "ratio": spread, "epsilon": epsilon}
            told |= {"belief": float(held.max()), "bound": float(belief_bound(np.array(epsilon), count, spread))}
            rows.append(told | {"gap": float(gap.mean()), "std_error": float(gap.std() / np.sqrt(draws))})
    for belief in CAPS:
        epsilon = cap(belief, WORLDS_CAPPED)
        reached = surest(WORLDS["one of ten stands apart"], epsilon)
        rows.append({"panel": "cap", "m": WORLDS_CAPPED, "epsilon": epsilon, "bound": belief, "belief": reached})
    return pd.DataFrame(rows)


def checks(frame: pd.DataFrame) -> list[Check]:
    """No belief passes the bound, one reaches it, and the cap on ε does what it says."""
    panels = dict(list(frame.groupby("panel")))
    held, drawn, caps = panels["belief"], panels["drawn"], panels["cap"]
    part = held["belief"] / held["bound"]
    met = part[held["worlds"].isin(["two worlds", "one of ten stands apart"])]
    reached = float((caps["belief"] - caps["bound"]).abs().max())
    missed = float((held["on_a_grid"] - held["belief"]).max())
    off = float((drawn["gap"] / drawn["std_error"]).abs().max())
    return [
        at_most_one("surest belief as a part of the bound", float(part.max())),
        attained("worlds of which one stands apart: smallest part", float(met.min()), "the worst case"),
        Check("caps: largest distance of the surest belief from r", reached, 0, ROUNDING, "r", "value", ROUNDING),
        at_most_one(
            "answers drawn: surest belief as a part of the bound", float((drawn["belief"] / drawn["bound"]).max())
        ),
        Check("a fine grid of answers: rise over the surest belief", missed, -np.inf, ROUNDING, "", "law", 1e-6),
        agrees("drawn beliefs in what is true against what they promise, standard errors", off, 4.5),
    ]


def draw(frame: pd.DataFrame, note: str) -> Figure:
    """Surest beliefs over ε beside their bounds; and the ε that keeps a belief under a cap."""
    said = "Solid: the most that any answer makes of any world; circles: the bound (2.4) of the same colour"
    title = "How sure an adversary becomes of which world is true"
    figure, (first, second) = page(title, "\n".join(filter(None, [said, note])), 2, height=2.7)
    held = frame[frame["panel"] == "belief"]
    for number, name in enumerate(WORLDS):
        part = held[held["worlds"] == name].sort_values("epsilon")
        some = part.iloc[:: max(1, len(part) // 13)]
        first.plot(part["epsilon"], part["belief"], color=PALETTE[number], lw=1.5, label=name)
        first.plot(some["epsilon"], some["bound"], "o", color=PALETTE[number], ms=3, mfc="none")
    printed = held.loc[held["worlds"] == "one of ten stands apart", "as_printed"].iloc[0]
    first.axhline(printed, color=MUTED, lw=1, ls="--")
    first.text(3.2, printed + 0.015, "as printed (m = 10)", fontsize=7, color=MUTED)
    first.set(xlabel="privacy budget ε", ylabel="surest belief", ylim=(0, 1.5), xlim=(0, 6))
    first.set_yticks([0, 0.2, 0.4, 0.6, 0.8, 1])
    legend(first, loc="upper left")
    first.grid(True)
    say(first, "(a) Laplace noise, worlds alike beforehand")
    risks = np.linspace(0.11, 0.97, 200)
    second.plot(risks, [cap(risk, WORLDS_CAPPED) for risk in risks], color=PALETTE[0], lw=1.5)
    caps = frame[frame["panel"] == "cap"]
    second.plot(caps["bound"], caps["epsilon"], "o", color=INK, ms=4)
    for _, row in caps.iterrows():
        second.annotate(
            f"{row['epsilon']:.2f}",
            (row["bound"], row["epsilon"]),
            (-4, 4),
            textcoords="offset points",
            ha="right",
            fontsize=7.5,
        )
    second.set(xlabel="cap r on the belief", ylabel="largest ε", xlim=(0, 1), ylim=(0, None))
    second.grid(True)
    say(second, f"(b) ε for a cap, {WORLDS_CAPPED} worlds, Δv = Δf")
    return figure


BELIEF = Item(
    key="TH-2.4",
    where="Wu, MRes thesis, equation 2.4 and section 2.4.2 (after Lee and Clifton)",
    title="The adversary's posterior belief and its cap",
    claim=(
        "An adversary who holds m worlds possible and sees an ε-private answer is sure of none of them by more than "
        "1/(1+(m-1)e^(-εΔv/Δf)), where the worlds change the answer by Δv at most and its sensitivity is Δf; so a cap r "
        "on the belief asks for ε of at most (Δf/Δv) ln((m-1) r/(1-r))."
    ),
    compute=compute,
    checks=checks,
    draw=draw,
    differs=(
        "With ε where the thesis prints e the bound holds, and is reached where one world stands apart from all others; "
        "where the worlds lie in a row the adversary stays less sure. As printed the exponent does not depend on ε, and "
        "the bound is passed from ε = e on. The cap follows by solving for ε; the thesis gives it in words."
    ),
    cost=1.0,
)
