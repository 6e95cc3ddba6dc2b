"""Errors in the learner's terms, and how much privacy was worth buying of each owner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from learning.arrays import Array
from learning.errors import InputError
from learning.forecast.fitness import epsilon_worth
from learning.forecast.measures import RELATIVE
from learning.forecast.prediction import quantiles
from learning.losses.loss import Fresh, Loss
from market.game.game import Game
from scenarios.features import FEATURES
from scenarios.planning import prepare
from scenarios.run import Run
from scenarios.schema.kinds import make_declared
from scenarios.schema.scenario import Scenario
from scenarios.settling.game import market_game
from scenarios.summary.errors import forecast_errors
from scenarios.summary.verdict import STANDARD_ERRORS, summarise_runs
from scenarios.tables.dataset import MarketData
from scenarios.user_policy import is_written

LEVEL = 0.95
WITHIN = 1.01  # of the budget worth buying: up to here an owner sells no more than that


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
    target = run.data.table.target_name
    return worth.model_dump() | {
        "target": target,
        "label": run.scenario.labels.get(target),
        "law": "exact" if worth.decisions is None else "rehearsed",
        "basis": run.planner.forecast.basis,
        **forecast_errors(run, measure),
        "constant": constant_part(run),
    }


def checked_terms_part(run: Run, outside: float) -> dict[str, Any] | None:
    """Errors in the learner's terms, measured on all records; None where relative fitness counts.

    They are compared with the translation of relative fitness into these terms, read at the fitness
    that was measured: it held if the error fell by as much as that says.

    Parameters
    ----------
    outside: relative fitness of the learner's own model, measured.
    """
    if run.measure is RELATIVE:
        return None
    errors = summarise_runs(run.errors)
    low = high = 0.0
    held = None
    if run.asks:
        worlds = np.ones(len(run.prediction.outside))
        before = run.measure.own_in_worlds(outside * worlds)
        low, high = quantiles(before - run.measure.in_worlds(run.fitness.mean() * worlds), LEVEL)
        fell = run.own_error - errors["mean"]
        slack = STANDARD_ERRORS * errors["std_error"]
        held = bool(low - slack <= fell <= high + slack)
    return {
        "trained": errors,
        "outside": run.own_error,
        "translated": [low, high],
        "translation_held": held,
        "constant": constant_part(run, run.data.known),
    }


@dataclass(frozen=True)
class FreshCost:
    """The error of models on fresh rows, as a training cost without a charge.

    The best model for these rows is not known.
    """

    fresh: Fresh
    loss: Loss

    def value(self, theta: Array) -> Array:
        """The error of each model (k, p), (k,)."""
        return self.fresh.errors(self.loss, theta)

    def relative(self, theta: Array) -> Array:
        """Refuse: relative fitness takes the best model."""
        raise TypeError("fresh rows have no best model")


def fresh_terms_part(run: Run, fresh: Any) -> dict[str, Any]:
    """Errors on held-out rows: models handed over, the learner's own, and a constant."""
    cost: Any = FreshCost(fresh, run.scenario.learning.objective)
    errors = run.measure.counted(run.theta, cost, [fresh])
    own = run.measure.counted(run.planner.own_model[None], cost, [fresh])
    found: dict[str, Any] = {"trained": float(errors.mean()), "outside": float(own[0])}
    alternative = run.data.alternative
    if alternative is not None:
        held = alternative.records[1]
        assert held is not None
        cost = FreshCost(held, run.scenario.learning.objective)
        found["outside"] = run.count_alternative(cost, [held])
        found["trained"] = float(run.put_own(errors, found["outside"]).mean())
    return found | {"constant": constant_part(run, [fresh])}


def constant_part(run: Run, parts: Sequence[Any] | None = None) -> dict[str, Any] | None:
    """Count what a case costs where every case is given the same label.

    The label is the one that costs least on the learner's own rows, or on all records where it has
    none. The result is None where the target is a number.

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
    own = [run.data.public] if run.data.public else run.data.owners
    shown, counted = (np.concatenate([part.y for part in rows]) for rows in (own, parts or own))
    code = int(np.argmin([worth.decisions.costs(alarmed, shown).mean() for alarmed in (0.0, 1.0)]))
    return {
        "label": str(labels[code]),
        "cost": float(worth.decisions.costs(float(code), counted).mean()),
    }


def worth_columns(run: Run) -> dict[str, Array]:
    """Budget of each owner that is worth buying, and money paid beyond it.

    With several learners there is no such budget (NaN), since each buys by its own forecast.
    """
    count = len(run.game.owners)
    if run.contest is not None:
        return {"epsilon_worth": np.full(count, np.nan), "paid_past_worth": np.zeros(count)}
    worth = epsilon_worth(run.planner.forecast, run.epsilon)
    return {"epsilon_worth": worth, "paid_past_worth": paid_past(run.game, run.epsilon, worth)}


def paid_past(game: Game, epsilon: Array, worth: Array) -> Array:
    """Money paid beyond the budgets that are worth buying, (n_owners,).

    Parameters
    ----------
    epsilon : array (n_owners,), where owners stand.
    worth : array (n_owners,), what is worth buying of each; nan or inf where there is no such
        budget.
    """
    past = np.flatnonzero(epsilon > WITHIN * worth)
    paid = np.zeros(len(epsilon))
    if past.size:
        offered = np.column_stack([epsilon, worth])[past]
        here, there = game.deviations(epsilon, past).payments(offered).T
        paid[past] = np.maximum(here - there, 0.0)
    return paid


def past_worth_part(run: Run) -> dict[str, Any]:
    """Owners of a run who sell more than is worth buying, as `part_of`."""
    known = run.scenario.learner.knows_value
    return part_of(run.game, run.epsilon, worth_columns(run)["epsilon_worth"], known=known)


def part_of(game: Game, epsilon: Array, worth: Array, *, known: bool) -> dict[str, Any]:
    """Owners who sell more than is worth buying, and the cost and gain of that, money.

    Parameters
    ----------
    epsilon, worth : as of `paid_past`.
    known : whether the worth of a better model is known; else the gain is None.
    """
    past = epsilon > WITHIN * worth
    gain: float | None = 0.0
    if not known:
        gain = None
    elif past.any():
        enough = np.where(past, worth, epsilon)
        gain = game.value * (game.fitness(enough) - game.fitness(epsilon))
    return {
        "owners": int(past.sum()),
        "payments": float(paid_past(game, epsilon, worth).sum()),
        "gain": gain,
    }


def past_worth_ahead(scenario: Scenario, data: MarketData) -> dict[str, Any] | None:
    """Owners who will sell more than is worth buying, before a run; None where only a run shows it.

    Where an owner is paid for its own choice alone and does not use the model, its best response to
    anything is what it will sell; and the exact law takes a moment to say what is worth buying.

    Returns
    -------
    dict
        ``owners`` with name, epsilon and epsilon_worth, and ``past_worth``, as results have them.
    """
    alone = "behaviours", "learners", "unions", "time", "externalities"
    features = *alone, "pricing", "bargaining"
    others = any(FEATURES[name].is_used(scenario) for name in features)
    learning = scenario.learning
    if others or scenario.owners.wants_model or is_written(scenario):
        return None
    if learning.opened or not learning.by_law:
        return None
    if not make_declared(scenario.policy).own_choice:
        return None
    try:
        planner = prepare(scenario, data).planner
    except InputError:  # told by the run
        return None
    game = market_game(scenario, data, planner)
    epsilon = game.best_responses(planner.inputs.owners.reference)
    worth = epsilon_worth(planner.forecast, epsilon)
    past = epsilon > WITHIN * worth
    names = np.array(data.names, dtype=object)[past]
    rows = zip(names, epsilon[past].tolist(), worth[past].tolist(), strict=True)
    return {
        "owners": [
            {"name": name, "epsilon": at, "epsilon_worth": enough} for name, at, enough in rows
        ],
        "past_worth": part_of(game, epsilon, worth, known=scenario.learner.knows_value),
    }
