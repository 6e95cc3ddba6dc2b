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
from itertools import combinations, cycle, product
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge, Le
from pydantic import PlainValidator

from agents.networks import TRADE
from agents.networks.base import (
    MOST_EDGES,
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


class Generated(Network):
    """Base of networks that a function of networkx generates.

    Attributes
    ----------
    generator : str, the name of the function
    seeded : bool, whether it is random
    spared : dict, fields that are at most the number of owners, less a number
    """

    generator: ClassVar[str] = ""
    seeded: ClassVar[bool] = False
    spared: ClassVar[dict[str, int]] = {}

    def expected_edges(self, parties: Parties) -> float:
        """Expected number of edges; 0 of a graph that has at most one for each owner."""
        return float(getattr(self, "chance", 0.0)) * parties.most_edges

    def make_graph(self, parties: Parties, *, rng: np.random.Generator) -> Graph[str]:
        import networkx as nx

        for key, spare in self.spared.items():
            check_number(parties, key, getattr(self, key), spare)
        expected = self.expected_edges(parties)
        if expected > MOST_EDGES:
            rule = f"must have at most {MOST_EDGES:,} edges"
            raise parties.make_error(rule, f"about {expected:,.0f}", "Ask for fewer.")
        options: dict[str, Any] = {"seed": rng} if self.seeded else {}
        if getattr(self, "directed", False):
            options["directed"] = True
        make = attrgetter(self.generator)(nx)
        graph = make(*self.generator_arguments(parties), **options)
        graph.remove_edges_from(list(nx.selfloop_edges(graph)))  # of a ring of one
        return nx.relabel_nodes(graph, dict(enumerate(self.names_in_order(parties))))

    def generator_arguments(self, parties: Parties) -> tuple[Any, ...]:
        """Arguments of the function; by default the number of owners, and the fields in order."""
        return (len(parties.owners), *astuple(self))  # type: ignore[call-overload]

    def names_in_order(self, parties: Parties) -> Sequence[str]:
        """Names of the nodes, in the order in which they are generated."""
        return parties.names


def check_number(parties: Parties, key: str, number: int, spare: int = 0) -> None:
    """Refuse a number of owners above all of them, less a spare one."""
    count = len(parties.owners)
    if number > count - spare:
        rule = f"must be {'below' if spare else 'at most'} the number of owners, {count}"
        raise parties.make_error(rule, number, key=key)


@dataclass(frozen=True)
class Complete(Network):
    """All possible links: a market without a network."""

    title = "everybody is linked to everybody"

    def make_graph(self, parties: Parties, *, rng: np.random.Generator) -> Graph[str]:
        import networkx as nx

        if parties.most_edges > MOST_EDGES:
            rule = f"must have at most {MOST_EDGES:,} edges"
            found = f"{parties.most_edges:,} in the complete graph"
            remedy = f"Leave [{parties.where}] out: that is the same market."
            raise parties.make_error(rule, found, remedy, "kind")
        if parties.use == TRADE:
            return nx.Graph(product(parties.owners, parties.learners))
        return nx.Graph(combinations(parties.owners, 2))


@dataclass(frozen=True)
class Empty(Generated):
    """No links."""

    title = "nobody sees anybody"
    generator = "empty_graph"


@dataclass(frozen=True)
class Star(Generated):
    """One owner in the middle, who sees all others and is seen by them; these see no one else.

    Source: networkx, star_graph.
    """

    title = "one owner in the middle"
    generator = "star_graph"
    centre: Name | None = None
    """The owner in the middle; the first unless named."""

    def generator_arguments(self, parties: Parties) -> tuple[int, ...]:
        return (len(parties.owners) - 1,)

    def names_in_order(self, parties: Parties) -> Sequence[str]:
        if self.centre not in (None, *parties.owners):
            found = format_value(self.centre)
            raise parties.make_error("must name an owner", found, key="centre")
        return sorted(parties.owners, key=lambda name: name != self.centre)


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
    spared = {"neighbours": 1}
    neighbours: Annotated[int, Ge(2)] = parameter(
        "Give how many owners near it each sees, an even number."
    )
    """Number of nearest owners on the circle that each sees; odd numbers are reduced by one."""
    rewired: Chance = parameter("Give the chance that an edge leads anywhere instead.")
    """The chance that an edge leads to any other owner instead."""

    def expected_edges(self, parties: Parties) -> float:
        return len(parties.owners) * (self.neighbours // 2)


@dataclass(frozen=True)
class BarabasiAlbert(Generated):
    """Preferential attachment: each owner in turn links to some before it, by numbers of links.

    Source: Barabási and Albert, Emergence of scaling in random networks (1999); networkx,
        barabasi_albert_graph.
    """

    title = "a few owners whom many see"
    generator = "barabasi_albert_graph"
    seeded = True
    spared = {"links": 1}
    links: Count = parameter("Give how many owners before it each links to.")
    """Number of earlier owners that each links to."""

    def expected_edges(self, parties: Parties) -> float:
        return (len(parties.owners) - self.links) * self.links


@dataclass(frozen=True)
class ErdosRenyi(Generated):
    """A random graph with one probability for every link.

    Source: Gilbert, Random graphs (1959); networkx, fast_gnp_random_graph.
    """

    title = "a random graph"
    generator = "fast_gnp_random_graph"
    seeded = True
    chance: Chance = parameter("Give the chance of each edge.")
    """The chance of each edge."""
    directed: bool = False
    """Whether one may see another without being seen."""

    def generator_arguments(self, parties: Parties) -> tuple[Any, ...]:
        return len(parties.owners), self.chance


@dataclass(frozen=True)
class Groups(Generated):
    """Groups of owners, in their order and as even as can be, with links inside and across.

    Source: Holland, Laskey and Leinhardt, Stochastic blockmodels (1983); networkx,
        stochastic_block_model.
    """

    title = "groups that see little of each other"
    generator = "stochastic_block_model"
    seeded = True
    spared = {"groups": 0}
    inside: Chance = parameter("Give the chance of an edge inside a group.")
    """The chance of an edge inside a group."""
    across: Chance = parameter("Give the chance of an edge between two groups.")
    """The chance of an edge between owners of two groups."""
    groups: Count = 2
    """Number of groups."""

    def expected_edges(self, parties: Parties) -> float:
        chance = self.across + (self.inside - self.across) / self.groups
        return chance * parties.most_edges

    def generator_arguments(self, parties: Parties) -> tuple[Any, ...]:
        sizes = [len(part) for part in np.array_split(parties.owners, self.groups)]
        chances = np.where(np.eye(self.groups, dtype=bool), self.inside, self.across)
        return sizes, chances.tolist()


@dataclass(frozen=True)
class BipartiteRandom(Generated):
    """A random graph of owners and learners; an owner without a link is not in the market.

    Source: networkx, bipartite.random_graph.
    """

    title = "a random graph of owners and learners"
    generator = "bipartite.random_graph"
    seeded = True
    chance: Chance = parameter("Give the chance of each edge.")
    """The chance of each edge."""

    def generator_arguments(self, parties: Parties) -> tuple[Any, ...]:
        return len(parties.owners), len(parties.learners), self.chance


@dataclass(frozen=True)
class Captive(Network):
    """Owners assigned to learners in turn; the first few, bridges, may sell to all learners.

    Source: the toy of Kranton and Minehart, A theory of buyer-seller networks (2001): links are
        the basis of bargaining.
    """

    title = "owners of one learner each, and bridges"
    bridges: CountOrZero = 0
    """Number of owners, counted from the first, who may sell to all learners."""

    def make_graph(self, parties: Parties, *, rng: np.random.Generator) -> Graph[str]:
        owners = parties.owners
        check_number(parties, "bridges", self.bridges)
        pairs = list(product(owners[: self.bridges], parties.learners))
        pairs += zip(owners[self.bridges :], cycle(parties.learners), strict=False)
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
    """Owners without an edge; everybody else must be in one."""

    def make_graph(self, parties: Parties, *, rng: np.random.Generator) -> Graph[str]:
        graph = named_graph(parties, self.edges, directed=self.directed, key="edges")
        named = {name for pair in self.edges for name in pair}
        check_everyone_named(parties, named, self.alone or (), "edges")
        return graph


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
NETWORKS["gossip"] = {  # each answer must reach the learner, and the scenario has the whole graph
    name: kind for name, kind in NETWORKS["sight"].items() if name not in ("empty", "file")
}
