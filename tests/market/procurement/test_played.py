"""Reports that owners learn: known equilibria, what a certificate finds, and what chance and owners more do to them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import beta

from learning.errors import InputError
from market.procurement.auctions import PayAsBid, ProportionalShare
from market.procurement.cost_laws import Bimodal, Uniform
from market.procurement.mechanism import ProcurementMechanism, ProcurementProblem, report_ranks
from market.procurement.offers import PostedPrice
from market.procurement.played import Learning, learn_reports, play_reporting_game
from market.procurement.spending import MECHANISMS
from market.procurement.strategies import (
    ReportingGame,
    Strategy,
    certify_strategy,
    draw_levels,
    expected_gains,
    scaled_truth,
    smooth_strategy,
)
from market.procurement.valuation import MeanEstimate, PrecisionValuation

UNIT = Uniform(0.0, 1.0)
GRID = np.linspace(0.0, 1.0, 101)
NEAR = 0.03  # of the width of the law: how near learned reports come to closed forms


@dataclass(frozen=True)
class ThirdPrice(ProcurementMechanism):
    """The cheapest sells one unit, and is paid what the third cheapest reports."""

    title = "the cheapest sells at the third report"
    budget = np.inf

    def settle(self, reports, chances):
        ordered, place = report_ranks(reports)
        return np.where(place == 0, 1.0, 0.0), np.where(place == 0, ordered[..., 2:3], 0.0)


def pay_as_bid(n_owners, sellers=1, reserve=np.inf, law=UNIT):
    """The game of the cheapest who are paid what they report."""
    return ReportingGame(PayAsBid(sellers, 1.0, reserve), law, n_owners)


def known(n_owners, sellers=1, reserve=1.0):
    """The symmetric equilibrium of that game at GRID: the k-th cost of the others, or the reserve if that is less, given
    that it is above one's own; by the law of order statistics of uniform costs, a beta law,
    integrated numerically."""
    others = beta(sellers, n_owners - sellers)
    nodes = np.linspace(GRID[:-1], 1.0, 201)
    above = np.trapezoid(
        np.minimum(nodes, reserve) * others.pdf(np.clip(nodes, 1e-12, 1 - 1e-12)), nodes, axis=0
    )
    reports = np.append(above / np.maximum(others.sf(GRID[:-1]), 1e-12), 1.0)
    return Strategy(GRID, (reports - GRID)[:, None]), others.sf(GRID)


def farthest(strategy, right, wins, below=1.0):
    """The farthest that reports are from the right ones, where an owner sells with a chance of 5 % or more."""
    at = (wins >= 0.05) & (below > GRID)
    return np.abs(strategy.report(GRID) - right.report(GRID))[at].max()


def test_the_closed_form_is_the_text_books():
    """One seller of n owners: c + (1 - c) / n."""
    for n_owners in (2, 3, 5):
        assert np.allclose(known(n_owners)[0].report(GRID), GRID + (1 - GRID) / n_owners, atol=3e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    "n_owners, factor", [pytest.param(2, 1.0, marks=pytest.mark.deep), (3, 3.0), (5, 0.0)]
)
def test_pay_as_bid_is_learned_from_wherever_owners_start(n_owners, factor):
    """From the truth, from three times the costs, and from nothing."""
    game, (right, wins) = pay_as_bid(n_owners), known(n_owners)
    found = play_reporting_game(
        game,
        seed=0,
        learning=["small_steps"],
        start=scaled_truth(UNIT, 33, factor),
        rounds=60,
        searched=200_000,
    )
    assert farthest(found.strategy, right, wins) <= NEAR
    assert found.certificate.loss <= 4 * found.certificate.std_error + 0.005 < found.truth.loss


@pytest.mark.slow
def test_two_of_four_sell_at_what_they_report():
    game, (right, wins) = pay_as_bid(4, 2), known(4, 2)
    found = play_reporting_game(game, seed=0, learning=["small_steps"], rounds=60, searched=200_000)
    assert farthest(found.strategy, right, wins) <= NEAR
    assert found.certificate.loss <= 4 * found.certificate.std_error + 0.005


@pytest.mark.slow
def test_a_reserve_is_learned():
    game, (right, wins) = pay_as_bid(2, reserve=0.6), known(2, reserve=0.6)
    found = play_reporting_game(game, seed=0, learning=["small_steps"], rounds=60, searched=100_000)
    assert farthest(found.strategy, right, wins, below=0.55) <= NEAR


def test_one_owner_alone_asks_for_the_reserve():
    found = play_reporting_game(
        pay_as_bid(1, reserve=0.6),
        seed=0,
        learning=["best_response"],
        rounds=20,
        searched=1_000_000,
    )
    assert np.abs(found.strategy.report(np.linspace(0, 0.55, 12)) - 0.6).max() <= 0.02
    assert (
        0.6 - 1.25 / 199 <= found.truth.loss <= 0.6
    )  # at cost 0, where the truth brings nothing; reports lie so far apart


@pytest.mark.slow
def test_a_mechanism_of_ones_own_is_played():
    """Third price, four owners with costs from 1 to 2: report 2 - 1.5 (2 - c), less than the cost (Krishna, chapter 3).

    Who costs less than 1.1 sells at nearly any such report, and gains next to nothing by the last
    0.07 of it; who costs more than 1.6 seldom sells.
    """
    found = play_reporting_game(
        ReportingGame(ThirdPrice(), Uniform(1.0, 2.0), 4),
        seed=0,
        learning=["small_steps"],
        searched=1_000_000,
    )
    costs = np.linspace(1.1, 1.6, 11)
    assert np.abs(found.strategy.report(costs) - (2 - 1.5 * (2 - costs))).max() <= 0.05
    assert np.all(found.strategy.report(np.array([1.0, 1.05])) < 0.65)
    assert (
        found.truth.gains
        and found.certificate.loss <= 4 * found.certificate.std_error < found.truth.loss
    )


def test_a_certificate_finds_what_is_wrong_by_how_much():
    """Two owners: at the truth who costs c gains (1 - c)^2 / 4; where both report 1/2, who costs c gains (1/2 - c) / 2."""
    game = pay_as_bid(2)
    truth = certify_strategy(game, scaled_truth(UNIT, 2), seed=3, reports=1_000_000)
    assert (
        abs(truth.loss - 0.25) <= 4 * truth.std_error <= 0.1 and truth.bound >= 0.25 and truth.gains
    )
    tied = certify_strategy(
        game, Strategy(np.array([0.0, 1.0]), np.array([[0.5], [-0.5]])), seed=3, reports=1_000_000
    )
    assert abs(tied.loss - 0.25) <= 4 * tied.std_error and np.isclose(tied.report, 0.5)
    right = known(2)[0]
    wrong = scaled_truth(UNIT, 33, 1.2)
    assert certify_strategy(game, right, seed=3, reports=1_000_000).loss < 0.005
    assert certify_strategy(game, wrong, seed=3, reports=1_000_000).loss > 0.05


def test_standard_errors_are_those_of_gains_market_by_market():
    rng = np.random.default_rng(1)
    types = rng.random((3, 1))
    sold = rng.random((4, 50))
    paid = rng.random((4, 50))
    own = rng.random((3, 50))
    gains = paid - types[..., None] * sold - own[:, None, :]
    mean, spread = expected_gains(types, sold, paid, own)
    assert np.allclose(mean, gains.mean(axis=2)) and np.allclose(
        spread, gains.std(axis=2, ddof=1) / np.sqrt(50)
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, kind in MECHANISMS.items() if kind.truthful])
def test_truthful_mechanisms_bring_owners_to_the_truth(name):
    """From thrice the costs; best responses prefer the truth only where no report is better."""
    problem = ProcurementProblem(
        6.0, 5, Bimodal(), PrecisionValuation(1.0, records=100.0), MeanEstimate(100.0)
    )
    game = ReportingGame(MECHANISMS[name].for_budget(problem), problem.law, 5)
    found = play_reporting_game(
        game, seed=2, start=scaled_truth(problem.law, 33, 3.0), searched=100_000
    )
    assert (
        not found.strategy.markups.any()
        and found.certificate.loss <= 1e-9
        and not found.truth.gains
    )


@pytest.mark.parametrize("mechanism", [ProportionalShare(0.0), PostedPrice(0.0, 1.0, 1.0)])
def test_without_money_nobody_lies(mechanism):
    found = play_reporting_game(ReportingGame(mechanism, UNIT, 3), seed=0, searched=200_000)
    assert (
        not found.strategy.markups.any() and found.certificate.loss == found.certificate.bound == 0
    )


@pytest.mark.slow
def test_regret_matching_mixes_and_loses_less_than_the_truth():
    game = pay_as_bid(3)
    learning = Learning(game, seed=0, learning="regret_matching")
    strategy = learn_reports(learning, 60)
    assert strategy.markups.shape[1] > 1
    lost = [
        certify_strategy(game, one, seed=1, reports=1_000_000).loss
        for one in (strategy, scaled_truth(UNIT, 33))
    ]
    assert lost[0] < lost[1] / 2


def test_a_mixed_strategy_reports_each_of_its_columns():
    mixed = Strategy(np.array([0.0, 1.0]), np.array([[0.1, 0.3], [0.1, 0.3]]))
    assert np.allclose(mixed.report(np.full(2, 0.5), np.array([0.2, 0.7])), [0.6, 0.8])
    assert np.allclose(mixed.mean.report(np.array([0.5])), 0.7)


def test_smoothing_keeps_lines_and_ends_falls():
    line = scaled_truth(UNIT, 33, 1.5)
    assert np.allclose(smooth_strategy(line, 4).markups, line.markups)
    bumpy = Strategy(line.costs, line.markups + 0.1 * (np.arange(len(line.costs)) % 2)[:, None])
    assert np.all(np.diff(smooth_strategy(bumpy, 2).report(line.costs)) >= 0)


def test_the_same_seed_gives_the_same_reports_and_an_owner_more_the_same_costs():
    one, two, other = (
        learn_reports(Learning(pay_as_bid(3), seed=seed), 5).markups.tobytes() for seed in (1, 1, 2)
    )
    assert one == two != other
    few, many = (draw_levels(n, 7, rng=np.random.default_rng(5), spread=True) for n in (3, 5))
    assert np.array_equal(few, many[:, :, :3])
    levels = np.sort(few[0], axis=0)
    assert np.all((levels >= np.arange(7)[:, None] / 7) & (levels < np.arange(1, 8)[:, None] / 7))


def test_an_unknown_way_to_learn_is_refused():
    with pytest.raises(
        InputError, match="learning: must be one of best_response, small_steps, regret_matching"
    ):
        Learning(pay_as_bid(2), seed=0, learning="guess")
