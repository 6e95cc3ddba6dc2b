"""Owners whom the learner asks: what each adds to its gain, and who is better left out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from learning.forecast.weighting import best_coalition
from learning.randomness import Streams
from market.analysis.welfare import learner_surplus
from market.equilibrium.following import solve_quickly
from market.game.game import Game
from scenarios.planning import Prepared
from scenarios.schema.loading import change_scenario
from scenarios.schema.scenario import Scenario
from scenarios.settling.game import market_game
from scenarios.studies.attitude import Alternative
from scenarios.studies.money import with_best_money

EACH = 30  # owners up to which each is tried without


@dataclass(frozen=True)
class Joining:
    """Gain that asking one owner adds, the others asked as chosen; infinite where not tried."""

    name: str
    adds: float
    joins: bool


def list_joining(scenario: Scenario, prepared: Prepared) -> tuple[Joining, ...]:
    """List what asking each owner adds, the others of a scenario asked."""
    whole = market_game(scenario, *prepared)
    asked = whole.owners.epsilon_max > 0
    epsilon = settle_owners(whole, scenario.seed)
    gain, changed = gains_by_change(whole, asked, epsilon, scenario.seed)
    adds = np.where(asked, gain - changed, np.inf)
    rows = zip(prepared.data.names, adds.tolist(), asked.tolist(), strict=True)
    return tuple(Joining(*row) for row in rows)


def adds_data(sizes: np.ndarray, epsilon: np.ndarray) -> np.ndarray:
    """Test which owners (n_owners,) add more data than noise."""
    return np.asarray(best_coalition(sizes, 1 / np.maximum(epsilon, 1e-12) ** 2))


def restrict_owners(scenario: Scenario, prepared: Prepared, asked: np.ndarray) -> Scenario:
    """Let only some owners of a scenario share."""
    owners = ask_only(market_game(scenario, *prepared), asked).owners
    return bound_sales(scenario, owners.epsilon_min, owners.epsilon_max)


def bound_sales(scenario: Scenario, least: np.ndarray, most: np.ndarray) -> Scenario:
    """Let owners sell so much (n_owners,)."""
    return change_scenario(scenario, [f"owners.epsilon={np.column_stack([least, most]).tolist()}"])


def choose_owners(
    best: Alternative, prepared: Prepared, budget: float, worth: float
) -> tuple[Scenario, tuple[Joining, ...]]:
    """Leave out owners who are better not asked, or take one back, one at a time.

    It ends where no change of a single owner brings the learner more. The money is then set anew.

    Parameters
    ----------
    worth : a gain below this is none.
    """
    whole = market_game(best.scenario, *prepared)
    names = prepared.data.names
    able = whole.owners.epsilon_max > 0
    asked = able.copy()
    epsilon = best.epsilon
    gain, changed_gains = gains_by_change(whole, asked, epsilon, best.scenario.seed)
    while (changed_gains - gain).max() > worth:
        at = int(np.argmax(changed_gains - gain))
        asked[at] = not asked[at]
        epsilon = settle_owners(ask_only(whole, asked), best.scenario.seed)
        gain, changed_gains = gains_by_change(whole, asked, epsilon, best.scenario.seed)
    adds = np.where(asked, 1, -1) * (gain - changed_gains)
    rows = zip(names, adds.tolist(), asked.tolist(), strict=True)
    chosen = best.scenario
    if not asked[able].all():
        chosen = with_best_money(restrict_owners(chosen, prepared, asked), prepared, budget)
    return chosen, tuple(Joining(*row) for row in rows)


def gains_by_change(
    whole: Game, asked: np.ndarray, epsilon: np.ndarray, seed: int
) -> tuple[float, np.ndarray]:
    """Compute the learner's gain at an equilibrium, and with each owner left out or taken back.

    The others settle anew. Of more than `EACH` owners only those who add more noise than data are
    tried without; the last one asked is never left out.

    Returns
    -------
    The gain, and (n_owners,) with minus infinity for what was not tried.
    """
    count = len(asked)
    game = ask_only(whole, asked)
    tried = whole.owners.epsilon_max > 0
    if count > EACH:
        tried &= ((epsilon > 0) & ~adds_data(game.owners.sizes, epsilon)) | ~asked
    if asked.sum() == 1:
        tried &= ~asked
    gains = np.full(count, -np.inf)
    for i in np.flatnonzero(tried):
        other = ask_only(whole, asked ^ (np.arange(count) == i))
        gains[i] = learner_surplus(other, settle_owners(other, seed))
    return learner_surplus(game, epsilon), gains


def ask_only(game: Game, asked: np.ndarray) -> Game:
    """Let only some owners of a game share."""
    owners = game.owners
    low, high = (np.where(asked, end, 0.0) for end in (owners.epsilon_min, owners.epsilon_max))
    return replace(game, owners=replace(owners, epsilon_min=low, epsilon_max=high))


def settle_owners(game: Game, seed: int) -> np.ndarray:
    """Settle the owners of a game."""
    return solve_quickly(game, rng=Streams(seed, "design").rng("owners")).epsilon
