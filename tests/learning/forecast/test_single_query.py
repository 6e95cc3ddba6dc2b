"""Training with one query: what is known exactly, against rehearsals by draws and against training itself."""

from dataclasses import replace

import numpy as np
import pytest
from rehearsals import REGULARISATION, WEIGHTS, population, stage

from learning.forecast.public_sample import PublicSample
from learning.forecast.rehearsal import Rehearsal
from learning.losses.clipping import PARTS, RECORD
from learning.losses.coordinates import Coordinates
from learning.losses.moment_bounds import Scores
from learning.privacy.gaussian import Gaussian
from learning.privacy.l2 import L2
from learning.privacy.laplace import Laplace
from learning.randomness import Streams
from learning.training.client import Client
from learning.training.engine import train
from learning.training.task import Task

STEPS = np.array([0.2, 0.6])
LEVELS = np.array([0.0, 0.1, 1.0])
MECHANISMS = {"laplace": Laplace(), "l2": L2(3), "gaussian": Gaussian(1e-6, "zcdp")}


def clipped(mechanism, ball=np.inf):
    of = stage("averaged", mechanism=mechanism, starts=2, ball=ball)
    scale = np.array([[1.0, 0.2, 0.0], [0.2, 0.7, 0.1], [0.0, 0.1, 1.5]])
    starts = [replace(one, clipping=RECORD, radius=1.5, transform=scale) for one in of.starts]
    return replace(of, starts=tuple(starts))


@pytest.mark.parametrize("name", MECHANISMS)
def test_what_is_known_is_the_mean_of_what_is_drawn(name, monkeypatch):
    of = clipped(MECHANISMS[name])
    repeats = 800
    known = of.rehearse(2, STEPS, LEVELS, repeats=2, returned=("last",))[0]
    assert (known[..., 0] == known[..., 1]).all()
    monkeypatch.setattr(Rehearsal, "asks_once", lambda self, horizon: False)
    drawn = of.rehearse(2, STEPS, LEVELS, repeats=repeats, returned=("last",))[0]
    error = drawn.std(axis=-1, ddof=1) / np.sqrt(repeats)
    np.testing.assert_allclose(
        drawn[:, 0].mean(axis=-1), known[:, 0, :, 0], rtol=1e-5
    )  # records are in single precision
    assert (np.abs(drawn.mean(axis=-1) - known[..., 0])[:, 1:] < 3.5 * error[:, 1:]).all()


def test_it_is_what_training_comes_to():
    of = clipped(L2(3))
    runs = 4000
    level = 0.1
    start, (x, y) = of.starts[1], population("squared")
    known = of.rehearse(2, np.array([0.5]), np.array([level]), repeats=1, returned=("last",))[
        0, 0, 0, 1, 0
    ]
    plan = of.make_plan("last", 2, 0.5)
    scale = float(
        of.mechanism.scale_of_variance(
            start.noise_bound**2 * float(of.mechanism.horizon_factor(plan.priced)) * level
        )
    )
    rows = np.split(np.arange(600), [100, 400])
    owners = [
        Client(
            f"owner {i}",
            start.oracle(x[own], y[own]),
            scale / np.sqrt(np.sum(WEIGHTS**2)),
            plan.priced,
        )
        for i, own in enumerate(rows)
    ]
    trained = train(
        Task(owners, start, plan, of.mechanism, runs, Streams(5, "noise"), REGULARISATION, WEIGHTS)
    )
    came = of.cost.relative(trained.theta)
    chance = of._remove_chance(start, start.oracle(x, y)).shift
    moved = of.cost.relative(
        trained.theta - 0.5 * chance @ start.transform
    )  # forecasts take off what chance adds
    error = came.std(ddof=1) / np.sqrt(runs)
    assert abs(moved.mean() - known) < 3 * error < 0.1 * known


def test_where_the_ball_may_hold_training_back_it_is_drawn():
    tight, wide = (
        clipped(Laplace(), ball).rehearse(2, STEPS, LEVELS[2:], repeats=3) for ball in (0.3, 1e3)
    )
    assert (tight[0, ..., 0] != tight[0, ..., 1]).all()
    assert (wide[0, ..., 0] == wide[0, ..., 1]).all()
    assert (clipped(Laplace()).rehearse(3, STEPS, LEVELS[2:], repeats=2)[0].std(axis=-1) > 0).all()


@pytest.mark.parametrize("algorithm", ["averaged", "one_step"])
def test_the_clipping_bias_that_is_rehearsed_is_about_the_true_one(algorithm):
    """Its mean square over public rows of a skewed population; as the rows show it, it is 1.6 or 2.1 times as large."""
    rng = np.random.default_rng(3)
    start = Coordinates(np.zeros(6), np.eye(6), 6.0, theta_max=9.0, norm=2, clipping=RECORD)
    if algorithm == "one_step":
        start = replace(start, radius=9.0, clipping=PARTS, scores=Scores(3.0, 0.5))
    squares = []
    for rows in [40_000, *[100] * 100]:
        x = np.column_stack([np.ones(rows), rng.normal(size=(rows, 5))])
        sample = PublicSample(x, rng.exponential(size=rows) - 1)
        made = Rehearsal.from_sample(sample, (start,), np.array([9e3]), L2(6), algorithm)
        (owner,) = made.proxy_owners(start, 1, np.zeros(1))
        for held in start.oracle(*sample.population()), owner.records:
            squares.append(np.sum(held.gradient(sample.truth[None]) ** 2))
    shown, rehearsed = np.mean(np.reshape(squares[2:], (-1, 2)), axis=0) / squares[0]
    assert 0.6 < rehearsed < 1.2 < 1.4 < shown
