"""What every entry of BEHAVIOURS must do; a new one is tested by being in the dict."""

from __future__ import annotations

import numpy as np
import pytest
from markets import market

from agents import BEHAVIOURS, Behaviour, DataMarket
from agents.behaviours import chosen_by
from market.costs.functions import Linear, Quadratic
from market.equilibrium import ACTIVATIONS
from market.policies.posted import Posted
from market.policies.proportional import Proportional

GAME = market(Linear([1.0, 2.0, 3.0, 0.5]), Proportional(12.0, "epsilon"), 4, low=[0.0, 0.1, 0.0, 0.2])
PROFILE = np.array([1.0, 2.0, 0.0, 4.0])


@pytest.mark.parametrize("name", BEHAVIOURS)
def test_a_behaviour_says_what_it_does_and_can_be_compared(name):
    one, two = BEHAVIOURS[name](), BEHAVIOURS[name]()
    assert isinstance(one, Behaviour) and one.title and one == two and hash(one) == hash(two)


@pytest.mark.parametrize("name", BEHAVIOURS)
def test_owners_choose_inside_their_intervals_and_by_the_generator_alone(name):
    for index in (np.arange(4), np.array([2]), np.array([3, 0])):
        deviations = GAME.deviations(PROFILE, index)
        chosen = [chosen_by(BEHAVIOURS[name](), deviations, np.random.default_rng(1)) for _ in range(2)]
        assert chosen[0].shape == index.shape and np.array_equal(*chosen)
    assert np.array_equal(PROFILE, [1.0, 2.0, 0.0, 4.0])  # looking is no move


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("name", BEHAVIOURS)
def test_a_market_of_one_behaviour_comes_to_rest_where_nobody_depends_on_others(name, activation):
    game = market(Quadratic([1.0, 2.0]), Posted(6.0), 2)
    outcome = DataMarket(game, rng=0, behaviour=name, activation=activation).run()
    assert outcome.converged and np.allclose(outcome.epsilon, [6.0, 3.0], atol=1e-6)


def test_a_behaviour_without_choose_is_refused_by_name():
    with pytest.raises(TypeError, match="class Idle .*choose"):
        type("Idle", (Behaviour,), {})()
