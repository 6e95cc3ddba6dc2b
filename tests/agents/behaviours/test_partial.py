"""Owners who see their neighbours alone: on the complete graph they are rational, elsewhere they play against a prior."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from markets import market
from toys import LinearLaw

from agents import DataMarket
from agents.behaviours.base import Seen
from agents.behaviours.best_response import Rational
from agents.behaviours.partial import Neighbours
from market.costs.functions import Linear, Quadratic
from market.policies.contributions import Marginal, Shapley
from market.policies.proportional import Proportional

PRICES = np.array([1.0, 1.5, 2.0, 2.5])
GAME = market(Linear(PRICES), Proportional(12.0, "epsilon"), 4)
WITH_MODEL = market(
    Quadratic(PRICES), Marginal(0.5), 4, low=0.1, forecast=LinearLaw(1.0, 0.2, 0.01), value=20.0
)
PROFILE = np.array([1.0, 2.0, 0.5, 4.0])


def sight(graph):
    return nx.to_scipy_sparse_array(graph, nodelist=sorted(graph), dtype=float, format="csr")


def looking(behaviour, deviations):
    return behaviour.believed_moves(deviations, Seen(memory=behaviour.initial_memory(deviations)))


def settled(game, behaviour, **more):
    model = DataMarket(game, rng=0, behaviour=behaviour, **more)
    model.run()
    return model


@pytest.mark.parametrize(
    ("prior", "activation"),
    [
        ("seen", "sequential"),
        ("seen", "simultaneous"),
        ("published", "sequential"),
        (3.0, "sequential"),
    ],
)
@pytest.mark.parametrize("game", [GAME, WITH_MODEL], ids=["money", "model"])
def test_who_sees_everybody_is_rational_to_the_last_bit(game, activation, prior):
    everybody = Neighbours(prior, sight(nx.complete_graph(4)))
    one, other = (settled(game, each, activation=activation) for each in (everybody, Rational()))
    assert np.array_equal(one.epsilon, other.epsilon) and one.end == "rest"


def answer(others):
    """The best response under GAME's linear costs to others who sell so much in all: ``sqrt(b S / price) - S``."""
    return np.maximum(np.sqrt(12.0 * others / PRICES) - others, 0.0)


def test_who_sees_nobody_plays_against_what_the_market_opened_with():
    model = settled(GAME, Neighbours("seen", sight(nx.empty_graph(4))), start=PROFILE)
    np.testing.assert_allclose(model.epsilon, answer(3 * PROFILE.mean()), rtol=1e-6)
    assert model.end == "rest" and model.steps == 2


def test_a_stated_prior_is_what_all_unseen_are_taken_for():
    """B sees A, C and D, and these see B alone, in a star around it."""
    star = sight(nx.Graph([(1, 0), (1, 2), (1, 3)]))
    model = settled(GAME, Neighbours(0.75, star))
    unseen = np.where(np.arange(4) == 1, 0.0, 2 * 0.75)
    seen = np.where(np.arange(4) == 1, model.epsilon.sum() - model.epsilon[1], model.epsilon[1])
    others = unseen + seen
    np.testing.assert_allclose(model.epsilon, answer(others), rtol=1e-6)


def test_a_published_average_is_of_the_round_before():
    """In the second round each answers to three times the average of the first, whatever was sold since."""
    model = DataMarket(GAME, rng=0, behaviour=Neighbours("published", sight(nx.empty_graph(4))))
    for _ in range(2):
        others = 3 * model.epsilon.mean()
        model.step()
        np.testing.assert_allclose(model.epsilon, answer(others), rtol=1e-6)


def test_those_who_see_some_take_these_for_a_sample():
    """Of a directed graph: A sees B and C, and takes D for their average; D sees A; B and C see nobody."""
    graph = nx.DiGraph([(0, 1), (0, 2), (3, 0)])
    graph.add_nodes_from(range(4))
    believed = looking(
        Neighbours("seen", sight(graph)), GAME.deviations(PROFILE)
    ).others_policy.ravel()
    np.testing.assert_allclose(believed, [1.25 * 3, 3 * 1.875, 3 * 1.875, 3 * 1.0])


def test_in_turns_each_sees_what_those_before_it_have_chosen():
    """Of so many owners that those who meet in sums alone would move in a few searches for all."""
    count = 60
    game = market(Quadratic(np.linspace(1, 2, count)), Proportional(60.0, "epsilon"), count)
    start = np.random.default_rng(0).uniform(0.2, 2, count)
    behaviour = Neighbours("seen", sight(nx.path_graph(count)))
    model = DataMarket(game, rng=0, behaviour=behaviour, start=start)
    model.step()
    by_hand = start.copy()
    for i in range(count):
        by_hand[i] = looking(behaviour, game.deviations(by_hand, np.array([i]))).best_responses()[0]
    np.testing.assert_allclose(model.epsilon, by_hand, rtol=1e-9)
    at_once = looking(behaviour, game.deviations(start)).best_responses()
    assert np.abs(by_hand - at_once).max() > 0.1


def test_two_networks_are_two_behaviours_and_profiles_cannot_be_guessed():
    one, other = (Neighbours("seen", sight(nx.path_graph(4))) for _ in range(2))
    assert one == one.with_sight(one.sight) != other and "csr" not in repr(one).lower()
    game = market(Linear(2.0), Shapley(0.5), 4, low=0.1)
    with pytest.raises(ValueError, match="meet in sums"):
        one.choose(game.deviations(PROFILE), Seen())


def test_many_owners_on_a_sparse_graph_look_at_once():
    count = 3000
    graph = sight(nx.barabasi_albert_graph(count, 2, seed=1))
    game = market(Quadratic(np.linspace(1, 2, count)), Proportional(2000.0, "epsilon"), count)
    profile = np.random.default_rng(0).uniform(0, 2, count)
    behaviour = Neighbours("seen", graph)
    chosen = looking(behaviour, game.deviations(profile)).best_responses()
    for i in (0, 17, 2999):  # one by one, by the definition
        seen = profile[graph[[i]].indices]
        others = seen.mean() * (count - 1)
        root = np.roots(
            [
                game.owners.cost.price[i],
                2 * others * game.owners.cost.price[i],
                others**2 * game.owners.cost.price[i],
                -2000.0 * others,
            ]
        )
        best = next(r.real for r in root if abs(r.imag) < 1e-9 and r.real > 0)
        assert chosen[i] == pytest.approx(best, rel=1e-6)
