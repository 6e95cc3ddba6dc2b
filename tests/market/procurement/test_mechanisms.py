"""Mechanisms for private costs: what each must do, and known answers.

Each entry of MECHANISMS is tested by being in the dict; a new one needs only an example in
`example`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from buying import buy
from scipy.optimize import minimize_scalar
from scipy.stats import laplace
from sizes import sized
from valuations import SquareRootValuation

from learning.errors import InputError
from market.costs.functions import Linear
from market.equilibrium.solver import certify, solve
from market.game.game import Game
from market.game.owners import Owners
from market.policies.contributions import Shapley
from market.policies.proportional import Proportional
from market.procurement.auctions import (
    ACCURACY,
    AllIn,
    ClarkePivot,
    FairQuery,
    MinCost,
    PayAsBid,
    ProportionalShare,
    ShapleyShare,
)
from market.procurement.compensation import Compensated
from market.procurement.contracts import Menu, TwoContracts, VirtualCost
from market.procurement.cost_laws import Bimodal, LogNormal, Uniform
from market.procurement.mechanism import NONE, ProcurementMechanism, ProcurementProblem
from market.procurement.offers import Ladder, PostedPrice
from market.procurement.paid_quality import PaidQuality
from market.procurement.reports import best_misreports
from market.procurement.spending import MECHANISMS
from market.procurement.valuation import MeanEstimate, PrecisionValuation, count_error

LAWS = [Uniform(0.2, 3.0), LogNormal(1.0, 0.7), Bimodal()]


def example(name, rng, n_owners=6):
    """A mechanism with random parameters, and the law its costs come from."""
    law = LAWS[rng.integers(3)]
    budget = n_owners * rng.uniform(0.1, 2.0)
    valuation = (SquareRootValuation if rng.random() < 0.5 else PrecisionValuation)(
        rng.uniform(0.5, 8.0)
    )
    makers = {
        "fair_query": lambda: FairQuery(budget),
        "min_cost": lambda: MinCost(rng.uniform(0.05, 1.7)),
        "posted": lambda: PostedPrice(budget, rng.uniform(0.2, 3.0), rng.uniform(0.1, 1.0)),
        "ladder": lambda: Ladder(
            budget,
            rng.uniform(0.1, 1.0),
            rng.uniform(0.1, 1.0),
            growth=rng.uniform(1.1, 3.0),
            group=int(rng.integers(1, 5)),
            bar=rng.uniform(0.2, 1.0),
        ),
        "virtual_cost": lambda: VirtualCost(
            law, valuation, budget if rng.random() < 0.8 else np.inf
        ),
        "menu": lambda: replace(
            Menu.from_law(law, int(rng.integers(1, 9)), valuation), budget=budget
        ),
        "menu_2": lambda: replace(TwoContracts.from_law(law, 2, valuation), budget=budget),
        "proportional": lambda: ProportionalShare(budget),
        "vcg": lambda: ClarkePivot(valuation),
        "shapley": lambda: ShapleyShare(
            budget, rng.uniform(0.1, 1.0), MeanEstimate(rng.uniform(1.0, 50.0))
        ),
        "pay_as_bid": lambda: PayAsBid(
            int(rng.integers(1, 4)), rng.uniform(0.1, 1.0), rng.uniform(0.5, 3.0)
        ),
        "all_in": lambda: AllIn(budget, rng.uniform(0.1, 1.0)),
        "paid_quality": lambda: PaidQuality(budget, rng.uniform(0.5, 50.0), rng.uniform(0.5, 10.0)),
        "compensated": lambda: Compensated(budget, rng.uniform(0.1, 1.0), rng.uniform(0.1, 1.0)),
    }
    return makers[name](), law


def problem(budget, n_owners, law, valuation=None, forecast=None):
    """A problem, with a valuation and a forecast where a test does not need its own."""
    return ProcurementProblem(
        budget, n_owners, law, valuation or PrecisionValuation(1.0), forecast or MeanEstimate(1.0)
    )


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_mechanism_says_what_it_does(name):
    assert issubclass(MECHANISMS[name], ProcurementMechanism) and MECHANISMS[name].title


def test_a_mechanism_without_settle_is_refused_by_name():
    with pytest.raises(TypeError, match="class Promise .*settle"):
        type("Promise", (ProcurementMechanism,), {})()


@pytest.mark.slow
@pytest.mark.parametrize("name", MECHANISMS)
def test_nobody_loses_nobody_gains_by_lying_and_the_budget_is_kept(name):
    """600 random markets, or 2,000, of 1 to 9 owners, a tenth of the costs tied and some of them 0, each owner trying some
    90 reports. Truthful: no gain above 1e-9. Those who are not: a gain is found."""
    rng = np.random.default_rng([17, sorted(MECHANISMS).index(name)])
    gain = 0.0
    for number in range(sized(15, 50)):
        n_owners = 1 + number % 9
        mechanism, law = example(name, rng, n_owners)
        costs = law.draw((40, n_owners), rng=rng)
        costs = np.where(rng.random(costs.shape) < 0.1, np.round(costs), costs)
        chances = np.stack([mechanism.draw(n_owners, rng=rng) for _ in costs])
        epsilon, payments = mechanism.settle(costs, chances)
        assert epsilon.shape == payments.shape == costs.shape
        assert (
            np.all(epsilon >= 0) and np.all(payments >= 0) and np.all(payments[epsilon == 0] == 0)
        )
        assert np.all(payments.sum(axis=1) <= mechanism.budget * (1 + 1e-12))
        lies = best_misreports(mechanism, costs, rng=rng)
        assert lies.surplus.min() >= -1e-12
        gain = max(gain, lies.gain.max())
    assert type(mechanism).truthful == (gain <= 1e-9)
    if not type(mechanism).truthful:
        assert gain > 0.1


@pytest.mark.parametrize("name", MECHANISMS)
def test_markets_settled_together_are_settled_alone(name):
    rng = np.random.default_rng(4)
    mechanism, law = example(name, rng)
    costs = law.draw((3, 5, 6), rng=rng)
    chances = np.stack([mechanism.draw(6, rng=rng) for _ in range(3)])
    together = mechanism.settle(costs, chances[:, None, :])
    for i, j in np.ndindex(3, 5):
        alone = mechanism.settle(costs[i, j], chances[i])
        assert np.array_equal(alone[0], together[0][i, j]) and np.array_equal(
            alone[1], together[1][i, j]
        )


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_order_of_owners_does_not_matter(name):
    rng = np.random.default_rng(9)
    order = rng.permutation(6)
    for _ in range(20):
        mechanism, law = example(name, rng)
        costs = law.draw(6, rng=rng)
        chances = mechanism.draw(6, rng=rng)
        moved = chances.copy()
        moved[:6] = moved[:6][order] if len(moved) else moved
        epsilon, payments = mechanism.settle(costs, chances)
        other = mechanism.settle(costs[order], moved)
        assert np.allclose(other[0], epsilon[order], rtol=1e-12) and np.allclose(
            other[1], payments[order], rtol=1e-12
        )


@pytest.mark.slow
def test_the_unit_of_money_does_not_matter():
    unit = 40.0
    rng = np.random.default_rng(1)
    costs = Uniform(0.2, 3.0).draw(20, rng=rng)
    valuation = PrecisionValuation(1.0)
    estimate = MeanEstimate(1.0)
    dear = Uniform(0.2 * unit, 3.0 * unit)
    for name, kind in MECHANISMS.items():
        ours = kind.for_budget(ProcurementProblem(8.0, 20, Uniform(0.2, 3.0), valuation, estimate))
        theirs = kind.for_budget(ProcurementProblem(8.0 * unit, 20, dear, valuation, estimate))
        one = buy(ours, costs, rng=np.random.default_rng(0))
        two = buy(theirs, costs * unit, rng=np.random.default_rng(0))
        assert np.allclose(two.epsilon, one.epsilon, rtol=1e-6), name
        assert np.allclose(two.payments, unit * one.payments, rtol=1e-6), name


@pytest.mark.slow
@pytest.mark.parametrize("name", MECHANISMS)
def test_markets_at_the_edge(name):
    """One owner, all alike, all free, nothing to spend, more than enough to spend, no owner."""
    rng = np.random.default_rng(6)
    for _ in range(sized(3, 10)):
        mechanism, _ = example(name, rng)
        for costs in ([1.0], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0], [0.0], [0.0, 2.0], [1e6, 2e6]):
            bought = buy(mechanism, costs, rng=rng)
            assert np.all(bought.surplus(costs) >= -1e-9) and np.isfinite(bought.payments).all()
            assert bought.spend <= mechanism.budget * (1 + 1e-12)
            assert best_misreports(mechanism, costs, rng=rng).surplus.min() >= -1e-9
        with pytest.raises(
            InputError, match="costs: a market needs at least one owner; found none"
        ):
            buy(mechanism, [], rng=rng)
        with pytest.raises(InputError, match="costs: must be finite and at least 0; found -1"):
            buy(mechanism, [1.0, -1.0], rng=rng)
        with pytest.raises(InputError, match="costs: must be finite and at least 0; found nan"):
            best_misreports(mechanism, [np.nan], rng=rng)
        if np.isfinite(mechanism.budget):
            nothing = buy(replace(mechanism, budget=0.0), [1.0, 2.0, 3.0], rng=rng)
            assert nothing.spend == 0 and not nothing.epsilon.any()


def test_fair_query_by_hand():
    """Costs 1..10, N = 10. B = 2: c_3/7 = 0.429 <= 2/3 but c_4/6 = 0.667 > 2/4, so k = 3, e = 1/7, and each is
    paid min(2/3, c_4/7 = 4/7) = 0.571429. B = 10: c_6/4 = 1.5 <= 10/6 but c_7/3 = 2.33 > 10/7, so k
    = 6, e = 1/4, and each is paid min(10/6, 7/4) = 1.666667."""
    costs = np.arange(1.0, 11.0)
    for budget, sellers, each, paid in ((2.0, 3, 1 / 7, 4 / 7), (10.0, 6, 1 / 4, 10 / 6)):
        epsilon, payments = FairQuery(budget).settle(costs, NONE)
        assert np.allclose(epsilon, np.where(costs <= sellers, each, 0), rtol=1e-15)
        assert np.allclose(payments, np.where(costs <= sellers, paid, 0), rtol=1e-15)
    epsilon, payments = FairQuery(1e9).settle(
        costs, NONE
    )  # never all: nine, at 1 each, at the tenth's cost
    assert np.array_equal(epsilon, [1.0] * 9 + [0.0]) and np.array_equal(
        payments, [10.0] * 9 + [0.0]
    )
    assert FairQuery(1e9).settle(np.array([1.0]), NONE) == (np.zeros(1), np.zeros(1))
    epsilon, payments = FairQuery(0.0).settle(
        np.array([0.0, 0.0, 1.0]), NONE
    )  # what is free can be had for nothing
    assert np.array_equal(epsilon, [1.0, 1.0, 0.0]) and not payments.any()
    epsilon, payments = FairQuery(1.0).settle(np.ones(5), NONE)  # ties: the first; 2/3 <= 1 < 3/2
    assert np.allclose(epsilon, [1 / 3, 1 / 3, 0, 0, 0]) and np.allclose(
        payments, [1 / 3, 1 / 3, 0, 0, 0]
    )


def test_fair_query_as_written():
    """Second route: the definition, one k after another."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        count = int(rng.integers(2, 12))
        costs = rng.exponential(size=count)
        budget = rng.exponential(3)
        rising = np.sort(costs)
        k = max([0] + [k for k in range(1, count) if rising[k - 1] / (count - k) <= budget / k])
        epsilon, payments = FairQuery(budget).settle(costs, NONE)
        assert (epsilon > 0).sum() == k and set(costs[epsilon > 0]) == set(rising[:k])
        if k:
            assert np.allclose(
                payments[epsilon > 0], min(budget / k, rising[k] / (count - k)), rtol=1e-14
            )


def test_min_cost_by_hand():
    """accuracy 0.2, N = 1000: a = 0.2/(1/2 + ln 3) = 0.125109, k = ceil(874.89) = 875, e = 1/125 = 0.008, paid c_876 e."""
    costs = np.random.default_rng(0).permutation(np.arange(1.0, 1001.0))
    epsilon, payments = MinCost(0.2).settle(costs, NONE)
    assert (epsilon > 0).sum() == 875 and np.array_equal(epsilon > 0, costs <= 875)
    assert np.allclose(epsilon[epsilon > 0], 0.008, rtol=1e-15) and np.allclose(
        payments[epsilon > 0], 876 * 0.008
    )
    assert (
        MinCost(1e-6).seller_count(10) == 9
        and MinCost(5.0).seller_count(10) == 0
        and MinCost(0.2).seller_count(1) == 0
    )


@pytest.mark.parametrize("accuracy", [0.1, 0.2, 0.7])
def test_min_cost_is_as_accurate_as_it_says(accuracy):
    """The count of N bits is answered with (N - k)/2 for those left out and noise 1/e = N - k: off by more than
    accuracy N at most one time in three, whatever the bits. Worst is a bias of (N - k)/2: exact
    from Laplace's law."""
    for total in (10, 137, 1000):
        left_out = total - MinCost(accuracy).seller_count(total)
        if left_out == 1:
            continue  # no finer accuracy can be had
        bought = MinCost(accuracy).settle(np.arange(1.0, total + 1), NONE)[0]
        assert count_error(bought) == pytest.approx(
            min(ACCURACY * left_out / total, 0.5), rel=1e-12
        )
        noise = laplace(scale=left_out)
        limit = accuracy * total
        bias = left_out / 2
        assert noise.cdf(limit - bias) - noise.cdf(-limit - bias) >= 2 / 3
        assert left_out * ACCURACY <= limit * (1 + 1e-9)
        assert (left_out + 1) * ACCURACY > limit  # and one fewer would not do


def test_min_cost_spends_a_budget_at_the_laws_quantiles():
    law = Uniform(1.0, 2.0)
    total = 200
    mechanism = MinCost.for_budget(problem(50.0, total, law))
    quantiles = law.quantile(np.arange(1, total + 1) / (total + 1))
    k = mechanism.seller_count(total)
    assert mechanism.settle(quantiles, NONE)[1].sum() <= 50
    assert (k + 1) * quantiles[k + 1] / (total - k - 1) > 50


def test_proportional_share_by_hand():
    """Costs 1, 2, 3, R = 12. Two active: the third wants R/X <= c_3, X = (2-1) 12/3 = 4, 12/4 = 3. So
    x_1 = 4 (1 - 1/3) = 8/3, x_2 = 4 (1 - 2/3) = 4/3, x_3 = 0."""
    epsilon, payments = ProportionalShare(12.0).settle(np.array([1.0, 2.0, 3.0]), NONE)
    assert np.allclose(epsilon, [8 / 3, 4 / 3, 0], rtol=1e-14) and np.allclose(
        payments, [8, 4, 0], rtol=1e-14
    )
    alike = ProportionalShare(12.0).settle(np.full(4, 3.0), NONE)  # (n - 1) R / (n^2 c)
    assert np.allclose(alike[0], 3 * 12 / (16 * 3)) and np.allclose(alike[1], 3)
    free = ProportionalShare(12.0).settle(np.array([0.0, 1.0, 0.0]), NONE)
    assert np.array_equal(free[0], [np.inf, 0, np.inf]) and np.allclose(free[1], [6, 0, 6])
    one_free = ProportionalShare(12.0).settle(
        np.array([0.0, 2.0]), NONE
    )  # x_1 = R / c_2 keeps the other out
    assert np.allclose(one_free[0], [6, 0]) and np.allclose(one_free[1], [12, 0])


@pytest.mark.parametrize("count", [2, 5, 50, 10_000])
def test_proportional_share_is_the_equilibrium(count):
    """First-order conditions: R (X - x_i) / X^2 = c_i where x_i > 0, R / X <= c_i elsewhere. Second routes: the game's
    certificate, and its solver."""
    costs = np.random.default_rng(count).uniform(0.5, 3.0, count)
    reward = 3.0 * count
    epsilon, payments = ProportionalShare(reward).settle(costs, NONE)
    total = epsilon.sum()
    active = epsilon > 0
    assert payments.sum() == pytest.approx(reward, rel=1e-9)
    assert np.allclose(reward * (total - epsilon[active]) / total**2, costs[active], rtol=1e-9)
    assert np.all(reward / total <= costs[~active] * (1 + 1e-12))
    owners = Owners(tuple(map(str, range(count))), 1, 0.0, reward, Linear(costs))
    game = Game(owners, Proportional(reward, "epsilon"), None, 0.0)
    assert certify(game, epsilon).converged  # by a search over each owner's whole interval
    if count <= 50:
        found = solve(game, rng=np.random.default_rng(0), starts=1)
        assert found.converged and np.allclose(found.epsilon, epsilon, rtol=1e-7, atol=1e-7 * total)


def test_a_clarke_payment_is_what_others_gain():
    """Paid: the others' costs and the learner's valuation, with it, less the best total without it, each by a search."""
    valuation = PrecisionValuation(3.0)
    costs = np.array([0.3, 0.9, 2.0, 50.0])
    epsilon, payments = ClarkePivot(valuation).settle(costs, NONE)

    def best(cost):
        grid = np.linspace(0, 10, 4001)
        start = grid[np.argmax(valuation.value(grid) - cost * grid)]
        found = minimize_scalar(
            lambda e: cost * e - valuation.value(np.array(e)),
            bounds=(max(start - 0.01, 0), start + 0.01),
            method="bounded",
            options={"xatol": 1e-12},
        )
        return max(-found.fun, 0.0)

    totals = np.array([best(cost) for cost in costs])
    for owner in range(4):
        others_with = valuation.value(epsilon).sum() - np.delete(costs * epsilon, owner).sum()
        assert payments[owner] == pytest.approx(
            others_with - np.delete(totals, owner).sum(), abs=1e-8
        )
    assert epsilon[3] == 0 and payments[3] == 0


def test_a_shapley_share_is_the_shapley_value():
    """Against the policy that sums over all coalitions, at the same budgets; and the least k is what it says."""
    estimate = MeanEstimate(sizes=20.0, public_records=5.0)
    count = 6
    budget = 3.0
    mechanism = ShapleyShare(budget, 0.4, estimate)
    costs = np.array([0.1, 2.0, 1.2, 0.4, 9.0, 0.7])
    epsilon, payments = mechanism.settle(costs, NONE)
    value = budget / (
        estimate.outside - float(estimate.excess(estimate.terms(np.full(count, 0.4)).sum(axis=0)))
    )
    owners = Owners(tuple("abcdef"), 20.0, 0.0, 1.0, Linear(costs))
    assert np.allclose(
        payments, Game(owners, Shapley(), estimate, value).payments(epsilon), rtol=1e-9
    )
    k = int((epsilon > 0).sum())
    assert 1 < k < count and np.all(payments[epsilon > 0] >= 0.4 * costs[epsilon > 0])
    more = Game(owners, Shapley(), estimate, value).payments(
        np.where(costs <= np.sort(costs)[k], 0.4, 0.0)
    )
    assert (
        more.max() < 0.4 * np.sort(costs)[k]
    )  # one more would want more than it then is valuation


def test_a_shapley_share_for_a_budget_makes_the_best_model():
    """At costs that are the law's quantiles no other epsilon does better, to the width of its grid."""
    estimate = MeanEstimate(50.0, 5.0)
    law = Uniform(0.5, 3.0)
    count = 30
    costs = law.quantile(np.arange(1, count + 1) / (count + 1))

    def error(epsilon):
        bought = buy(
            ShapleyShare(9.0, epsilon, estimate),
            costs,
            rng=np.random.default_rng(0),
            forecast=estimate,
        )
        return bought.fitness

    chosen = ShapleyShare.for_budget(problem(9.0, count, law, forecast=estimate))
    assert error(chosen.epsilon) <= 1.05 * min(
        error(epsilon) for epsilon in np.geomspace(1e-3, 10, 97)
    )


def test_the_count_is_as_noisy_as_its_most_private_seller():
    """5 owners, budgets 2, 0.5, 1: (5 - 3)/2 + ln 3 / 0.5 = 3.197 owners, more than the 5/2 of any guess; at 2, 4, 2:
    1 + ln 3 / 2 = 1.549."""
    assert count_error(np.array([2.0, 0.5, 0.0, 1.0, 0.0])) == 0.5
    assert count_error(np.array([2.0, 4.0, 0.0, 2.0, 0.0])) == pytest.approx(
        (1 + np.log(3) / 2) / 5, rel=1e-14
    )
    assert count_error(np.zeros(5)) == 0.5 and count_error(np.full(4, np.inf)) == 0


def test_a_shapley_share_invites_undercutting():
    """Gains 0.8 and 8/9 of one seller and two (variance 1 to 1/5 to 1/9), budget 80/9: one is paid 8, two 4.44 each.
    Costs 5 and 6: one sells, for 8. The other reports less than 5 and takes its place: 8 - 6 =
    2."""
    estimate = MeanEstimate(sizes=4.0, width=1e-9)  # next to no noise
    lies = best_misreports(
        ShapleyShare(80 / 9, 1.0, estimate), np.array([5.0, 6.0]), rng=np.random.default_rng(0)
    )
    assert np.allclose(lies.surplus, [3, 0], atol=1e-9) and np.allclose(
        lies.gain, [0, 2], atol=1e-9
    )
    assert lies.report[1] < 5


def test_a_posted_price_serves_whoever_comes_first():
    """Price 2 for half a unit, money for three; owners come in the order of their chances."""
    mechanism = PostedPrice(3.5, 2.0, 0.5)
    chances = np.array([0.9, 0.1, 0.5, 0.3, 0.7])
    epsilon, payments = mechanism.settle(np.array([1.0, 1.5, 2.0, 2.1, 0.0]), chances)
    assert np.array_equal(payments, [0, 1, 1, 0, 1]) and np.array_equal(epsilon, payments / 2)


def test_a_ladder_climbs_until_enough_take_it():
    """Groups of two at prices 1, 2, 4; the second group's takers, 2, meet the bar 0.9 * 2, so the third is not asked."""
    mechanism = Ladder(100.0, 1.0, 0.5, growth=2.0, group=2, bar=0.9)
    costs = np.array([0.5, 1.5, 1.9, 0.1, 0.1, 0.1])
    still = np.concatenate([np.arange(6.0), np.zeros(3)])
    epsilon, payments = mechanism.settle(costs, still)
    assert np.array_equal(payments, [0.5, 0, 1, 1, 0, 0]) and np.array_equal(
        epsilon > 0, payments > 0
    )
    noisy = still.copy()
    noisy[7] = -1.0  # the count's noise hides one taker: the third group is asked too, at 4
    assert np.array_equal(mechanism.settle(costs, noisy)[1], [0.5, 0, 1, 1, 2, 2])
    short = replace(
        mechanism, budget=3.6
    )  # 1.1 is left for the third group: not enough for one at 2
    assert np.array_equal(short.settle(costs, noisy)[1], [0.5, 0, 1, 1, 0, 0])


@pytest.mark.parametrize("law", LAWS, ids=["uniform", "lognormal", "bimodal"])
def test_offers_made_for_a_budget_plan_to_spend_it(law):
    """Posted: N F(p) p e = R, and no other price on a grid buys more valuation so. Ladder: the groups asked before its
    bar is met, each of which F(p) take, spend R."""
    valuation = PrecisionValuation(1.0, records=100.0)
    budget = 20.0
    count = 50
    posted = PostedPrice.for_budget(problem(budget, count, law, valuation))
    assert count * law.cdf(posted.price) * posted.price * posted.epsilon == pytest.approx(
        budget, rel=1e-9
    )
    for price in law.quantile(np.linspace(0.05, 1, 60)):
        epsilon = min(budget / (count * law.cdf(price) * price), 10.0)
        assert (
            law.cdf(price) * valuation.value(epsilon)
            <= law.cdf(posted.price) * valuation.value(posted.epsilon) * 1.001
        )
    ladder = Ladder.for_budget(problem(budget, count, law, valuation))
    prices = ladder.price * ladder.growth ** np.arange(ladder.group_count(count))
    last = int(np.argmax(law.cdf(prices) >= ladder.bar))
    spend = sum(
        ladder.group * law.cdf(price) * price * ladder.epsilon for price in prices[: last + 1]
    )
    assert spend == pytest.approx(budget, rel=1e-9)
    for owners in (1, 2, 3):  # an offer that nobody could be made is no plan
        for small in (
            kind.for_budget(problem(5.0, owners, law, valuation)) for kind in (PostedPrice, Ladder)
        ):
            assert (
                best_misreports(
                    small, np.full(owners, 1e-3), rng=np.random.default_rng(0)
                ).surplus.max()
                > 0
            )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FairQuery(-1.0), "mechanism.budget: must be a number of at least 0; found -1"),
        (lambda: MinCost(0.0), "mechanism.accuracy: must be a number above 0; found 0"),
        (
            lambda: ProportionalShare(np.inf),
            "mechanism.budget: must be a number of at least 0; found inf",
        ),
        (
            lambda: PostedPrice(1.0, -1.0, 1.0),
            "mechanism.price: must be a number of at least 0; found -1",
        ),
        (
            lambda: Ladder(1.0, 1.0, 1.0, growth=1.0),
            "mechanism.growth: must be a number above 1; found 1",
        ),
        (
            lambda: Ladder(1.0, 1.0, 1.0, group=0),
            "mechanism.group: must be a whole number of at least 1; found 0",
        ),
        (
            lambda: Ladder(1.0, 1.0, 1.0, bar=1.5),
            "mechanism.bar: must be a number above 0 and at most 1; found 1.5",
        ),
        (lambda: problem(0.0, 5, Uniform()), "budget: must be a number above 0; found 0"),
        (
            lambda: problem(1.0, 0, Uniform()),
            "n_owners: must be a whole number of at least 1; found 0",
        ),
    ],
)
def test_mechanisms_that_cannot_be(make, message):
    with pytest.raises(InputError, match=f"^{message}"):
        make()
