"""Gain of owners under our protocol, by their number (AS 6), and of hospitals (AS 9, 10)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from learning.randomness import Streams
from reproduction.drawing import (
    MUTED,
    ORANGE,
    PALETTE,
    Style,
    add_caption,
    add_legend,
    plot_series,
    set_scales,
)
from reproduction.item import Check, Setting, check_law
from reproduction.second.grids import LUCK, PSI
from reproduction.tables import load_table
from reproduction.training.ours import OurMarket, deal_market, measure_budgets, spare_records

RECORDS = 10_000  # of each owner, as in AS 6
NUMBERS = ((2, 3, 4, 5, 7, 10), (3, 5))  # of owners; quick
BUDGETS = (0.1, 0.3, 1.0, 3.0, 10.0)
SHUFFLES = 10
DRAWN = "drawn"  # the learner's stays are drawn among all
RIDGE = 2e-5  # the paper's g = 1e-5 theta'theta
ENOUGH = 5  # owners from which on it is to pay at epsilon = 1
ALONE = {
    "mean_isolated": ("--", ORANGE, "an owner alone"),
    "alone": (":", MUTED, "the learner alone"),
}


def compute_owners(setting: Setting) -> pd.DataFrame:
    """Fitness of owners of 10,000 loans each, by number and budget, over several shuffles.

    Shuffle 0 has the order of the file.
    """
    loans = load_table("lending", setting)
    budgets = setting.pick_value(BUDGETS, BUDGETS[1:4])
    shuffles = setting.pick_value(range(SHUFFLES + 1), (0, 1))
    rows = []
    for number, shuffle in product(setting.pick_value(*NUMBERS), shuffles):
        shuffled = shuffle > 0 or setting.quick
        seed = 1000 * setting.seed + shuffle
        sizes = [RECORDS] * number
        market = deal_market(loans, sizes, seed, shuffled=shuffled, regularisation=RIDGE)
        columns = {
            "order": "shuffled" if shuffled else "file",
            "shuffle": shuffle,
            "mean_isolated": market.mean_isolated,
        }
        rows.append(measure_budgets(market, budgets, setting.runs).assign(**columns))
    return pd.concat(rows, ignore_index=True)


def average_gains(frame: pd.DataFrame, measure: str, errors: float = 2.0) -> pd.DataFrame:
    """Means over shuffles by number of owners and budget, and whether the gain is significant.

    Owners of shuffled loans are of one kind, so that the mean over all estimates the own model of
    one.

    Columns: owners, epsilon, the measure, its ``std_error`` over shuffles, mean_isolated, alone,
        gain, ``pays``: the mean of mean_isolated - measure is above so many of its standard errors.
    """
    frame = frame[frame["order"] == "shuffled"]
    frame = frame.assign(gain=frame["mean_isolated"] - frame[measure])
    groups = frame.groupby(["owners", "epsilon"])
    means = groups[[measure, "mean_isolated", "alone", "gain"]].mean()
    root = np.sqrt(groups.size())
    means["std_error"] = groups[measure].std() / root
    means["pays"] = means["gain"] > errors * groups["gain"].std() / root
    return means.reset_index()


def least_owners(frame: pd.DataFrame, measure: str, epsilon: float = 1.0) -> float:
    """Least number of owners from which it pays at a budget; one above those tried for none."""
    rows = average_gains(frame, measure)
    rows = rows[rows["epsilon"] == epsilon].sort_values("owners", ascending=False)
    good = rows["owners"][rows["pays"].cumprod() > 0]
    return float(good.min() if len(good) else rows["owners"].max() + 1)


def check_owners(theirs: pd.DataFrame, ours: pd.DataFrame) -> list[Check]:
    """Check from how many owners it pays at epsilon = 1, forecast and trained."""
    checks = []
    for name, measure in (("forecast", "law"), ("trained", PSI)):
        what = f"owners from which on it pays at ε = 1 with our protocol, {name}"
        least = least_owners(ours, measure)
        checks.append(Check(what, least, 2, ENOUGH, "more than 100 at ε = 2.5", tolerance=2))
    rows = average_gains(ours, PSI)
    at = rows[(rows["owners"] == ENOUGH) & (rows["epsilon"] == 1)].iloc[0]
    what = f"powers of ten of ψ trained with {ENOUGH} owners at ε = 1 over that of"
    others = {"an owner's own model": "mean_isolated", "the learner's rows alone": "alone"}
    for words, other in others.items():
        ratio = np.log10(at[PSI] / at[other])
        checks.append(check_law(f"{what} {words}", ratio, high=0, tolerance=LUCK))
    return checks


def draw_owners(panels: Sequence[Axes], frame: pd.DataFrame) -> None:
    """Draw fitness against the number of owners at epsilon = 1, and the budgets that pay."""
    forecast = average_gains(frame, "law")[["owners", "epsilon", "law"]]
    rows = average_gains(frame, PSI).merge(forecast)
    upper, lower = panels
    at = rows[rows["epsilon"] == 1]
    plot_series(upper, at, "owners", PSI, law="law")
    for name, (style, colour, words) in ALONE.items():
        upper.plot(at["owners"], at[name], color=colour, ls=style, lw=1.1)
        end = (at["owners"].max(), 1.3 * at[name].iloc[-1])
        upper.text(*end, words, color=colour, ha="right", fontsize=7.5)
    add_caption(upper, "our protocol, ε = 1: ψ; line: forecast")
    for pays, mark, colour in ((True, "o", PALETTE[0]), (False, "x", ORANGE)):
        some = rows[rows["pays"] == pays]
        lower.plot(some["owners"], some["epsilon"], ls="", marker=mark, ms=5, color=colour)
    set_scales(lower, "xy")
    add_caption(lower, "budgets ε: an owner gains (dot) or not (cross)")
    for axes, label in zip(panels, ("ψ", "ε"), strict=True):
        axes.set(xlabel="owners N", ylabel=label, xticks=sorted(rows["owners"].unique()))
        axes.minorticks_off()
        axes.margins(y=0.2)


@cache
def compute_hospitals(setting: Setting) -> pd.DataFrame:
    """Fitness of the common model of all hospitals by budget, and of each hospital's own model.

    The learner knows a thousand stays drawn among all, or those in hospitals too small to take
    part, of other kinds.
    """
    stays = load_table("hospitals", setting)
    owners = stays.of_owners()
    drawn = spare_records(owners, Streams(setting.seed, "ours").rng("dealt"))
    small = (owners, (stays.public_x, stays.public_y))
    budgets = BUDGETS
    if not setting.quick:
        budgets = np.geomspace(0.1, 10, 9).round(6).tolist()
    markets = {
        name: OurMarket(*records, stays, regularisation=RIDGE, seed=setting.seed)
        for name, records in ((DRAWN, drawn), ("small hospitals", small))
    }
    common = [
        measure_budgets(market, budgets, setting.runs).assign(learner_knows=name)
        for name, market in markets.items()
    ]
    market = markets[DRAWN]
    columns = {
        "hospital": stays.owner_names,
        "n_records": market.sizes,
        "isolated": [market.isolated_fitness(place) for place in range(len(owners))],
    }
    return pd.concat([*common, pd.DataFrame(columns)], ignore_index=True)


def common_model(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows of the common model, by budget, where the learner's stays were drawn among all."""
    return frame[frame["learner_knows"] == DRAWN]


def draw_curve(panels: Sequence[Axes], frame: pd.DataFrame) -> None:
    """Draw fitness against the budget."""
    (axes,) = panels
    plot_series(axes, common_model(frame), "epsilon", PSI, law="law")
    axes.set(xlabel="privacy budget ε", ylabel="relative fitness ψ")
    axes.margins(y=0.35)
    add_caption(axes, "our protocol; line: forecast")


def count_gaining(frame: pd.DataFrame, epsilon: float) -> tuple[int, int, float]:
    """Number of hospitals that gain at a budget, of all, and fitness of the common model."""
    common = common_model(frame)
    psi = common.loc[common["epsilon"] == epsilon, PSI].iloc[0]
    own = frame[frame["hospital"].notna()]["isolated"]
    return int((own > psi).sum()), len(own), psi


def check_gain(ours: pd.DataFrame, epsilon: float, published: str) -> Check:
    """Check that half of the hospitals gain at a budget."""
    count, among, _ = count_gaining(ours, epsilon)
    what = f"hospitals of {among} that gain at ε = {epsilon:g} with our protocol"
    return check_law(what, count, among / 2, among, published, 0.1 * among)


def check_curve(theirs: pd.DataFrame, ours: pd.DataFrame) -> list[Check]:
    """Check the number of hospitals that gain at epsilon = 10."""
    return [check_gain(ours, 10.0, "8 of 86")]


def check_gains(theirs: pd.DataFrame, ours: pd.DataFrame) -> list[Check]:
    """Check the numbers of hospitals that gain at epsilon = 10 and at 1."""
    return [*check_curve(theirs, ours), check_gain(ours, 1.0, "none named")]


def draw_hospitals(panels: Sequence[Axes], frame: pd.DataFrame) -> None:
    """Draw every hospital's own model against its size, and the common model at three budgets."""
    (axes,) = panels
    own = frame[frame["hospital"].notna()]
    common = common_model(frame)
    style: Style = {"ls": "", "marker": ".", "ms": 4, "color": MUTED}
    axes.plot(own["n_records"], own["isolated"], label="a hospital alone", **style)
    for number, (epsilon, dashes) in enumerate(((0.1, "-"), (1.0, "--"), (10.0, "-."))):
        count, _, psi = count_gaining(frame, epsilon)
        label = f"ε = {epsilon:g}: {count} gain"
        axes.axhline(psi, color=f"C{number}", ls=dashes, lw=1.1, label=label)
    alone = common["alone"].iloc[0]
    axes.axhline(alone, color=MUTED, ls=":", lw=1.2, label="the learner alone")
    set_scales(axes, "xy")
    axes.set(xlabel="stays in the hospital", ylabel="relative fitness ψ")
    axes.set_ylim(bottom=common[PSI].min() / 40)
    add_caption(axes, "our protocol: ψ")
    add_legend(axes, loc="lower left")


VALUE = (compute_owners, check_owners, draw_owners)
CURVE = (compute_hospitals, check_curve, draw_curve)
GAINS = (compute_hospitals, check_gains, draw_hospitals)
