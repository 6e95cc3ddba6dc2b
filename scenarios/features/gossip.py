"""Gossip: answers that reach the learner along the links of a graph of owners and learner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from learning.arrays import Array
from learning.errors import InputError
from learning.forecast.weighting import SizeWeighting
from learning.phrases import format_value
from learning.randomness import Streams
from learning.training.gossip import MOST_NODES, averaging_matrix, find_reach, second_modulus
from scenarios.features.base import Feature, Topic, rows_of
from scenarios.schema.kinds import make_declared
from scenarios.schema.market import FIRST

if TYPE_CHECKING:
    from scenarios.run import Loop, Run
    from scenarios.schema.scenario import Scenario

GRAPH = "learning.gossip.graph"
ONE_BY_ONE = "because owners pass on averages, of which no single answer can be told"


class ByGossip(Feature):
    """Answers that owners pass on to their neighbours, in averages, until the learner has them."""

    key = "learning.gossip"
    title = "[learning.gossip]"
    example = ("learning.gossip={rounds=9, graph={kind='ring'}}",)
    result = "gossip"
    sentence = (
        "{% set gossip = result.get('gossip') %}{% if gossip %}"
        "Answers reach the learner by {{ gossip.rounds }} rounds of gossip on a graph of "
        "{{ gossip.links }} links. They differ from the mean by records: the forecast is "
        "{{ gossip.relative_fitness | percent }} above the best instead of "
        "{{ gossip.heard_directly | percent }}. Every owner's noise protects it against all who "
        "pass its answers on.{% endif %}"
    )
    topic = Topic("model", 15)
    excludes = {
        "trust": "because owners see what they pass on",
        "learners": "because each learner would have its own place in the graph",
        "learning.aggregation": ONE_BY_ONE,
        "validation.baselines": "because they are trained on answers that are heard directly",
        "go": ONE_BY_ONE,
        "contributions": ONE_BY_ONE,
        "withdrawal": ONE_BY_ONE,
        "malicious": ONE_BY_ONE,
        "time": "because its nodes are the owners of one period",
    }

    def check(self, scenario: Scenario) -> None:
        """Refuse weights of other kinds, and algorithms under which owners answer one at a time."""
        learning = scenario.learning
        if learning.weights != "size":
            rule = f'must be "size" with {self.title}, whose reach weighs answers'
            raise InputError("learning.weights", rule, format_value(learning.weights))
        if any(one.trains_by.asks_at_random for one in learning.decided):
            rule = f"must ask all owners in a round with {self.title}"
            raise InputError("learning.algorithm", rule, format_value(learning.algorithm))

    def facts(self, run: Run, loop: Loop) -> dict[str, Any] | None:
        """How far the learner hears every owner, and what the gossip costs the model.

        Returns
        -------
        gossip.kind : The graph of owners and learner, by its kind in `learning.gossip.graph`;
            gossip is null where the learner hears every owner directly.
        gossip.rounds : Rounds in which all nodes average what they hold, for each answer.
        gossip.links : Links of the graph.
        gossip.messages : Messages for each answer: two a link, in each round.
        gossip.modulus : Second-largest modulus s of an eigenvalue of a round's weights.
        gossip.bound : s to the number of rounds: no node's share of what the learner holds is
            farther from an equal one.
        gossip.error : How far the farthest is.
        gossip.relative_fitness : ψ by the forecast, at the budgets sold.
        gossip.heard_directly : The same, at these budgets, if the learner heard every owner.
        gossip.owners[].name : An owner.
        gossip.owners[].links : Links between it and the learner.
        gossip.owners[].reach : How much of its answer the learner holds, over an equal part.
        gossip.owners[].weight : Weight of its answer if all owners sell.
        gossip.owners[].by_records : The same, were all heard directly.
        """
        import networkx as nx

        table = run.scenario.learning.gossip
        found = find_gossip(run.scenario, run.data.names)
        if table is None or found is None:
            return None
        away = nx.single_source_shortest_path_length(found.graph, FIRST)
        sizes = run.game.owners.sizes
        modulus = second_modulus(found.matrix)
        links = found.graph.number_of_edges()
        forecast = run.planner.forecast
        kinds = {key: getattr(forecast.weighting, key) for key in ("between", "total", "even")}
        direct = replace(forecast, weighting=SizeWeighting(**kinds))
        rows = {
            "name": list(run.data.names),
            "links": [away[name] for name in run.data.names],
            "reach": found.reach[: len(sizes)],
            "weight": shares_of(found.reach, sizes),
            "by_records": sizes / sizes.sum(),
        }
        return {
            "kind": table.graph.kind,
            "rounds": table.rounds,
            "links": links,
            "messages": 2 * links * table.rounds,
            "modulus": modulus,
            "bound": modulus**table.rounds,
            "error": float(np.abs(found.reach - 1).max() / len(found.reach)),
            "relative_fitness": forecast.at(run.epsilon),
            "heard_directly": direct.at(run.epsilon),
            "owners": rows_of(rows),
        }


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
