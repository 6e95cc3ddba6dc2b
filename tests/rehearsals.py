"""A small problem, its rehearsals and plans, for tests of rehearsed training."""

from dataclasses import replace
from functools import cache

import numpy as np

from learning.forecast.rehearsal import Rehearsal
from learning.losses.clipping import RECORD
from learning.losses.coordinates import Coordinates
from learning.losses.first_moments import Moments
from learning.losses.losses import as_loss
from learning.losses.moment_bounds import Scores
from learning.privacy.gaussian import Gaussian
from learning.privacy.l2 import L2
from learning.privacy.laplace import Laplace
from learning.privacy.subsampled import SubsampledGaussian
from learning.training.algorithms import ALGORITHMS
from learning.training.clocks import Clocks
from learning.training.plan import Plan

SIZES = np.array([100.0, 300.0, 200.0])
WEIGHTS = SIZES / SIZES.sum()
REGULARISATION = 0.02
PICKED = SubsampledGaussian(1e-6, int(SIZES.sum()), 40, "zcdp", 1)
GAUSSIAN = Gaussian(1e-6, "zcdp")
HORIZON = {"asynchronous": 40, "sgd1": 40, "adassp": 1, "one_step": 1, "newton": 2}
LEVEL = {
    (
        "synchronous",
        "squared",
    ): 1e-5,  # less than what reaches the ball, where the shape of the noise counts too
    ("weighted", "logistic"): 1e-3,
    ("sgd1", "squared"): 1e-2,
    ("sgd1", "hinge"): 3e-2,
}
STEP = {"synchronous": 6.0 * 36, "asynchronous": 800.0, "weighted": 0.4, "sgd1": 0.3}


@cache
def population(loss, p=3, n=600):
    rng = np.random.default_rng(7)
    x = np.column_stack([rng.uniform(-1, 1, (n, p - 1)), np.ones(n)])
    score = x @ np.linspace(1, -1, p)
    y = score + 0.5 * rng.normal(size=n)
    return x, y if loss == "squared" else np.where(y > 0, 1.0, -1.0)


def stage(algorithm, loss="squared", mechanism=None, *, starts=1, ball=3.0, **more):
    x, y = population(loss)
    if ALGORITHMS[algorithm].moments:
        mechanism = L2(3).with_moments(0.5)
    mechanism = mechanism or (
        PICKED
        if algorithm == "sgd1"
        else GAUSSIAN
        if not ALGORITHMS[algorithm].takes_steps
        else Laplace()
    )
    cost = as_loss(loss).fitness([(x, y)], REGULARISATION)
    own = [
        Coordinates(np.full(3, 0.1 * w), np.eye(3), 2.5, 3.0, ball, mechanism.norm, loss)
        for w in range(starts)
    ]
    if ALGORITHMS[algorithm].scores:
        own = [replace(one, scores=Scores(5.0, 0.4)) for one in own]
    if ALGORITHMS[algorithm].moments:
        own = [replace(one, clipping=RECORD, moments=Moments(2.0, 0.5, 0.2)) for one in own]
    return Rehearsal(
        x, y, cost, tuple(own), SIZES, WEIGHTS, mechanism, algorithm, **{"seed": 3, **more}
    )


def plan_of(algorithm, priced=None):
    return Plan(
        algorithm, "last", HORIZON.get(algorithm, 6), STEP.get(algorithm, 0.4), Clocks(), priced
    )
