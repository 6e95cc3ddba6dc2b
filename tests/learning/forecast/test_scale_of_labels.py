"""The scale of training: of labels by the curvature of records, else by second moments."""

import numpy as np
import pytest

from learning.forecast.bootstrap import draw_bootstrap
from learning.forecast.public_sample import PublicSample
from learning.losses.losses import as_loss

LOGISTIC = as_loss("logistic")


def labelled(n, rng, width=6, steep=2.0):
    """Rows whose columns have spreads from 0.1 to 1, and labels that the first ones tell."""
    x = np.column_stack([rng.normal(size=(n, width)) * np.geomspace(1, 0.1, width), np.ones(n)])
    score = x @ np.append(steep * 0.5 ** np.arange(width), -1.0)
    return x, np.where(rng.logistic(size=n) < score, 1.0, -1.0)


def test_labels_are_whitened_by_the_curvature_of_records_at_half_the_score():
    x, y = labelled(300, np.random.default_rng(0))
    sample = PublicSample(x, y, 1e-3, LOGISTIC)
    draw = {"start": "public", "precondition": True, "total_size": 3000, "resamples": 3}
    bootstrap = draw_bootstrap(sample, **draw, rng=np.random.default_rng(1))
    models = [sample.model, *bootstrap.fitted_models]
    scales = [sample.coordinates("public", True).transform, *bootstrap.transforms]
    every = [np.arange(300), *bootstrap.rows]
    for model, scale, rows in zip(models, scales, every, strict=True):
        chance = 1 / (1 + np.exp(-x[rows] @ model / 2))
        curved = np.average(
            [np.outer(one, one) for one in x[rows] @ scale], axis=0, weights=chance * (1 - chance)
        )
        assert curved == pytest.approx(np.eye(7), abs=1e-6)


@pytest.mark.parametrize("loss", ["squared", "hinge"])
def test_other_losses_are_whitened_by_moments(loss):
    x, y = labelled(300, np.random.default_rng(2))
    sample = PublicSample(x, y, 1e-3, as_loss(loss))
    draw = {"start": "public", "precondition": True, "total_size": 3000, "resamples": 2}
    bootstrap = draw_bootstrap(sample.smoothed, **draw, rng=np.random.default_rng(3))
    scales = [sample.coordinates("public", True).transform, *bootstrap.transforms]
    for scale, rows in zip(scales, [np.arange(300), *bootstrap.rows], strict=True):
        moved = x[rows] @ scale
        assert moved.T @ moved / 300 == pytest.approx(np.eye(7), abs=1e-9)
