"""The networks of a scenario among its owners: who may sell to whom, and who sees whose budget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from agents.networks.base import SIGHT, TRADE, Parties, linked, who_may_sell
from learning.randomness import Streams
from scenarios.schema.kinds import made
from scenarios.schema.market import FIRST
from scenarios.schema.scenario import Scenario


def parties(scenario: Scenario, names: Sequence[str], use: str) -> Parties:
    """Who may stand in a network of the scenario, whose owners are called ``names``."""
    learners = (FIRST, *(rival.name for rival in scenario.learners or ()))
    return Parties(use, tuple(names), learners, frozenset(scenario.left_out))


def graph_of(scenario: Scenario, names: Sequence[str], use: str) -> Any:
    """The networkx graph for a use, nodes by name in the order of the market; None where the scenario has none.

    Parameters
    ----------
    scenario : the scenario, in the order of its data.
    names : of its owners.
    use : "trade" or "sight".

    Raises
    ------
    InputError
        Whatever `agents.networks.base.linked` refuses.
    """
    table: Any = scenario.network and getattr(scenario.network, use)
    if table is None:
        return None
    network = made(table).located(scenario.locate)
    return linked(network, parties(scenario, names, use), rng=Streams(scenario.seed, "graph").rng(use))


def trading(scenario: Scenario, names: Sequence[str]) -> np.ndarray | None:
    """Who may sell to whom, bool (n_owners, n_learners); None where everybody may to everybody."""
    graph = graph_of(scenario, names, TRADE)
    return None if graph is None else who_may_sell(graph, parties(scenario, names, TRADE))


def watching(scenario: Scenario, names: Sequence[str]) -> Any:
    """Who sees whom, sparse (n_owners, n_owners), 1 where the row's owner sees the column's; None: all see all."""
    graph = graph_of(scenario, names, SIGHT)
    if graph is None:
        return None
    import networkx as nx  # loaded where there is a network alone

    return nx.to_scipy_sparse_array(graph, dtype=float, format="csr")
