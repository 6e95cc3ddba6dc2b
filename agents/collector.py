"""The collector of a market: arrays by round, from which Mesa's frames are made on request.

Markets of 100,000 owners can be recorded so, and no column holds None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import mesa
import numpy as np
import pandas as pd

from agents.traders import DataOwner, Learner
from market.game.game import Game

# Functions, never names: Mesa's collector records None for a name that it does not know.
MODEL_REPORTERS: dict[str, Callable[[Any], float]] = {
    "round": lambda market: market.steps,
    "fitness": lambda market: market.fitness,
    "total_payments": lambda market: float(market.payments.sum()),
    "max_change": lambda market: market.max_change,
}


@dataclass(frozen=True)
class Round:
    """The state of a market at the end of a round.

    Parameters
    ----------
    step : int, rounds since the market was made
    game : Game, with the policy posted in that round
    agents : (n_owners,), int, the owners' numbers in Mesa; the learner has the next number
    epsilon, payments, surplus : (n_owners,)
    fitness : float, the learner's forecast
    """

    step: int
    game: Game
    agents: np.ndarray
    epsilon: np.ndarray
    payments: np.ndarray
    surplus: np.ndarray
    fitness: float

    def owner_columns(self) -> dict[str, np.ndarray]:
        """Columns of the owners' frame (n_owners,); their regret is searched for here."""
        step = np.full(len(self.epsilon), self.step)
        return {
            "Step": step,
            "AgentID": self.agents,
            "round": step,
            "owner": np.array(self.game.owners.names, dtype=object),
            "epsilon": self.epsilon,
            "payment": self.payments,
            "cost": self.game.costs(self.epsilon),
            "surplus": self.surplus,
            "regret": self.game.regret(self.epsilon),
        }

    def learner_columns(self) -> dict[str, np.ndarray]:
        """Columns of the learner's frame (1,); the mean of several prices, and none without one."""
        policy = self.game.policy
        row: dict[str, Any] = {
            "Step": self.step,
            "AgentID": int(self.agents[-1]) + 1,
            "round": self.step,
        }
        if policy.money:
            row["price"] = np.mean(getattr(policy, policy.money))
        row |= {"forecast": self.fitness, "spend": self.payments.sum()}
        return {name: np.array([value]) for name, value in row.items()}


FRAMES: dict[type, Callable[[Round], dict[str, np.ndarray]]] = {
    DataOwner: Round.owner_columns,
    Learner: Round.learner_columns,
}
OWNER_COLUMNS = ("round", "owner", "epsilon", "payment", "cost", "surplus", "regret")


class MarketCollector(mesa.DataCollector):
    """A `mesa.DataCollector` of a `DataMarket`: the same frames, made from arrays.

    ``get_model_vars_dataframe()`` has round, fitness, total_payments, max_change.
    ``get_agent_vars_dataframe()`` has the owners' rows, by Step and AgentID: round, owner, epsilon,
    payment, cost, surplus, regret. Regret takes a search for every round, about as long as a round
    of play, and is made with the frame. ``get_agenttype_vars_dataframe(Learner)`` has round, price
    (if every posted policy has one), forecast, spend.

    Parameters
    ----------
    model_reporters : dict of name to function(model), optional
        Further columns of the model's frame; a value of None is refused.
    """

    def __init__(self, model_reporters: Mapping[str, Callable[[Any], Any]] | None = None) -> None:
        super().__init__(MODEL_REPORTERS | dict(model_reporters or {}))
        self.rounds: dict[int, Round] = {}
        self.agent_reporters = dict.fromkeys(OWNER_COLUMNS)  # names of columns in Mesa's batch_run
        self._agent_records = _Records(self.rounds)

    def collect(self, model: Any) -> None:
        """Record the state of the market.

        Raises
        ------
        ValueError
            If a reporter gives None.
        """
        for name, reporter in self.model_reporters.items():
            value = reporter(model)
            if value is None:
                raise ValueError(
                    f"model reporter {name!r} must give a value; found None in round {model.steps}"
                )
            self.model_vars[name].append(value)
        self.rounds[model.steps] = Round(
            model.steps,
            model.game,
            model.numbers,
            model.epsilon.copy(),
            model.payments,
            model.surplus,
            model.fitness,
        )

    def get_agent_vars_dataframe(self) -> pd.DataFrame:
        """Make the frame of the owners' rows of every round, by Step and AgentID."""
        return self.get_agenttype_vars_dataframe(DataOwner)

    def get_agenttype_vars_dataframe(self, agent_type: type) -> pd.DataFrame:
        """Make the frame of all rows of `DataOwner` or `Learner`; of other types as Mesa does."""
        if agent_type not in FRAMES:
            return super().get_agenttype_vars_dataframe(agent_type)
        made = [FRAMES[agent_type](one) for one in self.rounds.values()]
        names = [name for name in made[0] if all(name in columns for columns in made)]
        table = {name: np.concatenate([columns[name] for columns in made]) for name in names}
        return pd.DataFrame(table).set_index(["Step", "AgentID"])


class _Records(Mapping[int, list[tuple[Any, ...]]]):
    """The owners' rows of a round for Mesa's batch_run: (step, number, values ...)."""

    def __init__(self, rounds: dict[int, Round]) -> None:
        self.rounds = rounds

    def __getitem__(self, step: int) -> list[tuple[Any, ...]]:
        columns = self.rounds[step].owner_columns().values()
        return list(zip(*(column.tolist() for column in columns), strict=True))

    def __iter__(self) -> Iterator[int]:
        return iter(self.rounds)

    def __len__(self) -> int:
        return len(self.rounds)
