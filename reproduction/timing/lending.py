"""Three banks, lending: paths by budget, talks, and the law over sizes and budgets (AS 2-5)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from learning.arrays import Array
from learning.training.clocks import Clocks
from reproduction.drawing import (
    MUTED,
    PALETTE,
    Style,
    plot_series,
    plot_surface,
)
from reproduction.item import Check, NotPossible, Setting, report_number
from reproduction.tables import Table, load_table
from reproduction.timing.laws import (
    PSI,
    add_bound,
    check_extreme_slopes,
    draw_slopes,
    falls_along,
    noise_aggregate,
)
from reproduction.timing.paths import (
    compute_paths,
    compute_talks,
    draw_paths,
    draw_talks,
    measure_paths,
    measure_talks,
)
from reproduction.timing.training import (
    PRINTED,
    PROVED,
    make_market,
    make_plan,
    sweep_budgets,
)
from reproduction.training.published import Market, in_random_order

OWNERS = 3
PAPER_RECORDS = 250_000
PAPER_CONSTANT = 2.1e9  # of the fit of (11), in the units of the paper
SIZES = (1_000, 2_000, 5_000, 10_000, 50_000, 100_000, 250_000)


def make_banks(setting: Setting, size: int) -> Market:
    """Make a market of three banks with loans in the file's order."""
    loans = load_table("lending", setting)
    return make_market(loans, loans.slices([size] * OWNERS))


def largest_size(setting: Setting) -> int:
    """Most records of each of three banks, in hundreds, up to those of the paper."""
    there = load_table("lending", setting).n_records // OWNERS
    return min(PAPER_RECORDS, there // 100 * 100)


def compute_bank_paths(setting: Setting) -> pd.DataFrame:
    """Paths, also with the noise of the paper's 250,000 records each."""
    size = largest_size(setting)
    times = sorted({1.0, PAPER_RECORDS / size})
    return compute_paths(load_table("lending", setting), make_banks(setting, size), times, setting)


def compute_bank_talks(setting: Setting) -> pd.DataFrame:
    """Talks of three banks."""
    return compute_talks(load_table("lending", setting), make_banks(setting, 1_000), setting)


@lru_cache(maxsize=2)
def compute_grid(setting: Setting) -> pd.DataFrame:
    """Mean relative fitness over sizes and budgets, with the fitted law of the paper.

    As printed with loans in random order and in the file's order; there also as proved.
    """
    most = largest_size(setting)
    loans = load_table("lending", setting)
    dealt = in_random_order(loans, setting.streams("lending"))
    sizes = [size for size in SIZES if size < 0.7 * most] + [most]
    if len(sizes) < 2:
        raise NotPossible(
            f"more than {most:,} loans of each owner are needed, and there are no more here"
        )
    if setting.quick:
        sizes = sizes[:: len(sizes) - 1]
    kinds = ((dealt, "random", PRINTED), (loans, "file", PRINTED), (loans, "file", PROVED))
    sweep = partial(_sweep_sizes, setting, sizes, 1 / len(kinds) / len(sizes))
    return pd.concat([sweep(*kind) for kind in kinds], ignore_index=True)


def _sweep_sizes(
    setting: Setting, sizes: list[int], share: float, loans: Table, order: str, clocks: Clocks
) -> pd.DataFrame:
    """Mean relative fitness over sizes and budgets, in one order of the loans and one reading."""
    epsilon = np.geomspace(0.1, 10, setting.pick_value(9, 3))
    parts = []
    for size in sizes:
        market = make_market(loans, loans.slices([size] * OWNERS))
        plan = make_plan(loans, market, clocks=clocks)
        constants = {
            "order": order,
            "reading": clocks.reading,
            "n_records": size,
            "optimum": market.cost.optimum,
            "gradient_bound": market.gradient_bound,
            "step_size": plan.step_size,
        }
        parts.append(sweep_budgets(market, plan, epsilon, setting, share).assign(**constants))
    frame = pd.concat(parts, ignore_index=True)
    a = noise_aggregate(frame["epsilon"], frame["n_records"], OWNERS)
    return add_bound(frame.assign(aggregate=a), a).assign(published=PAPER_CONSTANT * a)


def split_kinds(frame: pd.DataFrame) -> tuple[pd.DataFrame, ...]:
    """Rows in random order, in the file's order as printed, and as proved."""
    filed = frame["order"] == "file"
    printed = frame["reading"] == "printed"
    return frame[~filed], frame[filed & printed], frame[filed & ~printed]


def relative_distance(found: pd.Series, law: pd.Series) -> float:
    """Largest relative distance of two columns, row by row."""
    return float(np.abs(found.to_numpy() / law.to_numpy() - 1).max())


def measure_surface(frame: pd.DataFrame) -> dict[str, float | Check]:
    """The fit of (11): its square-root part, its constant, its tightness; both readings."""
    dealt, filed, proved = split_kinds(frame)
    c2 = float(dealt["c2"].iloc[0])
    bound = float(dealt["gradient_bound"].iloc[0]) * np.sqrt(PAPER_CONSTANT / c2)
    limits = (0.9 * PAPER_CONSTANT, 1.1 * PAPER_CONSTANT)
    what = "gradient bound Ξ at which c̄₂ would be the paper's"
    return {
        "falls_in_budget": falls_along(dealt, "epsilon", "n_records"),
        "falls_in_records": falls_along(dealt, "n_records", "epsilon"),
        "root": 1 - (dealt["c2"] * dealt["aggregate"] / dealt["law"]).min(),
        "off_the_law": relative_distance(dealt[PSI], dealt["law"]),
        "off_the_law_filed": relative_distance(filed[PSI], filed["law"]),
        "readings": relative_distance(proved[PSI], filed[PSI]),
        "c2": Check("c̄₂ of the fit", c2, *limits, "2.1e9", "value", 0.25 * c2),
        "bound": report_number(what, bound, 0.15 * bound),
    }


def draw_surface(panels: Sequence[Axes], frame: pd.DataFrame) -> None:
    """Draw the measured surface with the fitted law over it, and points against the law."""
    dealt, *_ = split_kinds(frame)
    left, right = panels
    plot_surface(left, dealt, "n_records", "epsilon", PSI, law="law")
    some = dealt[dealt["n_records"].isin(spread_values(dealt["n_records"], len(PALETTE)))]
    label = "{:,} records"
    plot_series(right, some, "aggregate", PSI, "n_records", law="law", label=label)
    ends = dealt.sort_values("aggregate").iloc[[0, -1]]
    style: Style = {"color": MUTED, "lw": 1, "ls": "--", "label": "the paper's c̄₂"}
    right.plot(ends["aggregate"], ends["published"], **style)
    low, high = ends["aggregate"]
    ticks = [place for place in 10.0 ** np.arange(-16, 0, 2) if low / 3 < place < 3 * high]
    right.set_xticks(ticks)


def spread_values(values: pd.Series, most: int) -> Array:
    """Some of the distinct values, from the smallest to the largest."""
    there = np.sort(values.unique())
    places = np.linspace(0, len(there) - 1, min(most, len(there)))
    return np.asarray(there[places.round().astype(int)])


def check_grid_slopes(frame: pd.DataFrame) -> list[Check]:
    """Check slopes over the points that noise dominates."""
    dealt, filed, _ = split_kinds(frame)
    budget = ("epsilon", "n_records")
    records = ("n_records", "epsilon")
    return [
        *check_extreme_slopes(dealt, *budget, "ε", "law"),
        *check_extreme_slopes(dealt, *records, "records", "law"),
        *check_extreme_slopes(filed, *budget, "ε, file's order", "law"),
        *check_extreme_slopes(filed, *records, "records, file's order", "value"),
    ]


def draw_grid_slopes(panels: Sequence[Axes], frame: pd.DataFrame) -> None:
    """Draw fitness against budgets, and against records."""
    dealt, *_ = split_kinds(frame)
    sizes, budgets = (
        dealt[dealt[name].isin(spread_values(dealt[name], 3))] for name in ("n_records", "epsilon")
    )
    draw_slopes(panels, sizes, budgets)


PATHS = (compute_bank_paths, measure_paths, draw_paths)
TALKS = (compute_bank_talks, measure_talks, draw_talks)
SURFACE = (compute_grid, measure_surface, draw_surface)
SLOPES = (compute_grid, check_grid_slopes, draw_grid_slopes)
