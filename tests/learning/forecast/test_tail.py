"""The tail of public gradients: what clipping takes off, the radius that follows, and the rows that rehearsals see."""

from dataclasses import replace

import numpy as np
import pytest
import scipy
from sizes import sized

from learning.forecast.public_sample import PublicSample
from learning.forecast.tail import (
    SCALES,
    SHAPES,
    best_radius,
    expected_size,
    fit_tail,
    fresh_gradients,
    stretch_residuals,
)
from learning.losses.clipping import RECORD
from learning.losses.coordinates import Coordinates, whitening_transform
from learning.losses.losses import as_loss
from learning.losses.moment_bounds import Scores

RNG = np.random.default_rng(1)


@pytest.fixture(autouse=True)
def _drawn_anew():
    """Each test draws the same, whichever run before it."""
    RNG.bit_generator.state = np.random.default_rng(1).bit_generator.state


def sample_of(rows=150, width=4, loss="squared"):
    x = np.column_stack([np.ones(rows), RNG.standard_t(4, size=(rows, width - 1))])
    y = x @ np.arange(width) + RNG.standard_t(4, size=rows)
    return PublicSample(
        x, np.sign(y) if loss != "squared" else y, 0.0 if loss == "squared" else 0.1, as_loss(loss)
    )


def bounds_of(sample, norm=2):
    return Coordinates(
        sample.model,
        whitening_transform(sample.x.T @ sample.x / sample.n_records),
        norm=norm,
        loss=sample.loss,
        clipping=RECORD,
    )


@pytest.fixture(scope="module")
def tail():
    return fit_tail(RNG.standard_t(5, size=200) ** 2)


def test_a_drawn_tail_is_generalised_pareto_and_the_tail_is_their_mean(tail):
    """By a second route: SciPy's law, drawn tail by drawn tail, integrated number by number."""
    radii = tail.threshold + tail.unit * np.array([0.0, 1.0, 4.0])
    cut = []
    expected = []
    for _ in range(40):
        one = tail.draw_tail(RNG)
        shape, scale = (int(i[0]) for i in np.nonzero(one.odds))
        law = scipy.stats.genpareto(SHAPES[shape], scale=SCALES[scale] * tail.unit)
        if len(cut) < 5:
            taken = [
                scipy.integrate.quad(law.sf, radius - tail.threshold, np.inf)[0] for radius in radii
            ]
            np.testing.assert_allclose(
                np.sqrt(one.squared_cut(radii)), np.array(taken) * 40 / 200, rtol=1e-3
            )
        cut.append(one.squared_cut(radii))
        expected.append(one.expected_lengths().mean())
        if len(cut) == 1:
            parts = law.ppf((np.arange(40 * 64) + 0.5) / (40 * 64)).reshape(40, 64).mean(axis=1)
            np.testing.assert_allclose(one.expected_lengths() - tail.threshold, parts, rtol=0.02)
    spread = np.std(cut, axis=0) / np.sqrt(len(cut))
    np.testing.assert_array_less(np.abs(np.mean(cut, axis=0) - tail.squared_cut(radii)), 4 * spread)
    assert abs(np.mean(expected) - tail.expected_lengths().mean()) < 4 * np.std(expected) / np.sqrt(
        len(expected)
    )


def test_below_the_threshold_rows_count_as_they_are(tail):
    radius = np.quantile(tail.lengths, 0.3)
    shown = np.maximum(tail.lengths[:-40] - radius, 0).sum() + (tail.threshold - radius) * 40
    more = np.sqrt(tail.squared_cut(np.array([tail.threshold])))[0]
    assert shown / 200 + more == pytest.approx(
        np.sqrt(tail.squared_cut(np.array([radius])))[0], rel=0.02
    )


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_fresh_gradients_are_those_without_the_row(loss):
    sample = sample_of(rows=40, loss=loss)
    found = np.linalg.norm(fresh_gradients(sample, bounds_of(sample)), axis=1)
    for i in range(0, 40, 7):
        rest = np.arange(40) != i
        x = sample.x[rest]
        y = sample.y[rest]
        model = sample.model if loss == "logistic" else PublicSample(x, y).model
        slope = sample.loss.derivative(
            sample.loss.scores(sample.x[i : i + 1], sample.y[i : i + 1], model)
        )[0]
        length = np.linalg.norm(whitening_transform(x.T @ x / 40) @ sample.x[i]) * abs(slope)
        assert found[i] == pytest.approx(length, rel=1e-6)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_the_radius_falls_with_noise(loss):
    sample = sample_of(loss=loss)
    found = [best_radius(sample, bounds_of(sample), noise) for noise in (1e-9, 1e-6, 1e-4, 1e-2)]
    assert found == sorted(found, reverse=True) and found[0] > 2 * found[-1], found


@pytest.mark.parametrize("spread", [0.4, 1.0])
def test_the_radius_is_near_the_best_on_records_that_one_cannot_see(spread):
    """Skewed residuals, of more or less long tails: bias plus noise at the radius, on 20,000 records, on average."""
    ours = []
    best = []
    noise = 2e-5

    def drawn(rows):
        x = np.column_stack([np.ones(rows), RNG.normal(size=(rows, 3))])
        return PublicSample(x, RNG.lognormal(sigma=spread, size=rows))

    for _ in range(12):
        sample = drawn(150)
        records = drawn(20_000)
        gradients = (
            2
            * (records.x @ records.model - records.y)[:, None]
            * (records.x @ bounds_of(sample).transform)
        )
        lengths = np.linalg.norm(gradients, axis=1)

        def error(radius, gradients=gradients, lengths=lengths):
            taken = (gradients * np.maximum(0, 1 - radius / lengths)[:, None]).mean(axis=0)
            return taken @ taken + 4 * noise * radius**2

        ours.append(error(best_radius(sample, bounds_of(sample), noise)))
        best.append(
            min(error(radius) for radius in np.quantile(lengths, 0.9) * np.geomspace(1, 40, 60))
        )
    assert np.mean(ours) < 1.7 * np.mean(best), (np.mean(ours), np.mean(best))


def test_stretched_rows_have_the_same_optimum_and_a_longer_tail():
    sample = sample_of()
    bounds = replace(bounds_of(sample), clipping=RECORD)
    found = stretch_residuals(sample, bounds)
    np.testing.assert_allclose(found.model, sample.model, atol=1e-9)
    before, after = (np.sort(np.abs(one.y - one.x @ one.model)) for one in (sample, found))
    assert after[-1] > before[-1] and np.median(after) == pytest.approx(np.median(before), rel=0.2)
    drawn = {
        stretch_residuals(sample, bounds, np.random.default_rng(seed)).y.max() for seed in range(4)
    }
    assert len(drawn) == 4
    assert stretch_residuals(sample_of(loss="hinge"), bounds).n_records == 150


def test_stretched_rows_tell_how_much_of_scores_is_clipped():
    """Mean length beyond the longest score that 150 rows show, of fresh records: by the rows themselves it is 0."""
    fresh = sample_of(rows=50_000)
    missed = fresh.y - fresh.x @ np.arange(4)
    held = 0
    samples = sized(12, 40)
    for seed in range(samples):
        sample = sample_of()
        bounds = replace(bounds_of(sample), clipping="parts", scores=Scores(1.0, 0.5))
        whitened = np.linalg.norm(fresh.x @ bounds.transform, axis=1)
        shown = np.linalg.norm(sample.x @ bounds.transform, axis=1)
        limit = np.max(np.abs(sample.y - sample.x @ sample.model) * shown)
        true = np.maximum(np.abs(missed) * whitened - limit, 0).mean()
        taken = []
        for draw in range(40):
            found = stretch_residuals(sample, bounds, np.random.default_rng((seed, draw)))
            lengths = np.abs(found.y - found.x @ found.model) * shown
            taken.append(np.maximum(lengths - limit, 0).mean())
        held += np.quantile(taken, 0.025) <= true <= np.quantile(taken, 0.975)
    assert held >= 0.8 * samples  # 0 without stretching


def test_rows_that_are_fitted_without_error_stay():
    x = RNG.normal(size=(50, 3))
    exact = PublicSample(x, np.zeros(50))
    bounds = replace(bounds_of(exact), clipping=RECORD)
    assert stretch_residuals(exact, bounds) is exact


@pytest.mark.parametrize(("width", "length"), [(1, 0.5), (2, 2.0), (7, 1.0)])
def test_the_expected_size_of_a_bias_by_brute_force(width, length):
    """Mean square over 400,000 draws from the prior, weighted by their likelihood."""
    rng = np.random.default_rng(0)
    influence = rng.standard_normal((50, width))
    unit = influence.var(axis=0).sum() / 50 / width
    shown = np.full(width, length) * np.sqrt(unit)
    share = rng.random(400_000)
    true = rng.standard_normal((400_000, width)) * np.sqrt(unit * (1 / share - 1))[:, None]
    near = np.exp(-0.5 * np.sum((true - shown) ** 2, axis=1) / unit)
    square = np.average(np.sum(true**2, axis=1), weights=near)
    found = expected_size(influence - influence.mean(axis=0) + shown, influence)
    assert found**2 * (shown @ shown) == pytest.approx(square, rel=0.15)
    assert expected_size(np.zeros((50, width)), influence) == 1
