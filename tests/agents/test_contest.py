"""The Mesa model of several learners comes to rest where the direct solver does, in every order of moves."""

from __future__ import annotations

import gc

import networkx as nx
import numpy as np
import pytest

from agents.contest import Buyer, Contestant, ContestMarket
from market.competition.market import Competition, Learner
from market.competition.solver import solve_competition
from market.costs.functions import Quadratic
from market.equilibrium.activation import ACTIVATIONS
from market.game.owners import Owners
from market.policies.proportional import Proportional

LINKS = np.array([[1, 0], [1, 1], [0, 1]], dtype=bool)


@pytest.fixture(scope="module")
def market():
    learners = [
        Learner(name, Proportional(budget, "epsilon"))
        for name, budget in (("one", 9.0), ("two", 16.0))
    ]
    return Competition(
        Owners(("A", "B", "C"), 1, 0.0, 20.0, Quadratic([1.0, 1.5, 2.0])), tuple(learners), LINKS
    )


@pytest.fixture(scope="module")
def solved(market):
    return solve_competition(market, rng=np.random.default_rng(0), starts=1)


DRAWN = [
    pytest.param(name, marks=pytest.mark.slow) for name, order in ACTIVATIONS.items() if order.draws
]


@pytest.mark.parametrize("activation", ["sequential", "simultaneous", *DRAWN])
def test_agents_come_to_rest_where_the_solver_does_in_every_order(market, solved, activation):
    model = ContestMarket(market, seed=3, activation=activation)
    outcome = model.run()
    assert outcome.converged and model.end == "rest" and outcome.method == activation
    np.testing.assert_allclose(outcome.epsilon, solved.epsilon, rtol=1e-6)
    assert (outcome.epsilon[~LINKS] == 0).all()


@pytest.fixture(scope="module")
def played(market):
    model = ContestMarket(market, seed=3, activation="random", max_rounds=6)
    model.run()
    return model


def test_frames_tell_of_owners_and_learners_and_hold_no_none(market, played):
    owners = played.datacollector.get_agenttype_vars_dataframe(Contestant)
    learners = played.datacollector.get_agenttype_vars_dataframe(Buyer)
    model = played.datacollector.get_model_vars_dataframe()
    for frame in (owners, learners, model):
        assert len(frame) and not frame.isna().any().any()
    last = owners.xs(played.steps, level="Step")
    assert last["owner"].tolist() == ["A", "B", "C"]
    np.testing.assert_allclose(last["surplus"], market.payoffs(played.profile))
    bought = learners.xs(played.steps, level="Step")
    assert bought["spend"].sum() == pytest.approx(last["payment"].sum()) == pytest.approx(25.0)
    assert model["total_payments"].iloc[-1] == pytest.approx(25.0)


def test_the_graph_has_what_is_sold_along_its_links(played):
    graph = played.graph
    sides = nx.get_node_attributes(graph, "bipartite")
    names = nx.get_node_attributes(graph, "name")
    told = {(names[a], names[b]): edge["epsilon"] for a, b, edge in graph.edges(data=True)}
    expected = {
        ("A", "one"): (0, 0),
        ("B", "one"): (1, 0),
        ("B", "two"): (1, 1),
        ("C", "two"): (2, 1),
    }
    assert told == {pair: played.profile[at] for pair, at in expected.items()}
    assert sorted(sides.values()) == [0, 0, 0, 1, 1] and nx.is_bipartite(graph)


def test_the_same_seed_is_the_same_play_and_models_are_let_go(market, played):
    again = ContestMarket(market, seed=3, activation="random", max_rounds=6)
    again.run()
    assert np.array_equal(again.profile, played.profile)
    gc.collect()
    count = sum(isinstance(one, ContestMarket) for one in gc.get_objects())
    for _ in range(3):
        ContestMarket(market, seed=1)
    gc.collect()
    assert sum(isinstance(one, ContestMarket) for one in gc.get_objects()) == count


def test_what_cannot_be_played_is_refused(market):
    with pytest.raises(ValueError, match="activation must be one of"):
        ContestMarket(market, seed=1, activation="often")
    with pytest.raises(ValueError, match="not both"):
        ContestMarket(market, seed=1, rng=1)
    with pytest.raises(ValueError, match="0 where an owner and a learner are not linked"):
        ContestMarket(market, seed=1, start=np.ones((3, 2)))
