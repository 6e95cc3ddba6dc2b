"""The protocols that are compared at epsilon = 1 for all, and what each comes to on one shuffle of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from learning.losses.squared import squared_statistics
from learning.privacy.l2 import L2
from learning.privacy.mechanism import Mechanism
from learning.privacy.mechanisms import BEST as ANY
from learning.privacy.mechanisms import candidates
from learning.privacy.noise_settings import NoiseSettings
from learning.threads import one_blas_thread
from scenarios.planning import prepare
from scenarios.reproduce.limit import limit
from scenarios.schema.loading import load
from scenarios.summary.verdict import summary
from scenarios.tables.dataset import MarketData, market_data
from scenarios.training import train_at

README = (1, 2, 3, 4, 5)  # shuffles of the rows, on which choices were tried: a public sample is good or bad by luck
FURTHER = tuple(range(6, 16))  # further ones; some choices were made with them in view too (docs/explanation/theory.md)
ROOM = 1.2  # the published ball is unspecified: one that holds the public model with a fifth to spare
ALONE = "learner alone"
LIMITS = ("limit, pure", "limit, δ = 1e-6", "limit, pure, noise shared by three")
DELTA = ("learning.delta=1e-6",)
GAUSSIAN = ("learning.mechanism=gaussian", *DELTA)
ZCDP, EXACT = ("learning.accounting=zcdp",), ("learning.accounting=pld",)
EVERY = ("learning.algorithm=sgd2",)  # T answers for a budget split over T; the published loops ask T - 1 times
RAW = ("learning.start=zero", "learning.precondition=false")
RECORD, EUCLIDEAN, GROWING = ("learning.clipping=record",), ("learning.mechanism=l2",), ("learning.growth=optimal",)
OPEN = ("learning.algorithm=best", "learning.clipping=best")
BEST = (*OPEN, "learning.mechanism=best", *GROWING)


class Protocol(NamedTuple):
    """A protocol as changes to a scenario, and the limit that it is held against."""

    name: str
    changes: tuple[str, ...]
    limit: str = ""


LADDER = (
    Protocol("as published", RAW),
    Protocol("best T and step, from 0", RAW),
    Protocol("+ whitened", ("learning.start=zero",)),
    Protocol("+ from the public model", ()),
    Protocol("+ asked in every round", EVERY),
    Protocol("+ Gaussian, zCDP", (*GAUSSIAN, *ZCDP)),
    Protocol("+ Gaussian, exact", (*GAUSSIAN, *EXACT)),
    Protocol("+ Gaussian, exact, asked in every round", (*GAUSSIAN, *EXACT, *EVERY)),
    Protocol("AdaSSP, exact: sums released once", (*GAUSSIAN, *EXACT, "learning.algorithm=adassp")),
    Protocol("asked in every round + gradients clipped", (*EVERY, *RECORD), LIMITS[0]),
    Protocol("+ l2 noise", (*EVERY, *RECORD, *EUCLIDEAN), LIMITS[0]),
    Protocol("+ growing shares", (*EVERY, *RECORD, *EUCLIDEAN, *GROWING), LIMITS[0]),
    Protocol("one step, l2 noise, exact", ("learning.algorithm=one_step", *EUCLIDEAN, *DELTA, *EXACT), LIMITS[1]),
    Protocol("best, pure", BEST, LIMITS[0]),
    Protocol("best, δ = 1e-6", (*BEST, *DELTA), LIMITS[1]),
    Protocol("best, pure, noise shared by three", (*BEST, "trust.aggregation=secure"), LIMITS[2]),
)
CLASSIFIED = (
    Protocol("as it stands", ()),
    Protocol("+ gradients clipped", RECORD),
    Protocol("best, its own noise", (*OPEN, *GROWING)),
)
MARKETS = {
    "three_insurers": LADDER,
    "lending_banks": LADDER,
    "adult_income": CLASSIFIED,
    "fraud_detection": (*CLASSIFIED, Protocol("best, pure", BEST)),
}


@dataclass(frozen=True)
class Cell:
    """One protocol on one shuffle of the rows of a market: relative fitness unless said otherwise.

    Parameters
    ----------
    market, seed, protocol : which.
    forecast : from the public rows.
    low, high : the forecast's 95 % interval.
    law, law_error : by the exact law, or a fit, on the pooled records, and its standard error; nan where not asked for.
    trained, std_error : mean of 100 trainings, and its standard error.
    horizon : T.
    bound : Xi or G.
    projected : share of the coordinates that the projection moved.
    wrong : share of wrong labels on rows that nobody trained on; nan where there are none.
    way : what was trained, in words.
    """

    market: str
    seed: int
    protocol: str
    forecast: float
    low: float
    high: float
    law: float
    law_error: float
    trained: float
    std_error: float = 0.0
    horizon: float = 1.0
    bound: float = 0.0
    projected: float = 0.0
    wrong: float = float("nan")
    way: str = ""


def names(market: str) -> list[str]:
    """The rows of a market."""
    limits = LIMITS if MARKETS[market] is LADDER else ()
    return [ALONE, *(one.name for one in MARKETS[market]), *limits]


@one_blas_thread()
def shuffled(market: str, seed: int, folder: Path | None) -> list[Cell]:
    """Every protocol on one shuffle of the rows; the law on the pooled records for the README's shuffles alone."""
    data = market_data(load(market, [f"seed={seed}"], data_folder=folder))
    found = [_measured(one, data, market, seed, folder) for one in MARKETS[market]]
    return [
        alone(market, seed, data, folder),
        *found,
        *(limits(market, seed, data) if MARKETS[market] is LADDER else []),
    ]


def _measured(protocol: Protocol, data: MarketData, market: str, seed: int, folder: Path | None) -> Cell:
    """A protocol at epsilon = 1 for all: forecast, law and training."""
    changes = [f"seed={seed}", *protocol.changes, *(published(data) if protocol is LADDER[0] else ())]
    scenario = load(market, changes, data_folder=folder)
    planner, budgets = prepare(scenario, data).planner, np.ones(len(data.owners))
    law = planner.oracle(budgets) if seed in README and data.loss.quadratic else None
    trained, interval = train_at(scenario, planner, budgets), planner.predict(budgets).interval()
    runs, plan = summary(data.fitness.relative(trained.theta)), planner.forecast.plan(budgets)
    fresh = data.holdout if data.loss.labels else None
    return Cell(
        market,
        seed,
        protocol.name,
        planner.at(budgets),
        *interval,
        np.nan if law is None else law.relative_fitness,
        np.nan if law is None else law.std_error,
        runs["mean"],
        runs["std_error"],
        plan.horizon,
        planner.coordinates.noise_bound,
        trained.projected,
        np.nan if fresh is None else fresh.error(data.loss, trained.theta),
        f"{plan.algorithm}, {planner.inputs.settings.clipping}, {planner.mechanism.label}, growth {plan.growth:g}",
    )


def published(data: MarketData) -> tuple[str, ...]:
    """The rest of the published protocol: T = 100, c_1 = 1/lambda, the mean of all rounds, a ball for the public model."""
    assert data.public is not None
    curvature = float(np.linalg.eigvalsh(squared_statistics(data.public.x, data.public.y).hessian)[-1])
    ball = ROOM * float(np.abs(data.public.model).max())
    steps = ("learning.horizon=100", f"learning.step_size={1 / curvature!r}", "learning.returned=averaged")
    return (*steps, f"learning.theta_max={ball!r}")


def alone(market: str, seed: int, data: MarketData, folder: Path | None) -> Cell:
    """The learner's own model, trained on the public rows."""
    assert data.public is not None
    planner = prepare(load(market, [f"seed={seed}"], data_folder=folder), data).planner
    interval = planner.predict(np.ones(len(data.owners))).outside_interval()
    own = float(data.fitness.relative(data.public.model))
    return Cell(market, seed, ALONE, planner.forecast.outside, *interval, own, 0.0, own)


def limits(market: str, seed: int, data: MarketData) -> list[Cell]:
    """What one answer with the whole budget could come to: pure, at delta = 1e-6, and under noise that owners share."""
    owners, width = len(data.owners), data.encoder.n_parameters
    weights = data.sizes / data.sizes.sum()

    def noise(mechanism: Mechanism) -> float:
        return float(weights**2 @ mechanism.variance(np.ones(owners), data.sizes, 1.0, 1))

    pure = limit(data, noise(L2(width)))
    known = candidates(ANY, NoiseSettings((1,), delta=1e-6, width=width, horizon=1))
    exact = min(noise(one) for one in known if one.norm == 2)
    found = (pure, limit(data, exact), limit(data, noise(L2(width)) / owners))
    return [
        Cell(market, seed, name, np.nan, np.nan, np.nan, value, 0.0, value)
        for name, value in zip(LIMITS, found, strict=True)
    ]
