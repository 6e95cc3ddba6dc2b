"""Networks in files: GraphML and edge lists for networkx, and the graph of a result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from agents.networks import SIGHT, TRADE
from agents.networks.base import (
    Name,
    Names,
    Network,
    Parties,
    check_everyone_named,
    named_graph,
)
from learning.declaration import format_value, parameter
from learning.errors import InputError, describe_system_error

if TYPE_CHECKING:
    from networkx import Graph

NAMED_BY = ("name", "label")  # attributes with a node's name, before its id
SEPARATORS = ("\t", ",", ";")
OF_OWNERS = ("records", "epsilon", "payment", "privacy_cost", "surplus")
CENTRAL = ("degree", "betweenness", "bonacich", "scarcity")
COUNTS = ("records", "degree")


@dataclass(frozen=True)
class File(Network):
    """A GraphML file, or a list: two names a line, with a tab, comma, semicolon or blank between.

    A node of GraphML is named by its attribute ``name`` or ``label``, else by its id. Where edges
    have an attribute ``use``, as in the `network.graphml` of a result, only those of this use
    count. In a list, a line that begins with # is a comment.

    Source: networkx, read_graphml.
    """

    title = "as in a file"
    path: Name = parameter("Name the file, relative to this one.")
    """A .graphml file, or a list of edges; relative to this file."""
    directed: bool = False
    """Whether, in a list, the first sees the second without being seen; GraphML says so itself."""
    alone: Names = None
    """Who has no edge in a list, where everybody else must have one; a node of GraphML may stand
    without."""

    def located(self, locate: Any) -> Self:
        return replace(self, path=str(locate(self.path)))

    def make_graph(self, parties: Parties, *, rng: np.random.Generator) -> Graph[str]:
        found = read_graph(Path(self.path), parties, directed=self.directed)
        uses = (None, parties.use)
        pairs = [(one, other) for one, other, use in found.edges(data="use") if use in uses]
        names = set(found.nodes)
        unknown = names - {*parties.owners, *parties.learners} - parties.left_out
        if unknown:
            raise parties.unknown_name(min(unknown), "path")
        graph = named_graph(parties, pairs, directed=found.is_directed(), key="path")
        check_everyone_named(parties, names, self.alone or (), "path")
        return graph


def read_graph(path: Path, parties: Parties, *, directed: bool) -> Graph[str]:
    """Read the graph of a file, nodes by name, as a multigraph that keeps repeated edges.

    Raises
    ------
    InputError
        For a file that cannot be read, or is of neither kind; a node without a name, or two of one
        name.
    """
    import networkx as nx

    made = partial(parties.make_error, key="path")
    try:
        if path.suffix.lower() not in (".graphml", ".xml"):
            text = path.read_text(encoding="utf-8-sig")
            return _parse_edge_list(text, parties, directed=directed)
        graph = nx.read_graphml(path, force_multigraph=True)
    except OSError as error:
        found = f"{path}: {describe_system_error(error)}"
        raise made("must be a file that can be read", found) from None
    except UnicodeDecodeError:
        raise made("must be text in UTF-8, or GraphML", str(path)) from None
    except InputError:
        raise
    except Exception as error:  # of the XML parser, or of networkx for other XML: any kind
        found = " ".join(str(error).split()) or type(error).__name__
        raise made("must be GraphML", f"{path.name}: {found}") from None
    named: dict[str, str] = {}  # name -> node
    for node, given in graph.nodes(data=True):
        filled = (str(given.get(key, "")).strip() for key in NAMED_BY)
        name = next((text for text in filled if text), str(node).strip())
        if name in named:
            raise made("must give each node a name of its own", f"{format_value(name)} twice")
        named[name] = node
    return nx.relabel_nodes(graph, {node: name for name, node in named.items()})


def _parse_edge_list(text: str, parties: Parties, *, directed: bool) -> Graph[str]:
    import networkx as nx

    lines = [line.strip() for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith("#")]
    shared = (sign for sign in SEPARATORS if lines and all(sign in line for line in lines))
    separator = next(shared, None)
    graph: Graph[str] = nx.MultiDiGraph() if directed else nx.MultiGraph()
    for line in lines:
        names = [name.strip().strip('"') for name in line.split(separator)]
        if len(names) != 2:
            rule = "must have two names a line, with a tab, a comma or a semicolon between them "
            rule += "where names have blanks"
            raise parties.make_error(rule, format_value(line), key="path")
        graph.add_edge(*names)
    return graph


def result_graph(result: Mapping[str, Any]) -> Graph[str]:
    """Make the graph of a result, which GraphML can hold and other programs draw.

    Nodes are owners and learners by name, with their sales, payments and surplus. They have a
    ``role``, owner or learner, and for each network their centralities there, as in
    ``trade_degree``. Edges have a ``use``, trade or sight, and those of trade an ``epsilon`` and a
    ``payment``. A directed edge of trade leads from owner to learner. Missing numbers, as the
    epsilon of an owner who sells without noise, are left out.

    Parameters
    ----------
    result : the content of result.json, of a market with a network.
    """
    import networkx as nx

    parts = {use: result["network"][use] for use in (TRADE, SIGHT) if result["network"][use]}
    directed = any(part["directed"] for part in parts.values())
    graph: Graph[str] = nx.DiGraph() if directed else nx.Graph()
    for owner in result["owners"]:
        graph.add_node(owner["name"], role="owner", **_given_numbers(owner, OF_OWNERS))
    for use, part in parts.items():
        learners = part.get("learners", [])
        for learner in learners:
            money = {"payment": float(learner["payments"]), "surplus": float(learner["surplus"])}
            graph.add_node(learner["name"], role="learner", **money)
        for row in [*part["owners"], *learners]:
            graph.add_node(row["name"], **_given_numbers(row, CENTRAL, f"{use}_"))
        for edge in part["edges"]:
            if use == TRADE:
                money = _given_numbers(edge, ("epsilon", "payment"))
                graph.add_edge(edge["owner"], edge["learner"], use=use, **money)
                continue
            graph.add_edge(edge["from"], edge["to"], use=use)
            if directed and not part["directed"]:
                graph.add_edge(edge["to"], edge["from"], use=use)
    return graph


def _given_numbers(row: Mapping[str, Any], keys: Sequence[str], prefix: str = "") -> dict[str, Any]:
    """Select the given numbers of some keys, counts as int and all others as float."""
    given = {key: row[key] for key in keys if row.get(key) is not None}
    return {
        prefix + key: int(value) if key in COUNTS else float(value) for key, value in given.items()
    }
