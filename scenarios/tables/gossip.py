"""The graph that answers reach the learner on, and each owner's reach on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from learning.arrays import Array
from learning.errors import InputError
from learning.phrases import format_value
from learning.randomness import Streams
from learning.training.gossip import MOST_NODES, averaging_matrix, find_reach
from scenarios.schema.kinds import make_declared
from scenarios.schema.market import FIRST

if TYPE_CHECKING:
    from scenarios.schema.scenario import Scenario

GRAPH = "learning.gossip.graph"


@dataclass(frozen=True)
class Gossip:
    """Gossip of a scenario.

    Parameters
    ----------
    graph : the graph of networkx, of the owners in their order and the learner.
    matrix : array (M, M), the weights of a round.
    reach : array (M,), of each node at the learner.
    """

    graph: Any = field(repr=False)
    matrix: Array = field(repr=False)
    reach: Array


def find_gossip(scenario: Scenario, names: Sequence[str]) -> Gossip | None:
    """Find how answers reach the learner; None where it hears every owner itself.

    Parameters
    ----------
    scenario : the scenario, in the order of its data.
    names : of its owners.

    Raises
    ------
    InputError
        If the graph is not connected, or the rounds are too few for some owner's answer.
    """
    table = scenario.learning.gossip
    if table is None:
        return None
    if FIRST in names or len(names) >= MOST_NODES:
        rule = f"must have no owner called {format_value(FIRST)}, and below {MOST_NODES:,} owners"
        raise InputError(GRAPH, rule, f"{len(names):,} owners")
    import networkx as nx  # loaded only where there is a graph

    from agents.networks import GOSSIP
    from agents.networks.base import Parties, linked_graph

    parties = Parties(GOSSIP, (*names, FIRST), (), frozenset(scenario.left_out))
    rng = Streams(scenario.seed, "graph").rng(GOSSIP)
    graph = linked_graph(make_declared(table.graph), parties, rng=rng)
    if graph.is_directed() or not nx.is_connected(graph):
        found = "a directed one" if graph.is_directed() else "one in parts"
        raise InputError(GRAPH, "must be a connected graph without directions", found)
    farthest = nx.eccentricity(graph, FIRST)
    if table.rounds < farthest:
        rule = f"must be at least {farthest}, the links between learner and farthest owner"
        raise InputError("learning.gossip.rounds", rule, table.rounds)
    matrix = averaging_matrix(nx.to_numpy_array(graph, nodelist=parties.names))
    return Gossip(graph, matrix, find_reach(matrix, len(names), table.rounds))


def reach_of_owners(scenario: Scenario, names: Sequence[str]) -> tuple[float, ...] | None:
    """Reach of each owner's answer at the learner; None where it hears every owner itself."""
    found = find_gossip(scenario, names)
    return None if found is None else tuple(found.reach[: len(names)].tolist())


def shares_of(reach: Array, sizes: Array) -> Array:
    """Weights of answers that reach the learner by gossip, (n_owners,)."""
    raw = reach[: len(sizes)] * sizes
    return np.asarray(raw / raw.sum())
