"""Comparison of protocols at the same budgets, epsilon = 1 for all: published and better ones.

Rows: the learner alone on its public rows; the protocol as published (T = 100, c_1 = 1/lambda,
start at 0, running mean); the best horizon and step size from 0 with raw features; with whitened
features; with the public model as start and origin of targets; with questions in all of the T
rounds that the budget is split over (the published loops ask T - 1 times); Gaussian noise at delta
= 1e-6, accounted by zCDP and exactly; AdaSSP, which asks no gradients; then step by step clipped
gradients, l2 noise, growing shares of the budget; and the choice of `best`. Last, the limit of such
training, which no public choice reaches. All choices are made on public rows, at a reference budget
of 1, and were tried on five shuffles of the rows; ten further ones follow. Figures are relative
fitness psi = f/f* - 1, lower is better. The law of rehearsed protocols is a fit to trainings on the
pooled records at other noise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy

from learning.arrays import Array
from learning.losses.clipping import RECORD as CLIPPED
from learning.losses.coordinates import Coordinates, whitening_transform
from learning.losses.squared import squared_statistics
from learning.privacy.l2 import L2
from learning.privacy.mechanism import Mechanism, NoiseSettings
from learning.privacy.mechanisms import BEST as ANY
from learning.privacy.mechanisms import candidate_mechanisms
from learning.progress import Progress
from learning.threads import one_blas_thread
from reproduction.study import (
    TEXTS,
    Options,
    Row,
    Study,
    check_table_path,
    compute_rows,
    read_rows,
    stated_changes,
)
from scenarios.planning import prepare
from scenarios.schema.data import PUBLISHED
from scenarios.schema.loading import load
from scenarios.summary.verdict import STANDARD_ERRORS, summarise_runs
from scenarios.tables.dataset import MarketData, market_data
from scenarios.tables.paths import table_exists
from scenarios.training import train_at

TRIED = tuple(range(1, 6))  # shuffles of the rows on which choices were tried
FURTHER = tuple(range(6, 16))  # some choices used them too (docs/reference/methods.md)
ROOM = 1.2  # the published ball is unspecified: the public model with a fifth to spare
REACH = (2.0, 200.0)  # radii, in deviations of a gradient's entry
STEPS = 400  # towards the model where clipped gradients cancel, at most
STILL = 1e-7  # longest step at the end, in radii
ALONE = "learner alone"
LISTS = TEXTS["protocols"]
LIMITS = tuple(LISTS["limits"])


class Protocol(NamedTuple):
    """A protocol as changes to a scenario, and the limit that it is compared with."""

    name: str
    changes: tuple[str, ...]
    limit: str = ""


def read_protocols(name: str) -> tuple[Protocol, ...]:
    """Read the protocols of a list, with the changes that their words name."""
    protocols = []
    for title, words, *limit in LISTS[name]:
        changes = [change for word in words.split() for change in LISTS["changes"][word]]
        protocols.append(Protocol(title, tuple(changes), *limit))
    return tuple(protocols)


LADDER = read_protocols("ladder")
MARKETS = {
    market: LADDER if name == "ladder" else read_protocols(name)
    for market, name in LISTS["markets"].items()
}


@dataclass(frozen=True)
class Cell:
    """One protocol on one shuffle of a market: relative fitness if not stated otherwise.

    Parameters
    ----------
    market, seed, protocol : the cell.
    forecast : forecast from the public rows.
    low, high : its 95 % interval.
    law, law_error : fitness by the exact law, or a fit, on the pooled records, and its standard
        error; nan where not computed.
    trained, std_error : mean of 100 trainings, and its standard error.
    horizon : T.
    bound : Xi or G.
    projected : share of the coordinates that the projection moved.
    wrong : share of wrong labels on rows of nobody's training; nan where there are none.
    way : training, in words.
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


def row_names(market: str) -> list[str]:
    """Names of the rows of a market."""
    limits = LIMITS if MARKETS[market] is LADDER else ()
    return [ALONE, *(one.name for one in MARKETS[market]), *limits]


@one_blas_thread()
def measure_shuffle(market: str, seed: int, folder: Path | None) -> list[Cell]:
    """Measure every protocol on one shuffle; the pooled law only for those tried."""
    data = market_data(load(market, stated_changes(market, seed), data_folder=folder))
    cells = [_measure_learner(market, seed, data, folder)]
    cells += [_measure_protocol(one, data, market, seed, folder) for one in MARKETS[market]]
    if MARKETS[market] is LADDER:
        cells += _measure_limits(market, seed, data)
    return cells


def _measure_protocol(
    protocol: Protocol, data: MarketData, market: str, seed: int, folder: Path | None
) -> Cell:
    """Measure a protocol at epsilon = 1 for all: forecast, law and training."""
    if protocol is LADDER[0]:
        changes = [f"seed={seed}", *protocol.changes, *published_changes(data)]
    else:
        changes = [*stated_changes(market, seed), *protocol.changes]
    scenario = load(market, changes, data_folder=folder)
    planner = prepare(scenario, data).planner
    budgets = np.ones(len(data.owners))
    law = (np.nan, np.nan)
    if seed in TRIED and data.loss.quadratic:
        oracle = planner.oracle(budgets)
        law = (oracle.relative_fitness, oracle.std_error)
    trained = train_at(scenario, planner, budgets)
    runs = summarise_runs(data.fitness.relative(trained.theta))
    plan = planner.forecast.plan(budgets)
    wrong = np.nan
    if data.loss.labels and data.holdout is not None:
        wrong = data.holdout.error(data.loss, trained.theta)
    way = (plan.algorithm, planner.inputs.settings.clipping, planner.mechanism.label)
    return Cell(
        market,
        seed,
        protocol.name,
        planner.at(budgets),
        *planner.predict(budgets).interval(),
        *law,
        runs["mean"],
        runs["std_error"],
        plan.horizon,
        planner.coordinates.noise_bound,
        trained.projected,
        wrong,
        f"{', '.join(way)}, growth {plan.growth:g}",
    )


def published_changes(data: MarketData) -> tuple[str, ...]:
    """Rest of the published protocol, which the source leaves open: c_1 = 1/lambda, and a ball."""
    assert data.public is not None
    hessian = squared_statistics(data.public.x, data.public.y).hessian
    curvature = float(np.linalg.eigvalsh(hessian)[-1])
    ball = ROOM * float(np.abs(data.public.model).max())
    return (
        f"learning.step_size={1 / curvature!r}",
        f"learning.theta_max={ball!r}",
    )


def _measure_learner(market: str, seed: int, data: MarketData, folder: Path | None) -> Cell:
    """Measure the learner's own model, trained on the public rows."""
    assert data.public is not None
    planner = prepare(load(market, stated_changes(market, seed), data_folder=folder), data).planner
    interval = planner.predict(np.ones(len(data.owners))).outside_interval()
    own = float(data.fitness.relative(data.public.model))
    return Cell(market, seed, ALONE, planner.forecast.outside, *interval, own, 0.0, own)


def _measure_limits(market: str, seed: int, data: MarketData) -> list[Cell]:
    """Limits with the whole budget in one answer: pure, at delta = 1e-6, and with shared noise."""
    owners = len(data.owners)
    width = data.encoder.n_parameters
    weights = data.sizes / data.sizes.sum()

    def variance(mechanism: Mechanism) -> float:
        return float(weights**2 @ mechanism.variance(np.ones(owners), data.sizes, 1.0, 1))

    known = candidate_mechanisms(ANY, NoiseSettings((1,), delta=1e-6, width=width, horizon=1))
    pure = variance(L2(width))
    noises = (pure, min(variance(one) for one in known if one.norm == 2), pure / owners)
    cells = []
    for name, noise in zip(LIMITS, noises, strict=True):
        value = training_limit(data, noise)
        cells.append(Cell(market, seed, name, np.nan, np.nan, np.nan, value, 0.0, value))
    return cells


def training_limit(data: MarketData, noise: float) -> float:
    """Relative fitness at the best radius c: (|phi_c|^2 + c^2 noise p/4)/f*, phi_c the bias.

    The best of a class of trainings that know everything: the whole budget in one answer at the
    best place. Each record's gradient is clipped, in the features that the pooled records whiten,
    at the model where the clipped gradients cancel; the owners answer once, and one step is taken
    by the known curvature. The bias of clipping and the noise of one answer remain, at the best
    radius on the pooled records: a limit and no protocol, since all of it is private.

    Parameters
    ----------
    data : market, of squared loss, all of whose records are read.
    noise : variance per coordinate of the owners' weighted answers where a gradient is at most 1
        long.
    """
    best = data.fitness.minimiser
    optimum = data.fitness.optimum
    x = np.concatenate([owner.x for owner in data.owners])
    y = np.concatenate([owner.y for owner in data.owners])
    whole = Coordinates(best, whitening_transform(x.T @ x / len(x)), norm=2, clipping=CLIPPED)
    deviation = 2 * float(np.sqrt(optimum))
    place = np.zeros((1, len(best)))

    def fitness(log: float) -> float:
        nonlocal place
        radius = deviation * float(np.exp(log))
        place = find_clipped_optimum(whole.bounded(radius, np.inf, np.inf), x, y, place)
        return float((place**2).sum() + radius**2 * noise * len(best) / 4) / optimum

    bounds = np.log(REACH)
    search = {"method": "bounded", "options": {"xatol": 0.03}}
    return float(scipy.optimize.minimize_scalar(fitness, bounds=bounds, **search).fun)


def find_clipped_optimum(coordinates: Coordinates, x: Array, y: Array, start: Array) -> Array:
    """Point where the clipped gradients of all records cancel, (1, p), by steps of 1/2."""
    records = coordinates.oracle(x, y)
    phi = start
    longest = STILL * coordinates.radius
    for _ in range(STEPS):
        step = records.gradient(phi) / 2
        phi = phi - step
        if np.abs(step).max() < longest:
            break
    return np.asarray(phi)


WITHIN = 4 / 3  # a third above the reference, or better
COVERED = 13  # of the fifteen intervals, at least
KEPT = "protocol.csv"
TEXT = TEXTS["protocol"]
FORMATS: dict[str, str] = TEXT["formats"]
TRAINING = ("std. error", "T", "Xi", "projected")  # columns of trained protocols


def run_protocol(options: Options, progress: Progress) -> Study:
    """Run forecast, law on the pooled records, and 100 trainings, for every protocol and market.

    Parameters
    ----------
    options : folder of the data sets that do not come along, folder of the table, and processes.
    progress : called with the name of the stage, and the share of it that is done.
    """
    check_table_path(options.out, KEPT, Cell)
    options.out.mkdir(parents=True, exist_ok=True)
    markets = []
    notes = []
    for market in MARKETS:
        scenario = load(market, data_folder=options.data)
        if table_exists(scenario):
            markets.append(market)
        else:
            file = PUBLISHED[str(scenario.data.source)]
            notes.append(f"{market} skipped: give the folder that holds {file} with --data")
    cells = _complete_cells(markets, options, progress)
    rows: list[Row] = []
    for market in markets:
        rows += _make_rows(market, [one for one in cells if one.market == market])
    facts = {
        "tried": len(TRIED),
        "further": len(FURTHER),
        "all": len(TRIED) + len(FURTHER),
        "errors": STANDARD_ERRORS,
        "covered": COVERED,
        "kept": options.out / KEPT,
    }
    notes += [note.format(**facts) for note in TEXT["notes"]]
    return Study(TEXT["title"], tuple(FORMATS), tuple(rows), tuple(notes))


def _complete_cells(markets: Sequence[str], options: Options, progress: Progress) -> list[Cell]:
    """Read the cells on disk, and compute the missing shuffles; the largest tables first."""
    path = options.out / KEPT
    found = read_rows(path, Cell)
    done = {(one.market, one.seed, one.protocol) for one in found}
    asked = [(market, seed) for market in markets for seed in (*TRIED, *FURTHER)]
    missing = [key for key in asked if any((*key, name) not in done for name in row_names(key[0]))]
    found = [one for one in found if (one.market, one.seed) not in missing]
    missing.sort(key=lambda key: key[0] != "lending_banks")
    stage = (progress, f"{len(asked)} shuffles of the rows", len(asked))
    return found + compute_rows(measure_shuffle, missing, options, path, stage)


def _make_rows(market: str, cells: Sequence[Cell]) -> Iterator[Row]:
    """Make the rows of one market, each averaged over the shuffles."""
    by_name = {name: [one for one in cells if one.protocol == name] for name in row_names(market)}
    limits = {protocol.name: protocol.limit for protocol in MARKETS[market]}
    ladder = [ALONE, *(protocol.name for protocol in LADDER)]
    known = dict(zip(ladder, TEXT["references"].get(market, ()), strict=False))
    if market in TEXT["grown"]:
        known["+ growing shares"] = TEXT["grown"][market]
    targets = TEXT["targets"].get(market, {})
    for name, found in by_name.items():
        limit = _mean(by_name.get(limits.get(name, ""), ()), "trained")
        values, holds = _average(found, limit, known.get(name))
        reference = f"{known[name]:.2g}" if name in known else ""
        if name in targets:
            target = targets[name]
            reference = f"≤ {target:.2g}"
            holds = _mean(_among(found, TRIED), "trained") <= target and _covered(found) >= COVERED
        yield Row(f"{market}: {name}", values, reference, holds)


def _average(
    found: Sequence[Cell], limit: float, reference: float | None
) -> tuple[tuple[str, ...], bool | None]:
    """Average the shuffles of a protocol, and compare with its law and a reference."""
    first = _among(found, TRIED)
    further = _among(found, FURTHER)
    error = _joint_error(first, "std_error")
    trained = _mean(first, "trained")
    law = _mean(first, "law")
    projected = _mean(first, "projected")
    numbers = {
        "forecast (public)": _mean(first, "forecast"),
        "law (pooled)": law,
        "trained": trained,
        "std. error": error,
        "T": _mean(first, "horizon"),
        "Xi": _mean(first, "bound"),
        "projected": projected,
        "forecast, further": _mean(further, "forecast"),
        "trained, further": _mean(further, "trained"),
        "in interval": np.nan,
        "over limit": trained / limit,
        "wrong, fresh": _mean(found, "wrong"),
    }
    texts = {
        name: "" if np.isnan(value) else format(value, FORMATS[name])
        for name, value in numbers.items()
    }
    if error == 0:  # nothing was trained
        texts |= dict.fromkeys(TRAINING, "")
    else:
        texts["in interval"] = f"{_covered(found)}/{len(found)}"
    values = tuple(texts.values())
    if reference is None:
        return values, None
    width = STANDARD_ERRORS * float(np.hypot(error, _joint_error(first, "law_error")))
    near = error == 0 or abs(trained - law) <= width
    bound = projected > 0 and trained < law
    return values, (near or bound) and trained <= WITHIN * reference


def _among(found: Sequence[Cell], seeds: Sequence[int]) -> list[Cell]:
    """Select the cells of some shuffles."""
    return [one for one in found if one.seed in seeds]


def _covered(found: Sequence[Cell]) -> int:
    """Count the shuffles whose interval holds the mean of the trainings."""
    return sum(one.low <= one.trained <= one.high for one in found)


def _joint_error(found: Sequence[Cell], key: str) -> float:
    """Standard error of a mean over shuffles."""
    return float(np.linalg.norm([getattr(one, key) for one in found])) / len(found)


def _mean(found: Sequence[Cell], key: str) -> float:
    """Mean of a number over shuffles; nan of no shuffles."""
    return float(np.mean([getattr(one, key) for one in found])) if found else np.nan
