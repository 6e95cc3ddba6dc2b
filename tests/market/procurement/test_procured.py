"""A procurement mechanism as a policy: the contracts are the mechanism's, owners may refuse them, and lies are theirs."""

from __future__ import annotations

import numpy as np
import pytest
from buying import buy
from toys import LinearLaw

from learning.errors import InputError
from market.costs.functions import Linear, Quadratic
from market.equilibrium.solver import solve
from market.game.game import Game
from market.game.owners import Owners
from market.policies.posted import Contracts, Posted
from market.procurement.procured import Procured, plan_mechanism
from market.procurement.reports import equilibria_in_reports
from market.procurement.spending import MECHANISMS

COSTS = np.array([0.6, 1.0, 1.7, 1.1])


def owners(costs=COSTS, cost=Linear, high=10.0):
    return Owners(tuple("abcd"), 500.0, 0.0, high, cost(costs))


@pytest.mark.parametrize("name", MECHANISMS)
def test_owners_take_what_the_mechanism_settles(name):
    """Second route: the mechanism bought from directly, with the same chances. Nobody loses, so every contract is taken."""
    policy = Procured(name, 6.0, 0.5, 2.0)
    mechanism = plan_mechanism(policy, 4, 500.0)
    epsilon, payments = mechanism.settle(COSTS, policy.mechanism_chances(mechanism, 4))
    contracts = policy.prepared_for(owners())
    assert np.allclose(contracts.epsilon, np.minimum(epsilon, 10)) and np.allclose(
        contracts.amounts, payments
    )
    game = Game(owners(), contracts, LinearLaw(1.0, 0.1, 0.02), 10.0)
    found = solve(game, rng=np.random.default_rng(0), starts=1)
    gains = (
        payments > COSTS * epsilon + 1e-9
    )  # pay as bid leaves nothing: who is left with nothing may stay out
    assert found.converged and np.allclose(found.epsilon[gains], contracts.epsilon[gains])
    assert np.allclose(game.payments(found.epsilon)[gains], payments[gains])
    unsettled = Game(owners(), policy, LinearLaw(1.0, 0.1, 0.02), 10.0)
    assert np.allclose(unsettled.payments(found.epsilon), game.payments(found.epsilon))


def test_owners_who_lie_report_what_best_responses_lead_to():
    truth, lies = (
        Procured("proportional", 6.0, 0.5, 2.0, reports).prepared_for(owners())
        for reports in ("truth", "equilibrium")
    )
    mechanism = plan_mechanism(Procured("proportional", 6.0, 0.5, 2.0), 4, 500.0)
    reports = equilibria_in_reports(mechanism, COSTS, np.empty((1, 0))).reports[0]
    bought = buy(mechanism, reports, rng=np.random.default_rng(0))
    assert np.allclose(lies.epsilon, bought.epsilon) and not np.allclose(
        truth.epsilon, lies.epsilon
    )
    same = (
        Procured("fair_query", 6.0, 0.5, 2.0, reports).prepared_for(owners())
        for reports in ("truth", "equilibrium")
    )
    first, second = same
    assert np.array_equal(first.epsilon, second.epsilon) and np.array_equal(
        first.amounts, second.amounts
    )


def test_nobody_is_asked_for_more_than_it_may_sell():
    contracts = Procured("proportional", 600.0, 0.5, 2.0).prepared_for(owners(high=3.0))
    assert contracts.epsilon.max() == 3.0


def test_other_policies_stand_as_they_are():
    assert Posted(1.0).prepared_for(owners()) == Posted(1.0)


def test_a_contract_of_nothing_pays_nothing():
    game = Game(owners(), Contracts([0.0, 1.0, 1.0, 1.0], 5.0), None, 0.0)
    assert game.payments(np.array([2.0, 1.0, 0.9, 3.0])).tolist() == [0, 5, 0, 5]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Procured("all_inn", 1.0, 0.0, 1.0),
            "policy.mechanism: must name a mechanism; found 'all_inn'. Did you",
        ),
        (
            lambda: Procured("zzz", 1.0, 0.0, 1.0),
            "policy.mechanism: must name a mechanism; found 'zzz'. Known are",
        ),
        (
            lambda: Procured("posted", 1.0, 1.0, 1.0),
            "policy.highest: must be above policy.lowest, 1; found 1",
        ),
        (
            lambda: Procured("posted", 1.0, 0.0, 1.0).prepared_for(owners(cost=Quadratic)),
            "policy.kind: needs costs in proport",
        ),
    ],
)
def test_purchases_that_cannot_be(make, message):
    with pytest.raises(InputError) as error:
        make()
    assert str(error.value).startswith(message)
