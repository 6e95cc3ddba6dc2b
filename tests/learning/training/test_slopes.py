"""How the model improves with budgets and records: log-log slopes of -2 where noise dominates, as the papers show.

Wu et al., The Value of Collaboration, Figures 3 to 5. Each point is trained with noise of its own,
so the slopes are measured, not built in; widths are stated.
"""

import numpy as np
import pytest
from populations import bounded_coordinates, generated

from learning.losses.loss import RecordFitness
from learning.losses.losses import LOSSES
from learning.losses.squared import Fitness
from learning.losses.statistics import squared_statistics
from learning.privacy.laplace import Laplace
from learning.randomness import Streams
from learning.training.client import make_clients
from learning.training.engine import train
from learning.training.plan import Plan
from learning.training.task import Task

PLAN = Plan("averaged", "averaged", 30, 0.05)  # Algorithm 2 as published: the running mean


def trained_excess(x, y, epsilon, seed, runs):
    """E psi over the runs: three equal owners, training from the optimum itself so that noise is all that is left."""
    fitness = Fitness(squared_statistics(x, y))
    whole = bounded_coordinates(x, y, clip=1.0, theta_max=1e6)
    parts = [whole.oracle(x[i::3], y[i::3]) for i in range(3)]
    owners = make_clients("abc", parts, [epsilon] * 3, Laplace(), 10.0, PLAN.horizon)
    found = train(Task(owners, whole, PLAN, Laplace(), runs=runs, streams=Streams(seed, "slopes")))
    return float(fitness.relative(found.theta).mean())


def slope(at, heights):
    return float(np.polyfit(np.log(at), np.log(heights), 1)[0])


@pytest.mark.slow
def test_slope_in_epsilon():
    """Seven budgets over two decades; a height is known to 1.8 % (1,000 runs), the slope to 0.005, the width is 0.05."""
    x, y = generated(3000, 5, np.random.default_rng(1))
    budgets = np.geomspace(0.1, 10, 7)
    heights = [trained_excess(x, y, epsilon, seed, 1000) for seed, epsilon in enumerate(budgets)]
    assert slope(budgets, heights) == pytest.approx(-2, abs=0.05)


@pytest.mark.slow
def test_slope_in_records():
    """Six sizes over a decade and a half, fresh records each: their curvature and f* vary by some percent."""
    sizes = np.geomspace(600, 18_000, 6).astype(int)
    heights = [
        trained_excess(*generated(n, 5, np.random.default_rng(n)), 1.0, seed, 4000)
        for seed, n in enumerate(sizes.tolist())
    ]
    assert slope(sizes, heights) == pytest.approx(-2, abs=0.05)


def test_hinge_loss_falls_less_steeply_far_out():
    """Hinge loss grows only in proportion to a large error, so far out it falls as 1/epsilon: no quadratic law there."""
    x, y = generated(3000, 4, np.random.default_rng(3))
    labels = np.where(y > np.median(y), 1.0, -1.0)
    from learning.losses.coordinates import Coordinates

    ball = Coordinates(np.zeros(4), np.eye(4), 3.0, 1.0, 1e6, loss="hinge")
    parts = [ball.oracle(x[i::3], labels[i::3]) for i in range(3)]
    cost = RecordFitness(LOSSES["hinge"], [(x, labels)], 1e-3)

    def height(epsilon):
        owners = make_clients("abc", parts, [epsilon] * 3, Laplace(), 3.0, 20)
        plan = Plan("averaged", "last", 20, 1.0)
        streams = Streams(int(1e4 * epsilon), "slopes")
        found = train(
            Task(owners, ball, plan, Laplace(), runs=400, streams=streams, regularisation=1e-3)
        )
        return float(cost.mean_loss(found.theta).mean())

    far = np.geomspace(0.01, 0.03, 3)
    assert slope(far, [height(e) for e in far]) == pytest.approx(-1, abs=0.1)
