"""Calibration of the forecasts: markets settled and trained under many seeds.

A 95 % interval should hold the truth nineteen times in twenty, and of events with a chance of 80 %
about four in five should happen. Every seed shuffles the rows, so that the learner's own rows
differ, settles the market, forecasts, and trains. Seeds are fresh: nothing was chosen or fitted on
them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib
import numpy as np
import scipy

from learning.errors import InputError
from learning.progress import Progress
from learning.randomness import Streams
from learning.threads import one_blas_thread
from reproduction.study import (
    TEXTS,
    Options,
    Row,
    Study,
    check_table_path,
    complete_rows,
    stated_changes,
)
from scenarios.output.unfinished import put_file
from scenarios.planning import prepare
from scenarios.report.figure_page import (
    BAND,
    INK,
    MUTED,
    PALETTE,
    STYLE,
    add_panel,
    new_page,
    svg_text,
)
from scenarios.run import Run
from scenarios.runner import carry_out
from scenarios.schema.data import PUBLISHED
from scenarios.schema.loading import load
from scenarios.schema.scenario import Scenario
from scenarios.summary.verdict import chance_above, forecast_agrees, summarise_runs
from scenarios.tables.paths import table_exists

GENERATED = "generated"
MARKET_TEXT = TEXTS["outcome"]


@dataclass(frozen=True)
class Outcome:
    """Forecast and outcome; fitness is relative to the best model on the pooled records.

    Parameters
    ----------
    market: name; a library market with another number of public rows is "name,rows".
    seed: seed of the order of the rows, so that the public ones differ, and of the noise.
    forecast, low, high: forecast of the trained model and its 95 % interval.
    trained: mean over the trainings.
    agrees: True where that lies in the interval, widened by three standard errors.
    own_low, own_high: 95 % interval of the learner's own model.
    own: its true relative fitness.
    chance_pays: forecast chance that the learner gains.
    gain: mean gain over the trainings, in money.
    rank: forecast chance of gaining no more than that.
    """

    market: str
    seed: int
    forecast: float
    low: float
    high: float
    trained: float
    agrees: bool
    own_low: float
    own_high: float
    own: float
    chance_pays: float
    gain: float
    rank: float


@one_blas_thread()
def measure_market(market: str, seed: int, data: Path | None) -> Outcome:
    """Settle a market, forecast, train, and compare."""
    with open_scenario(market, seed, data) as scenario:
        prepared = prepare(scenario)
    return compare_run(market, carry_out(scenario, prepared, others=False))


def compare_run(market: str, run: Run) -> Outcome:
    """Compare the forecast of a run with its outcome."""
    assert run.trained is not None
    prediction = run.prediction
    fitness = run.data.fitness
    trained = summarise_runs(fitness.relative(run.trained.theta))
    own = float(fitness.relative(run.planner.own_model))
    paid = float(run.game.payments(run.epsilon).sum())
    worlds = prediction.gain(run.game.value, paid)
    gain = run.game.value * (own - trained["mean"]) - paid
    return Outcome(
        market,
        run.scenario.seed,
        run.planner.forecast.at(run.epsilon),
        *prediction.interval(),
        trained["mean"],
        forecast_agrees(trained, prediction.interval()),
        *prediction.outside_interval(),
        own,
        chance_above(worlds),
        gain,
        float(np.mean(worlds < gain) + np.mean(worlds == gain) / 2),
    )


@contextmanager
def open_scenario(market: str, seed: int, data: Path | None) -> Iterator[Scenario]:
    """Open a library market or the generated one under a seed, with few starts and trainings."""
    name, _, rows = market.partition(",")
    changes = [*stated_changes(name, seed), *MARKET_TEXT["quick"]]
    if market != GENERATED:
        if rows:
            changes.append(f"data.public_rows={int(rows)}")
        yield load(name, changes, data_folder=data)
        return
    with TemporaryDirectory() as folder:
        _write_table(Path(folder) / "generated.csv", seed)
        file = Path(folder) / "generated.toml"
        file.write_text(MARKET_TEXT["scenario"], encoding="utf-8")
        yield load(file, changes)


def _write_table(path: Path, seed: int) -> None:
    """Write a population: skewed inputs of unlike weight, errors of Student's t (4)."""
    rng = Streams(seed, "reproduce").rng(GENERATED)
    width = MARKET_TEXT["columns"]
    x = rng.lognormal(sigma=0.5, size=(3 * MARKET_TEXT["owner"] + MARKET_TEXT["public"], width))
    y = np.clip(x @ rng.normal(size=width) / 2 + rng.standard_t(4, size=len(x)), -10, 10)
    header = ",".join([*(f"x{i}" for i in range(width)), "y"])
    np.savetxt(path, np.column_stack([x, y]), "%.6g", ",", header=header, comments="")


TEXT = TEXTS["calibration"]
MARKETS = tuple(TEXT["markets"])
FEW_ROWS = tuple(TEXT["few_rows"])
KEPT = "calibration.csv"
DRAWN = "calibration.svg"
FIRST_SEED = 1001
LIKELY = 0.8  # chance of the events that are counted
COVERED = 0.9  # coverage of 95 % intervals, at least
HAPPENS = (0.7, 0.9)  # frequency of such events
COLUMNS = ("seeds", "model", "own model", "gain", "gains more", "gains less", "to pay", "paid")
BAD_CASES = 12
DASHES = ("-", "--", ":", "-.")


def run_calibration(options: Options, progress: Progress) -> Study:
    """Measure coverage and calibration in each market; outcomes on disk are not computed again.

    Parameters
    ----------
    options : folder of the data sets, folder of the table, seeds of each market, and processes.
    progress : called with the name of the stage, and the share of it that is done.
    """
    check_outcomes(options.out)
    kept = options.out / KEPT
    names = (*MARKETS, *FEW_ROWS)
    lacking = {name: file for name in names if (file := _lacking_file(name, options)) is not None}
    markets = [name for name in names if name not in lacking]
    notes = [
        f"{name} skipped: give the folder that holds {file} with --data"
        for name, file in sorted(lacking.items())
    ]
    asked = [(name, FIRST_SEED + i) for i in range(options.seeds) for name in markets]
    stage = (progress, f"settling and training {len(asked):,} markets")
    found = complete_rows(_measure_one, asked, options, (KEPT, Outcome), stage)
    drawn = draw_calibration([one for one in found if one.market in MARKETS])
    put_file(options.out / DRAWN, drawn)
    low, high = HAPPENS
    facts = {"covered": COVERED, "likely": LIKELY, "low": low, "high": high, "kept": kept}
    facts |= {"figure": kept.with_suffix(".svg")}
    explained = [note.format(**facts) for note in TEXT["notes"]]
    rows = [_make_row(name, [one for one in found if one.market == name]) for name in markets]
    return Study(
        TEXT["title"],
        COLUMNS,
        (*rows, _make_row("all", found)),
        (*explained, *_list_misses(found), *notes),
    )


def check_outcomes(out: Path) -> None:
    """Refuse a folder that cannot be written to, or with files of these names by others.

    Raises
    ------
    InputError
    """
    table = check_table_path(out, KEPT, Outcome)
    if table and not table.is_file() and os.path.lexists(table.with_name(DRAWN)):
        rule = "must be a new folder or one that holds earlier outcomes"
        raise InputError("--out", rule, f"{DRAWN} without {KEPT} in {out}", "Name another one.")


def _lacking_file(market: str, options: Options) -> str | None:
    """Published table that a market lacks; None where it can be computed."""
    if market == GENERATED:
        return None
    scenario = load(market.partition(",")[0], data_folder=options.data)
    if table_exists(scenario):
        return None
    return PUBLISHED.get(str(scenario.data.source), "")


def _measure_one(market: str, seed: int, data: Path | None) -> list[Outcome]:
    """Measure the outcome of one market and seed."""
    return [measure_market(market, seed, data)]


def _make_row(name: str, found: Sequence[Outcome]) -> Row:
    """Make the row of one market: its shares, and whether they are as they should be."""
    rank = np.array([one.rank for one in found])
    columns = (
        [one.agrees for one in found],
        [one.own_low <= one.own <= one.own_high for one in found],
        abs(rank - 0.5) <= 0.45,
        rank > 1 - LIKELY,
        rank < LIKELY,
        [one.chance_pays for one in found],
        [one.gain > 0 for one in found],
    )
    shares = [float(np.mean(column)) for column in columns]
    happens = all(HAPPENS[0] <= share <= HAPPENS[1] for share in shares[3:5])
    texts = (str(len(found)), *(f"{share:.0%}" for share in shares))
    return Row(name, texts, "", min(shares[:2]) >= COVERED and happens)


def _list_misses(found: Sequence[Outcome]) -> list[str]:
    """List the worst misses, by the factor between interval and truth, and unexpected losses."""
    missed = [one for one in found if not one.agrees]
    missed.sort(key=lambda one: -max(one.trained / one.high, one.low / one.trained))
    lost = [one for one in found if one.gain < 0 and one.chance_pays > LIKELY]
    lost.sort(key=lambda one: one.gain)
    notes = [TEXT["missed"].format(one) for one in missed[:BAD_CASES]]
    notes += [TEXT["lost"].format(one) for one in lost[:BAD_CASES]]
    rest = len(missed[BAD_CASES:]) + len(lost[BAD_CASES:])
    worse = sum(one.trained > one.own for one in found)
    return [
        *notes,
        f"{rest} more in the file." if rest else "",
        f"Trained models worse than the learner's own: {worse} of {len(found)}.",
    ]


def draw_calibration(found: Sequence[Outcome]) -> str:
    """Draw a reliability diagram as SVG: a line for each market, the diagonal, and a 90 % band."""
    names = list(dict.fromkeys(one.market for one in found))
    count = min(sum(one.market == name for one in found) for name in names)
    chance = np.linspace(0, 1, 101)
    words = TEXT["figure"]
    with matplotlib.rc_context(STYLE):
        figure = new_page(4.3, words["title"], words["note"].format(count=count))
        axes = add_panel(figure, 0.7, 0.65, 3.1, 3.1)
        ends = (scipy.stats.binom.ppf(end, count, chance) / count for end in (0.05, 0.95))
        axes.fill_between(chance, *ends, color=BAND, lw=0)
        axes.plot([0, 1], [0, 1], color=MUTED, lw=0.8)
        for number, name in enumerate(names):
            ranks = np.sort([one.rank for one in found if one.market == name])
            below = np.searchsorted(ranks, chance, side="right") / len(ranks)
            colour = PALETTE[number % len(PALETTE)]
            dash = DASHES[number // len(PALETTE) % len(DASHES)]
            axes.step(chance, below, where="post", lw=1.4, label=name, color=colour, ls=dash)
        axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="chance called", ylabel="share that came true")
        handles = axes.get_legend_handles_labels()
        place = (0.56, 0.82)
        figure.legend(*handles, loc="upper left", bbox_to_anchor=place, frameon=False)
        figure.text(0.575, 0.24, words["shaded"], color=INK, fontsize=8)
        return svg_text(figure)
