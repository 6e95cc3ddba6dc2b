"""Four scenarios of collaboration: others small or large, strict or lax, by what the first owner has and gives (VC 6, 11)."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from scenarios.reproduce.collaboration.setups import DEALT, FRAUD, LENDING, READINGS, SAYS, Prepared, Setup
from scenarios.reproduce.collaboration.slopes import LAWS, law_check, with_law
from scenarios.reproduce.collaboration.surfaces import constant_checks
from scenarios.reproduce.drawing import page, say, surface
from scenarios.reproduce.item import Check, Item, Setting

STRICT, LAX = 0.1, 10.0
OTHERS = 2
RANKED = (4, 2, 3, 1)  # from the best to the worst
NEAR = (0.8, 1.25)  # of the ratio that a law says
SAME = 2.0  # times, at most, that the first owner's budget matters where strict others rule: the law has at most 1.5
AXES = "\nLines: relative fitness ψ as measured; dashed: by the law."
ALONE = 0  # stands for no others


def compute(setup: Setup, setting: Setting) -> pd.DataFrame:
    """Records of the first owner by its budget, in each scenario; and the first owner alone, under its own noise."""
    prepared = setup.at(setting)
    large = min(setup.large, prepared.largest())
    parts = [
        scenario(prepared, number, others, budget)
        for number, (others, budget) in enumerate(
            ((setup.small, STRICT), (setup.small, LAX), (large, STRICT), (large, LAX)), start=1
        )
    ]
    return with_law(pd.concat(parts, ignore_index=True).assign(**prepared.constants))


def scenario(prepared: Prepared, number: int, others: int, budget: float) -> pd.DataFrame:
    """One scenario; beside the first, the first owner alone."""
    own, parts = np.geomspace(STRICT, LAX, 3 if prepared.setting.quick else 7), []
    for size in first_sizes(prepared):
        for held in (OTHERS, 0) if number == 1 else (OTHERS,):
            profiles = np.column_stack([own, *[np.full(len(own), budget)] * held])
            found = prepared.measured([size] + [others] * held, profiles, f"scenario {number}")
            told = {
                "scenario": number if held else ALONE,
                "others_records": others * (held > 0),
                "others_epsilon": budget,
            }
            parts.append(pd.DataFrame({**told, "n_records": size, "epsilon": own, **found}))
        prepared.setting.did(1 / 4 / len(first_sizes(prepared)))
    return pd.concat(parts, ignore_index=True)


def first_sizes(prepared: Prepared) -> list[int]:
    """Records of the first owner, the same in every scenario: as many as leave enough for others who are large."""
    large = min(prepared.setup.large, prepared.largest())
    most = min(10 * prepared.setup.large, 100_000, prepared.largest(OTHERS * large, owners=1))
    least = min(prepared.setup.least, most)
    points = 3 if prepared.setting.quick else 5
    return np.unique(np.round(np.geomspace(least, most, points)).astype(int)).tolist()


def checks(frame: pd.DataFrame) -> list[Check]:
    """The ranking where the first owner gives most, the ratios of the law, and what the first owner's budget changes."""
    size = frame["n_records"].max()
    corner = frame[frame["n_records"] == size].set_index(["scenario", "epsilon"])
    found, law, error = (corner[name] for name in ("relative_fitness", "law", "std_error"))
    at = f"n₁ = {size:,.0f}"
    checks = []
    for better, worse in zip(RANKED, RANKED[1:], strict=False):
        ratio, spread = ratio_of(found, error, (worse, LAX), (better, LAX))
        what = f"scenario {worse} over {better}, {at}, ε₁ = 10"
        checks.append(Check(what, ratio, 1.0, np.inf, "above 1", "law", 5 * spread))
    for other in RANKED[1:]:
        ratio, spread = ratio_of(found, error, (other, LAX), (4, LAX))
        expected = law[other, LAX] / law[4, LAX]
        low, high = (near * expected for near in NEAR)
        checks.append(
            Check(
                f"scenario {other} over 4, as the law has it, {at}",
                ratio,
                low,
                high,
                tolerance=5 * spread + 0.1 * ratio,
            )
        )
    changes = {number: ratio_of(found, error, (number, STRICT), (number, LAX)) for number in (1, 2, 3)}
    for number in (1, 3):
        ratio, spread = changes[number]
        what = f"scenario {number}: ε₁ from 10 to 0.1 costs so many times, {at}"
        checks.append(Check(what, ratio, 0.0, SAME, "not significantly", "law", 5 * spread))
    ratio, spread = changes[2]
    checks.append(Check(f"scenario 2: the same, {at}", ratio, SAME, np.inf, "more pronounced", "law", 5 * spread))
    ratio, spread = ratio_of(found, error, (1, LAX), (ALONE, LAX))
    what = f"scenario 1 over the first owner's answers alone, {at}, ε₁ = 10"
    checks.append(Check(what, ratio, 1.0, np.inf, "no point in collaborating", "law", 5 * spread))
    return checks + (law_check(frame) or constant_checks(frame))


def ratio_of(
    found: pd.Series, error: pd.Series, one: tuple[int, float], other: tuple[int, float]
) -> tuple[float, float]:
    """One point over another, and its standard error."""
    ratio = float(found[one] / found[other])
    return ratio, ratio * float(np.hypot(error[one] / found[one], error[other] / found[other]))


def draw(title: str, frame: pd.DataFrame, note: str) -> Figure:
    """A map for each scenario, all with the same shades."""
    figure, panels = page(title, f"{note}{SAYS}{AXES}", columns=2, rows=2, height=2.4)
    shown = frame[frame["scenario"] != ALONE]
    heights = np.log10(shown["relative_fitness"])
    for axes, (number, part) in zip(panels, shown.groupby("scenario"), strict=True):
        surface(axes, part, "n_records", "epsilon", "relative_fitness", law="law", span=(heights.min(), heights.max()))
        others, budget = int(part["others_records"].iloc[0]), part["others_epsilon"].iloc[0]
        say(axes, f"{number}: others hold {others:,} records each at ε = {budget:g}")
        axes.set(
            xlabel="records of the first owner" if number > 2 else "",
            ylabel="its privacy budget ε" if number % 2 else "",
        )
    return figure


def _item(key: str, setup: Setup, where: str, cost: float, more: str) -> Item:
    title = f"Four scenarios of collaboration: {setup.subject}"
    return Item(
        key=key,
        where=where,
        title=title,
        claim=(
            "The second and third owner are small or large, strict (ε = 0.1) or lax (ε = 10). With small strict "
            "ones there is no point in collaborating, whatever the first owner's budget, which hardly matters; "
            "with small lax ones its records and budget matter much; with large strict ones it is as in the first "
            "case, on a better level; large lax ones are best."
        ),
        compute=partial(compute, setup),
        checks=checks,
        draw=partial(draw, title),
        differs=f"{more} {LAWS[setup.name]} {READINGS}",
        tables=(setup.name,),
        cost=cost,
    )


ITEMS = (
    _item(
        "VC-6",
        LENDING,
        "Wu et al., Figure 6 (thesis, Figure 3.5)",
        6.0,
        f"{DEALT} Large owners hold 100,000 loans in the paper, and here as many as the table has.",
    ),
    _item(
        "VC-11",
        FRAUD,
        "Wu et al., Figure 11 (thesis, Figure 3.10), whose caption speaks of lending rates by mistake",
        15.0,
        "Large owners hold 10,000 payments in the paper, and here as many as the table has.",
    ),
)
