"""How much privacy was worth buying of each owner, and what is paid for more."""

from __future__ import annotations

from typing import Any

import numpy as np

from learning.arrays import Array
from learning.errors import InputError
from learning.forecast.fitness import epsilon_worth
from market.game.game import Game
from scenarios.planning import prepare
from scenarios.run import Run
from scenarios.schema.kinds import make_declared
from scenarios.schema.scenario import Scenario
from scenarios.settling.game import market_game
from scenarios.tables.dataset import MarketData
from scenarios.user_policy import is_written

WITHIN = 1.01  # of the budget worth buying: up to here an owner sells no more than that


def worth_columns(run: Run) -> dict[str, Array]:
    """Budget of each owner that is worth buying, and money paid beyond it.

    Where several learners buy, each by its own forecast, there is no such budget of an owner.
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
    """Owners who sell more than is worth buying, and the cost and gain of that, money."""
    return part_of(run.game, run.epsilon, worth_columns(run)["epsilon_worth"])


def part_of(game: Game, epsilon: Array, worth: Array) -> dict[str, Any]:
    """The same at given budgets (n_owners,), of which so much is worth buying (n_owners,)."""
    past = epsilon > WITHIN * worth
    enough = np.where(past, worth, epsilon)
    gain = game.value * (game.fitness(enough) - game.fitness(epsilon)) if past.any() else 0.0
    return {
        "owners": int(past.sum()),
        "payments": float(paid_past(game, epsilon, worth).sum()),
        "gain": gain,
    }


def past_worth_ahead(scenario: Scenario, data: MarketData) -> dict[str, Any] | None:
    """The same before a run; None where only a run shows what owners will sell.

    Told where payments are for an owner's own choice alone, it does not use the model, and the
    exact law tells in a moment what is worth buying: its best response to anything is what it will
    sell.

    Returns
    -------
    dict
        ``owners`` with name, epsilon and epsilon_worth, and ``past_worth``, as results have them.
    """
    others = (
        scenario.behaviours
        or scenario.learners
        or scenario.unions
        or scenario.time
        or scenario.externalities
    )
    learning = scenario.learning
    moved = scenario.owners.wants_model or scenario.learner.pricing is not None
    if others or moved or is_written(scenario) or learning.opened or not learning.by_law:
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
        "past_worth": part_of(game, epsilon, worth),
    }
