"""A market with several learners as a Mesa model: owners divide their budgets among learners."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from operator import attrgetter
from typing import Any

import mesa
import networkx as nx
import numpy as np

from agents.rounds import RoundModel
from agents.traders import MarketAgent, read_column
from market.competition.allocation import even_split
from market.competition.market import Competition
from market.competition.solver import MAX_ROUNDS, moves_of
from market.equilibrium.solver import Equilibrium, certify_profile
from market.equilibrium.stopping import upper_ends


class Contestant(MarketAgent):
    """A data owner among several learners; its state is its row of the market's profile."""

    epsilon = read_column("profile", "Privacy budget that it sells to all learners together.")
    payment = read_column("payments", "Money that all learners pay it.")
    surplus = read_column("surplus", "Its surplus, money.")

    def move(self) -> None:
        """Choose a row of budgets, with all others fixed, and sell them from now on."""
        self.model.move(np.array([self.number]))


class Buyer(MarketAgent):
    """One of several learners; its state is its column of the market's profile."""

    spend = read_column("payments.T", "Money that it pays.")

    @property
    def name(self) -> str:
        """Name of the learner."""
        return str(self.model.market.learners[self.number].name)

    @property
    def forecast(self) -> float:
        """Forecast relative fitness of the model that its purchases buy."""
        game = self.model.market.games[self.number]
        return float(game.fitness(self.model.profile[:, self.number]))


class ContestMarket(RoundModel):
    """Owners who divide their budgets among their learners, round by round until none moves.

    Parameters
    ----------
    market : Competition
    seed, rng : int, or a numpy.random.Generator, optional
        One of them, as Mesa has both, for the order of moves.
    activation : str
        A name in ACTIVATIONS: the order in which owners move within a round.
    start : (n_owners, n_learners), optional
        The first budgets; half of what owners may sell, split evenly, unless given.
    **kwargs
        Of `market.equilibrium.stopping.PlayRules`: damping, part, tol, patience, max_rounds (300).

    Attributes
    ----------
    profile, payments : (n_owners, n_learners)
    surplus : (n_owners,)

    Raises
    ------
    ValueError
        For an unknown activation, a number out of range, or a start that does not fit.

    >>> from market.competition.market import Learner
    >>> from market.costs.functions import Linear
    >>> from market.game.owners import Owners
    >>> from market.policies.proportional import Proportional
    >>> learners = [Learner(name, Proportional(12.0, "epsilon")) for name in ("one", "two")]
    >>> links = [[True, False], [True, True], [False, True]]
    >>> owners = Owners(("A", "B", "C"), 1, 0.0, 20.0, Linear([1.0, 2.0, 1.0]))
    >>> outcome = ContestMarket(Competition(owners, learners, links), seed=1).run()
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
        super().__init__(activation, seed, rng, {"max_rounds": MAX_ROUNDS} | kwargs)
        self.market = market
        self.names = market.owners.names
        half = 0.5 * (market.owners.epsilon_min + market.owners.epsilon_max)
        if start is None:
            start = half[:, None] * even_split(market.links)
        self.profile = market.profile(start)
        self.owners = [Contestant(self, number) for number in range(len(market.owners))]
        self.learners = [Buyer(self, number) for number in range(len(market.learners))]
        self.begin_rounds(self.profile, upper_ends(market.owners)[:, None])
        self._settle_round()
        columns: Any = {Contestant: OWNER_REPORTERS, Buyer: LEARNER_REPORTERS}
        self.datacollector = mesa.DataCollector(MODEL_REPORTERS, agenttype_reporters=columns)
        self.datacollector.collect(self)

    def step(self) -> None:
        """Play a round: owners choose in the order of the activation, learners pay."""
        before = self.profile
        draw = self.make_turn_draw(len(before))
        turns = self.order.turns(len(before), draw, self.rules)
        if self.order.at_once:
            self.profile = moves_of(self.market, before, turns, self.rules.damping)
        else:
            self.move(turns)
        self._settle_round()
        self.end_round(before, self.profile)

    def move(self, numbers: np.ndarray) -> None:
        """Move the owners of ``numbers`` (k,) one after another."""
        for number in numbers:
            self.profile = moves_of(self.market, self.profile, np.array([number]), 1.0)

    def run(self) -> Equilibrium:
        """Play until the market ends; certify budgets and payments (n_owners, n_learners)."""
        self.run_model()
        reason = "cycle found" if self.end == "cycle" else "not converged"
        profile = self.profile.copy()
        found = certify_profile(self.market, profile, self.monitor.rounds, self.activation, reason)
        return replace(found, starts=1)

    @property
    def graph(self) -> nx.Graph:
        """The possible trades, agents by unique_id.

        Nodes have ``name`` and ``bipartite`` (0 owners, 1 learners), edges ``epsilon`` and
        ``payment``.
        """
        graph = nx.Graph()
        for side, agents in enumerate((self.owners, self.learners)):
            for agent in agents:
                graph.add_node(agent.unique_id, name=agent.name, bipartite=side)
        for i, j in np.argwhere(self.market.links):
            graph.add_edge(
                self.owners[i].unique_id,
                self.learners[j].unique_id,
                epsilon=float(self.profile[i, j]),
                payment=float(self.payments[i, j]),
            )
        return graph

    def _settle_round(self) -> None:
        self.payments = self.market.payments(self.profile)
        self.surplus = self.market.payoffs(self.profile)


# Functions, never names: Mesa's collector records None for a name that it does not know.
MODEL_REPORTERS: dict[str, Callable[[Any], float]] = {
    "round": lambda market: market.steps,
    "total_payments": lambda market: float(market.payments.sum()),
    "max_change": lambda market: market.max_change,
}
OWNER_COLUMNS = {"owner": "name", "epsilon": "epsilon", "payment": "payment", "surplus": "surplus"}
OWNER_REPORTERS = {name: attrgetter(column) for name, column in OWNER_COLUMNS.items()}
LEARNER_REPORTERS = {name: attrgetter(name) for name in ("name", "forecast", "spend")}
