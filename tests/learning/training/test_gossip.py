"""Gossip on a graph: weights of a round, the reach of each node, and how fast all agree."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from learning.forecast.weighting import Answers, GossipWeighting, SizeWeighting
from learning.training.gossip import averaging_matrix, find_reach, second_modulus


def pass_on(graph, values, rounds):
    """Gossip itself, message by message: each node moves towards its neighbours' values."""
    for _ in range(rounds):
        after = dict(values)
        for one, other in graph.edges:
            share = 1 / (1 + max(graph.degree(one), graph.degree(other)))
            after[one] = after[one] + share * (values[other] - values[one])
            after[other] = after[other] + share * (values[one] - values[other])
        values = after
    return values


GRAPHS = {
    "path": nx.path_graph(6),
    "star": nx.star_graph(6),
    "random": nx.connected_watts_strogatz_graph(15, 4, 0.3, seed=2),
    "lonely": nx.path_graph(1),
}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("rounds", [1, 4, 30])
def test_reach_is_what_messages_bring_and_no_farther_from_one_than_the_eigenvalue_says(
    name, rounds
):
    graph = GRAPHS[name]
    matrix = averaging_matrix(nx.to_numpy_array(graph))
    np.testing.assert_allclose(matrix.sum(axis=0), 1.0, rtol=1e-12)
    values = dict(zip(graph, np.random.default_rng(3).normal(size=len(graph)), strict=True))
    held = pass_on(graph, values, rounds)
    for node in graph:
        reach = find_reach(matrix, node, rounds)
        assert reach @ list(values.values()) / len(graph) == pytest.approx(held[node], abs=1e-12)
        away = np.linalg.norm(reach - 1) / len(graph)
        assert away <= second_modulus(matrix) ** rounds + 1e-12


def test_on_a_ring_the_modulus_is_the_known_one():
    for nodes in (4, 5, 9):
        matrix = averaging_matrix(nx.to_numpy_array(nx.cycle_graph(nodes)))
        known = [abs(1 + 2 * np.cos(2 * np.pi * k / nodes)) / 3 for k in range(1, nodes)]
        assert second_modulus(matrix) == pytest.approx(max(known), rel=1e-12)


def test_gossip_weighs_by_records_and_reach_and_equal_reach_by_records():
    sizes = np.array([100.0, 300.0, 50.0])
    answers = Answers(np.array([2.0, 1.0, 4.0]), sizes, np.array([True, True, True]))
    reach = np.array([0.5, 1.0, 2.0])
    made = GossipWeighting(reach=(0.5, 1.0, 2.0))
    weights = made.answer_weights(answers)
    np.testing.assert_allclose(weights, reach * sizes / (reach @ sizes), rtol=1e-14)
    sums = tuple(made.sum_terms(answers).sum(axis=0))
    noise = sum(q**2 * t / n**2 for q, t, n in zip(weights, answers.term, sizes, strict=True))
    assert made.aggregated_noise(sums) == pytest.approx(noise, rel=1e-14)
    assert made.weighted_spread(sums) == pytest.approx((weights**2 / sizes).sum(), rel=1e-14)
    some = made.select_owners(np.array([0, 2]))
    part = Answers(answers.term[[0, 2]], sizes[[0, 2]], answers.sharing[[0, 2]])
    np.testing.assert_array_equal(some.sum_terms(part), made.sum_terms(answers)[[0, 2]])
    even = GossipWeighting(reach=(1.0, 1.0, 1.0)).answer_weights(answers)
    np.testing.assert_allclose(even, SizeWeighting().answer_weights(answers), rtol=1e-14)
