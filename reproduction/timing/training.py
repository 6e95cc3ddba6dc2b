"""Asynchronous training as published, and laws of measured fitness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import scipy

from learning.arrays import Array
from learning.losses.loss import Loss
from learning.losses.squared import Squared
from learning.training.clocks import Clocks, covered_talks
from learning.training.engine import Trained, train
from learning.training.paths import Watch, ignore_step
from learning.training.plan import Plan
from reproduction.checks import log_slope
from reproduction.item import Setting
from reproduction.specification import Found
from reproduction.tables.records import Table
from reproduction.training import Market, Records, given_bound

TICKS = 1000  # T of the paper
RIDGE = 2e-5  # r of g = r/2 |theta|^2: the paper's g = 1e-5 theta'theta
SQUARED = Squared()
PRINTED = Clocks(reading="printed", priced="horizon")
PROVED = Clocks(reading="proved", priced="horizon")
SETTLED = 5.0  # time constants of the slowest direction of the public rows that T ticks last


def make_market(
    table: Table, parts: Sequence[Records], loss: Loss = SQUARED, regularisation: float = RIDGE
) -> Market:
    """Make a market of some owners' records, with the gradient bound of the public rows."""
    return Market(parts, given_bound(table, loss, regularisation), loss, regularisation)


def settling_step(curvatures: Array, shares: Array, ticks: int) -> float:
    """Step s of a tick: 1/(largest curvature) for the largest owner, or less where that settles.

    At a tick the mean of all copies moves by N s q h/(N + 1) towards the optimum in a direction of
    curvature h, so that T ticks last `SETTLED` time constants of the slowest direction at N s q =
    SETTLED (N + 1)/(T h).

    Parameters
    ----------
    curvatures : of the cost on public rows, ascending.
    shares : q of each owner.
    ticks : T.

    >>> settling_step(np.array([1.0, 4.0]), np.full(4, 0.25), 100)
    0.25
    >>> settling_step(np.array([1.0, 4.0]), np.full(4, 0.25), 1000)
    0.025
    """
    owners = len(shares)
    slowest = float(curvatures[0])
    steepest = float(curvatures[-1])
    enough = SETTLED * (owners + 1) / (ticks * max(slowest, 1e-300))
    return min(1 / steepest, enough) / (owners * float(shares.max()))


def make_plan(table: Table, market: Market, ticks: int = TICKS, clocks: Clocks = PRINTED) -> Plan:
    """Make the plan of the paper with the settling step; as printed, T ticks price an answer.

    The paper does not state the step rho/(T^2 sigma): here it is as long as training needs to
    settle, and no longer, since noise grows with it. The proof wants it small and constant.
    """
    x = table.public_x
    curvatures = market.loss.curvature * np.linalg.eigvalsh(x.T @ x / len(x))
    answers = covered_talks(clocks, len(market.records), ticks)
    shares = market.sizes / market.sizes.sum()
    step = settling_step(np.asarray(curvatures, dtype=float), shares, ticks)
    return Plan("asynchronous", "last", ticks, step * ticks**2, clocks, answers)


def train_at(
    market: Market,
    plan: Plan,
    epsilon: Sequence[float],
    setting: Setting,
    *,
    factors: Sequence[float] = (1.0,),
    watch: Watch = ignore_step,
    share: float = 1.0,
) -> Trained:
    """Run Algorithm 1 at every equal budget and step length at once.

    Noise is drawn once for each run and scaled for every budget, so that budgets share their draws
    and a tick costs its products once.

    Parameters
    ----------
    market : market to train on.
    plan : ticks, step and clocks.
    epsilon : budgets, each of them of all owners; inf for no noise.
    setting : number of runs, and the seed.
    factors : factors of the step length.
    watch : called after each tick.
    share : share of this training in the item.

    Returns
    -------
    Trained, its runs factor by factor and in each budget by budget.

    Source: Farokhi et al., The Cost of Privacy in Asynchronous DP ML, Algorithm 1, (5)-(7), Theorem
        1.
    """
    owners = len(market.records)
    did = setting.did
    budgets = np.repeat(np.asarray(epsilon, dtype=float)[:, None], owners, axis=1)
    profiles = np.tile(budgets, (len(factors), 1))
    streams = setting.streams("asynchronous")
    task = market.task(profiles, plan, runs=setting.runs, streams=streams, watch=watch)
    lengths = np.repeat(factors, len(epsilon) * setting.runs)[:, None]
    return train(
        replace(task, n_draws=setting.runs, step_scale=lengths, did=lambda part: did(part * share))
    )


def mean_fitness(market: Market, found: Trained, setting: Setting) -> tuple[Array, Array]:
    """Mean relative fitness at each step length and budget, and its standard error, (m,) each."""
    psi = market.cost.relative(found.theta).reshape(-1, setting.runs)
    return psi.mean(axis=1), psi.std(axis=1, ddof=1) / np.sqrt(psi.shape[1])


def sweep_budgets(
    market: Market, plan: Plan, epsilon: Array, setting: Setting, share: float = 1.0
) -> pd.DataFrame:
    """Mean relative fitness at each budget, with that of a training without noise."""
    found = train_at(market, plan, [*epsilon, np.inf], setting, share=share)
    mean, error = mean_fitness(market, found, setting)
    columns = {
        "epsilon": epsilon,
        "relative_fitness": mean[:-1],
        "std_error": error[:-1],
        "noiseless": mean[-1],
    }
    return pd.DataFrame(columns)


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


DOMINATED = 30.0  # ratio of fitness to that without noise from which noise dominates
PSI = "relative_fitness"


def noise_aggregate(epsilon: Any, n_records: Any, owners: Any) -> Array:
    """A = sum 1/epsilon_i^2 / n^2 of N owners with as many records and one budget, of (11)."""
    return np.asarray(owners / (np.asarray(epsilon) * n_records * owners) ** 2, dtype=float)


def fit_bound(values: Array, a: Array) -> tuple[float, float]:
    """Fit c1 and c2, neither negative, of values = c1 sqrt(A) + c2 A: least relative squares.

    Source: Farokhi et al., The Cost of Privacy, (11), fitted by eye there: 0 and 2.1e9.

    >>> a = np.geomspace(1e-3, 10, 5)
    >>> [round(c, 9) for c in fit_bound(2 * np.sqrt(a) + 3 * a, a)]
    [2.0, 3.0]
    """
    terms = np.column_stack([np.sqrt(a), a]) / np.asarray(values)[:, None]
    scale = np.linalg.norm(terms, axis=0)
    found, _ = scipy.optimize.nnls(terms / scale, np.ones(len(a)))
    return tuple((found / scale).tolist())


def add_bound(frame: pd.DataFrame, a: Array) -> pd.DataFrame:
    """Add the constants and the values of the fitted bound (11)."""
    c1, c2 = fit_bound(frame[PSI], a)
    return frame.assign(c1=c1, c2=c2, law=c1 * np.sqrt(a) + c2 * a)


def slopes_along(frame: pd.DataFrame, x: str, by: str) -> pd.Series:
    """Slope of fitness in x at each value of ``by``."""
    found = {value: log_slope(part[x], part[PSI]) for value, part in frame.groupby(by)}
    return pd.Series(found, dtype=float).dropna()


def noisy_slopes(frame: pd.DataFrame, x: str, by: str) -> pd.Series:
    """The same over the points that noise dominates."""
    return slopes_along(frame[frame[PSI] >= DOMINATED * frame["noiseless"]], x, by)


def falls_along(frame: pd.DataFrame, x: str, by: str) -> bool:
    """True where fitness falls along x at every value of ``by``."""
    return all((np.diff(part.sort_values(x)[PSI]) < 0).all() for _, part in frame.groupby(by))


def extreme_slopes(name: str, frame: pd.DataFrame, x: str, by: str, words: str) -> Found:
    """The smallest and the largest slope."""
    found = slopes_along(frame, x, by)
    for end, value in (("smallest", found.min()), ("largest", found.max())):
        yield name, value, {"end": end, "words": words, "lines": len(found)}


def first_paying(frame: pd.DataFrame, x: str, gain: str, bar: str) -> float:
    """Smallest x from which a falling measure stays below the bar, interpolated; inf for none.

    >>> measured = pd.DataFrame({"x": [1.0, 10.0, 100.0], "psi": [9.0, 0.09, 0.0009], "own": 0.9})
    >>> round(first_paying(measured, "x", "psi", "own"), 6)
    3.162278
    """
    frame = frame.sort_values(x)
    above = np.log(frame[gain].to_numpy() / frame[bar].to_numpy())
    places = frame[x].to_numpy()
    late = np.flatnonzero(above > 0)
    if len(late) == 0:
        return float(places[0])
    last = late[-1]
    if last == len(places) - 1:
        return float("inf")
    part = above[last] / (above[last] - above[last + 1])
    return float(np.exp(np.log(places[last]) + part * np.log(places[last + 1] / places[last])))
