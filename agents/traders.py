"""The agents of a market, their draws by round and owner, and the collector that records them.

Adding an owner at the end does not change the others' draws:

>>> few, many = (Draws(7).draw_uniform("orders", 3, n_owners) for n_owners in (2, 4))
>>> bool((few == many[:2]).all())
True

The collector keeps arrays by round, from which Mesa's frames are made on request, so that markets
of 100,000 owners can be recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from operator import attrgetter
from typing import Any
from weakref import WeakKeyDictionary

import mesa
import numpy as np
import pandas as pd

from agents.behaviours.base import Behaviour
from learning.randomness import Streams
from market.game.game import Game

Train = Callable[[np.ndarray], object]  # of budgets (n_owners,)
SEEDS = 2**63  # upper limit of a seed drawn from a generator
# Functions, never names: Mesa's collector records None for a name that it does not know.
MODEL_REPORTERS: dict[str, Callable[[Any], float]] = {
    "round": lambda market: market.steps,
    "fitness": lambda market: market.fitness,
    "total_payments": lambda market: float(market.payments.sum()),
    "max_change": lambda market: market.max_change,
}
OWNER_COLUMNS = ("round", "owner", "epsilon", "payment", "cost", "surplus", "regret")


@dataclass(frozen=True)
class Draws:
    """Numbers that depend on a seed, a purpose, a round and an owner alone.

    No generator carries a state over, so the order and the number of requests do not matter.

    Parameters
    ----------
    seed : int, the seed of the market, >= 0
    """

    seed: int

    def draw_uniform(self, purpose: str, round_: int, n_owners: int, m: int = 1) -> np.ndarray:
        """Draw ``m`` numbers in [0, 1) for each owner, (n_owners, m).

        One generator fills them owner by owner, so the first owners' numbers do not depend on the
        number of owners.

        Parameters
        ----------
        purpose : str, the use of the numbers; different purposes never share a draw
        round_ : int, the round of the draw, from 0
        n_owners : int
        m : int, numbers per owner; further ones later in a round need another purpose
        """
        return Streams(self.seed, "agents").rng(purpose, round_).random((n_owners, m))


def as_seed(given: int | str | np.integer | np.random.Generator) -> int:
    """Convert a seed, which may be a text of digits, or a generator to a seed (>= 0).

    Raises
    ------
    TypeError
        If it is something else.
    ValueError
        If the seed is below 0.
    """
    if isinstance(given, np.random.Generator):
        return int(given.integers(SEEDS))
    if isinstance(given, str) and given.isdecimal():
        return int(given)
    if isinstance(given, bool) or not isinstance(given, int | np.integer):
        raise TypeError(
            f"seed must be a whole number, or rng a numpy.random.Generator; found {given!r}"
        )
    if given < 0:
        raise ValueError(f"seed must be 0 or more; found {given}")
    return int(given)


class _Counters(WeakKeyDictionary[Any, Any]):
    """Counters of agents by model, from 1, that do not keep the model alive."""

    def __getitem__(self, model: Any) -> Any:
        if model not in self:
            self[model] = count(1)
        return super().__getitem__(model)


class MarketAgent(mesa.Agent):
    """An agent of a market; its state is its row of the market's columns.

    Mesa 3.3 numbers agents from a table of its Agent class that keeps every model alive; here the
    table lets models go.

    Parameters
    ----------
    model : the market
    number : int, the place of the agent among those of its kind
    """

    _ids: Any = _Counters()
    model: Any

    def __init__(self, model: Any, number: int = 0) -> None:
        super().__init__(model)
        self.number = number


def read_column(path: str, meaning: str) -> Any:
    """Make a property of agents: the agent's own number, or sum of its row, in a model's column."""
    read = attrgetter(path)
    return property(lambda agent: float(np.sum(read(agent.model)[agent.number])), doc=meaning)


class DataOwner(MarketAgent):
    """One data owner of a `DataMarket`.

    Parameters
    ----------
    model : DataMarket
    number : int, its place among the owners of the game
    behaviour : Behaviour, its rule of choice; may be exchanged whenever the market opens
    """

    epsilon = read_column("epsilon", "Privacy budget that it sells; 0 shares nothing.")
    payment = read_column("payments", "Money that it was paid when the round ended.")
    surplus = read_column("surplus", "Payment + benefit - privacy cost when the round ended.")
    cost = read_column("privacy_costs", "Privacy cost of its budget, money.")

    def __init__(self, model: Any, number: int, behaviour: Behaviour) -> None:
        super().__init__(model, number)
        self.behaviour = behaviour

    def move(self) -> None:
        """Choose an epsilon, with all others fixed, and sell it from now on.

        A round of a market calls this of each owner in its turn (``by_agents``), or moves all as if
        it had, in a few searches for all of them.
        """
        self.model.move_owner(self.number)


class Learner(MarketAgent):
    """The buyer of privacy budgets, who trains with them.

    Parameters
    ----------
    model : DataMarket
    train : callable(epsilon), optional
        Called once the market has ended, with a copy of its budgets.

    Attributes
    ----------
    trained : object, the result of ``train``; None before
    """

    def __init__(self, model: Any, train: Train | None = None) -> None:
        super().__init__(model)
        self._train = train
        self.trained: object = None

    def post(self, policy: Any) -> None:
        """Replace the posted policy; the market opens again from its present budgets."""
        self.model.open_market(policy)

    def train(self) -> None:
        """Train at the present budgets, if there is a training, and keep its result."""
        if self._train is not None:
            self.trained = self._train(self.model.epsilon.copy())


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
        """Columns of the learner's frame (1,).

        The price is the mean of several; the column is missing where the policy has no price.
        """
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
