"""The game of owners who combine the model with their own at home."""

from dataclasses import replace

import numpy as np
import pytest
from markets import market
from scipy.optimize import minimize_scalar
from toys import LinearLaw

from market.analysis.optimum import social_optimum
from market.analysis.regulation import matching_shares
from market.analysis.welfare import welfare
from market.costs.functions import Quadratic
from market.equilibrium.solver import solve
from market.policies.posted import Posted

LAW = LinearLaw(1.0, 0.1, 0.004)


def personal_market(**more):
    owners = dict(low=0.01, high=10.0, benefit=[40.0, 0.0, 90.0], isolated=[0.05, 0.3, 0.2])
    owners |= dict(shrinkage=0.75, apart=0.03)
    return market(
        Quadratic([0.5, 1.0, 3.0]), Posted(1.0), 3, forecast=LAW, value=300.0, **(owners | more)
    )


def test_benefits_are_those_of_the_combination():
    game = personal_market()
    at = np.array([0.5, 1.0, 2.0])
    psi = game.fitness(at)
    expected = [b * 0.75 * v**2 / (v + psi + 0.03) for b, v in [(40, 0.05), (0, 0.3), (90, 0.2)]]
    assert game.benefits(at) == pytest.approx(expected)
    assert psi > 0.05 and game.benefits(at)[0] > 0  # of a model that is worse than its own
    used_as_it_is = personal_market(shrinkage=0.0)
    assert used_as_it_is.benefits(at)[0] == 0


def test_slopes_are_those_of_finite_differences():
    moves = personal_market().deviations(np.array([0.5, 1.0, 2.0]))
    at = np.array([[0.3, 1.7], [0.9, 3.0], [0.2, 5.0]])
    step = 1e-6 * at
    found = (moves.promises(at + step) - moves.promises(at - step)) / (2 * step)
    assert moves.marginal_surplus(at) == pytest.approx(found, rel=1e-5)


def test_best_responses_and_the_optimum_are_those_of_a_dense_search():
    game = personal_market()
    profile = np.array([0.5, 1.0, 2.0])
    found = game.best_responses(profile)
    for number in (0, 2):
        grid = np.geomspace(0.01, 10, 4001)[None].repeat(3, axis=0)
        heights = game.deviation_payoffs(profile, grid)[number]
        assert found[number] == pytest.approx(grid[0, heights.argmax()], rel=5e-3)
    best = social_optimum(game)
    for number in range(3):

        def lost(own, number=number):
            return -welfare(game, np.where(np.arange(3) == number, own, best.epsilon))

        other = minimize_scalar(lost, bounds=(0.01, 10.0), method="bounded")
        assert -other.fun <= best.welfare * (1 + 1e-6)
    assert best.welfare <= best.at_most * (1 + 1e-6)
    assert solve(game, rng=np.random.default_rng(0), starts=2).converged


def test_matching_pays_for_what_others_gain_at_the_margin():
    game = personal_market(model_for_all=True)
    best = social_optimum(game).epsilon
    shares = matching_shares(game, best).shares
    psi = game.fitness(best)
    step = 1e-6

    def gains(fitness):
        return np.array([40.0, 0.0, 90.0]) * game.owners.model_gains(
            game.owners.isolated, np.full(3, fitness)
        )

    margin = (gains(psi - step) - gains(psi + step)) / (2 * step)
    expected = (300 + margin.sum() - margin) / 300
    assert shares == pytest.approx(expected, rel=1e-5)


def test_an_owner_without_an_error_of_its_own_gains_nothing():
    game = personal_market(isolated=0.0, apart=0.0)
    owners = replace(game.owners)
    assert owners.model_gains(np.zeros(2), np.zeros(2)).tolist() == [0.0, 0.0]
    assert owners.model_gain_slopes(np.zeros(2), np.zeros(2)).tolist() == [0.0, 0.0]
