"""One market under one seed: what the learner was told before training, and what came of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from learning.randomness import Streams
from learning.threads import one_blas_thread
from scenarios.planning import prepare
from scenarios.run import Run
from scenarios.runner import carry_out
from scenarios.schema.loading import Scenario, load
from scenarios.summary.gain import chance_above
from scenarios.summary.verdict import agrees, summary

GENERATED = "generated"
QUICK = ("market.starts=2", "validation.runs=60")
COLUMNS, OWNER, PUBLIC = 6, 1000, 200  # of the generated table; records of each owner and of the learner
SCENARIO = f"""
title = "Generated"
[data]
path = "generated.csv"
target = "y"
split = [{OWNER}, {OWNER}, {OWNER}]
public_rows = {PUBLIC}
[data.bounds]
y = [-10, 10]
[owners]
epsilon = [0.1, 10.0]
[owners.cost]
kind = "linear"
price = [20.0, 30.0, 40.0]
[policy]
kind = "proportional"
budget = 300.0
[learner]
value = 20000.0
"""


@dataclass(frozen=True)
class Outcome:
    """Promises and what came true; fitness is relative to the best model on the pooled records.

    Parameters
    ----------
    market: its name; one of the library with another number of public rows is "name,rows".
    seed: which shuffles the rows, so that the public ones are others, and draws the noise.
    forecast, low, high: forecast of the trained model and its 95 % interval.
    trained: mean over the trainings.
    agrees: whether that lies in the interval, widened by three standard errors.
    own_low, own_high: 95 % interval of the learner's own model.
    own: its relative fitness in truth.
    chance_pays: chance that the learner gains, as told before training.
    gain: what it gained, on average over the trainings, in money.
    rank: chance of gaining no more than that, as told before training.
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
def outcome(market: str, seed: int, data: Path | None) -> Outcome:
    """Settle a market, forecast, train, and compare."""
    with _scenario(market, seed, data) as scenario:
        prepared = prepare(scenario)
    return compared(market, carry_out(scenario, prepared, others=False))


def compared(market: str, run: Run) -> Outcome:
    """The promise of a run beside what came true."""
    assert run.trained is not None
    told, fitness = run.prediction, run.data.fitness
    trained = summary(fitness.relative(run.trained.theta))
    own, paid = float(fitness.relative(run.planner.own_model)), float(run.game.payments(run.epsilon).sum())
    worlds, gain = told.gain(run.game.value, paid), run.game.value * (own - trained["mean"]) - paid
    return Outcome(
        market,
        run.scenario.seed,
        run.planner.forecast.at(run.epsilon),
        *told.interval(),
        trained["mean"],
        agrees(trained, told.interval()),
        *told.outside_interval(),
        own,
        chance_above(worlds),
        gain,
        float(np.mean(worlds < gain) + np.mean(worlds == gain) / 2),
    )


@contextmanager
def _scenario(market: str, seed: int, data: Path | None) -> Iterator[Scenario]:
    """A market of the library, or the generated one, under another seed; few starts and trainings are enough here."""
    changes = [f"seed={seed}", *QUICK]
    if market != GENERATED:
        name, _, rows = market.partition(",")
        yield load(name, [*changes, *([f"data.public_rows={int(rows)}"] if rows else [])], data_folder=data)
        return
    with TemporaryDirectory() as folder:
        _write_table(Path(folder) / "generated.csv", seed)
        (Path(folder) / "generated.toml").write_text(SCENARIO)
        yield load(Path(folder) / "generated.toml", changes)


def _write_table(path: Path, seed: int) -> None:
    """Another population for each seed: skewed inputs of unlike weight, and errors with the tails of Student's t (4)."""
    rng = Streams(seed, "reproduce").rng(GENERATED)
    x = rng.lognormal(sigma=0.5, size=(3 * OWNER + PUBLIC, COLUMNS))
    y = np.clip(x @ rng.normal(size=COLUMNS) / 2 + rng.standard_t(4, size=len(x)), -10, 10)
    header = ",".join([*(f"x{i}" for i in range(COLUMNS)), "y"])
    np.savetxt(path, np.column_stack([x, y]), "%.6g", ",", header=header, comments="")
