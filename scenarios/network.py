"""The networks of a scenario among the owners of its data: who may sell to whom."""

from __future__ import annotations

from typing import Any

import numpy as np

from agents.networks.base import TRADE, Parties, linked, who_may_sell
from learning.randomness import Streams
from scenarios.schema.kinds import made
from scenarios.schema.market import FIRST
from scenarios.schema.scenario import Scenario
from scenarios.tables.dataset import MarketData


def parties(scenario: Scenario, data: MarketData, use: str) -> Parties:
    """Who may stand in a network of the scenario."""
    learners = (FIRST, *(rival.name for rival in scenario.learners or ()))
    return Parties(use, tuple(data.names), learners, frozenset(data.division.too_small))


def graph_of(scenario: Scenario, data: MarketData, use: str) -> Any:
    """The networkx graph for a use, nodes by name in the order of the market; None where the scenario has none.

    Raises
    ------
    InputError
        Whatever `agents.networks.base.linked` refuses.
    """
    table = scenario.network and getattr(scenario.network, use)
    if table is None:
        return None
    network = made(table).located(scenario.locate)
    return linked(network, parties(scenario, data, use), rng=Streams(scenario.seed, "graph").rng(use))


def trading(scenario: Scenario, data: MarketData) -> np.ndarray | None:
    """Who may sell to whom, bool (n_owners, n_learners); None where everybody may to everybody."""
    graph = graph_of(scenario, data, TRADE)
    return None if graph is None else who_may_sell(graph, parties(scenario, data, TRADE))
