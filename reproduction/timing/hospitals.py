"""Figures 7 to 10: hospitals of unlike kind, and which of them gain by training together."""

from __future__ import annotations

from functools import lru_cache, partial
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from learning.errors import InputError
from reproduction.drawing import INK, MUTED, Style, set_scales
from reproduction.item import Setting
from reproduction.specification import Found, Law
from reproduction.tables import load_table
from reproduction.timing.paths import (
    AS_HERE,
    BANDS,
    BUDGETS,
    annotate_end,
    compute_paths,
    compute_talks,
    draw_talks,
    measure_paths,
    measure_talks,
)
from reproduction.timing.training import (
    PRINTED,
    PROVED,
    PSI,
    add_bound,
    isolated_fitness,
    make_market,
    make_plan,
    mean_fitness,
    noise_aggregate,
    slopes_along,
    sweep_budgets,
    train_at,
)
from reproduction.training import Market
from scenarios.planning import prepare
from scenarios.runner import carry_out
from scenarios.schema.loading import load

LARGE = 10_000  # records of each hospital that the paper took, at least
RECORDS = (86 * LARGE, 2_350_000)  # of its 86 hospitals: at least, and those of all its 213
GAINED = 8  # hospitals that gain in the paper
COUNTED_AT = 10.0  # budget at which it counts them
LIBRARY = ("market_hospitals", "market_gains", "market_gains_by_formula", "market_isolated")


@lru_cache(maxsize=2)
def hospital_market(setting: Setting) -> Market:
    """Market of all hospitals."""
    stays = load_table("hospitals", setting)
    return make_market(stays, stays.of_owners())


def list_noises(setting: Setting) -> dict[str, float]:
    """Times the records that noise is drawn for: once, and as many as in the paper."""
    sizes = hospital_market(setting).sizes
    if sizes.min() >= LARGE:
        return {AS_HERE: 1.0}
    return {AS_HERE: 1.0} | {f"{total:,} records in all": total / sizes.sum() for total in RECORDS}


def compute_hospital_paths(setting: Setting) -> pd.DataFrame:
    """Paths of all hospitals."""
    table = load_table("hospitals", setting)
    return compute_paths(table, hospital_market(setting), list_noises(setting), setting)


def compute_hospital_talks(setting: Setting) -> pd.DataFrame:
    """Talks of all hospitals."""
    return compute_talks(load_table("hospitals", setting), hospital_market(setting), setting)


def compute_budgets(setting: Setting) -> pd.DataFrame:
    """Mean relative fitness over budgets, with (11) fitted."""
    market = hospital_market(setting)
    epsilon = np.geomspace(0.1, 10, setting.pick_value(9, 3))
    plan = make_plan(load_table("hospitals", setting), market)
    noises = list_noises(setting)
    times = list(noises.values())
    sold = np.concatenate([epsilon * one for one in times])
    frame = sweep_budgets(market, plan, sold, setting).assign(
        epsilon=np.tile(epsilon, len(times)),
        owners=len(market.records),
        n_records=market.sizes.sum(),
        gradient_bound=market.gradient_bound,
    )
    frame.insert(0, "noise", np.repeat(list(noises), len(epsilon)))
    frame.insert(1, "times_records", np.repeat(times, len(epsilon)))
    spent = frame["epsilon"] * frame["times_records"]
    return add_bound(frame, noise_aggregate(spent, market.sizes.mean(), len(market.records)))


def measure_budgets(frame: pd.DataFrame) -> Found:
    """The fall of fitness with the budget, and its slopes: of one line, so that one counts."""
    parts = frame.groupby("noise")[PSI]
    yield "falls", all((np.diff(part) < 0).all() for _, part in parts)
    one_line = slopes_along(frame, "epsilon", "noise")
    least = frame.loc[frame["times_records"].idxmax(), "noise"]
    for noise, value in one_line.items():
        yield "slope", value, {"noise": noise, "judged": "law" if noise == least else "reading"}


def compute_gains(setting: Setting) -> pd.DataFrame:
    """Own model of every hospital against the joint model, by both readings.

    The alternative of an owner is its own best model, without noise, judged by its fitness on the
    records of all: the measure of the paper, which needs no law.
    """
    market = hospital_market(setting)
    table = load_table("hospitals", setting)
    noises = list_noises(setting)
    cases = list(product(noises, BUDGETS))
    names, budgets = (list(column) for column in zip(*cases, strict=True))
    times = [noises[noise] for noise in names]
    sold = [epsilon * noises[noise] for noise, epsilon in cases]
    parts = []
    for clocks in (PRINTED, PROVED):
        plan = make_plan(table, market, clocks=clocks)
        found = train_at(market, plan, sold, setting, share=0.5)
        mean, error = mean_fitness(market, found, setting)
        part = {"reading": clocks.reading, "noise": names, "times_records": times}
        part["epsilon"] = budgets
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
    dict with the number of hospitals, the number that gain by the fitness of their own model on all
    records, the number that gain by C(1/n_i - 1/n), and the median of that fitness.
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


def measure_gains(frame: pd.DataFrame) -> Found:
    """Hospitals that gain, their own models against the formula, and both readings."""
    most = frame["times_records"].max()
    part = frame[frame["reading"] == "printed"]
    part = part[(part["times_records"] > 1) | (most == 1)]
    counts = part.groupby(["times_records", "noise", "epsilon"])["gains"].sum()
    own = part[(part["epsilon"] == part["epsilon"].max()) & (part["times_records"] == most)]
    ratio = own["isolated"].median() / own["isolated_formula"].median()
    readings = frame.groupby(["times_records", "epsilon", "reading"])[PSI].first().unstack()
    yield "more", all((np.diff(rows) >= 0).all() for _, rows in counts.groupby("noise"))
    yield from count_gaining(part)
    yield "ratio", ratio, {"tolerance": 0.01 * ratio}
    yield "readings", np.abs(readings["proved"] / readings["printed"] - 1).max()
    yield from measure_market_gains(frame.iloc[0])


def count_gaining(part: pd.DataFrame) -> Found:
    """Hospitals that gain by noise and budget; of the budget that the paper counts one noise does.

    The standard error of a number is a quarter of how far it moves with two of ψ either way.
    """
    rows = []
    for (epsilon, noise), of in part.groupby(["epsilon", "noise"]):
        ends = [(of["isolated"] > of[PSI] + z * of["std_error"]).sum() for z in (-2, 0, 2)]
        error = (ends[0] - ends[2]) / 4
        rows.append({"epsilon": epsilon, "noise": noise, "many": ends[1], "std_error": error})
    counted = [row for row in rows if row["epsilon"] == COUNTED_AT]
    best = min(counted, key=lambda row: abs(row["many"] - GAINED))
    yield "serves", best["many"], best | {"choices": len(counted), "of": part["owner"].nunique()}
    for row in rows:
        name = "gaining" if row["epsilon"] == COUNTED_AT else "silent"
        yield name, row["many"], row


def measure_market_gains(row: pd.Series) -> Found:
    """Hospitals that gain in the library's market, where its table was there."""
    many, gaining, formula = (row[name] for name in LIBRARY[:3])
    if not np.isnan(many):
        yield "gaining_by_own", gaining, many, many
        yield "gaining_by_formula", formula


def draw_models(axes: Axes, frame: pd.DataFrame) -> None:
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
    set_scales(axes, "xy")
    low, high = axes.get_ylim()
    axes.set_ylim(low, high * (high / low) ** 0.3)


LAWS: dict[str, Law] = {
    "AS-7": (compute_hospital_paths, partial(measure_paths, falling=BUDGETS[-1:]), BANDS),
    "AS-8": (compute_hospital_talks, measure_talks, draw_talks),
    "AS-9": (compute_budgets, measure_budgets),
    "AS-10": (compute_gains, measure_gains, {"models": draw_models}),
}
