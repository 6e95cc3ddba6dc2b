"""B-AS: Theorem 2 of The Cost of Privacy in Asynchronous DP ML, with the constants of its Appendix B, beside trainings."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from learning.privacy.laplace import Laplace
from learning.training.plan import Plan
from learning.training.theorems import gossip_gap
from scenarios.report.figure_page import PALETTE
from scenarios.reproduce.bounds.problems import Run, generated, slope, with_bounds
from scenarios.reproduce.drawing import legend, page, say, scales
from scenarios.reproduce.item import Check, Item, Setting

WIDTH, SHARES, RIDGE = 5, (1, 1, 1), 0.1
RUNS = 200  # a second, so that few need not do
ROOM = 5.0  # the ball, in units of the best parameters' largest


def budgets(setting: Setting, horizon: int) -> np.ndarray:
    """From noise alone to next to none; noise goes by T/epsilon."""
    return horizon / 100 * np.geomspace(5, 5000, 11 if setting.quick else 16)


def records(setting: Setting) -> tuple[int, ...]:
    return (600, 2400) if setting.quick else (600, 1200, 2400)


def horizons(setting: Setting) -> tuple[int, ...]:
    return (100, 300) if setting.quick else (100, 1000)


def trained(setting: Setting, n_records: int, horizon: int, rule: str) -> pd.DataFrame:
    """Measured, and as Theorem 2 bounds it; steps c/T^2 with c = T^2/(2 lambda), or the c of T = 100 for every T."""
    small = generated("squared", n_records, WIDTH, regularisation=RIDGE)
    ball = ROOM * float(np.abs(small.cost.minimiser).max())
    constant = (horizon if rule == "moving" else horizons(setting)[0]) ** 2 / (2 * small.curvatures[1])
    run = Run(
        small, SHARES, Plan("asynchronous", "last", horizon, constant), Laplace(), budgets(setting, horizon),
        small.longest_gradient(1, ball), ball=ball,
    )  # fmt: skip
    found = with_bounds(run, run.measured(RUNS, setting.streams(f"B-AS {rule} {horizon}")))
    start = float(np.sum(small.cost.minimiser**2))
    noise = run.variances() @ (run.sizes / run.sizes.sum()) ** 2
    return found.assign(rule=rule, noise_power=noise, start_excess=run.start_excess, start_distance=start)


def compute(setting: Setting) -> pd.DataFrame:
    parts = []
    for horizon in horizons(setting):
        for n_records in records(setting):
            parts.append(trained(setting, n_records, horizon, "moving"))
            setting.did(1 / (len(horizons(setting)) * len(records(setting))))
        parts.append(trained(setting, records(setting)[0], horizon, "fixed"))
    frame = pd.concat(parts, ignore_index=True)
    frame["fitted"] = frame["excess"] / frame["constant"] * _fitted(frame)
    talk = np.eye(len(SHARES) + 1)[0] - np.eye(len(SHARES) + 1)[-1]  # the first owner and the learner
    of_one_round = np.eye(len(talk)) - np.outer(talk, talk) / 2 - 1 / len(talk)
    return frame.assign(gap_printed=1 - np.linalg.norm(of_one_round, 2), gap=gossip_gap(len(SHARES)))


def _fitted(frame: pd.DataFrame) -> pd.Series:
    """c_2' of (11), c_1' being 0: at the fewest records and the smallest budget at which noise rules, for each horizon."""
    told, noisy = {}, ruled_by_noise(frame)
    for key, part in frame.groupby(["horizon", "rule"]):
        few = part[part["n_records"] == part["n_records"].min()]
        ruled = few.loc[few.index.intersection(noisy.index)].sort_values("epsilon")
        told[key] = ruled["constant"].iloc[0] if len(ruled) else np.nan
    return pd.Series([told[key] for key in zip(frame["horizon"], frame["rule"], strict=True)], index=frame.index)


def ruled_by_noise(frame: pd.DataFrame) -> pd.DataFrame:
    """Where the ball cuts little off and what is left to optimise hardly shows: excess below that of the start, and above
    thirty times what is left at the largest budget."""
    left = frame.groupby(["horizon", "rule", "n_records"])["excess"].transform("min")
    return frame[(frame["excess"] < frame["start_excess"]) & (frame["excess"] > 30 * left)]


def checks(frame: pd.DataFrame) -> list[Check]:
    moving = frame[frame["rule"] == "moving"]
    noisy = ruled_by_noise(moving)
    fixed = frame[frame["rule"] == "fixed"].sort_values(["horizon", "epsilon"]).groupby("horizon").last()
    worst = {
        name: float((frame["distance_least"] / frame[name]).max())
        for name in ("printed_distance", "corrected_distance")
    }
    alike = noisy.groupby(["horizon", "n_records"])
    rise = [slope(part["epsilon"] * part["n_records"], part["excess"]) for _, part in alike if len(part) > 1]
    return [
        Check("(8) as printed: largest measured squared distance over the bound", worst["printed_distance"], 0, 1,
              "at most 1", "law", 1e-8),
        Check("(8) as its proof gives it: the same", worst["corrected_distance"], 0, 1, "", "law", 2e-6),
        Check("excess as its proof gives it, by smoothness: largest measured over the bound",
              float((frame["excess_least"] / frame["corrected"]).max()), 0, 1, "", "law", 2e-6),
        Check("slope of the excess in n epsilon where noise rules, (11)", float(np.mean(rise)) if rise else np.nan,
              -2.1, -1.9, "-2", "law", 0.05),
        Check("(11) with c_2' fitted at one point: largest measured over it where noise rules, other n and epsilon",
              float((noisy["excess_least"] / noisy["fitted"]).max()), 0, 1.25,
              "at most 1", "law", 0.15),
        Check("1 - sqrt(lambda) of one round, as Appendix B prints it, three owners", float(frame["gap_printed"].max()),
              1e-9, 1, "above 0", "value", 1e-9),
        Check("1 - sqrt(lambda) of the mean round", float(frame["gap"].max()), 1e-9, 1, "above 0", "law", 1e-9),
        Check("excess at the longest horizon over that at the shortest, rho fixed, hardly any noise",
              float(fixed["excess"].iloc[-1] / fixed["excess"].iloc[0]), 0, 1,
              "the bound (8) falls with T", "value", 1),
    ]  # fmt: skip


def draw(frame: pd.DataFrame, note: str) -> Figure:
    longest, most = frame["horizon"].max(), frame["n_records"].min()
    made = note or f"{most:,} and more generated records of three owners, {WIDTH} parameters, T = {longest:,}"
    figure, panels = page("Bounds of The Cost of Privacy, beside trainings", made, 2)
    part = frame[(frame["rule"] == "moving") & (frame["horizon"] == longest)].sort_values("epsilon")
    few = part[part["n_records"] == most]
    panels[0].errorbar(few["epsilon"], few["distance"], 2 * few["distance_error"], color=PALETTE[0], marker="o", ms=4,
                       ls="", label="trained")  # fmt: skip
    for number, (name, label, style) in enumerate(
        (
            ("printed_distance", "(8) as printed, mean round's λ", "--"),
            ("corrected_distance", "with every factor", "-"),
        ),
        1,
    ):
        panels[0].plot(few["epsilon"], few[name], color=PALETTE[number], lw=1.1, ls=style, label=label)
    panels[0].axhline(float(few["start_distance"].iloc[0]), color="0.5", lw=0.8, ls=":", label="the start")
    say(panels[0], "squared distance of parameters")
    for number, (n, same) in enumerate(part.groupby("n_records")):
        panels[1].errorbar(same["epsilon"], same["excess"], 2 * same["excess_error"], color=PALETTE[number], marker="o",
                           ms=4, ls="", label=f"trained, n = {n:,}")  # fmt: skip
        panels[1].plot(same["epsilon"], same["fitted"], color=PALETTE[number], lw=1.1, ls="--")
    say(panels[1], "excess; dashed: (11), constant fitted at one point")
    for axes in panels:
        scales(axes, "xy")
        axes.set_xlabel("ε of each of three owners")
        legend(axes)
    return figure


ITEM = Item(
    key="B-AS",
    where="Farokhi et al., Theorem 2, (8)-(11), Appendix B",
    title="Published bounds of The Cost of Privacy",
    claim="The squared distance of the learner's parameters after T ticks is at most c₁√A + c₂A, with A = 1/T² + NΣ(1/T"
    " + 2√2/(nε))² and constants from Appendix B, and the excess likewise; for large T both are a root and a "
    "multiple of Σ1/ε²/n², and the figures fit the multiple alone.",
    compute=compute,
    checks=checks,
    draw=draw,
    differs="Generated records (squared loss, g = 0.05‖θ‖², three owners, 5 parameters, a ball five times as wide as the "
    "best parameters need), so that every assumption holds. Appendix B's λ, that of a single round, is 1 for two "
    "owners or more and makes the bound infinite; drawn is that of the mean round, which must be meant. The "
    "bound holds, because it exceeds the diameter of the ball: C²/σ² is the square of the largest gradient over "
    "that of the smallest curvature. With ρ fixed, a longer horizon takes shorter steps in all, and the model "
    "stays nearer to its start. Constants of (11) are open: fitted at n = 600 and the smallest ε at which noise "
    "rules, tried at all other n and ε at which it does.",
    cost=12.0,
)
