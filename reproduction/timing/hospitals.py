"""Hospitals: paths, talks, the law over budgets, and the hospitals that gain (AS 7-10)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from learning.errors import InputError
from reproduction.drawing import (
    INK,
    MUTED,
    Style,
    add_caption,
    add_legend,
    make_page,
    plot_series,
    set_scales,
)
from reproduction.item import Check, Setting, report_number
from reproduction.tables import load_table
from reproduction.timing.collaboration import isolated_fitness
from reproduction.timing.laws import (
    PSI,
    SQUARE,
    add_bound,
    noise_aggregate,
    noisy_slopes,
)
from reproduction.timing.paths import (
    BUDGETS,
    annotate_end,
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
    mean_fitness,
    sweep_budgets,
    train_at,
)
from reproduction.training.published import Market
from scenarios.runner import carry_out, prepare
from scenarios.schema.loading import load

LARGE = 10_000  # records of each hospital that the paper took
GAINED = {0.1: 0, 1.0: 0, 10.0: 8}  # hospitals that gain in the paper
LIBRARY = ("market_hospitals", "market_gains", "market_gains_by_formula", "market_isolated")


@lru_cache(maxsize=2)
def hospital_market(setting: Setting) -> Market:
    """Market of all hospitals."""
    stays = load_table("hospitals", setting)
    return make_market(stays, stays.of_owners())


def record_factors(setting: Setting) -> list[int]:
    """Factors of the records that noise is drawn for: 1, and up to the hospitals of the paper."""
    return [1] if hospital_market(setting).sizes.min() >= LARGE else [1, 100]


def compute_hospital_paths(setting: Setting) -> pd.DataFrame:
    """Paths of all hospitals."""
    table = load_table("hospitals", setting)
    return compute_paths(table, hospital_market(setting), record_factors(setting), setting)


def compute_hospital_talks(setting: Setting) -> pd.DataFrame:
    """Talks of all hospitals."""
    return compute_talks(load_table("hospitals", setting), hospital_market(setting), setting)


def compute_budgets(setting: Setting) -> pd.DataFrame:
    """Mean relative fitness over budgets, with (11) fitted."""
    market = hospital_market(setting)
    epsilon = np.geomspace(0.1, 10, setting.pick_value(9, 3))
    plan = make_plan(load_table("hospitals", setting), market)
    times = record_factors(setting)
    sold = np.concatenate([epsilon * one for one in times])
    frame = sweep_budgets(market, plan, sold, setting).assign(
        epsilon=np.tile(epsilon, len(times)),
        owners=len(market.records),
        n_records=market.sizes.sum(),
        gradient_bound=market.gradient_bound,
    )
    frame.insert(0, "times_records", np.repeat(times, len(epsilon)))
    spent = frame["epsilon"] * frame["times_records"]
    return add_bound(frame, noise_aggregate(spent, market.sizes.mean(), len(market.records)))


def measure_budgets(frame: pd.DataFrame) -> dict[str, float | Check]:
    """The fall of fitness with the budget, and its slopes."""
    parts = frame.groupby("times_records")[PSI]
    numbers: dict[str, float | Check] = {
        "falls": all((np.diff(part) < 0).all() for _, part in parts)
    }
    for times, value in noisy_slopes(frame, "epsilon", "times_records").items():
        what = f"slope of ψ in ε where noise rules, {describe_noise(times)}"
        numbers[what] = Check(what, value, *SQUARE, "(11): −2", "law", 0.02)
    return numbers


def describe_noise(times: int) -> str:
    """Describe the noise of several times as many records."""
    if times == 1:
        return "noise of as many records as there are"
    return f"noise of {times} times as many records"


def draw_budgets(panels: Sequence[Axes], frame: pd.DataFrame) -> None:
    """Draw measured points and the fitted law."""
    (axes,) = panels
    labels = [describe_noise(times) for times in sorted(frame["times_records"].unique())]
    plot_series(axes, frame, "epsilon", PSI, "times_records", law="law", labels=labels)


def compute_gains(setting: Setting) -> pd.DataFrame:
    """Own model of every hospital against the joint model, by both readings."""
    market = hospital_market(setting)
    table = load_table("hospitals", setting)
    cases = list(product(record_factors(setting), BUDGETS))
    times, budgets = (list(column) for column in zip(*cases, strict=True))
    sold = [epsilon * factor for factor, epsilon in cases]
    parts = []
    for clocks in (PRINTED, PROVED):
        plan = make_plan(table, market, clocks=clocks)
        found = train_at(market, plan, sold, setting, share=0.5)
        mean, error = mean_fitness(market, found, setting)
        part = {"reading": clocks.reading, "times_records": times, "epsilon": budgets}
        parts.append(pd.DataFrame(part | {PSI: mean, "std_error": error}))
    own, formula = isolated_fitness(market.records)
    columns = {
        "owner": np.arange(1, len(own) + 1),
        "n_records": market.sizes,
        "isolated": own,
        "isolated_formula": formula,
    }
    frame = pd.concat(parts).merge(pd.DataFrame(columns), how="cross")
    data = None if setting.quick else setting.data
    return frame.assign(
        **count_market_gains(data, setting.runs),
        gains=(frame[PSI] < frame["isolated"]).astype(int),
        gains_by_formula=(frame[PSI] < frame["isolated_formula"]).astype(int),
    )


def count_market_gains(data: Path | None, runs: int) -> dict[str, float]:
    """Hospitals that gain in the library's market of hospitals; nan without its table.

    The program's own protocol trains there, at the budgets that hospitals sell.

    Parameters
    ----------
    data : folder with the subset of the state's table.
    runs : trainings.

    Returns
    -------
    dict with the number of hospitals, the numbers of those that gain by the fitness of their own
    optimum on all records and by C(1/n_i - 1/n), and the median of the former.
    """
    absent = dict.fromkeys(LIBRARY, float("nan"))
    if data is None:
        return absent
    changes = ["market.starts=1", f"validation.runs={runs}"]
    try:
        scenario = load("hospitals", changes, data_folder=data)
        prepared = prepare(scenario)
    except InputError:  # another edition of the table
        return absent
    run = carry_out(scenario, prepared, others=False)
    trained = float(run.fitness.mean())
    records = [(owner.x, owner.y) for owner in run.data.owners]
    learning = scenario.learning
    own, formula = isolated_fitness(records, learning.objective, learning.regularisation)
    gaining = [int((one > trained).sum()) for one in (own, formula)]
    return dict(zip(LIBRARY, (len(own), *gaining, float(np.median(own))), strict=True))


def measure_gains(frame: pd.DataFrame) -> dict[str, float | Check]:
    """Hospitals that gain, their own models against the formula, and both readings."""
    times = frame["times_records"].max()
    part = frame[(frame["times_records"] == times) & (frame["reading"] == "printed")]
    counts = part.groupby("epsilon")["gains"].sum()
    own = part[part["epsilon"] == part["epsilon"].max()]
    ratio = float(own["isolated"].median() / own["isolated_formula"].median())
    readings = frame.groupby(["times_records", "epsilon", "reading"])[PSI].first().unstack()
    numbers: dict[str, float | Check] = {"more": (np.diff(counts) >= 0).all()}
    for epsilon, many in GAINED.items():
        what = f"hospitals that gain at ε = {epsilon:g}, {describe_noise(times)}"
        published = str(many) if many else "none named"
        numbers[what] = Check(what, float(counts[epsilon]), many, many, published, "value", 8)
    what = "median ψ of own models over what C(1/n_i − 1/n) says"
    numbers["ratio"] = report_number(what, ratio, 0.01 * ratio)
    numbers["readings"] = np.abs(readings["proved"] / readings["printed"] - 1).max()
    return numbers | measure_market_gains(frame.iloc[0])


def measure_market_gains(row: pd.Series) -> dict[str, float | Check]:
    """Hospitals that gain in the library's market, where its table was there."""
    many, gaining, formula = (row[name] for name in LIBRARY[:3])
    if np.isnan(many):
        return {}
    words = "hospitals that gain in the library's market, by"
    own = f"{words} their own models on all records"
    alike = f"{words} C(1/n_i − 1/n)"
    runs = ("103 of 103 in an independent run", "82 in an independent run")
    return {
        own: Check(own, gaining, many, many, runs[0], "law", 3),
        alike: Check(alike, formula, 0, many - 1, runs[1], "value", 40),
    }


def draw_gains(frame: pd.DataFrame, note: str) -> Figure:
    """Draw own models by size, and a line for the joint model at each budget."""
    printed = frame[frame["reading"] == "printed"]
    groups = list(printed.groupby("times_records"))
    title = "Who gains? Hospitals' own models against the one trained together"
    figure, panels = make_page(title, note, columns=len(groups))
    for axes, (factor, part) in zip(panels, groups, strict=True):
        _draw_models(axes, part)
        set_scales(axes, "xy")
        low, high = axes.get_ylim()
        axes.set(xlabel="records of the hospital", ylim=(low, high * (high / low) ** 0.3))
        add_caption(axes, f"ψ; {describe_noise(factor)}")
        add_legend(axes)
    return figure


def _draw_models(axes: Axes, frame: pd.DataFrame) -> None:
    """Draw own models as markers, and joint models as lines."""
    own = frame[frame["epsilon"] == BUDGETS[0]]
    sizes = own["n_records"]
    axes.plot(sizes, own["isolated"], "o", ms=3, label="own model, on all records")
    style: Style = {"ms": 2, "color": MUTED, "label": "C(1/n_i − 1/n)"}
    axes.plot(sizes, own["isolated_formula"], ".", **style)
    lines = zip(frame.groupby("epsilon")[PSI].first().items(), ("-", "--", "-."), strict=True)
    for (epsilon, psi), dashes in lines:
        axes.axhline(psi, color=INK, lw=1, ls=dashes)
        annotate_end(axes, f"together, ε = {epsilon:g}", (sizes.max(), psi))


PATHS = (compute_hospital_paths, partial(measure_paths, falling=BUDGETS[-1:]), draw_paths)
TALKS = (compute_hospital_talks, measure_talks, draw_talks)
BUDGETS_LAW = (compute_budgets, measure_budgets, draw_budgets)
GAINS = (compute_gains, measure_gains, draw_gains)
