"""A small market whose owners release moments and scores, for tests of what follows from them."""

from dataclasses import replace

import numpy as np
from populations import generated

from learning.losses.coordinates import Coordinates
from learning.losses.moment_bounds import Scores
from learning.privacy.gaussian import Gaussian
from learning.randomness import Streams
from learning.training.client import make_clients
from learning.training.plan import Plan
from learning.training.task import Task

P = 4
WHOLE = Coordinates(
    np.full(P, 0.1),
    np.diag([1.0, 2.0, 0.5, 1.0]),
    1e6,
    theta_max=100.0,
    norm=2,
    scores=Scores(1e6, 0.4),
)
BOUNDED = replace(WHOLE, radius=1.2, scores=Scores(1.0, 0.4))


def market(epsilon=np.inf, coordinates=BOUNDED, *, runs=3, mechanism=None, n=600, **fields):
    """A task over three owners of n/6, n/3 and n/2 records, and the sums of all of them as training sees them."""
    x, y = generated(n, P, np.random.default_rng(1))
    held = [
        coordinates.oracle(x[rows], y[rows]) for rows in np.split(np.arange(n), [n // 6, n // 2])
    ]
    mechanism = mechanism or Gaussian(1e-6, "pld")
    owners = make_clients(
        "abc", held, np.broadcast_to(epsilon, 3), mechanism, coordinates.gradient_bound, 1
    )
    plan = Plan("one_step", "last", 1, 1.0)
    return Task(owners, coordinates, plan, mechanism, runs, Streams(0, "noise"), **fields), sum(
        held[1:], held[0]
    )
