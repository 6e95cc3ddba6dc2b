"""A market with several learners as a Mesa model: owners divide their budgets among those they are linked to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from operator import attrgetter
from typing import Any

import mesa
import networkx as nx
import numpy as np

from agents.draws import draws_of
from agents.owner import MarketAgent
from market.competition.allocation import even_split
from market.competition.market import Competition
from market.competition.solver import MAX_ROUNDS, moves_of
from market.equilibrium.activation import ACTIVATIONS, Activation
from market.equilibrium.solver import Equilibrium, certified
from market.equilibrium.stopping import ConvergenceMonitor, PlayRules, moved, upper_ends


class Contestant(MarketAgent):
    """A data owner among several learners; its state is its row of the market's profile."""

    def __init__(self, model: Any, number: int) -> None:
        super().__init__(model)
        self.number = number

    @property
    def name(self) -> str:
        """The name of the owner in the market."""
        return str(self.model.market.owners.names[self.number])

    @property
    def epsilon(self) -> float:
        """The privacy budget it sells to all learners together."""
        return float(self.model.profile[self.number].sum())

    @property
    def payment(self) -> float:
        """Money that all learners pay it."""
        return float(self.model.payments[self.number].sum())

    @property
    def surplus(self) -> float:
        """What it is left, in money."""
        return float(self.model.surplus[self.number])

    def move(self) -> None:
        """Choose a row of budgets, everyone else as they are, and sell that from now on."""
        self.model.move(np.array([self.number]))


class Buyer(MarketAgent):
    """One of several learners; its state is its column of the market's profile."""

    def __init__(self, model: Any, number: int) -> None:
        super().__init__(model)
        self.number = number

    @property
    def name(self) -> str:
        """The name of the learner."""
        return str(self.model.market.learners[self.number].name)

    @property
    def forecast(self) -> float:
        """Relative fitness it expects of the model that what it is sold buys."""
        return float(self.model.market.games[self.number].fitness(self.model.profile[:, self.number]))

    @property
    def spend(self) -> float:
        """Money that it pays."""
        return float(self.model.payments[:, self.number].sum())


class ContestMarket(mesa.Model):
    """Owners who divide their budgets among the learners they are linked to, round by round until no one moves.

    Parameters
    ----------
    market : Competition
    seed, rng : int, or a numpy.random.Generator, optional
        One of them, as Mesa has both: draws the order of moves.
    activation : str
        A name in ACTIVATIONS: the order in which owners move within a round.
    start : (n_owners, n_learners), optional
        Where owners start; otherwise half of what they may sell, split evenly.
    **kwargs
        Of `market.equilibrium.stopping.PlayRules`: damping, part, tol, patience, max_rounds (300).

    Attributes
    ----------
    profile, payments : (n_owners, n_learners)
    surplus : (n_owners,)

    Raises
    ------
    ValueError
        An unknown activation, a number out of range, or a start that does not fit.

    >>> from market.competition.market import Learner
    >>> from market.costs.functions import Linear
    >>> from market.game.owners import Owners
    >>> from market.policies.proportional import Proportional
    >>> learners = [Learner(name, Proportional(12.0, "epsilon")) for name in ("one", "two")]
    >>> links = [[True, False], [True, True], [False, True]]
    >>> market = Competition(Owners(("A", "B", "C"), 1, 0.0, 20.0, Linear([1.0, 2.0, 1.0])), learners, links)
    >>> outcome = ContestMarket(market, seed=1).run()
    >>> outcome.epsilon.round(6).tolist(), outcome.reason
    ([[2.666667, 0.0], [1.333333, 1.333333], [0.0, 2.666667]], 'certified')
    """

    def __init__(
        self,
        market: Competition,
        *,
        seed: int | None = None,
        rng: np.random.Generator | int | None = None,
        activation: str = "sequential",
        start: np.ndarray | None = None,
        **kwargs: Any,
    ) -> None:
        if activation not in ACTIVATIONS:
            raise ValueError(f"activation must be one of {', '.join(ACTIVATIONS)}; found {activation!r}")
        self.draws = draws_of(seed, rng)
        super().__init__(rng=self.draws.seed)
        self.market, self.activation = market, activation
        self.rules = PlayRules(**{"max_rounds": MAX_ROUNDS} | kwargs)
        half = 0.5 * (market.owners.epsilon_min + market.owners.epsilon_max)
        self.profile = market.profile(half[:, None] * even_split(market.links) if start is None else start)
        self.owners = [Contestant(self, number) for number in range(len(market.owners))]
        self.learners = [Buyer(self, number) for number in range(len(market.learners))]
        self.end, self.running, self.max_change = "", True, 0.0
        patience = self.order.patience(len(self.owners), self.rules)
        width = upper_ends(market.owners)[:, None]
        self.monitor = ConvergenceMonitor(self.rules, patience, width, self.profile, self._drawn())
        self._settle()
        columns: Any = {Contestant: OWNER_REPORTERS, Buyer: LEARNER_REPORTERS}
        self.datacollector = mesa.DataCollector(MODEL_REPORTERS, agenttype_reporters=columns)
        self.datacollector.collect(self)

    @property
    def order(self) -> Activation:
        """When owners move within a round."""
        return ACTIVATIONS[self.activation]

    def step(self) -> None:
        """One round: owners choose in the order of the activation, learners pay."""
        before, calls, width = self.profile, count(), self.monitor.width
        turns = self.order.turns(
            len(before),
            lambda: self.draws.uniform(f"turns {next(calls)}", self.steps, len(before))[:, 0],
            self.rules,
        )
        if self.order.at_once:
            self.profile = moves_of(self.market, before, turns, self.rules.damping)
        else:
            self.move(turns)
        self._settle()
        self.max_change = float(moved(before, self.profile, width).max())
        self.end = self.monitor.update(before, self.profile, drawn=self._drawn())
        self.running = not self.end
        self.datacollector.collect(self)

    def move(self, numbers: np.ndarray) -> None:
        """The owners of those ``numbers`` (k,) move one after another."""
        for number in numbers:
            self.profile = moves_of(self.market, self.profile, np.array([number]), 1.0)

    def run(self) -> Equilibrium:
        """Rounds until the market ends, then its certificate, budgets and payments (n_owners, n_learners)."""
        self.run_model()
        reason = "cycle found" if self.end == "cycle" else "not converged"
        found = certified(self.market, self.profile.copy(), self.monitor.rounds, self.activation, reason)
        return replace(found, starts=1)

    @property
    def graph(self) -> nx.Graph:
        """Who may trade with whom now, agents by unique_id: nodes with ``name`` and ``bipartite`` (0 owners, 1 learners).

        Each edge has its ``epsilon`` and ``payment``.
        """
        graph = nx.Graph()
        for side, agents in enumerate((self.owners, self.learners)):
            graph.add_nodes_from((agent.unique_id, {"name": agent.name, "bipartite": side}) for agent in agents)
        for i, j in np.argwhere(self.market.links):
            ends = self.owners[i].unique_id, self.learners[j].unique_id
            graph.add_edge(*ends, epsilon=float(self.profile[i, j]), payment=float(self.payments[i, j]))
        return graph

    def _settle(self) -> None:
        self.payments, self.surplus = self.market.payments(self.profile), self.market.payoffs(self.profile)

    def _drawn(self) -> str:
        return str(self.steps) if self.order.draws else ""


# Functions, never names: for a name it does not know, Mesa's collector records None without a word.
MODEL_REPORTERS: dict[str, Callable[[Any], float]] = {
    "round": lambda market: market.steps,
    "total_payments": lambda market: float(market.payments.sum()),
    "max_change": lambda market: market.max_change,
}
OWNER_REPORTERS = {
    "owner": attrgetter("name"),
    "epsilon": attrgetter("epsilon"),
    "payment": attrgetter("payment"),
    "surplus": attrgetter("surplus"),
}
LEARNER_REPORTERS = {name: attrgetter(name) for name in ("name", "forecast", "spend")}
