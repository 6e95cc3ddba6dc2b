"""The learner's own model where rows are few, and directions that few rows carry."""

from dataclasses import replace

import numpy as np
import pytest

from learning.forecast.bootstrap import draw_bootstrap
from learning.forecast.public_sample import PublicSample, thin_lift
from learning.losses.coordinates import WHITENING_FLOOR


def rows_of(n, p, rng, noise=3.0):
    x = np.column_stack([rng.normal(size=(n, p - 1)), np.ones(n)])
    return x, x[:, 0] + 5 + noise * rng.normal(size=n)


def fitted(x, y, ridge):
    """Slopes held back by augmented least squares: a second route to the ridge."""
    slopes = np.eye(x.shape[1])[:-1]
    size = np.sqrt(len(y) * ridge * x.var(axis=0)[:-1].mean())
    larger = np.vstack([x, size * slopes])
    return np.linalg.lstsq(larger, np.append(y, np.zeros(len(slopes))), rcond=None)[0]


def test_the_error_left_out_is_that_of_refitted_models():
    """Each row under the model of all others, with the penalty of all rows."""
    rng = np.random.default_rng(1)
    x, y = rows_of(40, 5, rng)
    sample = PublicSample(x, y)
    scale = x.var(axis=0)[:-1].mean()
    found = []
    for i in range(40):
        kept = np.arange(40) != i
        hessian = x[kept].T @ x[kept] + 40 * 0.1 * scale * np.diag([1.0, 1, 1, 1, 0])
        found.append((y[i] - x[i] @ np.linalg.solve(hessian, y[kept] @ x[kept])) ** 2)
    assert sample._error_left_out(0.1) == pytest.approx(np.mean(found))


def test_few_noisy_rows_hold_the_own_model_back_and_many_do_not():
    rng = np.random.default_rng(2)
    x, y = rows_of(60, 12, rng)
    few = PublicSample(x, y)
    assert few.ridge > 0 and few.regularisation == 0
    assert few.model == pytest.approx(fitted(x, y, few.ridge))
    many = PublicSample(*rows_of(3000, 12, rng))
    assert many.ridge == 0
    assert many.model == pytest.approx(np.linalg.lstsq(many.x, many.y, rcond=None)[0])


@pytest.mark.parametrize("seed", range(3))
def test_the_ridge_makes_the_own_model_better_on_fresh_records(seed):
    rng = np.random.default_rng(seed)
    fresh, wanted = rows_of(20_000, 12, rng)
    errors = []
    for stated in (None, 0.0):
        draws = np.random.default_rng(100 + seed)
        made = [PublicSample(*rows_of(60, 12, draws), stated_ridge=stated) for _ in range(40)]
        errors.append(np.mean([np.mean((wanted - fresh @ one.model) ** 2) for one in made]))
    assert errors[0] < errors[1]


def test_the_cost_has_no_ridge():
    """Models are judged by the mean squared loss of the population, whatever holds the own back."""
    x, y = rows_of(60, 12, np.random.default_rng(2))
    sample = PublicSample(x, y)
    shown, target = sample.population()
    free = np.linalg.lstsq(shown, target, rcond=None)[0]
    assert sample.ridge > 0
    assert sample.truth == pytest.approx(free)
    assert sample.fitness.optimum == pytest.approx(np.mean((target - shown @ free) ** 2))


def test_bootstrap_models_are_held_back_as_the_own_one_is():
    x, y = rows_of(60, 12, np.random.default_rng(2))
    sample = PublicSample(x, y)
    rng = np.random.default_rng(3)
    made = draw_bootstrap(
        sample, start="public", precondition=True, total_size=10**9, resamples=5, rng=rng
    )
    shown, target = sample.population()
    scale = x.var(axis=0)[:-1].mean()
    for model, rows in zip(made.fitted_models, made.rows, strict=True):
        hessian = shown[rows].T @ shown[rows] / 60 + sample.ridge * scale * np.diag(
            [*11 * [1.0], 0]
        )
        assert model == pytest.approx(np.linalg.solve(hessian, target[rows] @ shown[rows] / 60))


def thin_sample(rng):
    """Four of 400 rows alone carry a direction; another one is small in all rows alike."""
    rare = np.zeros(400)
    rare[:4] = 0.3
    small = rng.normal(size=400)
    x = np.column_stack([small, small + 1e-4 * rng.normal(size=400), rare, np.ones(400)])
    return PublicSample(x, x @ [1.0, 0, 1, 0] + rng.normal(size=400))


def test_samples_without_the_rows_of_a_direction_do_not_stretch_it():
    """Of 200 bootstrap samples about four miss all four rows."""
    sample = thin_sample(np.random.default_rng(4))
    settings = {"start": "public", "precondition": True, "total_size": 10**4, "resamples": 200}
    made = draw_bootstrap(sample.solved, **settings, rng=np.random.default_rng(5))
    assert (made.rows >= 4).all(axis=1).any()
    largest = np.linalg.eigvalsh(sample.x.T @ sample.x / 400)[-1]
    along = np.linalg.norm(made.transforms @ [0.0, 0, 1, 0], axis=1)
    assert along.max() < 1.1 / np.sqrt(WHITENING_FLOOR * largest)
    bare = replace(sample.solved, lift=None)
    worse = draw_bootstrap(bare, **settings, rng=np.random.default_rng(5))
    assert np.linalg.norm(worse.transforms @ [0.0, 0, 1, 0], axis=1).max() > 100 * along.max()


def test_a_small_direction_of_all_rows_is_whitened_for_a_release_alone():
    sample = thin_sample(np.random.default_rng(4))
    moments = sample.x.T @ sample.x / 400
    across = np.array([1.0, -1, 0, 0]) / np.sqrt(2)
    for one, whole in ((sample.solved, True), (sample, False)):
        scale = one.scale_matrix(moments, True)
        curvature = np.linalg.norm(sample.x @ scale @ across) / 20
        assert (curvature == pytest.approx(1, rel=1e-3)) == whole
    assert thin_lift(sample.x) @ across == pytest.approx(np.zeros(4), abs=1e-6)
