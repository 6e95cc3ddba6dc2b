"""The networks of a scenario (NETWORKS), by use: declarations of generators of networkx.

>>> import numpy as np
>>> from agents.networks.base import Parties, linked_graph
>>> owners = Parties("sight", ("A", "B", "C", "D"))
>>> sorted(linked_graph(Ring(), owners, rng=np.random.default_rng(0)).edges)
[('A', 'B'), ('A', 'D'), ('B', 'C'), ('C', 'D')]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge, Le
from pydantic import PlainValidator

from agents.networks.base import (
    MOST_EDGES,
    TRADE,
    Name,
    Names,
    Network,
    Parties,
    check_everyone_named,
    named_graph,
)
from agents.networks.files import File
from learning.declaration import Count, CountOrZero, Words, format_value, parameter

if TYPE_CHECKING:
    from networkx import Graph

Chance = Annotated[float, Ge(0), Le(1)]


def _check_pairs(value: Any) -> tuple[tuple[str, str], ...]:
    pairs = value if isinstance(value, (list, tuple)) else ()
    if not pairs:
        raise ValueError
    for pair in pairs:
        listed = isinstance(pair, (list, tuple)) and len(pair) == 2
        if not listed or not all(isinstance(name, str) for name in pair):
            raise ValueError(format_value(pair))
    return tuple((one, other) for one, other in pairs)


Pairs = Annotated[
    Any,
    PlainValidator(_check_pairs),
    Words('a list of pairs of names, such as [["A", "B"], ["B", "C"]]'),
]


def rename_nodes(graph: Graph[int], names: Sequence[str]) -> Graph[str]:
    """Replace numbers by names in a graph, without edges from a node to itself."""
    import networkx as nx

    graph.remove_edges_from(list(nx.selfloop_edges(graph)))  # of a ring of one
    return nx.relabel_nodes(graph, dict(enumerate(names)))


class Generated(Network):
    """Base of networks of owners that a function of networkx generates from its fields in order.

    Attributes
    ----------
    generator : str, the name of the function
    seeded : bool, whether it is random
    below_count : str, the field that must be below the number of owners, if any
    """

    generator: ClassVar[str] = ""
    seeded: ClassVar[bool] = False
    below_count: ClassVar[str] = ""

    def make_graph(self, parties: Parties, *, rng: np.random.Generator) -> Graph[str]:
        import networkx as nx

        count = len(parties.owners)
        key = self.below_count
        if key and getattr(self, key) >= count:
            rule = f"must be below the number of owners, {count}"
            raise parties.make_error(rule, getattr(self, key), key=key)
        options = {"seed": rng} if self.seeded else {}
        made = getattr(nx, self.generator)(count, *self.arguments(parties), **options)
        return rename_nodes(made, parties.names)

    def arguments(self, parties: Parties) -> tuple[Any, ...]:
        """Arguments of the function after the number of owners."""
        return astuple(self)  # type: ignore[call-overload, no-any-return]


@dataclass(frozen=True)
class Complete(Network):
    """All possible links: a market without a network.

    Source: networkx, complete_graph and complete_bipartite_graph.
    """

    title = "everybody is linked to everybody"

    def make_graph(self, parties: Parties, *, rng: np.random.Generator) -> Graph[str]:
        import networkx as nx

        if parties.most_edges > MOST_EDGES:
            rule = f"must have at most {MOST_EDGES:,} edges"
            found = f"{parties.most_edges:,} in the complete graph"
            remedy = f"Leave [{parties.where}] out: that is the same market."
            raise parties.make_error(rule, found, remedy, "kind")
        made = nx.complete_graph(len(parties.owners))
        if parties.use == TRADE:
            made = nx.complete_bipartite_graph(len(parties.owners), len(parties.learners))
        return rename_nodes(made, parties.names)


@dataclass(frozen=True)
class Empty(Generated):
    """No links."""

    title = "nobody sees anybody"
    generator = "empty_graph"


@dataclass(frozen=True)
class Star(Network):
    """One owner in the middle, who sees all others and is seen by them; these see no one else.

    Source: networkx, star_graph.
    """

    title = "one owner in the middle"
    centre: Name | None = None
    """The owner in the middle; the first unless named."""

    def make_graph(self, parties: Parties, *, rng: np.random.Generator) -> Graph[str]:
        import networkx as nx

        names = list(parties.owners)
        if self.centre is not None:
            if self.centre not in names:
                found = format_value(self.centre)
                raise parties.make_error("must name an owner", found, key="centre")
            names.remove(self.centre)
            names.insert(0, self.centre)
        return rename_nodes(nx.star_graph(len(names) - 1), names)


@dataclass(frozen=True)
class Ring(Generated):
    """Owners in a circle, in their order; each sees the one before and the one after it.

    Source: networkx, cycle_graph.
    """

    title = "owners in a circle"
    generator = "cycle_graph"


@dataclass(frozen=True)
class Row(Generated):
    """Owners in a row, in their order; each sees those next to it.

    Source: networkx, path_graph.
    """

    title = "owners in a row"
    generator = "path_graph"


@dataclass(frozen=True)
class WattsStrogatz(Generated):
    """A small world: owners in a circle see those near them; some edges are rewired at random.

    Source: Watts and Strogatz, Collective dynamics of small-world networks (1998); networkx,
        watts_strogatz_graph.
    """

    title = "a small world"
    generator = "watts_strogatz_graph"
    seeded = True
    below_count = "neighbours"
    neighbours: Annotated[int, Ge(2)] = parameter(
        "Give how many owners near it each sees, an even number."
    )
    """How many owners near it each sees in the circle; of an odd number one less."""
    rewired: Chance = parameter("Give the chance that an edge leads anywhere instead.")
    """The chance that an edge leads to any other owner instead."""


@dataclass(frozen=True)
class BarabasiAlbert(Generated):
    """Preferential attachment: each owner in turn links to some before it, by numbers of links.

    Source: Barabási and Albert, Emergence of scaling in random networks (1999); networkx,
        barabasi_albert_graph.
    """

    title = "a few owners whom many see"
    generator = "barabasi_albert_graph"
    seeded = True
    below_count = "links"
    links: Count = parameter("Give how many owners before it each links to.")
    """How many owners before it each links to."""


@dataclass(frozen=True)
class ErdosRenyi(Network):
    """A random graph with one probability for every link.

    Source: Gilbert, Random graphs (1959); networkx, fast_gnp_random_graph.
    """

    title = "a random graph"
    chance: Chance = parameter("Give the chance of each edge.")
    """The chance of each edge."""
    directed: bool = False
    """Whether one may see another without being seen."""

    def make_graph(self, parties: Parties, *, rng: np.random.Generator) -> Graph[str]:
        import networkx as nx

        check_expected(parties, self.chance)
        count = len(parties.owners)
        made = nx.fast_gnp_random_graph(count, self.chance, seed=rng, directed=self.directed)
        return rename_nodes(made, parties.owners)


@dataclass(frozen=True)
class Groups(Network):
    """Groups of owners, in their order and as even as can be, with links inside and across.

    Source: Holland, Laskey and Leinhardt, Stochastic blockmodels (1983); networkx,
        stochastic_block_model.
    """

    title = "groups that see little of each other"
    inside: Chance = parameter("Give the chance of an edge inside a group.")
    """The chance of an edge inside a group."""
    across: Chance = parameter("Give the chance of an edge between two groups.")
    """The chance of an edge between owners of two groups."""
    groups: Count = 2
    """How many groups."""

    def make_graph(self, parties: Parties, *, rng: np.random.Generator) -> Graph[str]:
        import networkx as nx

        count = len(parties.owners)
        if self.groups > count:
            rule = f"must be at most the number of owners, {count}"
            raise parties.make_error(rule, self.groups, key="groups")
        check_expected(parties, max(self.inside / self.groups, self.across))
        sizes = [len(part) for part in np.array_split(np.arange(count), self.groups)]
        chances = np.where(np.eye(self.groups, dtype=bool), self.inside, self.across)
        made = nx.stochastic_block_model(sizes, chances.tolist(), seed=rng)
        return rename_nodes(made, parties.owners)


@dataclass(frozen=True)
class BipartiteRandom(Network):
    """A random graph of owners and learners; an owner without a link is not in the market.

    Source: networkx, bipartite.random_graph.
    """

    title = "a random graph of owners and learners"
    chance: Chance = parameter("Give the chance of each edge.")
    """The chance of each edge."""

    def make_graph(self, parties: Parties, *, rng: np.random.Generator) -> Graph[str]:
        from networkx.algorithms.bipartite import random_graph

        check_expected(parties, self.chance)
        made = random_graph(len(parties.owners), len(parties.learners), self.chance, seed=rng)
        return rename_nodes(made, parties.names)


@dataclass(frozen=True)
class Captive(Network):
    """Owners assigned to learners in turn; the first few, bridges, may sell to all learners.

    Source: the toy of Kranton and Minehart, A theory of buyer-seller networks (2001): links are
        the basis of bargaining.
    """

    title = "owners of one learner each, and bridges"
    bridges: CountOrZero = 0
    """How many owners, the first ones, may sell to all learners."""

    def make_graph(self, parties: Parties, *, rng: np.random.Generator) -> Graph[str]:
        owners = parties.owners
        if self.bridges > len(owners):
            rule = f"must be at most the number of owners, {len(owners)}"
            raise parties.make_error(rule, self.bridges, key="bridges")
        first = owners[: self.bridges]
        pairs = [(owner, learner) for owner in first for learner in parties.learners]
        pairs += list(zip(owners[self.bridges :], cycle(parties.learners), strict=False))
        return named_graph(parties, pairs, directed=False, key="bridges")


@dataclass(frozen=True)
class Edges(Network):
    """The edges listed one by one, by name."""

    title = "as listed"
    edges: Pairs = parameter("List pairs of names.")
    """Pairs of names; where directed, the first sees the second."""
    directed: bool = False
    """Whether one may see another without being seen; says nothing of trade."""
    alone: Names = None
    """Who has no edge; everybody else must be in one."""

    def make_graph(self, parties: Parties, *, rng: np.random.Generator) -> Graph[str]:
        graph = named_graph(parties, self.edges, directed=self.directed, key="edges")
        named = {name for pair in self.edges for name in pair}
        check_everyone_named(parties, named, self.alone or (), "edges")
        return graph


def check_expected(parties: Parties, chance: float) -> None:
    """Refuse a random graph with too many edges."""
    expected = chance * parties.most_edges
    if expected > MOST_EDGES:
        rule = f"must have at most {MOST_EDGES:,} edges"
        found = f"about {expected:,.0f} with a chance of {chance:g}"
        raise parties.make_error(rule, found, "Lower it.", "chance")


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
