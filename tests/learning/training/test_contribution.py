"""Contributions from released sums: against Monte Carlo of fresh noise, and against a population of rows."""

from dataclasses import replace

import numpy as np
import pytest
from populations import generated
from releases import BOUNDED, P, market
from sizes import sized

from learning.losses.squared import Squared
from learning.privacy.gaussian import Gaussian
from learning.randomness import Streams
from learning.training.coalitions import list_coalitions
from learning.training.contribution import CheckRows, estimate_contributions, shrink_gain, worth_of
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


def test_noise_without_information_is_paid_nothing():
    """An owner whose sums are nothing but noise: in one training of twenty at most it counts."""
    task, _ = market(EPSILON, runs=2)
    counted = []
    for seed in range(sized(100, 400)):
        fresh = replace(task, streams=Streams(seed, "noise"))
        (sums,) = released_runs(fresh, [0])
        (empty,) = released_runs(quieted(fresh), [0])
        junk = replace(
            sums, xx=sums.xx - first(empty.xx), xu=sums.xu - first(empty.xu)
        )  # the noise remains
        found = estimate(junk, check_rows(300, seed), seed, redraws=20)
        counted.append(found.counts)
        assert found.shares().sum() == pytest.approx(float(found.counts.any()))
        assert not found.shares()[~found.counts].any()
    rates = np.mean(counted, axis=0)
    assert rates[0] <= 0.05
    assert rates[2] > 0.8


def test_an_answer_that_shrinks_the_own_model_takes_no_records():
    """The own model has too large effects, and errs elsewhere; made-up targets mend the first alone."""
    best = np.linspace(1, -1, P)
    own = 2 * best + 1.5 * np.array([1, -1, -1, 1])
    task, _ = market(np.inf, replace(BOUNDED, centre=own, radius=4.0), n=3000)
    (sums,) = released_runs(task, [0])
    rows = check_rows(600, 11)
    away = np.linalg.solve(sums.coordinates.transform, -0.6 * own)
    made_up = replace(sums, xu=np.vstack([sums.xx[0] @ away, sums.xu[1:]]))
    paid = []
    for given in (sums, made_up):
        found = estimate(given, rows, redraws=5)
        assert (found.shapley.answer > 4 * found.shapley.records_error).all()
        paid.append(found.counts.tolist())
    assert paid == [[True, True, True], [False, True, True]]


def test_shrinking_gains_what_the_best_factor_does():
    rows = check_rows(600, 11)
    best = np.linspace(1, -1, P)
    half = rows.fitness.value(2 * best) - rows.fitness.value(best)
    assert shrink_gain(rows, 2 * best).mean() == pytest.approx(half, rel=0.02)
    assert shrink_gain(rows, 0.5 * best).mean() == pytest.approx(0, abs=1e-12)


def first(sums):
    """The sums of the first owner, and nothing of the others."""
    return sums * (np.arange(3) == 0).reshape(-1, *[1] * (sums.ndim - 1))


def quieted(task):
    owners = [replace(one, scale=0.0) for one in task.owners]
    return replace(task, owners=owners)
