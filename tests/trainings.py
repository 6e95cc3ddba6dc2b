"""Small trainings that suit an algorithm, two owners who answer with noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from learning.losses.clipping import RECORD
from learning.losses.coordinates import Coordinates
from learning.losses.first_moments import Moments
from learning.privacy.l2 import L2
from learning.privacy.mechanism import NoiseSettings
from learning.privacy.mechanisms import MECHANISMS, candidate_mechanisms, norm_of
from learning.privacy.noise import answer_shares
from learning.randomness import Streams
from learning.training import Plan, Task, make_clients

SIZES = (40, 60)
P = 3
DELTA = 1e-4


def task(algorithm, epsilon=(2.0, 4.0), runs=5, theta_max=0.8):
    """A training with noise that goes with the algorithm."""
    able = [name for name in MECHANISMS if algorithm.noise_norm in (None, norm_of(name))]
    name = "gaussian" if algorithm.one_by_one else able[0]
    horizon = 30 if algorithm.asks_at_random else min(6, algorithm.rounds[1])
    settings = NoiseSettings(SIZES, DELTA, horizon=horizon, single_record=algorithm.one_by_one)
    (mechanism,) = candidate_mechanisms(name, settings)
    growth = algorithm.growth or 1.0
    if algorithm.moments:
        mechanism = L2(P).with_moments(0.5, 1, float(answer_shares(growth, horizon)[0]))
    rng = np.random.default_rng(0)
    coordinates = Coordinates(np.zeros(P), np.eye(P), 2.0, 3.0, theta_max, mechanism.norm)
    if algorithm.moments:
        coordinates = replace(coordinates, clipping=RECORD, moments=Moments(2.0, 0.5, 0.2))
    parts = [(rng.normal(size=(n, P)), rng.normal(size=n)) for n in SIZES]
    held = [coordinates.oracle(x, y, one_by_one=algorithm.one_by_one) for x, y in parts]
    priced = (mechanism, coordinates.gradient_bound, horizon)
    owners = make_clients(("a", "b"), held, epsilon, *priced, growth=growth)
    step = 0.1 * algorithm.step_unit(horizon)
    plan = Plan(algorithm.name, "last", horizon, step, growth=growth)
    return Task(owners, coordinates, plan, mechanism, runs, Streams(3, "noise"), regularisation=0.1)
