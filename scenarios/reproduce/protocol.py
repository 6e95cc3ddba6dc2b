"""The protocol matters: the same budgets, epsilon = 1 for all, under the published protocol and under better ones.

Rows: the learner alone on its public rows; the protocol as published (T = 100, c_1 = 1/lambda, start at 0, running
mean); the best horizon and step size from 0 in the features as they are; with whitened features; started at the public
model, targets counted from it; the same asking in all of the T rounds that the budget is split over (the published loops
ask T - 1 times); Gaussian noise at delta = 1e-6, accounted by zCDP and exactly; and, asking no gradients at all, AdaSSP.
All choices are made on public rows, at a reference budget of 1. Figures are relative fitness psi = f/f* - 1, lower is
better. The law of AdaSSP is a fit to trainings on the pooled records at other noise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from learning.losses.squared import squared_statistics
from learning.threads import one_blas_thread
from scenarios.planning import prepare
from scenarios.reproduce.study import Row, Study
from scenarios.runner import train_at
from scenarios.schema.loading import load
from scenarios.summary import forecast_part
from scenarios.tables.dataset import MarketData, market_data
from scenarios.verdict import STANDARD_ERRORS, summary

SEEDS = (1, 2, 3, 4, 5)  # shuffles of the rows: a public sample of 150 rows is good or bad by luck
WITHIN = 4 / 3  # a third above the reference, or better
ROOM = 1.2  # the published ball is unspecified: one that holds the public model with a fifth to spare
GAUSSIAN = ("learning.mechanism=gaussian", "learning.delta=1e-6")
EVERY = "learning.algorithm=sgd2"  # T answers for a budget split over T; the published loops ask T - 1 times
RAW = ("learning.start=zero", "learning.precondition=false")


@dataclass(frozen=True)
class Case:
    """A market, where its table lies under the data folder (None: comes along), and reference figures of its rows."""

    scenario: str
    file: str | None
    references: tuple[float, ...]


# Reference figures: an earlier prototype on the same tables, its choices made with the pooled records.
CASES = (
    Case("three_insurers", None, (0.10, 2.4, 0.12, 0.087, 0.052, 0.052, 0.028, 0.028, 0.028, 0.028)),
    Case(
        "lending_banks",
        "lending_club/loans_2007_2014.csv.gz",
        (0.015, 0.31, 0.048, 0.013, 0.0063, 0.0063, 0.0019, 0.0019, 0.0019, 0.0019),
    ),
)


@one_blas_thread()
def study(folder: Path | None, progress: Callable[[str], None]) -> Study:
    """Forecast, law on the pooled records, and 100 trainings, for every protocol in both markets.

    Parameters
    ----------
    folder : where the data sets lie that do not come along. progress : called with what is being done.
    """
    rows: list[Row] = []
    notes: list[str] = []
    for case in CASES:
        overrides = []
        if case.file is not None:
            path = None if folder is None else folder / case.file
            if path is None or not path.is_file():
                notes.append(f"{case.scenario} skipped: give the folder that holds {case.file} with --data")
                continue
            overrides = [f"data.path={path}"]
        rows += _market(case, overrides, progress)
    notes += [
        f"Means over {len(SEEDS)} shuffles of the rows, 100 trainings each.",
        f"holds: at most a third above the reference, and trained within {STANDARD_ERRORS} standard errors of the law, "
        "or below it where the projection (share of coordinates moved) binds.",
    ]
    return Study(
        "What protocol makes of epsilon = 1 (relative fitness, lower is better)",
        ("forecast (public)", "law (pooled)", "trained", "std. error", "T", "Xi", "projected"),
        tuple(rows),
        tuple(notes),
    )


@dataclass(frozen=True)
class Measured:
    """One protocol on one shuffle of the rows."""

    forecast: float
    law: float
    trained: float
    std_error: float = 0.0
    horizon: int = 1
    bound: float = 0.0
    projected: float = 0.0
    law_error: float = 0.0


def _market(case: Case, overrides: Sequence[str], progress: Callable[[str], None]) -> list[Row]:
    """The rows of one market, each averaged over the shuffles."""
    measured: dict[str, list[Measured]] = {}
    for seed in SEEDS:
        base = [*overrides, f"seed={seed}"]
        data = market_data(load(case.scenario, base))
        assert data.public is not None
        own = float(data.fitness.relative(data.public.model))
        for name, changes in _ladder(data):
            progress(f"{case.scenario}, shuffle {seed}: {name}")
            found, outside = _measure(case.scenario, [*base, *changes], data)
            measured.setdefault(name, []).append(found)
        measured.setdefault("learner alone", []).append(Measured(outside, own, own))
    order = ["learner alone", *(name for name in measured if name != "learner alone")]
    return [
        _row(f"{case.scenario}: {name}", measured[name], reference)
        for name, reference in zip(order, case.references, strict=True)
    ]


def _ladder(data: MarketData) -> list[tuple[str, tuple[str, ...]]]:
    """Protocols from the published one to the best, as changes to the scenario."""
    assert data.public is not None
    curvature = float(np.linalg.eigvalsh(squared_statistics(data.public.x, data.public.y).hessian)[-1])
    ball = ROOM * float(np.abs(data.public.model).max())
    published = (
        *RAW,
        "learning.horizon=100",
        f"learning.step_size={1 / curvature!r}",
        "learning.returned=averaged",
        f"learning.theta_max={ball!r}",
    )
    return [
        ("as published", published),
        ("best T and step, from 0", RAW),
        ("+ whitened", ("learning.start=zero",)),
        ("+ from the public model", ()),
        ("+ asked in every round", (EVERY,)),
        ("+ Gaussian, zCDP", (*GAUSSIAN, "learning.accounting=zcdp")),
        ("+ Gaussian, exact", (*GAUSSIAN, "learning.accounting=pld")),
        ("+ Gaussian, exact, asked in every round", (*GAUSSIAN, "learning.accounting=pld", EVERY)),
        ("AdaSSP, exact: sums released once", (*GAUSSIAN, "learning.accounting=pld", "learning.algorithm=adassp")),
    ]


def _measure(source: str, changes: Sequence[str], data: MarketData) -> tuple[Measured, float]:
    """A protocol at epsilon = 1 for all: forecast, law and training; and the forecast of the learner alone."""
    scenario = load(source, changes)
    planner = prepare(scenario, data).planner
    budgets = np.ones(len(data.owners))
    part = forecast_part(data, planner, budgets)
    trained = train_at(scenario, planner, budgets)
    runs = summary(data.fitness.relative(trained.theta))
    return Measured(
        part["relative_fitness"],
        part["oracle"]["relative_fitness"],
        runs["mean"],
        runs["std_error"],
        part["horizon"],
        planner.coordinates.gradient_bound,
        trained.projected,
        part["oracle"]["std_error"],
    ), planner.forecast.outside


def _row(name: str, found: Sequence[Measured], reference: float) -> Row:
    forecast, law, trained, horizon, bound, projected = (
        float(np.mean([getattr(one, field) for one in found]))
        for field in ("forecast", "law", "trained", "horizon", "bound", "projected")
    )
    error = float(np.sqrt(np.sum([one.std_error**2 for one in found])) / len(found))
    both = float(np.sqrt(np.sum([one.std_error**2 + one.law_error**2 for one in found])) / len(found))
    confirmed = abs(trained - law) <= STANDARD_ERRORS * both or (projected > 0 and trained < law)
    holds = bool(confirmed and trained <= WITHIN * reference)
    if error == 0:
        return Row(name, (f"{forecast:.2g}", f"{law:.2g}", "", "", "", "", ""), f"{reference:.2g}", holds)
    return Row(
        name,
        (
            f"{forecast:.2g}",
            f"{law:.2g}",
            f"{trained:.2g}",
            f"{error:.1g}",
            f"{horizon:.3g}",
            f"{bound:.3g}",
            f"{projected:.1%}",
        ),
        f"{reference:.2g}",
        holds,
    )
