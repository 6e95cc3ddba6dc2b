"""What a network is: a graph of owners and learners by their names, checked against the use that is made of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from learning.declaration import Declaration, shown
from learning.errors import InputError

if TYPE_CHECKING:  # it takes a tenth of a second, which who reads a scenario need not wait for
    from networkx import Graph

TRADE, SIGHT = "trade", "sight"
MOST_EDGES = 2_000_000  # beyond them a graph takes gigabytes


@dataclass(frozen=True)
class Parties:
    """Who stands in a network, and what its edges say.

    Parameters
    ----------
    use : str
        "trade": an owner and a learner who are joined may trade. "sight": an owner sees the budget of another.
    owners : tuple of str
    learners : tuple of str
    left_out : frozenset of str
        Names of owners who are not in the market, whom a file may name.
    """

    use: str
    owners: tuple[str, ...]
    learners: tuple[str, ...] = ()
    left_out: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        both = sorted({*self.owners} & {*self.learners})
        if both:
            raise self.refused("must tell owners and learners apart by name", f"{shown(both[0])}, who is both")

    @property
    def where(self) -> str:
        """The table of the scenario that the network stands in."""
        return f"network.{self.use}"

    @property
    def names(self) -> tuple[str, ...]:
        """Whom edges may join."""
        return self.owners + self.learners if self.use == TRADE else self.owners

    @property
    def most_edges(self) -> int:
        """Edges of the complete graph."""
        count = len(self.owners)
        return count * len(self.learners) if self.use == TRADE else count * (count - 1) // 2

    def refused(self, rule: str, found: object, remedy: str = "", key: str = "") -> InputError:
        """An error in this network's table."""
        return InputError(f"{self.where}.{key}".rstrip("."), rule, found, remedy)


class Network(Declaration, ABC):
    """Base of networks: a frozen dataclass whose fields are the parameters of a graph.

    Attributes
    ----------
    title : str, in a few words what it looks like
    """

    title: ClassVar[str] = ""

    @abstractmethod
    def graph(self, parties: Parties, *, rng: np.random.Generator) -> Graph[str]:
        """The graph, its nodes the names of ``parties``; an edge of a directed one leads from who sees to who is seen.

        Raises
        ------
        InputError
            Where it cannot be: too few nodes for it, an unknown name, an edge of the wrong kind.
        """

    def located(self, locate: Any) -> Self:
        """The same with the files that it names where ``locate`` says they stand."""
        return self


def between(parties: Parties, pairs: Iterable[tuple[str, str]], *, directed: bool, key: str = "") -> Graph[str]:
    """The graph of named pairs, each checked.

    Parameters
    ----------
    parties : Parties
    pairs : pairs of names
    directed : bool
        Whether a pair is another one than the same turned round.
    key : str
        Where the pairs stand, for errors.

    Raises
    ------
    InputError
        A name that is nobody's, a pair of one name twice, the same pair twice, or two who cannot be joined so.

    >>> parties = Parties("trade", ("Ann", "Bo"), ("bank",))
    >>> sorted(between(parties, [("Ann", "bank")], directed=False, key="edges").nodes)
    ['Ann', 'Bo', 'bank']
    >>> between(parties, [("Ann", "bnk")], directed=False, key="edges")
    Traceback (most recent call last):
    learning.errors.InputError: network.trade.edges: must name owners and learners; found "bnk". Did you mean "bank"?
    """
    import networkx as nx

    graph: Graph[str] = nx.DiGraph() if directed and parties.use == SIGHT else nx.Graph()
    graph.add_nodes_from(parties.names)
    kept = [pair for pair in pairs if parties.left_out.isdisjoint(pair)]
    known, owners = set(parties.names), set(parties.owners)
    for one, other in kept:
        for name in (one, other):
            if name not in known:
                raise unknown(parties, name, key)
        if one == other:
            raise parties.refused("must join two who differ", f"{shown(one)} with itself", key=key)
        if parties.use == TRADE and (one in owners) == (other in owners):
            who = "owners" if one in owners else "learners"
            raise parties.refused("must join an owner and a learner", f"two {who}, {shown([one, other])}", key=key)
    graph.add_edges_from(kept)
    if len(kept) > graph.number_of_edges():
        told = Counter(pair if graph.is_directed() else tuple(sorted(pair)) for pair in kept)
        raise parties.refused("must join each pair once", f"{shown(list(told.most_common(1)[0][0]))} twice", key=key)
    return graph


def unknown(parties: Parties, name: str, key: str) -> InputError:
    """The refusal of a name that is nobody's, or that cannot stand in this network."""
    who = "owners and learners" if parties.use == TRADE else "owners"
    if name in parties.learners:
        return parties.refused("must join owners, who see each other", f"the learner {shown(name)}", key=key)
    close = get_close_matches(str(name), parties.names, n=1, cutoff=0.5)
    few = f"Known here: {', '.join(parties.names[:20])}{', ...' if len(parties.names) > 20 else ''}."
    remedy = f'Did you mean "{close[0]}"?' if close else few
    return parties.refused(f"must name {who}", shown(name), remedy, key)


def everyone_named(parties: Parties, named: Iterable[str], alone: Iterable[str], key: str) -> None:
    """Refuse a list that leaves out somebody of whom it is not said that it stands alone.

    Raises
    ------
    InputError
        Also where who is said to stand alone is nobody, or does not.
    """
    there, lonely = set(named), set(alone) - parties.left_out
    for name in sorted(lonely):
        if name not in parties.names:
            raise unknown(parties, name, "alone")
        if name in there:
            raise parties.refused("must name who has no edge", f"{shown(name)}, who has one", key="alone")
    missing = [name for name in parties.names if name not in there | lonely]
    if missing:
        remedy = "Add it, or name it in alone, who have no edge."
        raise parties.refused("must have everybody", f"no {shown(missing[0])}", remedy, key)


def linked(network: Network, parties: Parties, *, rng: np.random.Generator) -> Graph[str]:
    """The graph of a network, its nodes in the order of ``parties.names``.

    Raises
    ------
    InputError
        What `Network.graph` refuses, edges that are none of this use, or trade in which nobody can sell.
    """
    import networkx as nx

    try:
        found = network.graph(parties, rng=rng)
    except nx.NetworkXError as error:
        raise parties.refused("must be a graph that there is", error) from None
    graph = between(parties, found.edges, directed=found.is_directed())
    if parties.use == TRADE and not graph.number_of_edges():
        raise parties.refused("must join an owner and a learner", "no edge: nobody could sell")
    return graph


def who_may_sell(graph: Graph[str], parties: Parties) -> np.ndarray:
    """The edges of trade as `market.competition.market.Competition` takes them, bool (n_owners, n_learners)."""
    links = np.zeros((len(parties.owners), len(parties.learners)), dtype=bool)
    row = {name: i for i, name in enumerate(parties.owners)}
    column = {name: j for j, name in enumerate(parties.learners)}
    for one, other in graph.edges:
        owner, learner = (one, other) if one in row else (other, one)
        links[row[owner], column[learner]] = True
    return links
