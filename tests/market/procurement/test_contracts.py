"""Contracts and virtual costs against other solvers; cost laws against their own integrals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import linprog, minimize, minimize_scalar
from scipy.sparse import coo_matrix
from valuations import SquareRootValuation

from learning.errors import InputError
from market.procurement.contracts import (
    Menu,
    VirtualCost,
    iron_virtual_costs,
    lower_hull,
    virtual_cost,
)
from market.procurement.cost_laws import COST_LAWS, Bimodal, LogNormal, Uniform
from market.procurement.valuation import MeanEstimate, PrecisionValuation

LAWS = {
    "uniform": [Uniform(0.0, 1.0), Uniform(1.0, 4.0)],
    "lognormal": [LogNormal(1.0, 0.5), LogNormal(0.3, 1.2, ceiling=2.0)],
    "bimodal": [Bimodal(), Bimodal(0.1, 3.0, 0.7, 0.4)],
}
LAW_CASES = [
    pytest.param(law, id=f"{name}{i}") for name in COST_LAWS for i, law in enumerate(LAWS[name])
]
VALUATIONS = [
    SquareRootValuation(2.0),
    PrecisionValuation(3.0),
    PrecisionValuation(20.0, records=50.0, epsilon_max=4.0),
]
MESH = 5e-4  # what the mesh of a virtual cost may lose where demand jumps
VALUATION_IDS = ["root", "precision", "precision50"]


def best_lottery(costs, odds, valuation, levels, neighbours=False):
    """The learner's best expected gain by a linear program over all mechanisms with lotteries on ``levels``.

    Variables: the odds w_kl that type k sells level l, and its payment t_k. Maximise
    sum f_k (sum_l w_kl V(e_l) - t_k) subject to: w_k is a lottery, t_k >= c_k E[e | w_k], and no
    type gains by passing for another (for its neighbours only, which is enough as costs are
    linear).
    """
    n = len(costs)
    m = len(levels)
    rows = []
    columns = []
    entries = []
    limits = []

    def below(limit, sold=(), paid=()):
        row = len(limits)
        limits.append(limit)
        for k, factor in sold:
            rows.extend([row] * m)
            columns.extend(range(k * m, (k + 1) * m))
            entries.extend(factor * levels)
        for k, factor in paid:
            rows.append(row)
            columns.append(n * m + k)
            entries.append(factor)

    for k in range(n):
        below(0.0, [(k, costs[k])], [(k, -1.0)])
        for j in range(n):
            if j != k and (not neighbours or abs(j - k) == 1):
                below(0.0, [(k, costs[k]), (j, -costs[k])], [(k, -1.0), (j, 1.0)])
    lotteries = coo_matrix(
        (np.ones(n * m), (np.repeat(np.arange(n), m), np.arange(n * m))), (n, n * m + n)
    )
    gain = np.concatenate([np.outer(odds, valuation.value(levels)).ravel(), -odds])
    found = linprog(
        -gain,
        A_ub=coo_matrix((entries, (rows, columns)), (len(limits), n * m + n)),
        b_ub=limits,
        A_eq=lotteries,
        b_eq=np.ones(n),
        bounds=[(0, None)] * (n * m) + [(None, None)] * n,
        method="highs",
    )
    assert found.status == 0
    return -found.fun


def average(law, function, points=20_000):
    """The mean of ``function(cost)`` over a law, by its quantiles."""
    return function(law.quantile((np.arange(points) + 0.5) / points)).mean()


def gain_over(law, mechanism, valuation):
    """The learner's mean gain per owner without a budget."""

    def gain(costs):
        epsilon, payments = mechanism.settle(costs, np.zeros(len(costs)))
        return valuation.value(epsilon) - payments

    return average(law, gain)


def expected_gain(menu):
    """The learner's value less payment, per owner, on average over the types of a menu."""
    return float(menu.type_odds @ (menu.valuation.value(menu.epsilon) - menu.payments))


@pytest.mark.parametrize("law", LAW_CASES)
def test_a_law_is_one_law(law):
    """cdf = integral of pdf; the quantile inverts it; draws follow it (Kolmogorov's bound at odds 1e-4)."""
    low, high = law.support
    assert law.cdf(np.array(low)) == 0 and law.cdf(np.array(high)) == pytest.approx(1, abs=1e-12)
    assert (
        np.all(law.pdf(np.array([low - 0.1, high + 0.1])) == 0) and law.cdf(np.array(2 * high)) == 1
    )
    for cost in np.linspace(low, high, 6)[1:]:
        known = [float(law.quantile(np.array(part))) for part in (0.01, 0.2, 0.5, 0.8, 0.99)]
        mass = quad(law.pdf, low, cost, points=[x for x in known if x < cost] or None, limit=400)[0]
        assert mass == pytest.approx(float(law.cdf(np.array(cost))), rel=1e-7)
    part = np.linspace(0.001, 0.999, 97)
    assert np.allclose(law.cdf(law.quantile(part)), part, rtol=1e-9)
    assert np.all(np.diff(law.quantile(np.linspace(0, 1, 50))) > 0) and law.quantile(
        1.0
    ) == pytest.approx(high)
    drawn = np.sort(law.draw(20_000, rng=np.random.default_rng(3)))
    assert drawn.min() >= low and drawn.max() <= high
    assert np.abs(law.cdf(drawn) - (np.arange(20_000) + 0.5) / 20_000).max() < 2.2 / np.sqrt(20_000)
    assert law.draw((3, 4), rng=np.random.default_rng(0)).shape == (3, 4)


def test_stated_valuations_have_two_peaks():
    density = Bimodal().pdf(np.linspace(0.01, 4, 2000))
    assert ((np.diff(density)[:-1] > 0) & (np.diff(density)[1:] <= 0)).sum() == 2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Uniform(2.0, 1.0), "costs.high: must be above 2; found 1"),
        (lambda: Uniform(-1.0, 1.0), "costs.low: must be a number of at least 0; found -1"),
        (lambda: LogNormal(0.0), "costs.median: must be a number above 0; found 0"),
        (lambda: LogNormal(1.0, np.inf), "costs.spread: must be a number above 0; found inf"),
        (lambda: Bimodal(share=1.0), "costs.share: must be a number above 0 and below 1; found 1"),
        (
            lambda: Bimodal(low=[1.0, 2.0]),
            r"costs.low: must be a number above 0; found \[1.0, 2.0\]",
        ),
        (
            lambda: PrecisionValuation(-1.0),
            "valuation.scale: must be a number of at least 0; found -1",
        ),
        (
            lambda: VirtualCost("uniform", VALUATIONS[0]),
            'mechanism.law: must be a CostLaw; found "uniform"',
        ),
        (
            lambda: Menu([1.0, 1.0], [0.5, 0.5], VALUATIONS[0]),
            "mechanism.costs: must rise from type to type",
        ),
        (
            lambda: Menu([1.0, 2.0], [1.0], VALUATIONS[0]),
            "mechanism.odds: needs one number per type; found 1 for 2",
        ),
        (
            lambda: Menu([1.0, 2.0], [1.0, 0.0], VALUATIONS[0]),
            "mechanism.odds: must be a number above 0, .*; found 0",
        ),
        (
            lambda: Menu([1.0], [1.0], VALUATIONS[0], budget=-1.0),
            "mechanism.budget: must be a number of at least 0; found -1",
        ),
        (
            lambda: VirtualCost(Uniform(), VALUATIONS[0], budget=np.nan),
            "mechanism.budget: must be a number of at least 0; found nan",
        ),
    ],
)
def test_laws_and_contracts_that_cannot_be(make, message):
    with pytest.raises(InputError, match=f"^{message}"):
        make()


@pytest.mark.parametrize("valuation", VALUATIONS, ids=VALUATION_IDS)
def test_demand_is_what_maximises_worth_less_price(valuation):
    """Against a grid of 40,001 budgets and a refinement of its best cell; and it never rises with the price."""
    prices = np.geomspace(1e-3, 1e3, 60)
    demand = valuation.demand(prices)
    assert np.all(np.diff(demand) <= 0) and demand[0] > 0
    grid = np.concatenate([[0.0], np.geomspace(1e-6, valuation.epsilon_max, 40_000)])
    for price, wanted in zip(prices, demand, strict=True):
        gain = valuation.value(grid) - price * grid
        at = int(gain.argmax())
        ends = grid[max(at - 1, 0)], grid[min(at + 1, len(grid) - 1)]
        fine = minimize_scalar(
            lambda e, p=price: p * e - valuation.value(np.array(e)),
            bounds=ends,
            method="bounded",
            options={"xatol": 1e-13},
        )
        best = max(gain[at], -fine.fun)
        assert valuation.value(wanted) - price * wanted == pytest.approx(best, rel=1e-9, abs=1e-12)
    assert valuation.demand(np.array([0.0]))[0] == pytest.approx(valuation.epsilon_max, rel=1e-12)
    assert valuation.demand(np.array([np.inf]))[0] == pytest.approx(0, abs=1e-200)
    assert (
        valuation.value(np.array(0.0)) == 0 and type(valuation)(0.0).demand(np.array([1.0]))[0] == 0
    )


def test_the_estimate_is_the_best_weighting():
    """Variance of sum q_i y_i with sum q = 1 is least at q ~ 1/v_i, and then 1 / sum 1/v_i (Lagrange)."""
    sizes = np.array([10.0, 40.0, 5.0])
    epsilon = np.array([1.0, 0.2, 3.0])
    estimate = MeanEstimate(sizes, public_records=8.0, deviation=0.4, width=2.0)
    variance = np.append(0.16 / sizes + 2 * (2.0 / (sizes * epsilon)) ** 2, 0.16 / 8)
    found = minimize(
        lambda q: q**2 @ variance,
        np.full(4, 0.25),
        constraints={"type": "eq", "fun": lambda q: q.sum() - 1},
        tol=1e-14,
    )
    assert estimate.excess(estimate.terms(epsilon).sum(axis=0)) == pytest.approx(
        found.fun / 0.16, rel=1e-6
    )
    assert estimate.excess(estimate.terms(np.zeros(3)).sum(axis=0)) == estimate.outside
    assert estimate.terms(np.ones((3, 7))).shape == (3, 7, 1)


def test_two_contracts_by_hand():
    """V = 2 sqrt(e), costs 1 and 2, even odds: e = 1 and 1/9, pay 1.111111 and 0.222222.

    The cheap type is efficient: V' = 1/sqrt(e) = 1. The dear one is bought at 2 + (1/2)/(1/2) (2 -
    1) = 3, so e = 1/9; it is paid its cost, 2/9; the cheap one its cost 1 and what it would gain as
    a dear one, (2 - 1)/9.
    """
    menu = Menu([1.0, 2.0], [0.5, 0.5], SquareRootValuation(2.0))
    assert np.allclose(menu.virtual_costs, [1, 3], rtol=1e-15)
    assert np.allclose(menu.epsilon, [1, 1 / 9], rtol=1e-13)
    assert np.allclose(menu.payments, [10 / 9, 2 / 9], rtol=1e-13)
    epsilon, payments = menu.settle(np.array([0.2, 1.0, 1.5, 2.0, 2.1]), np.zeros(5))
    assert np.allclose(epsilon, [1, 1, 1 / 9, 1 / 9, 0]) and np.allclose(
        payments, [10 / 9, 10 / 9, 2 / 9, 2 / 9, 0]
    )


def test_two_contracts_against_a_constrained_solver():
    """Sequential quadratic programming on the problem as stated: four constraints, nothing about virtual costs."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        costs = np.sort(rng.uniform(0.5, 3, 2))
        odds = rng.dirichlet([2, 2])
        menu = Menu(costs, odds, SquareRootValuation(2.0, epsilon_max=100.0))

        def loss(x, odds=odds):
            return -odds @ (2 * np.sqrt(np.maximum(x[:2], 1e-12)) - x[2:])

        def slack(x, costs=costs):
            own = x[2:] - costs * x[:2]
            return np.concatenate([own, own - (x[[3, 2]] - costs * x[[1, 0]])])

        found = minimize(
            loss,
            [0.5, 0.2, 1, 1],
            constraints={"type": "ineq", "fun": slack},
            bounds=[(1e-9, 99)] * 4,
            options={"maxiter": 500, "ftol": 1e-14},
        )
        assert slack(np.append(menu.epsilon, menu.payments)).min() >= -1e-12
        assert expected_gain(menu) >= -found.fun - 1e-9
        assert expected_gain(menu) == pytest.approx(-found.fun, rel=1e-6)


@pytest.mark.parametrize("valuation", VALUATIONS, ids=VALUATION_IDS)
def test_a_menu_is_best_among_all_mechanisms(valuation):
    """Against the linear program, all pairs of types constrained, odds that need ironing among them.

    The program's levels contain the menu's, so it can do as well; were the menu not optimal, it
    would do better.
    """
    rng = np.random.default_rng(11)
    ironed = 0
    for _ in range(12):
        costs = np.sort(rng.uniform(0.1, 4, 5))
        odds = rng.dirichlet(np.full(5, 0.7)) * 0.9 + 0.02
        menu = Menu(costs, odds, valuation)
        levels = np.unique(
            np.concatenate([[0.0], menu.epsilon, np.geomspace(1e-3, valuation.epsilon_max, 60)])
        )
        best = best_lottery(menu.costs, menu.type_odds, valuation, levels)
        assert expected_gain(menu) == pytest.approx(best, rel=1e-7, abs=1e-9)
        plain = costs + np.concatenate([[0], np.cumsum(menu.type_odds)[:-1]]) / menu.odds * np.diff(
            costs, prepend=costs[0]
        )
        ironed += bool(np.any(np.diff(plain) < 0))
    assert ironed >= 3


@pytest.mark.parametrize("valuation", VALUATIONS[:2], ids=VALUATION_IDS[:2])
@pytest.mark.parametrize("law", [Uniform(0.5, 2.0), Bimodal()], ids=["uniform", "bimodal"])
def test_virtual_cost_is_best_among_all_mechanisms(law, valuation):
    """Against the linear program over 60 equally likely types in place of the law: equal to the width of a type."""
    costs = law.quantile((np.arange(60) + 0.5) / 60)
    levels = np.append(0.0, np.geomspace(1e-3, valuation.epsilon_max, 90))
    best = best_lottery(costs, np.full(60, 1 / 60), valuation, levels, neighbours=True)
    assert gain_over(law, VirtualCost(law, valuation), valuation) == pytest.approx(best, rel=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("valuation", VALUATIONS, ids=VALUATION_IDS)
@pytest.mark.parametrize("law", LAW_CASES)
def test_menus_approach_virtual_cost_from_below(law, valuation):
    """A menu is one of the mechanisms that virtual cost is the best of, and with enough contracts nearly as good."""
    best = gain_over(law, VirtualCost(law, valuation), valuation)
    gains = [
        gain_over(law, Menu.from_law(law, types, valuation), valuation) for types in (2, 8, 300)
    ]
    assert gains[0] <= best * (1 + MESH) and gains[1] <= best * (1 + MESH)
    assert gains[2] == pytest.approx(best, rel=0.02) and gains[2] <= best * (1 + MESH)
    assert expected_gain(Menu.from_law(law, 300, valuation)) == pytest.approx(gains[2], rel=1e-3)
    assert Menu.from_law(law, 4, valuation, coverage=0.5).costs[-1] == pytest.approx(
        float(law.quantile(np.array(0.5)))
    )


def test_virtual_cost_in_closed_form():
    """Costs uniform on [a, b]: virtual cost 2c - a, so V = 2 sqrt(e) buys 1/(2c - a)^2, and the integral is
    int_c^b dz/(2z - a)^2 = (1/(2c - a) - 1/(2b - a))/2."""
    low = 1.0
    high = 4.0
    law = Uniform(low, high)
    nodes, ironed = virtual_cost(law)
    assert (
        np.allclose(ironed, 2 * nodes - low, rtol=1e-12) and nodes[0] == low and nodes[-1] == high
    )
    cost = np.linspace(low, high, 57)
    epsilon, payments = VirtualCost(law, SquareRootValuation(2.0)).settle(cost, np.zeros(57))
    exact = cost / (2 * cost - low) ** 2 + (1 / (2 * cost - low) - 1 / (2 * high - low)) / 2
    assert np.allclose(epsilon, 1 / (2 * cost - low) ** 2, rtol=1e-5)
    assert np.allclose(payments, exact, rtol=1e-5)


@pytest.mark.parametrize("law", LAW_CASES)
@pytest.mark.parametrize("valuation", VALUATIONS, ids=VALUATION_IDS)
def test_the_payment_is_cost_plus_the_integral(law, valuation):
    """t(c) = c e(c) + int_c^cmax e(z) dz of the very rule that is used, by quadrature over its mesh."""
    mechanism = VirtualCost(law, valuation)
    nodes = mechanism.contract_mesh[0]
    for cost in law.quantile(np.array([0.05, 0.3, 0.7, 0.95])):
        line = np.concatenate([[cost], nodes[nodes > cost]])
        middle = 0.5 * (
            line[1:] + line[:-1]
        )  # Simpson's rule is exact for a rule linear between nodes
        at = [mechanism.settle(x, np.zeros(len(x)))[0] for x in (line, middle)]
        area = (np.diff(line) * (at[0][:-1] + 4 * at[1] + at[0][1:]) / 6).sum()
        epsilon, payment = mechanism.settle(np.array([cost]), np.zeros(1))
        assert payment[0] == pytest.approx(cost * epsilon[0] + area, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("law", LAW_CASES)
def test_ironing_keeps_what_owners_cost_together(law):
    """The mean virtual cost is the largest cost, with or without ironing: int d(cF) = cmax. Second route: pooling
    adjacent violators among 2,000 equally likely types."""
    nodes, ironed = virtual_cost(law)
    assert np.all(np.diff(ironed) >= 0)
    assert average(law, lambda cost: np.interp(cost, nodes, ironed)) == pytest.approx(
        law.support[1], rel=0.01
    )
    costs = law.quantile(np.arange(1, 2001) / 2000)
    pooled = iron_virtual_costs(
        costs + np.arange(2000) * np.diff(costs, prepend=costs[0]), np.full(2000, 1 / 2000)
    )
    apart = np.abs(np.interp(costs, nodes, ironed) / pooled - 1)[100:1900]
    assert (
        np.mean(apart > 0.03) < 0.01 and apart.max() < 0.15
    )  # few types stand for the gap between two peaks


def test_a_law_with_two_peaks_is_ironed():
    law = Bimodal()
    nodes, ironed = virtual_cost(law)
    inside = (nodes > law.quantile(np.array(0.01))) & (nodes < law.quantile(np.array(0.99)))
    plain = nodes[inside] + law.cdf(nodes[inside]) / law.pdf(nodes[inside])
    assert np.any(np.diff(plain) < 0)
    assert np.isfinite(ironed[inside]).all()
    flat = np.diff(ironed[inside]) == 0
    assert flat.sum() > 50  # between the peaks all are bought at one virtual cost


def test_hulls_and_pools():
    """The hull's values are the largest convex function below the points: no point lies under it."""
    rng = np.random.default_rng(2)
    for _ in range(50):
        x = np.sort(rng.random(12))
        y = rng.random(12)
        hull = lower_hull(x, y)
        assert hull[0] == 0 and hull[-1] == 11
        assert np.all(y >= np.interp(x, x[hull], y[hull]) - 1e-12)
        assert np.all(np.diff(np.diff(y[hull]) / np.diff(x[hull])) > -1e-9)
    assert lower_hull(np.array([0.0, 1, 1, 2]), np.array([0.0, 0.5, 5, 2])).tolist() == [0, 1, 3]
    values = rng.random(9)
    odds = rng.dirichlet(np.ones(9))
    ironed = iron_virtual_costs(values, odds)
    assert np.all(np.diff(ironed) >= 0) and ironed @ odds == pytest.approx(values @ odds)
    # least squares with the same constraint has the same solution
    found = minimize(
        lambda z: odds @ (z - values) ** 2,
        np.sort(values),
        tol=1e-14,
        constraints={"type": "ineq", "fun": np.diff},
        options={"maxiter": 1000},
    )
    assert np.allclose(found.x, ironed, atol=1e-4)
