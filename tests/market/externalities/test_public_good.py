"""The public good of precision: closed forms, the potential, and the market's own solvers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq, minimize

from learning.errors import InputError
from market.analysis.welfare import welfare
from market.costs.functions import Quadratic
from market.equilibrium.diagnostics import four_cycles
from market.equilibrium.potential import potential_gain
from market.equilibrium.solver import solve
from market.externalities.public_good import InKind, Precision, potential, public_good, solve_public_good
from market.game.game import Game
from market.policies.marginal import Marginal
from market.policies.posted import Posted


def rng():
    return np.random.default_rng(0)


def closed_form(price, valuation, prior):
    """Owner i's first-order condition is 2 c_i x_i = w_i/S^2, S = prior + sum of x; so S^3 - prior S^2 = A,
    A = sum w_i/(2 c_i): one positive root, as the left side is negative up to the prior and rises from there."""
    weight = valuation / (2 * price)
    total = brentq(lambda s: s**3 - prior * s**2 - weight.sum(), prior, prior + np.cbrt(weight.sum()) + 1, xtol=1e-15)
    return weight / total**2


@pytest.mark.parametrize(("n", "c"), [(10, 1.0), (2, 0.3), (50, 7.0), (1, 2.0)])
def test_equal_owners(n, c):
    """Alone: d/dx (c x^2 + 1/((n-1) y + x)) = 0 at x = y gives 2 c x = 1/(n x)^2, x = (2 c n^2)^(-1/3).

    All together lose n c x^2 + n/(n x) = n c x^2 + 1/x, least at x = (2 c n)^(-1/3). In losses that is
    (2 c n^2)^(1/3) (1 + 1/(2n)) against (2 c n)^(1/3) 3/2, a ratio of n^(1/3) (2 + 1/n)/3. n = 10, c = 1:
    0.170998 against 0.368403, and 1.508104.
    """
    result = solve_public_good(public_good(np.full(n, c)), rng=rng())
    assert result.equilibrium.reason == "certified"
    assert np.allclose(result.equilibrium.epsilon, (2 * c * n**2) ** (-1 / 3), rtol=1e-10, atol=0)
    assert np.allclose(result.optimum, (2 * c * n) ** (-1 / 3), rtol=1e-10, atol=0)
    assert result.loss == pytest.approx((2 * c * n**2) ** (1 / 3) * (1 + 1 / (2 * n)), rel=1e-12)
    assert result.best_loss == pytest.approx((2 * c * n) ** (1 / 3) * 1.5, rel=1e-12)
    assert result.price_of_anarchy == pytest.approx(n ** (1 / 3) * (2 + 1 / n) / 3, rel=1e-12)
    assert result.variance == pytest.approx(1 / (n * result.equilibrium.epsilon[0]), rel=1e-14)
    assert result.best_variance == pytest.approx(1 / (n * result.optimum[0]), rel=1e-14)
    if (n, c) == (10, 1.0):
        assert result.equilibrium.epsilon[0] == pytest.approx(0.170998, abs=5e-7)
        assert result.optimum[0] == pytest.approx(0.368403, abs=5e-7)


@pytest.mark.parametrize("prior", [0.0, 0.7])
@pytest.mark.parametrize("seed", range(6))
def test_owners_who_differ(seed, prior):
    draw = np.random.default_rng(seed)
    n = draw.integers(2, 12)
    price, valuation = draw.uniform(0.1, 5, n), draw.uniform(0.2, 3, n)
    game = public_good(price, valuation=valuation, prior=prior)
    result = solve_public_good(game, rng=rng())
    assert result.equilibrium.reason == "certified"
    assert np.allclose(result.equilibrium.epsilon, closed_form(price, valuation, prior), rtol=1e-9, atol=0)
    # together they are one owner of valuation W who pays every price
    assert np.allclose(result.optimum, closed_form(price, np.full(n, valuation.sum()), prior), rtol=1e-8, atol=0)
    assert result.price_of_anarchy > 1
    for profile in (result.equilibrium.epsilon, result.optimum):
        assert np.all(profile > game.owners.epsilon_min) and np.all(profile < game.owners.epsilon_max)


@pytest.mark.parametrize("valuation", [1.0, np.array([0.5, 1.0, 2.0, 3.0])])
def test_the_potential_follows_every_move(valuation):
    """Payoffs written out by hand; with valuations of 1 the differences are equal, else in proportion to the valuation."""
    draw, price = np.random.default_rng(3), np.array([0.4, 1.0, 2.0, 6.0])
    game = public_good(price, valuation=valuation, prior=0.2)
    low, high = game.owners.epsilon_min, game.owners.epsilon_max
    for _ in range(50):
        before = draw.uniform(low, high)
        after, owner = before.copy(), draw.integers(4)
        after[owner] = draw.uniform(low[owner], high[owner])

        def surplus(x, owner=owner):
            return -price[owner] * x[owner] ** 2 - np.broadcast_to(valuation, 4)[owner] / (0.2 + x.sum())

        change = surplus(after) - surplus(before)
        scale = np.broadcast_to(valuation, 4)[owner]
        assert scale * (potential(game, after) - potential(game, before)) == pytest.approx(change, rel=1e-9, abs=1e-12)
        assert (game.payoffs(after) - game.payoffs(before))[owner] == pytest.approx(change, rel=1e-9, abs=1e-12)


def test_any_way_round_gains_nothing():
    """Second route: the market's own test of four-cycles, and its sum of gains along a path, with valuations of 1."""
    game = public_good([0.4, 1.0, 2.0, 6.0], prior=0.2)
    assert four_cycles(game, rng=rng()).holds
    assert not four_cycles(public_good([0.4, 1.0, 2.0], valuation=[1.0, 2.0, 5.0]), rng=rng()).holds  # weighted only
    low, high = game.owners.epsilon_min, game.owners.epsilon_max
    assert potential_gain(game, low, high) == pytest.approx(potential(game, high) - potential(game, low), rel=1e-9)


def test_the_equilibrium_maximises_the_potential():
    """Second route: a general optimiser on the potential, over all owners at once."""
    game = public_good([0.5, 1.0, 4.0], valuation=[1.0, 2.0, 1.0])
    best = minimize(
        lambda logs: -potential(game, np.exp(logs)), np.zeros(3), method="Nelder-Mead",
        options={"xatol": 1e-10, "fatol": 1e-14, "maxiter": 5000},
    )  # fmt: skip
    assert np.allclose(np.exp(best.x), solve(game, rng=rng(), starts=1).epsilon, rtol=1e-5)


@pytest.mark.parametrize("method", ["aggregative", "sequential", "random"])
def test_every_way_to_solve_it(method):
    game = public_good(np.linspace(0.5, 3, 8))
    found = solve(game, rng=rng(), method=method, starts=3)
    assert found.reason == "certified"
    assert np.allclose(found.epsilon, closed_form(np.linspace(0.5, 3, 8), np.ones(8), 0.0), rtol=1e-7, atol=0)


def test_it_is_the_marginal_policy_with_everybodys_share():
    """share_i = valuation_i/V pays each its own part of the gain: the same incentives, so the same equilibrium."""
    valuation = np.array([1.0, 2.0, 5.0])
    game = public_good([1.0, 0.5, 3.0], valuation=valuation, prior=0.3)
    paid = Game(game.owners, Marginal(valuation / valuation.sum()), game.forecast, game.value)
    assert np.allclose(solve(paid, rng=rng()).epsilon, solve(game, rng=rng()).epsilon, rtol=1e-10, atol=0)
    profile = np.array([0.3, 0.2, 0.5])
    moved = [one.deviation_payoffs(profile, np.array([[0.1, 0.4]] * 3)) for one in (game, paid)]
    assert np.allclose(np.diff(moved[0]), np.diff(moved[1]), rtol=1e-12)
    full = Game(game.owners, Marginal(1.0), game.forecast, game.value)  # everybody's gain to each: the optimum
    assert np.allclose(solve(full, rng=rng()).epsilon, solve_public_good(game, rng=rng()).optimum, rtol=1e-9, atol=0)


def test_welfare_counts_the_estimate_once_for_each():
    game = public_good([1.0, 2.0], valuation=[3.0, 4.0], prior=0.5)
    x = np.array([0.4, 0.6])
    by_hand = 7 * (2 - 1 / 1.5) - 0.16 - 2 * 0.36
    assert welfare(game, x) == pytest.approx(by_hand, rel=1e-14)
    assert game.payoffs(x).sum() == pytest.approx(by_hand, rel=1e-14)


def test_the_precision_of_a_mean():
    """Second route: the variance of the inverse-variance weighted mean, 20,000 draws (4 errors of sqrt(2/20,000))."""
    draw, x = np.random.default_rng(1), np.array([0.5, 2.0, 4.0])
    told = draw.normal(size=(20_000, 3)) / np.sqrt(x)
    law = Precision(outside=9.0)
    psi = float(law.excess(law.terms(x).sum(axis=0)))
    assert (told @ x / x.sum()).var() == pytest.approx(psi, rel=4 * np.sqrt(2 / 20_000))
    assert law.excess(np.zeros(1)) == 9.0 == law.outside
    steps = np.array([[0.5 - 1e-6, 0.5 + 1e-6]])
    ends = law.excess(6.0 + steps[..., None])
    assert law.slopes(steps, np.array([[[6.5]]]))[0, 0] == pytest.approx(np.diff(ends)[0, 0] / 2e-6, rel=1e-8)


def test_slopes_are_derivatives():
    game = public_good([1.0, 2.0, 0.3], valuation=[1.0, 0.4, 2.0], prior=0.1)
    at = np.tile(np.geomspace(0.05, 0.9, 9), (3, 1))
    deviations = game.deviations(np.array([0.2, 0.3, 0.4]))
    slope = (deviations.payoffs(at + 1e-6 * at) - deviations.payoffs(at - 1e-6 * at)) / (2e-6 * at)
    assert np.allclose(deviations.slopes(at), slope, rtol=1e-6, atol=1e-8)


def test_ten_thousand_owners():
    """The closed form again; a path ends when moves are small beside the intervals, which here are wide."""
    n = 10**4
    price = np.random.default_rng(0).uniform(0.5, 3, n)
    found = solve(public_good(price, prior=1.0), rng=rng(), starts=1, tol=1e-13)
    assert found.converged and np.allclose(found.epsilon, closed_form(price, np.ones(n), 1.0), rtol=1e-8, atol=0)


def test_what_cannot_be():
    with pytest.raises(InputError, match="owners.cost.price: needs one number per owner; found 1"):
        public_good(1.0)
    with pytest.raises(InputError, match="owners.cost.price: must be a number above 0, .*; found 0"):
        public_good([1.0, 0.0])
    with pytest.raises(InputError, match="policy.valuation: needs one number per owner, 2 in all; found 3"):
        public_good([1.0, 2.0], valuation=[1, 2, 3])
    with pytest.raises(InputError, match="policy.valuation: must be a number above 0, .*; found 0"):
        public_good([1.0, 2.0], valuation=[1, 0])
    with pytest.raises(InputError, match="forecast.prior: must be a number of at least 0, .*; found -1"):
        public_good([1.0, 2.0], prior=-1)
    with pytest.raises(InputError, match="forecast.outside: is needed where nothing is known before"):
        Precision()
    with pytest.raises(InputError, match="policy.valuation: must be a number of at least 0"):
        InKind(-1)
    game = public_good([1.0, 2.0])
    with pytest.raises(ValueError, match="a potential is known for InKind"):
        potential(Game(game.owners, Posted(1.0), game.forecast, 1.0), np.ones(2))
    assert isinstance(game.owners.cost, Quadratic)
