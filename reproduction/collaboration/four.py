"""Four scenarios of collaboration: others small or large, strict or lax (VC 6, 11)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, product

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from reproduction.collaboration.laws import add_law, check_fit
from reproduction.collaboration.setups import Prepared, Setup
from reproduction.drawing import add_caption, plot_surface
from reproduction.item import Check, Setting, check_law

STRICT = 0.1
LAX = 10.0
OTHERS = 2
RANKED = (4, 2, 3, 1)  # from the best to the worst
NEAR = (0.8, 1.25)  # of the ratio that a law says
SAME = 2.0  # effect of the first owner's budget among strict others, at most; the law has 1.5
ALONE = 0  # scenario without others
Point = tuple[int, float]  # scenario, budget of the first owner


def compute_scenarios(setup: Setup, setting: Setting) -> pd.DataFrame:
    """Relative fitness by records and budget of the first owner, in each scenario and alone."""
    prepared = Prepared(setup, setting)
    large = min(setup.large, prepared.largest_size())
    cases = product((setup.small, large), (STRICT, LAX))
    parts = [
        measure_scenario(prepared, number, others, budget)
        for number, (others, budget) in enumerate(cases, start=1)
    ]
    return add_law(pd.concat(parts, ignore_index=True).assign(**prepared.constants))


def measure_scenario(prepared: Prepared, number: int, others: int, budget: float) -> pd.DataFrame:
    """Measure one scenario; with the first, the first owner alone."""
    setting = prepared.setting
    own = np.geomspace(STRICT, LAX, setting.pick_value(7, 3))
    counts = (OTHERS, 0) if number == 1 else (OTHERS,)
    sizes = first_sizes(prepared)
    parts = []
    for size in sizes:
        for held in counts:
            profiles = np.column_stack([own, *[np.full(len(own), budget)] * held])
            records = [size] + [others] * held
            found = prepared.measure_fitness(records, profiles, f"scenario {number}")
            columns = {
                "scenario": number if held else ALONE,
                "others_records": others * (held > 0),
                "others_epsilon": budget,
                "n_records": size,
                "epsilon": own,
            }
            parts.append(pd.DataFrame(columns | found))
        setting.did(1 / 4 / len(sizes))
    return pd.concat(parts, ignore_index=True)


def first_sizes(prepared: Prepared) -> list[int]:
    """Sizes of the first owner, which leave enough records for others who are large."""
    setup = prepared.setup
    large = min(setup.large, prepared.largest_size())
    left = prepared.largest_size(OTHERS * large, owners=1)
    most = min(10 * setup.large, 100_000, left)
    least = min(setup.least, most)
    points = prepared.setting.pick_value(5, 3)
    return np.unique(np.round(np.geomspace(least, most, points)).astype(int)).tolist()


def check_scenarios(setup: Setup, frame: pd.DataFrame) -> list[Check]:
    """Check the ranking at the largest size, the ratios of the law, and effects of the budget."""
    size = frame["n_records"].max()
    corner = frame[frame["n_records"] == size].set_index(["scenario", "epsilon"])
    law = corner["law"]
    at = f"n₁ = {size:,.0f}"

    def check_ratio(
        what: str, points: tuple[Point, Point], low: float, high: float, published: str
    ) -> Check:
        ratio, error = ratio_of_points(corner, *points)
        return check_law(what, ratio, low, high, published, 5 * error)

    checks = []
    for better, worse in pairwise(RANKED):
        what = f"scenario {worse} over {better}, {at}, ε₁ = 10"
        checks.append(check_ratio(what, ((worse, LAX), (better, LAX)), 1.0, np.inf, "above 1"))
    for other in RANKED[1:]:
        ratio, error = ratio_of_points(corner, (other, LAX), (4, LAX))
        expected = law[other, LAX] / law[4, LAX]
        low, high = (near * expected for near in NEAR)
        what = f"scenario {other} over 4, as the law has it, {at}"
        checks.append(Check(what, ratio, low, high, tolerance=5 * error + 0.1 * ratio))
    for number in (1, 3):
        what = f"scenario {number}: ε₁ from 10 to 0.1 costs so many times, {at}"
        ends = ((number, STRICT), (number, LAX))
        checks.append(check_ratio(what, ends, 0.0, SAME, "not significantly"))
    ends = ((2, STRICT), (2, LAX))
    alone = ((1, LAX), (ALONE, LAX))
    what = f"scenario 1 over the first owner's answers alone, {at}, ε₁ = 10"
    return [
        *checks,
        check_ratio(f"scenario 2: the same, {at}", ends, SAME, np.inf, "more pronounced"),
        check_ratio(what, alone, 1.0, np.inf, "no point in collaborating"),
        *check_fit(frame),
    ]


def ratio_of_points(corner: pd.DataFrame, one: Point, other: Point) -> tuple[float, float]:
    """Ratio of relative fitness at two points, and its standard error."""
    found = corner["relative_fitness"]
    spread = corner["std_error"] / found
    ratio = float(found[one] / found[other])
    return ratio, ratio * float(np.hypot(spread[one], spread[other]))


def draw_scenarios(setup: Setup, panels: Sequence[Axes], frame: pd.DataFrame) -> None:
    """Draw a map for each scenario, all with the same shades."""
    shown = frame[frame["scenario"] != ALONE]
    heights = np.log10(shown["relative_fitness"])
    span = (heights.min(), heights.max())
    for axes, (number, part) in zip(panels, shown.groupby("scenario"), strict=True):
        plot_surface(axes, part, "n_records", "epsilon", "relative_fitness", law="law", span=span)
        others = int(part["others_records"].iloc[0])
        budget = part["others_epsilon"].iloc[0]
        add_caption(axes, f"{number}: others hold {others:,} records each at ε = {budget:g}")


KINDS = {"scenarios": (compute_scenarios, check_scenarios, draw_scenarios)}
