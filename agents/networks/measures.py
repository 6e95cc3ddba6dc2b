"""What a place in a network is worth: how central each node is, and whether who is central has more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import scipy

if TYPE_CHECKING:
    from networkx import Graph

STEPS = 1_000_000  # edges that the search for shortest paths may look at
FEWEST = 10  # nodes that it starts from at least
SMALL = 200  # nodes up to which a matrix is laid out in full
HALF = 0.5  # of the largest factor that Bonacich's sum over ever longer ways converges for


def centralities(graph: Graph[str], *, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """How central each node is in four ways, each (n_nodes,) in the order of the graph.

    Parameters
    ----------
    graph : networkx.Graph
        Of a directed one degree counts whom a node sees.
    rng : numpy.random.Generator
        Draws the nodes that shortest paths are looked for from, in a graph too large for all.

    Returns
    -------
    dict
        ``degree``: with how many others a node is linked. ``betweenness``: on what part of all pairs' shortest ways it
        lies (Freeman). ``bonacich``: ``(I - b A)^-1 A 1``, scaled to mean square 1: who is linked to the well linked is
        central. ``scarcity``: the sum over those it is linked to of one over how many links these have: who is one of few,
        or bridges to those who have few.

    Source: Freeman (1977); Brandes and Pich, Centrality estimation in large networks (2007), where nodes are drawn;
    Bonacich, Power and centrality: a family of measures (1987), ``b`` half of what the sum converges for. His ``b < 0``, for
    bargaining, is not used: owners then count below 0 wherever learners have more than four times as many partners.

    >>> import networkx as nx
    >>> bridge = nx.Graph([("A", "one"), ("B", "one"), ("B", "two"), ("C", "two")])
    >>> found = centralities(bridge, rng=np.random.default_rng(0))
    >>> dict(zip(bridge, found["betweenness"].round(3).tolist()))
    {'A': 0.0, 'one': 0.5, 'B': 0.667, 'two': 0.5, 'C': 0.0}
    >>> dict(zip(bridge, found["scarcity"].round(3).tolist()))
    {'A': 0.5, 'one': 1.5, 'B': 1.0, 'two': 1.5, 'C': 0.5}
    """
    import networkx as nx

    count, sources = len(graph), starting_points(graph)
    if sources == count:
        between = nx.betweenness_centrality(graph)
    else:
        seed = int(rng.integers(2**31))
        between = nx.betweenness_centrality(graph, k=sources, seed=seed)
    adjacency = nx.to_scipy_sparse_array(graph, dtype=float, format="csr")
    links = np.asarray(adjacency.sum(axis=1)).ravel()
    return {
        "degree": links.astype(int),
        "betweenness": np.array([between[node] for node in graph]),
        "bonacich": bonacich(adjacency),
        "scarcity": adjacency @ (1 / np.maximum(np.asarray(adjacency.sum(axis=0)).ravel(), 1.0)),
    }


def starting_points(graph: Graph[str]) -> int:
    """How many nodes shortest paths are looked for from: all, where that looks at no more than so many edges."""
    edges = graph.number_of_edges() * (1 if graph.is_directed() else 2)
    return min(len(graph), max(FEWEST, STEPS // (len(graph) + edges)))


def bonacich(adjacency: scipy.sparse.csr_array) -> np.ndarray:
    """Bonacich's centrality of each node (n,), ``(I - b A)^-1 A 1`` with b half of one over the norm of A; mean square 1.

    >>> star = scipy.sparse.csr_array(np.array([[0.0, 1, 1, 1], [1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]]))
    >>> bonacich(star).round(3).tolist()
    [1.534, 0.741, 0.741, 0.741]
    """
    count, degree = adjacency.shape[0], np.asarray(adjacency.sum(axis=1)).ravel()
    if not degree.any():
        return np.zeros(count)
    if count <= SMALL:
        largest = float(np.linalg.norm(adjacency.toarray(), 2))
    else:
        square = adjacency.T @ adjacency
        start = np.ones(count)
        found = scipy.sparse.linalg.eigsh(square, k=1, v0=start, return_eigenvectors=False)
        largest = float(np.sqrt(found[0]))
    matrix = scipy.sparse.eye_array(count, format="csc") - (HALF / largest) * adjacency.tocsc()
    power = scipy.sparse.linalg.spsolve(matrix, degree)
    return np.asarray(power / np.sqrt(np.mean(power**2)))


def rank_correlations(columns: Mapping[str, np.ndarray], surplus: np.ndarray) -> list[dict[str, object]]:
    """Spearman's rank correlation of each column (n,) with the surplus (n,); none where either is the same for all.

    Differences of a part in 10^9 are rounding, and no rank.

    >>> rank_correlations({"degree": np.array([2, 1, 1]), "same": np.ones(3)}, np.array([9.0, 4.0, 4.0 + 1e-12]))
    [{'centrality': 'degree', 'spearman': 1.0, 'owners': 3}]
    """
    ranked = tied(surplus)
    found = []
    for name, column in columns.items():
        central = tied(column)
        if np.ptp(central) > 0 and np.ptp(ranked) > 0:
            rho = float(scipy.stats.spearmanr(central, ranked).statistic)
            found.append({"centrality": name, "spearman": round(rho, 12), "owners": len(surplus)})
    return found


def tied(values: np.ndarray) -> np.ndarray:
    """Numbers (n,) with those made equal that differ by rounding alone."""
    numbers = np.asarray(values, dtype=float)
    grain = 1e-9 * float(np.abs(numbers).max(initial=0.0))
    return np.round(numbers / grain) * grain if grain else numbers
