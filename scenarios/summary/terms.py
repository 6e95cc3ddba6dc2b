"""Errors in the terms of the learner's value, forecast and measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from learning.arrays import Array
from learning.forecast.measures import RELATIVE
from learning.forecast.prediction import quantiles
from learning.losses.loss import Fresh, Loss
from learning.training.engine import Trained
from scenarios.run import Run
from scenarios.summary.verdict import STANDARD_ERRORS, summarise_runs

LEVEL = 0.95


def terms_part(run: Run) -> dict[str, Any] | None:
    """Forecast errors in the learner's terms; None where relative fitness counts.

    Returns
    -------
    dict
        What a unit is, ``per`` with the keys of learner.value; ``law``, how relative fitness is
        told in it: exact, or rehearsed on rows of a ``basis``; ``trained`` and ``outside``, in
        units of the target, as the share of wrong labels, or as money that a case costs; and an
        interval of each.
    """
    worth = run.scenario.learner.worth
    measure = run.measure
    if worth is None:
        return None
    told = run.prediction
    forecast = run.planner.forecast
    target = run.data.table.target_name
    return worth.model_dump() | {
        "target": target,
        "label": run.scenario.labels.get(target),
        "law": "exact" if worth.decisions is None else "rehearsed",
        "basis": forecast.basis,
        "outside": float(measure.own(forecast.outside)),
        "outside_interval": error_interval(measure.own_in_worlds(told.outside)),
        "trained": float(
            measure(forecast.at(run.epsilon)) if run.asks else measure.own(forecast.outside)
        ),
        "interval": error_interval(
            measure.in_worlds(told.trained) if run.asks else measure.own_in_worlds(told.outside)
        ),
        "constant": constant_part(run),
    }


def error_interval(errors: Array) -> list[float]:
    """Interval of an error over possible worlds (m,); never below 0."""
    return [max(end, 0.0) for end in quantiles(errors, LEVEL)]


def checked_terms_part(run: Run, outside: float) -> dict[str, Any] | None:
    """The same as measured on all records.

    And whether the translation held: what the error fell by against what it says.

    Its own part is taken: the curve is read at the relative fitness that was measured, not at that
    forecast.

    Parameters
    ----------
    outside: relative fitness of the learner's own model, measured.
    """
    if run.measure is RELATIVE:
        return None
    errors = summarise_runs(run.errors)
    mean = np.full(len(run.prediction.outside), run.fitness.mean())
    possible = run.measure.own_in_worlds(np.full(len(mean), outside)) - run.measure.in_worlds(mean)
    low, high = quantiles(possible, LEVEL) if run.asks else (0.0, 0.0)
    fell = run.own_error - errors["mean"]
    slack = STANDARD_ERRORS * errors["std_error"]
    return {
        "trained": errors,
        "outside": run.own_error,
        "translated": [low, high],
        "translation_held": bool(low - slack <= fell <= high + slack) if run.asks else None,
        "constant": constant_part(run, run.data.owners),
    }


@dataclass(frozen=True)
class FreshCost:
    """The error of models on fresh rows, as a training cost without a charge; what would be the
    best there is not known."""

    fresh: Fresh
    loss: Loss

    def value(self, theta: Array) -> Array:
        """The error of each model (k, p), (k,)."""
        return np.array([self.fresh.error(self.loss, one[None]) for one in theta])

    def relative(self, theta: Array) -> Array:
        """Not asked for."""
        raise TypeError("fresh rows have no best model")


def fresh_terms_part(run: Run, trained: Trained, fresh: Any) -> dict[str, Any]:
    """Errors on held-out rows: trained models, the learner's own, and a constant."""
    cost: Any = FreshCost(fresh, run.scenario.learning.objective)
    made = {"trained": trained.theta, "outside": run.planner.own_model[None]}
    found: dict[str, Any] = {
        who: float(run.measure.counted(theta, cost, [fresh]).mean()) for who, theta in made.items()
    }
    return found | {"constant": constant_part(run, [fresh])}


def constant_part(run: Run, parts: Sequence[Any] | None = None) -> dict[str, Any] | None:
    """Count what a case costs where every case is given the same label.

    None where the target is a number.

    The label is the one that costs least on the learner's own rows, or on all records where it has
    none.

    Parameters
    ----------
    parts : rows to count it on; those that the label is chosen by unless given.

    Returns
    -------
    dict
        The ``label``, and ``cost``: a share of wrong labels, or money that a case costs.
    """
    worth = run.scenario.learner.worth
    labels = run.data.table.labels
    if worth is None or worth.decisions is None or labels is None:
        return None
    own = run.data.owners if run.data.public is None else [run.data.public]
    shown, counted = (
        np.concatenate([part.y for part in rows]) for rows in (own, own if parts is None else parts)
    )
    code = int(np.argmin([worth.decisions.costs(alarmed, shown).mean() for alarmed in (0.0, 1.0)]))
    return {
        "label": str(labels[code]),
        "cost": float(worth.decisions.costs(float(code), counted).mean()),
    }
