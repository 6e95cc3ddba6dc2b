"""The model in plain units: its error beside those of the models that one would compare it with.

A number's error is the root mean squared error in units of the target. That of a label is the share
of wrong labels or, under a cost matrix, what a case costs. Errors are measured on held-out rows or,
where there are none, on the owners' records.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from learning.arrays import Array
from learning.data.encoding import Encoder
from learning.forecast.decisions import Decisions
from learning.forecast.measures import RELATIVE, Measure
from learning.forecast.pooled import Pooled, PooledSums
from learning.forecast.prediction import quantiles
from learning.losses.loss import Fresh, FreshRecords, FreshSums
from scenarios.run import Run
from scenarios.summary.verdict import summarise_runs
from scenarios.tables.known import known_records

LEVEL = 0.95
RMSE = "rmse"
HELD_OUT = "held_out"
OWNERS = "owners"


def errors_part(run: Run) -> dict[str, Any]:
    """Describe the errors of the model that is bought, and of those to compare it with.

    Returns
    -------
    dict
        ``per``, the unit: rmse, wrong_label or cost; ``target`` and ``label``, its column and name;
        ``forecast``, the errors of the market's model and the learner's own before training, with
        95 % intervals, None where no law tells them; ``measured``, of `measured_part`, None
        where no record is there.
    """
    target = run.data.encoder.target.name
    measure = plain_measure(run)
    forecast = None
    if measure is not None:
        forecast = forecast_errors(run, measure)
    return {
        "per": unit_of_errors(run),
        "target": target,
        "label": run.scenario.labels.get(target),
        "forecast": forecast,
        "measured": measured_part(run, measure) if run.data.has_records else None,
    }


def unit_of_errors(run: Run) -> str:
    """Name the unit: that of the learner's value, or else rmse or wrong_label."""
    worth = run.scenario.learner.worth
    if worth is not None:
        return str(worth.per)
    return "wrong_label" if run.scenario.learning.labels else RMSE


def plain_measure(run: Run) -> Measure | None:
    """Choose the measure that forecasts errors in plain units; None where no law tells them."""
    if run.measure is not RELATIVE:
        return run.measure
    loss = run.scenario.learning.objective
    if not (loss.squares or loss.labels):
        return None
    return run.planner.measure(Decisions() if loss.labels else None)


def forecast_errors(run: Run, measure: Measure) -> dict[str, Any]:
    """Forecast the errors of the market's model and of the learner's own, with intervals."""
    forecast = run.planner.forecast
    worlds = run.prediction
    outside = trained = float(measure.own(forecast.outside))
    outside_worlds = trained_worlds = measure.own_in_worlds(worlds.outside)
    if run.asks:
        trained = float(measure(forecast.at(run.epsilon)))
        trained_worlds = measure.in_worlds(worlds.trained)
    return {
        "outside": outside,
        "outside_interval": error_interval(outside_worlds, outside),
        "trained": trained,
        "interval": error_interval(trained_worlds, trained),
    }


def error_interval(errors: Array, point: float) -> list[float]:
    """Interval of an error over possible worlds (m,), never below 0.

    It is widened to contain the point forecast, as that of relative fitness is: where a few rows
    hold most of the error, a point and worlds that are reflected may lie apart.
    """
    low, high = quantiles(errors, LEVEL)
    return [max(min(low, point), 0.0), max(high, point)]


def measured_part(run: Run, measure: Measure | None) -> dict[str, Any]:
    """Measure the errors of all models on the same rows; the simulator's privilege.

    Returns
    -------
    dict
        ``on``, held_out or owners, and ``rows``, their number; the errors of `measure_models`;
        ``every_column``, of `every_column_part`; ``cut``, the share of rows whose target counts as
        an end of its public range; ``uncut``, the errors against such targets as they are. The
        last two are None where they are not known, or nothing is cut.
    """
    data = run.data
    parts = rows_to_try(data.pooled, data.holdout, data.encoder)
    raw = uncut_rows(run, data.holdout, data.encoder)
    alternative = data.alternative
    own_parts = parts
    own_raw = raw
    if alternative is not None:
        own_parts = rows_to_try(*alternative.records, alternative.own.encoder)
        own_raw = uncut_rows(run, alternative.records[1], alternative.own.encoder)
    every = data.every
    return {
        "on": HELD_OUT if data.holdout else OWNERS,
        "rows": sum(part.n_records for part in parts) // data.n_targets,
        **measure_models(run, parts, own_parts, measure),
        "every_column": every_column_part(run),
        "cut": every and every.cut,
        "uncut": raw and own_raw and measure_models(run, raw, own_raw, measure),
    }


def rows_to_try(pooled: Pooled, fresh: Fresh | None, encoder: Encoder) -> Sequence[Any]:
    """Choose the rows that errors are measured on: those held out, or else those of the owners.

    Predicted numbers are held to the target's range, and records without a target are left out: an
    owner has filled it, and no model is to be tried on a fill. Sums allow neither.
    """
    if fresh is not None:
        return [fresh]
    if isinstance(pooled, PooledSums):
        return [FreshSums(lambda: pooled.fitness.statistics)]
    return known_records(pooled, encoder)


def uncut_rows(run: Run, fresh: Fresh | None, encoder: Encoder) -> list[FreshRecords] | None:
    """Take the held-out rows with their targets as they are; None where none of them was cut."""
    every = run.data.every
    if every is None or not every.cut or not isinstance(fresh, FreshRecords):
        return None
    if len(every.tried) != fresh.n_records:
        return None
    target = every.target[every.tried] - encoder.target.centre
    return [FreshRecords(fresh.x, target, encoder.target.ends)]


def measure_models(
    run: Run, parts: Sequence[Any], own_parts: Sequence[Any], measure: Measure | None
) -> dict[str, Any]:
    """Measure the errors of some models on all parts.

    ``own_parts`` are the same rows as the learner's own model needs them: they differ where it is
    of another kind of features.

    Returns
    -------
    dict
        ``trained``, the mean and quantiles over the trainings, None without training;
        ``handed_over``, of the first of them, the model in model.json; ``outside``, of the
        learner's own; ``constant``, one ``answer`` for every row with its ``error``;
        ``best_of_kind``, of the model that is trained on all records without noise.
    """
    outside = own_error(run, own_parts, measure)
    trained = None
    first = None
    if run.trained is not None:
        errors = run.put_own(count_errors(run, run.trained.theta, parts, measure), outside)
        trained = summarise_runs(errors)
        first = float(errors[0])
    best = float(count_errors(run, run.data.fitness.minimiser[None], parts, measure)[0])
    return {
        "trained": trained,
        "handed_over": first,
        "outside": outside,
        "constant": constant_part(run, parts),
        "best_of_kind": best,
    }


def own_error(run: Run, parts: Sequence[Any], measure: Measure | None) -> float:
    """Count the error of the learner's own model on rows encoded for it."""
    alternative = run.data.alternative
    if alternative is None:
        return float(count_errors(run, run.planner.own_model[None], parts, measure)[0])
    if run.data.loss.labels:
        return run.count_alternative(alternative.records[0].fitness, parts, measure)
    return float(count_errors(run, alternative.own.theta[None], parts, measure)[0])


def count_errors(run: Run, theta: Array, parts: Sequence[Any], measure: Measure | None) -> Array:
    """Count the error of models (k, p) on the records of all parts, (k,)."""
    loss = run.data.loss
    if loss.labels:
        assert measure is not None
        return measure.counted(theta, run.data.fitness, parts)
    counts = np.array([part.n_records for part in parts])
    squares = np.stack([part.errors(loss, theta) for part in parts], axis=1)
    return np.asarray(np.sqrt(squares @ counts / counts.sum()))


def decisions_of(run: Run) -> Decisions:
    """Costs of wrong decisions; wrong labels count alike where the learner states none."""
    worth = run.scenario.learner.worth
    return (worth and worth.decisions) or Decisions()


def constant_part(run: Run, parts: Sequence[Any]) -> dict[str, Any]:
    """Find the best answer to give for every row, and count its error on the parts.

    It is chosen on the learner's own rows, or on all records where it has none.
    """
    data = run.data
    own = [data.public] if data.public else data.owners
    shown = np.concatenate([part.y for part in own])
    labels = data.table.labels
    if labels is None:
        found = number_constant(run, float(shown.mean()), parts)
        return found if data.n_targets == 1 else found | {"answer": "the mean of each target"}
    costs = decisions_of(run).costs
    code = int(np.argmin([costs(alarmed, shown).mean() for alarmed in (0.0, 1.0)]))
    counted = np.concatenate([part.y for part in parts])
    return {"answer": str(labels[code]), "error": float(costs(float(code), counted).mean())}


def number_constant(run: Run, answer: float, parts: Sequence[Any]) -> dict[str, Any]:
    """Count the root mean squared error of one number, in coded units, for every row."""
    data = run.data
    total = 0.0
    for part in parts:
        if isinstance(part, FreshSums):
            sums = part.told()
            mean = float(sums.xy[-1]) / sums.n_records
            total += sums.yy + sums.n_records * (answer**2 - 2 * answer * mean)
        else:
            total += float(((part.y - answer) ** 2).sum())
    count = sum(part.n_records for part in parts)
    answer += data.encoder.target.centre
    return {"answer": answer, "error": float(np.sqrt(total / count))}


def every_column_part(run: Run) -> dict[str, Any] | None:
    """Count the error of another kind of model, fitted to all columns without noise.

    None where the table is read in parts.

    Returns
    -------
    dict
        ``error``; ``rows``, those that it was tried on and not fitted to; ``columns``, the number
        that it looks at; ``left_out``, those of them that the market does not use.
    """
    every = run.data.every
    if every is None:
        return None
    scores, target = every.predicted
    used = {*run.data.table.features} - {*run.data.encoder.dropped}
    if run.data.loss.labels:
        decisions = decisions_of(run)
        alarmed = scores >= np.log(decisions.false_alarm / decisions.miss)
        error = float(decisions.costs(alarmed, target).mean())
    else:
        error = float(np.sqrt(((scores - target) ** 2).mean()))
    return {
        "error": error,
        "rows": len(target),
        "columns": every.n_columns,
        "left_out": [name for name in every.columns if name not in used],
    }
