"""Where collaboration starts to pay under our protocol (AS 6), and which hospitals gain by it (AS 9, 10)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from learning.randomness import Streams
from scenarios.reproduce.drawing import legend, lines, say, scales
from scenarios.reproduce.item import Check, Setting
from scenarios.reproduce.second.column import Second
from scenarios.reproduce.second.grids import LUCK
from scenarios.reproduce.tables import table
from scenarios.reproduce.training.ours import OurMarket, column, our_market, spared

RECORDS = 10_000  # of each owner, as in AS 6
NUMBERS, QUICK_NUMBERS = (2, 3, 4, 5, 7, 10), (3, 5)
BUDGETS, QUICK_BUDGETS = (0.1, 0.3, 1.0, 3.0, 10.0), (0.3, 1.0, 3.0)
SHUFFLES, QUICK_SHUFFLES = 10, 2
DRAWN = "drawn"  # how the learner comes to the stays that it knows
RIDGE = 2e-5  # the paper's g = 1e-5 theta'theta
ENOUGH = 5  # owners from which on it is to pay at epsilon = 1


def owners(setting: Setting) -> pd.DataFrame:
    """Owners of 10,000 loans each: by number, budget and order of the loans; several shuffles, and the file's order."""
    loans = table("lending", setting)
    numbers, budgets = (QUICK_NUMBERS, QUICK_BUDGETS) if setting.quick else (NUMBERS, BUDGETS)
    rows = []
    for number in numbers:
        for shuffle in range(QUICK_SHUFFLES if setting.quick else SHUFFLES + 1):
            shuffled, seed = shuffle > 0 or setting.quick, 1000 * setting.seed + shuffle
            market = our_market(loans, [RECORDS] * number, seed, shuffled=shuffled, regularisation=RIDGE)
            found = column(market, budgets, setting.runs)
            order = "shuffled" if shuffled else "file"
            rows.append(found.assign(order=order, shuffle=shuffle, mean_isolated=market.mean_isolated))
    return pd.concat(rows, ignore_index=True)


def paying(frame: pd.DataFrame, measure: str, errors: float = 2.0) -> pd.DataFrame:
    """Means over shuffles by number of owners and budget; whether the gain over an owner's own model is beyond chance.

    Loans being dealt at random, owners are alike, and what one has alone is told best by the mean over all.

    Columns: owners, epsilon, the measure, its ``std_error`` over shuffles, mean_isolated, alone, gain, ``pays``: whether the
    mean of mean_isolated - measure is above so many of its standard errors.
    """
    frame = frame[frame["order"] == "shuffled"]
    frame = frame.assign(gain=frame["mean_isolated"] - frame[measure])
    groups = frame.groupby(["owners", "epsilon"])
    means = groups[[measure, "mean_isolated", "alone", "gain"]].mean()
    count = groups.size()
    means["std_error"] = groups[measure].std() / np.sqrt(count)
    means["pays"] = means["gain"] > errors * groups["gain"].std() / np.sqrt(count)
    return means.reset_index()


def from_owners(frame: pd.DataFrame, measure: str, epsilon: float = 1.0) -> float:
    """The number of owners from which on it pays at a budget; one more than the most tried where it does not."""
    rows = paying(frame, measure)
    rows = rows[rows["epsilon"] == epsilon].sort_values("owners", ascending=False)
    good = rows["owners"][rows["pays"].cumprod() > 0]
    return float(good.min() if len(good) else rows["owners"].max() + 1)


def value_checks(theirs: pd.DataFrame, ours: pd.DataFrame) -> list[Check]:
    """From how many owners on it pays at epsilon = 1, forecast and trained."""
    checks = [
        Check(
            f"owners from which on it pays at ε = 1 with our protocol, {how}",
            from_owners(ours, measure),
            2,
            ENOUGH,
            "more than 100 at ε = 2.5",
            tolerance=2,
        )
        for how, measure in (("forecast", "law"), ("trained", "relative_fitness"))
    ]
    rows = paying(ours, "relative_fitness")
    at = rows[(rows["owners"] == ENOUGH) & (rows["epsilon"] == 1)].iloc[0]
    for what, other in (("an owner's own model", "mean_isolated"), ("the learner's rows alone", "alone")):
        ratio = float(np.log10(at["relative_fitness"] / at[other]))
        name = f"powers of ten of ψ trained with {ENOUGH} owners at ε = 1 over that of {what}"
        checks.append(Check(name, ratio, -np.inf, 0, "", "law", tolerance=LUCK))
    return checks


def value_panels(panels: Sequence[Axes], frame: pd.DataFrame) -> None:
    """Against the number of owners at epsilon = 1; and which budgets pay."""
    rows = paying(frame, "relative_fitness").merge(paying(frame, "law")[["owners", "epsilon", "law"]])
    upper, lower = panels
    at = rows[rows["epsilon"] == 1]
    lines(upper, at, "owners", "relative_fitness", law="law")
    for name, style, colour, words in (
        ("mean_isolated", "--", "#c44d00", "an owner alone"),
        ("alone", ":", "#636c76", "the learner alone"),
    ):
        upper.plot(at["owners"], at[name], color=colour, ls=style, lw=1.1)
        upper.text(at["owners"].max(), 1.3 * at[name].iloc[-1], words, color=colour, ha="right", fontsize=7.5)
    say(upper, "our protocol, ε = 1: ψ; line: forecast")
    for pays, mark, colour in ((True, "o", "#0072b2"), (False, "x", "#c44d00")):
        some = rows[rows["pays"] == pays]
        lower.plot(some["owners"], some["epsilon"], ls="", marker=mark, ms=5, color=colour)
    scales(lower, "xy")
    say(lower, "budgets ε: an owner gains (dot) or not (cross)")
    for axes in panels:
        axes.set(xlabel="owners N", ylabel="ψ" if axes is upper else "ε", xticks=sorted(rows["owners"].unique()))
        axes.minorticks_off()
        axes.margins(y=0.2)


@cache
def hospitals(setting: Setting) -> pd.DataFrame:
    """All hospitals: ψ of the common model by budget, and of each hospital's own model on all records.

    The learner knows a thousand stays drawn among all, or those in hospitals too small to take part, of other kinds.
    """
    stays = table("hospitals", setting)
    drawn, known = spared(stays.of_owners(), Streams(setting.seed, "ours").rng("dealt"))
    setup: dict[str, Any] = {"regularisation": RIDGE, "seed": setting.seed}
    market = OurMarket(drawn, known, stays, **setup)
    others = OurMarket(stays.of_owners(), (stays.public_x, stays.public_y), stays, **setup)
    budgets = BUDGETS if setting.quick else np.geomspace(0.1, 10, 9).round(6).tolist()
    common = [
        column(one, budgets, setting.runs).assign(learner_knows=name)
        for one, name in ((market, DRAWN), (others, "small hospitals"))
    ]
    own = [market.isolated(place) for place in range(len(market.records))]
    alone = pd.DataFrame({"hospital": stays.owner_names, "n_records": market.sizes, "isolated": own})
    return pd.concat([*common, alone], ignore_index=True)


def common_model(frame: pd.DataFrame) -> pd.DataFrame:
    """The model of all, by budget, where the learner's stays were drawn among all."""
    return frame[frame["learner_knows"] == DRAWN]


def curve(panels: Sequence[Axes], frame: pd.DataFrame) -> None:
    """Against the budget."""
    lines(panels[0], common_model(frame), "epsilon", "relative_fitness", law="law")
    panels[0].set(xlabel="privacy budget ε", ylabel="relative fitness ψ")
    panels[0].margins(y=0.35)
    say(panels[0], "our protocol; line: forecast")


def gaining(frame: pd.DataFrame, epsilon: float) -> tuple[int, int]:
    """How many hospitals' own models are worse than the common one at a budget, and of how many."""
    common, own = common_model(frame), frame[frame["hospital"].notna()]["isolated"]
    return int((own > common.loc[common["epsilon"] == epsilon, "relative_fitness"].iloc[0]).sum()), len(own)


def hospital_checks(theirs: pd.DataFrame, ours: pd.DataFrame) -> list[Check]:
    """How many gain at epsilon = 10 and at 1."""
    checks = []
    for epsilon, published in ((10.0, "8 of 86"), (1.0, "none named")):
        count, among = gaining(ours, epsilon)
        what = f"hospitals of {among} that gain at ε = {epsilon:g} with our protocol"
        checks.append(Check(what, count, among / 2, among, published, "law", tolerance=0.1 * among))
    return checks


def alone_panel(panels: Sequence[Axes], frame: pd.DataFrame) -> None:
    """Every hospital's own model against its size, and the common model at three budgets."""
    (axes,), own, common = panels, frame[frame["hospital"].notna()], common_model(frame)
    axes.plot(own["n_records"], own["isolated"], ls="", marker=".", ms=4, color="#636c76", label="a hospital alone")
    for number, (epsilon, style) in enumerate(((0.1, "-"), (1.0, "--"), (10.0, "-."))):
        at = common.loc[common["epsilon"] == epsilon, "relative_fitness"].iloc[0]
        count, _ = gaining(frame, epsilon)
        axes.axhline(at, color=f"C{number}", ls=style, lw=1.1, label=f"ε = {epsilon:g}: {count} gain")
    axes.axhline(common["alone"].iloc[0], color="#636c76", ls=":", lw=1.2, label="the learner alone")
    scales(axes, "xy")
    axes.set(xlabel="stays in the hospital", ylabel="relative fitness ψ")
    axes.set_ylim(bottom=common["relative_fitness"].min() / 40)
    say(axes, "our protocol: ψ")
    legend(axes, loc="lower left")


VALUE = Second(
    owners,
    value_checks,
    value_panels,
    (2, 1),
    "the same pure ε. Loans are dealt at random, ten times over: in the file's order owners are of unlike years, owner 1's "
    "own model is bad, and even the thousand loans that our learner knows beat it, so that to gain over it would mean little "
    "(the numbers are in the table). Owners dealt at random are alike, so what one has alone is the mean over all; gains "
    "count where they are above two standard errors over the shuffles.",
    16.0,
)
HOSPITALS = (
    "the same pure ε; the learner knows a thousand stays drawn among all, starts from their model, whitens and clips by "
    "them, and asks twice; answers count by their noise. Where it knows stays in hospitals too small to take part instead, "
    "of other kinds, its forecast is far too good, and training hardly leaves a bad start (the numbers are in the table)."
)
CURVE = Second(hospitals, lambda theirs, ours: hospital_checks(theirs, ours)[:1], curve, (1, 1), HOSPITALS, 1.5)
GAINS = Second(hospitals, hospital_checks, alone_panel, (1, 1), HOSPITALS, 1.5)
