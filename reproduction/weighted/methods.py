"""WD's methods: local training of many schedules, accuracy and gap."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from learning.arrays import Array
from learning.privacy.published_noise import Formula, PublishedNoise
from learning.progress import ReportWork, ignore_work
from learning.randomness import Streams
from reproduction.item import NotPossible, Setting
from reproduction.weighted.rows import (
    LOSS,
    ONE_HOT,
    RIDGE,
    SMALL,
    TABLES,
    Rows,
    load_available,
    load_rows,
    sample_sizes,
    skewed_sizes,
)

Gradient = Callable[[Array], Array]  # models (owners, k, p) -> mean gradients on each owner's rows
AHEAD = 50  # rounds whose noise is drawn at once
IN_A_BLOCK = 200_000  # slopes of a block for all models: fits into a core's own cache
IN_A_BATCH = 1_000_000  # slopes of a round up to which small owners are one batch


@dataclass(frozen=True)
class DistinctRecords:
    """Distinct records of one owner, in single precision.

    Parameters
    ----------
    lines : rows y x.
    weighed : the same times the frequency of each.
    """

    lines: NDArray[np.float32]
    weighed: NDArray[np.float32]

    @classmethod
    def of_owner(cls, rows: Rows, own: slice) -> DistinctRecords:
        """Distinct records of an owner with a slice of the rows."""
        ids = rows.record_ids[own]
        _, first, counts = np.unique(ids, return_index=True, return_counts=True)
        lines = (rows.y[own, None] * rows.x[own])[first].astype(np.float32)
        return cls(lines, lines * np.float32(counts[:, None] / len(ids)))

    def mean_gradient(self, theta: Array) -> Array:
        """Mean gradient over all records at models (k, p), (k, p)."""
        points = theta.astype(np.float32)
        total = np.zeros(theta.shape)
        size = max(256, IN_A_BLOCK // len(theta))
        for first in range(0, len(self.lines), size):
            block = slice(first, first + size)
            total -= LOSS.negative_slopes(points @ self.lines[block].T) @ self.weighed[block]
        return total


def make_gradient(owners: Sequence[DistinctRecords], models: int) -> Gradient:
    """Mean gradients of all owners: one after the other, or one batch of small owners."""
    longest = max(len(one.lines) for one in owners)
    if len(owners) * longest * models > IN_A_BATCH:
        return lambda theta: np.stack(
            [one.mean_gradient(own) for one, own in zip(owners, theta, strict=True)]
        )
    shape = len(owners), longest, owners[0].lines.shape[1]
    lines, weighed = (np.zeros(shape, np.float32) for _ in range(2))
    for place, one in enumerate(owners):
        lines[place, : len(one.lines)] = one.lines
        weighed[place, : len(one.lines)] = one.weighed
    across = lines.swapaxes(1, 2).copy()
    return lambda theta: (
        -(LOSS.negative_slopes(theta.astype(np.float32) @ across) @ weighed).astype(float)
    )


@dataclass(frozen=True)
class Schedules:
    """Schedules of all owners' local training from the origin.

    Parameters
    ----------
    steps : (c,), the step of each schedule.
    sigmas : (c,), deviation of the noise on every coordinate of every local step; (owners, c) where
        owners differ.
    horizon : T, local steps.
    draws : trainings of each schedule, with common random numbers.
    """

    steps: Array
    sigmas: Array
    horizon: int
    draws: int


def train_locally(
    rows: Rows,
    sizes: Sequence[int],
    schedules: Schedules,
    streams: Streams,
    did: ReportWork = ignore_work,
) -> Array:
    """Every owner's model after T noisy local steps, (owners, schedules, draws, p).

    It equals `learning.training.weighted.Weighted` with the same draws (a test compares them).
    Three things make a thousand local steps of tens of thousands of rows affordable: all schedules
    are one product per block of rows, equal records are counted once, and small owners are one
    batch.

    theta <- theta - step (grad L_j(theta) + r theta + z), z ~ N(0, sigma^2 I).

    Parameters
    ----------
    rows : the table; owners hold consecutive rows of it.
    sizes : rows of each owner.
    schedules : steps and noises.
    streams : noise, by the owner's number and the draw's.
    did : called with the share of the work that was done.

    Source: Kang et al., Weighted Distributed Differential Privacy ERM, Algorithm 1, from zero; the
    paper starts at random.
    """
    ends = np.cumsum([0, *sizes]).tolist()
    slices = (slice(i, j) for i, j in zip(ends, ends[1:], strict=False))
    owners = [DistinctRecords.of_owner(rows, own) for own in slices]
    shape = len(owners), len(schedules.steps), schedules.draws, rows.x.shape[1]
    gradient = make_gradient(owners, shape[1] * shape[2])
    noise = [streams.rngs(str(owner), count=schedules.draws) for owner in range(len(owners))]
    steps = schedules.steps[:, None, None]
    sigmas = schedules.sigmas[..., None, None]
    theta = np.zeros(shape)
    for first in range(0, schedules.horizon, AHEAD):
        count = min(AHEAD, schedules.horizon - first)
        drawn = np.array([[rng.standard_normal((count, shape[3])) for rng in own] for own in noise])
        for now in range(count):
            slope = gradient(theta.reshape(shape[0], -1, shape[3])).reshape(shape)
            slope += RIDGE * theta
            slope += sigmas * drawn[:, None, :, now]
            theta -= steps * slope
        did(count / schedules.horizon)
    return theta


DELTA = 1e-3
LIPSCHITZ = 1.0
STEPS = np.array([0.01, 0.05, 0.1, 0.5, 1.0])  # to choose from
EPSILONS = (0.01, 0.025, 0.05, 0.1, 0.25)
FEW_EPSILONS = (0.01, 0.05, 0.1, 0.25)
WEIGHTED = "WD-DP"
PLAIN = "plain averaging"
KEPT = "plain, step of u = 1"
CENTRAL = "centralised"
RULES: dict[str, Formula] = {
    WEIGHTED: "weighted",
    PLAIN: "plain",
    KEPT: "plain",
    CENTRAL: "weighted",
}
DISTRIBUTED = (WEIGHTED, PLAIN)
SKEWS: tuple[int, ...] = (1, 3, 5, 7, 9)
SMALL_SKEWS: tuple[int, ...] = (1, 2, 3, 4, 5)


def count_rounds(setting: Setting) -> int:
    """T; a tenth in a quick setting, as are the rows of large stand-ins."""
    return setting.pick_value(1000, 100)


def count_trainings(rows: Rows, setting: Setting) -> tuple[int, int]:
    """Trainings for the choice of a step, and for its evaluation; more on small tables."""
    if rows.name in SMALL:
        return setting.pick_value((5, 30), (2, 20))
    return setting.pick_value((2, 8), (1, 5))


@dataclass(frozen=True)
class Market:
    """A table, the rows of each owner, and the randomness of its trainings."""

    rows: Rows
    sizes: Sequence[int]
    streams: Streams

    def describe(self) -> dict[str, Any]:
        """Columns of the table and its owners."""
        return {
            "data": self.rows.name,
            "stand_in": self.rows.stand_in,
            "owners": len(self.sizes),
            "records": sum(self.sizes),
            "smallest": min(self.sizes),
        }


def compare_methods(
    rows: Rows,
    sizes: Sequence[int],
    names: Sequence[str],
    epsilons: Sequence[float],
    setting: Setting,
    kept: Mapping[str, float] | None = None,
    did: ReportWork = ignore_work,
) -> list[dict[str, Any]]:
    """Each method at each budget, with common random numbers.

    Parameters
    ----------
    rows : the table.
    sizes : records of each owner.
    names : of the methods, in `RULES`.
    epsilons : budgets.
    setting : sets the number of trainings.
    kept : the step of methods for which none is chosen.
    did : called with the share of the work that was done.

    Raises
    ------
    NotPossible
        If an owner has no record.
    """
    if not min(sizes):
        raise NotPossible(f"{rows.name} has too few records here for {len(sizes)} owners")
    market = Market(rows, sizes, setting.streams(f"weighted {rows.name} {len(sizes)} {max(sizes)}"))
    rounds = count_rounds(setting)
    choosing, judging = count_trainings(rows, setting)
    first = len(STEPS) * choosing / (len(STEPS) * choosing + judging)
    pairs = [(name, epsilon) for name in names for epsilon in epsilons]
    noise = {name: PublishedNoise(RULES[name], DELTA, tuple(sizes)) for name in names}
    sigmas = np.array([noise[n].scale([e], [sizes[0]], LIPSCHITZ, rounds)[0] for n, e in pairs])
    methods = [name for name, _ in pairs]
    steps = np.array([(kept or {}).get(name, np.nan) for name in methods])
    free = np.flatnonzero(np.isnan(steps))
    among = Schedules(STEPS, sigmas[free], rounds, choosing)
    chosen = [methods[i] for i in free]
    steps[free] = choose_steps(market, chosen, among, lambda share: did(first * share))
    schedules = Schedules(steps, sigmas, rounds, judging)
    models = average_models(
        market, methods, schedules, "judging", lambda share: did((1 - first) * share)
    )
    facts = market.describe() | {"horizon": rounds, "delta": DELTA, "trainings": judging}
    facts["best_accuracy"] = float(accuracy(rows, rows.cost.minimiser[None])[0])
    facts["commonest"] = float(max(np.mean(rows.test_y > 0), np.mean(rows.test_y < 0)))
    return [
        facts
        | {"method": name, "epsilon": epsilon, "step_size": step, "sigma": sigma}
        | {"server_epsilon": noise[name].claims("", epsilon, rounds, size=min(sizes))[0].epsilon}
        | summarise("accuracy", accuracy(rows, theta))
        | summarise("optimal_gap", rows.cost.value(theta) - rows.cost.optimum)
        for (name, epsilon), step, sigma, theta in zip(pairs, steps, sigmas, models, strict=True)
    ]


def choose_steps(
    market: Market, names: Sequence[str], schedules: Schedules, did: ReportWork
) -> Array:
    """The step of least mean logistic loss on the public rows, for each method and its noise."""
    rows = market.rows
    count = len(schedules.steps)
    steps = np.tile(schedules.steps, len(names))
    every = replace(schedules, steps=steps, sigmas=np.repeat(schedules.sigmas, count))
    models = average_models(market, np.repeat(names, count).tolist(), every, "choosing", did)
    losses = LOSS.loss_sum(rows.public_x, rows.public_y, models.reshape(-1, models.shape[-1]))
    means = losses.reshape(len(names), count, schedules.draws).mean(axis=2)
    return np.asarray(schedules.steps[means.argmin(axis=1)])


def average_models(
    market: Market, names: Sequence[str], schedules: Schedules, key: str, did: ReportWork
) -> Array:
    """The server's model of each schedule and draw, by the weights of its method.

    Returns
    -------
    (schedules, draws, p)
    """
    sizes = np.array(market.sizes)
    streams = Streams(market.streams.seed, f"{market.streams.purpose} {key}")
    models = train_locally(market.rows, market.sizes, schedules, streams, did)
    weights = {
        "plain": np.full(len(sizes), 1 / len(sizes)),
        "weighted": sizes / sizes.sum(),
    }
    return np.einsum("cj,jcdp->cdp", np.array([weights[RULES[name]] for name in names]), models)


def accuracy(rows: Rows, theta: Array) -> Array:
    """Share of correctly classified test rows, for models (k, p): (k,)."""
    return np.asarray(((rows.test_x @ theta.T >= 0) == (rows.test_y[:, None] > 0)).mean(axis=0))


def summarise(name: str, values: Array) -> dict[str, float]:
    """Mean over trainings, with its standard error."""
    error = float(values.std(ddof=1) / np.sqrt(len(values)))
    return {name: float(values.mean()), f"{name}_std_error": error}


@cache
def train_central(
    name: str, data: Path | None, quick: bool, seed: int, epsilons: Sequence[float]
) -> list[dict[str, Any]]:
    """The centralised method; computed once in a process, since it has no owners."""
    setting = Setting(data, quick, seed)
    rows = load_rows(name, setting)
    return compare_methods(rows, (len(rows.y),), (CENTRAL,), epsilons, setting)


def list_central(
    rows: Rows, owners: int, setting: Setting, epsilons: Sequence[float]
) -> list[dict[str, Any]]:
    """The centralised method at some of the budgets, as rows of a market of these owners."""
    every = tuple(epsilons) if rows.name == ONE_HOT else choose_budgets(setting)
    known = train_central(rows.name, setting.data, setting.quick, setting.seed, every)
    return [row | {"owners": owners} for row in known if row["epsilon"] in epsilons]


def choose_budgets(setting: Setting) -> tuple[float, ...]:
    """Privacy budgets of the figures."""
    return setting.pick_value(EPSILONS, FEW_EPSILONS)


def vary_budget(owners: int, setting: Setting) -> pd.DataFrame:
    """All methods on all tables over epsilon, with owners of random size."""
    tables = load_available(list(TABLES), setting)
    budgets = choose_budgets(setting)
    did = partial(report_part, setting, len(tables))
    found = []
    for rows in tables:
        rng = setting.streams("weighted").rng("sizes", rows.name, owners)
        sizes = sample_sizes(len(rows.y), owners, rng=rng)
        found += compare_methods(rows, sizes, DISTRIBUTED, budgets, setting, did=did)
        found += list_central(rows, owners, setting, budgets)
    return pd.DataFrame(found)


def choose_skews(rows: Rows, setting: Setting) -> tuple[int, ...]:
    """Values of u for a table; the two ends in a quick setting."""
    every = SMALL_SKEWS if rows.name in SMALL else SKEWS
    if setting.quick:
        return every[:: len(every) - 1]
    return every[::2] if rows.name == ONE_HOT else every


def vary_skew(owners: int, epsilon: float, names: Sequence[str], setting: Setting) -> pd.DataFrame:
    """All methods on some tables over u = n_max/n_min, with owners of two sizes.

    Plain averaging has two series: with a step chosen for every u, and with that for equal owners.
    """
    tables = load_available(names, setting)
    found = []
    for rows in tables:
        skews = choose_skews(rows, setting)
        did = partial(report_part, setting, len(tables) * len(skews))
        kept: dict[str, float] = {}
        for skew in skews:
            sizes = skewed_sizes(len(rows.y), owners, skew)
            methods = (*DISTRIBUTED, *kept)
            several = compare_methods(rows, sizes, methods, (epsilon,), setting, kept, did)
            if not kept:
                equal = next(row for row in several if row["method"] == PLAIN)
                kept = {KEPT: equal["step_size"]}
                several.append(equal | {"method": KEPT})
            several += list_central(rows, owners, setting, (epsilon,))
            found += [row | {"skew": skew} for row in several]
    return pd.DataFrame(found)


def report_part(setting: Setting, parts: int, share: float) -> None:
    """Report progress on one of several equal parts."""
    setting.did(share / parts)
