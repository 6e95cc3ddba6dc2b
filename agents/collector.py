"""The collector: what a market recorded, as arrays by round; Mesa's frames are made of them when asked for.

Markets of 100,000 owners can be recorded so, and no column holds None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import mesa
import numpy as np
import pandas as pd

from agents.learner import Learner
from agents.owner import DataOwner
from market.game.game import Game

# Functions, never names: for a name it does not know, Mesa's collector records None without a word.
MODEL_REPORTERS: dict[str, Callable[[Any], float]] = {
    "round": lambda market: market.steps,
    "fitness": lambda market: market.fitness,
    "total_payments": lambda market: float(market.payments.sum()),
    "max_change": lambda market: market.max_change,
}


@dataclass(frozen=True)
class Round:
    """Where a market stood when a round ended.

    Parameters
    ----------
    step : int
        Rounds since the market was made.
    game : Game
        With the policy posted in that round.
    agents : (n_owners,), int
        The owners' numbers in Mesa; the learner's is the one after the last.
    epsilon, payments, surplus : (n_owners,)
    fitness : float
        What the learner forecast.
    """

    step: int
    game: Game
    agents: np.ndarray
    epsilon: np.ndarray
    payments: np.ndarray
    surplus: np.ndarray
    fitness: float

    def of_owners(self) -> dict[str, np.ndarray]:
        """The columns of the owners' frame (n_owners,); regret is searched for here."""
        return {
            "Step": np.full(len(self.epsilon), self.step),
            "AgentID": self.agents,
            "round": np.full(len(self.epsilon), self.step),
            "owner": np.array(self.game.owners.names, dtype=object),
            "epsilon": self.epsilon,
            "payment": self.payments,
            "cost": self.game.costs(self.epsilon),
            "surplus": self.surplus,
            "regret": self.game.regret(self.epsilon),
        }

    def of_learner(self) -> dict[str, np.ndarray]:
        """The columns of the learner's frame (1,); of a price for each owner the mean, and no price where there is none."""
        policy = self.game.policy
        when = {"Step": self.step, "AgentID": int(self.agents[-1]) + 1, "round": self.step}
        price = {"price": np.mean(getattr(policy, policy.money))} if policy.money else {}
        row = {**when, **price, "forecast": self.fitness, "spend": self.payments.sum()}
        return {name: np.array([value]) for name, value in row.items()}


FRAMES: dict[type, Callable[[Round], dict[str, np.ndarray]]] = {DataOwner: Round.of_owners, Learner: Round.of_learner}
OWNER_COLUMNS = ("round", "owner", "epsilon", "payment", "cost", "surplus", "regret")


class MarketCollector(mesa.DataCollector):
    """A `mesa.DataCollector` of a `DataMarket`: the same frames, made from arrays.

    ``get_model_vars_dataframe()`` has round, fitness, total_payments, max_change. ``get_agent_vars_dataframe()`` has the
    owners' rows, by Step and AgentID: round, owner, epsilon, payment, cost, surplus, regret. Regret takes a search for every
    round, about as long as a round of play, and is made with the frame. ``get_agenttype_vars_dataframe(Learner)`` has round,
    price (where every policy that was posted has one), forecast, spend.

    Parameters
    ----------
    model_reporters : dict of name to function(model), optional
        Further columns of the model's frame; a function that gives None is refused when it does.
    """

    def __init__(self, model_reporters: Mapping[str, Callable[[Any], Any]] | None = None) -> None:
        super().__init__(MODEL_REPORTERS | dict(model_reporters or {}))
        self.rounds: dict[int, Round] = {}
        self.agent_reporters = dict.fromkeys(OWNER_COLUMNS)  # the names that Mesa's batch_run gives the owners' columns
        self._agent_records = _Records(self.rounds)

    def collect(self, model: Any) -> None:
        """Record where the market stands.

        Raises
        ------
        ValueError
            A reporter gave None.
        """
        for name, tell in self.model_reporters.items():
            value = tell(model)
            if value is None:
                raise ValueError(f"model reporter {name!r} must give a value; found None in round {model.steps}")
            self.model_vars[name].append(value)
        columns = (model.epsilon.copy(), model.payments, model.surplus)
        self.rounds[model.steps] = Round(model.steps, model.game, model.numbers, *columns, model.fitness)

    def get_agent_vars_dataframe(self) -> pd.DataFrame:
        """The owners' rows of every round, by Step and AgentID."""
        return self.get_agenttype_vars_dataframe(DataOwner)

    def get_agenttype_vars_dataframe(self, agent_type: type) -> pd.DataFrame:
        """The rows of every round, by Step and AgentID, of `DataOwner` or of `Learner`; of others none, with a warning."""
        if agent_type not in FRAMES:
            return super().get_agenttype_vars_dataframe(agent_type)
        made = [FRAMES[agent_type](one) for one in self.rounds.values()]
        names = [name for name in made[0] if all(name in columns for columns in made)]
        table = {name: np.concatenate([columns[name] for columns in made]) for name in names}
        return pd.DataFrame(table).set_index(["Step", "AgentID"])


class _Records(Mapping[int, list[tuple[Any, ...]]]):
    """The owners' rows of a round as Mesa's batch_run reads them: (step, number, values ...)."""

    def __init__(self, rounds: dict[int, Round]) -> None:
        self.rounds = rounds

    def __getitem__(self, step: int) -> list[tuple[Any, ...]]:
        return list(zip(*(column.tolist() for column in self.rounds[step].of_owners().values()), strict=True))

    def __iter__(self) -> Iterator[int]:
        return iter(self.rounds)

    def __len__(self) -> int:
        return len(self.rounds)
