"""Gradient bounds fitted on one figure of a paper, and what they predict of its other figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from learning.arrays import Array
from learning.losses.margin import Hinge
from market.analysis.thesis_games import thesis_game
from market.equilibrium.solver import solve
from reproduction.checks import REACH
from reproduction.collaboration.figures import LAX, OTHERS, STRICT
from reproduction.collaboration.setups import HORIZON, LENDING, Prepared
from reproduction.item import NotPossible, Setting
from reproduction.specification import Found, Law, Rows
from reproduction.tables import load_table
from reproduction.thesis.games import HIGHEST, SIZES
from reproduction.timing.banks import (
    CLAIMED,
    LENGTHS,
    PAYMENT_RIDGE,
    PAYMENT_TICKS,
    PAYMENTS,
    QUICK_PAYMENTS,
    RECORDS,
    SMALL,
    compute_grid,
)
from reproduction.timing.banks import PAPER_CONSTANT as CONSTANT
from reproduction.timing.training import (
    PSI,
    RIDGE,
    SQUARED,
    TICKS,
    falls_along,
    isolated_fitness,
    make_market,
    make_plan,
    mean_fitness,
    noisy_slopes,
    train_at,
)
from reproduction.training import Market, step_constant

# ---- VC: from scenario 1 of Figure 6 to its other scenarios, and to Figure 4
#
# The largest relative fitness of a panel lies between its two highest tick labels, and is that of
# the smallest first owner with the smallest budget. By the exact law it is bias + (K/f*) S, of
# which S goes with the square of the bound.

Panel = tuple[int, float, tuple[float, float]]  # records and budget of each other, tick labels
FITTED = "Figure 6, scenario 1"
PANELS: dict[str, Panel] = {
    FITTED: (1_000, STRICT, (1e6, 1e7)),
    "Figure 6, scenario 2": (1_000, LAX, (1e6, 1e8)),
    "Figure 6, scenario 3": (100_000, STRICT, (1e3, 1e4)),
    "Figure 6, scenario 4": (100_000, LAX, (1e3, 1e4)),
    "Figure 4": (1_000, STRICT, (1e7, 1e9)),
}
FIRST = 1_000  # records of the first owner in the noisiest corner


def noise_at_one(others: int, budget: float) -> float:
    """Noise S at a bound of 1, of a first owner with `FIRST` records at ε = 0.1 and two others."""
    records = FIRST + OTHERS * others
    squares = STRICT**-2 + OTHERS * budget**-2
    return 8 * HORIZON**2 * squares / records**2


def range_of_bounds(ticks: Sequence[float], bias: float, slope: float) -> Array:
    """Smallest and largest bound under which bias + slope bound^2 lies between two ticks."""
    return np.sqrt((np.array(ticks) - bias) / slope)


def fit_scenarios(setting: Setting) -> Rows:
    """Range of bounds that each panel's tick labels allow, and its level at the fitted ones."""
    prepared = Prepared(LENDING, setting)
    market = prepared.make_market(prepared.limit_sizes(FIRST) * (1 + OTHERS))
    bias, noise = market.law([STRICT] * (1 + OTHERS), prepared.plan)
    power = market.noise_power([STRICT] * (1 + OTHERS), prepared.plan)
    per_noise = float(noise / power)
    slopes = {name: per_noise * noise_at_one(*panel[:2]) for name, panel in PANELS.items()}
    fitted = range_of_bounds(PANELS[FITTED][2], bias, slopes[FITTED])
    for name, (_, _, ticks) in PANELS.items():
        low, high = range_of_bounds(ticks, bias, slopes[name])
        for bound in np.geomspace(fitted[0], fitted[1], 5):
            yield {
                "panel": name,
                "bound": bound,
                "level": bias + slopes[name] * bound**2,
                "low_tick": ticks[0],
                "high_tick": ticks[1],
                "low": low,
                "high": high,
                "our_bound": market.gradient_bound,
            }


def measure_scenarios(frame: pd.DataFrame) -> Found:
    """Bounds that scenario 1 allows, and how far the nearest bound is that another panel allows."""
    ranges = frame.groupby("panel", sort=False)[["low", "high"]].first()
    fitted = ranges.loc[FITTED]
    for end in ("low", "high"):
        yield "fitted", fitted[end], {"end": end, "tolerance": 0.1 * fitted[end]}
    for name, own in ranges.drop(FITTED).iterrows():
        apart = max(1.0, own["low"] / fitted["high"], fitted["low"] / own["high"])
        yield "apart", apart, {"panel": name}


# ---- AS: from Figure 4 to Figure 6
#
# The fit of (11) tells the product of bound and step; with the book's step, the bound. Trainings at
# another bound are trainings at another budget, since noise goes by their ratio.

BOUNDS = (50.0, 100.0, 200.0, 400.0, 800.0, 1600.0)  # tried beside those fitted


def fit_bounds(setting: Setting) -> Array:
    """Bounds at which the constant of (11) is the paper's, by each reading of Figure 4."""
    grid = compute_grid(setting)
    fits = grid.groupby(["order", "reading"])[["gradient_bound", "c2"]].first()
    return np.sort((fits["gradient_bound"] * np.sqrt(CONSTANT / fits["c2"])).to_numpy())


def predict_value(setting: Setting) -> Rows:
    """Joint training over the first owner's own model at both claims, for every bound tried."""
    loans = load_table("lending", setting)
    fitted = fit_bounds(setting)
    bounds = sorted({*BOUNDS, *fitted[[0, -1]].tolist()})
    own = isolated_fitness(loans.slices([RECORDS] * min(10, loans.n_records // RECORDS)))[0][0]
    for number, budget in CLAIMED:
        size = RECORDS if number * RECORDS <= loans.n_records else SMALL
        if number * size > loans.n_records:
            raise NotPossible(f"{number * SMALL:,} loans are needed, and there are fewer here")
        parts = loans.slices([size] * number)
        alone = isolated_fitness(parts)[0][0] if size == RECORDS else own
        market = make_market(loans, parts)
        sold = [budget * RECORDS / size * market.gradient_bound / bound for bound in bounds]
        for bound, (found, error) in zip(bounds, best_steps(market, sold, setting), strict=True):
            yield {
                "owners": number,
                "epsilon": budget,
                "records": size,
                "bound": bound,
                "relative_fitness": found,
                "std_error": error,
                "isolated": alone,
                "ratio": found / alone,
                "fitted_low": fitted[0],
                "fitted_high": fitted[-1],
            }


def best_steps(
    market: Market, sold: Sequence[float], setting: Setting
) -> list[tuple[float, float]]:
    """Relative fitness at each budget with the best of five steps, and its standard error."""
    loans = load_table("lending", setting)
    plan = make_plan(loans, market)
    length = step_constant(loans, SQUARED, RIDGE) * TICKS**2
    plan = replace(plan, step_size=length)
    trained = train_at(market, plan, sold, setting, factors=LENGTHS, share=1 / len(CLAIMED))
    shape = (len(LENGTHS), len(sold))
    mean, error = (one.reshape(shape) for one in mean_fitness(market, trained, setting))
    best = mean.argmin(axis=0)
    places = np.arange(len(sold))
    return list(zip(mean[best, places].tolist(), error[best, places].tolist(), strict=True))


def measure_value(frame: pd.DataFrame) -> Found:
    """The fitted bounds, the claims under both ends of them, and the largest bound that pays."""
    ends = frame[["fitted_low", "fitted_high"]].iloc[0]
    for name, end in ends.items():
        yield "fit", end, {"end": str(name).removeprefix("fitted_"), "tolerance": 0.2 * end}
    for (owners, budget), rows in frame.groupby(["owners", "epsilon"]):
        words = {"owners": owners, "budget": budget}
        for name, end in ends.items():
            ratio = rows.loc[np.isclose(rows["bound"], end), "ratio"].iloc[0]
            end_words = {"end": str(name).removeprefix("fitted_"), "tolerance": 0.3 * ratio}
            yield "pays", ratio, words | end_words
        paying = rows.loc[rows["ratio"] < 1, "bound"]
        yield "largest", paying.max() if len(paying) else 0.0, words | {"tolerance": 1000.0}


# ---- AS: from the upper panel of Figure 11 to the lower one
#
# The step is not stated: under which are both panels as the paper describes them?

LENGTHENED = (0.01, 0.03, 0.1, 0.21, 0.23, 0.3, 1.0, 3.0, 10.0)  # in units of AS-11's step
STEEP = -2.0  # slope in records from which it is more than a hundredfold


def sweep_steps(setting: Setting) -> pd.DataFrame:
    """Fitness over steps, records and budgets, with the slopes of each step."""
    frame = pd.DataFrame(train_steps(setting))
    judged = {at: judge_step(rows) for at, rows in frame.groupby("factor")}
    return frame.join(
        pd.DataFrame(judged).T[["in_budget", "in_records"]].astype(float), on="factor"
    )


def train_steps(setting: Setting) -> Rows:
    """Mean relative fitness of AS-11's owners over steps, records and budgets."""
    payments = load_table("fraud", setting)
    wanted = setting.pick_value(PAYMENTS, QUICK_PAYMENTS)
    payments.require_records(wanted[1] * 3)  # for two sizes at least
    sizes = [size for size in wanted if size * 3 <= payments.n_records]
    epsilon = np.geomspace(0.1, 10, setting.pick_value(5, 3))
    for size in sizes:
        market = make_market(payments, payments.slices([size] * 3), Hinge(), PAYMENT_RIDGE)
        plan = make_plan(payments, market, PAYMENT_TICKS)
        sold = [*epsilon, np.inf]
        share = 1 / len(sizes)
        found = train_at(market, plan, sold, setting, factors=LENGTHENED, share=share)
        mean = mean_fitness(market, found, setting)[0].reshape(len(LENGTHENED), -1)
        for factor, (*noisy, noiseless) in zip(LENGTHENED, mean.tolist(), strict=True):
            common = {"factor": factor, "n_records": size, "noiseless": noiseless}
            for budget, value in zip(epsilon, noisy, strict=True):
                yield common | {"epsilon": budget, PSI: value}


def judge_step(frame: pd.DataFrame) -> dict[str, float]:
    """Slopes of one step in budget and records, and whether its fitness falls with each."""
    budget = ("epsilon", "n_records")
    records = ("n_records", "epsilon")
    slopes = [noisy_slopes(frame, *axes).median() for axes in (budget, records)]
    return {
        "in_budget": slopes[0],
        "in_records": slopes[1],
        "falls with the budget": falls_along(frame, *budget),
        "falls with records": falls_along(frame, *records),
        "gets ten times smaller at ten times the budget": abs(slopes[0] + 1) <= REACH,
        "gets over a hundred times smaller at ten times the records": slopes[1] <= STEEP,
    }


def measure_steps(frame: pd.DataFrame) -> Found:
    """Steps that make each claim true, and that make all of them true."""
    judged = pd.DataFrame({at: judge_step(rows) for at, rows in frame.groupby("factor")}).T
    claims = list(judged.columns[2:])
    for claim in claims:
        yield "claim", judged[claim].sum(), {"claim": claim, "steps": len(judged)}
    yield "every", judged[claims].all(axis=1).sum(), {"steps": len(judged)}


# ---- TH: the least budget of the game in Figure 4.3

FLOORS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.5)  # the book's is the first
STARTS = 16


def count_equilibria(setting: Setting) -> Rows:
    """Equilibria of the utility-compensation game, for least budgets that it may have."""
    for sizes, records in SIZES.items():
        for floor in FLOORS:
            game = thesis_game("utility", records, epsilon=(floor, HIGHEST))
            found = solve(game, rng=setting.streams("floors").rng(sizes, str(floor)), starts=STARTS)
            yield {
                "sizes": sizes,
                "floor": floor,
                "equilibria": found.converged + len(found.others),
                "total": float(found.epsilon.sum()),
            }


def measure_floors(frame: pd.DataFrame) -> Found:
    """Up to which floor there is not one equilibrium, and at how many."""
    for sizes, rows in frame.groupby("sizes"):
        several = rows.loc[rows["equilibria"] != 1, "floor"]
        words = {"sizes": sizes, "floors": len(rows)}
        yield "several", several.max() if len(several) else 0.0, words
        yield "shared", len(several), words


LAWS: dict[str, Law] = {
    "K-VC": (fit_scenarios, measure_scenarios),
    "K-AS": (predict_value, measure_value),
    "K-AS11": (sweep_steps, measure_steps),
    "K-TH": (count_equilibria, measure_floors),
}
