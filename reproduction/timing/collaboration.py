"""Gain of the first owner over its own model, by the number of owners and their budget (AS 6).

The alternative of an owner is its own best model, without noise, judged by its fitness on the
records of all: the measure of the paper, which needs no law.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from learning.arrays import Array
from learning.losses.loss import Loss
from reproduction.drawing import (
    MUTED,
    ORANGE,
    PALETTE,
    Style,
    plot_surface,
)
from reproduction.item import Check, NotPossible, Setting
from reproduction.tables import load_table
from reproduction.timing.laws import PSI, first_paying, fit_slope, noise_aggregate
from reproduction.timing.lending import PAPER_CONSTANT
from reproduction.timing.training import (
    PRINTED,
    RIDGE,
    SQUARED,
    TICKS,
    make_market,
    make_plan,
    mean_fitness,
    train_at,
)
from reproduction.training.published import Records, step_constant

RECORDS = 10_000  # of each owner, as in the paper
SMALL = 1_000  # of each owner, where there are too few records
NUMBERS = ((3, 5, 10, 20, 50, 75), (5, 10))  # of owners; quick
MORE = ((20, 50, 100), (50,))
BUDGETS = (0.1, 1.0, 2.5, 10.0, 30.0, 100.0)
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
    budgets = np.array(BUDGETS)
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


def measure_value(frame: pd.DataFrame) -> dict[str, float | Check]:
    """Falls of fitness with budgets and owners, its power in N, and the claims of the paper."""
    wide = frame.pivot(index="owners", columns="epsilon", values=PSI)
    strict = [epsilon for epsilon in wide if epsilon <= CLAIMED[0][1]]
    noisy = frame[frame["epsilon"] == BUDGETS[0]]
    numbers: dict[str, float | Check] = {
        "falls_in_budget": (np.diff(wide, axis=1) < 0).all(),
        "falls_in_owners": (np.diff(wide[strict], axis=0) < 0).mean(),
        "power_at_one_step": fit_slope(noisy, "owners", "at_one_step"),
        "power_at_the_best": fit_slope(noisy, "owners", PSI),
    }
    for number, budget in CLAIMED:
        nearest = np.argmin(np.abs(np.log(wide.index / number)))
        here = int(wide.index[nearest])
        row = frame[(frame["owners"] == here) & (frame["epsilon"] == budget)].iloc[0]
        at = f"{here} owners at ε = {budget:g}"
        for name, (words, *_) in SERIES.items():
            value = float(row[name] / row["isolated"])
            what = f"ψ over that of the first owner's own model, {at}, {words}"
            numbers[what] = Check(what, value, 0, 1, "below 1", "value", 0.3 * value)
    return numbers


def draw_value(panels: Sequence[Axes], frame: pd.DataFrame) -> None:
    """Draw fitness as printed, and the budgets from which it pays."""
    left, right = panels
    plot_surface(left, frame, "owners", "epsilon", PSI)
    for name, (label, colour, mark) in SERIES.items():
        series = first_paying_budgets(frame, name)
        part = series[np.isfinite(series)]
        style: Style = {"color": colour, "marker": mark, "ms": 4, "lw": 1.1}
        right.plot(part.index, part, label=label, **style)
    style = {"color": ORANGE, "marker": "*", "ms": 9, "ls": ""}
    right.plot(*zip(*CLAIMED, strict=True), label="the paper's text", **style)


VALUE = (compute_value, measure_value, draw_value)
