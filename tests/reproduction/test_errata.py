"""Parts of the errata's demonstrations by second routes; golden tables hold their results."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from learning.privacy.guarantees import measure_pure
from learning.privacy.laplace import Laplace
from learning.training.descent import Averaged
from learning.training.law import error_moments, iterate_weights
from reproduction.checks import attack_epsilon, close_to, equal_to, pick_number
from reproduction.errata import ITEMS, gossip, noise, thesis, walks, weighted
from reproduction.item import NotPossible, Setting
from reproduction.tables import load_table
from reproduction.tables.records import Records

NAMES = [item.key for item in ITEMS]


def two_owners() -> list[Records]:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(60, 2)) * [1.0, 0.6]
    return [(x[:20], x[:20] @ [1.0, 2.0]), (x[20:], x[20:] @ [0.5, -1.0] + 1)]


def test_every_erratum_of_the_list_has_one_demonstration_in_order():
    assert [f"E-{number}" for number in range(1, len(NAMES) + 1)] == NAMES and len(NAMES) >= 15


@pytest.mark.parametrize("key", ["E-3", "E-8", "E-11", "E-18", "E-19", "E-24", "E-27"])
def test_cheap_demonstrations_are_whole_and_draw_nothing_from_elsewhere(key):
    item = ITEMS[NAMES.index(key)]
    once, again = (item.compute(Setting(quick=True)) for _ in range(2))
    pd.testing.assert_frame_equal(once, again)
    assert item.checks(once) and item.draw is not None and item.draw(once, "note")


def test_an_attack_on_one_answer_shows_nearly_all_of_what_it_loses_and_never_more():
    def answers(half, world):
        return Laplace().draw(1.0, (4000,), rng=np.random.default_rng([world, len(half)])) + 2.0 * (
            world == 0
        )

    assert 1.6 < attack_epsilon(answers, measure_pure) < 2.0


def test_a_row_is_looked_up_by_texts_and_by_numbers_read_back_from_a_file():
    frame = pd.DataFrame(
        {"rule": ["a", "a", "b"], "epsilon": [0.1, 0.1 + 1e-12, 1.0], "gap": [1.0, 2.0, 3.0]}
    )
    assert pick_number(frame, "gap", rule="b", epsilon=1.0) == 3.0
    with pytest.raises(ValueError, match="unpack"):
        pick_number(frame, "gap", rule="a", epsilon=0.1)


def test_checks_hold_where_simulation_and_formula_agree_and_not_beyond():
    assert close_to("", 1.03, 1.0, 0.01).holds and not close_to("", 1.05, 1.0, 0.01).holds
    assert equal_to("", 2.0 + 1e-9, 2.0).holds and not equal_to("", 2.001, 2.0).holds


def test_answers_that_reach_the_mean_are_those_with_a_weight_in_the_exact_law():
    for horizon in (3, 8, 40):
        asked, last, mean = noise.count_answers(horizon)
        weights = iterate_weights(horizon, "averaged")
        later = np.cumsum(weights[::-1])[
            ::-1
        ]  # of all points that answer k moves, theta[k + 1] and after
        assert (asked, last, mean) == (horizon - 1, horizon - 1, int(np.sum(later[1:] > 0)))


def test_the_walk_of_algorithm_2_simulated_meets_its_exact_law():
    decay, variance = error_moments(walks.CURVATURES, Averaged().steps(1.0, 6), "averaged")
    law = 0.5 * walks.CURVATURES @ (decay**2 + variance * walks.noise_power(0.02, 6))
    found = walks.simulate_excess(0.02, 6, 4000, np.random.default_rng(1))
    error = found["std_error"]
    assert abs(found["measured"] - law) < 4 * error < 0.2 * law


def test_the_least_excess_of_a_walk_is_that_of_one_of_its_points():
    steps = Averaged().steps(1.0, 5)
    ends = [walks.walk_without_noise(steps[:k])[1] for k in range(len(steps) + 1)]
    assert (
        walks.least_excess(steps, 0.0) == pytest.approx(min(ends))
        and walks.least_excess(steps, 1e9) == walks.START
    )


def test_a_tick_moves_two_copies_as_the_paper_says():
    matrix, shift, noisy = gossip.affine_tick(1, 3, 0.1, 0.5)
    copies = np.array([0.2, -0.4, 1.0, 0.6])
    middle = (copies[1] + copies[3]) / 2
    told = middle - 0.1 * (middle / 2 + (middle - gossip.owner_optima(3)[1]))
    assert matrix @ copies + shift == pytest.approx([0.2, told, 1.0, middle - 0.05 * middle])
    assert noisy == pytest.approx([0, -0.1, 0, 0])


def test_noise_by_ticks_at_random_meets_the_exact_second_moments():
    rates = np.array([1.0, 0.25])
    rng = np.random.default_rng(2)
    step = 0.2
    ticks = 30
    runs = 20_000
    share = rates / rates.sum()
    maps = [gossip.affine_tick(i, 2, step, 0.5, 1 / (2 * share[i])) for i in range(2)]
    points = np.zeros((runs, 3))
    for _ in range(ticks):
        who = (rng.random(runs) > share[0]).astype(int)
        for i, (matrix, _, moved) in enumerate(maps):
            rows = who == i
            points[rows] = points[rows] @ matrix.T + np.outer(rng.normal(size=rows.sum()), moved)
    found = np.square(points[:, -1])
    assert abs(
        found.mean() - gossip.learner_variance(rates, step, ticks)
    ) < 4 * found.std() / np.sqrt(runs)


def test_the_proofs_bound_is_the_theorems_form_with_the_factor_it_drops():
    for horizon in (10.0, 1000.0, 1e6):
        bounds = gossip.distance_bounds(horizon, 0.7)
        assert (
            bounds["whole"] == pytest.approx(bounds["proof"]) and bounds["named"] > bounds["proof"]
        )


def test_sums_over_records_add_up_over_owners():
    parts = two_owners()
    x, y = (np.concatenate(both) for both in zip(*parts, strict=True))
    pooled = walks.pool_records([walks.sum_records(part) for part in parts])
    whole = walks.pool_records([walks.sum_records((x, y))])
    theta = np.array([[0.3, 0.1], [1.0, -1.0]])
    direct = np.mean((y - theta @ x.T) ** 2, axis=1) + 1e-5 * np.sum(theta**2, axis=1)
    assert pooled.value(theta) == pytest.approx(direct) and whole.value(theta) == pytest.approx(
        direct
    )
    assert pooled.relative(pooled.minimiser) == pytest.approx(0) and np.all(
        pooled.relative(theta) > 0
    )


def test_the_mean_end_of_a_noiseless_walk_is_the_mean_of_its_ends():
    parts = [walks.sum_records(part) for part in two_owners()]
    ends = walks.simulate_ticks(parts, 300.0, 40, 4000, np.random.default_rng(5))
    error = ends.std(axis=0) / np.sqrt(len(ends))
    assert np.all(np.abs(ends.mean(axis=0) - walks.expected_end(parts, 300.0, 40)) < 4 * error)


def test_evidence_that_picks_are_known_has_the_mean_and_spread_of_a_gaussian_by_uses():
    rng = np.random.default_rng(7)
    distance = 0.3
    records = 20
    found = noise.sample_evidence("picks", distance, records, True, rng, 20_000)
    mean = distance**2 / 2 * records  # uses are records on average
    assert found.mean() == pytest.approx(mean, rel=0.05)
    hidden = noise.sample_evidence("hidden", distance, records, False, rng, 500)
    assert np.exp(hidden).mean() == pytest.approx(
        1.0, rel=0.1
    )  # a likelihood ratio is 1 on average where it is false


@pytest.mark.slow
def test_noise_is_the_least_at_which_hidden_picks_keep_the_promise():
    distance = noise.least_distance(30, 1e-5)
    assert noise.epsilon_by_view(distance, 30, 1e-5)["hidden"] == pytest.approx(1.0, abs=0.01)


def test_the_constant_makes_the_papers_own_reading_just_private():
    constant = weighted.least_constant()
    assert constant < 16 and weighted.party_sizes(4, 9.0) == (480, 480, 4320, 4320)


def test_parties_records_have_norm_one_at_most_and_differ_as_they_should():
    alike, unlike = (
        [weighted.sample_party(u, w, 4000, np.random.default_rng(w)) for w in (0, 1)]
        for u in (0.0, 1.0)
    )
    for x, y in (*alike, *unlike):
        assert np.linalg.norm(x, axis=1).max() == pytest.approx(1.0) and set(y) == {-1.0, 1.0}
    slopes = [[np.mean(x[:, 1] * y) for x, y in parts] for parts in (alike, unlike)]
    assert np.min(slopes[0]) > 0 and slopes[1][1] < 0


def test_the_thesis_payoff_written_here_is_the_policys():
    game = thesis.thesis_game("leakage", 1e4)
    profile = np.array([0.7, 1.9, 1.9, 1.9])
    here = thesis.compute_payoff("leakage", "normalised", 5.0, np.array([0.7]), 1.9)
    assert game.payoffs(profile)[0] == pytest.approx(here[0])


def test_symmetric_equilibria_are_all_found_even_the_unstable_one():
    assert thesis.symmetric_equilibria("utility", "normalised", 2.0, 300) == pytest.approx(
        [0.001, 0.23886, 0.74553], abs=1e-4
    )
    assert thesis.symmetric_equilibria("leakage", "normalised", 5.0, 300) == pytest.approx(
        [2.50943], abs=1e-4
    )


def test_guesses_from_answers_are_right_as_often_as_the_channel_says():
    frame = pd.DataFrame(thesis.compute_guesses(Setting(quick=True)))
    assert np.all(
        np.abs(frame["measured"] - frame["right_guesses"]) <= 4.5 * frame["std_error"] + 1e-12
    )


def test_two_unprojected_answers_lose_no_more_than_their_models_allow_and_some_more_than_promised():
    reached, loss = noise.simulate_two_answers(20_000, np.random.default_rng(4))
    near_by = reached > 0.5  # where both coordinates are above -1, so that they add up
    assert np.all((loss <= 0.5 * (1 + (1 + reached) / 2) + 1e-9)[near_by]) and loss.max() > 1


def test_evidence_of_two_owners_is_bounded_by_the_sum_of_what_they_give():
    told = thesis.sample_evidence(np.array([0.5, 5.0]), True, 2000, np.random.default_rng(0))
    assert told.max() == pytest.approx(2.75) and told.min() == pytest.approx(-2.75)


def test_a_table_without_a_loan_for_each_bank_is_not_possible(monkeypatch):
    loans = load_table("lending", Setting(quick=True))
    monkeypatch.setattr(
        walks, "load_table", lambda *of: replace(loans, x=loans.x[:2], y=loans.y[:2])
    )
    with pytest.raises(NotPossible, match="3 records are needed, and lending has 2 here"):
        list(walks.compute_moving_away(Setting(quick=True)))


def test_a_strict_owner_costs_the_best_scenario_what_it_costs_the_second():
    """In fractions, by hand: 1/0.1² + 2/10² over 3/10² is 10002/3, with whatever records."""
    frame = pd.DataFrame(noise.compute_scenario_noise(Setting(quick=True)))
    found = {name: value for name, value, *_ in noise.check_scenario_noise(frame)}
    assert found["by_theorem_2"] == pytest.approx(10_002 / 3)
    assert found["by_theorem_3"] == pytest.approx((10_002 / 3) ** 0.5)
    assert found["as_second"] == pytest.approx(1)
    assert found["joined"] == pytest.approx(10_002 / 2 * (200 / 201) ** 2)
    hardly = [one[1] for one in noise.check_scenario_noise(frame) if one[0] == "hardly"]
    assert hardly == pytest.approx([300 / 200.01] * 2)
