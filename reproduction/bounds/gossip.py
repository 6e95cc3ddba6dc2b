"""B-AS: Theorem 2 of The Cost of Privacy in Asynchronous DP ML beside trainings."""

from __future__ import annotations

import numpy as np
import pandas as pd

from learning.arrays import Array
from learning.privacy.laplace import Laplace
from learning.training.inequalities import gossip_gap
from learning.training.plan import Plan
from reproduction.bounds.problems import (
    Run,
    add_bounds,
    concatenate,
    draw_sizes,
    generate_problem,
    largest_ratio,
    mean_slope,
)
from reproduction.checks import select_rows
from reproduction.item import Setting
from reproduction.specification import Found, Law

WIDTH = 5
SHARES = (1, 1, 1)
RIDGE = 0.1
RUNS = 200  # a second in all, so that quick settings need not have fewer
ROOM = 5.0  # largest parameter in the ball, over that of the minimiser


def choose_budgets(setting: Setting, horizon: int) -> Array:
    """Budgets from noise alone to next to none; the noise is proportional to T/epsilon."""
    return horizon / 100 * np.geomspace(5, 5000, setting.pick_value(16, 11))


def choose_horizons(setting: Setting) -> tuple[int, int]:
    """A short and a long horizon."""
    return setting.pick_value((100, 1000), (100, 300))


def train_gossip(setting: Setting, n_records: int, horizon: int, rule: str) -> pd.DataFrame:
    """Trainings and Theorem 2; steps c/T^2 with c = T^2/(2 lambda), or the c of T = 100."""
    problem = generate_problem("squared", n_records, WIDTH, regularisation=RIDGE)
    ball = ROOM * problem.largest_parameter
    suited = horizon if rule == "moving" else choose_horizons(setting)[0]
    plan = Plan("asynchronous", "last", horizon, suited**2 / (2 * problem.curvatures[1]))
    longest = problem.longest_gradient(1, ball)
    budgets = choose_budgets(setting, horizon)
    run = Run(problem, SHARES, plan, Laplace(), budgets, longest, ball=ball)
    found = add_bounds(run, run.measure(RUNS, setting.streams(f"B-AS {rule} {horizon}")))
    return found.assign(
        rule=rule,
        noise_power=run.aggregate_noise,
        start_excess=run.start_excess,
        start_distance=float(np.sum(problem.cost.minimiser**2)),
    )


def compute_bounds(setting: Setting) -> pd.DataFrame:
    """Trainings for all numbers of records and horizons, with the fitted bound (11)."""
    cases: list[tuple[int, int, str]] = []
    sizes = setting.pick_value((600, 1200, 2400), (600, 2400))
    for horizon in choose_horizons(setting):
        cases += [(n_records, horizon, "moving") for n_records in sizes]
        cases.append((sizes[0], horizon, "fixed"))
    frame = concatenate(setting, train_gossip, cases)
    fitted = frame["excess"] / frame["constant"] * fit_constants(frame)
    talk = np.zeros(len(SHARES) + 1)  # of the first owner and the learner
    talk[0] = 1
    talk[-1] = -1
    of_one_round = np.eye(len(talk)) - np.outer(talk, talk) / 2 - 1 / len(talk)
    gap = 1 - np.linalg.norm(of_one_round, 2)
    return frame.assign(fitted=fitted, gap_printed=gap, gap=gossip_gap(len(SHARES)))


def fit_constants(frame: pd.DataFrame) -> pd.Series:
    """c_2' of (11) with c_1' = 0, for each horizon and rule.

    It is fitted at the fewest records and the smallest budget at which noise rules.
    """
    noisy = ruled_by_noise(frame)
    constants = pd.Series(np.nan, index=frame.index)
    for _, part in frame.groupby(["horizon", "rule"]):
        few = part[part["n_records"] == part["n_records"].min()]
        ruled = few.loc[few.index.intersection(noisy.index)].sort_values("epsilon")
        if len(ruled):
            constants[part.index] = ruled["constant"].iloc[0]
    return constants


def ruled_by_noise(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows whose excess is below the start's and 30 times that at the largest budget.

    There the ball and the remaining optimisation error hardly matter.
    """
    left = frame.groupby(["horizon", "rule", "n_records"])["excess"].transform("min")
    return frame[(frame["excess"] < frame["start_excess"]) & (frame["excess"] > 30 * left)]


def check_gossip_bounds(frame: pd.DataFrame) -> Found:
    """(8) and (11) as printed and as proved, the mixing rate, and the effect of the horizon."""
    yield "printed", *largest_ratio(frame, "printed_distance", "distance")
    yield "proved", *largest_ratio(frame, "corrected_distance", "distance")
    yield "smooth_excess", *largest_ratio(frame, "corrected")
    noisy = ruled_by_noise(select_rows(frame, rule="moving"))
    scaled = noisy.assign(scaled=noisy["epsilon"] * noisy["n_records"])
    yield "slope", *mean_slope(scaled, ["horizon", "n_records"], "scaled")
    yield "fitted", *largest_ratio(noisy, "fitted")
    yield "printed_gap", frame["gap_printed"].max()
    yield "mean_gap", frame["gap"].max()
    yield from measure_horizons(frame)


def measure_horizons(frame: pd.DataFrame) -> Found:
    """What (9), fitted at the shortest horizon, is missed by at the longest, at the least.

    Noise goes by T/epsilon, so that A falls as 1/T^2, and c1 sqrt(A) + c2 A as 1/T or faster.
    """
    fixed = select_rows(frame, rule="fixed").sort_values(["horizon", "epsilon"])
    last = fixed.groupby("horizon")["excess"].last()
    over_root = last * last.index
    missed = over_root.iloc[-1] / over_root.iloc[0]
    yield "horizon", missed, {"tolerance": 0.02 * missed}


LAWS: dict[str, Law] = {
    "B-AS": (compute_bounds, check_gossip_bounds, {"sizes": draw_sizes}),
}
