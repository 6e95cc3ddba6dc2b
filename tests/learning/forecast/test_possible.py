"""Populations that the public rows may have been drawn from, against brute force and second routes."""

from dataclasses import replace

import numpy as np
import pytest
from populations import generated, planning_inputs

from learning.forecast import possible_releases
from learning.forecast.bootstrap import draw_bootstrap
from learning.forecast.inputs import Settings
from learning.forecast.possible import (
    FEW_ROWS,
    even_out_runs,
    possible_problem,
    possible_rehearsals,
    reflect_optimum,
    shrink_biases,
    widen_worlds,
)
from learning.forecast.possible_releases import PossibleReleases
from learning.forecast.prediction import Prediction, law_fitness
from learning.forecast.public_sample import PublicSample
from learning.forecast.rehearsal import Rehearsal
from learning.forecast.ways import planner_under
from learning.losses.losses import as_loss
from learning.losses.moment_bounds import Scores
from learning.privacy.gaussian import Gaussian
from learning.privacy.l2 import L2
from learning.privacy.laplace import Laplace
from learning.training.plan import Plan

P = 4
PLAN = Plan("averaged", "last", 3, 0.4)
SIZES = np.array([300.0, 200.0, 100.0])
GAUSSIAN = Gaussian(1e-6, "zcdp")


def draw(norm=1, **options):
    sample = PublicSample(*generated(120, P, np.random.default_rng(3)), **options)
    return draw_bootstrap(
        sample,
        start="public",
        precondition=True,
        total_size=600,
        resamples=5,
        rng=np.random.default_rng(4),
        norm=norm,
    )


@pytest.fixture
def bootstrap():
    return draw()


def bounds(bootstrap, radius=1e6, target=1e6):
    return bootstrap.sample.coordinates("public", True).bounded(radius, target, 1e6)


@pytest.mark.parametrize("width", [1, 4, 60])
def test_shrunk_biases_have_the_square_of_the_true_one(width):
    """Means over rows of mean squares over worlds; without shrinkage chance counts twice."""
    rng = np.random.default_rng(width)
    true = np.full(width, 0.5 / np.sqrt(width))
    deviation = 0.4 / np.sqrt(width)
    squares = {"as drawn": [], "shrunk": []}
    for _ in range(400):
        shown = true + deviation * rng.standard_normal(width)
        possible = shown + deviation * rng.standard_normal((100, width))
        squares["as drawn"].append(np.sum(possible**2, axis=1).mean())
        squares["shrunk"].append(np.sum(shrink_biases(shown, possible) ** 2, axis=1).mean())
    drawn, shrunk = (np.mean(one) for one in squares.values())
    assert drawn == pytest.approx(0.25 + 2 * 0.16, rel=0.12)
    assert shrunk == pytest.approx(0.25, rel=0.2)


@pytest.mark.parametrize(("width", "length"), [(1, 0.5), (2, 2.0), (7, 1.0)])
def test_shrunk_biases_have_the_posterior_mean_by_brute_force(width, length):
    """Means of 400,000 draws from the prior, weighted by their likelihood."""
    rng = np.random.default_rng(0)
    shown = np.full(width, length)
    ends = rng.standard_normal((2, width, 2000))
    possible = shown + np.concatenate([ends[0].T, -ends[0].T])  # mean of exactly d_0
    unit = possible.var(axis=0).sum() / width  # V/p
    share = rng.random(400_000)
    true = rng.standard_normal((400_000, width)) * np.sqrt(unit * (1 / share - 1))[:, None]
    weight = np.exp(-0.5 * np.sum((true - shown) ** 2, axis=1) / unit)
    found = shrink_biases(shown, possible)
    assert found.mean(axis=0) == pytest.approx(np.average(true, axis=0, weights=weight), rel=0.05)


def test_chance_in_few_runs_adds_nothing_to_the_spread_between_worlds():
    rng = np.random.default_rng(1)
    worlds = np.exp(0.3 * rng.standard_normal(2000))
    runs = worlds[:, None] * rng.chisquare(2, (2000, 24)) / 2
    found = even_out_runs(runs)
    assert np.log(runs.mean(axis=1)).std() > 0.35
    assert np.log(found).std() == pytest.approx(0.3, rel=0.05)
    assert np.median(found) == pytest.approx(np.median(runs.mean(axis=1)), rel=0.06)


def test_runs_that_diverge_or_are_known_are_left():
    assert even_out_runs(np.array([[1.0, np.inf], [2.0, 2.0]])).tolist() == [np.inf, 2.0]
    assert even_out_runs(np.array([[1.0], [3.0]])).tolist() == [1.0, 3.0]


def test_a_bias_that_no_row_shows_stays_none():
    assert not shrink_biases(np.zeros(3), np.zeros((5, 3))).any()


def test_the_start_lies_as_far_from_a_population_as_brute_force_has_it(bootstrap):
    """Without training: (theta_pub - theta_b)'H_b(theta_pub - theta_b)/2 over f*_b, stretched for 600 records."""
    problem = possible_problem(bootstrap, bounds(bootstrap))
    found = law_fitness(problem, Plan("averaged", "last", 1, 0.0), 0.0, None)
    x, y = bootstrap.sample.population()
    expected = []
    for rows in bootstrap.rows:
        model, square, *_ = np.linalg.lstsq(x[rows], y[rows], rcond=None)
        away = x[rows] @ (bootstrap.sample.model - model)
        optimum = square[0] / (len(y) - P)
        expected.append((1 + 120 / 600) * np.mean(away**2) / optimum)
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("shrinks", [False, True])
@pytest.mark.parametrize("mechanism", [Laplace(), L2(P)], ids=lambda one: one.name)
def test_law_and_rehearsal_agree_in_every_population(mechanism, shrinks):
    """Rehearsed 4,000 times each: within 4 % of the law with noise, and exactly without."""
    bootstrap = draw(mechanism.norm, shrinks=shrinks)
    sample = bootstrap.sample
    coordinates = replace(bounds(bootstrap), norm=mechanism.norm, given_bound=1.0)
    starts = (coordinates,)
    rehearsal = Rehearsal.from_sample(sample, starts, SIZES, mechanism, "averaged")
    worlds = possible_rehearsals(rehearsal, bootstrap, coordinates)
    problem = possible_problem(bootstrap, coordinates)
    for level, error in ((0.0, 1e-6), (0.001, 0.04)):
        seen = [one.rehearse_plan(PLAN, np.array([level]), 4000).mean() for one in worlds]
        power = level * float(mechanism.horizon_factor(PLAN.priced))
        law = law_fitness(problem, PLAN, power, None)
        # rehearsals inflate the residuals of a population once more, as the law does its f*
        np.testing.assert_allclose(seen, law, rtol=error)
        assert law.max() > 1.2 * law.min()


def test_a_shrunk_start_lies_as_far_from_a_population_as_from_its_possible_model():
    drawn = draw(shrinks=True)
    coordinates = bounds(drawn)
    rehearsal = Rehearsal.from_sample(drawn.sample, (coordinates,), SIZES, Laplace(), "averaged")
    x, _ = drawn.sample.population()
    worlds = possible_rehearsals(rehearsal, drawn, coordinates)
    for world, model, rows in zip(worlds, drawn.possible_models, drawn.rows, strict=True):
        assert world.cost.minimiser == pytest.approx(model)
        away = np.mean((x[rows] @ (drawn.sample.model - model)) ** 2)
        excess = world.cost.value(world.starts[0].centre) - world.cost.optimum
        assert excess == pytest.approx(away)


def test_a_rehearsal_is_given_the_bias_of_its_population(bootstrap):
    """Under clipping, the mean gradient at each optimum is the shrunk bias and not that of the rows."""
    coordinates = bounds(bootstrap, radius=1.5, target=0.7)
    rehearsal = Rehearsal.from_sample(
        bootstrap.sample, (coordinates,), SIZES, Laplace(), "averaged"
    )
    for world in possible_rehearsals(rehearsal, bootstrap, coordinates):
        (start,) = world.starts
        (owner,) = world.proxy_owners(start, 1, np.zeros(1))
        away = world.cost.minimiser - start.centre
        optimum = np.linalg.solve(start.transform, away)
        np.testing.assert_allclose(owner.records.gradient(optimum[None])[0], world.bias, atol=1e-9)
        assert np.abs(world.bias - world.clipping_bias(start)).max() > 1e-3


def test_the_best_error_is_reflected_but_not_of_labels(bootstrap):
    factor = reflect_optimum(bootstrap)
    x, y = bootstrap.sample.population()
    for one, rows in zip(factor, bootstrap.rows, strict=True):
        _, square, *_ = np.linalg.lstsq(x[rows], y[rows], rcond=None)
        assert one == pytest.approx(square[0] / (len(y) - P) / bootstrap.optimum)
    labelled = PublicSample(x, np.where(y > 0, 1.0, -1.0), 0.01, as_loss("logistic"))
    assert (reflect_optimum(replace(bootstrap, sample=labelled)) == 1).all()


def test_worlds_are_widened_in_logarithms():
    rng = np.random.default_rng(0)
    drawn = np.exp(rng.standard_normal(1001))
    wider = widen_worlds(drawn)
    assert np.median(wider) == pytest.approx(np.median(drawn))
    assert np.log(wider).std() == pytest.approx(FEW_ROWS * np.log(drawn).std())
    assert not widen_worlds(np.zeros(3)).any()


@pytest.mark.parametrize("algorithm", ["one_step", "averaged"])
def test_released_sums_are_as_far_off_as_their_start(algorithm):
    """Doubt takes nothing from a purchase of sums, which are solved from any start, and much from gradients."""
    sample = PublicSample(*generated(120, P, np.random.default_rng(3)), drawn=False)
    inputs = planning_inputs(sample, Settings(algorithm, mechanism="l2"), 1.0, SIZES.astype(int))
    planner = planner_under(inputs, L2(P))
    worlds = 40
    (kinds,) = planner.doubts(worlds)
    assert (kinds[1] > 0).any()
    assert (kinds[0] == kinds[1]).all() == (algorithm == "one_step")
    prediction = planner.predict(np.ones(3))
    assert len(prediction.trained) >= 200
    if algorithm == "averaged":  # a rehearsal of sums would need the owners' records here
        sure = prediction.without_doubt.gain(1000.0, 0.0)
        assert not np.allclose(prediction.gain(1000.0, 0.0), sure)


def skewed_labels(rows, rng):
    """Labels of which one in five is +1, as likely as a line through three normal columns says."""
    x = np.column_stack([rng.standard_normal((rows, 3)), np.ones(rows)])
    chance = 1 / (1 + np.exp(-x @ np.array([1.0, -0.8, 0.5, -1.8])))
    return x, np.where(rng.random(rows) < chance, 1.0, -1.0)


def clipped_labels(seed):
    """Rehearsal of one step on 500 rows of such labels, its bootstrap samples, bounds in use."""
    sample = PublicSample(
        *skewed_labels(500, np.random.default_rng(seed)), 1e-3, as_loss("logistic")
    )
    drawn = draw_bootstrap(
        sample,
        start="public",
        precondition=True,
        total_size=20_000,
        resamples=60,
        rng=np.random.default_rng(4),
        norm=2,
    )
    start = sample.coordinates("public", True, 2)
    start = replace(start, radius=1.3, theta_max=5.0, scores=Scores(0.7, 0.4))
    starts = drawn.start_coordinates(start)
    return Rehearsal.from_sample(sample, starts, SIZES, GAUSSIAN, "one_step"), drawn, start


@pytest.mark.parametrize("weights", [None, np.array([0.2, 0.2, 0.6])])
@pytest.mark.parametrize("algorithm", ["one_step", "adassp"])
def test_releases_solved_at_once_are_those_of_every_population_alone(
    algorithm, weights, monkeypatch
):
    """Each with its own sums, noise and start, also where the ball binds or no noise is added."""
    if algorithm == "one_step":
        rehearsal, drawn, start = clipped_labels(1)
    else:
        drawn = draw(norm=2)
        start = drawn.sample.coordinates("public", True, 2).bounded(3.0, 2.0, 0.5)
        starts = drawn.start_coordinates(start)
        rehearsal = Rehearsal.from_sample(drawn.sample, starts, SIZES, GAUSSIAN, algorithm)
    if weights is not None:
        rehearsal = replace(rehearsal, weights=weights)
    plan = Plan(algorithm, "last", 1, 1.0)
    worlds = possible_rehearsals(rehearsal, drawn, start)
    releases = PossibleReleases.under(worlds, plan, 3)
    for levels in (np.geomspace(1e-8, 1e2, len(worlds)), np.zeros(len(worlds))):
        pairs = zip(worlds, levels, strict=True)
        alone = [world.rehearse_plan(plan, level[None], 3).ravel() for world, level in pairs]
        np.testing.assert_allclose(releases.fitness(levels), alone, rtol=1e-11)
    monkeypatch.setattr(possible_releases, "NUMBERS_HELD", 10)
    assert PossibleReleases.under(worlds, plan, 3) is None
    stepping = [replace(world, algorithm="averaged") for world in worlds]
    monkeypatch.undo()
    assert PossibleReleases.under(stepping, PLAN, 3) is None


@pytest.mark.parametrize("seed", range(3))
def test_the_upper_end_of_labels_lies_above_the_point_and_the_truth(seed):
    """Without noise, so that only biases count; the truth is that on 200,000 records."""
    rehearsal, drawn, start = clipped_labels(seed)
    plan = rehearsal.make_plan("last", 1, 1.0)
    point = rehearsal.rehearse_plan(plan, np.zeros(1), 1).mean()
    worlds = possible_rehearsals(rehearsal, drawn, start)
    outcome = np.array([one.rehearse_plan(plan, np.zeros(1), 1).mean() for one in worlds])
    _, high = Prediction(outcome, outcome).interval()
    everyone = PublicSample(
        *skewed_labels(200_000, np.random.default_rng(9)), 1e-3, drawn.sample.loss
    )
    truth = rehearsal.on_sample(everyone, (start,)).rehearse_plan(plan, np.zeros(1), 1).mean()
    assert high > 1.2 * point
    assert high > truth


def test_the_expected_bias_is_the_mean_over_labels_drawn_from_the_model():
    rehearsal, _, start = clipped_labels(0)
    expected = rehearsal.expected_bias(start)
    optimum = rehearsal.cost.minimiser
    ridge, pull = start.penalty(1e-3)
    away = np.linalg.solve(start.transform, optimum - start.centre)
    rng = np.random.default_rng(1)
    chance = 1 / (1 + np.exp(-rehearsal.x @ optimum))
    drawn = []
    for _ in range(2000):
        labels = np.where(rng.random(len(chance)) < chance, 1.0, -1.0)
        drawn.append(replace(rehearsal, y=labels).clipping_bias(start) - ridge @ away + pull)
    error = np.std(drawn, axis=0) / np.sqrt(2000)
    assert (np.abs(np.mean(drawn, axis=0) - expected) < 4 * error).all()
    assert np.linalg.norm(expected) > 10 * np.linalg.norm(error)


def test_no_bias_is_expected_without_labels_or_without_bounds():
    rehearsal, _, start = clipped_labels(0)
    whole = replace(start, radius=1e6, scores=Scores(1e6, 0.4))
    assert np.abs(rehearsal.expected_bias(whole)).max() < 1e-12  # from the optimum itself
    numbers = PublicSample(*generated(120, P, np.random.default_rng(3)))
    of_numbers = rehearsal.on_sample(numbers, (replace(start, loss=numbers.loss),))
    assert not of_numbers.expected_bias(of_numbers.starts[0]).any()
