"""AS 11: card payments, a support vector machine, over sizes and budgets; T = 100."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from learning.losses.hinge import Hinge
from scenarios.reproduce.drawing import legend, lines, page, say, written
from scenarios.reproduce.item import Check, Item, Setting
from scenarios.reproduce.tables import table
from scenarios.reproduce.timing.laws import aggregate, fitted, slopes
from scenarios.reproduce.timing.training import PRINTED, READ, fitness_of, market_of, plan_of, trained

OWNERS, TICKS, RIDGE = 3, 100, 1e-5  # the last is r of g = (1e-5/2) theta'theta
SIZES, QUICK_SIZES = (100, 300, 1_000, 4_000, 10_000, 30_000), (100, 1_000)


def frame(setting: Setting) -> pd.DataFrame:
    """AS-11: mean relative fitness over sizes and budgets."""
    payments = table("fraud", setting)
    most = payments.n_records // OWNERS
    sizes = [n for n in (QUICK_SIZES if setting.quick else SIZES) if n <= most]
    epsilon = np.geomspace(0.1, 10, 3 if setting.quick else 5)
    rows = []
    for n_records in sizes:
        market = market_of(payments, payments.slices([n_records] * OWNERS), Hinge(), RIDGE)
        plan = plan_of(payments, market, TICKS, PRINTED)
        found = trained(market, plan, [*epsilon, np.inf], setting, share=1 / len(sizes))
        mean, error = fitness_of(market, found, setting)
        measured = {"epsilon": epsilon, "relative_fitness": mean[:-1], "std_error": error[:-1], "noiseless": mean[-1]}
        told = {"n_records": n_records, "optimum": market.cost.optimum, "gradient_bound": market.gradient_bound}
        rows.append(pd.DataFrame(measured).assign(**told, step_size=plan.step_size))
    made = pd.concat(rows, ignore_index=True)
    made = made.assign(excess=made["relative_fitness"] * made["optimum"])
    a = aggregate(made["epsilon"], made["n_records"], OWNERS)
    c1, c2 = fitted(made["relative_fitness"], a)
    return made.assign(c1=c1, c2=c2, law=c1 * np.sqrt(a) + c2 * a)


def checks(frame: pd.DataFrame) -> list[Check]:
    """It falls with both; ten times the budget brings a tenth, ten times the records more than a hundredth."""
    falls = [
        float(all((np.diff(part.sort_values(x)["relative_fitness"]) < 0).all() for _, part in frame.groupby(by)))
        for x, by in (("epsilon", "n_records"), ("n_records", "epsilon"))
    ]
    in_budget = slopes(frame, "epsilon", "relative_fitness", "n_records")
    in_records = slopes(frame, "n_records", "relative_fitness", "epsilon")
    return [
        Check("whether ψ falls as ε grows, at every size", falls[0], 1, 1, "yes", "law"),
        Check("whether ψ falls as records grow, at every ε", falls[1], 1, 1, "yes", "law"),
        Check("median slope of ψ in ε where noise rules", float(in_budget.median()), -1.25, -0.75, "−1", "value", 0.1),
        Check(
            "median slope of ψ in records where noise rules",
            float(in_records.median()),
            -np.inf,
            -2,
            "−2 or steeper",
            "value",
            0.2,
        ),
    ]


def figure(frame: pd.DataFrame, note: str) -> Figure:
    """Against budgets, and against records."""
    page_, (left, right) = page(
        "Relative fitness of a support vector machine, three owners of card payments", note, columns=2
    )
    budgets = np.sort(frame["epsilon"].unique())[:: max(1, (frame["epsilon"].nunique() - 1) // 2)]
    lines(left, frame, "epsilon", "relative_fitness", "n_records", law="law", label=lambda n: f"{n:,} records each")
    few = frame[frame["epsilon"].isin(budgets)]
    lines(right, few, "n_records", "relative_fitness", "epsilon", law="law", label=lambda e: f"ε = {written(e)}")
    left.set(xlabel="privacy budget ε")
    right.set(xlabel="records of each owner")
    for axes in (left, right):
        say(axes, "ψ measured; lines: (11), fitted")
        legend(axes)
    return page_


ITEMS = (
    Item(
        "AS-11",
        "Farokhi et al., Figure 11",
        "Relative fitness against budget and records: card fraud, a support vector machine",
        "It falls with both. Ten times the budget makes it ten times smaller; ten times the records more than a hundred "
        "times, so that the bound (11) is no tight fit in them.",
        frame,
        checks,
        figure,
        f"{READ} The hinge has no slowest direction to wait for: its step is 1/(largest curvature of the squares of the "
        "features). The subset has about 12,000 payments, so owners have at most 4,000. Among few payments are few frauds, "
        "and f* is so small that ψ lies far above any fit of (11); the excess f − f* itself falls less than a hundredfold.",
        ("fraud",),
        10.0,
    ),
)
