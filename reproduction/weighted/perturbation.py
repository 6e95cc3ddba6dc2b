"""WD's rivals: owners who perturb their model or their objective once, beside noisy local steps.

Each owner's model is private for one replaced record of that owner, against whoever sees it: pure
epsilon under output and objective perturbation, (epsilon, DELTA) under Gaussian noise. The server
averages the models, which costs no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

from learning.arrays import Array
from learning.privacy.gaussian import exact_distance
from reproduction.item import Setting
from reproduction.specification import Found
from reproduction.weighted.methods import (
    DELTA,
    LIPSCHITZ,
    PLAIN,
    STEPS,
    WEIGHTED,
    Market,
    Schedules,
    accuracy,
    count_rounds,
    count_trainings,
    report_part,
    summarise,
    train_locally,
)
from reproduction.weighted.rows import LOSS, TABLES, Rows, load_available, skewed_sizes

CURVATURE = 0.25  # largest second derivative of logistic loss in the score, c of Chaudhuri et al.
RIDGES = np.geomspace(1e-4, 10.0, 11)  # to choose from
BUDGETS = (0.05, 0.25, 1.0, 4.0)
OWNERS = 8
SKEW = 5
CLOSE = 1e-9  # gradient at which a minimiser is taken for exact, beside the noise
MOST_STEPS = 200
GRADIENT = "noisy steps"
OUTPUT = "output, pure"
GAUSSIAN = "output, Gaussian"
OBJECTIVE = "objective, pure"
KINDS = (GRADIENT, OUTPUT, GAUSSIAN, OBJECTIVE)


@dataclass(frozen=True)
class Own:
    """Distinct records of one owner, with the share of its records that each is.

    Parameters
    ----------
    lines : (k, p), y x, of norm 1 at most.
    shares : (k,), adding up to 1.
    size : records.

    Raises
    ------
    ValueError
        If a record is longer than 1, where no claim here would hold.
    """

    lines: Array
    shares: Array
    size: int

    def __post_init__(self) -> None:
        if np.linalg.norm(self.lines, axis=1).max() > 1 + 1e-12:
            raise ValueError("records must have norm 1 at most")

    @classmethod
    def of_owner(cls, rows: Rows, own: slice) -> Own:
        """Records of an owner with a slice of the rows."""
        _, first, counts = np.unique(rows.record_ids[own], return_index=True, return_counts=True)
        lines = (rows.y[own, None] * rows.x[own])[first]
        return cls(lines, counts / counts.sum(), int(counts.sum()))

    def minimise(self, ridge: float, tilt: Array) -> Array:
        """Minimiser (p,) of mean logistic loss + ridge/2 |theta|^2 + tilt theta, by Newton."""
        theta = -tilt / ridge
        cost, slope = self._evaluate(theta, ridge, tilt)
        for _ in range(MOST_STEPS):
            if np.linalg.norm(slope) <= CLOSE * (1 + np.linalg.norm(tilt)):
                return theta
            score = self.lines @ theta
            curves = self.shares * expit(score) * expit(-score)
            hessian = (self.lines.T * curves) @ self.lines + ridge * np.eye(len(theta))
            move = np.linalg.solve(hessian, slope)
            length = 1.0
            while length > 1e-6:
                there = theta - length * move
                found, slope_there = self._evaluate(there, ridge, tilt)
                if found <= cost - 1e-4 * length * float(slope @ move) + 1e-15 * abs(cost):
                    break
                length /= 2
            theta, cost, slope = there, found, slope_there
        raise ValueError("Newton's method did not reach the minimiser")

    def _evaluate(self, theta: Array, ridge: float, tilt: Array) -> tuple[float, Array]:
        score = self.lines @ theta
        cost = self.shares @ np.logaddexp(0, -score) + ridge / 2 * theta @ theta + tilt @ theta
        slope = -(self.shares * expit(-score)) @ self.lines + ridge * theta + tilt
        return float(cost), slope


def draw_lengths(rate: float, width: int, count: int, *, rng: np.random.Generator) -> Array:
    """Noise (count, width) with a density in proportion to exp(-rate |b|)."""
    ways = rng.standard_normal((count, width))
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    return ways * rng.gamma(width, 1 / rate, (count, 1))


def perturb_output(
    own: Own, epsilon: float, ridge: float, draws: int, *, rng: np.random.Generator
) -> Array:
    """Minimiser plus noise of rate n ridge epsilon/2, (draws, p): epsilon-DP.

    A replaced record moves the minimiser by 2/(n ridge) at most, since the objective is
    ridge-strongly convex and a record's gradient has norm 1 at most.

    Source: Chaudhuri, Monteleoni and Sarwate, Differentially Private Empirical Risk Minimization
        (2011), Algorithm 1 and Corollary 8; by parties, Pathak, Rane and Raj (2010).
    """
    width = own.lines.shape[1]
    noise = draw_lengths(own.size * ridge * epsilon / 2, width, draws, rng=rng)
    return own.minimise(ridge, np.zeros(width)) + noise


def perturb_output_gaussian(
    own: Own, epsilon: float, ridge: float, draws: int, *, rng: np.random.Generator
) -> Array:
    """Minimiser plus Gaussian noise for the same sensitivity, (draws, p): (epsilon, DELTA)-DP.

    Source: Balle and Wang (2018) for the noise, by the exact accountant.
    """
    width = own.lines.shape[1]
    sigma = 2 * LIPSCHITZ / (own.size * ridge) / float(exact_distance(epsilon, DELTA))
    return own.minimise(ridge, np.zeros(width)) + sigma * rng.standard_normal((draws, width))


def objective_terms(size: int, epsilon: float, ridge: float) -> tuple[float, float]:
    """Budget left for the noise, and the ridge added where the ridge alone spends all of it.

    ``epsilon' = epsilon - log(1 + 2c/(n ridge) + c^2/(n ridge)^2)`` and 0; where that is not above
    0, epsilon/2 and ``c/(n (exp(epsilon/4) - 1)) - ridge``.
    """
    part = CURVATURE / (size * ridge)
    left = epsilon - np.log(1 + 2 * part + part**2)
    if left > 0:
        return float(left), 0.0
    return epsilon / 2, float(CURVATURE / (size * np.expm1(epsilon / 4)) - ridge)


def perturb_objective(
    own: Own, epsilon: float, ridge: float, draws: int, *, rng: np.random.Generator
) -> Array:
    """Minimisers of the objective tilted at random, (draws, p): epsilon-DP if they are exact.

    Source: Chaudhuri, Monteleoni and Sarwate (2011), Algorithm 2 and Theorem 9, whose conditions
        hold: a convex loss with two derivatives of the score, the first 1 and the second c at most,
        records of norm 1 at most, a penalty that is 1-strongly convex.
    """
    left, added = objective_terms(own.size, epsilon, ridge)
    noise = draw_lengths(left / 2, own.lines.shape[1], draws, rng=rng)
    return np.array([own.minimise(ridge + added, one / own.size) for one in noise])


PERTURB = {
    OUTPUT: perturb_output,
    GAUSSIAN: perturb_output_gaussian,
    OBJECTIVE: perturb_objective,
}


def train_owners(
    market: Market, kind: str, epsilon: float, parameters: Array, draws: int, setting: Setting
) -> Array:
    """Every owner's private model, (owners, parameters, draws, p), of steps or of ridges."""
    if kind == GRADIENT:
        rounds = count_rounds(setting)
        reach = 2 * LIPSCHITZ * np.sqrt(rounds) / float(exact_distance(epsilon, DELTA))
        sigmas = np.repeat(reach / np.array(market.sizes)[:, None], len(parameters), axis=1)
        schedules = Schedules(parameters, sigmas, rounds, draws)
        return train_locally(market.rows, market.sizes, schedules, market.streams)
    models = []
    ends = np.cumsum([0, *market.sizes]).tolist()
    for number, (first, last) in enumerate(pairwise(ends)):
        own = Own.of_owner(market.rows, slice(first, last))
        for ridge in parameters.tolist():
            rng = market.streams.rng(kind, number)  # the same numbers for every ridge
            models.append(PERTURB[kind](own, epsilon, ridge, draws, rng=rng))
    return np.reshape(models, (len(market.sizes), len(parameters), draws, -1))


def compare_rivals(
    rows: Rows, sizes: Sequence[int], epsilons: Sequence[float], setting: Setting
) -> list[dict[str, Any]]:
    """Each kind of noise at each budget, its models averaged by records and all alike.

    Step or ridge are those of least mean loss on the public rows, in trainings of their own.
    """
    choosing, judging = count_trainings(rows, setting)
    best = float(accuracy(rows, rows.cost.minimiser[None])[0])
    commonest = float(max(np.mean(rows.test_y > 0), np.mean(rows.test_y < 0)))
    shares = {WEIGHTED: np.array(sizes) / sum(sizes), PLAIN: np.full(len(sizes), 1 / len(sizes))}
    found = []
    for kind in KINDS:
        grid = STEPS if kind == GRADIENT else RIDGES
        for epsilon in epsilons:
            first, second = (
                Market(rows, sizes, setting.streams(f"rivals {rows.name} {kind} {epsilon:g} {key}"))
                for key in ("choosing", "judging")
            )
            tried = train_owners(first, kind, epsilon, grid, choosing, setting)
            for name, weights in shares.items():
                models = np.tensordot(weights, tried, 1)
                losses = LOSS.loss_sum(
                    rows.public_x, rows.public_y, models.reshape(-1, rows.x.shape[1])
                )
                chosen = grid[[losses.reshape(len(grid), choosing).mean(axis=1).argmin()]]
                judged = train_owners(second, kind, epsilon, chosen, judging, setting)
                theta = np.tensordot(weights, judged, 1)[0]
                facts = {"method": kind, "weights": name, "epsilon": epsilon}
                facts |= {"parameter": float(chosen[0]), "trainings": judging}
                facts |= {"best_accuracy": best, "commonest": commonest}
                found.append(
                    first.describe()
                    | facts
                    | summarise("accuracy", accuracy(rows, theta))
                    | summarise("optimal_gap", rows.cost.value(theta) - rows.cost.optimum)
                )
    return found


def compute_rivals(setting: Setting) -> pd.DataFrame:
    """All kinds of noise on all tables, with owners of two sizes."""
    tables = load_available(list(TABLES), setting)
    did = partial(report_part, setting, len(tables))
    found = []
    for rows in tables:
        sizes = skewed_sizes(len(rows.y), OWNERS, SKEW)
        found += compare_rivals(rows, sizes, BUDGETS, setting)
        did(1.0)
    return pd.DataFrame(found)


def check_rivals(frame: pd.DataFrame) -> Found:
    """Averaging by records against averaging alike, and each kind of noise against noisy steps."""
    rows = frame.set_index(["data", "weights", "epsilon", "method"])
    gaps = np.log10(rows["optimal_gap"]).unstack("method")
    errors = rows["optimal_gap_std_error"] / rows["optimal_gap"] / np.log(10)
    gain = gaps.xs(PLAIN, level="weights") - gaps.xs(WEIGHTED, level="weights")
    for kind in KINDS:
        error = np.linalg.norm(errors.xs(kind, level="method")) / len(gain)
        yield "weights", gain[kind].mean(), {"kind": kind, "std_error": error}
    ours = gaps.xs(WEIGHTED, level="weights")
    behind = ours.sub(ours[GRADIENT], axis=0).groupby("epsilon").mean()
    for kind in KINDS[1:]:
        yield "ahead", (ours[kind] < ours[GRADIENT]).sum(), {"kind": kind, "cases": len(ours)}
        for epsilon, found in behind[kind].items():
            yield "behind", found, {"kind": kind, "epsilon": epsilon}
