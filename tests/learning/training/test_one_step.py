"""One step: Newton's without noise, and with it as far off as its law says; noise as wide as the joint release asks for."""

from dataclasses import replace

import numpy as np
import pytest
from populations import generated
from releases import BOUNDED, WHOLE, P, market

from learning.losses.moment_bounds import Scores, noise_stretch
from learning.losses.statistics import squared_statistics
from learning.privacy.gaussian import exact_distance
from learning.privacy.laplace import Laplace
from learning.training.adassp import OneStep
from learning.training.engine import train
from learning.training.noisy_statistics import release_deviations, release_statistics


@pytest.mark.parametrize("regularisation", [0.0, 0.3])
def test_without_noise_and_clipping_one_step_ends_at_the_minimum(regularisation):
    task, _ = market(coordinates=WHOLE, regularisation=regularisation)
    trained = train(task)
    x, y = generated(600, P, np.random.default_rng(1))
    gradient = (
        squared_statistics(x, y).gradient(trained.theta[0]) + regularisation * trained.theta[0]
    )
    assert np.abs(gradient).max() < 1e-10 and trained.projected == 0 and len(trained.path) == 2


def test_without_noise_it_is_newtons_step_on_shortened_records():
    """From phi = 0: minus the inverse of their mean curvature times the mean of their clipped gradients."""
    task, pooled = market()
    start = pooled.gradient(np.zeros(P))
    assert OneStep().run(task).last[0] == pytest.approx(-np.linalg.solve(pooled.hessian, start))
    x, y = generated(600, P, np.random.default_rng(1))
    gradients = -2 * (y - x @ BOUNDED.centre)[:, None] * (x @ BOUNDED.transform)
    longest = np.linalg.norm(gradients, axis=1)
    far = replace(BOUNDED, radius=1e6, scores=Scores(1.0, 0.4))
    clipped = (gradients * np.minimum(1, far.gradient_bound / longest)[:, None]).mean(axis=0)
    assert longest.max() > 2 * far.gradient_bound == 4.0
    assert market(coordinates=far)[1].gradient(np.zeros(P)) == pytest.approx(clipped)


def test_noise_on_both_parts_spends_the_budget_at_the_worst_pair():
    task, _ = market(1.3)
    owner = task.owners[1]
    scores = BOUNDED.scores
    size = 200
    widened = noise_stretch(scores.share)
    matrix, vector = (float(v) for v in release_deviations(BOUNDED, owner.scale, size, widened))
    apart = np.hypot(
        2 * scores.bound / vector, BOUNDED.radius**2 / matrix
    )  # a long record and a short one
    assert apart == pytest.approx(float(exact_distance(1.3, 1e-6)), rel=1e-12)
    seen = release_statistics(task, owner, [0, 1])
    assert seen.matrix_deviation == pytest.approx(
        matrix
    ) and seen.vector_deviation == pytest.approx(vector)
    persons = replace(BOUNDED, rows_per_person=3)
    scale = task.mechanism.scale(1.3, size, persons.gradient_bound, 1)
    assert release_deviations(persons, scale, size, widened)[1] == pytest.approx(3 * vector)


@pytest.mark.slow
def test_steps_with_noise_miss_as_far_as_their_law_says():
    """20,000 steps: the mean square of what noise adds, in the curvature, within 4 standard errors of v^2 tr G + ..."""
    runs = 20_000
    task, pooled = market(3.0, runs=runs, n=60_000)
    done = OneStep().run(task).last
    moments = pooled.xx / pooled.n_records
    score = pooled.xy / pooled.n_records
    phi = np.linalg.solve(moments, score)
    inverse = np.linalg.inv(moments)
    widened = noise_stretch(BOUNDED.scores.share)
    noise = [
        release_deviations(BOUNDED, one.scale, one.records.n_records, widened)
        for one in task.owners
    ]
    s, v = np.sqrt(np.sum(np.square(noise), axis=0)) / pooled.n_records
    expected = v**2 * np.trace(inverse) + s**2 / 2 * (
        phi @ phi * np.trace(inverse) + phi @ inverse @ phi
    )
    excess = np.einsum("ri,ij,rj->r", done - phi, moments, done - phi)
    assert (
        s**2 / 2 * (phi @ phi) * np.trace(inverse) > 0.02 * expected
    )  # noise on the moments shows
    assert abs(excess.mean() - expected) < 4 * excess.std() / np.sqrt(runs) + 0.01 * expected


def test_noise_that_goes_by_1_norm_is_refused():
    task, _ = market(1.0)
    with pytest.raises(ValueError, match="2-norm"):
        OneStep().run(replace(task, mechanism=Laplace()))
