"""Owners who sell to several learners: one privacy cost for the sum; learners who compete in price."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.optimize import minimize
from sizes import sized, thinned
from toys import Envelope, LinearLaw

from learning.errors import InputError
from market.competition.allocation import newton_rows
from market.competition.market import Competition, Learner
from market.competition.solver import play_competition, solve_competition
from market.costs.functions import ExpectedHarm, Leakage, Linear, Quadratic
from market.equilibrium.solver import solve
from market.equilibrium.stopping import PlayRules
from market.game.game import Game
from market.game.owners import Owners
from market.policies.base import Policy
from market.policies.contributions import Marginal
from market.policies.posted import Posted, Tiers
from market.policies.proportional import Proportional

SIZES = np.array([500.0, 2000.0, 1000.0, 4000.0])
PRICES = np.array([0.5, 1.0, 2.0, 4.0])
LAW = LinearLaw(1.0, 0.1, 0.02)
FALLS = Envelope(1.0, (0.5, 0.2, 0.05), (1e-3, 0.01, 0.1))


def rng():
    return np.random.default_rng(0)


def people(cost, n=4, **changes):
    given = {"epsilon_min": 0.0, "epsilon_max": 10.0, "benefit": 3.0, "isolated": 0.6} | changes
    return Owners(tuple("abcdefghij"[:n]), SIZES if n == 4 else 1.0, cost=cost, **given)


@dataclass(frozen=True)
class PerUnit:
    """A forecast worth 1 per unit of epsilon, so that value V is a willingness to pay V for each."""

    outside: float = 0.0

    def terms(self, epsilon):
        return np.asarray(epsilon, dtype=float)[..., None]

    def excess(self, sums):
        return -sums[..., 0]

    def slopes(self, epsilon, sums):
        return np.full(epsilon.shape, -1.0)


@dataclass(frozen=True)
class Given(Policy):
    """6 to everybody."""

    def payments(self, epsilon, deviations):
        return np.full(epsilon.shape, 6.0)


THREE = (
    Learner("x", Proportional(20.0), FALLS, 20.0),
    Learner("y", Marginal(), LAW, 20.0),
    Learner("z", Posted([3.0, 1.0, 2.0, 0.5])),
)


@pytest.mark.parametrize("cost", [Leakage(PRICES / 1000), Linear(PRICES), Quadratic(PRICES)])
def test_the_cost_is_of_the_sum(cost):
    """Accounts by hand: payments and benefits of each learner's market apart, and one cost, of the sum of budgets."""
    owners = people(cost, fixed_cost=[0.0, 1.0, 2.0, 0.5])
    market = Competition(owners, THREE)
    profile = np.array([[0.5, 1.0, 2.0], [0, 0, 0.3], [0, 0, 0], [4.0, 0, 3.0]])
    apart = [Game(owners, one.policy, one.forecast, one.value) for one in THREE]
    paid = np.stack([game.payments(profile[:, j]) for j, game in enumerate(apart)], axis=1)
    gained = np.stack([game.benefits(profile[:, j]) for j, game in enumerate(apart)], axis=1)
    total = np.array([3.5, 0.3, 0.0, 7.0])
    lost = cost.value(total, SIZES) + np.array([0, 1.0, 0, 0.5])
    assert np.allclose(market.payments(profile), paid, rtol=1e-13)
    assert np.array_equal(market.costs(profile), lost)
    assert np.allclose(market.payoffs(profile), (paid + gained).sum(axis=1) - lost, rtol=1e-13)
    gains = [
        game.value * (game.forecast.outside - game.fitness(profile[:, j]))
        for j, game in enumerate(apart)
    ]
    assert np.allclose(market.learner_surplus(profile), gains - paid.sum(axis=0), rtol=1e-13)
    everybody = market.payoffs(profile).sum() + market.learner_surplus(profile).sum()
    assert everybody == pytest.approx(
        sum(gains) + gained.sum() - lost.sum(), rel=1e-12
    )  # payments change hands
    if not isinstance(
        cost, Linear
    ):  # what each learner's purchase would cost alone does not add up to it
        assert not np.allclose(
            sum(cost.value(profile[:, j], SIZES) for j in range(3)), cost.value(total, SIZES)
        )


COSTS = [Leakage(PRICES / 1000), Linear(PRICES), Quadratic(PRICES)]
POLICIES = [
    Posted(3.0),
    Proportional(50.0),
    Marginal(),
    Marginal(0.4, "floor"),
    Tiers([1.0, 3.0], [2.0, 9.0]),
]


ALONE = [(cost, policy, 0.0) for policy in POLICIES for cost in COSTS]
ALONE += [(COSTS[k % len(COSTS)], policy, 0.1) for k, policy in enumerate(POLICIES)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cost", "policy", "low"),
    thinned(ALONE, ALONE[::4]),
    ids=lambda given: type(given).__name__ if given else None,
)
def test_one_learner_is_the_market_of_one_learner(cost, policy, low):
    owners = people(cost, epsilon_min=low)
    one = solve_competition(
        Competition(owners, (Learner("x", policy, FALLS, 20.0),)), rng=rng(), starts=1
    )
    two = solve(Game(owners, policy, FALLS, 20.0), rng=rng(), starts=4)
    assert one.converged and two.converged
    ours = [found.epsilon[:, 0] for found in (one, *one.others)]
    theirs = [found.epsilon for found in (two, *two.others)]
    assert min(np.abs(a - b).max() for a in ours for b in theirs) <= 1e-7
    profile = np.linspace(max(low, 0.3), 4.0, 4)
    game = Game(owners, policy, FALLS, 20.0)
    market = Competition(owners, (Learner("x", policy, FALLS, 20.0),))
    assert np.allclose(market.payments(profile[:, None])[:, 0], game.payments(profile), rtol=1e-13)
    assert np.allclose(
        market.certificate(profile[:, None])[0], game.regret(profile), rtol=1e-5, atol=1e-9
    )


def test_newtons_method_between_line_searches():
    """From 2 % off, at most a dozen steps to where both first-order conditions hold: R o_j/(e_j + o_j)^2 = a t."""
    owners = people(Quadratic(2.0), 2, epsilon_max=20.0, benefit=0.0)
    learners = [Learner(str(r), Proportional(r, "epsilon")) for r in (10.0, 20.0)]
    profile = np.array([[1.0, 1.5], [0.5, 2.5]])
    market = Competition(owners, learners)
    best = market.best_responses(profile)
    others = profile[::-1]
    marginal = np.array([10.0, 20.0]) * others / (best + others) ** 2
    assert np.allclose(marginal, 2.0 * best.sum(axis=1, keepdims=True), rtol=1e-9)
    polished, holds = newton_rows(market.allocations(profile), best * [1.02, 0.98])
    assert holds and np.allclose(polished, best, rtol=1e-9)
    capped = Competition(
        replace(owners, epsilon_max=1.0), learners
    )  # R_j o_j/(e_j + o_j)^2 alike, the sum stays 1
    best = capped.best_responses(np.minimum(profile, 0.5))
    polished, holds = newton_rows(
        capped.allocations(np.minimum(profile, 0.5)), best + [0.01, -0.01]
    )
    assert (
        holds
        and np.allclose(polished, best, rtol=1e-9)
        and np.allclose(best.sum(axis=1), 1.0, rtol=1e-12)
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "budgets"), [(3, [10.0, 20.0]), (5, [9.0, 18.0, 27.0]), (2, [5.0, 5.0])]
)
def test_contests_with_quadratic_cost(n, budgets):
    """Equal owners, cost a t^2/2 of the sum t; learner j shares out R_j by e_j/sum of e_j.

    First-order: R_j (n-1)/(n^2 e_j) = a t for each j, so e_j is in proportion to R_j and, summed,
    t^2 = (sum of R) (n-1)/(a n^2). Were costs counted apart, each e_j would be sqrt(R_j (n-1)/(a
    n^2)): more.
    """
    budgets = np.array(budgets)
    a = 2.0
    owners = people(Quadratic(a), n, epsilon_max=20.0, benefit=0.0)
    learners = [Learner(str(j), Proportional(r, "epsilon")) for j, r in enumerate(budgets)]
    market = Competition(owners, learners)
    found = solve_competition(market, rng=rng(), starts=2)
    total = np.sqrt(budgets.sum() * (n - 1) / (a * n**2))
    assert found.reason == "certified"
    assert np.allclose(found.epsilon, total * budgets / budgets.sum(), rtol=1e-6)
    assert np.allclose(market.costs(found.epsilon), a * total**2 / 2, rtol=1e-6)
    assert total < np.sqrt(budgets * (n - 1) / (a * n**2)).sum()


def test_linear_costs_keep_contests_apart():
    """The cost of a sum is the sum of costs: each contest is its own, Tullock's with costs 1, 2, 3 and R = 12, 30.

    The k cheapest share, with total (k-1) R/sum c; here k = 2: R (2/9, 1/9, 0).
    """
    owners = people(Linear([1.0, 2.0, 3.0]), 3, epsilon_max=30.0, benefit=0.0)
    learners = [Learner(str(r), Proportional(r, "epsilon")) for r in (12.0, 30.0)]
    found = solve_competition(Competition(owners, learners), rng=rng(), starts=2)
    by_hand = np.array([2 / 9, 1 / 9, 0])[:, None] * [12.0, 30.0]
    assert found.converged and np.allclose(found.epsilon, by_hand, atol=1e-7)


def test_the_second_sale_of_a_concave_cost_is_cheaper():
    """Leakage, u = 1, v = 10: a learner offers 1.4 for epsilon >= 1, which leaks 1.214 bits; another offers 1.1.

    Alone the second offer is refused, 1.1 < 1.214; beside the first it costs L(2) - L(1) = 0.959,
    and is taken.
    """
    owners = people(Leakage(1.0), 1, benefit=0.0)
    first = Learner("x", Tiers([1.0], [1.4]))
    second = Learner("y", Tiers([1.0], [1.1]))
    market = Competition(owners, (first, second))
    both = solve_competition(market, rng=rng())
    assert both.epsilon.tolist() == [[1.0, 1.0]] and both.converged
    assert market.costs(both.epsilon)[0] == pytest.approx(
        float(-np.log1p(0.9 * np.expm1(-2)) / np.log(2)), rel=1e-14
    )
    assert solve_competition(Competition(owners, (second,)), rng=rng()).epsilon.tolist() == [[0.0]]
    dear = Competition(people(Quadratic(1.0), 1, benefit=0.0), (first, second))
    assert solve_competition(dear, rng=rng()).epsilon.tolist() == [
        [1.0, 0.0]
    ]  # convex: the second costs 1.5


CASES = [
    pytest.param(people(Quadratic(PRICES)), id="quadratic"),
    pytest.param(people(Leakage(PRICES / 1000)), id="leakage"),
    pytest.param(people(Quadratic(PRICES / 100), epsilon_min=1.0, epsilon_max=2.0), id="capped"),
    pytest.param(people(Linear(PRICES), benefit=0.0), id="linear"),
]


@pytest.mark.slow
@pytest.mark.parametrize("owners", CASES)
def test_best_responses_against_a_general_optimiser(owners):
    """Second route: each owner's row by four short simplex searches, and a long one from the best, on whole profiles."""
    market = Competition(owners, THREE)
    low = owners.epsilon_min
    high = owners.epsilon_max
    profile = np.tile((high / 5)[:, None], (1, 3))
    rows = market.best_responses(profile)
    for i in range(0, 4, sized(2, 1)):

        def surplus(row, i=i):
            changed = profile.copy()
            changed[i] = row
            return market.payoffs(changed)[i]

        def loss(z, i=i):
            total = low[i] + (high[i] - low[i]) / (1 + np.exp(-np.clip(z[0], -40, 40)))
            weights = np.exp(np.clip(z[1:], -40, 40))
            return -surplus(total * weights / weights.sum(), i)

        starts = np.random.default_rng(i).normal(0, 3, (4, 4))
        ends = [minimize(loss, z, method="Nelder-Mead", options={"maxiter": 60}) for z in starts]
        nearest = min(ends, key=lambda end: end.fun).x
        best = minimize(loss, nearest, method="Nelder-Mead", options={"maxiter": 140}).fun
        have = surplus(rows[i])
        assert have >= -best - 1e-7 * (1 + abs(best))
        assert low[i] - 1e-12 <= rows[i].sum() <= high[i] + 1e-12
    one = market.best_responses(profile, np.array([2, 0]))
    assert np.allclose(market.payoffs(np.array([one[1], *profile[1:]]))[0],
                       market.payoffs(np.array([rows[0], *profile[1:]]))[0], rtol=1e-10)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("owners", CASES[: sized(2, 4)])
def test_equilibria_are_certified_by_another_search(owners):
    found = solve_competition(Competition(owners, THREE), rng=rng(), starts=sized(2, 3))
    assert found.reason in ("certified", "several")
    assert found.relative_regret.max() <= 1e-8
    worse = found.epsilon.copy()
    worse[1] = [owners.epsilon_max[1], 0, 0]
    assert Competition(owners, THREE).certificate(worse)[0][1] > 1e-3


def test_regret_of_a_wrong_row_is_the_gain_forgone():
    """Posted p > q, cost a t^2/2: best p/a with the first, worth p^2/(2a), not p s + q t - a (s+t)^2/2."""
    owners = people(Quadratic(PRICES), benefit=0.0, epsilon_max=20.0)
    market = Competition(owners, (Learner("x", Posted(4.0)), Learner("y", Posted(3.0))))
    wrong = np.array([[1.0, 2.0], [0.0, 3.0], [2.0, 0.0], [0.0, 0.0]])
    have = wrong @ [4.0, 3.0] - PRICES * wrong.sum(axis=1) ** 2 / 2
    regret, scale = market.certificate(wrong)
    assert np.allclose(regret, 16 / (2 * PRICES) - have, atol=1e-9)
    moved = 8 / PRICES + PRICES * (4 / PRICES) ** 2 * 3 / 8  # paid and lost by the last half of p/a
    assert np.allclose(scale, regret + moved, rtol=1e-4)


@pytest.mark.parametrize("high", [5.0, 40.0])
def test_a_costly_end_forgives_no_gain(high):
    """5000 e - 1000 (exp(e) - 1) with one learner: at 0.01 an owner forgoes 4,007, however dear the end of its interval."""
    owners = people(ExpectedHarm(1000.0), 1, benefit=0.0, epsilon_min=0.01, epsilon_max=high)
    market = Competition(owners, (Learner("x", Posted(5000.0)), Learner("y", Posted(4000.0))))
    regret, scale = market.certificate(np.array([[0.01, 0.0]]))
    assert regret[0] == pytest.approx(4007.24, rel=1e-4) and 0.1 < regret[0] / scale[0] < 0.9


def test_a_jump_is_not_lost_in_a_sum():
    """A menu pays at epsilon = 1 exactly; what a contest gets beside it must not cost the last digit of that 1."""
    owners = people(Quadratic(1.0), 1, benefit=0.0)
    tiers = Learner("x", Tiers([1.0, 3.0], [2.0, 5.0]))
    contest = Learner("y", Proportional(37.0, "epsilon"))
    found = solve_competition(Competition(owners, (tiers, contest)), rng=rng())
    assert found.converged and found.epsilon[0, 0] == 1.0
    assert found.payments[0].tolist() == [
        2.0,
        37.0,
    ]  # alone in a contest, it wins with next to nothing
    assert 0 < found.epsilon[0, 1] < 1e-7


def test_owners_who_run_in_circles_go_part_of_the_way():
    """Two owners, costs c and d: e = R (d, c)/(c+d)^2, where answers sqrt(R o/c) - o have slopes (d-c)/2c and (c-d)/2d.

    One after another they multiply a deviation by -(d-c)^2/(4cd): above 1 in size if d/c > 3 + 2
    sqrt 2 = 5.83. For 8 full answers run away into a circle; half answers come to rest.
    """
    owners = people(Linear([1.0, 8.0]), 2, epsilon_max=20.0, benefit=0.0)
    learners = [Learner(str(r), Proportional(r, "epsilon")) for r in (9.0, 18.0)]
    market = Competition(owners, learners)
    undamped = play_competition(
        market, np.full((2, 2), 0.5), "sequential", PlayRules(damping=1.0, max_rounds=60)
    )
    assert undamped.end == "cycle"
    found = solve_competition(market, rng=rng(), starts=1)
    assert found.converged and np.allclose(found.epsilon, np.outer([8, 1], [9, 18]) / 81, atol=1e-7)


@pytest.mark.slow
def test_a_market_without_equilibrium_says_so():
    """A contest in epsilon^2 for R: with the cheaper owner's share s, first-order e_i c_i = 2 R s (1-s) for both.

    The dearer one then has R (1-s) - 2 R s (1-s) = R (1-s)(1-2s) < 0, as the cheaper sells more, s
    > 1/2; so it stays out, the other sells next to nothing, and it comes back: no equilibrium.
    """
    owners = people(Linear([1.0, 1.5]), 2, epsilon_max=20.0, benefit=0.0)
    learners = (Learner("x", Proportional(9.0, "records_epsilon2")), Learner("y", Posted(0.5)))
    found = solve_competition(Competition(owners, learners), rng=rng(), starts=2, max_rounds=40)
    assert not found.converged and found.reason == "cycle found"
    assert found.relative_regret.max() > 1e-3


def test_links():
    """Who is linked to one learner plays that learner's market; a learner without owners buys nothing."""
    owners = people(Quadratic(PRICES), benefit=0.0)
    links = [[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 0]]
    learners = (
        Learner("x", Posted(2.0)),
        Learner("y", Posted(4.0)),
        Learner("z", Posted(9.0), LAW, 5.0),
    )
    market = Competition(owners, learners, links)
    found = solve_competition(market, rng=rng())
    assert np.allclose(found.epsilon, [[4, 0, 0], [0, 4, 0], [0, 2, 0], [0, 0, 0]], atol=1e-9)
    assert found.converged and market.learner_surplus(found.epsilon)[2] == 0
    public = Competition(owners, (Learner("x", Given()),), links=np.array(links)[:, :1])
    assert public.payments(np.array([[1.0], [2.0], [0.0], [0.0]]))[:, 0].tolist() == [
        6.0,
        6.0,
        0.0,
        0.0,
    ]
    with pytest.raises(
        ValueError, match="epsilon must be 0 where an owner and a learner are not linked"
    ):
        market.payoffs(np.ones((4, 3)))
    with pytest.raises(ValueError, match="epsilon must have shape \\(4, 3\\); found \\(4,\\)"):
        market.payoffs(np.ones(4))


def test_who_is_indifferent():
    """Equal posted prices: any split of p/a is an equilibrium; the owner takes the learner named first."""
    owners = people(Quadratic(PRICES), benefit=0.0)
    market = Competition(owners, (Learner("x", Posted(3.0)), Learner("y", Posted(3.0))))
    total = 3 / PRICES
    for part in (0.0, 0.3, 1.0):
        assert (
            market.certificate(np.stack([part * total, (1 - part) * total], axis=1))[0].max() == 0
        )
    assert np.allclose(
        market.best_responses(np.zeros((4, 2))), np.stack([total, 0 * total], axis=1), rtol=1e-9
    )
    higher = Competition(owners, (Learner("x", Posted(3.0)), Learner("y", Posted(3.01))))
    best = solve_competition(higher, rng=rng())
    assert np.all(best.epsilon[:, 0] == 0) and np.allclose(
        best.epsilon[:, 1], 3.01 / PRICES, rtol=1e-9
    )


@pytest.mark.slow
def test_the_order_of_learners_and_the_unit_of_money_do_not_matter():
    owners = people(Quadratic(PRICES))
    found = solve_competition(Competition(owners, THREE), rng=rng(), starts=1)
    turned = solve_competition(Competition(owners, THREE[::-1]), rng=rng(), starts=1)
    assert np.allclose(turned.epsilon[:, ::-1], found.epsilon, atol=1e-6)
    unit = 1000.0
    learners = (
        Learner("x", Proportional(20.0 * unit), FALLS, 20.0 * unit),
        Learner("y", Marginal(), LAW, 20.0 * unit),
        Learner("z", Posted(THREE[2].policy.price * unit)),
    )
    rich = replace(owners, cost=Quadratic(PRICES * unit), benefit=3.0 * unit)
    assert np.allclose(solve_competition(Competition(rich, learners), rng=rng(), starts=1).epsilon, found.epsilon,
                       atol=1e-6)  # fmt: skip


def test_what_cannot_be():
    owners = people(Linear(1.0))
    x = Learner("x", Posted(1.0))
    y = Learner("y", Proportional(1.0))
    with pytest.raises(
        InputError, match="learners: a market needs at least one learner; found none"
    ):
        Competition(owners, ())
    with pytest.raises(InputError, match="learners: must have different names"):
        Competition(owners, (x, x))
    with pytest.raises(
        InputError, match="links: must be true or false for 4 owners and 2 learners"
    ):
        Competition(owners, (x, y), np.ones((2, 4)))
    with pytest.raises(InputError, match="links: must be true or false"):
        Competition(owners, (x, y), np.full((4, 2), 0.5))
    with pytest.raises(
        InputError, match="links: an owner that must share needs a learner to share with; found b"
    ):
        Competition(people(Linear(1.0), epsilon_min=0.1), (x,), [[1], [0], [1], [1]])
    with pytest.raises(ValueError, match="policy.price: needs one number per owner"):
        Competition(owners, (Learner("x", Posted([1.0, 2.0])),))
    with pytest.raises(
        ValueError, match="method must be sequential or simultaneous; found 'newton'"
    ):
        solve_competition(Competition(owners, (x,)), rng=rng(), method="newton")
    with pytest.raises(ValueError, match="starts must be at least 1"):
        solve_competition(Competition(owners, (x,)), rng=rng(), starts=0)


@pytest.mark.slow
def test_newtons_method_along_the_end_of_an_interval():
    """Steps that keep the sum do so but for rounding, which must not end the search: 100 markets, every one polished."""
    draw = np.random.default_rng(0)
    for _ in range(100):
        learners = [Learner(str(r), Proportional(r, "epsilon")) for r in draw.uniform(5, 30, 2)]
        owners = people(Quadratic(2.0), 2, epsilon_max=draw.uniform(0.3, 1.5), benefit=0.0)
        market = Competition(owners, learners)
        profile = np.full((2, 2), 0.15)
        best = market.best_responses(profile)
        shift = draw.uniform(-0.005, 0.005)
        polished, holds = newton_rows(market.allocations(profile), best + [shift, -shift])
        assert holds and np.allclose(polished, best, rtol=1e-8)
