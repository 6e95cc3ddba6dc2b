"""Owners, plans and tasks of small asynchronous trainings, as several test files have them."""

import numpy as np

from learning.losses.coordinates import Coordinates
from learning.losses.statistics import SquaredStatistics, squared_statistics
from learning.privacy.laplace import Laplace
from learning.randomness import Streams
from learning.training.client import Client, make_clients
from learning.training.clocks import Clocks
from learning.training.plan import Plan
from learning.training.task import Task

NAMES = ("a", "b", "c", "d")


def task(owners, plan, *, runs=1, coordinates=None, weights=None, mechanism=None, seed=0, **more):
    sizes = np.array([owner.records.n_records for owner in owners], dtype=float)
    weights = sizes / sizes.sum() if weights is None else np.asarray(weights)
    coordinates = coordinates or flat(owners[0].records.n_parameters)
    streams = Streams(seed, "noise")
    return Task(
        tuple(owners),
        coordinates,
        plan,
        mechanism or Laplace(),
        runs,
        streams,
        weights=weights,
        **more,
    )


def flat(p, theta_max=np.inf):
    return Coordinates(np.zeros(p), np.eye(p), theta_max=theta_max)


def plan(horizon, step, **clocks):
    """A plan whose step s = c/T^2 is given."""
    return Plan("asynchronous", "last", horizon, step * horizon**2, Clocks(**clocks))


def population(n, p, seed, tilt=0.0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, size=(n, p))
    return squared_statistics(x, x @ (np.linspace(1, -1, p) + tilt) + 0.3 * rng.normal(size=n))


def silent(records):
    return [Client(name, one, 0.0, 1) for name, one in zip(NAMES, records, strict=False)]


def still(n, p):
    """Records whose gradient is zero everywhere."""
    return SquaredStatistics(n, np.zeros((p, p)), np.zeros(p), 0.0)


def owners_of(epsilon, names=NAMES, n=200, p=3, horizon=100, bound=4.0):
    held = [population(n, p, seed) for seed in range(len(epsilon))]
    return make_clients(names[: len(epsilon)], held, epsilon, Laplace(), bound, horizon)
