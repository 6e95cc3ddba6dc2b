"""Forecast intervals on drawn markets: how often they hold, how wide they are, how well they score.

Every seed draws a market: a population of two to ten columns, with normal or heavy-tailed errors,
errors whose spread follows a column, skewed columns or a curved target; three owners of 500 to
5,000 records; 100 to 500 public rows; one budget from 0.3 to 3. Protocols share the seeds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.random import Generator

from learning.arrays import Array
from learning.progress import Progress
from learning.randomness import Streams
from learning.threads import one_blas_thread
from reproduction.calibration import MARKET_TEXT, Outcome, compare_run
from reproduction.study import TEXTS, Options, Row, Study, complete_rows
from scenarios.planning import prepare
from scenarios.runner import carry_out
from scenarios.schema.loading import load
from scenarios.schema.scenario import Scenario

TEXT = TEXTS["intervals"]
PROTOCOLS: dict[str, list[str]] = TEXT["protocols"]
KINDS = ("normal", "tails", "spread", "skewed", "curved")
KEPT = "intervals.csv"
FIRST_SEED = 3001
LEVEL = 0.95  # of the intervals
COVERED = 0.93  # share that hold, at least
COLUMNS = ("markets", "hold", "hi/lo", "score of logs", "score")
WORST = 10


def run_intervals(options: Options, progress: Progress) -> Study:
    """Measure intervals under each protocol; outcomes on disk are not computed again.

    Parameters
    ----------
    options : folder of the table, seeds of each protocol, and processes.
    progress : called with the name of the stage, and the share of it that is done.
    """
    kept = options.out / KEPT
    asked = [(name, FIRST_SEED + i) for i in range(options.seeds) for name in PROTOCOLS]
    stage = (progress, f"settling and training {len(asked):,} markets")
    found = complete_rows(_measure_one, asked, options, (KEPT, Outcome), stage)
    rows = [_make_row(name, [one for one in found if one.market == name]) for name in PROTOCOLS]
    missed = [one for one in found if not one.agrees]
    missed.sort(key=lambda one: -max(one.trained / one.high, one.low / one.trained))
    listed = [TEXT["missed"].format(one) for one in missed[:WORST]]
    notes = [note.format(covered=COVERED, kept=kept) for note in TEXT["notes"]]
    return Study(TEXT["title"], COLUMNS, (*rows, _make_row("all", found)), (*notes, *listed))


@one_blas_thread()
def _measure_one(protocol: str, seed: int, data: Path | None) -> list[Outcome]:
    """Settle a drawn market under a protocol, forecast, train, and compare."""
    with open_drawn(protocol, seed) as scenario:
        run = carry_out(scenario, prepare(scenario), others=False)
    return [compare_run(protocol, run)] if run.trained is not None else []


def _make_row(name: str, found: Sequence[Outcome]) -> Row:
    """Make the row of one protocol."""
    ends = np.array([(one.low, one.high) for one in found]).reshape(-1, 2)
    trained = np.array([one.trained for one in found])
    point = np.array([one.forecast for one in found])
    held = float(np.mean([one.agrees for one in found]))
    wide = float(np.median(ends[:, 1] / ends[:, 0]))
    logs = float(interval_scores(np.log(ends), np.log(trained)).mean())
    plain = float((interval_scores(ends, trained) / point).mean())
    texts = (str(len(found)), f"{held:.1%}", f"{wide:.1f}", f"{logs:.2f}", f"{plain:.2f}")
    return Row(name, texts, "", held >= COVERED)


def interval_scores(ends: Array, truth: Array) -> Array:
    """Interval scores, (m,), of ends (m, 2): width, and misses over half of 1 - level.

    Source: Gneiting and Raftery, Strictly Proper Scoring Rules, Prediction, and Estimation (2007),
        equation 43.

    >>> ends = np.array([[0.0, 1.0]] * 3)
    >>> interval_scores(ends, np.array([0.5, 1.1, -0.2])).round(6).tolist()
    [1.0, 5.0, 9.0]
    """
    low, high = ends.T
    missed = np.maximum(low - truth, 0.0) + np.maximum(truth - high, 0.0)
    return np.asarray(high - low + 2 / (1 - LEVEL) * missed)


@contextmanager
def open_drawn(protocol: str, seed: int) -> Iterator[Scenario]:
    """Open the market that a seed draws, under a protocol."""
    rng = Streams(seed, "reproduce").rng("drawn")
    size, public, width = np.exp(rng.uniform(*np.log([[500, 100, 2], [5000, 500, 10]]))).astype(int)
    budget = round(float(np.exp(rng.uniform(*np.log([0.3, 3.0])))), 3)
    x, y = draw_records(str(rng.choice(KINDS)), 3 * size + public, width, rng)
    changes = [
        *(f"seed={seed}", *MARKET_TEXT["quick"], *PROTOCOLS[protocol]),
        *(f"data.split={[int(size)] * 3}", f"data.public_rows={public}"),
        *(f"owners.epsilon=[{budget}, {budget}]", f"data.bounds.y=[{y.min()}, {y.max()}]"),
    ]
    with TemporaryDirectory() as folder:
        header = ",".join([*(f"x{i}" for i in range(width)), "y"])
        path = Path(folder) / "generated.csv"
        np.savetxt(path, np.column_stack([x, y]), "%.6g", ",", header=header, comments="")
        file = path.with_suffix(".toml")
        file.write_text(MARKET_TEXT["scenario"], encoding="utf-8")
        yield load(file, changes)


def draw_records(kind: str, rows: int, width: int, rng: Generator) -> tuple[Array, Array]:
    """Draw a population of one of `KINDS`: columns (rows, width) and target (rows,)."""
    mixed = np.eye(width) + 0.4 * rng.standard_normal((width, width)) / np.sqrt(width)
    x = rng.standard_normal((rows, width)) @ mixed
    error = rng.standard_normal(rows)
    if kind == "skewed":
        x = np.exp(x / 2)
    if kind in ("skewed", "tails"):
        error = rng.standard_t(rng.uniform(3, 6), rows)
    if kind == "spread":
        error *= np.exp(x[:, 0] / 2)
    y = x @ rng.standard_normal(width) + error
    return x, y + 0.3 * x[:, 0] ** 2 if kind == "curved" else y
