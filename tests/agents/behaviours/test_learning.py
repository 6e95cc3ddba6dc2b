"""Owners who learn from past rounds: where averages and regrets lead, and what is known of the others."""

from __future__ import annotations

import numpy as np
import pytest
from markets import market
from rounds import THREE, rounds_of

from agents import DataMarket
from agents.behaviours.learning import FictitiousPlay, RegretMatching, Stale
from market.costs.functions import Linear
from market.equilibrium import ACTIVATIONS, solve
from market.policies.contributions import Shapley

PRICES = np.array([1.0, 2.0, 2.5])


@pytest.fixture(scope="module")
def nash():
    found = solve(THREE, rng=np.random.default_rng(0))
    assert found.converged
    return found.epsilon


def test_fictitious_play_nears_the_equilibrium_of_a_contest(nash):
    """The average moves by a part 1/t of the way in round t."""
    far = [
        np.abs(rounds_of(THREE, FictitiousPlay(), rounds)[0][-1] - nash).max()
        for rounds in (10, 100)
    ]
    assert far[0] < 0.2 and far[1] < far[0] / 5


@pytest.mark.slow
def test_fictitious_play_that_forgets_arrives(nash):
    outcome = DataMarket(THREE, rng=0, behaviour=[FictitiousPlay(0.8)] * 3).run()
    assert outcome.converged and np.allclose(outcome.epsilon, nash, atol=1e-7)


def test_fictitious_play_responds_to_the_average_of_all_rounds():
    """The contest by hand: the best response to a sum S of the others is sqrt(12 S / price) - S."""
    start = np.array([1.0, 2.0, 3.0])
    path, _ = rounds_of(THREE, FictitiousPlay(), 4, start=start)
    known = np.vstack([start, path])
    for number in range(4):
        mean = known[: number + 1].mean(axis=0)
        beside = mean.sum() - mean
        np.testing.assert_allclose(
            path[number], np.maximum(np.sqrt(12 * beside / PRICES) - beside, 0), atol=1e-7
        )


@pytest.mark.parametrize("lag", [1, 3])
def test_the_stale_see_the_market_as_it_was(lag):
    start = np.array([1.0, 2.0, 3.0])
    path, _ = rounds_of(THREE, Stale(lag), 8, start=start)
    known = np.vstack([start, path])  # known[k] stood when round k + 1 began
    for number in range(8):
        then = known[max(number - lag, 0)]
        beside = then.sum() - then
        np.testing.assert_allclose(
            path[number], np.maximum(np.sqrt(12 * beside / PRICES) - beside, 0), atol=1e-7
        )


@pytest.mark.slow
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_old_news_delay_the_equilibrium_and_change_nothing_of_it(activation, nash):
    outcome = DataMarket(THREE, rng=2, behaviour=Stale(2), activation=activation).run()
    assert outcome.converged and np.allclose(outcome.epsilon, nash, atol=1e-6)


@pytest.mark.parametrize("behaviour", [Stale(1), FictitiousPlay()])
def test_where_owners_meet_in_whole_profiles_these_are_what_is_known(behaviour):
    game = market(Linear(2.0), Shapley(0.5), 3, low=0.1)
    path, memory = rounds_of(game, behaviour, 3)
    kept = memory["others"].reshape(3, -1, 3)
    if isinstance(behaviour, Stale):
        assert np.array_equal(kept[0], path[-2:])
    else:
        np.testing.assert_allclose(kept[1, 0], np.vstack([[10.05] * 3, path]).mean(axis=0))


@pytest.fixture(scope="module")
def matched():
    """1,600 rounds of three who match regrets over 21 budgets."""
    path, memory = rounds_of(THREE, RegretMatching(21), 1600)
    return path, memory["regret"]


def contest_payoffs(own, beside, price):
    """What a contest for 12 brings who sells ``own`` beside others' sum ``beside``, by hand."""
    total = own + beside
    return 12 * np.divide(own, total, out=np.zeros_like(total), where=total > 0) - price * own


def test_regret_on_average_goes_down_as_fast_as_the_theorem_says(matched):
    """With 21 budgets whose payoffs differ by at most d, at most d sqrt(21 / t); counted anew from the path, by hand."""
    path, kept = matched
    grid = np.linspace(0, 6, 21)
    for owner, price in enumerate(PRICES):
        beside = path.sum(axis=1) - path[:, owner]
        table = contest_payoffs(grid[None, :], beside[:, None], price)
        lost = np.cumsum(table - contest_payoffs(path[:, owner], beside, price)[:, None], axis=0)
        np.testing.assert_allclose(kept[owner], lost[-1], rtol=1e-9, atol=1e-7)
        apart = np.ptp(table, axis=1).max()
        average = {rounds: lost[rounds - 1].max() / rounds for rounds in (100, 400, 1600)}
        for rounds, regret in average.items():
            assert regret <= apart * np.sqrt(21 / rounds)
        assert average[1600] < average[100] / 4  # sqrt(1600 / 100)


def test_who_regrets_nothing_stays():
    path, _ = rounds_of(THREE, RegretMatching(21), 1, start=[1.0, 2.0, 3.0])
    assert path[0].tolist() == [1.0, 2.0, 3.0]
