"""The interface of a network: a graph of owners and learners by name, checked for its use."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

import numpy as np

from agents.networks import GOSSIP, TRADE
from learning.declaration import Declaration, ListOf, Words, format_value
from learning.errors import InputError

if TYPE_CHECKING:  # its import takes a tenth of a second, spared to readers of scenarios
    from networkx import Graph

MOST_EDGES = 2_000_000  # beyond them a graph takes gigabytes
Name = Annotated[str, Words("a name in quotes")]
Names = Annotated[tuple[Name, ...], ListOf("a list of names")] | None


@dataclass(frozen=True)
class Parties:
    """The nodes of a network, and the use of its edges.

    Parameters
    ----------
    use : str
        "trade": an edge between an owner and a learner allows trade. "sight": an edge shows an
        owner the budget of another. "gossip": an edge passes answers on; the last of the owners is
        the learner.
    owners : tuple of str
    learners : tuple of str
    left_out : frozenset of str
        Names of owners who are not in the market, which a file may contain.
    """

    use: str
    owners: tuple[str, ...]
    learners: tuple[str, ...] = ()
    left_out: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        both = sorted({*self.owners} & {*self.learners})
        if both:
            rule = "must tell owners and learners apart by name"
            raise self.make_error(rule, f"{format_value(both[0])}, who is both")

    @property
    def where(self) -> str:
        """Table of the network in the scenario."""
        return "learning.gossip.graph" if self.use == GOSSIP else f"network.{self.use}"

    @property
    def names(self) -> tuple[str, ...]:
        """Possible ends of edges."""
        return self.owners + self.learners if self.use == TRADE else self.owners

    @property
    def most_edges(self) -> int:
        """Number of edges of the complete graph."""
        count = len(self.owners)
        return count * len(self.learners) if self.use == TRADE else count * (count - 1) // 2

    def make_error(self, rule: str, found: object, remedy: str = "", key: str = "") -> InputError:
        """Make an error in this network's table."""
        return InputError(f"{self.where}.{key}".rstrip("."), rule, found, remedy)

    def unknown_name(self, name: str, key: str) -> InputError:
        """Make the error of a name that is unknown, or cannot be in this network."""
        if name in self.learners:
            rule = "must join two owners"
            return self.make_error(rule, f"the learner {format_value(name)}", key=key)
        who = "owners and learners" if self.use == TRADE else "owners"
        close = get_close_matches(str(name), self.names, n=1, cutoff=0.5)
        more = ", ..." if len(self.names) > 20 else ""
        remedy = f"Known here: {', '.join(self.names[:20])}{more}."
        if close:
            remedy = f'Did you mean "{close[0]}"?'
        return self.make_error(f"must name {who}", format_value(name), remedy, key)


class Network(Declaration, ABC):
    """Base of networks: a frozen dataclass whose fields are the parameters of a graph.

    Attributes
    ----------
    title : str, a description in a few words
    """

    title: ClassVar[str] = ""

    @abstractmethod
    def make_graph(self, parties: Parties, *, rng: np.random.Generator) -> Graph[str]:
        """Make the graph of the names of ``parties``; directed edges lead to the owner seen.

        Raises
        ------
        InputError
            For too few nodes, an unknown name, or an edge of the wrong kind.
        """

    def located(self, locate: Any) -> Self:
        """Return the network with its files at the places that ``locate`` gives."""
        return self


def named_graph(
    parties: Parties, pairs: Iterable[tuple[str, str]], *, directed: bool, key: str = ""
) -> Graph[str]:
    """Make the graph of named pairs, each checked.

    Parameters
    ----------
    parties : Parties
    pairs : pairs of names
    directed : bool, whether a pair of owners differs from the reversed one
    key : str, the scenario key of the pairs, for errors

    Raises
    ------
    InputError
        For an unknown name, a pair of one name twice, the same pair twice, or two names that cannot
        be joined.

    >>> parties = Parties("trade", ("Ann", "Bo"), ("bank",))
    >>> sorted(named_graph(parties, [("Ann", "bank")], directed=False, key="edges").nodes)
    ['Ann', 'Bo', 'bank']
    >>> try: named_graph(parties, [("Ann", "bnk")], directed=False, key="edges")
    ... except InputError as error: print(error)
    network.trade.edges: must name owners and learners; found "bnk". Did you mean "bank"?
    """
    import networkx as nx

    graph: Graph[str] = nx.DiGraph() if directed and parties.use != TRADE else nx.Graph()
    graph.add_nodes_from(parties.names)
    kept = [pair for pair in pairs if parties.left_out.isdisjoint(pair)]
    known = set(parties.names)
    owners = set(parties.owners)
    for one, other in kept:
        for name in (one, other):
            if name not in known:
                raise parties.unknown_name(name, key)
        rule = found = ""
        if one == other:
            rule = "must join two different owners"
            found = f"{format_value(one)} with itself"
        elif parties.use == TRADE and (one in owners) == (other in owners):
            who = "owners" if one in owners else "learners"
            rule = "must join an owner and a learner"
            found = f"two {who}, {format_value([one, other])}"
        if rule:
            raise parties.make_error(rule, found, key=key)
    graph.add_edges_from(kept)
    if len(kept) > graph.number_of_edges():
        counts = Counter(pair if graph.is_directed() else tuple(sorted(pair)) for pair in kept)
        ((twice, _),) = counts.most_common(1)
        found = f"{format_value(list(twice))} twice"
        raise parties.make_error("must join each pair once", found, key=key)
    return graph


def check_everyone_named(
    parties: Parties, named: Iterable[str], alone: Iterable[str], key: str
) -> None:
    """Refuse a list of edges that lacks a node, unless the node is stated to be alone.

    Raises
    ------
    InputError
        Also for a node stated to be alone that is unknown, or has an edge.
    """
    there = set(named)
    lonely = set(alone) - parties.left_out
    for name in sorted(lonely):
        if name not in parties.names:
            raise parties.unknown_name(name, "alone")
        if name in there:
            found = f"{format_value(name)}, who has one"
            raise parties.make_error("must name who has no edge", found, key="alone")
    there |= lonely
    missing = [name for name in parties.names if name not in there]
    if missing:
        remedy = "Add it, or name it in alone, the list of owners without an edge."
        found = f"no {format_value(missing[0])}"
        raise parties.make_error("must have everybody", found, remedy, key)


def linked_graph(network: Network, parties: Parties, *, rng: np.random.Generator) -> Graph[str]:
    """Make and check the graph of a network, with nodes in the order of ``parties.names``.

    Raises
    ------
    InputError
        As `Network.make_graph`; for edges of another use; or for trade in which no owner can sell.
    """
    import networkx as nx

    try:
        found = network.make_graph(parties, rng=rng)
    except nx.NetworkXError as error:
        raise parties.make_error("must be a graph that there is", error) from None
    graph = named_graph(parties, found.edges, directed=found.is_directed())
    if parties.use == TRADE and not graph.number_of_edges():
        rule = "must join an owner and a learner"
        raise parties.make_error(rule, "no edge: nobody could sell")
    return graph


def trade_links(graph: Graph[str], parties: Parties) -> np.ndarray:
    """Links of `market.competition.market.Competition`, bool (n_owners, n_learners)."""
    links = np.zeros((len(parties.owners), len(parties.learners)), dtype=bool)
    row = {name: i for i, name in enumerate(parties.owners)}
    column = {name: j for j, name in enumerate(parties.learners)}
    for one, other in graph.edges:
        owner, learner = (one, other) if one in row else (other, one)
        links[row[owner], column[learner]] = True
    return links
