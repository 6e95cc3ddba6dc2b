"""Relative fitness in a user's own terms: exact for squared errors, counted along rehearsals for labels."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from populations import generated, two_kinds
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from learning.forecast.decision_study import DecisionStudy, alarm_chances, calibrate_scores
from learning.forecast.decisions import DecisionCost, Decisions, RisingCurve, compare_own_kinds
from learning.forecast.held import HeldShares
from learning.forecast.measures import RELATIVE, MeasuredForecast, RootMeanSquare
from learning.forecast.prediction import Prediction
from learning.forecast.public_sample import OtherKind, leave_out_shifts
from learning.losses.loss import FreshRecords
from learning.losses.margin import Hinge, Logistic
from learning.losses.squared import Squared
from market.costs.functions import Linear
from market.game.game import Game
from market.game.owners import Owners
from market.policies.contributions import Marginal

COSTLY = Decisions(false_alarm=2.0, miss=5.0, moved=True)


class Law:
    """Relative fitness 0.1 + 1/(1 + sum of epsilon), for owners who all ask."""

    outside = 1.1

    def terms(self, epsilon):
        return np.asarray(epsilon, dtype=float)[..., None]

    def excess(self, sums):
        return 0.1 + 1 / (1 + sums[..., 0])

    def slopes(self, epsilon, sums):
        return -1 / (1 + sums[..., 0]) ** 2

    def asks(self, sums):
        return np.ones(sums.shape[:-1], dtype=bool)

    def part(self, owners):
        return self


def curve():
    """What decisions cost, by a few points; the learner's rows are two of each label."""
    own = np.array([[-1.0], [0.5], [-0.5], [1.0]]), np.array([-1.0, -1.0, 1.0, 1.0])
    known = RisingCurve.fit(np.array([0.0, 0.2, 0.5, 1.2]), np.array([0.1, 0.15, 0.3, 0.35]))
    return DecisionCost(COSTLY, Hinge(), own, known, (known,), (np.array([1.0]), np.array([0.4])))


def test_the_root_mean_squared_error_of_any_model_follows_from_its_relative_fitness():
    rng = np.random.default_rng(1)
    x, y = generated(400, 4, rng)
    cost = Squared().fitness([(x, y)], 0.0)
    models = rng.normal(size=(50, 4))
    measure = RootMeanSquare(cost.optimum, np.array([cost.optimum]))
    residuals = np.sqrt(np.mean((models @ x.T - y) ** 2, axis=1))
    np.testing.assert_allclose(measure(cost.relative(models)), residuals, rtol=1e-12)
    np.testing.assert_allclose(
        measure.counted(models, cost, [FreshRecords(x, y)]), residuals, rtol=1e-12
    )
    np.testing.assert_allclose(measure.in_worlds(cost.relative(models)), residuals, rtol=1e-12)


HELD = HeldShares(
    (-1.0, 1.0), 0.8, 0.9, 0.5, np.array([0.8, 0.6]), (0.5, np.full(2, 0.5)), (0.4, np.full(2, 0.4))
)


def test_held_predictions_leave_shares_of_each_part_of_the_error():
    measure = RootMeanSquare(4.0, np.array([4.0, 9.0]), HELD)
    assert measure(0.5) ** 2 == pytest.approx(4 * (0.8 + 0.9 * 0.5))
    assert measure.isolated(0.5) ** 2 == pytest.approx(4 * (0.8 + 0.5 * 0.5))
    # Of half the public model's cost, unheld: that is 1 + 2 of f*; and 0.4 times its held error.
    assert measure.own(0.5) ** 2 == pytest.approx(0.4 * 4 * (0.8 + 0.5 * 2))
    worlds = np.full(2, 0.5)
    expected = [4 * (0.8 + 0.45), 9 * (0.6 + 0.45)]
    np.testing.assert_allclose(measure.in_worlds(worlds) ** 2, expected)
    expected = [0.4 * 4 * (0.8 + 1), 0.4 * 9 * (0.6 + 1)]
    np.testing.assert_allclose(measure.own_in_worlds(worlds) ** 2, expected)


def test_errors_of_held_predictions_are_counted_row_by_row():
    rng = np.random.default_rng(1)
    x, y = generated(400, 4, rng)
    models = rng.normal(size=(5, 4))
    cost = Squared().fitness([(x, y)], 0.0)
    parts = [FreshRecords(x[:150], y[:150]), FreshRecords(x[150:], y[150:])]
    found = RootMeanSquare(cost.optimum, np.array([cost.optimum]), HELD).counted(
        models, cost, parts
    )
    said = np.clip(models @ x.T, -1, 1)
    np.testing.assert_allclose(found, np.sqrt(np.mean((said - y) ** 2, axis=1)), rtol=1e-12)
    assert np.all(found < np.sqrt(cost.value(models)))


@pytest.mark.parametrize(
    "measure",
    [
        RELATIVE,
        RootMeanSquare(4.0, np.array([4.0])),
        RootMeanSquare(4.0, np.array([4.0]), HELD),
        curve(),
    ],
    ids=lambda m: type(m).__name__,
)
def test_slopes_are_those_of_the_measure(measure):
    at = np.array([0.05, 0.33, 0.7, 1.1])
    step = 1e-6
    by_difference = (measure(at + step) - measure(at - step)) / (2 * step)
    np.testing.assert_allclose(measure.slope_at(at), by_difference, rtol=1e-5)
    assert np.all(np.diff(measure(np.linspace(0, 2, 50))) >= 0)


def test_beyond_what_was_rehearsed_decisions_cost_little_more_than_the_worst_do():
    measure = curve()
    assert measure(1.2) <= measure(1e9) <= 1.6 * measure(1.2)
    assert measure(-0.1) == measure(0.0) == pytest.approx(0.1, rel=0.1)


def test_the_threshold_is_the_cheapest_of_all():
    rng = np.random.default_rng(2)
    scores = rng.integers(-3, 4, size=(20, 30)) / 2.0  # many are equal
    y = np.where(rng.random(30) < 0.4, 1.0, -1.0)
    found = COSTLY.thresholds(scores, y)
    cost = COSTLY.costs(scores >= found[:, None], y).sum(axis=1)
    every = np.concatenate(
        [[-np.inf], np.arange(-3.25, 3.5, 0.5) / 2 + 0.125, np.arange(-6.5, 7) / 4, [np.inf]]
    )
    best = np.min([COSTLY.costs(scores >= cut, y).sum(axis=1) for cut in every], axis=0)
    np.testing.assert_array_equal(cost, best)
    assert Decisions().thresholds(scores, y).tolist() == [0.0] * 20


def test_costs_are_those_of_the_table_of_decisions():
    y = np.array([1.0, 1.0, -1.0, -1.0])
    alarmed = np.array([[True, False, True, False]])
    assert COSTLY.costs(alarmed, y).tolist() == [[0.0, 5.0, 2.0, 0.0]]
    assert Decisions().costs(alarmed, y).mean() == Hinge().error(
        np.array([[1.0], [-1], [1], [-1]]), y, np.ones((1, 1))
    )


def test_models_are_counted_with_the_threshold_that_is_best_on_the_learners_own_rows():
    x, y = two_kinds(300, np.random.default_rng(3))
    own = (x[:100], y[:100])
    models = np.random.default_rng(4).normal(size=(5, 11))
    measure = DecisionCost(COSTLY, Hinge(), own, curve().curve, (), (np.empty(0), np.empty(0)))
    parts = [FreshRecords(x[100:150], y[100:150]), FreshRecords(x[150:], y[150:])]
    cost = Hinge().fitness([(x[100:], y[100:])], 0.1)
    for model, found in zip(models, measure.counted(models, cost, parts), strict=True):
        shown = np.sort(own[0] @ model)
        cuts = np.concatenate([[-np.inf], (shown[1:] + shown[:-1]) / 2, [np.inf]])
        cut = min(cuts, key=lambda c: COSTLY.costs(own[0] @ model >= c, own[1]).sum())
        said = x[100:] @ model >= cut
        labels = y[100:]
        assert found == pytest.approx(
            (5 * np.sum(~said & (labels > 0)) + 2 * np.sum(said & (labels < 0))) / 200
        )


def test_the_curve_lies_where_isotonic_regression_does_and_is_smooth():
    rng = np.random.default_rng(5)
    at = np.geomspace(0.003, 1, 60)
    truth = 0.05 + 0.3 * at / (at + 0.2)
    height = truth * (1 + 0.05 * rng.normal(size=60))
    found = RisingCurve.fit(at, height)(at)
    steps = IsotonicRegression().fit_transform(at, height)
    assert np.all(np.diff(found) > 0)
    np.testing.assert_allclose(found[5:-5], truth[5:-5], rtol=0.05)  # each point is 5 % off
    np.testing.assert_allclose(found, truth, rtol=0.1)
    assert np.mean((found / truth - 1) ** 2) < np.mean((steps / truth - 1) ** 2)
    falling = RisingCurve.fit(at, 1 - 0.5 * at)
    assert np.ptp(falling(at)) < 0.01  # where costs fall, the curve is level


def test_rows_stand_for_others_like_them():
    """Scores are normal about +-1: one in Phi(-1) is wrong. Kernels that spread scores would say 14 % more."""
    rng = np.random.default_rng(6)
    y = np.repeat([-1.0, 1.0], 75)
    scores = y + rng.normal(size=(2000, 150))
    wrong = Decisions().costs(alarm_chances(scores, y), y).mean()
    assert wrong == pytest.approx(0.1587, rel=0.02)
    apart = np.array([[-1.0, -1.1, 0.9, 1.2]])
    assert (
        0
        < Decisions().costs(alarm_chances(apart, np.sign(apart[0])), np.sign(apart[0])).mean()
        < 0.01
    )


def rare_labels(rows, rng):
    """Columns and labels of a population in which one label in eight is +1."""
    x = np.column_stack([rng.normal(size=(rows, 14)), np.ones(rows)])
    score = 0.8 * x[:, 0] + 0.8 * x[:, 1] - 2.5
    return x, np.where(rng.random(rows) < 1 / (1 + np.exp(-score)), 1.0, -1.0)


NOISE = 0.3  # deviation of each parameter


def wrong_labels(rows):
    """Wrong labels said of the best model, the own, and the best under noise; then true: means over 60 draws of rows."""
    rng = np.random.default_rng(8)
    noise = NOISE * rng.normal(size=(20, 15))
    found = []
    everybody = rare_labels(50_000, rng)
    best = Logistic().fit(*everybody, 1e-3)[0]

    def wrong(models):
        return np.mean(everybody[0] @ models.T * everybody[1][:, None] < 0)

    best_wrong, noisy_wrong = wrong(best[None]), wrong(best + noise)
    for _ in range(60):
        x, y = rare_labels(rows, rng)
        cost = Logistic().fitness([(x, y)], 1e-3)
        samples = [rng.integers(rows, size=rows) for _ in range(4)]
        study = DecisionStudy(
            SimpleNamespace(x=x, y=y, loss=Logistic(), cost=cost), None, None, samples, Decisions()
        )
        public = cost.minimiser[None]
        own = [Logistic().fit(x[some], y[some], 1e-3)[0][None] for some in samples]
        costs = [
            study.row_costs([public + noise, public, one], some)
            for one, some in zip(own, samples, strict=True)
        ]
        alone = [one[2] for one in costs]
        known, worlds = study.judge_own(alone, [np.full(rows, 1 / rows)] * 4)
        assert worlds.mean() == pytest.approx(known.mean())
        noisy, best_shown, _ = np.mean(costs, axis=(0, 2))
        found.append([best_shown, known.mean(), noisy, best_wrong, wrong(public), noisy_wrong])
    return np.mean(found, axis=0).reshape(2, 3)


def test_wrong_labels_are_forecast_as_fresh_rows_show_them_though_models_fit_the_rows():
    """200 rows decide 15 parameters: models err less on these rows than on fresh ones, the best and the own alike."""
    said, true = wrong_labels(200)
    np.testing.assert_allclose(said[:2], true[:2], rtol=0.05)


def test_what_noise_and_few_rows_add_to_wrong_labels_shows_in_few_rows():
    """80 rows are fitted so closely that by their own labels noise would seem to add half of what it does."""
    said, true = wrong_labels(80)
    best_said, own_said, noisy_said = said
    best_wrong, own_wrong, noisy_wrong = true
    assert noisy_said - best_said == pytest.approx(noisy_wrong - best_wrong, rel=0.15)
    assert 0.65 * (own_wrong - best_wrong) < own_said - best_said < own_wrong - best_wrong


def test_labels_of_rows_left_out_show_which_part_of_scores_is_chance():
    """Second route: scores and labels drawn anew, and scikit-learn's logistic regression on them."""
    rng = np.random.default_rng(10)
    truth = 1.5 * rng.normal(size=4000)
    y = np.where(rng.random(4000) < 1 / (1 + np.exp(-truth)), 1.0, -1.0)
    scores = truth + rng.normal(size=4000)
    chance, labels = calibrate_scores(scores, y, np.zeros(4000))
    slope = LogisticRegression(C=np.inf, fit_intercept=False).fit(scores[:, None], y).coef_[0, 0]
    np.testing.assert_allclose(labels, np.tanh(slope * scores / 2), atol=2e-3)
    assert not chance.any()
    chance, fresh = calibrate_scores(scores, y, y * scores / 2)  # half the scores, twice the slope
    np.testing.assert_allclose(fresh, np.tanh(slope * scores), atol=4e-3)
    assert not chance.any()
    chance, fresh = calibrate_scores(scores, y, -y * scores)  # and twice the scores
    np.testing.assert_allclose(fresh, np.tanh(slope * scores / 4), atol=2e-3)
    np.testing.assert_allclose(chance, (1 - np.sqrt(0.5)) * scores, rtol=1e-3)


def test_a_row_that_is_left_out_scores_less_by_what_one_newton_step_says():
    rng = np.random.default_rng(9)
    x, y = rare_labels(150, rng)
    best = Logistic().fit(x, y, 1e-2)[0]
    said = leave_out_shifts(Logistic(), x, y, best, 1e-2)
    for row in (0, 70, int(np.argmax(y)), int(np.argmax(said))):
        left = np.arange(150) != row
        # the same penalty, over one row less
        without = Logistic().fit(x[left], y[left], 1e-2 * 150 / 149)[0]
        assert y[row] * (x[row] @ (best - without)) == pytest.approx(said[row], rel=0.1)
    assert not leave_out_shifts(Hinge(), x, y, best, 1e-2).any()


@pytest.mark.parametrize(
    "measure", [RootMeanSquare(4.0, np.array([4.0])), curve()], ids=lambda m: type(m).__name__
)
def test_a_market_plays_on_the_measure_itself_and_on_no_straight_line(measure):
    """Owners paid for what they add choose what a search over the measure finds, and are paid its differences."""
    owners = Owners(("A", "B"), 100, 0.1, 10.0, Linear([0.02, 0.05]))
    game = Game(owners, Marginal(share=1.0), MeasuredForecast(Law(), measure), 2.0)
    others = 0.7

    def paid(epsilon):
        return 2.0 * (measure(0.1 + 1 / (1 + others)) - measure(0.1 + 1 / (1 + others + epsilon)))

    profile = np.array([1.3, others])
    assert game.payments(profile)[0] == pytest.approx(paid(1.3), rel=1e-12)
    grid = np.geomspace(0.1, 10, 200_001)
    best = grid[np.argmax(paid(grid) - 0.02 * grid)]
    assert game.best_responses(profile)[0] == pytest.approx(best, rel=1e-4)
    assert game.forecast.outside == measure(1.1)


class FixedPlan(Law):
    """The same where nothing is left open: a model worse than the learner's own is trained as well."""

    outside = 0.4

    def asks(self, sums):
        return sums[..., 0] > 0

    def excess(self, sums):
        return np.where(self.asks(sums), super().excess(sums), self.outside)


def test_a_model_that_must_be_trained_is_measured_where_it_is_worse_than_the_learners_own():
    measure = RootMeanSquare(4.0, np.array([4.0]))
    forecast = MeasuredForecast(FixedPlan(), measure)
    sums = np.array([[0.0], [0.5], [1.0], [9.0]])
    expected = [measure(0.4), measure(0.1 + 1 / 1.5), measure(0.6), measure(0.2)]
    np.testing.assert_allclose(forecast.excess(sums), expected, rtol=1e-12)
    up, down = (forecast.excess(sums[1:] + step) for step in (1e-6, -1e-6))
    slope = forecast.slopes(sums[1:, 0], sums[1:])
    np.testing.assert_allclose(slope, (up - down) / 2e-6, rtol=1e-6)


def test_the_gain_in_possible_worlds_is_that_of_the_measure_in_each():
    told = Prediction(np.array([0.0, 0.21]), np.array([0.44, 0.69]))
    measure = RootMeanSquare(1.0, np.array([1.0, 4.0]))
    np.testing.assert_allclose(told.gain(10.0, 1.0, measure), [10 * 0.2 - 1, 10 * 2 * 0.2 - 1])


def test_an_own_model_of_another_kind_costs_as_many_times_the_public_one_as_on_rows_left_out():
    y = np.array([1.0, 1.0, -1.0, -1.0])
    lost = np.array([[0.1, 0.1, 0.1, 0.1], [0.2, 0.2, 0.2, 0.6]])
    scores = np.array([[2.0, 1.0, -1.0, 1.0], [2.0, -1.0, 1.0, 1.0]])  # one false alarm; and a miss
    worlds = [np.array([0, 1, 2, 3]), np.array([0, 0, 1, 1])]
    decisions = Decisions(false_alarm=2.0, miss=4.0)
    found = compare_own_kinds(OtherKind(lost, scores, lost), y, decisions, worlds)
    half = 3.0 / 2
    assert found.lost[0] == pytest.approx(0.1 / 0.3)
    np.testing.assert_allclose(found.lost[1], [0.1 / 0.3, 0.1 / 0.2])
    assert found.costs[0] == pytest.approx((2 + half) / (8 + half))
    np.testing.assert_allclose(found.costs[1], [(2 + half) / (8 + half), half / (8 + half)])

    curve = RisingCurve.fit(np.array([0.0, 1.0]), np.array([0.1, 0.4]))
    there = (np.array([0.2, 0.3]), np.array([0.25, 0.2]))
    plain = DecisionCost(
        decisions, Squared(), (scores, y), curve, (curve, curve), there, (0.2, 0.2)
    )
    other = replace(plain, own_kind=found)
    fitness = (1 + np.array([0.2, 0.3])) * found.lost[1] - 1  # of that model, over the public one's
    np.testing.assert_allclose(other.own_in_worlds(fitness), there[1] * found.costs[1])
    assert other.own(1.2 * found.lost[0] - 1) == pytest.approx(0.2 * found.costs[0])
    assert other.isolated(0.2) == plain.own(0.2)  # an owner's own model is of the market's kind


def test_the_own_model_of_a_world_is_as_far_off_the_curve_as_it_was_found_to_be():
    measure = curve()
    off = 0.4 - float(measure(1.0))
    np.testing.assert_allclose(measure.own_in_worlds(np.array([0.5])), [float(measure(0.5)) + off])
