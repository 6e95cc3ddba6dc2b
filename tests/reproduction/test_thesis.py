"""The functions behind the thesis's items: second routes, worst cases, closed forms."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest

from learning.randomness import Streams
from market.analysis.thesis_games import thesis_game
from market.costs.channels import channel_matrix, min_entropy_leakage
from market.costs.leakage import belief_bound
from market.equilibrium.solver import solve
from reproduction.drawing import render_svg
from reproduction.item import Setting
from reproduction.thesis import ITEMS
from reproduction.thesis.games import (
    HIGHEST,
    LOWEST,
    OTHERS,
    POINTS,
    SIZES,
    count_peaks,
    final_spread,
    gain_from_nothing,
    largest_second_derivative,
    scale_payment,
    symmetric_equilibrium,
    symmetric_slope,
)
from reproduction.thesis.harm import (
    BASE,
    COUNT,
    epsilon_for_cap,
    exceedance_probability,
    largest_belief,
    posterior_beliefs,
    study_error,
)
from reproduction.thesis.leakage import counting_leakage, prior_odds, sample_guesses

CHEAP = [item for item in ITEMS if item.key in ("TH-2.2", "TH-2.3", "TH-2.4", "TH-cost")]


def read_back(frame):
    return pd.read_csv(io.StringIO(frame.to_csv(index=False, float_format="%.10g")))


@pytest.mark.parametrize("item", CHEAP, ids=lambda item: item.key)
def test_a_cheap_item_is_whole(item):
    frame = read_back(item.compute(Setting(quick=True)))
    assert len(item.checks(frame)) >= 4 and not any(
        np.isnan(check.found) for check in item.checks(frame)
    )
    assert render_svg(item.draw, frame, "").startswith("<?xml")


@pytest.mark.slow
def test_a_game_is_whole():
    item = next(item for item in ITEMS if item.key == "TH-4.2")
    frame = read_back(item.compute(Setting(quick=True)))
    assert {check.what for check in item.checks(frame)} >= {
        "peaks of the payoff curve",
        "equilibria with ε above 0, equal sizes",
    }
    assert render_svg(item.draw, frame, "").count("budgets round by round") == 1


def test_the_root_by_hand_is_an_owners_best_answer_to_owners_like_it():
    for kind in ("leakage", "utility"):
        settled = symmetric_equilibrium(kind, 4)
        assert thesis_game(kind, 1e4).best_responses(np.full(4, settled))[0] == pytest.approx(
            settled, abs=1e-7
        )


@pytest.mark.parametrize("kind", ["leakage", "utility"])
def test_nobody_sells_where_nobody_else_does(kind):
    """Second route: payoffs of the game itself, where the others sell next to nothing."""
    game = thesis_game(kind, 1e4, n_owners=4, epsilon=(1e-12, HIGHEST))
    grid = np.linspace(0, HIGHEST, POINTS)[None, 1:]
    payoffs = game.deviation_payoffs(np.full(4, 1e-12), grid, np.array([0]))[0]
    assert payoffs.max() + 1 == pytest.approx(gain_from_nothing(kind), abs=1e-6)
    assert gain_from_nothing(kind) < 0


def test_from_next_to_nothing_only_the_game_for_leakage_rises():
    """So no floor above 0 is an equilibrium of that game, and small ones are of the other."""
    rises = {kind: symmetric_slope(kind, 4, 1e-4) for kind in ("leakage", "utility")}
    for kind, rise in rises.items():
        game = thesis_game(kind, 1e4, n_owners=4, epsilon=(5e-5, HIGHEST))
        near = game.deviation_payoffs(
            np.full(4, 1e-4), np.array([[0.99e-4, 1.01e-4]]), np.array([0])
        )[0]
        assert np.diff(near)[0] / 2e-6 == pytest.approx(rise, rel=1e-3)
    assert rises["utility"] < 0 < rises["leakage"]


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize(("kind", "many"), [("leakage", 1), ("utility", 2)])
def test_an_equilibrium_at_the_floor_moves_with_it(kind, many, sizes):
    """So of all budgets above 0 each game has one equilibrium."""
    found = []
    for floor in (LOWEST, LOWEST / 1000):
        game = thesis_game(kind, sizes, epsilon=(floor, HIGHEST))
        first = solve(game, rng=np.random.default_rng(1), starts=8)
        ends = [one.epsilon for one in (first, *first.others)]
        assert len(ends) == many
        (above,) = (one for one in ends if one.min() > floor)
        found.append(above)
    assert found[0] == pytest.approx(found[1], abs=1e-6)


def test_the_payoff_for_leakage_is_concave_and_that_for_utility_is_not():
    """Against second differences of the payoffs of a game with two owners."""
    assert (
        largest_second_derivative("leakage", "normalised")
        < 0
        < largest_second_derivative("utility", "normalised")
    )
    grid = np.linspace(LOWEST, HIGHEST, 5 * POINTS)
    for kind, weight in (("leakage", "printed"), ("utility", "normalised")):
        game = thesis_game(kind, 1.0, n_owners=2, epsilon=(LOWEST, HIGHEST), weight=weight)
        payoffs = [
            game.deviation_payoffs(np.array([1.0, one]), grid[None], np.array([0]))[0]
            for one in OTHERS
        ]
        assert (np.diff(payoffs, 2) / (grid[1] - grid[0]) ** 2).max() == pytest.approx(
            largest_second_derivative(kind, weight), rel=1e-3
        )


def test_only_the_inverse_of_the_weight_printed_brings_payments_to_the_range_of_costs():
    """Of e^ε up to e^5; as printed a payment is its own square over that of the largest cost."""
    top = np.array(HIGHEST)
    largest = 100 * np.log2(10 * np.exp(5) / (9 + np.exp(5)))
    assert scale_payment("leakage", "normalised", top) == pytest.approx(np.exp(5))
    assert scale_payment("leakage", "printed", top) == pytest.approx(largest**2 / np.exp(5))


def test_peaks_are_counted_at_ends_too():
    def curve(payoff):
        told = {"panel": "curve", "weight": "printed", "sizes": "equal"}
        return pd.DataFrame(
            [told | {"epsilon": at, "payoff": one} for at, one in enumerate(payoff)]
        )

    assert [
        count_peaks(curve(one), "printed", "equal")
        for one in ([0, 2, 1], [3, 2, 1], [3, 0, 3], [0, 2, 1, 3, 2])
    ] == [
        1,
        1,
        2,
        2,
    ]


def test_paths_of_unequal_length_are_compared_where_each_ends():
    rows = [
        (1, 0, "A", 1.0),
        (1, 0, "B", 4.0),
        (1, 1, "A", 2.0),
        (1, 1, "B", 2.5),
        (2, 0, "A", 3.0),
        (2, 0, "B", 3.9),
    ]
    frame = pd.DataFrame(rows, columns=["start", "round", "owner", "epsilon"])
    assert final_spread(
        frame.assign(panel="path", weight="normalised", sizes="equal"), "equal"
    ) == pytest.approx(0.9)


def test_a_count_leaks_what_all_databases_one_by_one_say():
    """Four records, odds 0.3: 16 databases as rows of the channel that answers their count."""
    databases = np.array(np.meshgrid(*[[0, 1]] * 4)).reshape(4, -1).T
    odds = np.prod(np.where(databases == 1, 0.3, 0.7), axis=1)
    matrix = channel_matrix("truncated_geometric", np.array(0.8), 5, sensitivity=1)[
        databases.sum(axis=1)
    ]
    assert counting_leakage(np.array(0.8), 4, 0.3) == pytest.approx(
        float(min_entropy_leakage(matrix, odds))
    )


def test_drawn_guesses_are_right_as_often_as_expected():
    odds = prior_odds("halving", 5)
    matrix = channel_matrix("randomised_response", np.array(1.0), 5)
    right, expected, error = sample_guesses(
        matrix, odds, 20_000, rng=Streams(1, "tests").rng("guesses")
    )
    assert abs(right - expected) < 4 * error and 0.001 < error < 0.004


def test_an_adversary_is_surest_of_the_world_that_stands_apart():
    for epsilon in (0.0, 0.7, 4.0):
        apart = largest_belief(np.array([0.0, 1.0, 1.0, 1.0]), epsilon)
        assert apart == pytest.approx(float(belief_bound(np.array(epsilon), 4)))
        spread = largest_belief(np.array([0.0, 0.3, 0.6, 1.0]), epsilon)
        assert (
            spread <= apart
            and posterior_beliefs(
                np.linspace(-3, 4, 500), np.array([0, 0.3, 0.6, 1.0]), epsilon
            ).max()
            <= spread + 1e-12
        )
    assert largest_belief(np.array([0.0, 1.0, 1.0, 1.0]), epsilon_for_cap(0.6, 4)) == pytest.approx(
        0.6
    )


def test_a_threshold_above_the_larger_count_is_passed_e_to_the_epsilon_as_often():
    epsilon = np.array([0.1, 1.0, 3.0])
    ratio = exceedance_probability(COUNT + 1, COUNT + 1, epsilon) / exceedance_probability(
        COUNT + 1, COUNT, epsilon
    )
    assert np.allclose(ratio, np.exp(epsilon)) and np.allclose(
        exceedance_probability(COUNT, COUNT, epsilon), 0.5
    )
    assert np.allclose(
        exceedance_probability(COUNT - 3, COUNT, epsilon)
        + exceedance_probability(COUNT + 3, COUNT, epsilon),
        1,
    )
    people = np.array([1e3, 1e9])
    assert study_error(people, 100.0)[1] == pytest.approx(np.sqrt(2) * BASE / 100, rel=1e-4)
