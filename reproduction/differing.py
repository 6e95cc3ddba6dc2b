"""Owners that differ, in kinds of difference: training, forecast, chance and go or no-go.

Every seed draws a population of six columns, four owners and 150 public rows. Budgets are 1 for
all. The model is worth so much that the payments are 0.3, 0.6 or 0.9 of what it is expected to
gain, so that some purchases lose. Owners have no names in the table that the learner sees.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from numpy.random import Generator

from learning.arrays import Array
from learning.progress import Progress
from learning.randomness import Streams
from learning.threads import one_blas_thread
from reproduction.calibration import Outcome, compare_run
from reproduction.study import TEXTS, Options, Row, Study, complete_rows
from scenarios.planning import Prepared, prepare
from scenarios.run import Run
from scenarios.runner import carry_out
from scenarios.schema.loading import load
from scenarios.schema.scenario import Scenario
from scenarios.summary.validation import error_seen

TEXT = TEXTS["differing"]
INSURERS = "insurers in file order"
TABLES: dict[str, dict[str, str]] = TEXT["tables"]
KINDS = (
    *("alike", "slopes", "labels", "covariates", "scales", "sizes", "reversed", "public from one"),
    *("noise", "mixture"),
)
KEPT = "differing.csv"
FIRST_SEED = 7001
WIDTH = 6
RECORDS = (4000, 4000, 4000, 4000)
UNEQUAL = (200, 800, 3000, 12000)
PUBLIC = 150
SHARES = (0.3, 0.6, 0.9)  # payments over the gain that is expected
PAID = 1000.0
COVERED = 0.9  # share of intervals that hold, at least
PREVENTED = 0.9  # share of losses
LIKELY = 0.5  # chance of gaining above which a loss is counted
SEEN = 10  # trainings whose interval after the answers is compared
COLUMNS = (
    *("markets", "trained", "own", "forecast", "hold", "hi/lo", "after: hold", "after: hi/lo"),
    *("likely, lost", "prevented"),
)


@dataclass(frozen=True)
class Purchase(Outcome):
    """An outcome under the default protocol, and decisions under `learner.go` with released sums.

    Parameters
    ----------
    algorithm: the default's algorithm.
    sums: mean relative fitness of models of released sums.
    lost: share of their trainings in which buying loses money.
    prevented: share of all trainings in which it would, and nothing is bought.
    missed: share of all trainings in which buying would pay, and nothing is bought.
    seen: share of the default's first trainings inside the interval after the answers; nan where
        these are no sums.
    seen_low, seen_high: medians of its ends.
    """

    algorithm: str
    sums: float
    lost: float
    prevented: float
    missed: float
    seen: float
    seen_low: float
    seen_high: float


def run_differing(options: Options, progress: Progress) -> Study:
    """Measure each kind of difference; outcomes on disk are not computed again.

    Parameters
    ----------
    options : folder of the data sets and of the table, seeds of each kind, and processes.
    progress : called with the name of the stage, and the share of it that is done.
    """
    kept = options.out / KEPT
    there = [
        name for name in TABLES if options.data and (options.data / TABLES[name]["file"]).is_file()
    ]
    names = [*KINDS, INSURERS, *there]
    asked = [(name, FIRST_SEED + i) for i in range(options.seeds) for name in names]
    stage = (progress, f"settling and training {len(asked):,} markets")
    found = complete_rows(_measure_one, asked, options, (KEPT, Purchase), stage)
    rows = [_make_row(name, [one for one in found if one.market == name]) for name in names]
    rows.sort(key=lambda row: row.holds is not False)
    missed = [TEXT["missed"].format(one) for one in found if not one.agrees]
    notes = [note.format(covered=COVERED, prevented=PREVENTED, kept=kept) for note in TEXT["notes"]]
    skipped = [
        TEXT["skipped"].format(name, TABLES[name]["file"]) for name in TABLES if name not in there
    ]
    return Study(
        TEXT["title"], COLUMNS, (*rows, _make_row("all", found)), (*notes, *skipped, *missed)
    )


@one_blas_thread()
def _measure_one(market: str, seed: int, data: Path | None) -> list[Purchase]:
    """Measure one market: the default protocol, then decisions by released sums."""
    with open_differing(market, seed, data) as scenario:
        prepared = prepare(scenario)
        done = carry_out(price_model(scenario, prepared), prepared, others=False)
    if done.trained is None:
        return []
    with open_differing(market, seed, data, TEXT["rule"]) as scenario:
        prepared = prepare(scenario)
        ruled = carry_out(price_model(scenario, prepared), prepared, others=False)
    gains = ruled.game.value * (ruled.own_error - ruled.trained_fitness) - PAID
    bought = np.ones(len(gains), dtype=bool) if ruled.decision is None else ruled.decision.bought
    ends = ends_after(done)
    errors = done.trained_fitness[: len(ends)]
    inside = (ends[:, 0] <= errors) & (errors <= ends[:, 1])
    low, high = np.median(ends, axis=0)
    return [
        Purchase(
            **vars(compare_run(market, done)),
            algorithm=done.planner.inputs.settings.algorithm,
            sums=float(ruled.trained_fitness.mean()),
            lost=float(np.mean(gains < 0)),
            prevented=float(np.mean((gains < 0) & ~bought)),
            missed=float(np.mean((gains >= 0) & ~bought)),
            seen=float(np.mean(inside)) if np.isfinite(low) else np.nan,
            seen_low=float(low),
            seen_high=float(high),
        )
    ]


def ends_after(run: Run) -> Array:
    """Intervals of the first trainings' errors after the answers; nan where none are known."""
    task = run.trained.task if run.trained else None
    public = run.data.public
    if task is None or task.coordinates.scores is None or public is None:
        return np.full((SEEN, 2), np.nan)
    return error_seen(run, task, public, range(SEEN))


def price_model(scenario: Scenario, prepared: Prepared) -> Scenario:
    """The scenario with a value at which payments are the seed's share of the expected gain."""
    forecast = prepared.planner.forecast
    budgets = np.ones(len(prepared.data.owners))
    gain = forecast.outside - prepared.planner.at(budgets)
    share = SHARES[scenario.seed % len(SHARES)]
    value = PAID / (share * max(gain, 1e-9))
    return scenario.model_copy(
        update={"learner": scenario.learner.model_copy(update={"value": value})}
    )


def _make_row(name: str, found: Sequence[Purchase]) -> Row:
    """Make the row of one kind; fitness is told by its geometric mean."""
    held = float(np.mean([one.agrees for one in found]))
    wide = float(np.median([one.high / one.low for one in found]))
    likely = sum(one.chance_pays > LIKELY and one.gain < 0 for one in found)
    lost = sum(one.lost for one in found)
    prevented = sum(one.prevented for one in found)
    means = [
        f"{np.exp(np.mean(np.log([max(getattr(one, field), 1e-12) for one in found]))):.2g}"
        for field in ("trained", "own", "forecast")
    ]
    stopped = f"{prevented / lost:.0%}" if lost else "-"
    after = [one for one in found if one.seen == one.seen]
    seen = narrow = "-"
    if after:
        seen = f"{np.mean([one.seen for one in after]):.0%}"
        narrow = f"{np.median([one.seen_high / one.seen_low for one in after]):.1f}"
    intervals = (f"{held:.0%}", f"{wide:.1f}", seen, narrow)
    values = (str(len(found)), *means, *intervals, str(likely), stopped)
    holds = held >= COVERED and not likely and prevented >= PREVENTED * lost
    return Row(name, values, "", holds)


@contextmanager
def open_differing(
    market: str, seed: int, data: Path | None = None, changes: Sequence[str] = ()
) -> Iterator[Scenario]:
    """Open the market that a kind and a seed draw: owners' rows in turn, then the public ones."""
    stated = [f"seed={seed}", *TEXT["stated"], *changes]
    if market == INSURERS:
        yield load("three_insurers", [*stated, "data.order=as_is"])
        return
    rng = Streams(seed, "reproduce").rng(market)
    if market in TABLES:
        assert data is not None
        frame, sizes, public = divide_table(data, TABLES[market], rng)
    else:
        frame, sizes = draw_owners(market, rng)
        public = PUBLIC
    stated += [f"data.split={sizes}", f"data.public_rows={public}"]
    with TemporaryDirectory() as folder:
        frame.to_csv(Path(folder) / "table.csv", index=False)
        file = Path(folder) / "table.toml"
        file.write_text(TEXT["scenario"], encoding="utf-8")
        yield load(file, stated)


def divide_table(
    folder: Path, table: dict[str, str], rng: Generator
) -> tuple[pd.DataFrame, list[int], int]:
    """Read a table whose owners are groups of a column; 1,000 rows of all are public."""
    public = 1000
    columns = [table["target"], table["by"], *table["features"].split(",")]
    frame = pd.read_csv(folder / table["file"], usecols=columns).dropna()
    frame = frame.sample(frac=1, random_state=int(rng.integers(2**31)))
    group = frame[table["by"]].astype(str).str[: int(table["letters"])]
    frame = frame.drop(columns=table["by"]).rename(columns={table["target"]: "y"})
    order = np.argsort(group.to_numpy()[public:], kind="stable")
    sizes = group.iloc[public:].value_counts().sort_index().tolist()
    return pd.concat([frame.iloc[public:].iloc[order], frame.iloc[:public]]), sizes, public


def draw_owners(kind: str, rng: Generator) -> tuple[pd.DataFrame, list[int]]:
    """Draw records of owners that differ as ``kind`` of `KINDS` says, then public ones."""
    sizes = UNEQUAL if kind == "sizes" else RECORDS
    theta = 0.4 * rng.standard_normal(WIDTH)
    shares = np.array(sizes) / sum(sizes)
    if kind == "public from one":
        shares = np.eye(len(sizes))[0]
    from_each = rng.multinomial(PUBLIC, shares)
    own = []
    public = []
    for number, (size, shown) in enumerate(zip(sizes, from_each, strict=True)):
        rows = draw_owner(kind, number, theta, size + shown, rng)
        own.append(rows[:size])
        public.append(rows[size:])
    names = [*(f"x{i}" for i in range(WIDTH)), "y"]
    return pd.DataFrame(np.concatenate(own + public), columns=names), list(sizes)


def draw_owner(kind: str, number: int, theta: Array, rows: int, rng: Generator) -> Array:
    """Draw the rows of one owner, (rows, `WIDTH` + 1), the target last."""
    x = rng.standard_normal((rows, WIDTH))
    shift = rng.normal(0, 0.6) if kind == "labels" else 0.0
    if kind == "covariates":
        x = x + rng.normal(0, 0.8, WIDTH)
    if kind == "scales":
        x = x * np.exp(rng.normal(0, 0.4, WIDTH))
    if kind in ("slopes", "public from one"):
        theta = theta + 0.3 * rng.standard_normal(WIDTH)
    if kind == "reversed" and not number:
        theta = -theta
    slopes = np.tile(theta, (rows, 1))
    if kind == "mixture" and number % 2:
        slopes[rng.random(rows) < 0.3] += 0.5 * rng.standard_normal(WIDTH)
    spread = (0.5, 1.0, 1.5, 2.5)[number] if kind == "noise" else 1.0
    y = np.sum(x * slopes, axis=1) + shift + spread * rng.standard_normal(rows)
    return np.column_stack([x, y])
