"""A model that goes to all owners: the public good solved elsewhere, and the matching that makes each do what is best."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from markets import rng
from public_goods import Precision, closed_form

from market.analysis.optimum import social_optimum
from market.analysis.regulation import matching_shares
from market.analysis.welfare import welfare
from market.costs.functions import Quadratic
from market.equilibrium.solver import solve
from market.game.game import Game
from market.game.owners import Owners
from market.policies.contributions import Marginal
from market.policies.posted import Posted

PRICES = np.array([1.0, 2.0, 3.0, 0.5])
VALUATIONS = np.array([1.0, 2.0, 0.0, 3.0])


def given_to_all(valuations, value=0.0, **people):
    """Costs c x^2 and benefits of one estimate to all, whose variance is 1 where nobody contributes."""
    names = tuple("ABCD")
    owners = Owners(
        names,
        1.0,
        0.0,
        4.0,
        Quadratic(2 * PRICES),
        valuations,
        1.0,
        **{"model_for_all": True} | people,
    )
    return Game(owners, Posted(0.0), Precision(prior=1.0), value)


def test_it_is_the_public_good_of_the_closed_form():
    valuations = np.maximum(VALUATIONS, 0.1)
    game = given_to_all(valuations)
    total = valuations.sum()
    known = closed_form(PRICES, valuations, 1.0)
    known_best = closed_form(PRICES, np.full(4, total), 1.0)
    found = solve(game, rng=rng(), starts=2)
    assert found.converged and found.epsilon == pytest.approx(known, rel=1e-6)
    best = social_optimum(game, start=found.epsilon)
    assert best.epsilon == pytest.approx(known_best, rel=1e-5) and best.at_most < np.inf
    for made, at in ((best.welfare, known_best), (welfare(game, found.epsilon), known)):
        by_hand = total * (1 - 1 / (1 + at.sum())) - PRICES @ at**2
        assert made == pytest.approx(by_hand, rel=1e-9)


def test_who_contributes_nothing_enjoys_it_only_where_it_goes_to_all():
    for for_all, worth in ((True, 1 - 1 / 3.0), (False, 0.0)):
        game = given_to_all(VALUATIONS, model_for_all=for_all)
        assert game.benefits(np.array([2.0, 0.0, 0.0, 0.0])).tolist() == pytest.approx(
            [2 / 3, 2 * worth, 0, 3 * worth]
        )


def test_matching_makes_what_is_best_for_all_best_for_each():
    game = given_to_all(VALUATIONS, value=2.0)
    best = social_optimum(game)
    found = matching_shares(game, best.epsilon)
    assert found.certified and found.shares == pytest.approx((2 + 6 - VALUATIONS) / 2)
    settled = solve(replace(game, policy=Marginal(found.shares)), rng=rng(), starts=2)
    assert settled.epsilon == pytest.approx(
        best.epsilon, rel=1e-5
    ) and settled.payments == pytest.approx(found.payments)
    free = solve(game, rng=rng(), starts=1)
    assert welfare(game, free.epsilon) < 0.9 * best.welfare and np.all(free.epsilon < best.epsilon)
    assert (
        not matching_shares(game, 2 * free.epsilon).certified
        and matching_shares(given_to_all(VALUATIONS), best.epsilon) is None
    )
