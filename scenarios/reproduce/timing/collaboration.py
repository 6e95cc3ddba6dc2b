"""AS 6: does training together beat an owner's own model, by the number of owners and their budget?

What an owner would have alone is its own best model, without noise, and its fitness on the records of all: the paper's own
measure, which needs no law. `by_number` serves any way of training that gives a relative fitness for some owners' records.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from learning.arrays import Array
from learning.losses.loss import Loss
from scenarios.reproduce.drawing import legend, page, say, scales, surface
from scenarios.reproduce.item import Check, Item, NotPossible, Setting
from scenarios.reproduce.tables import table
from scenarios.reproduce.timing.laws import aggregate, first_paying, slope
from scenarios.reproduce.timing.lending import PAPER_CONSTANT, WHERE
from scenarios.reproduce.timing.training import (
    PRINTED,
    READ,
    RIDGE,
    SQUARED,
    TICKS,
    fitness_of,
    market_of,
    plan_of,
    trained,
)
from scenarios.reproduce.training.published import Records, step_constant

RECORDS, SMALL = 10_000, 1_000  # of each owner, as in the paper; and where there are too few of them
NUMBERS, QUICK_NUMBERS = (3, 5, 10, 20, 50, 75), (5, 10)
MORE, QUICK_MORE = (20, 50, 100), (50,)
BUDGETS = (0.1, 1.0, 2.5, 10.0, 30.0, 100.0)
LENGTHS = (1.0, 0.3, 0.1, 0.03, 0.01)  # steps tried, in units of 1/(largest curvature)
ONE = 2  # the one at which the law in N is looked at
CLAIMED = ((5, 10.0), (100, 2.5))  # owners and budget from which on the paper finds that the first owner gains
SERIES = {
    "relative_fitness": ("as printed, best step", "#0072b2", "o"),
    "relative_fitness_by_talks": ("budgets split over talks", "#00805f", "s"),
    "published": ("(11) with the paper's c̄₂", "#636c76", ""),
}


def isolated(parts: Sequence[Records], loss: Loss = SQUARED, regularisation: float = RIDGE) -> tuple[Array, Array]:
    """Relative fitness on all records of each owner's own best model; and what C(1/n_i - 1/n) says of it, (n_owners,) each.

    Parameters
    ----------
    parts : records (n_i, p) and targets (n_i,) of each owner.
    loss : what is trained.
    regularisation : r of g = r/2 |theta|^2.

    Source: Farokhi et al., The Cost of Privacy, Figs 6 and 10, for the first; the second supposes owners alike in kind
    (C = tr(H^-1 Sigma_g)/2, Sigma_g the covariance of the records' gradients at the optimum).
    """
    cost = loss.fitness(parts, regularisation)
    own = np.asarray(cost.relative(loss.fit_each(parts, regularisation)))
    x, y = (np.concatenate(one) for one in zip(*parts, strict=True))
    gradients = loss.derivative(loss.scores(x, y, cost.minimiser))[:, None] * x
    hessian = loss.curvature * x.T @ x / len(y) + regularisation * np.eye(x.shape[1])
    dispersion = 0.5 * np.trace(np.linalg.solve(hessian, np.cov(gradients.T))) / cost.optimum
    sizes = np.array([len(y) for _, y in parts])
    return own, dispersion * (1 / sizes - 1 / sizes.sum())


def by_number(
    parts: Sequence[Records], numbers: Sequence[int], train: Callable[[Sequence[Records]], pd.DataFrame]
) -> pd.DataFrame:
    """Fitness of training together against the first owner's own model, for the first 2, 3, ... owners.

    Parameters
    ----------
    parts : records of all owners.
    numbers : how many of them take part.
    train : gives rows with ``epsilon``, ``relative_fitness`` and ``std_error`` for some owners' records.

    Returns
    -------
    Those rows with ``owners``, ``isolated`` (the first owner's own model on the records of all who take part),
    ``isolated_formula`` (C(1/n_1 - 1/n)).
    """
    rows = []
    for number in numbers:
        own, formula = isolated(parts[:number])
        rows.append(train(parts[:number]).assign(owners=number, isolated=own[0], isolated_formula=formula[0]))
    return pd.concat(rows, ignore_index=True)


def as_published(setting: Setting, share: float) -> Callable[[Sequence[Records]], pd.DataFrame]:
    """Training as the paper has it, at every budget, by the best in hindsight of some steps: rho is free.

    Beside it the same with each owner's budget split over the talks that it will hardly ever exceed, in place of all T
    ticks, of which it answers one in N.
    """
    loans, budgets = table("lending", setting), np.array(BUDGETS)
    longest = step_constant(loans, SQUARED, RIDGE)

    def train(parts: Sequence[Records]) -> pd.DataFrame:
        market, trained_on = market_of(loans, parts), len(parts[0][1])
        sold = budgets * RECORDS / trained_on  # of fewer records, as much noise: it goes by records times epsilon
        kept = pd.DataFrame({"epsilon": budgets, "records_trained_on": trained_on, "noise_of_records": RECORDS})
        for clocks, name in ((PRINTED, ""), (replace(PRINTED, priced="talks"), "_by_talks")):
            plan = replace(plan_of(loans, market, clocks=clocks), step_size=longest * TICKS**2)
            found = trained(market, plan, sold.tolist(), setting, factors=LENGTHS, share=share / 2)
            mean, error = (one.reshape(len(LENGTHS), len(budgets)) for one in fitness_of(market, found, setting))
            best = mean.argmin(axis=0), np.arange(len(budgets))
            kept = kept.assign(**{f"relative_fitness{name}": mean[best], f"std_error{name}": error[best]})
            kept = kept.assign(**{f"step_length{name}": np.array(LENGTHS)[best[0]], f"at_one_step{name}": mean[ONE]})
        return kept

    return train


def frame(setting: Setting) -> pd.DataFrame:
    """AS-6: over numbers of owners and budgets."""
    loans = table("lending", setting)
    numbers = [n for n in (QUICK_NUMBERS if setting.quick else NUMBERS) if n * RECORDS <= loans.n_records]
    if not numbers:
        raise NotPossible(
            f"{min(NUMBERS) * RECORDS:,} records are needed, and {loans.name} has {loans.n_records:,} here"
        )
    more = [n for n in (QUICK_MORE if setting.quick else MORE) if max(numbers) < n <= loans.n_records // SMALL]
    train = as_published(setting, 1 / (len(numbers) + len(more)))
    found = by_number(loans.slices([RECORDS] * max(numbers)), numbers, train)
    if more:
        own = found[found["owners"] == max(numbers)].iloc[0]
        small = by_number(loans.slices([SMALL] * max(more)), more, train)
        small = small.assign(isolated_of_small=small["isolated"], isolated=own["isolated"])
        found = pd.concat([found, small], ignore_index=True)
    found = found.assign(pays=(found["relative_fitness"] <= found["isolated"]).astype(int))
    return found.assign(published=PAPER_CONSTANT * aggregate(found["epsilon"], RECORDS, found["owners"]))


def starts(frame: pd.DataFrame, measure: str) -> pd.Series:
    """The budget from which on collaboration pays the first owner, for each number of owners."""
    found = {number: first_paying(rows, "epsilon", measure, "isolated") for number, rows in frame.groupby("owners")}
    return pd.Series(found)


def checks(frame: pd.DataFrame) -> list[Check]:
    """Whether and from where on it pays."""
    wide = frame.pivot(index="owners", columns="epsilon", values="relative_fitness")
    more = np.diff(wide[[epsilon for epsilon in wide if epsilon <= CLAIMED[0][1]]], axis=0)
    noisy = frame[frame["epsilon"] == BUDGETS[0]]
    one, best = (slope(noisy, "owners", name) for name in ("at_one_step", "relative_fitness"))
    found = [
        Check(
            "whether ψ falls as ε grows, for every number", float((np.diff(wide, axis=1) < 0).all()), 1, 1, "yes", "law"
        ),
        Check("share of further owners that lower ψ, ε up to 10", float((more < 0).mean()), 1, 1, "all", "law", 0.2),
        Check(f"power of N that ψ goes with at ε = {BUDGETS[0]:g} and one step", one, -1.2, -0.8, "−1", "value", 0.15),
        Check("the same at the best step for each N", best, -1.2, -0.8, "−1", "value", 0.15),
    ]
    for number, budget in CLAIMED:
        here = int(wide.index[np.argmin(np.abs(np.log(wide.index / number)))])  # the nearest that was measured
        row = frame[(frame["owners"] == here) & (frame["epsilon"] == budget)].iloc[0]
        for name, (words, *_) in SERIES.items():
            value = float(row[name] / row["isolated"])
            what = f"ψ over that of the first owner's own model, {here} owners at ε = {budget:g}, {words}"
            found.append(Check(what, value, 0, 1, "below 1", "value", 0.3 * value))
    return found


def figure(frame: pd.DataFrame, note: str) -> Figure:
    """The surface as printed, and where it starts to pay."""
    drawn, (left, right) = page("Does collaboration pay the first owner? 10,000 records each", note, columns=2)
    surface(left, frame, "owners", "epsilon", "relative_fitness")
    left.set(xlabel="owners N")
    say(left, "ψ as printed, over budget ε (upwards)")
    for name, (label, colour, mark) in SERIES.items():
        series = starts(frame, name)
        part = series[np.isfinite(series)]
        right.plot(part.index, part, color=colour, marker=mark, ms=4, lw=1.1, label=label)
    right.plot(*zip(*CLAIMED, strict=True), color="#c44d00", marker="*", ms=9, ls="", label="the paper's text")
    scales(right, "xy")
    right.set(xlabel="owners N", ylim=(1, 2000))
    say(right, "ε from which on it pays")
    legend(right)
    return drawn


ITEMS = (
    Item(
        "AS-6",
        f"{WHERE} 6",
        "The value of collaboration by budget and number of owners: lending, 10,000 records each",
        "The first owner gains over its own non-private model with more than 5 owners at ε ≥ 10, or more than 100 at ε ≥ "
        "2.5.",
        frame,
        checks,
        figure,
        f"{READ} More owners than there are loans for hold 1,000 records each at ten times the ε: the noise of 10,000 each, "
        "since it goes by their product; what the first owner has alone is then that of 10,000 records. The paper's ρ is "
        "free: the best of five steps in hindsight is told. Where noise rules, ψ falls with N at any one step, as 1/N at "
        "the smallest. But each of N owners talks at T/N of 1,000 ticks, so that many owners settle at long steps only, "
        "whose noise their number does not lessen: at ε = 10 more than ten do harm. Each answer is priced for all T ticks: "
        "split over the talks that an owner will hardly ever exceed, the same budget costs far less noise. Owners hold "
        "loans in the file's order, of different years: dealt at random, what each has alone would be far better.",
        ("lending",),
        25.0,
    ),
)
