"""A posted price that pays nothing beyond a budget: owners stop at the kink, and certificates know it."""

import numpy as np
import pytest

from learning.errors import InputError
from market.columns import take_owners
from market.costs.functions import Linear, Quadratic
from market.equilibrium.solver import solve
from market.game.game import Game
from market.game.owners import Owners
from market.policies.posted import Posted
from scenarios.report.wording import Pen


def market(policy, cost=None, high=10.0):
    return Game(
        Owners(("A", "B", "C"), 100, 0.0, high, cost or Quadratic([1.0, 4.0, 20.0])),
        policy,
        None,
        0.0,
    )


def test_owners_stop_where_nothing_more_is_paid():
    # price/cost 6, 1.5 and 0.3 without a limit of 1.2
    game = market(Posted(6.0, until=1.2))
    found = solve(game, rng=np.random.default_rng(0), starts=4)
    np.testing.assert_array_equal(found.epsilon[:2], [1.2, 1.2])
    assert found.epsilon[2] == pytest.approx(0.3)
    assert found.converged and found.max_regret == 0
    np.testing.assert_allclose(game.payments(np.array([5.0, 1.2, 0.3])), [7.2, 7.2, 1.8])


def test_a_certificate_finds_the_kink_from_both_sides():
    game = market(Posted(6.0, until=1.2))
    beside = np.array([1.2 * (1 + 1e-3), 1.2 * (1 - 1e-3), 0.3])
    regret = game.regret(beside)
    # beyond: cost alone, epsilon each; before: price less cost
    np.testing.assert_allclose(regret[:2], [1.2e-3 * 1.2, 1.2e-3 * (6 - 4 * 1.2)], rtol=0.02)
    assert regret[2] == pytest.approx(0, abs=1e-9)


def test_each_owner_has_a_limit_of_its_own_when_they_are_taken_apart():
    policy = Posted(6.0, limit=np.array([0.5, np.inf, 2.0]))
    game = market(policy, Linear(1.0))
    np.testing.assert_array_equal(game.best_responses(np.zeros(3)), [0.5, 10.0, 2.0])
    np.testing.assert_array_equal(game.best_responses(np.zeros(3), np.array([2, 0])), [2.0, 0.5])
    assert take_owners(policy, np.array([2])).limit.tolist() == [2.0]
    shut = market(policy, Linear(1.0), high=0.4)  # a limit beyond what an owner may sell is none
    np.testing.assert_array_equal(shut.best_responses(np.zeros(3)), [0.4, 0.4, 0.4])


def test_what_is_worth_buying_is_asked_of_the_market():
    policy = Posted(6.0, until="worth")
    with pytest.raises(InputError, match="policy.until: needs a forecast"):
        market(policy).payments(np.ones(3))
    settled = policy.prepared_for(market(policy).owners, lambda: np.array([0.7, np.inf, 0.1]))
    np.testing.assert_array_equal(
        market(settled, Linear(1.0)).best_responses(np.zeros(3)), [0.7, 10.0, 0.1]
    )
    assert Posted(6.0).prepared_for(market(policy).owners) == Posted(6.0)


def test_the_sentence_says_where_it_ends():
    told = {until: Posted(6.0, until=until).sentence(Pen()) for until in (None, 1.5, "worth")}
    assert "up to" not in told[None] and told[None].endswith("budget ε.")
    assert "up to an ε of 1.5; nothing for more." in told[1.5]
    assert "up to the ε that is worth buying of it; nothing for more." in told["worth"]


@pytest.mark.parametrize("until", [0.0, -1.0, "much", np.inf])
def test_a_limit_is_a_number_above_0_or_worth(until):
    with pytest.raises(InputError, match='policy.until: must be "worth" or a number above 0'):
        Posted(6.0, until=until)
