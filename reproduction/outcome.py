"""One market under one seed: the forecast before training, and the outcome of training."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from learning.randomness import Streams
from learning.threads import one_blas_thread
from reproduction.study import TEXTS
from scenarios.planning import prepare
from scenarios.run import Run
from scenarios.runner import carry_out
from scenarios.schema.loading import load
from scenarios.schema.scenario import Scenario
from scenarios.summary.verdict import chance_above, forecast_agrees, summarise_runs

GENERATED = "generated"
TEXT = TEXTS["outcome"]


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
    changes = [f"seed={seed}", *TEXT["quick"]]
    if market != GENERATED:
        name, _, rows = market.partition(",")
        if rows:
            changes.append(f"data.public_rows={int(rows)}")
        yield load(name, changes, data_folder=data)
        return
    with TemporaryDirectory() as folder:
        _write_table(Path(folder) / "generated.csv", seed)
        file = Path(folder) / "generated.toml"
        file.write_text(TEXT["scenario"])
        yield load(file, changes)


def _write_table(path: Path, seed: int) -> None:
    """Write a population: skewed inputs of unlike weight, errors of Student's t (4)."""
    rng = Streams(seed, "reproduce").rng(GENERATED)
    width = TEXT["columns"]
    x = rng.lognormal(sigma=0.5, size=(3 * TEXT["owner"] + TEXT["public"], width))
    y = np.clip(x @ rng.normal(size=width) / 2 + rng.standard_t(4, size=len(x)), -10, 10)
    header = ",".join([*(f"x{i}" for i in range(width)), "y"])
    np.savetxt(path, np.column_stack([x, y]), "%.6g", ",", header=header, comments="")
