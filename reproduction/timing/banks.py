"""Figures 2 to 6 and 11: banks with loans or card payments, and when training together pays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache, partial

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from learning.losses.margin import Hinge
from learning.training.plan import Plan
from reproduction.checks import log_slope, select_rows
from reproduction.drawing import MUTED, ORANGE, PALETTE, Style
from reproduction.item import NotPossible, Setting
from reproduction.specification import Found, Law
from reproduction.tables import load_table
from reproduction.timing.paths import (
    AS_HERE,
    BANDS,
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
    RIDGE,
    SQUARED,
    TICKS,
    add_bound,
    extreme_slopes,
    falls_along,
    first_paying,
    isolated_fitness,
    make_market,
    make_plan,
    mean_fitness,
    noise_aggregate,
    noisy_slopes,
    sweep_budgets,
    train_at,
)
from reproduction.training import Market, Records, in_random_order, step_constant

OWNERS = 3
PAPER_RECORDS = 250_000
OURS = "our Ξ"
PAPER_CONSTANT = 2.1e9  # of the fit of (11), in the units of the paper
BY_FIGURE = "Ξ by Figure 4"
SIZES = (1_000, 2_000, 5_000, 10_000, 50_000, 100_000, 250_000)


def make_banks(setting: Setting, size: int) -> Market:
    """Make a market of three banks with loans in the file's order."""
    loans = load_table("lending", setting)
    return make_market(loans, loans.slices([size] * OWNERS))


def largest_size(setting: Setting) -> int:
    """Most records of each of three banks, in hundreds, up to those of the paper.

    Raises
    ------
    NotPossible
        If three banks cannot have a hundred each.
    """
    loans = load_table("lending", setting)
    loans.require_records(100 * OWNERS)
    return min(PAPER_RECORDS, loans.n_records // OWNERS // 100 * 100)


def compute_bank_paths(setting: Setting) -> pd.DataFrame:
    """Paths, also with the noise of the paper's records, under our Ξ and under that of Figure 4."""
    size = largest_size(setting)
    grid = compute_grid(setting)
    times = PAPER_RECORDS / size
    told = our_bound_over_told(grid)
    each = f"{PAPER_RECORDS:,} records each"
    noises = {AS_HERE: 1.0, each: times, f"{each}, {BY_FIGURE}": times * told}
    if times == 1:
        del noises[each]
    return compute_paths(load_table("lending", setting), make_banks(setting, size), noises, setting)


def our_bound_over_told(grid: pd.DataFrame) -> float:
    """Our Ξ over that at which the fit of Figure 4 has the paper's constant, in its order."""
    _, filed, _ = split_kinds(grid)
    return float(np.sqrt(filed["c2"].iloc[0] / PAPER_CONSTANT))


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
    yield "falls_in_budget", falls_along(filed, "epsilon", "n_records")
    yield "falls_in_records", falls_along(filed, "n_records", "epsilon")
    yield "root", 1 - (filed["c2"] * filed["aggregate"] / filed["law"]).min()
    yield "off_the_law", relative_distance(filed[PSI], filed["law"])
    yield "off_the_law_dealt", relative_distance(dealt[PSI], dealt["law"])
    yield "readings", relative_distance(proved[PSI], filed[PSI])
    c2 = filed["c2"].iloc[0]
    yield "c2", c2, {"tolerance": 0.25 * c2}
    yield "c2_dealt", dealt["c2"].iloc[0], {"tolerance": 0.25 * c2}
    bound = filed["gradient_bound"].iloc[0] / our_bound_over_told(frame)
    yield "bound", bound, {"tolerance": 0.15 * bound}


def mark_powers(axes: Axes, frame: pd.DataFrame) -> None:
    """Set ticks at every second power of ten along the panel."""
    low = frame["aggregate"].min()
    high = frame["aggregate"].max()
    axes.set_xticks([at for at in 10.0 ** np.arange(-16, 0, 2) if low / 3 < at < 3 * high])


def check_grid_slopes(frame: pd.DataFrame) -> Found:
    """Check the slopes in budgets and records."""
    dealt, filed, _ = split_kinds(frame)
    budget = ("epsilon", "n_records")
    records = ("n_records", "epsilon")
    yield from extreme_slopes("slopes_in_budget", filed, *budget, "ε")
    yield from extreme_slopes("slopes", filed, *records, "records")
    yield from extreme_slopes("slopes_dealt", dealt, *budget, "ε")
    yield from extreme_slopes("slopes_dealt", dealt, *records, "records")


PAYMENT_TICKS = 100
PAYMENT_RIDGE = 1e-5  # r of g = (1e-5/2) theta'theta
PAYMENTS = (100, 300, 1_000, 4_000, 10_000, 30_000)
QUICK_PAYMENTS = (100, 1_000)


def compute_sizes(setting: Setting) -> pd.DataFrame:
    """Mean relative fitness over sizes and budgets."""
    payments = load_table("fraud", setting)
    wanted = setting.pick_value(PAYMENTS, QUICK_PAYMENTS)
    payments.require_records(wanted[1] * OWNERS)  # for two sizes at least
    sizes = [n for n in wanted if n * OWNERS <= payments.n_records]
    slices = (payments.slices([size] * OWNERS) for size in sizes)
    markets = (make_market(payments, parts, Hinge(), PAYMENT_RIDGE) for parts in slices)
    made = ((market, make_plan(payments, market, PAYMENT_TICKS)) for market in markets)
    frame = sweep_sizes(setting, made, 5, 1 / len(sizes))
    frame = frame.assign(excess=frame[PSI] * frame["optimum"])
    return add_bound(frame, noise_aggregate(frame["epsilon"], frame["n_records"], OWNERS))


def measure_sizes(frame: pd.DataFrame) -> dict[str, float]:
    """Falls of fitness along budgets and records, and its median slopes."""
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
    "published": ("(11) with c̄₂' = 8Nc₂'", MUTED, ""),
}
Training = Callable[[Sequence[Records]], pd.DataFrame]


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
    """Train at every budget, bound and several steps; the best step is kept, as rho is free.

    The second price of answers splits each owner's budget over the talks that it hardly ever
    exceeds, in place of all T ticks, of which it answers one in N. Fewer records get as much noise:
    it depends on records times epsilon, and on epsilon over the bound, which is ours or that of
    Figure 4.
    """
    loans = load_table("lending", setting)
    longest = step_constant(loans, SQUARED, RIDGE)
    market = make_market(loans, parts)
    size = len(parts[0][1])
    bounds = {OURS: 1.0, BY_FIGURE: our_bound_over_told(compute_grid(setting))}
    budgets = np.outer(list(bounds.values()), TRIED).ravel()
    columns = {
        "epsilon": np.tile(TRIED, len(bounds)),
        "bound": np.repeat(list(bounds), len(TRIED)),
        "records_trained_on": size,
        "noise_of_records": RECORDS,
    }
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
    wanted = setting.pick_value(*NUMBERS)
    loans.require_records(min(wanted) * RECORDS)
    numbers = [n for n in wanted if n * RECORDS <= loans.n_records]
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
    constant = PAPER_CONSTANT * found["owners"] / OWNERS  # 8 N c_2', fitted at three owners
    return found.assign(pays=pays, published=constant * a)


def first_paying_budgets(frame: pd.DataFrame, measure: str) -> pd.Series:
    """Budget from which joint training pays the first owner, for each number of owners."""
    groups = frame.groupby("owners")
    found = {n: first_paying(rows, "epsilon", measure, "isolated") for n, rows in groups}
    return pd.Series(found)


def measure_value(frame: pd.DataFrame) -> Found:
    """Falls of fitness with budgets and owners, its power in N, and the claims of the paper.

    They count under the bound of Figure 4, which is the paper's own.
    """
    ours, frame = (frame[frame["bound"] == bound] for bound in (OURS, BY_FIGURE))
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
        rows = {
            name: select_rows(part, owners=here, epsilon=budget).iloc[0]
            for name, part in (("claimed", frame), ("claimed_by_ours", ours))
        }
        for name, row in rows.items():
            value = row[PSI] / row["isolated"]
            error = row["std_error"] / row["isolated"]
            words = {"owners": here, "budget": budget, "tolerance": 0.3 * value}
            yield name, value, words | {"std_error": error}
        yield from check_every(frame, number, budget)
        for name, (text, *_) in list(SERIES.items())[1:]:
            row = rows["claimed"]
            value = row[name] / row["isolated"]
            words = {"owners": here, "budget": budget, "text": text, "tolerance": 0.3 * value}
            yield "beside", value, words


def check_every(frame: pd.DataFrame, number: int, budget: float) -> Found:
    """The worst of all that a claim covers: more owners than it names, and budgets from its on."""
    covered = frame[(frame["owners"] > number) & (frame["epsilon"] >= budget)]
    if not covered.empty:
        row = covered.loc[(covered[PSI] / covered["isolated"]).idxmax()]
        value, error = row[[PSI, "std_error"]] / row["isolated"]
        words = {"number": number, "budget": budget, "tolerance": 0.3 * value, "std_error": error}
        yield "every", value, words | {"owners": row["owners"], "epsilon": row["epsilon"]}


def draw_first_budgets(axes: Axes, frame: pd.DataFrame) -> None:
    """Draw the budgets from which joint training pays."""
    for name, (label, colour, mark) in SERIES.items():
        series = first_paying_budgets(frame, name)
        part = series[np.isfinite(series)]
        style: Style = {"color": colour, "marker": mark, "ms": 4, "lw": 1.1}
        axes.plot(part.index, part, label=label, **style)
    style = {"color": ORANGE, "marker": "*", "ms": 9, "ls": ""}
    axes.plot(*zip(*CLAIMED, strict=True), label="the paper's text", **style)


LAWS: dict[str, Law] = {
    "AS-2": (compute_bank_paths, measure_paths, BANDS),
    "AS-3": (compute_bank_talks, measure_talks, draw_talks),
    "AS-4": (compute_grid, measure_surface, {"powers": mark_powers}),
    "AS-5": (compute_grid, check_grid_slopes),
    "AS-6": (compute_value, measure_value, {"budgets": draw_first_budgets}),
    "AS-11": (compute_sizes, measure_sizes),
}
