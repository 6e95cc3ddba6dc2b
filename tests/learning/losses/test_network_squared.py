"""Squared loss of a network's prediction: gradients, clipping and fits by second routes, in any unit of the target."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.neural_network import MLPRegressor

from learning.forecast.public_sample import PublicSample
from learning.losses.coordinates import Coordinates
from learning.losses.network import NUMBERS, NetworkRecords, NetworkSquared, draw_start
from learning.privacy.gaussian import Gaussian
from learning.randomness import Streams
from learning.training.client import make_clients
from learning.training.engine import train
from learning.training.plan import Plan
from learning.training.task import Task

HIDDEN = 3
P = 4
WIDTH = HIDDEN * (P + 1) + 1
LOSS = NetworkSquared(HIDDEN)


def numbers(n, unit=1.0, seed=1):
    """(x, y) with a constant column and a curved target in a unit."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.uniform(-1, 1, size=(n, P - 1)), np.ones(n)])
    y = np.tanh(3 * x[:, 0]) + 2 * x[:, 0] * x[:, 1] + x[:, 2] ** 2 - 0.3
    return x, unit * (y + 0.3 * rng.normal(size=n))


def start_at(unit=1.0, radius=np.inf, norm=2):
    """Coordinates at a public start, of a target in a unit."""
    scale = np.ones(WIDTH)
    scale[-HIDDEN - 1 :] = unit
    centre = scale * draw_start(HIDDEN, P, rng=np.random.default_rng(3))
    return Coordinates(centre, np.diag(scale), radius, np.inf, 3.0, norm, LOSS)


def record_loss(coordinates, phi, x, y):
    """(s - y)^2 of one record, from the formula."""
    theta = coordinates.model(phi)
    inner = theta[: HIDDEN * P].reshape(HIDDEN, P)
    return float(theta[-HIDDEN - 1 : -1] @ np.tanh(inner @ x) + theta[-1] - y) ** 2


def clipped_gradient(coordinates, phi, x, y):
    """Clipped gradient of one record in phi, by central differences."""
    steps = 1e-5 * np.eye(WIDTH)
    ends = [[record_loss(coordinates, phi + h * s, x, y) for s in (1, -1)] for h in steps]
    gradient = np.array([(up - down) / 2e-5 for up, down in ends])
    return gradient * min(1, coordinates.radius / np.linalg.norm(gradient, coordinates.norm))


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("unit", [1.0, 50.0])
@pytest.mark.parametrize("radius", [0.5, 5.0, np.inf])
def test_gradients_are_those_of_every_record_clipped_on_its_own(norm, unit, radius):
    coordinates = start_at(unit, radius * unit**2, norm)
    x, y = numbers(12, unit)
    held = replace(coordinates.oracle(x, y), precision=np.float64)
    for phi in 0.5 * np.random.default_rng(4).normal(size=(3, WIDTH)):
        each = np.array(
            [clipped_gradient(coordinates, phi, *one) for one in zip(x, y, strict=True)]
        )
        one_by_one = held.record_gradient(np.tile(phi, (12, 1)), np.arange(12))
        assert one_by_one == pytest.approx(each, abs=1e-6 * unit**2)
        assert held.gradient(phi[None])[0] == pytest.approx(each.mean(axis=0), abs=1e-6 * unit**2)


@pytest.mark.parametrize("norm", [1, 2])
def test_replacing_one_record_moves_the_mean_by_at_most_twice_the_bound(norm):
    """Neighbours at random, with targets up to a million units off and either way."""
    rng = np.random.default_rng(6)
    coordinates = start_at(20.0, 7.0, norm)
    x, y = numbers(10, 20.0)
    phi = np.concatenate([size * rng.normal(size=(3, WIDTH)) for size in (0.3, 3.0)])
    base = coordinates.oracle(x, y).gradient(phi)
    reached = 0.0
    for _ in range(200):
        i = rng.integers(10)
        other, target = x.copy(), y.copy()
        other[i] = rng.normal(size=P) * 10 ** rng.uniform(-2, 3)
        target[i] = 20 * rng.choice([-1, 1]) * 10 ** rng.uniform(-2, 6)
        moved = coordinates.oracle(other, target).gradient(phi) - base
        reached = max(reached, np.linalg.norm(moved, norm, axis=1).max())
    assert 0.9 * 2 * 7.0 / 10 < reached <= 2 * 7.0 / 10 * (1 + 1e-5)


@pytest.mark.parametrize("unit", [1e-3, 50_000.0])
def test_a_target_in_another_unit_trains_as_well(unit):
    """Fit, scale, curvature and clipped gradients: all as in the unit 1, but for that unit."""
    samples = [PublicSample(*numbers(300, one), loss=LOSS) for one in (1.0, unit)]
    assert samples[1].fitness.optimum == pytest.approx(
        unit**2 * samples[0].fitness.optimum, rel=1e-3
    )
    one, other = (sample.coordinates("public", True) for sample in samples)
    assert np.diag(other.transform)[-1] == pytest.approx(unit * np.diag(one.transform)[-1])
    other = replace(other, centre=other.transform @ np.linalg.solve(one.transform, one.centre))
    phi = np.random.default_rng(7).normal(size=(5, WIDTH))
    answers = [
        replace(bounds, radius=size**2 * 2.0).oracle(sample.x, sample.y).gradient(phi) / size**2
        for bounds, size, sample in zip((one, other), (1.0, unit), samples, strict=True)
    ]
    assert answers[1] == pytest.approx(answers[0], rel=1e-4, abs=1e-6)
    steepest = [LOSS.largest_curvature(bounds, samples[0].x, 0.0) for bounds in (one, other)]
    assert steepest[1] == pytest.approx(unit**2 * steepest[0], rel=1e-9)


def test_the_largest_curvature_is_that_of_the_squared_slopes_of_scores():
    x, _ = numbers(40)
    coordinates = start_at(5.0)
    steps = 1e-5 * np.eye(WIDTH)
    scores = [
        [LOSS.predicted(x, coordinates.model(h * sign)[None])[0] for sign in (1, -1)] for h in steps
    ]
    slopes = np.array([(up - down) / 2e-5 for up, down in scores])
    largest = np.linalg.eigvalsh(2 * slopes @ slopes.T / 40)[-1]
    assert LOSS.largest_curvature(coordinates, x, 0.01) == pytest.approx(largest + 0.25, rel=1e-6)


def test_the_fit_meets_scikit_learn():
    """The same family fitted by another program, with its biases folded into V and c: never better by much."""
    x, y = numbers(400)
    r = 0.003
    _, value = LOSS.fit(x, y, r, starts=6, seed=8)
    others = []
    for seed in range(6):
        net = MLPRegressor(
            hidden_layer_sizes=(HIDDEN,),
            activation="tanh",
            solver="lbfgs",
            alpha=r * 400 / 2,
            max_iter=3000,
            random_state=seed,
        ).fit(x[:, :-1], y)
        inner = np.column_stack([net.coefs_[0].T, net.intercepts_[0]])
        theta = np.concatenate([inner.ravel(), net.coefs_[1][:, 0], net.intercepts_[1]])
        assert LOSS.predicted(x, theta) == pytest.approx(net.predict(x[:, :-1]), abs=1e-9)
        others.append(float(np.mean((net.predict(x[:, :-1]) - y) ** 2) + r / 2 * theta @ theta))
    assert value <= min(others) * 1.01
    assert value == pytest.approx(min(others), rel=0.1)
    line = np.linalg.lstsq(x, y, rcond=None)[0]
    assert value < 0.5 * np.mean((y - x @ line) ** 2)


def test_a_training_is_that_of_single_records_clipped_and_noised_by_hand():
    """Two owners, the engine's own noise, and gradients by their formula, record by record."""
    coordinates = start_at(20.0, 300.0)
    owners = numbers(30, 20.0, seed=1), numbers(20, 20.0, seed=2)
    mechanism = Gaussian(1e-4, "pld")
    plan = Plan("sgd2", "last", 4, 1e-4)
    oracles = [coordinates.oracle(*one) for one in owners]
    clients = make_clients(["a", "b"], oracles, (3.0, 5.0), mechanism, 300.0, 4)
    task = Task(clients, coordinates, plan, mechanism, 1, Streams(5, "noise"), weights=[0.6, 0.4])
    noise = [one.noise(mechanism, 1, Streams(5, "noise")).take(4)[:, 0] for one in clients]
    phi = np.zeros(WIDTH)
    for k, step in enumerate(plan.steps):
        answers = [
            np.mean(
                [clipped_gradient(coordinates, phi, *one) for one in zip(*held, strict=True)],
                axis=0,
            )
            + noise[i][k]
            for i, held in enumerate(owners)
        ]
        phi = coordinates.project((phi - step * (0.6 * answers[0] + 0.4 * answers[1]))[None])[0]
    assert np.linalg.norm(phi) > 0.01
    found = np.linalg.solve(coordinates.transform, train(task).theta[0] - coordinates.centre)
    assert found == pytest.approx(phi, abs=1e-6)


def test_a_constant_target_has_the_unit_one():
    x, _ = numbers(30)
    assert np.array_equal(LOSS.parameter_scale(np.zeros(30), WIDTH), np.ones(WIDTH))
    held = NetworkRecords(x, np.zeros(30), HIDDEN, np.inf, 2, cost=NUMBERS)
    assert held.mean_loss(np.zeros((1, WIDTH))) == 0
