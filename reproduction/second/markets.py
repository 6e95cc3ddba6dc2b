"""Owners of the papers under our protocol: grids (VC 4-6, 9-11; AS 5, 11), gains (AS 6, 9, 10)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from learning.losses.loss import Loss
from learning.losses.margin import Hinge
from learning.losses.squared import Squared
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
from reproduction.item import NotPossible, Setting
from reproduction.specification import Found
from reproduction.tables import load_table
from reproduction.training import KNOWN, OurMarket, deal_market, measure_budgets, spare_records

OWNERS = 3
BUDGETS = (0.1, 1.0, 10.0)
MOST = 100_000  # records of an owner, the most that the figures have
LEAST = 1_000  # records of the owner that varies, in the four scenarios
FIRST = np.geomspace(0.1, 10, 5)  # budgets of the owner that varies
PSI = "relative_fitness"
ALIKE = 1.25  # ratio of sizes up to which they are compared


@dataclass(frozen=True)
class Setup:
    """Table and training cost.

    Parameters
    ----------
    name : name of the table.
    loss, regularisation : loss and ridge of the training cost.
    sizes : records of each owner, as far as there are as many.
    others : records of the two that do not vary, few and many.
    """

    name: str
    loss: Loss
    regularisation: float
    sizes: tuple[int, ...]
    others: tuple[int, int]

    def largest_size(self, setting: Setting, held_by_others: int = 0, owners: int = OWNERS) -> int:
        """Most records of each of some owners besides others and the learner's, in hundreds.

        Raises
        ------
        NotPossible
            If these owners cannot have a hundred each.
        """
        table = load_table(self.name, setting)
        table.require_records(KNOWN + held_by_others + 100 * owners)
        there = table.n_records - KNOWN - held_by_others
        return min(there // owners // 100 * 100, MOST)

    def make_market(self, setting: Setting, sizes: Sequence[int]) -> OurMarket:
        """Make a market of owners with records in random order."""
        table = load_table(self.name, setting)
        cost = {"loss": self.loss, "regularisation": self.regularisation}
        return deal_market(table, sizes, setting.seed, shuffled=True, **cost)


LOANS = ((1_000, 10_000, 250_000), (1_000, 100_000))
PAYMENTS = ((300, 1_000, 30_000), (100, 10_000))
LENDING = Setup("lending", Squared(), 0.0, *LOANS)
ASYNCHRONOUS = Setup("lending", Squared(), 2e-5, *LOANS)
FRAUD = Setup("fraud", Hinge(), 1.0, *PAYMENTS)
ASYNCHRONOUS_FRAUD = Setup("fraud", Hinge(), 1e-5, *PAYMENTS)


@cache
def compute_grid(setup: Setup, setting: Setting) -> pd.DataFrame:
    """Forecast and trained fitness of three equal owners at every size and budget."""
    most = setup.largest_size(setting)
    sizes = sorted({min(size, most) for size in setup.sizes})
    if len(sizes) < 2:
        raise NotPossible(
            f"more than {most:,} records of each owner are needed, "
            f"and {setup.name} has no more here"
        )
    budgets = np.unique([*BUDGETS, *np.geomspace(0.1, 10, setting.pick_value(9, 3))])
    found = []
    for size in sizes[setting.quick :]:
        market = setup.make_market(setting, [size] * OWNERS)
        found.append(measure_budgets(market, budgets, setting.runs))
    return pd.concat(found, ignore_index=True)


@cache
def compute_scenarios(setup: Setup, setting: Setting) -> pd.DataFrame:
    """Fitness by records and budget of the first owner, in four scenarios of two others.

    Raises
    ------
    NotPossible
        If records are too few, or time is short and each market is rehearsed, for which there is
        no law.
    """
    if setting.quick and not setup.loss.quadratic:
        raise NotPossible("rehearsing every market takes too long")
    budgets = setting.pick_value(FIRST, FIRST[::2])
    few = setup.others[0]
    many = min(setup.others[1], setup.largest_size(setting))
    wanted = np.geomspace(LEAST, many, setting.pick_value(3, 2)).astype(int)
    rows = []
    for number, (size, epsilon) in enumerate(product((few, many), (0.1, 10.0)), 1):
        most = setup.largest_size(setting, 2 * size, 1)
        sizes = np.unique(np.minimum(wanted, most)).tolist()
        if len(sizes) < 2:
            raise NotPossible(f"{setup.name} has no second size of the first owner here")
        for first in sizes:
            market = setup.make_market(setting, [first, size, size])
            profiles = [np.array([own, epsilon, epsilon]) for own in budgets]
            one = measure_budgets(market, profiles, setting.runs)
            rows.append(one.assign(scenario=number, others_records=size, others_epsilon=epsilon))
    return pd.concat(rows, ignore_index=True)


def check_better(theirs: pd.DataFrame, ours: pd.DataFrame) -> Found:
    """Check that our protocol comes nearer to the best model than the published at epsilon = 1.

    At sizes of which the published has one within a quarter.
    """
    sizes = theirs["n_records"].unique()
    for _, row in ours[ours["epsilon"] == 1].iterrows():
        if np.abs(np.log(sizes / row["n_records"])).min() > np.log(ALIKE):
            continue
        ratio = np.log10(row[PSI] / nearest_fitness(theirs, row))
        yield "better", ratio, {"size": row["n_records"]}


def nearest_fitness(theirs: pd.DataFrame, row: pd.Series) -> float:
    """Published relative fitness at the point nearest to one of ours, on logarithmic scales."""
    away = sum(np.log(theirs[name] / row[name]).abs() for name in ("n_records", "epsilon"))
    return float(theirs.loc[away == away.min(), PSI].mean())


def check_ranks(theirs: pd.DataFrame, ours: pd.DataFrame) -> Found:
    """Report the worst scenario over the best; check the largest fitness against the learner's."""
    smallest = ours["n_records"] == ours["n_records"].min()
    corner = ours[smallest & (ours["epsilon"] == ours["epsilon"].min())][PSI]
    yield "worst", np.log10(corner.max() / corner.min())
    yield "largest", np.log10(ours[PSI].max() / ours["alone"].max())


RECORDS = 10_000  # of each owner, as in AS 6
NUMBERS = ((2, 3, 4, 5, 7, 10), (3, 5))  # of owners; quick
TRIED = (0.1, 0.3, 1.0, 3.0, 10.0)  # budgets
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
    budgets = setting.pick_value(TRIED, TRIED[1:4])
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


def average_gains(frame: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Means over shuffles by number of owners and budget, and whether the gain is significant.

    Owners of shuffled loans are of one kind, so that the mean over all estimates the own model of
    one.

    Columns: owners, epsilon, the measure, its ``std_error`` over shuffles, mean_isolated, alone,
        gain, ``pays``: the mean of mean_isolated - measure is above two of its standard errors.
    """
    frame = frame[frame["order"] == "shuffled"]
    frame = frame.assign(gain=frame["mean_isolated"] - frame[measure])
    groups = frame.groupby(["owners", "epsilon"])
    means = groups[[measure, "mean_isolated", "alone", "gain"]].mean()
    root = np.sqrt(groups.size())
    means["std_error"] = groups[measure].std() / root
    means["pays"] = means["gain"] > 2 * groups["gain"].std() / root
    return means.reset_index()


def least_owners(frame: pd.DataFrame, measure: str) -> float:
    """Least number of owners from which it pays at epsilon = 1; one above those tried for none."""
    rows = average_gains(frame, measure)
    rows = rows[rows["epsilon"] == 1].sort_values("owners", ascending=False)
    good = rows["owners"][rows["pays"].cumprod() > 0]
    return float(good.min() if len(good) else rows["owners"].max() + 1)


def check_owners(theirs: pd.DataFrame, ours: pd.DataFrame) -> Found:
    """Check from how many owners it pays at epsilon = 1, forecast and trained."""
    for name, measure in (("forecast", "law"), ("trained", PSI)):
        yield "pays", least_owners(ours, measure), 2, ENOUGH, {"name": name}
    rows = average_gains(ours, PSI)
    at = rows[(rows["owners"] == ENOUGH) & (rows["epsilon"] == 1)].iloc[0]
    others = {"an owner's own model": "mean_isolated", "the learner's rows alone": "alone"}
    for words, other in others.items():
        yield "trained", np.log10(at[PSI] / at[other]), {"owners": ENOUGH, "other": words}


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
    budgets = TRIED
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


def count_gaining(frame: pd.DataFrame, epsilon: float) -> tuple[int, int, float]:
    """Number of hospitals that gain at a budget, of all, and fitness of the common model."""
    common = common_model(frame)
    psi = common.loc[common["epsilon"] == epsilon, PSI].iloc[0]
    own = frame[frame["hospital"].notna()]["isolated"]
    return int((own > psi).sum()), len(own), psi


def check_gain(ours: pd.DataFrame, epsilon: float, said: str) -> tuple[Any, ...]:
    """Number of hospitals that gain at a budget, half of them or more."""
    count, among, _ = count_gaining(ours, epsilon)
    words = {"among": among, "epsilon": epsilon, "said": said, "tolerance": 0.1 * among}
    return "gaining", count, among / 2, among, words


def check_curve(theirs: pd.DataFrame, ours: pd.DataFrame) -> Found:
    """The number of hospitals that gain at epsilon = 10."""
    yield check_gain(ours, 10.0, "8 of 86")


def check_gains(theirs: pd.DataFrame, ours: pd.DataFrame) -> Found:
    """The numbers of hospitals that gain at epsilon = 10 and at 1."""
    yield from check_curve(theirs, ours)
    yield check_gain(ours, 1.0, "none named")


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
