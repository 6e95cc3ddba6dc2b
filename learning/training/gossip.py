"""Gossip: a learner hears the owners' answers along the links of a graph, by repeated averages.

In each round every node takes a weighted mean of its own value and its neighbours', with a
symmetric matrix W whose rows sum to 1. After R rounds a node holds W^R of what all began with.
Values and numbers of records are averaged alike, and their ratio is what the learner takes. So it
takes a mean of the answers with known weights: an owner's records times its reach, M (W^R)_lj for
the learner l and M nodes. On a complete graph one round gives the mean by records.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import Array

MOST_NODES = 2000  # of a graph whose eigenvalues are computed


def averaging_matrix(links: ArrayLike) -> Array:
    """Metropolis weights W (M, M) of an undirected graph with links (M, M).

    W_ij = 1/(1 + the larger number of links of i and j) for each link, and W_ii what is left to 1.

    Source: Xiao, Boyd and Lall, A Scheme for Robust Distributed Sensor Fusion Based on Average
        Consensus.

    >>> averaging_matrix([[0, 1, 0], [1, 0, 1], [0, 1, 0]]).round(3).tolist()
    [[0.667, 0.333, 0.0], [0.333, 0.333, 0.333], [0.0, 0.333, 0.667]]
    """
    links = np.asarray(links, dtype=bool)
    degree = links.sum(axis=0)
    matrix = np.where(links, 1 / (1 + np.maximum(degree[:, None], degree)), 0.0)
    return matrix + np.diag(1 - matrix.sum(axis=1))


def find_reach(matrix: Array, node: int, rounds: int) -> Array:
    """Reach (M,) of each node's value at one node, M (W^R)_node; 1 each once all are averaged.

    Source: Kempe, Dobra and Gehrke, Gossip-Based Computation of Aggregate Information (ratios of
        values to weights that are averaged alike).

    >>> find_reach(np.full((4, 4), 0.25), 0, 1).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    held = np.zeros(len(matrix))
    held[node] = len(matrix)
    for _ in range(rounds):
        held = matrix @ held
    return held


def second_modulus(matrix: Array) -> float:
    """Second-largest modulus s of an eigenvalue: |W^R_l - 1/M|_2 <= s^R for the row of any node.

    Source: Xiao and Boyd, Fast Linear Iterations for Distributed Averaging.

    >>> round(second_modulus(averaging_matrix([[0, 1, 0], [1, 0, 1], [0, 1, 0]])), 3)
    0.667
    """
    values = np.sort(np.abs(np.linalg.eigvalsh(matrix)))
    return float(values[-2]) if len(values) > 1 else 0.0
