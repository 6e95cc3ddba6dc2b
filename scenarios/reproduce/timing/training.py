"""Asynchronous training as published on slices of a table: all budgets and step lengths of a market in one training.

Noise is drawn once for each run and scaled for every budget, so what differs between budgets is no chance, and a tick costs
its products once. The paper leaves open how Xi was found, and the step rho/(T^2 sigma): Xi is the book's one rule
(`scenarios.reproduce.training.published.given_bound`), and the step is as long as it takes to settle, and no longer, since
noise grows with it (`step_length`). The proof wants it small and constant; no other line of the paper says how small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from learning.arrays import Array
from learning.losses.loss import Loss
from learning.losses.squared import Squared
from learning.training.clocks import Clocks, most_talks
from learning.training.engine import Trained, train
from learning.training.paths import Watch, unwatched
from learning.training.plan import Plan
from scenarios.reproduce.item import Setting
from scenarios.reproduce.tables import Table
from scenarios.reproduce.training.published import Market, Records, given_bound

TICKS = 1000  # T of the paper
RIDGE = 2e-5  # r of g = r/2 |theta|^2: the paper's g = 1e-5 theta'theta
SQUARED = Squared()
PRINTED = Clocks(reading="printed", priced="horizon")
PROVED = Clocks(reading="proved", priced="horizon")
SETTLED = 5.0  # time constants of the slowest direction of the public rows that T ticks last

READ = (
    "The paper leaves open how the gradient bound Ξ was found and which step ρ was taken. Cells are clipped to the ranges of "
    "the public rows but for half a per cent at either end, and targets that are numbers counted from their public mean. "
    "Here Ξ is the largest 1-norm of a "
    "public row's gradient in the ball of radius 1.2 times the public model, and the step lasts "
    f"{SETTLED:g} time constants of the slowest public direction, since noise grows with it."
)


def market_of(table: Table, parts: Sequence[Records], loss: Loss = SQUARED, regularisation: float = RIDGE) -> Market:
    """Some owners' records, with the gradient bound that public rows give."""
    return Market(parts, given_bound(table, loss, regularisation), loss, regularisation)


def step_length(table: Table, market: Market, ticks: int) -> float:
    """s = c/T^2 of a tick by the book's rule."""
    x = table.public_x
    curvatures = np.asarray(market.loss.curvature * np.linalg.eigvalsh(x.T @ x / len(x)), dtype=float)
    return settling_step(curvatures, market.sizes / market.sizes.sum(), ticks)


def settling_step(curvatures: Array, shares: Array, ticks: int) -> float:
    """s of a tick: the largest owner moves 1/(largest curvature) along its gradient, or less where that will do.

    At a tick the mean of all copies moves by N s q h/(N + 1) towards the optimum in a direction of curvature h, so that T
    ticks last `SETTLED` time constants of the slowest direction at N s q = SETTLED (N + 1)/(T h).

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
    owners, slowest, steepest = len(shares), float(curvatures[0]), float(curvatures[-1])
    enough = SETTLED * (owners + 1) / (ticks * max(slowest, 1e-300))
    return min(1 / steepest, enough) / (owners * float(shares.max()))


def plan_of(table: Table, market: Market, ticks: int = TICKS, clocks: Clocks = PRINTED) -> Plan:
    """The paper's plan, with the book's step; as printed, every answer is priced for all T ticks."""
    answers = most_talks(clocks, len(market.records), ticks)
    step = step_length(table, market, ticks)
    return Plan("asynchronous", "last", ticks, step * ticks**2, clocks, answers)


def trained(
    market: Market,
    plan: Plan,
    epsilon: Sequence[float],
    setting: Setting,
    *,
    factors: Sequence[float] = (1.0,),
    watch: Watch = unwatched,
    share: float = 1.0,
) -> Trained:
    """Algorithm 1 at every equal budget and step length at once.

    Parameters
    ----------
    market : who is trained on.
    plan : ticks, step and clocks.
    epsilon : budgets, each of them all owners'; inf for no noise.
    setting : how many runs, and the seed.
    factors : of the step length.
    watch : called after each tick.
    share : of the item that this training is.

    Returns
    -------
    Trained, its runs factor by factor and in each budget by budget.

    Source: Farokhi et al., The Cost of Privacy in Asynchronous DP ML, Algorithm 1, (5)-(7), Theorem 1.
    """
    owners, did = len(market.records), setting.did
    profiles = np.tile(np.repeat(np.asarray(epsilon, dtype=float), owners).reshape(-1, owners), (len(factors), 1))
    streams = setting.streams("asynchronous")
    task = market.task(profiles, plan, runs=setting.runs, streams=streams, watch=watch)
    lengths = np.repeat(factors, len(epsilon) * setting.runs)[:, None]
    return train(replace(task, n_draws=setting.runs, step_scale=lengths, did=lambda part: did(part * share)))


def fitness_of(market: Market, found: Trained, setting: Setting) -> tuple[Array, Array]:
    """Mean over the runs of relative fitness at each step length and budget, and its standard error, (m,) each."""
    psi = market.cost.relative(found.theta).reshape(-1, setting.runs)
    return psi.mean(axis=1), psi.std(axis=1, ddof=1) / np.sqrt(psi.shape[1])
