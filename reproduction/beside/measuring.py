"""Errors of every learner on every table, seed and epsilon; errors on disk are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from time import process_time

import numpy as np

from learning.progress import Progress
from learning.randomness import Streams
from learning.threads import one_blas_thread
from reproduction.beside.learners import LEARNERS
from reproduction.beside.ours import prepare_market, train_ours
from reproduction.beside.rows import TABLES, Predict, Rows, collect_rows, lacking_file, open_table
from reproduction.study import Options, complete_rows
from scenarios.tables.dataset import market_data

KEPT = "beside.csv"
FIRST_SEED = 9001
BUDGETS = (0.1, 0.3, 1.0, 3.0, 8.0)
BETWEEN = ": "  # a table and a learner, the market of a cell


@dataclass(frozen=True)
class Cell:
    """Error of one training.

    Parameters
    ----------
    market: table and learner.
    seed: of the order of the rows, and of the noise.
    epsilon: the budget of every owner; inf without noise.
    error: on held-out rows, in the target's unit.
    area: under the ROC curve, of labels; nan of numbers.
    seconds: of CPU, ours with its share of the choice of a protocol.
    """

    market: str
    seed: int
    epsilon: float
    error: float
    area: float
    seconds: float


def measure_cells(options: Options, progress: Progress) -> list[Cell]:
    """Measure all learners that are installed, on all tables that are there."""
    asked = list_asked(options)
    return complete_rows(
        measure_learner, asked, options, (KEPT, Cell), (progress, f"training {len(asked):,} times")
    )


def list_asked(options: Options) -> list[tuple[str, int]]:
    """List tables with learners, and seeds; a next seed of all before another of one."""
    found = []
    for number in range(options.seeds):
        for table, facts in TABLES.items():
            if lacking_file(table, options.data) is not None:
                continue
            kind = "labels" if facts.get("labels") else "numbers"
            found += [
                (f"{table}{BETWEEN}{name}", FIRST_SEED + number)
                for name, one in LEARNERS.items()
                if getattr(one, kind) and not one.missing
            ]
    return found


@one_blas_thread()
def measure_learner(market: str, seed: int, data: Path | None) -> list[Cell]:
    """Train one learner on a table at every budget, and measure it on the held-out rows."""
    table, _, name = market.partition(BETWEEN)
    learner = LEARNERS[name]
    spent = 0.0  # on what is chosen once for all budgets
    if learner.fit:
        rows = _open_rows(table, seed, data)
    else:
        scenario, prepared, spent = prepare_market(table, seed, data, learner)
        rows = collect_rows(prepared.data)
    cells = []
    for epsilon in BUDGETS if learner.private else (np.inf,):
        rng = Streams(seed, "beside").rng(market, f"{epsilon:g}")
        began = process_time()
        if learner.fit:
            predict = learner.train(rows, epsilon, rng)
        else:
            predict = train_ours(scenario, prepared, epsilon)
        seconds = process_time() - began + spent / len(BUDGETS)
        cells.append(_measure_cell(market, seed, epsilon, rows, predict, seconds))
    return cells


def _measure_cell(
    market: str, seed: int, epsilon: float, rows: Rows, predict: Predict, seconds: float
) -> Cell:
    """Measure a trained model, six digits of each number."""
    error, area = rows.measure(predict)
    return Cell(market, seed, epsilon, *(float(f"{one:.6g}") for one in (error, area, seconds)))


@lru_cache(maxsize=1)
def _open_rows(table: str, seed: int, data: Path | None) -> Rows:
    """Open a table once for all rivals in turn."""
    with open_table(table, seed, data) as scenario:
        return collect_rows(market_data(scenario))


def group_cells(cells: Sequence[Cell]) -> dict[tuple[str, str, float], dict[int, Cell]]:
    """Group cells by table, learner and epsilon, and in each group by seed."""
    found: dict[tuple[str, str, float], dict[int, Cell]] = {}
    for one in cells:
        table, _, name = one.market.partition(BETWEEN)
        found.setdefault((table, name, one.epsilon), {})[one.seed] = one
    return found
