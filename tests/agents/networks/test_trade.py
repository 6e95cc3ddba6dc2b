"""Who may trade with whom decides what it has: markets small enough to solve by hand, as the theory of networks has them."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from agents.networks.base import Parties, linked_graph, trade_links
from agents.networks.graphs import Captive, Edges
from agents.networks.measures import centralities, rank_correlations
from market.competition.market import Competition, Learner
from market.competition.solver import solve_competition
from market.costs.functions import Linear, Quadratic
from market.game.owners import Owners
from market.policies.proportional import Proportional


def contest(names, cost, network, budgets=(12.0, 12.0)):
    """Owners and learners who share out budgets in proportion to epsilon, on a network; and where they settle."""
    parties = Parties("trade", tuple(names), tuple(f"learner {j + 1}" for j in range(len(budgets))))
    graph = linked_graph(network, parties, rng=np.random.default_rng(0))
    learners = [
        Learner(name, Proportional(b, "epsilon"))
        for name, b in zip(parties.learners, budgets, strict=True)
    ]
    market = Competition(
        Owners(parties.owners, 1, 0.0, 50.0, cost), tuple(learners), trade_links(graph, parties)
    )
    found = solve_competition(market, rng=np.random.default_rng(0), starts=1)
    assert found.converged
    return market, graph, found


def test_an_owner_of_two_learners_divides_its_budget_as_the_closed_form_says():
    """A and C have one learner each, B both; privacy costs ``c s^2 / 2`` of the sum s.

    A sells ``a``, B ``b`` to each: ``R b = c a (a+b)^2`` and ``R a = 2 c b (a+b)^2``, so ``a =
    sqrt(2) b`` and ``b^2 = R sqrt(2) / (2 c (1 + sqrt(2))^2)``.
    """
    edges = [["A", "learner 1"], ["B", "learner 1"], ["B", "learner 2"], ["C", "learner 2"]]
    _, _, found = contest("ABC", Quadratic(1.5), Edges(edges))
    b = np.sqrt(12.0 * np.sqrt(2) / (3.0 * (1 + np.sqrt(2)) ** 2))
    np.testing.assert_allclose(
        found.epsilon, [[np.sqrt(2) * b, 0], [b, b], [0, np.sqrt(2) * b]], rtol=1e-6
    )


def test_linear_costs_divide_by_contest_whatever_the_budgets():
    """With linear costs learners' contests do not touch: in each ``R c_other / (c + c_other)^2``, Tullock's."""
    edges = [["A", "learner 1"], ["B", "learner 1"], ["B", "learner 2"], ["C", "learner 2"]]
    _, _, found = contest("ABC", Linear([1.0, 2.0, 3.0]), Edges(edges), (9.0, 25.0))
    expected = [[9 * 2 / 9, 0], [9 * 1 / 9, 25 * 3 / 25], [0, 25 * 2 / 25]]
    np.testing.assert_allclose(found.epsilon, expected, rtol=1e-6)


def test_scarce_bridges_have_more_and_centrality_goes_with_surplus():
    """One bridge, k captives each: every contest of k+1 alike is worth ``R/(k+1)^2`` to each, and the bridge is in all.

    Kranton and Minehart (2001): who has more partners has more outside options. Were all bridges,
    none would have more.
    """
    captives = 4
    learners = 2
    names = [f"owner {i}" for i in range(captives + 1)]
    market, graph, found = contest(names, Linear(1.0), Captive(1), (12.0,) * learners)
    surplus = market.payoffs(found.epsilon)
    k = captives // learners
    np.testing.assert_allclose(
        surplus, [learners * 12 / (k + 1) ** 2] + [12 / (k + 1) ** 2] * captives, rtol=1e-6
    )
    central = centralities(graph, rng=np.random.default_rng(0))
    columns = {name: column[: captives + 1] for name, column in central.items()}
    told = rank_correlations(columns, surplus)
    assert [one["centrality"] for one in told] == ["degree", "betweenness", "bonacich", "scarcity"]
    assert all(one["spearman"] == pytest.approx(1.0) for one in told)
    market, graph, found = contest(names, Linear(1.0), Captive(captives + 1), (12.0,) * learners)
    central = centralities(graph, rng=np.random.default_rng(0))
    columns = {name: column[: captives + 1] for name, column in central.items()}
    assert rank_correlations(columns, market.payoffs(found.epsilon)) == []


def test_the_short_side_has_the_surplus():
    """Corominas-Bosch (2004): two owners who share one learner compete; one owner of two learners has both budgets.

    A and B: ``R/4`` each of learner 1. C alone with learners 2 and 3: all of 2 R for next to
    nothing sold.
    """
    edges = [["A", "learner 1"], ["B", "learner 1"], ["C", "learner 2"], ["C", "learner 3"]]
    market, graph, found = contest("ABC", Linear(1.0), Edges(edges), (12.0,) * 3)
    np.testing.assert_allclose(market.payoffs(found.epsilon), [3.0, 3.0, 24.0], rtol=1e-5)
    components = {frozenset(part) for part in nx.connected_components(graph)}
    assert frozenset({"C", "learner 2", "learner 3"}) in components
    assert centralities(graph, rng=np.random.default_rng(0))["scarcity"][:3].tolist() == [
        0.5,
        0.5,
        2.0,
    ]
