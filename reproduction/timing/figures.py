"""Figures 2 to 11: paths and talks, grids of records and budgets, and who gains."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from learning.arrays import Array
from learning.errors import InputError
from learning.losses.loss import Loss
from learning.losses.margin import Hinge
from learning.training.paths import QUARTILES, Paths
from learning.training.plan import Plan
from reproduction.checks import log_slope
from reproduction.drawing import (
    INK,
    MUTED,
    ORANGE,
    PALETTE,
    SHADES,
    Style,
    add_caption,
    plot_band,
    set_scales,
)
from reproduction.item import NotPossible, Setting
from reproduction.specification import Found, Law
from reproduction.tables import load_table
from reproduction.tables.records import Table
from reproduction.timing.training import (
    PRINTED,
    PROVED,
    PSI,
    RIDGE,
    SQUARED,
    TICKS,
    add_bound,
    extreme_slopes,
    falls_along,
    first_paying,
    make_market,
    make_plan,
    mean_fitness,
    noise_aggregate,
    noisy_slopes,
    sweep_budgets,
    train_at,
)
from reproduction.training import Market, Records, in_random_order, step_constant
from scenarios.runner import carry_out, prepare
from scenarios.schema.loading import load

BUDGETS = (0.1, 1.0, 10.0)
COLUMNS = ("q25", "median", "q75")
SHOWN = 100  # ticks of the example
COUNTS = ("talks_of_all_runs", "fewest_of_a_run", "most_of_a_run")


def compute_paths(
    table: Table, market: Market, times: Sequence[float], setting: Setting
) -> pd.DataFrame:
    """Quartiles at every tick by budget, with the noise of several times as many records."""
    watch = Paths(market.coordinates.model, market.cost)
    sold = list(product(times, BUDGETS))
    budgets = [factor * epsilon for factor, epsilon in sold]
    train_at(market, make_plan(table, market), budgets, setting, watch=watch)
    values = np.array(list(watch.kept.values())).reshape(len(watch.kept), len(sold), setting.runs)
    quartiles = np.quantile(values, QUARTILES, axis=2)
    frames = []
    for column, (factor, epsilon) in enumerate(sold):
        part = {"times_records": factor, "epsilon": epsilon, "round": list(watch.kept)}
        part |= dict(zip(COLUMNS, quartiles[:, :, column], strict=True))
        frames.append(pd.DataFrame(part))
    frame = pd.concat(frames, ignore_index=True).assign(
        owners=len(market.records), n_records=market.sizes.sum()
    )
    return frame[(frame["round"] <= 20) | (frame["round"] % 10 == 0)].reset_index(drop=True)


def measure_paths(frame: pd.DataFrame, falling: Sequence[float] = BUDGETS) -> Found:
    """Order of ends and spreads by budget, and the fall of the median at some budgets."""
    times = frame["times_records"].max()
    part = frame[frame["times_records"] == times]
    end = part[part["round"] == part["round"].max()].sort_values("epsilon")
    start = float(part.loc[part["round"] == 0, "median"].iloc[0])
    yield "nearer", (np.diff(end["median"]) < 0).all()
    yield "narrower", (np.diff(end["q75"] - end["q25"]) < 0).all()
    noise = "as noisy as here" if times == 1 else f"as noisy as with {times:.3g} times the records"
    for row in end[end["epsilon"].isin(falling)].itertuples():
        found = row.median / start
        words = {"epsilon": row.epsilon, "noise": noise, "tolerance": 0.35 * found}
        yield "last", found, words


def annotate_end(axes: Axes, text: str, end: tuple[float, float], **style: Any) -> None:
    """Annotate the right end of a line, just above it."""
    style |= {"xytext": (0, 3), "textcoords": "offset points"}
    axes.annotate(text, end, ha="right", fontsize=7.5, **style)


def draw_bands(axes: Axes, frame: pd.DataFrame) -> None:
    """Draw a band for each budget."""
    for number, (epsilon, rows) in enumerate(frame.groupby("epsilon")):
        color = PALETTE[number]
        plot_band(axes, rows, "round", *COLUMNS, color=color)
        end = rows.iloc[-1]
        annotate_end(axes, f"ε = {epsilon:g}", (end["round"], end["q75"]), color=color)


def compute_talks(table: Table, market: Market, setting: Setting) -> pd.DataFrame:
    """Owner and time of each tick of the first run, with each owner's talks in all runs."""
    talks = train_at(market, make_plan(table, market), [np.inf], setting).talks
    assert talks is not None
    runs, owners = talks.counts.shape
    numbers = np.arange(1, len(talks.owners) + 1)
    ticks = pd.DataFrame({"tick": numbers, "owner": talks.owners + 1, "time": talks.times})
    totals = [getattr(talks.counts, name)(axis=0) for name in ("sum", "min", "max")]
    counts = pd.DataFrame(dict(zip(COUNTS, totals, strict=True)))
    counts.insert(0, "owner", np.arange(1, owners + 1))
    return ticks.merge(counts).sort_values("tick").assign(runs=runs, owners=owners)


def measure_talks(frame: pd.DataFrame) -> Found:
    """Participation of the owners, equality of their talks, and the rate of their clocks."""
    owners = int(frame["owners"].iloc[0])
    runs = int(frame["runs"].iloc[0])
    ticks = len(frame)
    counts = frame.groupby("owner")["talks_of_all_runs"].first()
    expected = runs * ticks / owners
    deviation = np.sqrt(runs * ticks / owners * (1 - 1 / owners))
    yield "share", len(counts) / owners
    yield "furthest", np.abs(counts - expected).max() / deviation
    width = 4 / np.sqrt(ticks)
    yield "rate", ticks / frame["time"].max() / owners, 1 - width, 1 + width


def draw_talks(panels: Sequence[Axes], frame: pd.DataFrame) -> None:
    """Draw the owners of the first ticks, and how often each owner talks in all."""
    owners = int(frame["owners"].iloc[0])
    runs = int(frame["runs"].iloc[0])
    left, right = panels
    first = frame[frame["tick"] <= SHOWN]
    left.plot(first["tick"], first["owner"], ls="", marker="o", ms=3)
    add_caption(left, f"the first {SHOWN} of {len(frame):,} ticks of one run")
    total, fewest, most = (frame.groupby("owner")[name].first() for name in COUNTS)
    mean = total / runs
    style: Style = {"ls": "", "marker": "o", "ms": 2.5, "elinewidth": 0.6, "ecolor": SHADES[1]}
    label = f"mean and range of {runs} runs"
    right.errorbar(mean.index, mean, [mean - fewest, most - mean], label=label, **style)
    right.axhline(len(frame) / owners, color=MUTED, lw=0.8, ls="--", label="an equal share")
    right.set(ylabel=f"talks in {len(frame):,} ticks")
    if owners <= 10:
        left.set_yticks(range(1, owners + 1))
        right.set_xticks(range(1, owners + 1))
    right.set_ylim(0, 1.3 * most.max())


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
    parts = []
    for table, order, clocks in kinds:
        markets = (make_market(table, table.slices([size] * OWNERS)) for size in sizes)
        made = ((market, make_plan(table, market, clocks=clocks)) for market in markets)
        share = 1 / len(kinds) / len(sizes)
        frame = sweep_sizes(setting, made, 9, share, order=order, reading=clocks.reading)
        a = noise_aggregate(frame["epsilon"], frame["n_records"], OWNERS)
        frame = add_bound(frame.assign(aggregate=a), a)
        parts.append(frame.assign(published=PAPER_CONSTANT * a))
    return pd.concat(parts, ignore_index=True)


def sweep_sizes(
    setting: Setting, made: Iterable[tuple[Market, Plan]], points: int, share: float, **more: str
) -> pd.DataFrame:
    """Mean relative fitness in markets of three equal owners, at budgets over two decades."""
    epsilon = np.geomspace(0.1, 10, setting.pick_value(points, 3))
    parts = [
        sweep_budgets(market, plan, epsilon, setting, share).assign(
            **more,
            n_records=int(market.sizes[0]),
            optimum=market.cost.optimum,
            gradient_bound=market.gradient_bound,
            step_size=plan.step_size,
        )
        for market, plan in made
    ]
    return pd.concat(parts, ignore_index=True)


def split_kinds(frame: pd.DataFrame) -> tuple[pd.DataFrame, ...]:
    """Rows in random order, in the file's order as printed, and as proved."""
    filed = frame["order"] == "file"
    printed = frame["reading"] == "printed"
    return frame[~filed], frame[filed & printed], frame[filed & ~printed]


def relative_distance(found: pd.Series, law: pd.Series) -> float:
    """Largest relative distance of two columns, row by row."""
    return float(np.abs(found.to_numpy() / law.to_numpy() - 1).max())


def measure_surface(frame: pd.DataFrame) -> Found:
    """The fit of (11): its square-root part, its constant, its tightness; both readings."""
    dealt, filed, proved = split_kinds(frame)
    yield "falls_in_budget", falls_along(dealt, "epsilon", "n_records")
    yield "falls_in_records", falls_along(dealt, "n_records", "epsilon")
    yield "root", 1 - (dealt["c2"] * dealt["aggregate"] / dealt["law"]).min()
    yield "off_the_law", relative_distance(dealt[PSI], dealt["law"])
    yield "off_the_law_filed", relative_distance(filed[PSI], filed["law"])
    yield "readings", relative_distance(proved[PSI], filed[PSI])
    c2 = dealt["c2"].iloc[0]
    yield "c2", c2, {"tolerance": 0.25 * c2}
    bound = dealt["gradient_bound"].iloc[0] * np.sqrt(PAPER_CONSTANT / c2)
    yield "bound", bound, {"tolerance": 0.15 * bound}


def mark_powers(axes: Axes, frame: pd.DataFrame) -> None:
    """Set ticks at every second power of ten along the panel."""
    low = frame["aggregate"].min()
    high = frame["aggregate"].max()
    axes.set_xticks([at for at in 10.0 ** np.arange(-16, 0, 2) if low / 3 < at < 3 * high])


def check_grid_slopes(frame: pd.DataFrame) -> Found:
    """Check slopes over the points that noise dominates."""
    dealt, filed, _ = split_kinds(frame)
    budget = ("epsilon", "n_records")
    records = ("n_records", "epsilon")
    yield from extreme_slopes("slopes", dealt, *budget, "ε")
    yield from extreme_slopes("slopes", dealt, *records, "records")
    yield from extreme_slopes("slopes", filed, *budget, "ε, file's order")
    yield from extreme_slopes("slopes_filed", filed, *records, "records, file's order")


PAYMENT_TICKS = 100
PAYMENT_RIDGE = 1e-5  # r of g = (1e-5/2) theta'theta
PAYMENTS = (100, 300, 1_000, 4_000, 10_000, 30_000)
QUICK_PAYMENTS = (100, 1_000)


def compute_sizes(setting: Setting) -> pd.DataFrame:
    """Mean relative fitness over sizes and budgets."""
    payments = load_table("fraud", setting)
    most = payments.n_records // OWNERS
    sizes = [n for n in setting.pick_value(PAYMENTS, QUICK_PAYMENTS) if n <= most]
    slices = (payments.slices([size] * OWNERS) for size in sizes)
    markets = (make_market(payments, parts, Hinge(), PAYMENT_RIDGE) for parts in slices)
    made = ((market, make_plan(payments, market, PAYMENT_TICKS)) for market in markets)
    frame = sweep_sizes(setting, made, 5, 1 / len(sizes))
    frame = frame.assign(excess=frame[PSI] * frame["optimum"])
    return add_bound(frame, noise_aggregate(frame["epsilon"], frame["n_records"], OWNERS))


def measure_sizes(frame: pd.DataFrame) -> dict[str, float]:
    """Falls along both, and median slopes."""
    return {
        "falls_in_budget": falls_along(frame, "epsilon", "n_records"),
        "falls_in_records": falls_along(frame, "n_records", "epsilon"),
        "slope_in_budget": noisy_slopes(frame, "epsilon", "n_records").median(),
        "slope_in_records": noisy_slopes(frame, "n_records", "epsilon").median(),
    }


RECORDS = 10_000  # of each owner, as in the paper
SMALL = 1_000  # of each owner, where there are too few records
NUMBERS = ((3, 5, 10, 20, 50, 75), (5, 10))  # of owners; quick
MORE = ((20, 50, 100), (50,))
TRIED = (0.1, 1.0, 2.5, 10.0, 30.0, 100.0)  # budgets
LENGTHS = (1.0, 0.3, 0.1, 0.03, 0.01)  # steps tried, in units of 1/(largest curvature)
ONE = 2  # place of the step at which the law in N is examined
CLAIMED = ((5, 10.0), (100, 2.5))  # owners and budgets that pay the first owner, by the paper
PRICES = {"": PRINTED, "_by_talks": replace(PRINTED, priced="talks")}
SERIES = {
    "relative_fitness": ("as printed, best step", PALETTE[0], "o"),
    "relative_fitness_by_talks": ("budgets split over talks", PALETTE[2], "s"),
    "published": ("(11) with the paper's c̄₂", MUTED, ""),
}
Training = Callable[[Sequence[Records]], pd.DataFrame]


def isolated_fitness(
    parts: Sequence[Records], loss: Loss = SQUARED, regularisation: float = RIDGE
) -> tuple[Array, Array]:
    """Relative fitness on all records of each owner's own model, and by formula, (n_owners,) each.

    Parameters
    ----------
    parts : records (n_i, p) and targets (n_i,) of each owner.
    loss : loss that is trained.
    regularisation : r of g = r/2 |theta|^2.

    Source: Farokhi et al., The Cost of Privacy, Figs 6 and 10, for the first; the formula
        C(1/n_i - 1/n) supposes owners of one kind (C = tr(H^-1 Sigma_g)/2, Sigma_g the covariance
        of the records' gradients at the optimum).
    """
    cost = loss.fitness(parts, regularisation)
    own = np.asarray(cost.relative(loss.fit_each(parts, regularisation)))
    x, y = (np.concatenate(one) for one in zip(*parts, strict=True))
    gradients = loss.derivative(loss.scores(x, y, cost.minimiser))[:, None] * x
    hessian = loss.curvature * x.T @ x / len(y) + regularisation * np.eye(x.shape[1])
    dispersion = 0.5 * np.trace(np.linalg.solve(hessian, np.cov(gradients.T))) / cost.optimum
    sizes = np.array([len(y) for _, y in parts])
    return own, dispersion * (1 / sizes - 1 / sizes.sum())


def compare_by_number(
    parts: Sequence[Records], numbers: Sequence[int], train: Training
) -> pd.DataFrame:
    """Compare joint training with the first owner's own model, for several numbers of owners.

    Parameters
    ----------
    parts : records of all owners.
    numbers : numbers of owners who take part.
    train : gives rows with ``epsilon``, ``relative_fitness`` and ``std_error`` for some owners'
        records.

    Returns
    -------
    Those rows with ``owners``, ``isolated`` (the first owner's own model on the records of all who
    take part), ``isolated_formula`` (C(1/n_1 - 1/n)).
    """
    rows = []
    for number in numbers:
        own, formula = isolated_fitness(parts[:number])
        columns = {"owners": number, "isolated": own[0], "isolated_formula": formula[0]}
        rows.append(train(parts[:number]).assign(**columns))
    return pd.concat(rows, ignore_index=True)


def train_as_published(setting: Setting, share: float, parts: Sequence[Records]) -> pd.DataFrame:
    """Train at every budget and several steps, and keep the best step in hindsight: rho is free.

    The second price of answers splits each owner's budget over the talks that it hardly ever
    exceeds, in place of all T ticks, of which it answers one in N. Fewer records get as much noise:
    it depends on records times epsilon.
    """
    loans = load_table("lending", setting)
    longest = step_constant(loans, SQUARED, RIDGE)
    market = make_market(loans, parts)
    size = len(parts[0][1])
    budgets = np.array(TRIED)
    columns = {"epsilon": budgets, "records_trained_on": size, "noise_of_records": RECORDS}
    for name, clocks in PRICES.items():
        plan = replace(make_plan(loans, market, clocks=clocks), step_size=longest * TICKS**2)
        sold = (budgets * RECORDS / size).tolist()
        found = train_at(market, plan, sold, setting, factors=LENGTHS, share=share / 2)
        shape = (len(LENGTHS), len(budgets))
        mean, error = (one.reshape(shape) for one in mean_fitness(market, found, setting))
        best = mean.argmin(axis=0)
        places = (best, np.arange(len(budgets)))
        columns[f"relative_fitness{name}"] = mean[places]
        columns[f"std_error{name}"] = error[places]
        columns[f"step_length{name}"] = np.array(LENGTHS)[best]
        columns[f"at_one_step{name}"] = mean[ONE]
    return pd.DataFrame(columns)


def compute_value(setting: Setting) -> pd.DataFrame:
    """Fitness of joint training and of own models, over numbers of owners and budgets."""
    loans = load_table("lending", setting)
    numbers = [n for n in setting.pick_value(*NUMBERS) if n * RECORDS <= loans.n_records]
    if not numbers:
        need = min(NUMBERS[0]) * RECORDS
        raise NotPossible(
            f"{need:,} records are needed, and {loans.name} has {loans.n_records:,} here"
        )
    largest = max(numbers)
    more = [n for n in setting.pick_value(*MORE) if largest < n <= loans.n_records // SMALL]
    train = partial(train_as_published, setting, 1 / (len(numbers) + len(more)))
    found = compare_by_number(loans.slices([RECORDS] * largest), numbers, train)
    if more:
        own = found.loc[found["owners"] == largest, "isolated"].iloc[0]
        small = compare_by_number(loans.slices([SMALL] * max(more)), more, train)
        small = small.assign(isolated_of_small=small["isolated"], isolated=own)
        found = pd.concat([found, small], ignore_index=True)
    a = noise_aggregate(found["epsilon"], RECORDS, found["owners"])
    pays = (found[PSI] <= found["isolated"]).astype(int)
    return found.assign(pays=pays, published=PAPER_CONSTANT * a)


def first_paying_budgets(frame: pd.DataFrame, measure: str) -> pd.Series:
    """Budget from which joint training pays the first owner, for each number of owners."""
    groups = frame.groupby("owners")
    found = {n: first_paying(rows, "epsilon", measure, "isolated") for n, rows in groups}
    return pd.Series(found)


def measure_value(frame: pd.DataFrame) -> Found:
    """Falls of fitness with budgets and owners, its power in N, and the claims of the paper."""
    wide = frame.pivot(index="owners", columns="epsilon", values=PSI)
    strict = [epsilon for epsilon in wide if epsilon <= CLAIMED[0][1]]
    noisy = frame[frame["epsilon"] == TRIED[0]]
    yield "falls_in_budget", (np.diff(wide, axis=1) < 0).all()
    yield "falls_in_owners", (np.diff(wide[strict], axis=0) < 0).mean()
    yield "power_at_one_step", log_slope(noisy["owners"], noisy["at_one_step"])
    yield "power_at_the_best", log_slope(noisy["owners"], noisy[PSI])
    for number, budget in CLAIMED:
        nearest = np.argmin(np.abs(np.log(wide.index / number)))
        here = int(wide.index[nearest])
        row = frame[(frame["owners"] == here) & (frame["epsilon"] == budget)].iloc[0]
        for name, (text, *_) in SERIES.items():
            value = row[name] / row["isolated"]
            words = {"owners": here, "budget": budget, "text": text, "tolerance": 0.3 * value}
            yield "claimed", value, words


def draw_first_budgets(axes: Axes, frame: pd.DataFrame) -> None:
    """Draw the budgets from which joint training pays."""
    for name, (label, colour, mark) in SERIES.items():
        series = first_paying_budgets(frame, name)
        part = series[np.isfinite(series)]
        style: Style = {"color": colour, "marker": mark, "ms": 4, "lw": 1.1}
        axes.plot(part.index, part, label=label, **style)
    style = {"color": ORANGE, "marker": "*", "ms": 9, "ls": ""}
    axes.plot(*zip(*CLAIMED, strict=True), label="the paper's text", **style)


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


def measure_budgets(frame: pd.DataFrame) -> Found:
    """The fall of fitness with the budget, and its slopes."""
    parts = frame.groupby("times_records")[PSI]
    yield "falls", all((np.diff(part) < 0).all() for _, part in parts)
    for times, value in noisy_slopes(frame, "epsilon", "times_records").items():
        yield "slope", value, {"noise": describe_noise(times)}


def describe_noise(times: int) -> str:
    """Describe the noise of several times as many records."""
    if times == 1:
        return "noise of as many records as there are"
    return f"noise of {times} times as many records"


def compute_gains(setting: Setting) -> pd.DataFrame:
    """Own model of every hospital against the joint model, by both readings.

    The alternative of an owner is its own best model, without noise, judged by its fitness on the
    records of all: the measure of the paper, which needs no law.
    """
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


def measure_gains(frame: pd.DataFrame) -> Found:
    """Hospitals that gain, their own models against the formula, and both readings."""
    times = frame["times_records"].max()
    part = frame[(frame["times_records"] == times) & (frame["reading"] == "printed")]
    counts = part.groupby("epsilon")["gains"].sum()
    own = part[part["epsilon"] == part["epsilon"].max()]
    ratio = own["isolated"].median() / own["isolated_formula"].median()
    readings = frame.groupby(["times_records", "epsilon", "reading"])[PSI].first().unstack()
    yield "more", (np.diff(counts) >= 0).all()
    for epsilon, many in GAINED.items():
        said = str(many) if many else "none named"
        words = {"epsilon": epsilon, "noise": describe_noise(times), "said": said}
        yield "gaining", counts[epsilon], many, many, words
    yield "ratio", ratio, {"tolerance": 0.01 * ratio}
    yield "readings", np.abs(readings["proved"] / readings["printed"] - 1).max()
    yield from measure_market_gains(frame.iloc[0])


def measure_market_gains(row: pd.Series) -> Found:
    """Hospitals that gain in the library's market, where its table was there."""
    many, gaining, formula = (row[name] for name in LIBRARY[:3])
    if not np.isnan(many):
        yield "gaining_by_own", gaining, many, many
        yield "gaining_by_formula", formula, 0, many - 1


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


BANDS = {"bands": draw_bands}
LAWS: dict[str, Law] = {
    "AS-2": (compute_bank_paths, measure_paths, BANDS),
    "AS-3": (compute_bank_talks, measure_talks, draw_talks),
    "AS-4": (compute_grid, measure_surface, {"powers": mark_powers}),
    "AS-5": (compute_grid, check_grid_slopes),
    "AS-6": (compute_value, measure_value, {"budgets": draw_first_budgets}),
    "AS-7": (compute_hospital_paths, partial(measure_paths, falling=BUDGETS[-1:]), BANDS),
    "AS-8": (compute_hospital_talks, measure_talks, draw_talks),
    "AS-9": (compute_budgets, measure_budgets),
    "AS-10": (compute_gains, measure_gains, {"models": draw_models}),
    "AS-11": (compute_sizes, measure_sizes),
}
