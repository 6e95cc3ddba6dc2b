"""Training with one query: what is known exactly, against rehearsals by draws and against training itself."""

from dataclasses import replace

import numpy as np
import pytest
from rehearsals import REGULARISATION, WEIGHTS, population, stage

from learning.forecast.rehearsal import Rehearsal
from learning.forecast.tail import chance_of_bias
from learning.losses.clipping import RECORD
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


def test_the_more_rows_the_more_of_the_chance_in_a_clipping_bias_is_removed():
    """Half of it at 150 rows; the factor on the bias is read back from the shift."""
    of = clipped(Laplace())
    start = of.starts[1]
    x, y = population("squared")
    for n in (150, 600):
        few = replace(of, x=x[:n], y=y[:n])
        shift = few._remove_chance(start, start.oracle(x[:n], y[:n])).shift
        moved = few.x @ start.transform
        missed = few.x @ few.cost.minimiser - few.y
        whole = 2 * missed[:, None] * moved
        kept = start.within(whole, start.radius)
        bias = kept.mean(axis=0)
        left = 1 + float(shift @ bias) / float(bias @ bias)
        assert (1 - left**2) / chance_of_bias(whole, kept) == pytest.approx(n / (n + 150))
