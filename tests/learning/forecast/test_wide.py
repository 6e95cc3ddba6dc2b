"""Wide models: what is computed once for several bounds, and what is lost where less is computed."""

import tracemalloc

import numpy as np
import pytest
from populations import generated, planning_inputs

from learning.forecast import bootstrap as bootstrap_module
from learning.forecast import own_check, public_sample
from learning.forecast.bootstrap import draw_bootstrap
from learning.forecast.exact_planner import exact_planner
from learning.forecast.inputs import Settings
from learning.forecast.prediction import Prediction, quantiles
from learning.forecast.public_sample import PublicSample
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
        several = bootstrap.training_problems(2.0, [0.3, 1.0], corrected=corrected)
        for target, found in zip((0.3, 1.0), several, strict=True):
            alone = bootstrap.training_problem(2.0, target, corrected=corrected)
            for one, other in (
                (found.offset, alone.offset),
                (found.start_error, alone.start_error),
            ):
                np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def test_what_is_computed_in_blocks_is_that_of_all_samples_at_once(sample, monkeypatch):
    """In blocks of one sample, of three, and of all; no block holds more numbers than it may."""
    wide = PublicSample(*generated(400, 24, np.random.default_rng(0)))
    found = []
    for block in (1, 3 * wide.x.size, 2**30):
        monkeypatch.setattr(bootstrap_module, "BLOCK", block)
        tracemalloc.start()
        bootstrap = draw_bootstrap(
            wide,
            start="public",
            precondition=True,
            total_size=20_000,
            resamples=40,
            rng=np.random.default_rng(1),
        )
        drawn = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        problem = bootstrap.training_problem(2.0, 0.3, corrected=True)
        clipped = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        found.append((bootstrap, problem, drawn, clipped))
    *blocks, (bootstrap, problem, drawn, clipped) = found
    for other, parted, little, less in blocks:
        assert little < drawn / 2
        assert less < clipped / 2
        for one, two in ((other, bootstrap), (parted, problem)):
            for name, value in vars(two).items():
                if isinstance(value, np.ndarray):
                    np.testing.assert_allclose(vars(one)[name], value, rtol=1e-9, atol=1e-12)


def test_clipped_problems_have_their_fixed_point_where_the_clipped_records_do(sample):
    bootstrap = draw_bootstrap(
        sample,
        start="zero",
        precondition=False,
        total_size=20_000,
        resamples=2,
        rng=np.random.default_rng(1),
    )
    x, y = sample.population()
    length = np.abs(x).sum(axis=1)
    clipped = x * np.minimum(1, 2.0 / length)[:, None]
    for target in (0.3, 1.0):
        problem = bootstrap.training_problem(2.0, target)
        best = np.linalg.lstsq(clipped, np.clip(y, -target, target), rcond=None)[0]
        np.testing.assert_allclose(
            -(problem.basis @ problem.start_error[..., None])[..., 0], [best, best], atol=1e-9
        )


def test_a_wide_forecast_is_near_the_full_one(sample, monkeypatch):
    inputs = planning_inputs(sample, Settings(), 2.0, np.array([6000, 6000, 8000]))
    full = exact_planner(inputs, Laplace())
    monkeypatch.setattr(public_sample, "WIDE", P / 3)  # a ninth of the resamples
    less = exact_planner(inputs, Laplace())
    assert len(less.bootstrap) == max(8, round(len(full.bootstrap) / 9)) < len(full.bootstrap)
    epsilon = inputs.owners.reference
    assert less.forecast.at(epsilon) == pytest.approx(full.forecast.at(epsilon), rel=0.3)
    low, high = less.predict(epsilon).interval()
    assert low < full.forecast.at(epsilon) < high


@pytest.mark.parametrize("worlds", [8, 24])
def test_an_interval_of_few_worlds_reaches_as_far_as_students(worlds):
    """Coverage of one value more, 1,000 times: 95 % within three standard errors of 0.7 %; without, 79 and 87 %."""
    draws = np.exp(np.random.default_rng(0).normal(-4, 0.8, (1000, worlds + 1)))
    seen = draws[:, :-1]
    new = draws[:, -1]
    ends = np.array([Prediction(one, one[::-1]).interval() for one in seen])
    others = np.array([Prediction(one[::-1], one).outside_interval() for one in seen])
    low, high = np.quantile(seen, [0.025, 0.975], axis=1)
    assert np.mean((ends[:, 0] < new) & (new < ends[:, 1])) == pytest.approx(0.95, abs=0.021)
    assert np.mean((low < new) & (new < high)) < 0.89
    np.testing.assert_array_equal(ends, others)


def test_few_gains_may_lie_on_either_side_of_nothing():
    seen = np.random.default_rng(1).normal(0, 1, (1000, 13))
    ends = np.array([quantiles(one[:-1], 0.9) for one in seen])
    assert np.mean((ends[:, 0] < seen[:, -1]) & (seen[:, -1] < ends[:, 1])) == pytest.approx(
        0.9, abs=0.03
    )
    many = np.linspace(0, 1, 200)
    assert quantiles(many, 0.9) == pytest.approx((0.05, 0.95))


def test_doubts_of_a_wide_covariance_need_no_product_of_every_row():
    rng = np.random.default_rng(0)
    seen = rng.normal(size=(1200, 100))
    tracemalloc.start()
    doubts = own_check.covariance_roots(seen, seen.var(axis=0), 8, rng)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert doubts.shape == (8, 100, 100) and most < 2e7  # all products: 96 MB
