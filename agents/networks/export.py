"""The networks of a result as one graph of networkx, which GraphML can hold and other programs draw."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agents.networks.base import SIGHT, TRADE

if TYPE_CHECKING:
    from networkx import Graph

OF_OWNERS = ("records", "epsilon", "payment", "privacy_cost", "surplus")
CENTRAL = ("degree", "betweenness", "bonacich", "scarcity")


def exported(result: Mapping[str, Any]) -> Graph[str]:
    """The graph of a result: owners and learners by name, with what they sell, are paid and have.

    Nodes have a ``role``, owner or learner, and for each network how central they are there, as in ``trade_degree``. Edges
    have a ``use``, trade or sight, and those of trade an ``epsilon`` and a ``payment``. Where it is directed, an edge of
    trade leads from owner to learner. What has no number, as the epsilon of who sells without noise, is left out.

    Parameters
    ----------
    result : the content of result.json, of a market with a network.
    """
    import networkx as nx

    parts = {use: result["network"][use] for use in (TRADE, SIGHT) if result["network"][use]}
    graph: Graph[str] = nx.DiGraph() if any(part["directed"] for part in parts.values()) else nx.Graph()
    for owner in result["owners"]:
        graph.add_node(owner["name"], role="owner", **_numbers({key: owner.get(key) for key in OF_OWNERS}))
    for use, part in parts.items():
        learners = part.get("learners", [])
        for learner in learners:
            told = {"payment": float(learner["payments"]), "surplus": float(learner["surplus"])}
            graph.add_node(learner["name"], role="learner", **told)
        for row in [*part["owners"], *learners]:
            graph.add_node(row["name"], **_numbers({f"{use}_{key}": row[key] for key in CENTRAL}))
        for edge in part["edges"]:
            ends = (edge["owner"], edge["learner"]) if use == TRADE else (edge["from"], edge["to"])
            money = _numbers({key: edge[key] for key in ("epsilon", "payment")}) if use == TRADE else {}
            graph.add_edge(*ends, use=use, **money)
            if use == SIGHT and graph.is_directed() and not part["directed"]:
                graph.add_edge(*reversed(ends), use=use)
    return graph


def _numbers(row: Mapping[str, Any]) -> dict[str, Any]:
    """Those of some numbers that there are, every one but a count as a float."""
    whole = ("records", "trade_degree", "sight_degree")
    return {key: int(value) if key in whole else float(value) for key, value in row.items() if value is not None}
