"""AS 2-5: three banks, lending: paths by budget, who talks when, and the law over sizes and budgets."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from learning.arrays import Array
from learning.training.clocks import Clocks
from scenarios.report.figure_page import PALETTE
from scenarios.reproduce.drawing import legend, lines, page, say, surface, written
from scenarios.reproduce.item import Check, Item, NotPossible, Setting, told
from scenarios.reproduce.tables import Table, table
from scenarios.reproduce.timing.laws import aggregate, fitted, slopes
from scenarios.reproduce.timing.paths import path_checks, path_figure, path_frame
from scenarios.reproduce.timing.talks import talk_checks, talk_figure, talk_frame
from scenarios.reproduce.timing.training import PRINTED, PROVED, READ, fitness_of, market_of, plan_of, trained
from scenarios.reproduce.training.published import Market, in_random_order

OWNERS, PAPER_RECORDS, PAPER_CONSTANT = 3, 250_000, 2.1e9  # the last is the paper's fit of (11), in their units
SIZES = (1_000, 2_000, 5_000, 10_000, 50_000, 100_000, 250_000)
WHERE = "Farokhi et al., Figure"
ORDER = (
    "In the file's order loans of later years follow, and more of them have another optimum f*, so that f/f* − 1 falls "
    "faster than the excess f − f*; dealt at random they are alike. Figures are of the latter."
)
ROWS = "There are fewer loans here than in the paper, so owners have at most a third of them."


def banks(setting: Setting, n_records: int) -> Market:
    """Three banks with so many loans each, in the file's order."""
    loans = table("lending", setting)
    return market_of(loans, loans.slices([n_records] * OWNERS))


def largest(setting: Setting) -> int:
    """The most records of each of three banks, in hundreds, up to the paper's."""
    return min(PAPER_RECORDS, table("lending", setting).n_records // OWNERS // 100 * 100)


def paths(setting: Setting) -> pd.DataFrame:
    """AS-2; also with the noise of the paper's 250,000 records each."""
    n_records = largest(setting)
    times = sorted({1.0, PAPER_RECORDS / n_records})
    return path_frame(table("lending", setting), banks(setting, n_records), times, setting)


# ---- AS-4 and AS-5


@lru_cache(maxsize=2)
def grid(setting: Setting) -> pd.DataFrame:
    """Mean relative fitness over sizes and budgets, and the paper's law fitted to it.

    As printed with loans dealt at random and in the file's order; there also as proved.
    """
    most, loans = largest(setting), table("lending", setting)
    dealt = in_random_order(loans, setting.streams("lending"))
    kinds = [(dealt, "random", PRINTED), (loans, "file", PRINTED), (loans, "file", PROVED)]
    sizes = [n for n in SIZES if n < 0.7 * most] + [most]
    if len(sizes) < 2:
        raise NotPossible(f"more than {most:,} loans of each owner are needed, and there are no more here")
    sizes = sizes[:: len(sizes) - 1] if setting.quick else sizes
    share = 1 / len(kinds) / len(sizes)
    return pd.concat([with_law(_over(sizes, *kind, setting, share)) for kind in kinds], ignore_index=True)


def _over(sizes: list[int], loans: Table, order: str, clocks: Clocks, setting: Setting, share: float) -> pd.DataFrame:
    """One kind of it."""
    epsilon, rows = np.geomspace(0.1, 10, 3 if setting.quick else 9), []
    for n_records in sizes:
        market = market_of(loans, loans.slices([n_records] * OWNERS))
        plan = plan_of(loans, market, clocks=clocks)
        found = trained(market, plan, [*epsilon, np.inf], setting, share=share)
        mean, error = fitness_of(market, found, setting)
        measured = {"epsilon": epsilon, "relative_fitness": mean[:-1], "std_error": error[:-1], "noiseless": mean[-1]}
        told = {"order": order, "reading": clocks.reading, "n_records": n_records, "optimum": market.cost.optimum}
        told |= {"gradient_bound": market.gradient_bound, "step_size": plan.step_size}
        rows.append(pd.DataFrame(measured).assign(**told))
    return pd.concat(rows, ignore_index=True)


def with_law(frame: pd.DataFrame) -> pd.DataFrame:
    """The same with the paper's law, as fitted and with the paper's own constant."""
    a = aggregate(frame["epsilon"], frame["n_records"], OWNERS)
    c1, c2 = fitted(frame["relative_fitness"], a)
    return frame.assign(aggregate=a, c1=c1, c2=c2, law=c1 * np.sqrt(a) + c2 * a, published=PAPER_CONSTANT * a)


def surface_checks(frame: pd.DataFrame) -> list[Check]:
    """The fit of (11): no square-root part, the constant, and how tight it is; both readings alike."""
    dealt, filed, proved = (part.reset_index(drop=True) for part in _kinds(frame))
    c2 = float(dealt["c2"].iloc[0])
    root = 1 - float((dealt["c2"] * dealt["aggregate"] / dealt["law"]).min())
    off, filed_off = (float(np.abs(one["relative_fitness"] / one["law"] - 1).max()) for one in (dealt, filed))
    apart = float(np.abs(proved["relative_fitness"] / filed["relative_fitness"] - 1).max())
    falls = [
        float(all(np.all(np.diff(one.sort_values(x)["relative_fitness"]) < 0) for _, one in dealt.groupby(by)))
        for x, by in (("epsilon", "n_records"), ("n_records", "epsilon"))
    ]
    bound = float(dealt["gradient_bound"].iloc[0]) * np.sqrt(PAPER_CONSTANT / c2)
    low, high = 0.9 * PAPER_CONSTANT, 1.1 * PAPER_CONSTANT
    return [
        Check("whether ψ falls as ε grows, at every size", falls[0], 1, 1, "yes", "law"),
        Check("whether ψ falls as records grow, at every ε", falls[1], 1, 1, "yes", "law"),
        Check("largest share of the square-root term in the fit of (11)", root, 0, 0.05, "c̄₁ = 0", "law", 0.02),
        Check("largest relative distance of a ψ from the fit", off, 0, 0.2, "tight", "law", 0.1),
        Check("the same with loans in the file's order", filed_off, 0, 0.2, "tight", "value", 0.1),
        Check("largest relative distance between the two readings of (7)", apart, 0, 0.05, "", "law", 0.02),
        Check("c̄₂ of the fit", c2, low, high, "2.1e9", "value", 0.25 * c2),
        told("gradient bound Ξ at which c̄₂ would be the paper's", bound, 0.15 * bound),
    ]


def _kinds(frame: pd.DataFrame) -> tuple[pd.DataFrame, ...]:
    """Dealt at random, in the file's order as printed, and as proved."""
    filed = frame["order"] == "file"
    printed = frame["reading"] == "printed"
    return frame[~filed], frame[filed & printed], frame[filed & ~printed]


def surface_figure(frame: pd.DataFrame, note: str) -> Figure:
    """Measured surface with the fitted law over it, and points against the law."""
    dealt, *_ = _kinds(frame)
    figure, (left, right) = page("Relative fitness over records and budget, three banks", note, columns=2)
    surface(left, dealt, "n_records", "epsilon", "relative_fitness", law="law")
    left.set(xlabel="records of each owner")
    say(left, "ψ over budget ε (upwards); dashed: (11), fitted")
    some = dealt[dealt["n_records"].isin(_spread(dealt["n_records"], len(PALETTE)))]
    lines(right, some, "aggregate", "relative_fitness", "n_records", law="law", label=lambda n: f"{n:,} records")
    ends = dealt.sort_values("aggregate").iloc[[0, -1]]
    right.plot(ends["aggregate"], ends["published"], color="#636c76", lw=1, ls="--", label="the paper's c̄₂")
    low, high = ends["aggregate"]
    right.set(xlabel="Σ1/ε² / n²")
    right.set_xticks([place for place in 10.0 ** np.arange(-16, 0, 2) if low / 3 < place < 3 * high])
    say(right, "ψ at every point; lines: (11)")
    legend(right)
    return figure


def _spread(values: pd.Series, most: int) -> Array:
    """So many of the values that there are, from the smallest to the largest."""
    there = np.sort(values.unique())
    return np.asarray(there[np.linspace(0, len(there) - 1, min(most, len(there))).round().astype(int)])


def slope_checks(frame: pd.DataFrame) -> list[Check]:
    """Slopes on the range where noise rules."""
    dealt, filed, _ = _kinds(frame)
    return [
        *_slopes(dealt, "epsilon", "n_records", "ε", "law"),
        *_slopes(dealt, "n_records", "epsilon", "records", "law"),
        *_slopes(filed, "epsilon", "n_records", "ε, file's order", "law"),
        *_slopes(filed, "n_records", "epsilon", "records, file's order", "value"),
    ]


def _slopes(frame: pd.DataFrame, x: str, by: str, words: str, kind: Literal["law", "value"]) -> list[Check]:
    found = slopes(frame, x, "relative_fitness", by)
    return [
        Check(
            f"{end} slope of ψ in {words}, of {len(found)} lines where noise rules",
            value,
            -2.05,
            -1.95,
            "−2",
            kind,
            0.02,
        )
        for end, value in (("smallest", float(found.min())), ("largest", float(found.max())))
    ]


def slope_figure(frame: pd.DataFrame, note: str) -> Figure:
    """Against budgets, and against records."""
    dealt, *_ = _kinds(frame)
    some, few = (_spread(dealt[name], 3) for name in ("n_records", "epsilon"))
    figure, (left, right) = page("Relative fitness against budget and records, three banks", note, columns=2)
    of_sizes, of_budgets = dealt[dealt["n_records"].isin(some)], dealt[dealt["epsilon"].isin(few)]
    lines(left, of_sizes, "epsilon", "relative_fitness", "n_records", law="law", label=lambda n: f"{n:,} records each")
    lines(right, of_budgets, "n_records", "relative_fitness", "epsilon", law="law", label=lambda e: f"ε = {written(e)}")
    left.set(xlabel="privacy budget ε")
    right.set(xlabel="records of each owner")
    for axes in (left, right):
        say(axes, "ψ measured; lines: (11), fitted")
        legend(axes)
    return figure


def talks(setting: Setting) -> pd.DataFrame:
    """AS-3."""
    return talk_frame(table("lending", setting), banks(setting, 1_000), setting)


SHARED = (
    "All budgets and sizes share their draws, and the walk is linear in its noise: where noise rules, powers of −2 follow "
    "without scatter, and show no more than that."
)
ITEMS = (
    Item(
        "AS-2",
        f"{WHERE} 2",
        "Relative fitness tick by tick: lending",
        "Over 1,000 ticks the median of 100 runs falls until it stays near the optimum, nearer and with a narrower spread "
        "the larger the budget is.",
        paths,
        path_checks,
        path_figure,
        f"{READ} {ROWS} Noise depends on records times ε alone, so the second panel has the noise of the paper's 250,000 "
        "records each on the loans that there are.",
        ("lending",),
        3.0,
    ),
    Item(
        "AS-3",
        f"{WHERE} 3",
        "Who talks when: three banks",
        "At each tick one of three owners talks, any of them with the same chance.",
        talks,
        talk_checks,
        talk_figure,
        "The paper shows one example; times are those of unit-rate Poisson clocks.",
        ("lending",),
        1.0,
    ),
    Item(
        "AS-4",
        f"{WHERE} 4",
        "Relative fitness over records and budgets: lending",
        "The bound (11) with c̄₁ = 0 and c̄₂ = 2.1·10⁹ is a tight fit: relative fitness goes as Σ1/ε² over n².",
        grid,
        surface_checks,
        surface_figure,
        f"{READ} {ROWS} {ORDER} {SHARED} The constant goes with the square of Ξ and with the step, neither of which "
        "the paper gives.",
        ("lending",),
        6.0,
    ),
    Item(
        "AS-5",
        f"{WHERE} 5",
        "Relative fitness against budget and against records: lending",
        "Both fall with the power −2, as the bound (11) does.",
        grid,
        slope_checks,
        slope_figure,
        f"{READ} {ORDER} {SHARED} Slopes are of the points at which relative fitness is at least 30 times that of the same "
        "training without noise.",
        ("lending",),
        6.0,
    ),
)
