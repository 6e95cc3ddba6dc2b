"""WD-DP, plain averaging and one party with all records, side by side: accuracy and optimal gap of each at given budgets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from learning.arrays import Array
from learning.privacy.published_noise import Formula, PublishedNoise
from learning.progress import Did, unnoticed
from learning.randomness import Streams
from scenarios.reproduce.item import Setting
from scenarios.reproduce.weighted.local import Walks, local_models
from scenarios.reproduce.weighted.rows import (
    LOSS,
    ONE_HOT,
    SMALL,
    TABLES,
    Rows,
    random_sizes,
    rows_of,
    there,
    two_groups,
)

DELTA, LIPSCHITZ = 1e-3, 1.0
STEPS = np.array([0.01, 0.05, 0.1, 0.5, 1.0])  # among which the step is chosen
EPSILONS, FEW_EPSILONS = (0.01, 0.025, 0.05, 0.1, 0.25), (0.01, 0.05, 0.1, 0.25)
WEIGHTED, PLAIN, KEPT, CENTRAL = "WD-DP", "plain averaging", "plain, step of u = 1", "centralised"
RULES: dict[str, Formula] = {WEIGHTED: "weighted", PLAIN: "plain", KEPT: "plain", CENTRAL: "weighted"}
DISTRIBUTED = (WEIGHTED, PLAIN)
SKEWS: tuple[int, ...] = (1, 3, 5, 7, 9)
SMALL_SKEWS: tuple[int, ...] = (1, 2, 3, 4, 5)


def horizon(setting: Setting) -> int:
    """T; a tenth where time is short, as are the rows of large stand-ins, so that noise moves a model as far."""
    return 100 if setting.quick else 1000


def draws(rows: Rows, setting: Setting) -> tuple[int, int]:
    """Trainings by which a step is chosen, and further ones by which it is then judged; more on small tables, all noise."""
    if rows.name in SMALL:
        return (2, 20) if setting.quick else (5, 30)
    return (1, 5) if setting.quick else (2, 8)


def measured(
    rows: Rows,
    sizes: Sequence[int],
    names: Sequence[str],
    epsilons: Sequence[float],
    setting: Setting,
    kept: Mapping[str, float] | None = None,
    did: Did = unnoticed,
) -> list[dict[str, Any]]:
    """Each method at each budget, in trainings of fresh noise.

    Methods and budgets share draws, so that what differs between them is no chance.

    Parameters
    ----------
    rows : the table.
    sizes : records of each owner.
    names : of the methods, in `RULES`.
    epsilons : budgets.
    setting : how many trainings.
    kept : the step of methods for which none is chosen.
    did : called with the share of the work that was done.
    """
    streams, rounds = setting.streams(f"weighted {rows.name} {len(sizes)} {max(sizes)}"), horizon(setting)
    choosing, judging = draws(rows, setting)
    first = len(STEPS) * choosing / (len(STEPS) * choosing + judging)
    pairs = [(name, epsilon) for name in names for epsilon in epsilons]
    noise = {name: PublishedNoise(RULES[name], DELTA, tuple(sizes)) for name in names}
    sigmas = np.array([noise[n].scale([e], [sizes[0]], LIPSCHITZ, rounds)[0] for n, e in pairs])
    steps = np.array([(kept or {}).get(name, np.nan) for name, _ in pairs])
    free = np.flatnonzero(np.isnan(steps))
    among, part = Walks(STEPS, sigmas[free], rounds, choosing), Market(rows, sizes, streams)
    steps[free] = chosen(part, [pairs[i][0] for i in free], among, lambda share: did(first * share))
    walks = Walks(steps, sigmas, rounds, judging)
    models = averages(part, [name for name, _ in pairs], walks, "judging", lambda share: did((1 - first) * share))
    facts = {
        "data": rows.name,
        "stand_in": rows.stand_in,
        "owners": len(sizes),
        "records": sum(sizes),
        "smallest": min(sizes),
        "horizon": rounds,
        "delta": DELTA,
        "trainings": judging,
        "best_accuracy": float(accuracy(rows, rows.cost.minimiser[None])[0]),
        "commonest": float(max(np.mean(rows.test_y > 0), np.mean(rows.test_y < 0))),
    }
    return [
        facts
        | {"method": name, "epsilon": epsilon, "step_size": step, "sigma": sigma}
        | {"server_epsilon": noise[name].claims("", epsilon, rounds, size=min(sizes))[0].epsilon}
        | mean_of("accuracy", accuracy(rows, theta))
        | mean_of("optimal_gap", rows.cost.value(theta) - rows.cost.optimum)
        for (name, epsilon), step, sigma, theta in zip(pairs, steps, sigmas, models, strict=True)
    ]


@dataclass(frozen=True)
class Market:
    """A table, how many of its rows each owner holds, and the randomness of its trainings."""

    rows: Rows
    sizes: Sequence[int]
    streams: Streams


def chosen(market: Market, names: Sequence[str], walks: Walks, did: Did) -> Array:
    """Of ``walks.steps``, for each method and its noise, the step of least mean logistic loss on the public rows."""
    rows, count = market.rows, len(walks.steps)
    every = replace(walks, steps=np.tile(walks.steps, len(names)), sigmas=np.repeat(walks.sigmas, count))
    models = averages(market, np.repeat(names, count).tolist(), every, "choosing", did)
    losses = LOSS.loss_sum(rows.public_x, rows.public_y, models.reshape(-1, models.shape[-1]))
    means = losses.reshape(len(names), count, walks.draws).mean(axis=2)
    return np.asarray(walks.steps[means.argmin(axis=1)])


def averages(market: Market, names: Sequence[str], walks: Walks, key: str, did: Did) -> Array:
    """The server's model of each schedule and draw, (schedules, draws, p), by the weights of the method of each."""
    sizes, streams = np.array(market.sizes), Streams(market.streams.seed, f"{market.streams.purpose} {key}")
    models = local_models(market.rows, market.sizes, walks, streams, did)
    by_records, alike = sizes / sizes.sum(), np.full(len(sizes), 1 / len(sizes))
    weights = np.array([alike if RULES[name] == "plain" else by_records for name in names])
    return np.einsum("cj,jcdp->cdp", weights, models)


def accuracy(rows: Rows, theta: Array) -> Array:
    """Share of the test rows whose label each model (k, p) gets right, (k,)."""
    return np.asarray(((rows.test_x @ theta.T >= 0) == (rows.test_y[:, None] > 0)).mean(axis=0))


def mean_of(name: str, values: Array) -> dict[str, float]:
    """A mean over trainings, with its standard error."""
    return {name: float(values.mean()), f"{name}_std_error": float(values.std(ddof=1) / np.sqrt(len(values)))}


@cache
def _central(name: str, data: Path | None, quick: bool, seed: int, epsilons: Sequence[float]) -> list[dict[str, Any]]:
    setting = Setting(data, quick, seed)
    rows = rows_of(name, setting)
    return measured(rows, (len(rows.y),), (CENTRAL,), epsilons, setting)


def central(rows: Rows, setting: Setting, epsilons: Sequence[float]) -> list[dict[str, Any]]:
    """The centralised method at some of the budgets; computed once in a process, since it knows no owners."""
    every = tuple(epsilons) if rows.name == ONE_HOT else budgets(setting)
    known = _central(rows.name, setting.data, setting.quick, setting.seed, every)
    return [row for row in known if row["epsilon"] in epsilons]


def budgets(setting: Setting) -> tuple[float, ...]:
    """The privacy budgets of the figures."""
    return FEW_EPSILONS if setting.quick else EPSILONS


def over_budgets(owners: int, setting: Setting) -> pd.DataFrame:
    """All methods on all tables against epsilon, with owners of random size."""
    tables, found = there(list(TABLES), setting), []
    for rows in tables:
        rng = setting.streams("weighted").rng("sizes", rows.name, owners)
        sizes = random_sizes(len(rows.y), owners, rng=rng)
        found += measured(rows, sizes, DISTRIBUTED, budgets(setting), setting, did=part_of(setting, len(tables)))
        found += [row | {"owners": owners} for row in central(rows, setting, budgets(setting))]
    return pd.DataFrame(found)


def over_skews(owners: int, epsilon: float, names: Sequence[str], setting: Setting) -> pd.DataFrame:
    """All methods on some tables against u = n_max/n_min, with owners of two sizes.

    Plain averaging stands there twice: with a step chosen for every u, and with the one chosen for equal owners.
    """
    tables, found = there(names, setting), []
    for rows in tables:
        every = SMALL_SKEWS if rows.name in SMALL else SKEWS
        skews = every[:: len(every) - 1] if setting.quick else every[::2] if rows.name == ONE_HOT else every
        kept: dict[str, float] = {}
        for skew in skews:
            sizes, did = two_groups(len(rows.y), owners, skew), part_of(setting, len(tables) * len(skews))
            several = measured(rows, sizes, (*DISTRIBUTED, *kept), (epsilon,), setting, kept, did)
            if not kept:
                equal = next(row for row in several if row["method"] == PLAIN)
                kept = {KEPT: equal["step_size"]}
                several.append(equal | {"method": KEPT})
            several += [row | {"owners": owners} for row in central(rows, setting, (epsilon,))]
            found += [row | {"skew": skew} for row in several]
    return pd.DataFrame(found)


def part_of(setting: Setting, parts: int) -> Did:
    """What a part of so many tells of its progress."""
    return lambda share: setting.did(share / parts)
