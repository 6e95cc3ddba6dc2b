"""The networks that a scenario may name (NETWORKS), by their use: each one declaration, made by a generator of networkx.

>>> import numpy as np
>>> from agents.networks.base import Parties, linked
>>> owners = Parties("sight", ("A", "B", "C", "D"))
>>> sorted(linked(Ring(), owners, rng=np.random.default_rng(0)).edges)
[('A', 'B'), ('A', 'D'), ('B', 'C'), ('C', 'D')]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from annotated_types import Ge, Le
from pydantic import PlainValidator

from agents.networks.base import MOST_EDGES, TRADE, Network, Parties, between, everyone_named
from agents.networks.files import File
from learning.declaration import Count, CountOrZero, ListOf, Words, parameter, shown

if TYPE_CHECKING:
    from networkx import Graph

Chance = Annotated[float, Ge(0), Le(1)]
Name = Annotated[str, Words("a name in quotes")]
Named = Annotated[tuple[Name, ...], ListOf("a list of names")] | None


def _pairs(value: Any) -> tuple[tuple[str, str], ...]:
    pairs = value if isinstance(value, (list, tuple)) else ()
    for pair in pairs:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2 or not all(isinstance(name, str) for name in pair):
            raise ValueError(shown(pair))
    if not pairs:
        raise ValueError
    return tuple((one, other) for one, other in pairs)


Pairs = Annotated[Any, PlainValidator(_pairs), Words('a list of pairs of names, such as [["A", "B"], ["B", "C"]]')]


def by_name(graph: Graph[int], names: Sequence[str]) -> Graph[str]:
    """A graph of numbers with names in their place, without edges from a node to itself."""
    import networkx as nx

    graph.remove_edges_from(list(nx.selfloop_edges(graph)))  # of a ring of one
    return nx.relabel_nodes(graph, dict(enumerate(names)))


@dataclass(frozen=True)
class Complete(Network):
    """Everybody with everybody: a market without a network.

    Source: networkx, complete_graph and complete_bipartite_graph.
    """

    title = "everybody is linked to everybody"

    def graph(self, parties: Parties, *, rng: np.random.Generator) -> Graph[str]:
        import networkx as nx

        if parties.most_edges > MOST_EDGES:
            rule, found = f"must have at most {MOST_EDGES:,} edges", f"{parties.most_edges:,} in the complete graph"
            raise parties.refused(rule, found, f"Leave [{parties.where}] out: that is the same market.", "kind")
        if parties.use == TRADE:
            return by_name(nx.complete_bipartite_graph(len(parties.owners), len(parties.learners)), parties.names)
        return by_name(nx.complete_graph(len(parties.owners)), parties.owners)


@dataclass(frozen=True)
class Empty(Network):
    """Nobody sees anybody."""

    title = "nobody sees anybody"

    def graph(self, parties: Parties, *, rng: np.random.Generator) -> Graph[str]:
        import networkx as nx

        return by_name(nx.empty_graph(len(parties.owners)), parties.owners)


@dataclass(frozen=True)
class Star(Network):
    """One owner in the middle, who sees all others and is seen by them; these see nobody else.

    Source: networkx, star_graph.
    """

    title = "one owner in the middle"
    centre: Name | None = None
    """The owner in the middle; the first unless named."""

    def graph(self, parties: Parties, *, rng: np.random.Generator) -> Graph[str]:
        import networkx as nx

        names = list(parties.owners)
        if self.centre is not None:
            if self.centre not in names:
                raise parties.refused("must name an owner", shown(self.centre), key="centre")
            names.remove(self.centre)
            names.insert(0, self.centre)
        return by_name(nx.star_graph(len(names) - 1), names)


@dataclass(frozen=True)
class Ring(Network):
    """Owners in a circle, in their order; each sees the one before and the one after it.

    Source: networkx, cycle_graph.
    """

    title = "owners in a circle"

    def graph(self, parties: Parties, *, rng: np.random.Generator) -> Graph[str]:
        import networkx as nx

        return by_name(nx.cycle_graph(len(parties.owners)), parties.owners)


@dataclass(frozen=True)
class Row(Network):
    """Owners in a row, in their order; each sees those next to it.

    Source: networkx, path_graph.
    """

    title = "owners in a row"

    def graph(self, parties: Parties, *, rng: np.random.Generator) -> Graph[str]:
        import networkx as nx

        return by_name(nx.path_graph(len(parties.owners)), parties.owners)


@dataclass(frozen=True)
class WattsStrogatz(Network):
    """A small world: owners in a circle see those near them, and some of these edges lead anywhere instead.

    Source: Watts and Strogatz, Collective dynamics of small-world networks (1998); networkx, watts_strogatz_graph.
    """

    title = "a small world"
    neighbours: Annotated[int, Ge(2)] = parameter("Give how many owners near it each sees, an even number.")
    """How many owners near it each sees in the circle; of an odd number one less."""
    rewired: Chance = parameter("Give the chance that an edge leads anywhere instead.")
    """The chance that an edge leads to any other owner instead."""

    def graph(self, parties: Parties, *, rng: np.random.Generator) -> Graph[str]:
        import networkx as nx

        if self.neighbours >= len(parties.owners):
            rule = f"must be below the number of owners, {len(parties.owners)}"
            raise parties.refused(rule, self.neighbours, key="neighbours")
        made = nx.watts_strogatz_graph(len(parties.owners), self.neighbours, self.rewired, seed=rng)
        return by_name(made, parties.owners)


@dataclass(frozen=True)
class BarabasiAlbert(Network):
    """Few owners whom many see: each in turn links to some before it, rather to those who have many links already.

    Source: Barabási and Albert, Emergence of scaling in random networks (1999); networkx, barabasi_albert_graph.
    """

    title = "a few owners whom many see"
    links: Count = parameter("Give how many owners before it each links to.")
    """How many owners before it each links to."""

    def graph(self, parties: Parties, *, rng: np.random.Generator) -> Graph[str]:
        import networkx as nx

        if self.links >= len(parties.owners):
            rule = f"must be below the number of owners, {len(parties.owners)}"
            raise parties.refused(rule, self.links, key="links")
        return by_name(nx.barabasi_albert_graph(len(parties.owners), self.links, seed=rng), parties.owners)


@dataclass(frozen=True)
class ErdosRenyi(Network):
    """Every two owners are linked by the same chance.

    Source: Gilbert, Random graphs (1959); networkx, fast_gnp_random_graph.
    """

    title = "a random graph"
    chance: Chance = parameter("Give the chance of each edge.")
    """The chance of each edge."""
    directed: bool = False
    """Whether one may see another without being seen."""

    def graph(self, parties: Parties, *, rng: np.random.Generator) -> Graph[str]:
        import networkx as nx

        check_expected(parties, self.chance)
        made = nx.fast_gnp_random_graph(len(parties.owners), self.chance, seed=rng, directed=self.directed)
        return by_name(made, parties.owners)


@dataclass(frozen=True)
class Groups(Network):
    """Groups of owners, in their order and as even as can be, linked by one chance inside and by another across.

    Source: Holland, Laskey and Leinhardt, Stochastic blockmodels (1983); networkx, stochastic_block_model.
    """

    title = "groups that see little of each other"
    inside: Chance = parameter("Give the chance of an edge inside a group.")
    """The chance of an edge inside a group."""
    across: Chance = parameter("Give the chance of an edge between two groups.")
    """The chance of an edge between owners of two groups."""
    groups: Count = 2
    """How many groups."""

    def graph(self, parties: Parties, *, rng: np.random.Generator) -> Graph[str]:
        import networkx as nx

        count = len(parties.owners)
        if self.groups > count:
            raise parties.refused(f"must be at most the number of owners, {count}", self.groups, key="groups")
        check_expected(parties, max(self.inside / self.groups, self.across))
        sizes = [len(part) for part in np.array_split(np.arange(count), self.groups)]
        chances = np.where(np.eye(self.groups, dtype=bool), self.inside, self.across)
        return by_name(nx.stochastic_block_model(sizes, chances.tolist(), seed=rng), parties.owners)


@dataclass(frozen=True)
class BipartiteRandom(Network):
    """Every owner may sell to each learner by the same chance; who is linked to none is not in the market.

    Source: networkx, bipartite.random_graph.
    """

    title = "a random graph of owners and learners"
    chance: Chance = parameter("Give the chance of each edge.")
    """The chance of each edge."""

    def graph(self, parties: Parties, *, rng: np.random.Generator) -> Graph[str]:
        from networkx.algorithms import bipartite

        check_expected(parties, self.chance)
        made = bipartite.random_graph(len(parties.owners), len(parties.learners), self.chance, seed=rng)
        return by_name(made, parties.names)


@dataclass(frozen=True)
class Captive(Network):
    """Owners dealt out to learners, one each in turn, but for the first few, bridges, who may sell to all.

    Source: the toy of Kranton and Minehart, A theory of buyer-seller networks (2001): links are what bargaining rests on.
    """

    title = "owners of one learner each, and bridges"
    bridges: CountOrZero = 0
    """How many owners, the first ones, may sell to all learners."""

    def graph(self, parties: Parties, *, rng: np.random.Generator) -> Graph[str]:
        first, others = parties.owners[: self.bridges], parties.owners[self.bridges :]
        if self.bridges > len(parties.owners):
            raise parties.refused(f"must be at most the number of owners, {len(first)}", self.bridges, key="bridges")
        pairs = [(owner, learner) for owner in first for learner in parties.learners]
        pairs += list(zip(others, cycle(parties.learners), strict=False))
        return between(parties, pairs, directed=False, key="bridges")


@dataclass(frozen=True)
class Edges(Network):
    """The edges listed one by one, by name."""

    title = "as listed"
    edges: Pairs = parameter("List pairs of names.")
    """Pairs of names; where directed, the first sees the second."""
    directed: bool = False
    """Whether one may see another without being seen; says nothing of trade."""
    alone: Named = None
    """Who has no edge; everybody else must be in one."""

    def graph(self, parties: Parties, *, rng: np.random.Generator) -> Graph[str]:
        graph = between(parties, self.edges, directed=self.directed, key="edges")
        everyone_named(parties, {name for pair in self.edges for name in pair}, self.alone or (), "edges")
        return graph


def check_expected(parties: Parties, chance: float) -> None:
    """Refuse a random graph of more edges than can be kept."""
    if chance * parties.most_edges > MOST_EDGES:
        found = f"about {chance * parties.most_edges:,.0f} with a chance of {chance:g}"
        raise parties.refused(f"must have at most {MOST_EDGES:,} edges", found, "Lower it.", "chance")


NETWORKS: dict[str, dict[str, type[Network]]] = {
    "trade": {
        "complete": Complete,
        "bipartite_random": BipartiteRandom,
        "captive": Captive,
        "edges": Edges,
        "file": File,
    },
    "sight": {
        "complete": Complete,
        "empty": Empty,
        "star": Star,
        "ring": Ring,
        "path": Row,
        "watts_strogatz": WattsStrogatz,
        "barabasi_albert": BarabasiAlbert,
        "erdos_renyi": ErdosRenyi,
        "groups": Groups,
        "edges": Edges,
        "file": File,
    },
}
