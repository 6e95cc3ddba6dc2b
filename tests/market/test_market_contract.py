"""What every cost and every policy must do, and what owners may be made of.

Each entry of COSTS and POLICIES is tested by being in the dict; a new one needs only an example
here.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from markets import PRICES, SIZES, N, owners
from toys import Envelope, LinearLaw

from learning.errors import InputError
from market.columns import column, finite_difference
from market.costs import COSTS
from market.costs.base import Cost
from market.costs.channels import CHANNELS
from market.costs.functions import (
    Belief,
    ChannelCost,
    DifferentialEntropy,
    ExpectedHarm,
    Exponential,
    Leakage,
    Linear,
    Quadratic,
)
from market.costs.leakage import leakage_bits, leakage_slope
from market.game.game import Game
from market.game.owners import Owners
from market.policies import POLICIES
from market.policies.base import Policy, ProfilePolicy
from market.policies.brought import Contribution
from market.policies.contributions import Marginal, Shapley
from market.policies.posted import Contracts, CostPlus, Posted, Tiers
from market.policies.proportional import Proportional
from market.policies.thesis import PostedChannel, ThesisGain, ThesisLeakage, ThesisUtility
from market.policies.thesis_loss import ThesisLoss
from scenarios.report.wording import Pen

PROFILE = np.array([0.3, 1.0, 2.5, 8.0])
COST_EXAMPLES = {
    "leakage": [Leakage(PRICES), Leakage(2.0, values=[2, 10, 100, 1000])],
    "linear": [Linear(PRICES)],
    "quadratic": [Quadratic(PRICES)],
    "expected_harm": [ExpectedHarm(PRICES)],
    "belief": [Belief(PRICES), Belief(2.0, worlds=[2, 10, 100, 1000], ratio=0.7)],
    "exponential": [Exponential(PRICES)],
    "channel": [
        *(ChannelCost(PRICES, channel, values=5) for channel in CHANNELS),
        ChannelCost(PRICES, "geometric", 3, "guess", sensitivity=4.0, prior=(0.5, 0.2, 0.3)),
        ChannelCost(PRICES, values=4, prior=(0.1, 0.1, 0.7, 0.1)),
        ChannelCost(PRICES, values=4, order=1),
        ChannelCost(PRICES, values=4, order=3.0, prior=(0.1, 0.1, 0.7, 0.1)),
    ],
    "differential_entropy": [DifferentialEntropy(PRICES)],
}
LIMITED = [Posted(3.0, until=1.7), Posted(PRICES, "bit", limit=np.array([0.2, 1.1, np.inf, 6.0]))]
POLICY_EXAMPLES = {
    "posted": [
        Posted(3.0),
        Posted(PRICES, "record_epsilon"),
        Posted(0.2, "bit", values=4),
        *LIMITED,
    ],
    "proportional": [
        Proportional(50.0, basis) for basis in ("records_epsilon", "records_epsilon2", "epsilon")
    ],
    "marginal": [Marginal(), Marginal(0.4, "floor"), Marginal(PRICES / 4)],
    "shapley": [Shapley(), Shapley(PRICES / 4)],
    "contribution": [Contribution(50.0)],
    "posted_channel": [
        PostedChannel(PRICES / 100),
        PostedChannel(
            0.1, "ring_geometric", 5, "guess", sensitivity=1.0, prior=(0.4, 0.1, 0.2, 0.1, 0.2)
        ),
    ],
    "tiers": [Tiers([0.5, 2.0, 9.0], [1.0, 2.5, 2.5]), Tiers([0.2], [0.01], "record")],
    "contracts": [Contracts(PRICES / 2, PRICES), Contracts([0.0, 1.0, 2.0, 3.0], 2.0)],
    "cost_plus": [CostPlus(0.1), CostPlus(PRICES)],
    "thesis_leakage": [
        ThesisLeakage(),
        ThesisLeakage(PRICES, 3.0, values=[2, 3, 5, 8], exponent=0.5, weight="printed"),
    ],
    "thesis_utility": [
        ThesisUtility(),
        ThesisUtility(PRICES, 3, 1.5, exponent=0.0, weight="printed"),
    ],
    "thesis_gain": [
        ThesisGain(),
        ThesisGain(
            PRICES, "ring_geometric", 3, ((1.0, 0.2), (0.0, 0.9), (0.4, 0.4)), prior=(0.5, 0.3, 0.2)
        ),
    ],
    "thesis_loss": [ThesisLoss(), ThesisLoss(PRICES, "lost", 3.0, [2, 3, 5, 8], 0.5)],
}
FORECASTS = [LinearLaw(1.0, 0.1, 0.02), Envelope(1.0, (0.5, 0.2, 0.05), (1e-3, 0.01, 0.1))]
COST_CASES = [pytest.param(c, id=f"{k}{i}") for k in COSTS for i, c in enumerate(COST_EXAMPLES[k])]
POLICY_CASES = [
    pytest.param(p, id=f"{k}{i}") for k in POLICIES for i, p in enumerate(POLICY_EXAMPLES[k])
]


def reordered(record, order):
    """A frozen record with its columns in another order, written out independently of `market.columns`."""
    columns = {
        k: v[order] for k, v in vars(record).items() if isinstance(v, np.ndarray) and v.ndim == 1
    }
    return replace(record, **columns)


def scaled(record, unit, names):
    prices = {name: getattr(record, name) for name in names if hasattr(record, name)}
    return replace(
        record,
        **{
            k: tuple(unit * x for x in v) if type(v) is tuple else unit * v
            for k, v in prices.items()
        },
    )


@pytest.mark.parametrize("cost", COST_CASES)
def test_a_cost_starts_at_nothing_and_grows(cost):
    grid = np.tile(np.concatenate([[0.0], np.geomspace(1e-9, 50, 200)]), (N, 1))
    value = cost.value(grid, SIZES)
    assert value.shape == grid.shape
    assert np.all(value[:, 0] == 0)
    assert np.all(np.diff(value, axis=1) >= 0) and np.all(value[:, -1] > 0)
    assert np.allclose(
        cost.value(grid[:, 7], SIZES), value[:, 7], rtol=1e-15
    )  # a profile is one column


@pytest.mark.parametrize("cost", COST_CASES)
def test_a_cost_slope_is_its_derivative(cost):
    grid = np.tile(np.geomspace(1e-3, 8, 30), (N, 1))
    step = 1e-5 * grid
    slope = (cost.value(grid + step, SIZES) - cost.value(grid - step, SIZES)) / (2 * step)
    assert np.allclose(cost.marginal_cost(grid, SIZES), slope, rtol=1e-6, atol=1e-9 * slope.max())


@pytest.mark.parametrize("cost", COST_CASES)
def test_a_cost_has_one_price_per_owner_and_a_unit_of_money(cost):
    order = np.array([2, 0, 3, 1])
    value = cost.value(PROFILE, SIZES)
    assert np.array_equal(reordered(cost, order).value(PROFILE[order], SIZES[order]), value[order])
    assert np.allclose(
        scaled(cost, 100.0, ["price"]).value(PROFILE, SIZES), 100 * value, rtol=1e-14
    )
    with pytest.raises(
        InputError,
        match="owners.cost.price: must be a number of at least 0, or a list .*; found -1.0 for owner 1",
    ):
        type(cost)(price=[-1.0, 1, 1, 1])


def test_leakage_bits_at_the_ends():
    """0 bits at epsilon 0, log2 v without noise; the naive formula in between, where it does not overflow."""
    assert leakage_bits(0.0, 10) == 0
    assert leakage_bits(np.inf, 10) == pytest.approx(np.log2(10), rel=1e-15)
    assert leakage_bits(1e-12, 10) == pytest.approx(
        1e-12 * 0.9 / np.log(2), rel=1e-11
    )  # slope (v-1)/v/ln 2
    epsilon = np.linspace(0.01, 20, 50)
    assert np.allclose(
        leakage_bits(epsilon, 7), np.log2(7 * np.exp(epsilon) / (6 + np.exp(epsilon))), rtol=1e-12
    )
    assert leakage_slope(np.inf, 10) == 0 and leakage_slope(800.0, 10) == pytest.approx(
        0, abs=1e-300
    )
    assert Leakage(2.0).value(np.array([np.inf]), np.array([50.0]))[0] == pytest.approx(
        100 * np.log2(10)
    )


@pytest.mark.parametrize("forecast", FORECASTS, ids=["line", "envelope"])
@pytest.mark.parametrize("policy", POLICY_CASES)
def test_a_move_to_where_an_owner_stands_changes_nothing(policy, forecast):
    game = Game(owners(), policy, forecast, 20.0)
    for profile in (
        PROFILE,
        np.array([0.0, 1.0, 0.0, 2.0]),
        np.zeros(N),
        np.array([0.0, 3.0, 0, 0]),
    ):
        deviations = game.deviations(profile)
        assert np.allclose(
            deviations.payments(profile[:, None])[:, 0], game.payments(profile), rtol=1e-14
        )
        assert np.allclose(
            game.deviation_payoffs(profile, profile[:, None])[:, 0],
            game.payoffs(profile),
            rtol=1e-14,
        )


@pytest.mark.parametrize("forecast", FORECASTS, ids=["line", "envelope"])
@pytest.mark.parametrize("policy", POLICY_CASES)
def test_a_move_pays_what_the_changed_profile_pays(policy, forecast):
    """Second route: change the profile, and compute everybody's payoff afresh."""
    game = Game(owners(), policy, forecast, 20.0)
    candidates = np.tile([0.0, 0.05, 0.7, 9.0], (N, 1))
    fast = game.deviation_payoffs(PROFILE, candidates)
    for owner in range(N):
        for at, candidate in enumerate(candidates[owner]):
            changed = PROFILE.copy()
            changed[owner] = candidate
            assert fast[owner, at] == pytest.approx(game.payoffs(changed)[owner], rel=1e-12)
    assert np.allclose(
        game.deviation_payoffs(PROFILE, candidates[[2, 0]], owners=[2, 0]), fast[[2, 0]], rtol=1e-14
    )


@pytest.mark.parametrize("forecast", FORECASTS, ids=["line", "envelope"])
@pytest.mark.parametrize("policy", POLICY_CASES)
def test_payoff_slopes_are_derivatives(policy, forecast):
    game = Game(owners(), policy, forecast, 20.0)
    deviations = game.deviations(PROFILE)
    at = np.tile(np.geomspace(0.11, 7.3, 12), (N, 1))
    step = 1e-6 * at
    slope = (deviations.payoffs(at + step) - deviations.payoffs(at - step)) / (2 * step)
    assert np.allclose(
        deviations.marginal_surplus(at), slope, rtol=1e-5, atol=1e-6 * np.abs(slope).max()
    )
    some = game.deviations(PROFILE, [3, 1])
    assert np.allclose(
        some.marginal_surplus(at[[3, 1]]), deviations.marginal_surplus(at)[[3, 1]], rtol=1e-12
    )


@pytest.mark.parametrize("policy", POLICY_CASES)
def test_the_order_of_owners_does_not_matter(policy):
    order = np.array([2, 0, 3, 1])
    people = owners(benefit=[0.0, 1.0, 2.0, 3.0], isolated=[0.9, 0.6, 0.7, 0.3])
    game = Game(people, policy, FORECASTS[1], 20.0)
    other = Game(people.take(order), reordered(policy, order), FORECASTS[1], 20.0)
    assert np.allclose(other.payoffs(PROFILE[order]), game.payoffs(PROFILE)[order], rtol=1e-13)
    assert np.allclose(
        other.best_responses(PROFILE[order]), game.best_responses(PROFILE)[order], rtol=1e-9
    )


@pytest.mark.parametrize("policy", POLICY_CASES)
def test_the_unit_of_money_does_not_matter(policy):
    unit = 250.0
    game = Game(owners(), policy, FORECASTS[1], 20.0)
    people = owners(Leakage(PRICES / 1000 * unit), benefit=3.0 * unit)
    other = Game(
        people, scaled(policy, unit, ["price", "budget", "amounts"]), FORECASTS[1], 20.0 * unit
    )
    hint = "scaled() has the keys of a policy that are money: one of this policy's may be missing"
    assert np.allclose(other.payoffs(PROFILE), unit * game.payoffs(PROFILE), rtol=1e-12), hint
    assert np.allclose(other.best_responses(PROFILE), game.best_responses(PROFILE), rtol=1e-9)


def test_payments_without_noise():
    """epsilon = inf: bits and marginal payments are finite, a budget is shared by the limit of equal epsilon."""
    none = np.array([np.inf, 1.0, np.inf, 2.0])
    people = owners()

    def paid(policy):
        return Game(people, policy, FORECASTS[0], 20.0).payments(none)

    assert np.allclose(paid(Proportional(90.0, "epsilon")), [45, 0, 45, 0])
    assert np.allclose(paid(Proportional(90.0, "records_epsilon")), [30, 0, 60, 0])
    assert paid(Posted(2.0, "bit", values=8))[0] == pytest.approx(2 * 500 * 3)
    assert paid(Posted(2.0))[0] == np.inf and np.isfinite(paid(Marginal())).all()
    payoffs = Game(people, Proportional(90.0), FORECASTS[0], 20.0).payoffs(none)
    assert np.isfinite(payoffs).all()
    assert payoffs[0] == pytest.approx(
        30 + 3 * (0.6 - 0.1 - 0.02 * 1.25) - 0.0005 * 500 * np.log2(10)
    )


def test_what_a_policy_pays_in_the_end():
    game = Game(owners(), Proportional(90.0), FORECASTS[0], 20.0)
    assert game.payments(PROFILE).sum() == pytest.approx(90, rel=1e-14)
    assert np.array_equal(game.payments(np.zeros(N)), np.zeros(N))
    floor = Game(owners(epsilon_min=PROFILE), Marginal(0.5, "floor"), FORECASTS[0], 20.0)
    assert np.array_equal(floor.payments(PROFILE), np.zeros(N))
    # absent: 1/epsilon^2 falls out of the sum, so under this law the learner would be better off by
    # gain/epsilon^2
    absent = Game(owners(epsilon_min=0.2), Marginal(0.5), FORECASTS[0], 20.0)
    assert np.allclose(absent.payments(PROFILE), -0.5 * 20 * 0.02 / PROFILE**2, rtol=1e-10)


def test_who_shares_nothing_has_no_benefit():
    game = Game(owners(), Posted(0.0), FORECASTS[0], 20.0)
    psi = 0.1 + 0.02 / 4
    assert game.fitness(np.array([0.0, 0, 0, 2])) == pytest.approx(psi)
    assert np.allclose(game.benefits(np.array([0.0, 0, 0, 2])), [0, 0, 0, 3 * (0.6 - psi)])
    assert (
        game.benefits(np.array([0.0, 0, 0, 0.05]))[3] == 0
    )  # a model worse than its own is not a loss
    assert game.fitness(np.zeros(N)) == 1.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"names": ()}, "owners: a market needs at least one owner; found none."),
        ({"sizes": 0}, "owners.sizes: must be a number above 0, .*; found 0."),
        ({"sizes": [1, 2]}, "owners.sizes: needs one number per owner, 3 in all; found 2."),
        ({"sizes": "many"}, 'owners.sizes: must be a number above 0, .*; found "many".'),
        ({"epsilon_min": -1}, "owners.epsilon_min: must be a number of at least 0, .*; found -1."),
        (
            {"epsilon_min": np.nan},
            "owners.epsilon_min: must be a number of at least 0, .*; found nan.",
        ),
        (
            {"epsilon_min": [0, 9, 0]},
            "owners.epsilon: .* a smaller to a larger number; found \\[9, 5\\] for B.",
        ),
        (
            {"epsilon_max": np.inf},
            "owners.epsilon_max: must be finite, since best responses are searched on an interval; found inf.",
        ),
        ({"benefit": -2}, "owners.benefit: must be a number of at least 0, .*; found -2."),
        (
            {"cost": Linear([1, 2])},
            "owners.cost.price: needs one number per owner, 3 in all; found 2.",
        ),
    ],
)
def test_owners_that_cannot_be(changes, message):
    given = {
        "names": tuple("ABC"),
        "sizes": 1,
        "epsilon_min": 0,
        "epsilon_max": 5,
        "cost": Linear(1),
    } | changes
    with pytest.raises(InputError, match=f"^{message}") as caught:
        Owners(**given)
    assert "\n" not in str(caught.value)


def test_policies_and_games_that_cannot_be():
    with pytest.raises(
        InputError, match='policy.basis: must be "records_epsilon", .*; found "size"'
    ):
        Proportional(1.0, "size")
    with pytest.raises(
        InputError, match='policy.per: must be "epsilon", "record_epsilon" or "bit"; found "year"'
    ):
        Posted(1.0, "year")
    with pytest.raises(
        InputError, match='policy.reference: must be "absent" or "floor"; found "average"'
    ):
        Marginal(1.0, "average")
    with pytest.raises(
        InputError, match="policy.budget: must be a number of at least 0; found -1.0"
    ):
        Proportional(-1.0)
    with pytest.raises(
        InputError,
        match="owners.cost.values: must be a whole number of at least 2, or a list .*; found 1",
    ):
        Leakage(1.0, values=1)
    with pytest.raises(
        InputError, match="policy.price: needs one number per owner, 4 in all; found 2"
    ):
        Game(owners(), Posted([1.0, 2.0]), None, 0.0)
    with pytest.raises(ValueError, match="epsilon must have shape"):
        Game(owners(), Posted(1.0), None, 0.0).payments(np.ones(3))
    with pytest.raises(ValueError, match="value must be finite"):
        Game(owners(), Posted(1.0), None, np.nan)


def test_the_stencil_is_a_derivative():
    x = np.geomspace(1e-6, 1e3, 40)
    assert np.allclose(finite_difference(lambda e: 1 / e**2, x), -2 / x**3, rtol=1e-10)


def test_columns_are_read_only():
    people = owners()
    with pytest.raises(ValueError, match="read-only"):
        people.sizes[0] = 1.0


class Halved(Cost):
    """A cost of one method."""

    def value(self, epsilon, sizes):
        return column(PRICES, epsilon) * np.sqrt(epsilon)


class Roots(ProfilePolicy):
    """A policy of one method, on whole profiles."""

    def settle(self, epsilon, game):
        return 2 * np.sqrt(epsilon)


class Root(Policy):
    """A policy of one method."""

    def payments(self, epsilon, deviations):
        return 2 * np.sqrt(epsilon)


def test_what_a_cost_need_not_say():
    """Its slope is differenced, nothing of it is tax, and the report has no sentence of its own for it."""
    grid = np.tile(np.geomspace(1e-3, 8, 30), (N, 1))
    cost = Halved()
    assert np.allclose(
        cost.marginal_cost(grid, SIZES), PRICES[:, None] / (2 * np.sqrt(grid)), rtol=1e-10
    )
    assert np.array_equal(cost.tax(grid, SIZES), np.zeros_like(grid)) and cost.untaxed is cost
    assert cost.sentence(Pen("")) == "" and cost.values == 10


@pytest.mark.parametrize("policy", [Root(), Roots()], ids=["additive", "whole profiles"])
def test_what_a_policy_need_not_say(policy):
    game = Game(owners(Linear(1.0), benefit=0.0), policy, None, 0.0)
    deviations = game.deviations(PROFILE)
    at = np.tile(np.geomspace(0.1, 0.9, 5), (N, 1))
    assert np.allclose(deviations.marginal_surplus(at), 1 / np.sqrt(at) - 1, rtol=1e-9)
    assert policy.payment_jumps(game.owners).size == 0 and game.terms(PROFILE).shape == (N, 0)
    assert (
        policy.standard_error(PROFILE, game) is None
        and policy.policy_remarks(game) == []
        and policy.sentence(Pen("")) == ""
    )
    assert np.allclose(game.best_responses(PROFILE), 1, atol=1e-6)  # of 2 sqrt(e) - e


@pytest.mark.parametrize("entry", [*COST_CASES, *POLICY_CASES])
def test_every_entry_has_a_sentence(entry):
    told = entry.sentence(Pen(""))
    assert told.endswith(".") and "array" not in told and told.count(".") >= 1


class Scalar(Policy):
    def payments(self, epsilon, deviations):
        return 3.0


class Flat(Policy):
    def payments(self, epsilon, deviations):
        return epsilon[:, 0]


class NoAxis(Root):
    def terms(self, epsilon, owners):
        return epsilon


class Short(ProfilePolicy):
    def settle(self, epsilon, game):
        return epsilon[:1]


class Matrix(Cost):
    def value(self, epsilon, sizes):
        return np.zeros((2, 2))


@pytest.mark.parametrize(
    ("cost", "policy", "fault"),
    [
        (
            Linear(1.0),
            Scalar(),
            "Scalar.payments: must give an array of shape \\(1, 3\\); found the single value 3.0.",
        ),
        (
            Linear(1.0),
            Flat(),
            "Flat.payments: must give an array of shape \\(1, 3\\); found one of shape \\(1,\\).",
        ),
        (
            Linear(1.0),
            NoAxis(),
            "NoAxis.terms: must give an array of shape \\(4, any\\); found one of shape \\(4,\\).",
        ),
        (
            Linear(1.0),
            Short(),
            "Short.settle: must give an array of shape \\(4\\); found one of shape \\(1,\\).",
        ),
        (
            Matrix(),
            Root(),
            "Matrix.value: must give an array of shape \\(4\\); found one of shape \\(2, 2\\).",
        ),
    ],
)
def test_arrays_of_another_shape_are_told_in_one_line(cost, policy, fault):
    game = Game(owners(cost), policy, None, 0.0)
    for look in (game.payments, game.best_responses, game.regret):  # each time it is looked at
        with pytest.raises(InputError, match=f"^{fault}$"):
            look(PROFILE)


def test_what_lacks_a_method_is_told_in_one_line():
    class Nothing:
        outside = 0.0

    with pytest.raises(
        InputError,
        match="Nothing: lacks value, marginal_cost, tax, untaxed. Make it a subclass of market.costs.C",
    ):
        owners(Nothing())
    with pytest.raises(
        InputError,
        match="Nothing: lacks additive, terms, .*, grain, paid_unasked. Make it a subclass of market.policies",
    ):
        Game(owners(), Nothing(), None, 0.0)
    with pytest.raises(
        InputError, match="Nothing: lacks terms, excess. A forecast needs them all."
    ):
        Game(owners(), Posted(1.0), Nothing(), 0.0)
    with pytest.raises(TypeError, match="Can't instantiate abstract class Bare .* payments"):
        type("Bare", (Policy,), {})()
