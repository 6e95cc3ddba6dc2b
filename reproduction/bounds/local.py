"""B-WD: Theorems 2 and 3 of Weighted Distributed DP ERM beside trainings.

Owners are homogeneous or heterogeneous; a third cost is not convex but meets the
Polyak-Lojasiewicz condition.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from learning.arrays import Array
from learning.privacy.published_noise import PublishedNoise
from learning.training.inequalities import descent_path
from learning.training.plan import Plan
from reproduction.bounds.problems import (
    Run,
    SmallProblem,
    add_bounds,
    concatenate,
    generate_problem,
    largest_ratio,
    mean_slope,
)
from reproduction.checks import select_rows
from reproduction.item import Setting
from reproduction.specification import Found, Law, Rows

WIDTH = 5
RIDGE = 0.1
DELTA = 1e-3  # as in the paper
SHARES = (9, 9, 1, 1)  # records of the owners, in two groups
PL = 1 / 32  # mu of t^2 + 3 sin^2 t: Karimi, Nutini & Schmidt 2016, section 2.2
SMOOTH = 8.0  # lambda of the same
RECORDS = 2000
ROUNDS = 100  # at most


def choose_budgets(setting: Setting) -> Array:
    """The paper's range and beyond, down to next to no noise."""
    return np.geomspace(0.01, 100, setting.pick_value(9, 5))


def choose_rounds(problem: SmallProblem, noise: float, start: float) -> int:
    """T = (lambda/L) ln(..) rounds, at most 100.

    After them the remainder of the start is as large as the noise of one round.
    """
    least, most = problem.curvatures
    rounds = np.ceil(most / least * np.log(max(start * least / noise, 2)))
    return int(np.clip(rounds, 2, ROUNDS))


def train_logistic(setting: Setting, n_records: int, kind: str) -> pd.DataFrame:
    """Logistic loss, steps 1/lambda: each budget with the T of Theorem 2."""
    problem = generate_problem("logistic", n_records, WIDTH, regularisation=RIDGE)
    if kind == "unlike":
        problem = sort_records(problem)
    sizes = tuple(len(y) for _, y in problem.split_records(SHARES))
    mechanism = PublishedNoise("weighted", DELTA, sizes)
    bound = problem.longest_gradient(2, np.inf)
    plan = Plan("weighted", "last", 1, 1 / problem.curvatures[1])
    parts = []
    for epsilon in choose_budgets(setting):
        run = Run(problem, SHARES, plan, mechanism, np.array([epsilon]), bound, 2)
        once = float(run.noise_variances().max()) * WIDTH
        horizon = choose_rounds(problem, once, run.start_excess)
        run = replace(run, plan=replace(plan, horizon=horizon))
        streams = setting.streams(f"B-WD {kind} {n_records} {epsilon:.3g}")
        found = add_bounds(run, run.measure(setting.runs, streams))
        form = WIDTH * bound**2 * np.log(1 / DELTA) * np.log(n_records) / (n_records * epsilon) ** 2
        parts.append(found.assign(form=form, start_excess=run.start_excess))
    return pd.concat(parts, ignore_index=True).assign(kind=kind, theorem="Theorem 2")


def sort_records(problem: SmallProblem) -> SmallProblem:
    """The same records in the order of their first feature, so that owners are heterogeneous."""
    order = np.argsort(problem.x[:, 0], kind="stable")
    return replace(problem, x=problem.x[order], y=problem.y[order])


def nonconvex_cost(theta: Array) -> Array:
    """The sum over coordinates of t^2 + 3 sin^2 t, (runs,); its minimum is 0."""
    return np.sum(theta**2 + 3 * np.sin(theta) ** 2, axis=1)


def train_nonconvex(setting: Setting) -> Rows:
    """The nonconvex cost, steps 1/8, noise as in (3) for n = 2,000 and G = 1."""
    rng = setting.streams("B-WD").rng("not convex")
    for epsilon in choose_budgets(setting):
        noise = 16 * ROUNDS * np.log(1 / DELTA) / (RECORDS * epsilon) ** 2
        theta = np.full((setting.runs, WIDTH), 3.0)
        start = float(nonconvex_cost(theta[:1])[0])
        for _ in range(ROUNDS):
            gradient = 2 * theta + 3 * np.sin(2 * theta)
            theta = theta - (gradient + np.sqrt(noise) * rng.normal(size=theta.shape)) / SMOOTH
        found = nonconvex_cost(theta)
        steps = np.full(ROUNDS, 1 / SMOOTH)
        error = float(found.std(ddof=1) / np.sqrt(setting.runs))
        yield dict(
            epsilon=epsilon,
            excess=found.mean(),
            excess_error=error,
            printed=(1 - PL / SMOOTH) ** ROUNDS * start + WIDTH * noise / (2 * PL),
            corrected=descent_path(start, PL, SMOOTH, steps, WIDTH * noise)[-1],
            horizon=ROUNDS,
            n_records=RECORDS,
            kind="not convex",
            theorem="Theorem 3",
            start_excess=start,
        )


def compute_bounds(setting: Setting) -> pd.DataFrame:
    """Trainings of all three kinds."""
    sizes = setting.pick_value((500, RECORDS), (RECORDS,))
    cases = ((n_records, kind) for n_records in sizes for kind in ("alike", "unlike"))
    logistic = concatenate(setting, train_logistic, cases)
    return pd.concat([pd.DataFrame(train_nonconvex(setting)), logistic], ignore_index=True)


def check_local_bounds(frame: pd.DataFrame) -> Found:
    """(11) and Theorem 3 over the measured excess, and the order in epsilon."""
    alike, unlike, other = (
        select_rows(frame, kind=kind) for kind in ("alike", "unlike", "not convex")
    )
    yield "printed", *largest_ratio(alike, "printed")
    yield "corrected", *largest_ratio(alike, "corrected")
    yield "unlike", *largest_ratio(unlike, "printed")
    yield "nonconvex", *largest_ratio(other, "printed")
    noisy = alike[(alike["epsilon"] < 1) & (alike["n_records"] == RECORDS)]
    fitted = noisy["excess"].iloc[-1] / noisy["form"].iloc[-1]
    yield "needed_constant", *largest_ratio(noisy.assign(fitted=fitted * noisy["form"]), "fitted")
    yield "slope", *mean_slope(noisy, ["kind"])


LAWS: dict[str, Law] = {
    "B-WD": (compute_bounds, check_local_bounds),
}
