"""The learner's problem against problems solved by hand, by closed forms and by fine grids."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from markets import market, random_market
from sizes import sized, thinned
from toys import Crowd, LinearLaw

from market.analysis.design import evaluate_policy
from market.analysis.policy_search import Family, explore_policies
from market.analysis.welfare import learner_surplus, participation
from market.costs.functions import Leakage, Linear, Quadratic
from market.equilibrium.solver import solve
from market.equilibrium.starts import entry_points
from market.policies.contributions import Marginal, Shapley
from market.policies.posted import Posted

GAIN = 0.004
LAW = LinearLaw(1.0, 0.0, GAIN)


def best_policy(*given, **options):
    return explore_policies(*given, **options).best


def rng(seed=0):
    return np.random.default_rng(seed)


def quadratic_market(slopes, *, low=1e-3, high=1e3, value=300.0):
    return market(
        Quadratic(slopes), None, len(slopes), low=low, high=high, forecast=LAW, value=value
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "a", "value"),
    thinned(
        [(1, 1.0, 300.0), (3, 2.0, 300.0), (5, 0.3, 4000.0), (10, 7.0, 50.0)],
        [(1, 1.0, 300.0), (3, 2.0, 300.0)],
    ),
)
def test_the_best_posted_price(n, a, value):
    """N equal owners, cost a e^2/2, price p per unit: each maximises p e - a e^2/2, so e* = p/a. With psi = B + G sum
    1/e^2 (G = K 8 Xi^2 T^2/n^2) the learner maximises -V G N a^2/p^2 - N p^2/a: 2 V G N a^2/p^3 = 2
    N p/a, so p^4 = V G a^3."""
    best = best_policy(quadratic_market([a] * n, value=value), Family(Posted, 1e-2, 1e2), rng=rng())
    price = (value * GAIN * a**3) ** 0.25
    assert best.feasible and best.parameters[0] == pytest.approx(price, rel=1e-6)
    assert np.allclose(best.equilibrium.epsilon, price / a, rtol=1e-6)
    assert best.spending == pytest.approx(n * price**2 / a, rel=1e-6)
    surplus = value * (1 - GAIN * n * a**2 / price**2) - n * price**2 / a
    assert best.surplus == pytest.approx(surplus, rel=1e-12)
    assert best.fitness == pytest.approx(GAIN * n * a**2 / price**2, rel=1e-6)


def test_no_gain_from_what_a_certificate_forgives():
    """A start next to the optimum on a wide interval: an owner there gains next to nothing by moving the last 1e-4, but
    the price that buys its e = 1 for less would look better than the best, p = 2, which leaves 200
    - 4 - 4."""
    game = market(
        Quadratic(2.0),
        None,
        2,
        low=0.01,
        high=100.0,
        forecast=LinearLaw(1.0, 0.0, 0.01),
        value=200.0,
    )
    for price in (1.9998, 1.9999, 2.0001):
        posted = replace(game, policy=Posted(price))
        assert np.allclose(
            evaluate_policy(posted, rng=rng()).equilibrium.epsilon,
            price / 2,
            rtol=1e-10,
        )
    best = best_policy(game, Family(Posted, 0.1, 50.0), rng=rng(), points=9)
    assert best.parameters[0] == pytest.approx(2, rel=1e-6) and best.surplus <= 192 + 1e-9


@pytest.mark.slow
def test_a_budget_that_binds():
    """Spending N p^2/a meets the budget R at p = sqrt(R a/N); below the free optimum the surplus still rises there."""
    for budget in (0.5, 2.0)[: sized(1, 2)]:
        best = best_policy(
            quadratic_market([2.0] * 3), Family(Posted, 1e-2, 1e2), rng=rng(), budget=budget
        )
        assert best.feasible and best.parameters[0] == pytest.approx(
            np.sqrt(budget * 2 / 3), rel=1e-6
        )
        assert best.spending <= budget * (1 + 1e-9)
    free = best_policy(
        quadratic_market([2.0] * 3), Family(Posted, 1e-2, 1e2), rng=rng(), budget=1e6
    )
    assert free.parameters[0] == pytest.approx((300 * GAIN * 8) ** 0.25, rel=1e-6)


def test_owners_who_would_rather_leave():
    """Bound to e >= m, owners have p m - a m^2/2 >= 0 from p = a m/2 on. A learner for whom the model is worth little
    would pay less; the owners' other option does not let it."""
    game = quadratic_market([2.0] * 3, low=1.0, value=1.0)
    best = best_policy(game, Family(Posted, 1e-2, 1e2), rng=rng())
    assert best.feasible and best.parameters[0] == pytest.approx(1.0, rel=1e-6)
    assert np.allclose(best.participation.surplus, 0, atol=1e-6)
    poor = best_policy(
        game, Family(Posted, 1e-2, 1e2), rng=rng(), budget=2.0
    )  # 3 owners at e = 1 cannot have 1 each
    assert not poor.feasible and poor.constraint_violation > 0
    posted = replace(game, policy=Posted(0.5))
    assert not evaluate_policy(posted, rng=rng()).participation.rational.any()


@pytest.mark.slow
def test_an_objective_that_jumps():
    """All or nothing: an owner sells its last bit where a bit pays more than it costs, so the best price is just above
    one of the owners' costs. Second route: try those five prices."""
    costs = np.array([0.2, 0.5, 0.9, 2.0, 7.0])
    game = market(
        Leakage(costs), None, 5, low=0.0, high=3.0, forecast=LinearLaw(1.0, 0.3, 0.5), value=60.0
    )

    def per_bit(price):
        return Posted(price, "bit")

    for value in (10.0, 60.0, 400.0)[: sized(2, 3)]:
        valued = replace(game, value=value)
        best = best_policy(valued, Family(per_bit, 0.05, 20.0), rng=rng(), points=40)
        step = [
            evaluate_policy(replace(valued, policy=per_bit(cost * (1 + 1e-7))), rng=rng()).surplus
            for cost in costs
        ]
        assert best.surplus == pytest.approx(max([0.0, *step]), rel=1e-5, abs=1e-9)


@pytest.mark.slow
def test_the_learner_counts_on_the_worse_of_two_equilibria():
    """Benefits of a good model draw owners in, and nobody comes alone: two equilibria, of which a optimistic learner takes
    the better."""
    game = market(
        Quadratic(20.0), Marginal(0.3), 4, low=0.0, high=4.0, forecast=Crowd(), value=100.0
    )
    sober, optimistic = (
        evaluate_policy(game, rng=rng(), starts=8, optimistic=hope) for hope in (False, True)
    )
    assert sober.feasible and sober.surplus == 0 and not sober.equilibrium.epsilon.any()
    assert optimistic.feasible and np.allclose(
        optimistic.equilibrium.epsilon, 0.5
    )  # 30 * 3/4 s^2 / (1 + s^3/4)^2 = 20 e
    assert optimistic.surplus > 30
    offered = replace(game, policy=optimistic.policy)
    assert optimistic.surplus == pytest.approx(
        learner_surplus(offered, optimistic.equilibrium.epsilon)
    )
    best = best_policy(
        game, Family(Marginal, 0.2, 0.5), rng=rng(), starts=4, points=3, optimistic=True
    )
    assert best.surplus >= optimistic.surplus - 1e-9


@pytest.mark.slow
def test_sets_of_sharers_are_starts():
    """Four owners of whom some may share: three starts miss an equilibrium worth five times as much."""
    game = replace(random_market(2), policy=Marginal(0.9))
    few = evaluate_policy(game, rng=rng(), optimistic=True)
    all_sets = evaluate_policy(game, rng=rng(), optimistic=True, also=entry_points(game))
    assert len(entry_points(game)) == 14 and len(all_sets.equilibria) > len(few.equilibria) == 1
    assert all_sets.feasible and all_sets.surplus > 5 * few.surplus


def test_many_owners_join_in_the_order_of_records_and_budget():
    game = market(Linear(1.0), None, 9, high=4.0, low=[0.1, *8 * [0.0]], sizes=np.arange(1.0, 10.0))
    points = entry_points(game)
    assert len(points) < 15 and all(point[0] > 0 for point in points)
    assert all(np.all(np.diff(point[1:] > 0) >= 0) for point in points)  # the largest first
    assert {int((point > 0).sum()) for point in points} >= {2, 3, 8}


@pytest.mark.deep
def test_the_best_policy_knows_every_equilibrium():
    """Second route: policies, each from every set of sharers and further starts; the best is judged like them."""
    game = replace(random_market(14), policy=None)
    best = best_policy(game, Family(Marginal, 0.1, 1.0), rng=rng(), points=3, precision=5e-2)

    def everywhere(share):
        offered = replace(game, policy=Marginal(share))
        return evaluate_policy(offered, rng=rng(), also=entry_points(game)).surplus

    assert everywhere(float(best.parameters[0])) == pytest.approx(best.surplus, rel=1e-6)
    assert max(
        everywhere(share) for share in np.geomspace(0.1, 1.0, sized(2, 3))
    ) <= best.surplus * (1 + 1e-9)


def test_participation():
    game = market(Linear([1.0, 3.0, 2.0]), Posted(2.0), 3, low=[1.0, 1.0, 0.0], high=2.0)
    found = solve(game, rng=rng())
    part = participation(game, found.epsilon, budget=6.0)
    assert found.epsilon.tolist() == [2.0, 1.0, 0.0]
    assert part.surplus.tolist() == [2.0, -1.0, 0.0]
    assert part.rational.tolist() == [True, False, True]
    assert part.spending == 6.0 and part.within_budget and not part.rational.all()
    assert not participation(game, found.epsilon, budget=5.99).within_budget
    assert participation(game, np.array([2.0, 0.0, 0.0])).rational.all()
    assert np.allclose(part.surplus, game.payments(found.epsilon) - game.costs(found.epsilon))


@pytest.mark.slow
def test_a_policy_is_judged_by_the_same_starts_every_time():
    game = quadratic_market([0.5, 2.0])
    one, two = (
        best_policy(game, Family(Posted, 0.1, 10.0), rng=rng(3), points=3, precision=5e-2)
        for _ in range(2)
    )
    assert (
        np.array_equal(one.equilibrium.epsilon, two.equilibrium.epsilon)
        and one.surplus == two.surplus
    )


@pytest.mark.parametrize("bounds", [(0.0, 1.0), (2.0, 1.0)])
def test_families_that_cannot_be(bounds):
    with pytest.raises(ValueError, match="bounds must satisfy 0 < low < high; found"):
        Family(Posted, *bounds)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"points": 2}, "points must be at least 3; found 2"),
    ],
)
def test_problems_that_cannot_be(changes, message):
    with pytest.raises(ValueError, match=message):
        best_policy(quadratic_market([1.0]), Family(Posted, 0.1, 1.0), rng=rng(), **changes)


@pytest.mark.slow
@pytest.mark.parametrize(
    "slopes",
    [(1.0, 3.0, 0.4), pytest.param((0.5, 0.5, 2.0, 8.0), marks=pytest.mark.deep)],
)
def test_the_best_share_of_shapley_values_is_that_of_a_fine_grid_without_following(slopes):
    """The search follows equilibria from one share to the next; the grid plays each from the middle."""
    game = quadratic_market(list(slopes), low=0.0, high=50.0)
    best = best_policy(
        game, Family(Shapley, 1e-3, 0.9), rng=rng(), points=9, precision=1e-3, starts=1
    )
    found = []
    for share in np.geomspace(1e-3, 0.9, 60):
        offered = replace(game, policy=Shapley(share))
        found.append(learner_surplus(offered, solve(offered, rng=rng(), starts=1).epsilon))
    assert best.feasible and best.surplus >= max(found) - 1e-6 * abs(max(found))
