"""Comparison of protocols at the same budgets, epsilon = 1 for all: published and better ones.

Rows: the learner alone on its public rows; the protocol as published (T = 100, c_1 = 1/lambda,
start at 0, running mean); the best horizon and step size from 0 with raw features; with whitened
features; with the public model as start and origin of targets; with questions in all of the T
rounds that the budget is split over (the published loops ask T - 1 times); Gaussian noise at delta
= 1e-6, accounted by zCDP and exactly; AdaSSP, which asks no gradients; then step by step clipped
gradients, l2 noise, growing shares of the budget; and the choice of `best`. Last, the limit of such
training, which no public choice reaches. All choices are made on public rows, at a reference budget
of 1, and were tried on the README's five shuffles; ten further shuffles follow. Figures are
relative fitness psi = f/f* - 1, lower is better. The law of rehearsed protocols is a fit to
trainings on the pooled records at other noise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from learning.progress import Progress
from reproduction.protocols import (
    ALONE,
    FURTHER,
    LADDER,
    MARKETS,
    README,
    Cell,
    measure_shuffle,
    row_names,
)
from reproduction.study import (
    TEXTS,
    Options,
    Row,
    Study,
    check_table_path,
    compute_rows,
    read_rows,
)
from scenarios.schema.data import PUBLISHED
from scenarios.schema.loading import load
from scenarios.summary.verdict import STANDARD_ERRORS
from scenarios.tables.paths import table_exists

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
            notes.append(f"skipped: give the folder that holds {file} with --data")
    cells = _complete_cells(markets, options, progress)
    rows: list[Row] = []
    for market in markets:
        rows += _make_rows(market, [one for one in cells if one.market == market])
    facts = {
        "tried": len(README),
        "further": len(FURTHER),
        "all": len(README) + len(FURTHER),
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
    asked = [(market, seed) for market in markets for seed in (*README, *FURTHER)]
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
            holds = _mean(_among(found, README), "trained") <= target and _covered(found) >= COVERED
        yield Row(f"{market}: {name}", values, reference, holds)


def _average(
    found: Sequence[Cell], limit: float, reference: float | None
) -> tuple[tuple[str, ...], bool | None]:
    """Average the shuffles of a protocol, and compare with its law and a reference."""
    first = _among(found, README)
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
