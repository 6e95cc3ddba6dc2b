"""Which start leads where: against best responses of symmetric profiles, found by another root search."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

from learning.randomness import Streams
from market.analysis.basins import NOWHERE, basins_of_attraction
from market.analysis.thesis_games import thesis_game
from market.costs import Linear
from market.game import Game, Owners
from market.policies import Proportional


def found(game, starts, **more):
    return basins_of_attraction(game, starts, streams=Streams(3, "starts"), **{"search": 2, **more})


@pytest.fixture(scope="module")
def short():
    """The utility game on a short interval, where play rests in two of three equilibria."""
    game = thesis_game("utility", 1e4, n_owners=3, epsilon=(0.001, 2.4))
    return game, found(game, [0.05, 0.2, 0.5, [0.001, 0.5, 1.2]])


@pytest.mark.slow
def test_play_turns_where_a_best_response_crosses_upward(short):
    game, told = short
    x = brentq(lambda x: game.best_responses(np.full(3, x))[0] - x, 0.1, 0.5)
    assert (
        game.best_responses(np.full(3, 0.99 * x))[0] < 0.99 * x
    )  # downward below it, so that no play rests there
    assert np.allclose(told.equilibria[1].epsilon, x, atol=1e-8) and told.stable == (
        True,
        False,
        True,
    )
    (turn,) = told.turns
    assert turn.between == (0, 2) and turn.through == 1 and np.allclose(turn.epsilon, x, atol=1e-3)


@pytest.mark.slow
def test_every_start_is_told_with_where_it_leads(short):
    game, told = short
    x = float(told.equilibria[1].epsilon[0])
    assert [told.starts_of(at) for at in range(3)] == [[0, 1], [], [2, 3]] and 0.2 < x < 0.5
    for play, start in zip(told.plays, [0.05, 0.2, 0.5, [0.001, 0.5, 1.2]], strict=True):
        assert (
            np.array_equal(play.path.profiles[0], np.broadcast_to(start, 3))
            and play.path.end == "rest"
        )
        assert np.allclose(play.path.epsilon, told.equilibria[play.leads_to].epsilon, atol=1e-5)


def test_one_start_more_changes_no_other_path():
    game = thesis_game("leakage", [1e3, 1e5], epsilon=(0.001, 5.0))
    one, two = (
        found(game, starts, activation="random", turns=False) for starts in ([4.0], [4.0, 1.0])
    )
    assert np.array_equal(one.plays[0].path.profiles, two.plays[0].path.profiles)
    assert len(one.equilibria) == len(two.equilibria) == 1


@pytest.mark.slow
def test_where_best_responses_jump_there_is_no_further_equilibrium():
    """Four owners on [0.001, 5]: a best response leaps over the diagonal, and play parts at the leap."""
    game = thesis_game("utility", 1e4, n_owners=4, epsilon=(0.001, 5.0))
    told = found(game, [2.0])
    (turn,) = told.turns
    below, above = (game.best_responses(factor * turn.epsilon)[0] for factor in (0.999, 1.001))
    assert turn.through == NOWHERE and below == 0.001 and above > 5 * turn.epsilon[0]


def test_play_that_does_not_rest_leads_nowhere():
    """Moving all at once without damping, two contestants of unlike costs overshoot: one round is not enough."""
    owners = Owners(("A", "B"), 1, 0.0, 20.0, Linear([1.0, 2.0]))
    game = Game(owners, Proportional(12.0, "epsilon"), None, 0.0)
    told = found(game, [9.0], max_rounds=1)
    assert told.plays[0].leads_to == NOWHERE and told.plays[0].path.end == "limit"
    assert len(told.equilibria) in (0, 1)
