"""How much privacy was worth buying of each owner, and what is paid for more."""

from __future__ import annotations

from typing import Any

import numpy as np

from learning.arrays import Array
from learning.forecast.worth import epsilon_worth
from market.game.game import Game
from scenarios.run import Run

WITHIN = 1.01  # of the budget worth buying: up to here an owner sells no more than that


def worth_columns(run: Run) -> dict[str, Array]:
    """The budget of each owner beyond which its noise hardly matters, and the money paid for what it sells beyond.

    Where several learners buy, each by its own forecast, there is no such budget of an owner.
    """
    count = len(run.game.owners)
    if run.contest is not None:
        return {"epsilon_worth": np.full(count, np.nan), "paid_past_worth": np.zeros(count)}
    worth = epsilon_worth(run.planner.forecast, run.epsilon)
    return {"epsilon_worth": worth, "paid_past_worth": paid_past(run.game, run.epsilon, worth)}


def paid_past(game: Game, epsilon: Array, worth: Array) -> Array:
    """What owners are paid more than if each alone sold what is worth buying (n_owners,), money; 0 of who sells no more.

    Parameters
    ----------
    epsilon : array (n_owners,), where owners stand.
    worth : array (n_owners,), what is worth buying of each; nan or inf where there is no such budget.
    """
    past = np.flatnonzero(epsilon > WITHIN * worth)
    paid = np.zeros(len(epsilon))
    if past.size:
        offered = np.column_stack([epsilon, worth])[past]
        here, there = game.deviations(epsilon, past).payments(offered).T
        paid[past] = np.maximum(here - there, 0.0)
    return paid


def past_worth_part(run: Run) -> dict[str, Any]:
    """How many owners sell more than is worth buying, what the learner pays for that, and what it gains by it, money."""
    columns, epsilon, game = worth_columns(run), run.epsilon, run.game
    past = epsilon > WITHIN * columns["epsilon_worth"]
    enough = np.where(past, columns["epsilon_worth"], epsilon)
    gain = game.value * (game.fitness(enough) - game.fitness(epsilon)) if past.any() else 0.0
    return {"owners": int(past.sum()), "payments": float(columns["paid_past_worth"].sum()), "gain": gain}
