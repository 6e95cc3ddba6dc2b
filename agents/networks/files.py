"""Networks from files: GraphML and edge lists, read by networkx; nodes are owners and learners by name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np

from agents.networks.base import Network, Parties, between, everyone_named, unknown
from learning.declaration import ListOf, Words, parameter, shown

if TYPE_CHECKING:
    from networkx import Graph

Name = Annotated[str, Words("a name in quotes")]
Named = Annotated[tuple[Name, ...], ListOf("a list of names")] | None
NAMED_BY = ("name", "label")  # attributes of a node that name it, before its id
SEPARATORS = ("\t", ",", ";")


@dataclass(frozen=True)
class File(Network):
    """A GraphML file, or a list with an edge a line: two names apart by a tab, comma or semicolon, or else a blank.

    A node of GraphML is named by its attribute ``name`` or ``label``, else by its id. Where edges have an attribute
    ``use``, as in the `network.graphml` of a result, those of another use are passed over.

    Source: networkx, read_graphml and parse_edgelist.
    """

    title = "as in a file"
    path: Name = parameter("Name the file, relative to this one.")
    """A .graphml file, or a list of edges; relative to this file."""
    directed: bool = False
    """Whether, in a list, the first sees the second without being seen; GraphML says so itself."""
    alone: Named = None
    """Who has no edge in a list, where everybody else must have one; a node of GraphML may stand without."""

    def located(self, locate: Any) -> Self:
        return replace(self, path=str(locate(self.path)))

    def graph(self, parties: Parties, *, rng: np.random.Generator) -> Graph[str]:
        found = read(Path(self.path), parties, directed=self.directed)
        pairs = [(one, other) for one, other, use in found.edges(data="use") if use in (None, parties.use)]
        names = set(found.nodes)
        for name in sorted(names - {*parties.owners, *parties.learners} - parties.left_out):
            raise unknown(parties, name, "path")
        graph = between(parties, pairs, directed=found.is_directed(), key="path")
        everyone_named(parties, names, self.alone or (), "path")
        return graph


def read(path: Path, parties: Parties, *, directed: bool) -> Graph[str]:
    """The graph of a file, nodes by name; a multigraph, so that an edge that stands there twice is seen.

    Raises
    ------
    InputError
        A file that cannot be read, or is none of both; a node without a name, or two of one name.
    """
    try:
        if path.suffix.lower() in (".graphml", ".xml"):
            return _graphml(path, parties)
        return _edge_list(path.read_text(encoding="utf-8-sig"), parties, directed=directed)
    except OSError as error:
        raise parties.refused("must be a file that can be read", f"{path}: {error.strerror}", key="path") from None
    except UnicodeDecodeError:
        raise parties.refused("must be text in UTF-8, or GraphML", str(path), key="path") from None


def _graphml(path: Path, parties: Parties) -> Graph[str]:
    import networkx as nx

    try:
        graph = nx.read_graphml(path, force_multigraph=True)
    except OSError:
        raise
    except Exception as error:  # of the parser of XML, or of networkx where XML is no GraphML: KeyError, TypeError, ...
        told = " ".join(str(error).split()) or type(error).__name__
        raise parties.refused("must be GraphML", f"{path.name}: {told}", key="path") from None
    names: dict[str, str] = {}
    for node, given in graph.nodes(data=True):
        names[node] = str(next((given[key] for key in NAMED_BY if str(given.get(key, "")).strip()), node)).strip()
    if len(set(names.values())) < len(names):
        twice = next(name for i, name in enumerate(names.values()) if name in list(names.values())[:i])
        raise parties.refused("must name each node of its own", f"{shown(twice)} twice", key="path")
    return nx.relabel_nodes(graph, names)


def _edge_list(text: str, parties: Parties, *, directed: bool) -> Graph[str]:
    import networkx as nx

    lines = [line.strip() for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith("#")]
    between_names = next((sign for sign in SEPARATORS if lines and all(sign in line for line in lines)), None)
    for line in lines:
        if len(line.split(between_names)) != 2:
            rule = "must have two names a line, apart by a tab, a comma or a semicolon where names have blanks"
            raise parties.refused(rule, shown(line), key="path")
    kind = nx.MultiDiGraph if directed else nx.MultiGraph
    found = nx.parse_edgelist(lines, delimiter=between_names, create_using=kind, data=False)
    return nx.relabel_nodes(found, {name: name.strip().strip('"') for name in found.nodes})
