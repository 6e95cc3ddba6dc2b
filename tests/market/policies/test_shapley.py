"""The Shapley policy against its axioms and every order of arrival written out; its sample against its truth."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pytest
from markets import N, market, owners
from toys import Envelope, LinearLaw

from learning.errors import InputError
from learning.training.coalitions import arrival_orders
from market.analysis.regulation import floor_prices
from market.costs.functions import Quadratic
from market.equilibrium.solver import solve
from market.game.game import Game
from market.policies.contributions import Shapley
from scenarios.run import Run
from scenarios.schema.loading import load
from scenarios.summary.market import owners_part

LAWS = [LinearLaw(1.0, 0.1, 0.02), Envelope(1.0, (0.5, 0.2, 0.05), (1e-3, 0.01, 0.1))]
PROFILES = [np.array([0.3, 1.0, 2.5, 8.0]), np.array([0.0, 1.0, 0.0, np.inf]), np.zeros(N)]


@dataclass(frozen=True)
class PooledLaw:
    """psi = least of bias_T + gain_T * sum(1/epsilon^2) / n^2 with n who share: several sums, and a curve."""

    outside: float = 1.0

    def terms(self, epsilon):
        return LAWS[0].terms(epsilon)

    def weights(self, epsilon):
        return np.full(len(epsilon), 1 / len(epsilon))

    def excess(self, sums):
        noise = sums[..., 0] / np.maximum(sums[..., 1], 1.0) ** 2
        value = np.minimum(0.3 + 0.1 * noise, 0.02 + 3 * noise)
        return np.where(sums[..., 1] > 0, np.minimum(value, self.outside), self.outside)


@dataclass(frozen=True)
class Unasked(PooledLaw):
    """The same of a planner who asks nothing of so many owners."""

    n_owners: int = N

    @property
    def sizes(self):
        return np.ones(self.n_owners)

    def sums_at(self, epsilon):
        return self.terms(epsilon).sum(axis=0)

    def asks(self, sums):
        return np.False_


@dataclass(frozen=True)
class SumOfLaws:
    """The sum of two toy laws, for additivity."""

    first: object
    second: object

    @property
    def outside(self):
        return self.first.outside + self.second.outside

    def terms(self, epsilon):
        return self.first.terms(epsilon)

    def excess(self, sums):
        return self.first.excess(sums) + self.second.excess(sums)


def by_orders(game, epsilon, share=1.0):
    """Second route: every order of arrival, each owner credited with what its arrival changes."""
    paid = np.zeros(len(epsilon))
    orders = list(permutations(range(len(epsilon))))
    for order in orders:
        there = np.zeros(len(epsilon))
        before = game.fitness(there)
        for owner in order:
            there[owner] = epsilon[owner]
            now = game.fitness(there)
            paid[owner] += before - now
            before = now
    return share * game.value * paid / len(orders)


def spread(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.permutation(np.geomspace(0.2, 15, n)) * rng.uniform(0.8, 1.2, n)


@pytest.mark.parametrize("law", [*LAWS, PooledLaw()], ids=["line", "envelope", "pooled"])
@pytest.mark.parametrize("epsilon", PROFILES, ids=["all", "some", "none"])
def test_payments_are_averages_over_every_order(law, epsilon):
    game = Game(owners(), Shapley(0.7), law, 20.0)
    assert np.allclose(
        game.payments(epsilon), by_orders(game, epsilon, 0.7), rtol=1e-12, atol=1e-13
    )


@pytest.mark.parametrize("law", [*LAWS, PooledLaw()], ids=["line", "envelope", "pooled"])
@pytest.mark.parametrize(
    "policy", [Shapley(0.7), Shapley(0.7, method="sampled", samples=10)], ids=["exact", "sampled"]
)
def test_efficiency(law, policy):
    """Nothing is left over: the payments are share * V * (psi(nobody) - psi(everybody)), in a sample too."""
    for epsilon in PROFILES:
        game = Game(owners(), policy, law, 20.0)
        assert game.payments(epsilon).sum() == pytest.approx(
            0.7 * 20 * (1 - game.fitness(epsilon)), rel=1e-13, abs=1e-13
        )


def test_symmetry_null_owner_and_additivity():
    """Equal owners are paid alike; who shares nothing, nothing; the value of a sum is the sum of the values."""
    epsilon = np.array([2.0, 0.0, 2.0, 5.0])
    for law in [*LAWS, PooledLaw()]:
        paid = Game(owners(), Shapley(), law, 20.0).payments(epsilon)
        assert (
            paid[0] == pytest.approx(paid[2], rel=1e-13)
            and paid[1] == 0
            and abs(paid[3] - paid[0]) > 1e-3
        )
    both = Game(owners(), Shapley(), SumOfLaws(LAWS[1], PooledLaw()), 20.0)
    one, two = (Game(owners(), Shapley(), law, 20.0) for law in (LAWS[1], PooledLaw()))
    assert np.allclose(
        both.payments(epsilon), one.payments(epsilon) + two.payments(epsilon), rtol=1e-13
    )


def test_under_a_line_by_hand():
    """psi = b + g sum 1/e^2 once anybody shares: the first to arrive gains 1 - b, all add their own g/e^2, and
    everyone is first equally often."""
    epsilon = np.array([0.5, 1.0, 2.0, 4.0])
    game = Game(owners(), Shapley(), LAWS[0], 20.0)
    assert np.allclose(game.payments(epsilon), 20 * ((1 - 0.1) / 4 - 0.02 / epsilon**2), rtol=1e-13)


@pytest.mark.parametrize("seed", range(4))
def test_a_sample_is_within_three_standard_errors(seed):
    """Ten owners, exact over 512 coalitions each; of 40 payments, 3 standard errors miss 0.1 on average."""
    epsilon = spread(10, seed)
    game = market(Quadratic(1.0), Shapley(), 10, forecast=PooledLaw(), value=20.0)
    sampled = Shapley(method="sampled", samples=2000, seed=seed)
    drawn = Game(game.owners, sampled, PooledLaw(), 20.0).payments(epsilon)
    error = sampled.standard_error(epsilon, game)
    score = (drawn - game.payments(epsilon)) / error
    assert np.all(np.abs(score) < 3) and 0.3 < np.sqrt(np.mean(score**2)) < 1.7
    assert np.all(error < 0.05 * game.payments(epsilon).max()) and np.all(error > 0)
    assert np.array_equal(Shapley().standard_error(epsilon, game), np.zeros(10))


def test_reversed_orders_help():
    """The reverse of an order errs the other way: the mean over pairs is better than over as many single orders."""
    epsilon = spread(10)
    game = market(Quadratic(1.0), Shapley(), 10, forecast=PooledLaw(), value=20.0)
    truth = game.payments(epsilon)
    misses = [
        Game(
            game.owners, Shapley(method="sampled", samples=200, seed=seed), PooledLaw(), 20.0
        ).payments(epsilon)
        - truth
        for seed in range(40)
    ]
    errors = Shapley(method="sampled", samples=200).standard_error(epsilon, game)
    assert np.sqrt(np.mean(np.square(misses))) == pytest.approx(
        np.sqrt(np.mean(errors**2)), rel=0.25
    )
    assert np.abs(np.mean(misses, axis=0)).max() < 4 * errors.max() / np.sqrt(40)


@pytest.mark.parametrize(
    ("n", "samples", "count"), [(5, 400, 400), (13, 400, 390), (30, 400, 400), (7, 4, 4)]
)
def test_the_drawn_orders(n, samples, count):
    """Every row an order; every second the reverse of the one before; every owner equally often first."""
    orders = arrival_orders(n, samples, 3)
    assert len(orders) == count <= samples and np.array_equal(
        np.sort(orders, axis=1), np.tile(np.arange(n), (count, 1))
    )
    assert np.array_equal(orders[1::2], orders[::2, ::-1])
    first = np.bincount(orders[:, 0], minlength=n)
    assert n > 25 or samples < 16 or np.all(first == count // n)
    assert len(np.unique(orders, axis=0)) > 0.9 * min(count, 100)


def test_a_move_is_priced_by_the_same_orders():
    """Sampled payoffs are one function of epsilon: a move pays what the changed profile pays, and has that slope."""
    game = market(Quadratic(1.0), Shapley(0.5, samples=40), 14, forecast=PooledLaw(), value=20.0)
    epsilon = spread(14)
    candidates = np.tile([0.0, 0.7, 9.0], (14, 1))
    fast = game.deviation_payoffs(epsilon, candidates)
    for owner in (0, 3, 13):
        for at, candidate in enumerate(candidates[owner]):
            changed = epsilon.copy()
            changed[owner] = candidate
            assert fast[owner, at] == pytest.approx(
                game.payoffs(changed)[owner], rel=1e-12, abs=1e-13
            )
    some = game.deviation_payoffs(epsilon, candidates[[3, 11]], owners=[3, 11])
    assert np.allclose(some, fast[[3, 11]], rtol=1e-13)
    paid = game.payments(epsilon)
    arrival_orders.cache_clear()
    assert np.array_equal(game.payments(epsilon), paid)
    one = Shapley(samples=40, seed=1)
    assert not np.allclose(
        Game(game.owners, one, PooledLaw(), 20.0).payments(epsilon), 2 * game.payments(epsilon)
    )


@pytest.mark.parametrize("law", [LAWS[0], PooledLaw()], ids=["line", "pooled"])
def test_a_shapley_market_settles(law):
    """Under a line the payment to an owner falls by V g/e^2 whoever else is there, as under the marginal policy: a e =
    2 V g / e^3. Under the curve the certificate and a general search over moves agree that nobody
    gains."""
    slope = np.array([0.5, 1.0, 3.0])
    game = market(Quadratic(slope), Shapley(), 3, low=0.05, high=10.0, forecast=law, value=30.0)
    found = solve(game, rng=np.random.default_rng(0), starts=3)
    assert found.converged and found.max_relative_regret < 1e-8
    if law is LAWS[0]:
        assert np.allclose(found.epsilon, (2 * 30 * 0.02 / slope) ** 0.25, rtol=1e-9)
    grid = np.tile(np.geomspace(0.05, 10, 4001), (3, 1))
    gain = game.deviation_payoffs(found.epsilon, grid).max(axis=1) - game.payoffs(found.epsilon)
    assert np.all(gain < 1e-8)


@pytest.mark.slow
def test_payments_that_bend_often_are_searched_finely():
    """Each of 2^11 coalitions changes its horizon at another epsilon: surplus has many maxima close together."""
    slopes = np.linspace(1, 2, 12)
    game = market(
        Quadratic(slopes), Shapley(), 12, low=0.05, high=10.0, forecast=PooledLaw(), value=360.0
    )
    found = solve(game, rng=np.random.default_rng(0), starts=1)
    assert found.converged
    grid = np.tile(np.geomspace(0.05, 10, 501), (12, 1))
    assert np.all(
        game.deviation_payoffs(found.epsilon, grid).max(axis=1) < game.payoffs(found.epsilon) + 1e-6
    )
    assert floor_prices(game, 0.1).policy.grain == Shapley().grain and "points" in Shapley().grain


def test_twelve_owners_exactly_in_time():
    """2^12 coalitions: a round of best responses of all takes well under a second."""
    game = market(
        Quadratic(1.0), Shapley(), 12, low=0.05, high=10.0, forecast=PooledLaw(), value=30.0
    )
    begun = time.perf_counter()
    response = game.best_responses(np.ones(12))
    assert time.perf_counter() - begun < 3 and response.shape == (12,)


@pytest.mark.parametrize("n", [12, 13])
def test_a_result_says_how_far_sampling_may_be_off(n):
    policy = Shapley(samples=40)
    game = market(Quadratic(1.0), policy, n, forecast=PooledLaw(), value=20.0)
    data = SimpleNamespace(
        names=game.owners.names, sizes=np.ones(n), fits_own_models=False, has_records=True
    )
    planner = SimpleNamespace(forecast=Unasked(n_owners=n))
    scenario = load("three_insurers")
    settled = SimpleNamespace(epsilon=spread(n))
    run = Run(scenario, data, planner, game, settled, trained=None)
    rows = owners_part(run, 0.1)
    errors = [row["payment_std_error"] for row in rows]
    assert errors == policy.standard_error(spread(n), game).tolist()
    assert all(error > 0 for error in errors) if n > 12 else not any(errors)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"share": -1.0},
            "policy.share: must be a number above 0, or a list with one per owner; found -1.0.",
        ),
        ({"samples": 5}, "policy.samples: must be an even whole number of at least 4; found 5."),
        ({"seed": -1}, "policy.seed: must be a whole number of at least 0; found -1."),
        (
            {"method": "guess"},
            'policy.method: must be "auto", "exact" or "sampled"; found "guess".',
        ),
    ],
)
def test_what_a_shapley_policy_cannot_be(changes, message):
    with pytest.raises(InputError, match=message):
        Shapley(**changes)
