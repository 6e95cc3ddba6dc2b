"""Wide models: what is computed once for several bounds, and what is lost where less is computed."""

import tracemalloc

import numpy as np
import pytest
from populations import generated, planning_inputs

from learning.forecast import homogeneity, wide
from learning.forecast.bootstrap import draw_bootstrap
from learning.forecast.exact_planner import exact_planner
from learning.forecast.interval import Prediction
from learning.forecast.public_sample import PublicSample
from learning.forecast.settings import Settings
from learning.privacy.laplace import Laplace

P = 6


@pytest.fixture(scope="module")
def sample():
    return PublicSample(*generated(400, P, np.random.default_rng(0)))


def test_problems_of_several_target_bounds_are_those_of_each(sample):
    rng = np.random.default_rng(1)
    bootstrap = draw_bootstrap(
        sample, start="public", precondition=True, total_size=20_000, resamples=7, rng=rng, norm=2
    )
    for corrected in (False, True):
        several = bootstrap.problems(2.0, [0.3, 1.0], corrected=corrected)
        for target, found in zip((0.3, 1.0), several, strict=True):
            alone = bootstrap.problem(2.0, target, corrected=corrected)
            for one, other in ((found.offset, alone.offset), (found.start_error, alone.start_error)):
                np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def test_clipped_problems_have_their_fixed_point_where_the_clipped_records_do(sample):
    bootstrap = draw_bootstrap(
        sample, start="zero", precondition=False, total_size=20_000, resamples=2, rng=np.random.default_rng(1)
    )
    x, y = sample.population()
    length = np.abs(x).sum(axis=1)
    clipped = x * np.minimum(1, 2.0 / length)[:, None]
    for target in (0.3, 1.0):
        problem = bootstrap.problem(2.0, target)
        best = np.linalg.lstsq(clipped, np.clip(y, -target, target), rcond=None)[0]
        np.testing.assert_allclose(-(problem.basis @ problem.start_error[..., None])[..., 0], [best, best], atol=1e-9)


def test_a_wide_forecast_is_near_the_full_one(sample, monkeypatch):
    inputs = planning_inputs(sample, Settings(), 2.0, np.array([6000, 6000, 8000]))
    full = exact_planner(inputs, Laplace())
    monkeypatch.setattr(wide, "WIDE", P / 3)  # a ninth of the resamples
    less = exact_planner(inputs, Laplace())
    assert len(less.bootstrap) == max(8, round(len(full.bootstrap) / 9)) < len(full.bootstrap)
    epsilon = inputs.owners.reference
    assert less.forecast.at(epsilon) == pytest.approx(full.forecast.at(epsilon), rel=0.3)
    low, high = less.predict(epsilon).interval()
    assert low < full.forecast.at(epsilon) < high


def test_an_interval_of_few_worlds_reaches_as_far_as_students():
    """Coverage of one value more, 1,000 times: 95 % within three standard errors of 0.7 %; without, some 80 %."""
    draws = np.random.default_rng(0).normal(10, 1, (1000, 9))

    def covered(widened):
        hits = 0
        for *seen, new in draws:
            found = Prediction(np.array(seen), np.array(seen))
            low, high = found.interval() if widened else np.quantile(seen, [0.025, 0.975])
            hits += low < new < high
        return hits / len(draws)

    assert covered(True) == pytest.approx(0.95, abs=0.021) and covered(False) < 0.85


def test_doubts_of_a_wide_covariance_need_no_product_of_every_row():
    rng = np.random.default_rng(0)
    seen = rng.normal(size=(1200, 100))
    tracemalloc.start()
    doubts = homogeneity._doubts(seen, seen.var(axis=0), 8, rng)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert doubts.shape == (8, 100, 100) and most < 2e7  # all products: 96 MB
