"""A market of owners who are not all rational: played by agents, with what it would be were they all rational beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from agents.behaviours import Behaviour
from learning.declaration import keys_of
from learning.randomness import Streams
from market.analysis.welfare import learner_surplus
from market.equilibrium.solver import Equilibrium, solve
from market.game.game import Game
from scenarios.schema.behaviours import assigned
from scenarios.schema.kinds import made
from scenarios.schema.scenario import Scenario
from scenarios.settling.answering import Answering, conduct_columns
from scenarios.settling.network import watching

if TYPE_CHECKING:
    from agents.model import DataMarket

ROUNDS = 50  # that are played where owners draw, unless the scenario says otherwise


def behaviours_of(scenario: Scenario, names: Sequence[str]) -> list[Behaviour]:
    """How each owner of that name behaves, in order."""
    each: list[Any] = [None] * len(names)
    sight = watching(scenario, names)
    for behaviour, numbers in assigned(scenario.behaviours, names, scenario.seed):
        placed = behaviour.seeing(sight)
        for number in numbers:
            each[number] = placed
    return each


def played(scenario: Scenario, game: Game, *keys: str) -> Equilibrium:
    """Where agents stand after playing as the scenario says, with the certificate that says whether it is an equilibrium.

    They draw by the ``keys``.
    """
    return seated(scenario, game, *keys).run()


def seated(scenario: Scenario, game: Game, *keys: str) -> DataMarket:
    """The agents of a scenario before they play, who draw by the ``keys``.

    Where nobody draws they play until they rest, go round in a cycle, or have played ``market.max_rounds``; else for
    ``market.rounds``, since people who draw never rest.
    """
    from agents.model import DataMarket  # Mesa and what it loads take half a second

    each, rules = behaviours_of(scenario, game.owners.names), limits_of(scenario)
    if any(behaviour.draws for behaviour in set(each)):
        rounds = scenario.market.rounds or ROUNDS
        rules |= {"max_rounds": rounds, "patience": rounds}
    order = Streams(scenario.seed, "order").rng(*keys)
    return DataMarket(game, rng=order, behaviour=each, activation=scenario.market.activation, **rules)


def limits_of(scenario: Scenario) -> dict[str, Any]:
    """When play ends, as the scenario says."""
    return scenario.market.model_dump(include={"tol", "max_rounds", "damping", "part"}, exclude_none=True)


def benchmark(scenario: Scenario, game: Game) -> Equilibrium | None:
    """Where the same owners would come to rest were they all rational; None where they are."""
    if not scenario.behaviours:
        return None
    return solve(game, rng=Streams(scenario.seed, "starts").rng(), starts=scenario.market.starts, **limits_of(scenario))


def divided_in_rings(scenario: Scenario, game: Game, epsilon: np.ndarray) -> np.ndarray:
    """What each owner gets (n_owners,), money, below 0 where it gives, from those with whom it divides what they have."""
    transfers, surplus = np.zeros(len(epsilon)), game.payoffs(epsilon)
    for behaviour, numbers in assigned(scenario.behaviours, game.owners.names, scenario.seed):
        own = surplus[numbers]
        transfers[numbers] = behaviour.divide(own, game.owners.sizes[numbers]) - own
    return transfers


def benchmark_part(game: Game, found: Equilibrium | None) -> dict[str, Any] | None:
    """The market of rational owners, as a result has it; None where they are all rational anyway."""
    if found is None:
        return None
    return {
        "converged": found.converged,
        "epsilon": found.epsilon,
        "relative_fitness": game.fitness(found.epsilon),
        "payments": float(found.payments.sum()),
        "learner_surplus": learner_surplus(game, found.epsilon),
    }


def behaviours_part(
    scenario: Scenario, game: Game, epsilon: np.ndarray, rational: Equilibrium | None, found: Answering | None = None
) -> list[dict[str, Any]] | None:
    """Who behaves how, and how they fare beside the same owners were all rational; None where all are.

    Parameters
    ----------
    epsilon: where they stand, (n_owners,).
    rational: where they would, were they all rational.
    found: who answers otherwise than it sold.
    """
    if rational is None:
        return None
    kinds = {made(table): table.kind for table in scenario.behaviours or ()}
    names = np.array(game.owners.names, dtype=object)
    now, then = (game.settled(at) for at in (epsilon, rational.epsilon))
    return [
        {
            "kind": kinds.get(behaviour, "rational"),
            "parameters": {one.name: getattr(behaviour, one.name) for one in keys_of(behaviour)},
            "title": behaviour.title,
            "owners": names[numbers].tolist(),
            "epsilon": float(epsilon[numbers].sum()),
            "epsilon_if_rational": float(rational.epsilon[numbers].sum()),
            "payments": float(now[0][numbers].sum()),
            "payments_if_rational": float(then[0][numbers].sum()),
            "surplus": float(now[1][numbers].sum()),
            "surplus_if_rational": float(then[1][numbers].sum()),
            **conduct_columns(found, names[numbers]),
        }
        for behaviour, numbers in assigned(scenario.behaviours, game.owners.names, scenario.seed)
    ]
