"""Correlated owners: leaked information, prices, who sells at them, and the loss inside the game."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toys import LinearLaw

from learning.errors import InputError
from market.analysis.welfare import welfare
from market.columns import column
from market.costs.base import Cost
from market.costs.functions import Linear, Quadratic
from market.equilibrium.solver import solve
from market.externalities import (
    Externalities,
    checked_correlation,
    leaked_information,
    remaining_variance,
    spillover_game,
)
from market.game.game import Game
from market.game.owners import Owners
from market.policies.base import Policy
from market.policies.contributions import Marginal
from market.policies.posted import Posted, Tiers
from market.policies.proportional import Proportional


@dataclass(frozen=True)
class Correlated:
    """Data of owners, what its privacy is worth to them, and the noise that it is sold with."""

    valuation: object
    correlation: object
    variance: object = 1.0
    noise: object = 1.0

    @property
    def n_owners(self):
        return len(self.valuation)

    @property
    def covariance(self):
        correlation = np.asarray(self.correlation, dtype=float)
        if correlation.ndim == 0:
            correlation = np.where(np.eye(self.n_owners, dtype=bool), 1.0, correlation)
        spread = np.sqrt(np.broadcast_to(self.variance, self.n_owners))
        return correlation * np.outer(spread, spread)


@dataclass(frozen=True)
class Told(Cost):
    """A valuation times the variance that a sale alone tells: e^2 / (e^2 + noise)."""

    price: object
    noise: float

    def value(self, epsilon, sizes):
        told = np.divide(1, 1 + self.noise / np.maximum(epsilon, 1e-150) ** 2)
        return column(np.asarray(self.price), epsilon) * told

    def marginal_cost(self, epsilon, sizes):
        slope = 2 * self.noise * epsilon / (epsilon**2 + self.noise) ** 2
        return column(np.asarray(self.price), epsilon) * slope


def noise_of(data, sells):
    return np.where(np.asarray(sells), data.noise, np.inf)


def leaked(data, sells):
    return leaked_information(data.covariance, noise_of(data, sells))


def prices(data, sells):
    """What each owner asks: valuation times the rise of its leaked information by its own sale."""
    left = remaining_variance(data.covariance, noise_of(data, sells))
    return data.valuation * left**2 / (left + data.noise)


def random_data(seed, n, *, valuation=1.0):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, n + rng.integers(0, 3))) * rng.uniform(0.1, 1, n)[:, None]
    spread = np.sqrt((root**2).sum(axis=1))
    matrix = root @ root.T / np.outer(spread, spread)
    np.fill_diagonal(matrix, 1.0)
    return Correlated(
        valuation * rng.uniform(0.1, 3, n),
        (matrix + matrix.T) / 2,
        rng.uniform(0.2, 4, n),
        rng.uniform(0.1, 3, n),
    )


@pytest.mark.parametrize(
    ("r", "price"), [(0.0, 0.5), (0.5, 0.408333), (0.9, 0.221959), (1.0, 0.166667)]
)
def test_two_gaussian_owners(r, price):
    """Unit variance and noise: price/v = (2 - r^2)^2 / (2 (4 - r^2)).

    Both sell: C = (1, r), the signals have covariance [[2, r], [r, 2]] with inverse [[2, -r], [-r,
    2]]/(4 - r^2), so I(both) = (2 - 2 r^2 + 2 r^2)/(4 - r^2) = 2/(4 - r^2). Only the other sells: I
    = r^2/2. The difference, (4 - 4 r^2 + r^4)/(2 (4 - r^2)), is the price. As r grows from 0 to 1
    it falls from 1/2 to 1/6.
    """
    data = Correlated([3.0, 7.0], r)
    asked = prices(data, [True, True]) / data.valuation
    assert np.allclose(asked, (2 - r**2) ** 2 / (2 * (4 - r**2)), rtol=1e-14)
    assert asked == pytest.approx([price] * 2, abs=5e-7)
    assert np.allclose(leaked(data, [True, True]), 2 / (4 - r**2), rtol=1e-14)
    assert np.allclose(leaked(data, [False, True]), [r**2 / 2, 0.5], rtol=1e-14)


@pytest.mark.parametrize("r", [0.5, 0.9])
def test_leaked_information_by_regression(r):
    """Second route, 400,000 draws: the variance a least-squares fit of the datum to the signals takes away.

    A residual variance near s is known to s sqrt(2/400,000) = 0.22 % of it; four such errors are
    allowed.
    """
    rng = np.random.default_rng(7)
    draws = 400_000
    data = rng.normal(size=(draws, 2)) @ np.linalg.cholesky([[1, r], [r, 1]]).T
    signals = data + rng.normal(size=data.shape)
    for sells in ([True, True], [False, True]):
        seen = signals[:, sells]
        rest = data[:, 0] - seen @ np.linalg.lstsq(seen, data[:, 0], rcond=None)[0]
        expected = leaked(Correlated([1.0, 1.0], r), sells)[0]
        assert 1 - rest.var() == pytest.approx(expected, abs=4 * np.sqrt(2 / draws))


@pytest.mark.parametrize("seed", range(10))
def test_prices_are_differences_of_leaks_over_all_sets(seed):
    """Second route to a price: leak with and without the owner, each from a solve of its own, one set at a time."""
    data = random_data(seed, 4)
    for sells in itertools.product([False, True], repeat=4):
        sold = np.flatnonzero(sells)

        def leak(owner, sold):
            signals = data.covariance[np.ix_(sold, sold)] + np.diag(data.noise[sold])
            cross = data.covariance[owner, sold]
            return cross @ np.linalg.solve(signals, cross) if len(sold) else 0.0

        asked = [
            data.valuation[i]
            * (leak(i, np.union1d(sold, [i]).astype(int)) - leak(i, np.setdiff1d(sold, [i])))
            for i in range(4)
        ]
        assert np.allclose(prices(data, np.array(sells)), asked, rtol=1e-11, atol=1e-13)
        assert np.allclose(
            leaked(data, np.array(sells)), [leak(i, sold) for i in range(4)], rtol=1e-11, atol=1e-13
        )


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.integers(2, 7), st.data())
def test_leaks_grow_and_prices_fall_in_the_set_of_sellers(seed, n, draw):
    """Monotone: a larger set leaks no less about anybody. Submodular in one's own datum: it asks no more."""
    data = random_data(seed, n)
    more = np.array(draw.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    fewer = more & np.array(draw.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    assert np.all(leaked(data, more) >= leaked(data, fewer) - 1e-11)
    assert np.all(prices(data, more) <= prices(data, fewer) + 1e-11)


def test_leaks_are_not_submodular_in_another_owners_datum():
    """x_1 tells nothing of x_3, but helps to take from x_2 what x_2 does not share with x_3 (a suppressor).

    So only the form in which an owner's own datum is added holds, which is the one prices need.
    """
    data = Correlated([1.0] * 3, [[1, 0.6, 0], [0.6, 1, 0.6], [0, 0.6, 1]])

    def about_last(*sells):
        return leaked(data, np.array(sells))[2]

    alone = about_last(True, False, False) - about_last(False, False, False)
    beside = about_last(True, True, False) - about_last(False, True, False)
    assert alone == 0 and beside > 0.01


def test_variance_left_with_loud_quiet_and_no_noise():
    """Second route to the formula with one inverse: leave owners out one by one. Noise over 24 decades."""
    rng = np.random.default_rng(3)
    data = random_data(5, 6)
    for exponents in rng.uniform(-12, 12, (30, 6)):
        noise = 10.0**exponents
        noise[rng.integers(6)] = np.inf
        apart = np.where(np.eye(6, dtype=bool), np.inf, noise)
        slow = data.variance - np.diagonal(leaked_information(data.covariance, apart))
        assert np.allclose(remaining_variance(data.covariance, noise), slow, rtol=0, atol=1e-9)
    noise[2] = 0.0
    slow = data.variance - np.diagonal(
        leaked_information(data.covariance, np.where(np.eye(6, dtype=bool), np.inf, noise))
    )
    assert np.allclose(remaining_variance(data.covariance, noise), slow, atol=1e-12)
    same = np.ones((2, 2))  # one datum twice, seen as it is: nothing is left, and nothing breaks
    assert leaked_information(same, np.zeros(2)) == pytest.approx([1, 1], abs=1e-12)
    assert remaining_variance(same, np.zeros(2)) == pytest.approx([0, 0], abs=1e-12)


def markets(data, *, policy=None, high=4.0, benefit=0.2):
    """A market in which owners lose what all sales tell: their cost is what a sale alone tells."""
    n = data.n_owners
    cost = Told(data.valuation, data.noise)
    people = Owners(tuple(map(str, range(n))), 1, 0.0, high, cost, benefit=benefit, isolated=0.5)
    game = Game(people, policy or Posted(0.4), LinearLaw(1.0, 0.1, 0.02), 2.0)
    return spillover_game(game, Externalities(data.correlation, data.noise))


def matrix_of(seed, n):
    return random_data(seed, n).correlation.tolist()


LEAKING = [
    pytest.param(Correlated(np.linspace(0.3, 2, 4), 0.6, noise=2.0), id="one factor"),
    pytest.param(Correlated(np.linspace(0.3, 2, 4), matrix_of(8, 4), noise=1.5), id="matrix"),
]
POLICIES = [Posted(0.4), Posted([0.1, 0.2, 0.3, 0.6]), Proportional(3.0, "epsilon"), Marginal(0.5)]


@pytest.mark.parametrize("data", LEAKING)
@pytest.mark.parametrize("policy", POLICIES)
def test_the_loss_inside_the_game(data, policy):
    """A move changes what the changed profile says it changes, by hand; its slope is its derivative."""
    game = markets(data, policy=policy)
    free = replace(game.owners, cost=Linear(0.0))
    plain = Game(free, policy, game.forecast, game.value)
    for profile in (np.array([0.3, 1.0, 0.0, 3.0]), np.zeros(4), np.array([0.0, 2.0, 0, 0])):
        noise = np.divide(data.noise, profile**2, out=np.full(4, np.inf), where=profile > 0)
        loss = data.valuation * leaked_information(data.covariance, noise)
        assert np.allclose(data.valuation * game.policy.told(profile)[1], loss, rtol=1e-11)
        assert np.allclose(
            game.payoffs(profile), plain.payoffs(profile) - loss, rtol=1e-10, atol=1e-12
        )
    profile = np.array([0.3, 1.0, 0.0, 3.0])
    candidates = np.tile([0.0, 0.05, 0.7, 3.9], (4, 1))
    fast = game.deviation_payoffs(profile, candidates)
    for i, at in np.ndindex(4, 4):
        changed = profile.copy()
        changed[i] = candidates[i, at]
        assert fast[i, at] == pytest.approx(game.payoffs(changed)[i], rel=1e-10, abs=1e-12)
    assert np.allclose(
        game.deviation_payoffs(profile, candidates[[2, 0]], owners=[2, 0]), fast[[2, 0]], rtol=1e-13
    )
    at = np.tile(np.geomspace(0.11, 3.3, 12), (4, 1))
    deviations = game.deviations(profile)
    slope = (deviations.payoffs(at + 1e-6 * at) - deviations.payoffs(at - 1e-6 * at)) / (2e-6 * at)
    assert np.allclose(
        deviations.marginal_surplus(at), slope, rtol=1e-5, atol=1e-6 * np.abs(slope).max()
    )


def test_one_factor_is_the_matrix_with_that_number():
    """Two routes to one market: owners who meet in one sum, and the n by n inverse; also their equilibria."""
    valuation = np.linspace(0.3, 2, 5)
    number = Correlated(valuation, 0.6, noise=2.0)
    matrix = Correlated(valuation, np.where(np.eye(5, dtype=bool), 1.0, 0.6).tolist(), noise=2.0)
    fast = markets(number)
    slow = markets(matrix)
    assert fast.policy.by_sums and not slow.policy.by_sums
    for profile in np.random.default_rng(0).uniform(0, 4, (5, 5)):
        assert np.allclose(fast.payoffs(profile), slow.payoffs(profile), rtol=1e-12)
    one, two = (solve(game, rng=np.random.default_rng(0), starts=4) for game in (fast, slow))
    assert one.converged and two.converged
    assert one.method == "aggregative"
    everyone = [e.epsilon for e in (two, *two.others)]
    assert min(np.abs(one.epsilon - e).max() for e in everyone) < 1e-7


def spilling(cost, policy, correlation, high=3.0, noise=1.0):
    """A market of owners with any cost."""
    people = Owners(tuple(map(str, range(len(cost.price)))), 1, 0.0, high, cost)
    return spillover_game(Game(people, policy, None, 0.0), Externalities(correlation, noise))


def test_what_others_sell_lowers_what_mine_costs_me():
    """More from the others, more from me: at equal prices correlated owners sell more than independent ones."""
    apart, close = (
        spilling(Quadratic([0.5] * 3), Posted(0.9), correlation, 4.0) for correlation in (0.0, 0.8)
    )
    assert np.all(
        close.best_responses(np.full(3, 2.0)) > 1e-3 + close.best_responses(np.full(3, 0.2))
    )
    assert np.allclose(
        apart.best_responses(np.full(3, 2.0)), apart.best_responses(np.full(3, 0.2)), rtol=1e-12
    )


def test_a_leaking_sale_by_hand():
    """Uncorrelated, noise 1/e^2: I = e^2/(1 + e^2), its slope 2 e/(1 + e^2)^2; at e = 1 price 1/2 is met at valuation 1.

    A second derivative of 2 (1 - 3 e^2)/(1 + e^2)^3 < 0 there makes it a minimum: the best choice
    is the other root of e = (1 + e^2)^2/4, or an end.
    """
    game = spilling(Told(np.ones(2), 1.0), Posted(0.5), 0.0, 0.9)
    roots = np.roots([1, 0, 2, -4, 1])
    lower = roots[(np.abs(roots.imag) < 1e-12) & (roots.real < 0.9)].real
    assert np.allclose(game.best_responses(np.ones(2)), lower, rtol=1e-12)
    profile = np.repeat(lower, 2)
    told = lower[0] ** 2 / (1 + lower[0] ** 2)
    assert game.policy.told(profile)[1] == pytest.approx([told, told])
    assert welfare(game, profile) == pytest.approx(-2 * told)


def test_without_sales_nothing_is_told():
    for correlation in (0.6, [[1.0, 0.6], [0.6, 1.0]], 1.0):
        policy = spilling(Linear([2.0, 3.0]), Posted(0.0), correlation).policy
        for part in policy.told(np.zeros(2)):
            assert np.array_equal(part, np.zeros(2))


def test_a_large_market_of_correlated_owners():
    valuation = np.random.default_rng(0).uniform(0.5, 2, 20_000)
    game = spilling(Quadratic(valuation), Posted(0.3), 0.3)
    found = solve(game, rng=np.random.default_rng(0), starts=1)
    assert found.converged and found.method == "aggregative"


@pytest.mark.parametrize(
    ("n_owners", "correlation", "message"),
    [
        (2, 1.2, "owners.correlation: must lie in \\[-1, 1\\] for 2 owners; found 1.2"),
        (3, -0.6, "owners.correlation: must lie in \\[-0.5, 1\\] for 3 owners"),
        (2, "much", 'owners.correlation: must be a number, .*; found "much"'),
        (2, [["a", 1]], "owners.correlation: must be a number or a square matrix of numbers"),
        (
            2,
            np.eye(3),
            "owners.correlation: must be a number or 2 by 2 numbers; found shape \\(3, 3\\)",
        ),
        (2, [[1, 0.2], [0.3, 1]], "owners.correlation: must be symmetric with ones"),
        (2, [[1, 2], [2, 1]], "owners.correlation: must have no negative eigenvalue; found -1"),
        (2, [[1, np.nan], [np.nan, 1]], "owners.correlation: must be finite"),
    ],
)
def test_data_that_cannot_be(n_owners, correlation, message):
    with pytest.raises(InputError, match=f"^{message}"):
        checked_correlation(correlation, n_owners)


def test_a_step_menu_may_leak():
    """A menu jumps at 1: 0.7 for e >= 1 against a leak of 1/2; without the jump as a candidate it would be missed."""
    game = spilling(Told(np.ones(2), 1.0), Tiers([1.0], [0.7]), 0.0)
    assert game.best_responses(np.zeros(2)).tolist() == [1.0, 1.0]


def test_the_other_policy_sees_its_own_sums_only():
    """One that pays by all the sums it is given must not be given the one that the leak adds."""

    class PerHead(Policy):
        def terms(self, epsilon, owners):
            return (epsilon > 0).astype(float)[..., None]

        def payments(self, epsilon, deviations):
            return 12.0 / (1 + deviations.others_policy.sum(axis=-1)) * (epsilon > 0)

    game = spilling(Linear([0.0] * 3), PerHead(), 0.5)
    assert game.payments(np.array([1.0, 2.0, 3.0])).tolist() == [4.0, 4.0, 4.0]
    assert game.payments(np.array([1.0, 0.0, 3.0])).tolist() == [6.0, 0.0, 6.0]
