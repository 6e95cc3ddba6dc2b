"""Gossip: answers that reach the learner along the links of a graph of owners and learner."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from learning.errors import InputError
from learning.forecast.weighting import SizeWeighting
from learning.phrases import format_value
from learning.training.gossip import second_modulus
from scenarios.features.base import Feature, Topic, rows_of
from scenarios.schema.market import FIRST
from scenarios.tables.gossip import find_gossip, shares_of

if TYPE_CHECKING:
    from scenarios.run import Loop, Run
    from scenarios.schema.scenario import Scenario

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
