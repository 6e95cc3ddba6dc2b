"""Intervals of a model's error by released sums, against what records say."""

from dataclasses import replace

import numpy as np
import pytest
from populations import generated
from releases import BOUNDED, WHOLE, P, market

from learning.forecast.error_seen import clipped_moves, see_error
from learning.forecast.public_sample import PublicSample
from learning.losses.moment_bounds import Scores
from learning.privacy.l2 import L2
from learning.training.engine import train

RUNS = 150
NOTHING = np.zeros(1)


def sample(longer=1.0, rows=400):
    x, y = generated(rows, P, np.random.default_rng(3))
    return PublicSample(longer * x, y)


def excess(task, statistics, theta):
    """Relative fitness of models on the pooled records, as training sees them."""
    coordinates = task.coordinates
    phi = np.linalg.solve(coordinates.transform, (theta - coordinates.centre).T).T
    best = np.linalg.solve(statistics.xx, statistics.xy)
    lowest = statistics.mean_loss(best[None])[0]
    return statistics.mean_loss(phi) / lowest - 1


@pytest.mark.parametrize("mechanism", [None, L2(width=P).with_moments(0.4)])
def test_nineteen_of_twenty_models_lie_in_their_intervals(mechanism):
    wide = replace(WHOLE, radius=2.6, scores=Scores(8.0, 0.4))
    task, pooled = market(30.0, wide, runs=RUNS, mechanism=mechanism)
    theta = train(task).theta
    rng = np.random.default_rng(1)
    ends = see_error(task, theta, sample(), range(RUNS), clipped=NOTHING, rng=rng)
    found = excess(task, pooled, theta)
    assert 0.92 < np.mean((ends[:, 0] < found) & (found < ends[:, 1])) < 0.99
    low, high = np.quantile(found, [0.025, 0.975])
    assert np.median(ends, axis=0) == pytest.approx([low, high], rel=0.35)
    known = see_error(task, theta[:1], sample(), [0], clipped=np.full(1, 0.5), rng=rng)
    assert 0.2 < known[0, 0] < 0.5 < known[0, 1]


def test_clipping_moves_the_model_as_on_the_records_themselves():
    """Public rows that are the owner's own: the mean part is A^1/2 (phi - phi*)."""
    x, y = generated(600, P, np.random.default_rng(1))
    own = PublicSample(x, y)
    task, clipped = market(runs=1)
    moved = x @ BOUNDED.transform
    whole = moved.T @ moved / len(y)
    away = np.linalg.solve(whole, moved.T @ (y - x @ BOUNDED.centre) / len(y))
    fresh = replace(own, y=x @ own.model + (y - x @ own.model) * np.sqrt(1 - P / 600))
    moves = clipped_moves(task, away, fresh, np.ones(3)).mean(axis=0)
    distance = np.linalg.solve(clipped.xx, clipped.xy) - away
    assert moves @ moves == pytest.approx(distance @ whole @ distance, rel=1e-6)
    assert moves @ moves > 1e-3


def test_longer_records_than_the_public_rows_add_to_the_error():
    task, _ = market(runs=1)
    theta = train(task).theta
    highest = []
    for longer in (1.0, 0.6):
        rng = np.random.default_rng(2)
        ends = see_error(task, theta, sample(longer), [0], clipped=NOTHING, rng=rng)
        highest.append(ends[0, 1])
    assert highest[1] > 10 * highest[0]
