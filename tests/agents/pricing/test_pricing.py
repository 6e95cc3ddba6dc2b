"""A learner that learns its price, against prices known in closed form, by search over a grid, and under noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from markets import market, rng
from toys import LinearLaw

from agents import DataMarket
from agents.pricing import PRICING
from agents.pricing.base import Observation, Pricing, learn_price
from agents.pricing.searches import GaussianProcess, GoldenSection, Tatonnement
from learning.errors import InputError
from market.analysis.welfare import learner_surplus
from market.costs.functions import Linear, Quadratic
from market.equilibrium.solver import solve
from market.policies.posted import Posted
from market.policies.proportional import Proportional

KINDS = [kind for kind in PRICING if not PRICING[kind].bargains]
LAW = LinearLaw(1.0, 0.0, 0.01)  # psi = 0.01 sum 1/epsilon^2


def posted(value):
    """Two owners of cost epsilon^2, each sells p/2: V (1 - 0.08 / p^2) - p^2 is largest at p^4 = 0.08 V."""
    game = market(Quadratic(2.0), Posted(1.0), 2, low=0.01, high=100.0, forecast=LAW, value=value)
    best = (0.08 * value) ** 0.25
    return game, Posted, best, value * (1 - 0.08 / best**2) - best**2


def shared(value):
    """Of a budget B, owners of linear cost 1 and 2 sell 2B/9 and B/9: V (1 - k/B^2) - B is largest at B^3 = 2 k V."""
    game = market(
        Linear([1.0, 2.0]),
        Proportional(1.0, "epsilon"),
        2,
        low=1e-4,
        high=1e3,
        forecast=LAW,
        value=value,
    )
    k = 0.01 * 81 * (1 + 1 / 4)
    best = (2 * k * value) ** (1 / 3)
    return (
        game,
        lambda budget: Proportional(budget, "epsilon"),
        best,
        value * (1 - k / best**2) - best,
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("built", "value"), [(posted, 2e4), pytest.param(shared, 200.0, marks=pytest.mark.slow)]
)
def test_every_pricing_finds_the_best_single_price_in_twenty_posts(kind, built, value):
    game, make, best, profit = built(value)
    learned = learn_price(
        DataMarket(game, rng=0), make, PRICING[kind](low=0.1, high=100.0, prices=20)
    )
    assert len(learned.seen) <= 21  # the one kept may be posted once more
    assert learned.kept.price == pytest.approx(best, rel=0.06)
    assert profit * (1 - 1e-3) <= learned.kept.profit <= profit * (1 + 1e-9)
    assert learned.near(profit) <= 12


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.slow
@pytest.mark.parametrize(
    "activation", [pytest.param("simultaneous", marks=pytest.mark.deep), "random"]
)
def test_the_order_of_moves_does_not_matter(kind, activation):
    game, make, _, profit = shared(200.0)
    learned = learn_price(
        DataMarket(game, rng=3, activation=activation), make, PRICING[kind](high=100.0)
    )
    assert learned.kept.profit == pytest.approx(profit, rel=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_gives_the_same_prices(kind):
    game, make, *_ = posted(200.0)
    markets = [DataMarket(game, rng=3, activation="poisson") for _ in range(2)]
    first, again = (learn_price(one, make, PRICING[kind](prices=9)) for one in markets)
    assert [one.price for one in first.seen] == [one.price for one in again.seen]
    assert np.array_equal(first.kept.epsilon, again.kept.epsilon)


def crowd(budget):
    """Owners at corners of their intervals at some budgets, out of the market at others."""
    prices = [1.0, 2.0, 5.0, 9.0]
    return market(
        Linear(prices), Proportional(budget), 4, high=3.0, forecast=LAW, value=60.0, sizes=2.0
    )


@pytest.fixture(scope="module")
def best_of_grid():
    """The profit of the best of 25 budgets, each settled by the direct solver."""
    priced = [crowd(budget) for budget in np.geomspace(2, 100, 25)]
    return max(learner_surplus(one, solve(one, rng=rng(), starts=1).epsilon) for one in priced)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_profit_kept_is_that_of_the_best_price_of_a_grid(kind, best_of_grid):
    learned = learn_price(
        DataMarket(crowd(1.0), rng=0), Proportional, PRICING[kind](low=0.1, high=100.0, close=0.01)
    )
    assert learned.kept.profit >= best_of_grid - 0.01 * abs(best_of_grid)


def drive(pricing, law, budget=np.inf):
    """The price that a pricing keeps where (gain, payment) at a price are what a law says, and how many it posted."""
    posts = pricing.posts()
    price = next(posts)
    count = 0
    while True:
        gain, paid = law(price)
        count += 1
        try:
            price = posts.send(
                Observation(price, np.array([paid > 0]), np.array([paid]), gain, budget)
            )
        except StopIteration as end:
            return end.value, count


@pytest.mark.parametrize("kind", KINDS)
def test_with_noise_in_what_is_seen_it_still_comes_within_one_percent(kind):
    """Noise of 0.3 of 192 on the gain: over seeds, the true profit at the price kept."""
    short = []
    for seed in range(5):
        noise = rng(seed)
        price, _ = drive(
            PRICING[kind](),
            lambda p, noise=noise: (200 * (1 - 0.08 / p**2) + noise.normal(0, 0.3), p**2),
        )
        short.append(192 - (200 * (1 - 0.08 / price**2) - price**2))
    assert max(short) < 1.92 and np.mean(short) < 0.3


@pytest.mark.parametrize("kind", KINDS)
def test_the_budget_is_kept_to_and_used_where_it_binds(kind):
    """Unbounded, the best price is 2 and costs 4; with 1 to spend, it is 1."""
    game, make, *_ = posted(200.0)
    learned = learn_price(DataMarket(game, rng=0), make, PRICING[kind](prices=40), budget=1.0)
    assert learned.kept.spending <= 1.0 + 1e-6
    assert learned.kept.price == pytest.approx(1.0, rel=0.05)


@dataclass(frozen=True)
class Stubborn(Pricing):
    """Keeps its highest price, payable or not."""

    def posts(self):
        yield self.low
        yield 1.0
        yield self.high
        return self.high


def test_a_price_that_cannot_be_paid_is_never_the_one_kept():
    game, make, *_ = posted(200.0)
    learned = learn_price(DataMarket(game, rng=0), make, Stubborn(), budget=1.5)
    assert learned.seen[-2].over > 0 and learned.kept.over == 0 and learned.kept.price == 1.0


def test_tatonnement_may_aim_at_spending_the_budget():
    game, make, *_ = posted(200.0)
    learned = learn_price(
        DataMarket(game, rng=0), make, Tatonnement(aim="budget", close=1e-4), budget=2.5
    )
    assert learned.kept.spending == pytest.approx(2.5, rel=0.01)


@pytest.mark.parametrize("kind", KINDS)
def test_one_owner(kind):
    game = market(Quadratic(2.0), Posted(1.0), 1, low=0.01, high=100.0, forecast=LAW, value=200.0)
    learned = learn_price(DataMarket(game, rng=0), Posted, PRICING[kind]())
    best = (8 * 200 * 0.01) ** 0.25  # V 0.04 / p^2 + p^2 / 2
    assert learned.kept.price == pytest.approx(best, rel=0.06)


@pytest.mark.parametrize("kind", KINDS)
def test_a_market_that_nobody_joins_at_any_price(kind):
    game = market(Linear(1e4), Posted(1.0), 3, forecast=LAW, value=5.0)
    learned = learn_price(DataMarket(game, rng=0), Posted, PRICING[kind]())
    assert not any(one.sold for one in learned.seen)
    assert learned.kept.profit == learned.kept.spending == 0 and learned.near(0.0) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_prices_stay_between_the_ends_and_within_their_number(kind):
    for at in (1e-3, 1e3):  # the best one lies outside
        price, count = drive(PRICING[kind](prices=9), lambda p, at=at: (0.0, np.log(p / at) ** 2))
        assert 0.1 * (1 - 1e-9) <= price <= 10 * (1 + 1e-9) and count <= 9
        assert abs(np.log(price / at)) < np.log(1e4) - 0.7  # and the end nearer to it is found


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_pricing_remembers_is_kept_apart_from_it(kind):
    """Two markets that share one pricing, turn about, as if each had its own."""
    pricing = PRICING[kind](prices=8)
    laws = [lambda p: (200 * (1 - 0.08 / p**2), p**2), lambda p: (20 * (1 - 0.08 / p**2), p**2)]
    alone = [drive(pricing, law) for law in laws]
    assert alone == [drive(pricing, law) for law in laws]
    both = [pricing.posts(), pricing.posts()]
    assert next(both[0]) == next(both[1])
    seen = [Observation(1.0, np.ones(1), np.ones(1), gain) for gain in (50.0, -50.0)]
    both[0].send(seen[0]), both[1].send(seen[1])
    assert drive(pricing, laws[0]) == alone[0]


@dataclass(frozen=True)
class Guarded(Linear):
    """A cost that nobody may look at while something is in ``guard``."""

    guard: ClassVar[list] = []

    def value(self, epsilon, sizes):
        assert not self.guard, "a pricing looked at what privacy costs"
        return super().value(epsilon, sizes)


@pytest.mark.parametrize("kind", KINDS)
def test_no_pricing_looks_at_what_privacy_costs(kind, monkeypatch):
    """Costs may be looked at while owners move and the market opens; never while the learner thinks."""
    guard = Guarded.guard
    game = market(
        Guarded([1.0, 2.0]),
        Proportional(1.0, "epsilon"),
        2,
        low=1e-4,
        high=1e3,
        forecast=LAW,
        value=200.0,
    )
    with pytest.raises(AssertionError, match="looked at"):
        guard.append(1)
        game.costs(np.ones(2))
    guard.clear()
    for holder, name in ((DataMarket, "step"), (DataMarket, "open_market")):
        plain = getattr(holder, name)

        def lowered(self, *args, plain=plain):
            guard.clear()
            plain(self, *args)
            guard.append(1)

        monkeypatch.setattr(holder, name, lowered)
    data_market = DataMarket(game, rng=0)
    assert guard
    try:
        learned = learn_price(
            data_market, lambda price: Proportional(price, "epsilon"), PRICING[kind](high=100.0)
        )
    finally:
        guard.clear()
    assert learned.kept.profit > 180


def test_owners_get_so_many_rounds_for_a_price():
    game, make, *_ = shared(200.0)
    learned = learn_price(
        DataMarket(game, rng=0), make, GoldenSection(rounds_per_price=2, high=100.0)
    )
    assert max(one.rounds for one in learned.seen) == 2


def test_ends_out_of_order_are_refused_in_one_line():
    with pytest.raises(
        InputError, match=r"^learner.pricing.low: must be below high, 1; found 2\.$"
    ):
        GoldenSection(low=2.0, high=1.0)


def test_the_gaussian_process_is_that_of_the_joint_normal_law():
    """Mean, deviation and expected improvement by conditioning a joint normal law, and by draws from it."""
    draw = rng(1)
    points = draw.random(5)
    values = draw.normal(size=5)
    there = np.array([0.31, 0.77])
    law = GaussianProcess(points, values, 0.3, 0.05)
    whole = np.append(points, there)
    apart = np.sqrt(5) * np.abs(whole[:, None] - whole) / 0.3
    joint = (1 + apart + apart**2 / 3) * np.exp(-apart)
    seen = joint[:5, :5] + 0.05 * np.eye(5)
    mean = joint[5:, :5] @ np.linalg.solve(seen, values)
    spread = joint[5:, 5:] - joint[5:, :5] @ np.linalg.solve(seen, joint[:5, 5:])
    found, deviation = law.predict(there)
    np.testing.assert_allclose(found, mean, rtol=1e-9)
    np.testing.assert_allclose(deviation**2, np.diag(spread), rtol=1e-9)
    drawn = draw.normal(mean, deviation, (200_000, 2))
    better = np.maximum(drawn - law.predict(points)[0].max(), 0).mean(axis=0)
    np.testing.assert_allclose(law.expected_improvement(there), better, atol=4e-3)
    total = np.linalg.slogdet(seen)[1] / 2
    assert law.log_likelihood() == pytest.approx(
        -values @ np.linalg.solve(seen, values) / 2 - total
    )
