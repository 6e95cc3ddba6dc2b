"""What others sell beside an owner's own privacy cost, against the loss to all that is told, and closed forms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from markets import market, rng
from toys import LinearLaw

from learning.errors import InputError
from market.columns import column, finite_difference
from market.costs.base import Cost
from market.costs.functions import Linear, Quadratic
from market.equilibrium.solver import solve
from market.externalities import (
    Externalities,
    leak_valuations,
    leaked_information,
    spillover_game,
)
from market.game.game import Game
from market.policies.contributions import Marginal, Shapley
from market.policies.posted import Posted
from market.policies.proportional import Proportional

NOISE = 2.0
MATRIX = [[1.0, 0.5, -0.1], [0.5, 1.0, 0.2], [-0.1, 0.2, 1.0]]
PROFILE = np.array([0.0, 0.7, 3.0])


@dataclass(frozen=True)
class Told(Cost):
    """A valuation times the variance that a sale alone tells: e^2 / (e^2 + noise)."""

    price: object = 1.0

    def value(self, epsilon, sizes):
        return column(np.asarray(self.price), epsilon) * epsilon**2 / (epsilon**2 + NOISE)

    def marginal_cost(self, epsilon, sizes):
        return (
            column(np.asarray(self.price), epsilon)
            * 2
            * NOISE
            * epsilon
            / (epsilon**2 + NOISE) ** 2
        )


@pytest.mark.parametrize("correlation", [0.0, 0.6, MATRIX], ids=["none", "number", "matrix"])
def test_where_cost_is_what_a_sale_tells_all_that_is_told_is_lost(correlation):
    """Second route: Acemoglu's game, the loss of what all sales leak, from the inverse of the covariance."""
    worth = np.array([1.0, 2.0, 5.0])
    game = market(Told(worth), Posted(0.4), 3, high=4.0)
    spilled = spillover_game(game, Externalities(correlation, NOISE))
    assert leak_valuations(game.owners, Externalities(correlation, NOISE)) == pytest.approx(
        worth, rel=1e-12
    )
    covariance = np.asarray(correlation, dtype=float)
    if covariance.ndim == 0:
        covariance = np.where(np.eye(3, dtype=bool), 1.0, covariance)
    candidates = np.tile([0.0, 0.3, 2.0, 4.0], (3, 1))
    found = spilled.deviation_payoffs(PROFILE, candidates)
    for owner, at in np.ndindex(3, 4):
        moved = np.where(np.arange(3) == owner, candidates[owner, at], PROFILE)
        with np.errstate(divide="ignore"):
            lost = worth * leaked_information(covariance, NOISE / moved**2)
        assert found[owner, at] == pytest.approx(0.4 * moved[owner] - lost[owner], rel=1e-9)
    with np.errstate(divide="ignore"):
        lost = worth * leaked_information(covariance, NOISE / PROFILE**2)
    assert spilled.payoffs(PROFILE) == pytest.approx(0.4 * PROFILE - lost, rel=1e-9)
    own = game.costs(PROFILE) - spilled.policy.spared_costs(PROFILE)
    assert own + spilled.policy.leakage_losses(PROFILE) == pytest.approx(lost, rel=1e-9)
    assert worth * spilled.policy.told(PROFILE)[1] == pytest.approx(lost, rel=1e-9)


@pytest.mark.parametrize("cost", [Linear([1.0, 1.5, 2.0]), Quadratic([1.0, 1.5, 2.0])])
@pytest.mark.parametrize("correlation", [0.6, MATRIX], ids=["number", "matrix"])
def test_slopes_are_those_of_payments_and_loss_rises_with_what_is_sold(cost, correlation):
    game = spillover_game(
        market(cost, Proportional(6.0, "epsilon"), 3, high=5.0), Externalities(correlation)
    )
    deviations = game.deviations(PROFILE)
    candidates = np.tile(np.geomspace(0.05, 5, 9), (3, 1))
    slopes = finite_difference(lambda at: deviations.policy.payments(at, deviations), candidates)
    assert deviations.policy.marginal_payments(candidates, deviations) == pytest.approx(
        slopes, rel=1e-7, abs=1e-8
    )
    for owner in range(3):
        alone = game.deviations(PROFILE, [owner])
        rows = candidates[[owner]]
        assert alone.policy.marginal_payments(rows, alone) == pytest.approx(
            slopes[[owner]], rel=1e-7, abs=1e-8
        )
    free = spillover_game(market(cost, Posted(0.0), 3, high=5.0), Externalities(correlation))
    assert np.all(np.diff(free.deviation_payoffs(PROFILE, candidates), axis=1) < 0)


@pytest.mark.parametrize("share", [1.0, 0.4])
def test_share_is_counted_of_all_that_records_tell(share):
    """Second route: a cost known per unit of variance told; others who tell nearly all of it cost that, times the share."""
    per_unit = 3.0
    most = 1.5
    owners = market(Told(per_unit), Posted(0.4), 3, high=[most, 1e6, 1e6]).owners
    game = Game(owners, Posted(0.4), None, 0.0)
    spilled = spillover_game(
        game,
        Externalities([[1, 0.5**0.5, 0.5**0.5], [0.5**0.5, 1, 0], [0.5**0.5, 0, 1]], NOISE, share),
    )
    lost = spilled.policy.leakage_losses(np.array([0.0, 1e6, 1e6]))[0]
    assert lost == pytest.approx(
        share * per_unit, rel=1e-6
    )  # two of variance 1/2 each make up the first one's whole
    alone = game.costs(np.array([most, 0.0, 0.0]))[0]
    assert lost == pytest.approx(share * alone * (1 + NOISE / most**2), rel=1e-6)


@dataclass(frozen=True)
class Retainer(Posted):
    paid_unasked = True


@pytest.mark.parametrize("policy", [Marginal(0.5), Retainer(4.0)], ids=str)
def test_a_policy_pays_for_the_same_as_without_spillovers(policy):
    game = market(Linear(1.0), policy, 2, forecast=LinearLaw(1.0, 0.1, 0.02), value=9.0)
    spilled = spillover_game(game, Externalities(0.5)).policy
    for name in ("grain", "paid_unasked", "pays_for_fitness"):
        assert getattr(spilled, name) == getattr(policy, name)


def test_with_nothing_in_common_it_is_the_same_game():
    game = market(Quadratic([1.0, 1.5, 2.0]), Proportional(6.0, "epsilon"), 3, high=5.0)
    spilled = spillover_game(game, Externalities(0.0))
    assert np.array_equal(
        solve(spilled, rng=rng(), starts=1).epsilon, solve(game, rng=rng(), starts=1).epsilon
    )


def test_what_is_in_common_makes_owners_sell_more_for_less_cost():
    """Two at price 2 and cost e^2/2: e R(e) + e^2/2 R'(e) = 2, with q = 1 - r^2 t/(1 + t), solved at the equilibrium."""
    game = market(Quadratic(1.0), Posted(2.0), 2, high=5.0)
    found = solve(spillover_game(game, Externalities(0.5)), rng=rng(), starts=1)
    e = found.epsilon[0]
    step = 1e-6

    def cost(at):
        told = e**2 / NOISE
        left = 1 - 0.25 * told / (1 + told)
        own = at**2 / NOISE
        return at**2 / 2 * left**2 * (1 + own) / (1 + left * own)

    assert found.converged and found.epsilon[1] == pytest.approx(e, rel=1e-9) and e > 2
    assert (cost(e + step) - cost(e - step)) / (2 * step) == pytest.approx(2.0, rel=1e-8)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"correlation": 1.5},
            r"externalities.correlation: must lie in \[-1, 1\] for 2 owners; found 1.5",
        ),
        (
            {"correlation": 0.5, "share": 1.5},
            "externalities.share: must be a number from 0 to 1; found 1.5",
        ),
        ({"correlation": 0.5, "noise": 0.0}, "externalities.noise: must be a number above 0"),
        (
            {"correlation": [[1.0, 2.0], [2.0, 1.0]]},
            "externalities.correlation: must have no negative eigenvalue",
        ),
        (
            {"correlation": -0.9},
            r"externalities.correlation: must lie in \[-0.5, 1\] for 3 owners",
        ),
        ({"correlation": [[1.0]]}, "externalities.correlation: must be a number or 3 by 3 numbers"),
    ],
)
def test_what_owners_cannot_have_in_common(given, message):
    with pytest.raises(InputError, match=message):
        common = Externalities(**given)
        common.correlation_of(2 if common.correlation == [[1.0, 2.0], [2.0, 1.0]] else 3)
    with pytest.raises(
        InputError, match="externalities: cannot be used with a policy that computes all budgets"
    ):
        spillover_game(market(Linear(1.0), Shapley(), 3, forecast=None), Externalities(0.5))
