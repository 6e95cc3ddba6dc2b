"""Quantal responses: blind at precision 0, rational at high precision, and at their equilibrium in between."""

from __future__ import annotations

import numpy as np
import pytest
import scipy
from markets import market
from rounds import CONTEST, THREE, rounds_of

from agents import DataMarket
from agents.behaviours.logit import Logit, with_best
from market.costs.functions import Linear
from market.equilibrium import solve
from market.equilibrium.quantal import draw_options, even_grid, logit_response
from market.policies.posted import Posted


@pytest.mark.parametrize(
    ("per", "activation"), [("money", "sequential"), ("stake", "simultaneous")]
)
def test_at_high_precision_it_is_rational(per, activation):
    """Its best response is among the budgets that it considers: the path of rational owners, to their equilibrium."""
    sharp = Logit(1e9, per)
    outcome = DataMarket(THREE, rng=1, behaviour=sharp, activation=activation, patience=5).run()
    nash = solve(THREE, rng=np.random.default_rng(0))
    assert (
        nash.converged
        and outcome.converged
        and np.allclose(outcome.epsilon, nash.epsilon, atol=1e-6)
    )


def test_at_precision_0_every_budget_is_as_likely():
    """3,000 owners at once, eleven budgets: chi-squared with ten degrees of freedom."""
    game = market(Linear(np.linspace(0.5, 2, 3000)), Posted(1.0), 3000, low=0.0, high=10.0)
    path, _ = rounds_of(game, Logit(0.0, options=11), 1)
    counts = np.bincount(np.rint(path[0]).astype(int), minlength=11)
    assert set(path[0]) == set(even_grid(game.owners, 11)[0]) and 0 in path[0]
    assert scipy.stats.chisquare(counts).pvalue > 1e-3
    sharper, _ = rounds_of(game, Logit(3.0, options=11), 1)
    assert (
        scipy.stats.chisquare(np.bincount(np.rint(sharper[0]).astype(int), minlength=11)).pvalue
        < 1e-9
    )


def contest_fixed_point(precision, options, high=6.0, prize=12.0, prices=(1.0, 2.0)):
    """Chances and payoffs of a contest of two, by nothing of the package: a root in the logarithms of odds."""
    grid = np.linspace(0, high, options)
    total = grid[:, None] + grid[None, :]
    share = np.divide(grid[:, None], total, out=np.zeros_like(total), where=total > 0)
    wins = [
        prize * share - price * grid[:, None] for price in prices
    ]  # own option, the other's option

    def responses(logs):
        one, two = (scipy.special.softmax(part) for part in np.split(logs, 2))
        return np.concatenate([precision * (wins[0] @ two), precision * (wins[1] @ one)])

    found = scipy.optimize.root(
        lambda logs: responses(logs) - logs, responses(np.zeros(2 * options)), tol=1e-13
    )
    assert found.success
    chances = np.stack([scipy.special.softmax(part) for part in np.split(found.x, 2)])
    return chances, np.stack([wins[0] @ chances[1], wins[1] @ chances[0]])


@pytest.fixture(scope="module")
def played():
    """Frequencies of each budget in 2,500 rounds of two owners at precision 2, the first 500 left out."""
    path, memory = rounds_of(CONTEST, Logit(2.0, "money", 13, "past"), 2500)
    grid = even_grid(CONTEST.owners, 13)
    return np.stack([(path[500:, [i]] == grid[i]).mean(axis=0) for i in range(2)]), memory[
        "payoffs"
    ]


def test_play_averages_to_the_quantal_response_equilibrium(played):
    """2,000 rounds: frequencies of thirteen budgets have a distance of about 0.02 from chances; twice the precision 0.12."""
    frequencies, payoffs = played
    chances, expected = contest_fixed_point(2.0, 13)
    assert np.abs(frequencies - chances).sum(axis=1).max() / 2 < 0.05
    np.testing.assert_allclose(payoffs, expected, rtol=0, atol=0.1)
    sharper, _ = contest_fixed_point(4.0, 13)
    assert (
        np.abs(frequencies - sharper).sum(axis=1).min() / 2 > 0.1
    )  # so a factor in the scale is seen


def test_in_units_of_what_is_at_stake_the_unit_of_money_does_not_matter():
    dear = market(Linear([100.0, 200.0]), CONTEST.policy.__class__(1200.0, "epsilon"), 2, high=6.0)
    one, hundred = (rounds_of(game, Logit(5.0), 20)[0] for game in (CONTEST, dear))
    np.testing.assert_allclose(one, hundred, rtol=1e-6)
    one, hundred = (rounds_of(game, Logit(5.0, "money"), 20)[0] for game in (CONTEST, dear))
    assert np.abs(one - hundred).max() > 0.5


def test_the_best_response_takes_the_place_of_the_budget_next_to_it():
    deviations = THREE.deviations(np.array([1.0, 0.0, 0.5]))
    grid = with_best(even_grid(THREE.owners, 7), deviations)
    best = deviations.best_responses()
    for row, place in zip(grid, best, strict=True):
        assert place in row and row[0] == 0 and row[-1] == 6 and (np.diff(row) > 0).all()
        assert (np.abs(row - np.arange(7.0)) > 1e-9).sum() == 1


def test_odds_grow_with_precision_for_each_unit_that_a_budget_is_better():
    payoffs = np.array([[0.0, 3.0, 4.0], [7.0, 7.0, 7.0]])
    for per, unit in (("money", 1.0), ("stake", 4.0)):
        chances = logit_response(payoffs, 2.0, per)
        assert np.log(chances[0, 2] / chances[0, 1]) == pytest.approx(2.0 * 1.0 / unit)
        assert chances[1] == pytest.approx(np.full(3, 1 / 3)) and np.allclose(
            chances.sum(axis=1), 1
        )


def test_what_has_no_chance_is_not_drawn():
    chances = np.array([[0.0, 1.0, 0.0]] * 2)
    assert draw_options(chances, np.array([0.0, 1 - 1e-16])).tolist() == [1, 1]
