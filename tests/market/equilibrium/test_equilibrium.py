"""Equilibria known in closed form, found by every path, each with a certificate that can fail."""

from __future__ import annotations

import numpy as np
import pytest
from markets import Pair, Pennies, envelope_market, exact_law, market, rng
from scipy.optimize import brentq
from sizes import sized
from toys import Envelope, LinearLaw

from market.costs.functions import Exponential, Leakage, Linear, Quadratic
from market.equilibrium.activation import in_turn, poisson_clocks
from market.equilibrium.aggregative import BestResponses
from market.equilibrium.solver import PATHS, certify, solve
from market.equilibrium.starts import start_points
from market.equilibrium.stopping import PlayRules, relative_moves
from market.policies.contributions import Marginal
from market.policies.posted import Posted
from market.policies.proportional import Proportional
from market.policies.thesis import ThesisUtility

# Equilibria of the proportional policy with linear costs, from the project's reference numbers
# (proportional.json): (costs, budget, epsilon of who shares, by position).
REFERENCE = [
    (
        [0.821, 1.748, 2.004, 0.572, 0.87],
        20.0,
        {0: 4.850455042588909, 3: 8.740191936645717, 4: 4.0850048104251195},
    ),
    (
        [
            2.821,
            0.676,
            0.824,
            2.871,
            2.055,
            1.422,
            1.778,
            2.157,
            1.188,
            0.845,
            2.47,
            2.176,
            1.781,
            2.542,
            1.873,
        ]
        + [
            2.952,
            1.011,
            1.884,
            1.709,
            1.383,
            1.979,
            1.088,
            2.506,
            2.668,
            0.822,
            1.668,
            1.193,
            0.708,
            2.74,
            1.575,
        ]
        + [
            0.869,
            2.183,
            1.006,
            2.754,
            1.043,
            0.583,
            1.002,
            1.364,
            1.672,
            2.765,
            2.243,
            1.348,
            0.542,
            0.9,
            2.991,
        ]
        + [1.649, 2.228, 0.637, 0.585, 2.615],
        300.0,
        {
            1: 37.82229498214877,
            27: 20.58136279655388,
            35: 87.9287542465340,
            42: 110.01869850932742,
            47: 58.83468108334256,
            48: 86.85119588493431,
        },
    ),
]


def tullock(costs, budget):
    """Closed form: of the owners by rising cost, k share; X = (k-1) R / C_k, x_i = X (1 - c_i X / R)."""
    costs = np.asarray(costs, dtype=float)
    by_cost = np.argsort(costs)
    for k in range(len(costs), 1, -1):
        active = by_cost[:k]
        total = (k - 1) * budget / costs[active].sum()
        shares = total * (1 - costs[active] * total / budget)
        if np.all(shares > 0):
            epsilon = np.zeros(len(costs))
            epsilon[active] = shares
            return epsilon
    raise AssertionError("two owners always share")


@pytest.mark.slow
@pytest.mark.parametrize("method", ["auto", *PATHS])
def test_proportional_budgets_known_by_hand(method):
    """R = 12, c = (1, 2, 3): k = 2, X = 12/3 = 4, x = 4 (1 - c/3) = 8/3, 4/3; the third would need c < 3."""
    for costs, budget, expected in [
        ([1, 2, 3], 12.0, [8 / 3, 4 / 3, 0]),
        ([1, 1.2, 1.5, 4], 10.0, [2.483565, 1.899196, 1.022644, 0]),
    ]:
        game = market(Linear(costs), Proportional(budget, "epsilon"), len(costs))
        found = solve(game, rng=rng(), method=method, starts=2)
        assert np.allclose(found.epsilon, expected, atol=1e-6)
        assert found.converged and found.reason == "certified" and found.others == ()
        assert found.max_relative_regret <= 1e-8 and found.payments.sum() == pytest.approx(budget)


def test_proportional_reference_numbers():
    for costs, budget, shares in REFERENCE:
        expected = np.zeros(len(costs))
        expected[list(shares)] = list(shares.values())
        assert np.allclose(tullock(costs, budget), expected, atol=1e-6)
        game = market(Linear(costs), Proportional(budget, "epsilon"), len(costs), high=200.0)
        found = solve(game, rng=rng(), starts=3)
        assert np.allclose(found.epsilon, expected, atol=1e-6) and found.reason == "certified"


@pytest.mark.slow
def test_proportional_closed_form_in_random_markets():
    """With sizes, x = n epsilon at a cost of c/n per unit of x."""
    draw = rng(5)
    for n in (2, 3, 10, 100, 3000):
        costs = draw.uniform(0.5, 3, n)
        sizes = draw.uniform(0.2, 5, n)
        game = market(Linear(costs), Proportional(10.0), n, sizes=sizes, high=100.0)
        found = solve(game, rng=draw, starts=1)
        expected = tullock(costs / sizes, 10.0) / sizes
        assert np.allclose(found.epsilon, expected, atol=1e-8) and found.converged, n


def test_one_owner():
    """It sets its price alone: price/slope; a budget is its own for the least epsilon there is."""
    posted = solve(market(Quadratic(4.0), Posted(6.0), 1), rng=rng())
    assert posted.epsilon == pytest.approx([1.5], abs=1e-12) and posted.reason == "certified"
    floor = solve(market(Linear(1.0), Proportional(5.0), 1, low=0.3), rng=rng())
    assert floor.epsilon.tolist() == [0.3] and floor.payments.tolist() == [5.0]
    no_floor = solve(market(Linear(1.0), Proportional(5.0), 1), rng=rng())
    assert 0 < no_floor.epsilon[0] < 1e-6 and no_floor.payments.tolist() == [5.0]


def test_marginal_share_one_under_a_line_takes_one_sweep():
    """Dominant strategies: every path is at the equilibrium after its first round, from anywhere."""
    gain = 0.004
    value = 300.0
    slope = np.array([0.5, 1.0, 3.0])
    game = market(
        Quadratic(slope), Marginal(), 3, low=0.01, forecast=LinearLaw(1.0, 0.1, gain), value=value
    )
    expected = (2 * value * gain / slope) ** 0.25
    for start in rng().uniform(0.01, 20, (5, 3)):
        for method in ("aggregative", "sequential", "random"):
            found = solve(game, rng=rng(), method=method, start=start, starts=1)
            assert np.allclose(found.trajectory[1][1], expected, rtol=1e-11)
            assert np.allclose(found.epsilon, expected, rtol=1e-11) and found.converged


def test_with_a_choice_of_horizon_owners_interact():
    game = envelope_market()
    assert not np.allclose(
        game.best_responses(np.full(3, 0.1)), game.best_responses(np.full(3, 3.0)), rtol=1e-2
    )
    found = solve(game, rng=rng(), method="sequential", start=np.full(3, 0.1), starts=1)
    first_sweep = found.trajectory[1][1]
    assert found.converged and found.iterations > 3
    assert np.abs(first_sweep - found.epsilon).max() > 1e-2


def test_the_order_of_play_is_what_it_is_called():
    """One round from one start: in turn, in a drawn order, at once; each as computed by hand from responses."""
    game = envelope_market()
    start = np.array([0.1, 0.4, 1.5])
    first = {
        m: solve(game, rng=rng(0), method=m, start=start, starts=1).trajectory[1][1] for m in PATHS
    }

    def turn_by_turn(order):
        epsilon = start.copy()
        for owner in order:
            epsilon[owner] = game.best_responses(epsilon)[owner]
        return epsilon

    drawn = np.argsort(rng(0).random(3))
    assert drawn.tolist() != [0, 1, 2]  # the seed is chosen so
    assert np.allclose(first["sequential"], turn_by_turn([0, 1, 2]), rtol=1e-12)
    assert np.allclose(first["random"], turn_by_turn(drawn), rtol=1e-12)
    assert np.allclose(first["simultaneous"], (start + game.best_responses(start)) / 2, rtol=1e-12)
    assert not np.allclose(first["random"], first["sequential"], rtol=1e-4)


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0], [1, 1, 0, 2, 0, 1]])
def test_owners_in_turn_see_what_those_before_chose(order):
    """Second route: the whole market afresh for each who moves; some move twice, as when clocks ring."""
    for game in (
        envelope_market(),
        market(Linear([1.0, 2, 3]), Proportional(12.0), 3, sizes=[1e-6, 1.0, 1e6]),
    ):
        start = np.array([0.1, 0.4, 1.5])
        expected = start.copy()
        for owner in order:
            expected[owner] = game.best_responses(expected)[owner]
        assert np.allclose(in_turn(game, start, np.array(order)), expected, rtol=1e-11)
        assert start.tolist() == [0.1, 0.4, 1.5]


def test_clocks_that_ring_lead_where_turns_do():
    """The Poisson order rests only when every clock has rung: ln 3 + 7, so at least 9 quiet rounds at the end."""
    game = market(Linear([1.0, 2, 3]), Proportional(12.0, "epsilon"), 3)
    found = solve(game, rng=rng(), method="poisson", starts=1)
    assert found.reason == "certified" and np.allclose(found.epsilon, [8 / 3, 4 / 3, 0], atol=1e-6)
    rounds = zip(found.trajectory, found.trajectory[1:], strict=False)
    deviations = [
        relative_moves(before[1], after[1], np.full(3, 20.0)).max() for before, after in rounds
    ]
    assert max(deviations[-9:]) <= 1e-9 < deviations[-10]
    empty = np.array(
        [len(poisson_clocks(2, lambda k=k: rng(k).random(2), PlayRules())) == 0 for k in range(300)]
    )
    assert empty.mean() == pytest.approx(
        np.exp(-2), abs=0.06
    )  # a unit of time in which nobody's clock rings


@pytest.mark.parametrize("method", ["aggregative", "sequential"])
def test_who_does_not_care_shares_the_least(method):
    """Paid what it costs: any epsilon is an equilibrium, and all solvers take the smallest, from wherever they start."""
    game = market(Linear(2.0), Posted(2.0), 3, low=[0.0, 0.1, 5.0])
    found = solve(game, rng=rng(), method=method, starts=4)
    assert found.epsilon.tolist() == [0.0, 0.1, 5.0] and found.reason == "corner"


def test_everybody_at_an_end_is_a_corner():
    """Paid 2 per bit against a cost of 1 or 3 per bit: all or nothing."""
    found = solve(market(Leakage([1.0, 3.0]), Posted(2.0, "bit"), 2), rng=rng(), starts=4)
    assert found.converged and found.reason == "corner" and found.epsilon.tolist() == [20, 0]
    inside = solve(market(Quadratic([1.0, 300.0]), Posted(3.0), 2, low=0.01), rng=rng(), starts=2)
    assert inside.reason == "certified" and inside.epsilon == pytest.approx([3, 0.01])


COSTS_AND_POLICIES = [
    (Quadratic, Proportional(9.0, "epsilon")),
    (Linear, Proportional(9.0, "records_epsilon")),
    (Quadratic, Proportional(9.0, "records_epsilon")),
    (Quadratic, Posted(2.0)),
    (Quadratic, Marginal(0.6)),
]


@pytest.mark.slow
@pytest.mark.parametrize(("cost", "policy"), COSTS_AND_POLICIES)
def test_aggregative_and_one_by_one_agree_on_random_markets(cost, policy):
    """Concave payoffs without benefits have one equilibrium: four or ten markets for each of five pairs."""
    for seed in range(sized(4, 10)):
        draw = rng(seed)
        n = int(draw.integers(2, 9))
        law = LinearLaw(1.0, 0.1, 0.02)
        game = market(
            cost(draw.uniform(0.3, 3, n)), policy, n, low=0.05, high=10.0, sizes=draw.uniform(0.5, 2, n),
            forecast=law, value=20.0,
        )  # fmt: skip
        one, two = (
            solve(game, rng=draw, starts=n, method=m)
            for n, m in ((2, "aggregative"), (1, "sequential"))
        )
        assert one.reason == two.reason == "certified"
        assert np.abs(one.epsilon - two.epsilon).max() < 1e-7
        assert (one.method, two.method) == ("aggregative", "sequential")


@pytest.mark.parametrize(
    "cost", [Leakage(0.05), Linear(1.0), Quadratic(0.5)], ids=["leakage", "linear", "quadratic"]
)
@pytest.mark.parametrize("policy", [Posted(0.8), Proportional(9.0, "epsilon"), Marginal(0.7)])
def test_smooth_markets_are_certified(cost, policy):
    game = market(cost, policy, 4, low=0.1, high=10.0, forecast=LinearLaw(1.0, 0.1, 0.02), value=30.0,
                  sizes=[10.0, 20, 30, 40], benefit=2.0, isolated=0.5)  # fmt: skip
    found = solve(game, rng=rng(), starts=4)
    assert found.converged and found.max_relative_regret <= 1e-8
    assert np.allclose(found.payments, game.payments(found.epsilon))


def test_several_equilibria_are_told_apart():
    """Alone an owner gains nothing; with the other it shares until its cost 1 = 10 * 2 * 0.05/e^3, so e = 1."""
    game = market(
        Linear(1.0), Posted(0.0), 2, forecast=Pair(), benefit=10.0, isolated=0.9, high=5.0
    )
    found = solve(game, rng=rng(), starts=8)
    assert found.reason == "several" and found.converged and len(found.others) == 1
    profiles = sorted([found.epsilon.tolist(), found.others[0].epsilon.tolist()])
    assert np.allclose(profiles, [[0, 0], [1, 1]], atol=1e-9)


@pytest.mark.parametrize("method", ["auto", *PATHS])
def test_a_game_without_equilibrium_is_not_answered(method):
    game = market(Linear(0.0), Pennies(), 2, low=0.0, high=1.0)
    found = solve(game, rng=rng(), method=method, starts=3, max_rounds=60)
    assert not found.converged and found.max_relative_regret > 0.1
    # A drawn order visits no profile twice in a set rhythm, and Newton's steps are no play: neither
    # shows a cycle.
    cycles = method in ("auto", "sequential", "simultaneous")
    assert found.reason == ("cycle found" if cycles else "not converged")
    assert found.iterations < 60 or method in ("random", "poisson", "partial")


def test_undamped_play_cycles_where_damped_play_settles():
    """Six equal Tullock players answer 6 times too much with nothing, and nothing with something."""
    game = market(Linear(1.0), Proportional(10.0, "epsilon"), 6)
    wild = solve(game, rng=rng(), method="simultaneous", damping=1.0, starts=1)
    assert wild.reason == "cycle found" and not wild.converged
    calm = solve(game, rng=rng(), method="simultaneous", damping=0.3, starts=1)
    assert calm.reason == "certified" and np.allclose(calm.epsilon, 10 * 5 / 36, atol=1e-6)


def test_too_few_rounds_are_no_equilibrium():
    game = market(Linear([1.0, 2, 3]), Proportional(12.0, "epsilon"), 3)
    short = solve(game, rng=rng(), method="simultaneous", starts=1, max_rounds=3)
    assert short.reason == "not converged" and not short.converged and short.iterations == 3


def test_a_wrong_profile_is_not_certified():
    game = market(Quadratic([1.0, 2.0]), Posted(3.0), 2)
    right = certify(game, np.array([3.0, 1.5]))
    wrong = certify(game, np.array([3.0, 1.6]))
    assert right.converged and not wrong.converged
    assert wrong.regret == pytest.approx([0.0, (3 - 3.2) ** 2 / 4], abs=1e-12)


def test_an_owner_that_gains_nothing_by_anything_is_content():
    """Paid 0.1 for each of 3 records per unit of epsilon, which costs 0.3: floating point calls that a gain."""
    assert 0.1 * 3 - 0.3 > 0
    game = market(Linear(0.3), Posted(0.1, "record_epsilon"), 3, sizes=3.0)
    for profile in rng().uniform(0, 20, (5, 3)):
        assert certify(game, profile).converged


def contest(prices, budget, high):
    """Two owners of 6,680 records who share a budget by n epsilon^2, at an exponential cost."""
    policy = Proportional(budget, "records_epsilon2")
    return market(
        Exponential(prices), policy, 2, low=[0.0025, 0.019], high=high, sizes=6680.0, value=1000.0
    )


@pytest.mark.parametrize("high", [9.0, 30.0, 500.0])
def test_a_costly_end_makes_no_equilibria(high):
    """One only, where budget / (2 e) = price exp(e); at (0.0025, 0.019) an owner gains 1.658, at (0.360, 0.358) 0.17."""
    game = contest(0.66, 1.816, high)
    found = solve(game, rng=rng(), starts=4)
    alike = brentq(lambda e: 1.816 / (2 * e) - 0.66 * np.exp(e), 0.1, 2, xtol=1e-14)
    assert (
        found.reason == "certified"
        and found.others == ()
        and found.epsilon == pytest.approx(alike, rel=1e-6)
    )
    for profile, gains in [([0.0025, 0.019], 1.658), ([0.360, 0.358], 0.174)]:
        wrong = certify(game, np.array(profile))
        assert not wrong.converged and wrong.max_regret == pytest.approx(gains, abs=1e-3)


@pytest.mark.parametrize("high", [9.4, 20.0, 500.0])
def test_a_costly_end_certifies_no_game_without_equilibrium(high):
    """The dear one stays out while the cheap one shares much, and comes back when that one then shares little."""
    found = solve(contest([0.66, 1.5], 1.39, high), rng=rng(), starts=3)
    assert found.reason == "cycle found" and not found.converged and found.max_regret > 0.1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_two_owners_settle_where_no_play_leads(seed):
    """Best responses cross at slopes above 1 in product: play turns away from the one equilibrium, whatever the starts."""
    law = Envelope(1.0, (0.5, 0.2, 0.05), (0.001, 0.01, 0.1))
    game = market(Linear([3.194, 4.449]), Proportional(3.934, "records_epsilon2"), 2, low=0.05, high=17.94, forecast=law,
                  sizes=[0.5694, 1.869], benefit=1.0, isolated=0.6)  # fmt: skip
    assert not solve(game, rng=rng(seed), method="sequential", starts=2).converged
    found = solve(game, rng=rng(seed))
    assert found.reason == "certified" and found.starts < 5

    def round_trip(place):
        second = game.best_responses(np.array([place, 1.0]))[1]
        return game.best_responses(np.array([1.0, second]))[0] - place

    assert found.epsilon[0] == pytest.approx(brentq(round_trip, 0.58, 0.59, xtol=1e-12), abs=1e-8)


def test_no_best_response_is_called_so():
    """Alone, a budget is one's own for any epsilon above 0, the less the better; of two, one pays for a guess that costs
    nothing to sell at next to 0, whatever the other does."""
    alone = solve(market(Linear(1.0), Proportional(5.0), 1), rng=rng(), starts=3)
    assert not alone.converged and alone.reason == "no best response (jump at 0)"
    both = solve(
        market(Linear([1.0, 3.0]), ThesisUtility(1e-3), 2, low=[0.1, 0.0], high=5.0),
        rng=rng(),
        starts=3,
    )
    assert not both.converged and both.reason == "no best response (jump at 0)"


def test_order_of_owners_and_unit_of_money():
    costs = np.array([1.0, 1.4, 0.8, 2.0])
    sizes = np.array([1.0, 2.0, 0.5, 3.0])
    order = np.array([2, 3, 0, 1])
    first = solve(market(Quadratic(costs), Proportional(10.0), 4, sizes=sizes), rng=rng(), starts=2)
    moved = solve(
        market(Quadratic(costs[order]), Proportional(10.0), 4, sizes=sizes[order]),
        rng=rng(),
        starts=2,
    )
    cents = solve(
        market(Quadratic(100 * costs), Proportional(1000.0), 4, sizes=sizes), rng=rng(), starts=2
    )
    assert np.allclose(moved.epsilon, first.epsilon[order], atol=1e-10)
    assert np.allclose(cents.epsilon, first.epsilon, atol=1e-10)
    assert np.allclose(cents.payments, 100 * first.payments, rtol=1e-9)


def test_first_order_condition_at_a_quadratic_tullock_equilibrium():
    """Second solver: equal owners, R (N-1)/(N^2 x) = a x by a scalar root."""
    n = 7
    budget = 20.0
    slope = 1.3
    found = solve(market(Quadratic(slope), Proportional(budget, "epsilon"), n), rng=rng(), starts=1)
    root = brentq(lambda x: budget * (n - 1) / (n**2 * x) - slope * x, 0.01, 20, xtol=1e-14)
    assert np.allclose(found.epsilon, root, atol=1e-10)


def test_starts_and_trajectory():
    game = market(Linear([1.0, 2, 3]), Proportional(12.0, "epsilon"), 3, low=[0.0, 0.1, 1.0])
    points = np.array(start_points(game, rng=rng(), starts=16))
    assert points.shape == (16, 3) and np.all(points >= [0, 0.1, 1.0]) and np.all(points <= 20)
    assert points[1].tolist() == [0.0, 0.1, 1.0] and points[2].tolist() == [20.0] * 3
    assert len(np.unique(points, axis=0)) == 16
    start = np.array([1.0, 2.0, 3.0])
    found = solve(game, rng=rng(), start=start, starts=2)
    assert (
        found.starts == 2
        and found.trajectory[0][0] == 0
        and found.trajectory[0][1].tolist() == start.tolist()
    )
    number, epsilon, payments, payoffs = found.trajectory[-1]
    assert number == found.iterations == len(found.trajectory) - 1
    assert np.array_equal(epsilon, found.epsilon) and np.allclose(payments, found.payments)
    assert np.allclose(payoffs, game.payoffs(epsilon))
    again = solve(game, rng=rng(), start=start, starts=2)
    assert np.array_equal(again.epsilon, found.epsilon)


def test_requests_that_cannot_be():
    game = market(Linear(1.0), Posted(1.0), 2)
    for wrong, message in [
        ({"method": "newton"}, "method"),
        ({"damping": 0}, "damping"),
        ({"starts": 0}, "starts"),
    ]:
        with pytest.raises(ValueError, match=f"^{message}:? must be"):
            solve(game, rng=rng(), **wrong)


@pytest.mark.parametrize("kind", ["linear", "quadratic", "leakage"])
def test_a_large_market_is_certified(kind):
    """20,000 different owners; with linear and leakage costs nearly all are at one end or the other."""
    n = 20_000
    draw = rng(2)
    cost = {"linear": Linear, "quadratic": Quadratic, "leakage": Leakage}[kind](
        draw.uniform(1, 3, n)
    )
    game = market(cost, Proportional(2e4), n, sizes=draw.uniform(0.5, 2, n))
    found = solve(game, rng=draw, starts=1, method="aggregative", max_rounds=40)
    assert found.converged and found.max_relative_regret <= 1e-8
    assert 0 < (found.epsilon > 0).sum() <= n


def test_a_line_search_follows_what_responses_follow(monkeypatch):
    """Price takers feel what all sell, not the noise of the rest: looked at together, they took 15 responses of everybody."""
    n = 1000
    draw = rng(1)
    refine = BestResponses.climb_from_known
    responded = []
    sizes = draw.integers(10, 40, n).astype(float)
    law = exact_law(draw, sizes)
    game = market(
        Linear(draw.uniform(30, 120, n) / n),
        Proportional(300.0),
        n,
        low=0.1,
        high=10.0,
        sizes=sizes,
        forecast=law,
    )

    def counted(self, epsilon, others, owners=None):
        responded.append(n if owners is None else owners.sum())
        return refine(self, epsilon, others, owners)

    monkeypatch.setattr(BestResponses, "climb_from_known", counted)
    assert solve(game, rng=draw, starts=1, start=game.owners.epsilon_max).converged
    assert sum(responded) <= 10 * n
