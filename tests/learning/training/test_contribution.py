"""Contributions from released sums: against Monte Carlo of fresh noise, and against a population of rows."""

import numpy as np
import pytest
from populations import generated
from releases import BOUNDED, P, market
from sizes import sized

from learning.losses.squared import Squared
from learning.privacy.gaussian import Gaussian
from learning.training.coalitions import list_coalitions
from learning.training.contribution import CheckRows, estimate_contributions, worth_of
from learning.training.sums import released_runs

SETS = list_coalitions(3)
EPSILON = 2.0


def check_rows(count, seed=7, regularisation=0.0):
    return CheckRows(*generated(count, P, np.random.default_rng(seed)), Squared(), regularisation)


def estimate(sums, rows, seed=0, **fields):
    mechanism = Gaussian(1e-6, "pld")
    rng = np.random.default_rng(seed)
    return estimate_contributions(sums, mechanism, rows, SETS, rng=rng, **fields)


def values(sums, rows):
    return SETS.shapley @ worth_of(sums.solve_sets(SETS.members), BOUNDED.centre, rows.fitness)


@pytest.mark.parametrize("regularisation", [0.0, 0.3])
def test_contributions_add_up_to_the_gain_of_the_trained_model(regularisation):
    task, _ = market(EPSILON, regularisation=regularisation)
    rows = check_rows(200, regularisation=regularisation)
    for sums in released_runs(task, [0, 2]):
        found = estimate(sums, rows, redraws=5)
        gain = rows.fitness.value(BOUNDED.centre) - rows.fitness.value(sums.solve())
        assert found.shapley.answer.sum() == pytest.approx(gain)
        for name, left_out in zip(sums.names, found.left_out.answer, strict=True):
            rest = rows.fitness.value(sums.without(name).solve())
            assert left_out == pytest.approx(rest - rows.fitness.value(sums.solve()))


def test_models_of_sets_are_those_of_the_sums_kept():
    (sums,) = released_runs(market(EPSILON)[0], [1])
    for members, theta in zip(SETS.members, sums.solve_sets(SETS.members), strict=True):
        assert theta == pytest.approx(sums.keep(np.flatnonzero(members)).solve(), abs=1e-12)


def test_errors_and_bias_of_the_noise_are_those_of_fresh_noise():
    """The standard errors and the correction, on average over trainings, against trainings themselves."""
    runs = sized(60, 600)
    task, _ = market(EPSILON, runs=runs)
    rows = check_rows(2000)
    quiet, _ = market(np.inf)
    clean = values(released_runs(quiet, [0])[0], rows)
    drawn = released_runs(task, range(runs))
    answers = np.array([values(one, rows) for one in drawn])
    found = [estimate(one, rows, k, redraws=40).shapley for k, one in enumerate(drawn)]
    stated = np.sqrt(np.mean([one.noise_error**2 for one in found], axis=0))
    assert stated == pytest.approx(answers.std(axis=0), rel=0.3)
    bias = clean - answers.mean(axis=0)
    corrected = np.mean([one.records for one in found], axis=0)
    assert np.abs(clean - corrected).max() < 0.4 * np.abs(bias).max()


def test_errors_of_the_rows_are_those_of_fresh_rows():
    (sums,) = released_runs(market(EPSILON)[0], [0])
    truth = values(sums, check_rows(200_000, 1))
    found = [estimate(sums, check_rows(300, 10 + k), redraws=2).shapley for k in range(200)]
    deviations = np.array([(one.answer - truth) / one.row_error for one in found])
    assert np.abs(deviations.mean(axis=0)).max() < 0.3
    assert deviations.std(axis=0) == pytest.approx(np.ones(3), rel=0.2)
