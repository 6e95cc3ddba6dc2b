"""Centralities of the nodes of a network, and their rank correlation with surplus."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import scipy

if TYPE_CHECKING:
    from networkx import Graph

STEPS = 1_000_000  # edges visited by the search for shortest paths, at most
FEWEST = 10  # nodes that it starts from at least
SMALL = 200  # nodes up to which a matrix is dense
HALF = 0.5  # of the largest factor for which Bonacich's sum converges


def centralities(graph: Graph[str], *, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Four centralities of each node, each (n_nodes,) in the order of the graph.

    Parameters
    ----------
    graph : networkx.Graph
        The degree counts outgoing edges of a directed one.
    rng : numpy.random.Generator
        Draws the sources of shortest paths in a graph too large for all.

    Returns
    -------
    dict
        ``degree``: number of links. ``betweenness``: share of all pairs' shortest paths through it
        (Freeman). ``bonacich``: ``(I - b A)^-1 A 1``, scaled to mean square 1: links to the well
        linked count more. ``scarcity``: the sum over neighbours of one over their numbers of links:
        it is high for a node that is one of few, or bridges to nodes that have few.

    Source: Freeman (1977); Brandes and Pich, Centrality estimation in large networks (2007), where
        nodes are drawn; Bonacich, Power and centrality: a family of measures (1987), ``b`` half of
        the limit of convergence. His ``b < 0``, for bargaining, is not used: owners then count
        below 0 wherever learners have more than four times as many partners.

    >>> import networkx as nx
    >>> bridge = nx.Graph([("A", "one"), ("B", "one"), ("B", "two"), ("C", "two")])
    >>> found = centralities(bridge, rng=np.random.default_rng(0))
    >>> dict(zip(bridge, found["betweenness"].round(3).tolist()))
    {'A': 0.0, 'one': 0.5, 'B': 0.667, 'two': 0.5, 'C': 0.0}
    >>> dict(zip(bridge, found["scarcity"].round(3).tolist()))
    {'A': 0.5, 'one': 1.5, 'B': 1.0, 'two': 1.5, 'C': 0.5}
    """
    import networkx as nx

    sources = starting_points(graph)
    if sources == len(graph):
        between = nx.betweenness_centrality(graph)
    else:
        seed = int(rng.integers(2**31))
        between = nx.betweenness_centrality(graph, k=sources, seed=seed)
    adjacency = nx.to_scipy_sparse_array(graph, dtype=float, format="csr")
    links = np.asarray(adjacency.sum(axis=1)).ravel()
    linked = np.asarray(adjacency.sum(axis=0)).ravel()
    return {
        "degree": links.astype(int),
        "betweenness": np.array([between[node] for node in graph]),
        "bonacich": bonacich_centrality(adjacency),
        "scarcity": adjacency @ (1 / np.maximum(linked, 1.0)),
    }


def starting_points(graph: Graph[str]) -> int:
    """Count the sources of shortest paths: all nodes, where that visits at most ``STEPS`` edges."""
    edges = graph.number_of_edges() * (1 if graph.is_directed() else 2)
    return min(len(graph), max(FEWEST, STEPS // (len(graph) + edges)))


def bonacich_centrality(adjacency: scipy.sparse.csr_array) -> np.ndarray:
    """Bonacich's centrality (n,), ``(I - b A)^-1 A 1`` with b = 1/(2 |A|_2); mean square 1.

    >>> star = np.array([[0.0, 1, 1, 1], [1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]])
    >>> bonacich_centrality(scipy.sparse.csr_array(star)).round(3).tolist()
    [1.534, 0.741, 0.741, 0.741]
    """
    count = adjacency.shape[0]
    degree = np.asarray(adjacency.sum(axis=1)).ravel()
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


def rank_correlations(
    columns: Mapping[str, np.ndarray], surplus: np.ndarray
) -> list[dict[str, object]]:
    """Spearman's rank correlation of each column (n,) with the surplus (n,), unless constant.

    Differences of a part in 10^9 are rounding, and no rank.

    >>> columns = {"degree": np.array([2, 1, 1]), "same": np.ones(3)}
    >>> rank_correlations(columns, np.array([9.0, 4.0, 4.0 + 1e-12]))
    [{'centrality': 'degree', 'spearman': 1.0, 'owners': 3}]
    """
    ranked = round_ties(surplus)
    found = []
    for name, column in columns.items():
        central = round_ties(column)
        if np.ptp(central) > 0 and np.ptp(ranked) > 0:
            rho = float(scipy.stats.spearmanr(central, ranked).statistic)
            found.append({"centrality": name, "spearman": round(rho, 12), "owners": len(surplus)})
    return found


def round_ties(values: np.ndarray) -> np.ndarray:
    """Make numbers (n,) equal that differ by rounding alone."""
    numbers = np.asarray(values, dtype=float)
    grain = 1e-9 * float(np.abs(numbers).max(initial=0.0))
    return np.round(numbers / grain) * grain if grain else numbers
