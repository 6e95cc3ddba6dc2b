"""Rules of other papers, by hand and by a second route: All-in (FL-Market), a price for quality (PAID-FD), Dealer."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from learning.errors import InputError
from market.procurement.auctions import AllIn
from market.procurement.compensation import (
    Compensated,
    asked_compensation,
    greedy_selection,
)
from market.procurement.mechanism import NONE
from market.procurement.paid_quality import (
    PaidQuality,
    best_price,
    best_response,
    epsilon_at,
    owner_utility,
    printed_response,
    upload_quality,
)
from market.procurement.reports import best_misreports


def test_all_in_by_hand():
    """Owners of 2, 1 and 1 records, epsilon 1, 2 and 1, costs 2, 3 and 8: units 2, 2 and 1 at 1, 3 and 8. Budget 12:
    2 at 1 cost 2; 4 at 3 cost 12, just all; 5 at 8 cost 40. So 4 units are paid 3 each. At 11 the
    second is passed over."""
    mechanism = AllIn(12.0, [1.0, 2.0, 1.0], [2.0, 1.0, 1.0])
    epsilon, payments = mechanism.settle(np.array([2.0, 3.0, 8.0]), NONE)
    assert epsilon.tolist() == [1, 2, 0] and payments.tolist() == [6, 6, 0]
    epsilon, payments = AllIn(11.0, [1.0, 2.0, 1.0], [2.0, 1.0, 1.0]).settle(
        np.array([2.0, 3.0, 3.5]), NONE
    )
    assert epsilon.tolist() == [1, 0, 1] and np.allclose(
        payments, [22 / 3, 0, 11 / 3]
    )  # 3 at 3.5 cost 10.5: it fits
    assert AllIn(0.5, 1.0).settle(np.array([1.0]), NONE)[1].tolist() == [0]
    epsilon, payments = AllIn(12.0, 1.0, [2.0, 1.0, 1.0]).settle(
        np.array([6.0, 4.5, 8.0]), NONE
    )  # by price a record: 3, 4.5
    assert epsilon.tolist() == [1, 0, 0] and payments.tolist() == [12, 0, 0]


def test_a_loser_of_all_in_throws_a_winner_out_unless_its_price_is_capped():
    """Costs 1 and 1.2, budget 1.9: the first sells, for 1.9. Reporting 0.9 the second does: 1.9 - 1.2 = 0.7, for two at 1
    would cost 2. Capped, the first is paid 1.2, and so would the liar be paid the first's 1."""
    costs = np.array([1.0, 1.2])
    lies = best_misreports(AllIn(1.9, 1.0), costs, rng=np.random.default_rng(0))
    assert np.allclose(lies.gain, [0, 0.7]) and lies.report[1] < 1
    assert np.allclose(AllIn(1.9, 1.0, capped=True).settle(costs, NONE)[1], [1.2, 0])
    rng = np.random.default_rng(3)
    for _ in range(20):
        capped = AllIn(rng.uniform(0.5, 6.0), rng.uniform(0.1, 1.0), capped=True)
        found = best_misreports(
            capped, rng.uniform(0.2, 3.0, (20, int(rng.integers(1, 7)))), rng=rng
        )
        assert found.gain.max() <= 1e-9 and found.surplus.min() >= -1e-12


def test_unequal_units_let_lies_gain_though_prices_are_capped():
    """Units 1 and 2: whom a budget has room for depends on who comes first, so that the cap is not what one may rise to."""
    rng = np.random.default_rng(0)
    costs = rng.uniform(0.2, 3.0, (300, 4))
    sizes = np.array([1.0, 2.0, 3.0, 1.0])
    found = best_misreports(AllIn(6.0, 1.0, sizes, capped=True), costs, rng=rng)
    assert found.surplus.min() >= -1e-12 and found.gain.max() > 0.1


def test_a_posted_price_for_quality_by_hand():
    """s = 1: 6 = (1 + e)(1 + 2 e) at e = 1, where q = log 1.5; of costs 1 and 3 at p = 6: (1 + e)(1 + 2 e) = 2, and
    2 e^2 + 3 e - 1 = 0 at e = (sqrt 17 - 3)/4. Paid are 6 log 1.5 and 6 log(1 + e/(1+e))."""
    other = (np.sqrt(17) - 3) / 4
    each = 6 * np.log(1.5), 6 * np.log1p(other / (1 + other))
    epsilon, payments = PaidQuality(sum(each), volume=1.0).settle(np.array([1.0, 3.0]), NONE)
    assert np.allclose(epsilon, [1, other], rtol=1e-9) and np.allclose(payments, each, rtol=1e-9)
    assert PaidQuality(0.0).settle(np.array([1.0, 0.0]), NONE)[1].tolist() == [0, 0]
    free = PaidQuality(3.0, volume=1.0, epsilon_max=2.0).settle(np.array([0.0, 1e6]), NONE)
    assert free[0].tolist() == [2, 0] and np.allclose(free[1], [3, 0])


def test_a_price_for_quality_is_the_best_that_an_owner_can_do():
    """Second route: a fine grid of epsilon at the price that the mechanism found, which the payments tell."""
    costs = np.array([0.3, 1.0, 2.5])
    volume = 20.0
    epsilon, payments = PaidQuality(5.0, volume).settle(costs, NONE)
    assert payments.sum() == pytest.approx(5.0, rel=1e-12)
    price = payments[0] / upload_quality(volume, epsilon[0])
    grid = np.linspace(0, 10, 200_001)
    tried = price * upload_quality(volume, grid) - costs[:, None] * grid
    assert np.allclose(grid[tried.argmax(axis=1)], epsilon, atol=1e-4)
    assert np.all(payments - costs * epsilon >= tried.max(axis=1) - 1e-9)


def test_who_reports_more_makes_privacy_dearer_though_a_fixed_price_moves_for_nobody():
    """The budget is spent again at a higher price: a gain is found. At a fixed price no other response gains (Theorem 5)."""
    costs = np.array([0.3, 1.0, 2.5])
    lies = best_misreports(PaidQuality(5.0, 20.0), costs, rng=np.random.default_rng(0))
    assert lies.surplus.min() > 0 and lies.gain.min() > 0.01 and np.all(lies.report > 1.2 * costs)
    truth = owner_utility(5.0, 20.0, epsilon_at(5.0, 1.0, 20.0), 0.0, 1.0)
    for pretended in np.geomspace(0.1, 10, 41):
        assert owner_utility(5.0, 20.0, epsilon_at(5.0, pretended, 20.0), 0.0, 1.0) <= truth + 1e-12


@pytest.mark.parametrize("volume_max", [5.0, 1e4])
def test_the_best_upload_and_epsilon_beat_a_grid_and_the_printed_equation(volume_max):
    """Random prices and costs; the grid over both choices finds no more, and the printed cubic's answer leaves less."""
    rng = np.random.default_rng(1)
    volumes = np.append(0.0, np.geomspace(1e-3, volume_max, 300))[:, None]
    grid = np.append(0.0, np.geomspace(1e-3, 10, 300))
    less = []
    for price, cost, care in zip(
        rng.uniform(0.5, 10, 40), rng.uniform(0.05, 2, 40), rng.uniform(0.05, 3, 40), strict=True
    ):
        best = best_response(price, cost, care, volume_max=volume_max)
        most = float(owner_utility(price, volumes, grid, cost, care).max())
        assert most <= best.utility + 1e-9 and best.utility - most <= 0.01 * max(price, 1.0)
        assert best.utility == pytest.approx(
            owner_utility(price, best.volume, best.epsilon, cost, care), abs=1e-9
        )
        printed = printed_response(price, cost, care, volume_max=volume_max)
        assert printed.utility <= best.utility + 1e-9
        less.append(float(best.utility - printed.utility))
    assert max(less) > 0.1
    exact = (
        best_response(4.0, 1.0, 0.3),
        printed_response(4.0, 1.0, 0.3),
    )  # at c = 1 the printed equation is right
    assert np.allclose(*exact, rtol=1e-12)


def test_two_positive_roots_where_one_is_claimed():
    """lambda = 0.4, p = 5: 0.4 e^3 + 0.4 e^2 - 4 e + 1 changes sign twice above 0; at the smaller root the owner has less."""
    roots = np.roots([0.4, 0.4, -4.0, 1.0])
    smaller, larger = np.sort(roots[roots > 0])
    assert printed_response(5.0, 1.0, 0.4).epsilon == pytest.approx(larger, rel=1e-12)
    at = [5.0 / 1.0 - (1 + e) / e for e in (smaller, larger)]
    assert owner_utility(5.0, at[0], smaller, 1.0, 0.4) < owner_utility(
        5.0, at[1], larger, 1.0, 0.4
    )


def test_the_best_price_leaves_the_learner_most():
    """Alike owners: the gain along the price is (gamma - p) N q(p); no price of a grid does better."""
    cost = np.full(5, 0.3)
    care = np.full(5, 0.4)
    best = best_price(5.0, cost, care)
    for price in np.linspace(0.05, 4.95, 50):
        answer = best_response(price, cost, care)
        assert (5.0 - price) * upload_quality(answer.volume, answer.epsilon).sum() <= best.gain * (
            1 + 1e-5
        )
    assert 0 < best.price < 5 and np.all(best.response.utility > 0)


def test_compensations_by_hand():
    """b = 2, epsilon = 1, costs 1, 2 and 4: asked 2 exp(1/2) = 3.297, 2e = 5.437 and 2 e^2 = 14.778; 9 takes two."""
    epsilon, payments = Compensated(9.0, 1.0, 2.0).settle(np.array([1.0, 2.0, 4.0]), NONE)
    assert epsilon.tolist() == [1, 1, 0] and np.allclose(payments, [2 * np.exp(0.5), 2 * np.e, 0])
    rng = np.random.default_rng(0)
    costs = rng.exponential(1.0, 100)
    at = rng.uniform(0.1, 5.0, 100)
    assert np.all(asked_compensation(2.0, costs / 2.0, at) >= 2.0 + costs * at)


def test_the_greedy_choice_is_as_good_as_it_promises():
    """No cost above a part z of the budget: at least 1 - z of the best of all subsets, and exact where worths are equal."""
    rng = np.random.default_rng(2)
    subsets = np.array(list(product([False, True], repeat=7)))
    for alike in (True, False) * 30:
        worth = np.ones(7) if alike else rng.uniform(0.1, 1.0, 7)
        cost = rng.uniform(0.1, 1.0, 7)
        budget = rng.uniform(1.0, 4.0)
        affordable = subsets[subsets @ cost <= budget]
        best = (affordable @ worth).max()
        chosen = greedy_selection(worth, cost, budget)
        assert cost[chosen].sum() <= budget
        share = worth[chosen].sum() / best
        assert share >= 1 - 1e-12 if alike else share >= 1 - cost.max() / budget


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AllIn(1.0, 0.0), "mechanism.epsilon: must be a number above 0"),
        (
            lambda: PaidQuality(1.0, volume=-1.0),
            "mechanism.volume: must be a number above 0; found -1",
        ),
        (
            lambda: Compensated(-1.0, 1.0, 1.0),
            "mechanism.budget: must be a number of at least 0; found -1",
        ),
    ],
)
def test_rivals_that_cannot_be(make, message):
    with pytest.raises(InputError, match=f"^{message}"):
        make()
