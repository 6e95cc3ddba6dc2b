"""The engine: plain descent without noise, noise by key, non-private limits, and the edge of the ball."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from populations import bounded_coordinates, generated, randhie
from sklearn.linear_model import LinearRegression, Ridge

from learning.forecast.law import oracle_problem
from learning.losses.coordinates import Coordinates
from learning.losses.squared import Fitness
from learning.losses.statistics import squared_statistics
from learning.privacy.laplace import Laplace
from learning.randomness import Streams
from learning.training.client import Client, make_clients
from learning.training.engine import train
from learning.training.law import bias_and_gain, largest_excursion
from learning.training.plan import Plan
from learning.training.task import Task

NAMES = ("a", "b", "c")


def naive_path(owners, coordinates, plan, regularisation):
    """Algorithms 1 and 2 over the records of owners' (x, y) one by one: (last, averaged, path)."""
    total = sum(len(y) for _, y in owners)
    w = coordinates.transform
    centre = coordinates.centre
    phi = np.zeros(len(centre))
    mean = np.zeros(len(centre))
    path = [centre]
    eta = 1 / np.sqrt(plan.horizon)
    for k in range(1, plan.horizon):
        step = (
            plan.step_size / np.sqrt(k)
            if plan.algorithm == "averaged"
            else plan.step_size / (plan.horizon**2 * k)
        )
        gradient = regularisation * w @ (centre + w @ phi)
        for x, y in owners:
            for record, target in zip(x, y, strict=True):
                moved = w @ record
                moved = moved * min(1.0, coordinates.radius / np.abs(moved).sum())
                shown = min(
                    max(target - record @ centre, -coordinates.target_bound),
                    coordinates.target_bound,
                )
                gradient = gradient + 2 * (moved @ phi - shown) * moved / total
        mean = (k - 1) / (eta + k) * mean + (eta + 1) / (eta + k) * phi
        phi = np.minimum(
            np.maximum(phi - step * gradient, -coordinates.theta_max), coordinates.theta_max
        )
        path.append(centre + w @ phi)
    return centre + w @ phi, centre + w @ mean, np.array(path)


@pytest.mark.parametrize("algorithm", ["averaged", "synchronous"])
@pytest.mark.parametrize(("theta_max", "regularisation"), [(np.inf, 0.0), (0.25, 0.3)])
def test_no_noise_is_plain_descent_over_the_records(algorithm, theta_max, regularisation):
    """Clipping active, with and without an active projection and a penalty: to rounding."""
    x, y = generated(240, 4, np.random.default_rng(0))
    coordinates = replace(
        bounded_coordinates(x[-40:], y[-40:], clip=0.6, theta_max=theta_max), centre=np.full(4, 0.5)
    )
    owners = [(x[:30], y[:30]), (x[30:120], y[30:120]), (x[120:200], y[120:200])]
    statistics = [coordinates.statistics(*part) for part in owners]
    constant = 0.4 * (36 if algorithm == "synchronous" else 1)
    for returned, index in (("last", 0), ("averaged", 1)):
        plan = Plan(algorithm, returned, 6, constant)
        expected = naive_path(owners, coordinates, plan, regularisation)
        clients = make_clients(
            NAMES, statistics, [np.inf] * 3, Laplace(), coordinates.gradient_bound, 6
        )
        trained = train(
            Task(
                clients,
                coordinates,
                plan,
                Laplace(),
                runs=2,
                streams=Streams(0, "noise"),
                regularisation=regularisation,
            )
        )
        assert trained.theta == pytest.approx(np.stack([expected[index]] * 2), rel=1e-11, abs=1e-13)
        assert trained.path == pytest.approx(expected[2], rel=1e-11, abs=1e-13)
        assert (trained.projected > 0) == np.isfinite(theta_max)


@pytest.mark.slow
@pytest.mark.parametrize("source", ["randhie", "generated"])
@pytest.mark.parametrize("algorithm", ["averaged", "synchronous"])
@pytest.mark.parametrize("regularisation", [0.0, 0.2])
def test_without_noise_training_meets_the_non_private_optimum(source, algorithm, regularisation):
    """epsilon = inf, T large: 1e-6 in relative fitness, and the coefficients of scikit-learn."""
    x, y = randhie() if source == "randhie" else generated(6000, 6, np.random.default_rng(2))
    coordinates = Coordinates(
        np.zeros(x.shape[1]), bounded_coordinates(x[-150:], y[-150:]).transform
    )
    statistics = [coordinates.statistics(x[i::3], y[i::3]) for i in range(3)]
    fitness = Fitness(squared_statistics(x, y), regularisation)
    problem = oracle_problem(coordinates, statistics[0] + statistics[1] + statistics[2], fitness)
    horizon = 4000
    constant = (1.9 * horizon**2 if algorithm == "synchronous" else 1.0) / problem.eigenvalues.max()
    plan = Plan(algorithm, "last", horizon, constant)
    clients = make_clients(
        NAMES, statistics, [np.inf] * 3, Laplace(), coordinates.gradient_bound, horizon
    )
    theta = train(
        Task(
            clients,
            coordinates,
            plan,
            Laplace(),
            runs=1,
            streams=Streams(0, "noise"),
            regularisation=regularisation,
        )
    ).theta[0]
    assert fitness.relative(theta) < 1e-6
    plain = LinearRegression(fit_intercept=False)
    ridge = Ridge(alpha=len(y) * regularisation / 2, fit_intercept=False)
    best = (ridge if regularisation else plain).fit(x, y).coef_
    assert np.mean((x @ (theta - best)) ** 2) < 1e-6 * fitness.optimum


@pytest.fixture(scope="module")
def market():
    x, y = randhie()
    coordinates = bounded_coordinates(x[-150:], y[-150:], theta_max=1.0)
    return (
        coordinates,
        [coordinates.statistics(x[i:18000:3], y[i:18000:3]) for i in range(3)],
        Fitness(squared_statistics(x[:18000], y[:18000])),
    )


def trained_at(
    market, epsilon, *, theta_max=None, runs=200, seed=0, plan=None, names=NAMES, bound=None
):
    coordinates, statistics, _ = market
    plan = plan or Plan("averaged", "last", 4, 0.3)
    clients = make_clients(
        names, statistics, epsilon, Laplace(), bound or coordinates.gradient_bound, plan.horizon
    )
    ball = replace(coordinates, theta_max=coordinates.theta_max if theta_max is None else theta_max)
    return train(Task(clients, ball, plan, Laplace(), runs=runs, streams=Streams(seed, "noise")))


def test_same_seed_same_bytes_and_another_seed_others(market):
    one, two, other = (trained_at(market, [1.0, 2.0, 3.0], seed=s) for s in (3, 3, 4))
    assert one.theta.tobytes() == two.theta.tobytes() and one.path.tobytes() == two.path.tobytes()
    assert not (one.theta == other.theta).any()


def test_adding_a_run_changes_no_other(market):
    few, more = (trained_at(market, [1.0, 2.0, 3.0], runs=runs) for runs in (5, 9))
    assert more.theta[:5] == pytest.approx(few.theta, rel=1e-13)


class Recording(Laplace):
    """Laplace that keeps a copy of all it draws."""

    drawn: ClassVar[list] = []

    def draw(self, scale, shape, *, rng):
        noise = super().draw(scale, shape, rng=rng)
        self.drawn.append(noise.tobytes())
        return noise


def test_adding_an_owner_changes_no_other_draw(market):
    """The draws of a training with owners b and c are among those with owner a before them, byte for byte."""
    coordinates, statistics, _ = market
    plan = Plan("averaged", "last", 4, 0.3)
    drawn = []
    for first in (1, 0):
        clients = make_clients(
            NAMES[first:],
            statistics[first:],
            [2.0] * (3 - first),
            Laplace(),
            coordinates.gradient_bound,
            4,
        )
        Recording.drawn.clear()
        train(Task(clients, coordinates, plan, Recording(), runs=5, streams=Streams(0, "noise")))
        drawn.append(set(Recording.drawn))
    assert len(drawn[0]) == 10 and len(drawn[1]) == 15 and drawn[0] < drawn[1]


def test_who_shares_nothing_is_not_asked(market):
    coordinates, statistics, _ = market
    without = trained_at(market, [0.0, 2.0, 3.0], runs=3)
    pair = make_clients(
        NAMES[1:], statistics[1:], [2.0, 3.0], Laplace(), coordinates.gradient_bound, 4
    )
    direct = train(
        Task(pair, coordinates, without.plan, Laplace(), runs=3, streams=Streams(0, "noise"))
    )
    assert (without.theta == direct.theta).all()


def test_nobody_shares_and_nothing_is_trained(market):
    for returned in ("last", "averaged"):
        trained = trained_at(
            market, [0.0, 0.0, 0.0], runs=2, plan=Plan("averaged", returned, 4, 0.3)
        )
        assert (
            (trained.theta == market[0].centre).all()
            and trained.projected == 0
            and len(trained.path) == 1
        )


def test_every_budget_changes_the_training(market):
    """A strategic variable must move the executed training, not only the bill."""
    base = trained_at(market, [1.0, 1.0, 1.0], runs=3).theta
    for owner in range(3):
        epsilon = np.ones(3)
        epsilon[owner] = 1.1
        assert not np.allclose(trained_at(market, epsilon, runs=3).theta, base, rtol=1e-6)


def test_training_stays_in_the_ball(market):
    coordinates = market[0]
    trained = trained_at(market, [0.01] * 3, theta_max=0.2)
    phi = np.linalg.solve(coordinates.transform, (trained.theta - coordinates.centre).T)
    assert np.abs(phi).max() <= 0.2 * (1 + 1e-9) and trained.projected > 0.2


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "binds"), [(30.0, False), (0.1, True)])
def test_reach_tells_where_the_law_may_fail(market, epsilon, binds):
    """At the same noise, a ball wider than the reach leaves the law alone; one that the noise crosses breaks it."""
    coordinates, statistics, fitness = market
    plan = Plan("averaged", "last", 4, 0.3)
    problem = oracle_problem(coordinates, statistics[0] + statistics[1] + statistics[2], fitness)
    power = (
        float(
            np.mean(
                Laplace().variance(
                    [epsilon] * 3, [6000] * 3, coordinates.gradient_bound, plan.horizon
                )
            )
        )
        / 3
    )
    assert (largest_excursion(problem, plan.steps, power)[0] > coordinates.theta_max) == binds
    trained = trained_at(market, [epsilon] * 3, runs=1000)
    bias, gain = bias_and_gain(problem, plan.steps, plan.returned)
    law = float(bias[0] + gain[0] * power) / fitness.optimum
    runs = fitness.relative(trained.theta)
    off = abs(runs.mean() - law) / (runs.std(ddof=1) / np.sqrt(len(runs)))
    assert (off > 10) if binds else (off < 3)
    assert (trained.projected > 0.01) == binds


def test_a_budget_split_over_fewer_rounds_answers_no_longer_training():
    """Noise priced for T = 2 under a plan of T = 100 would spend fifty times the budget: refused before any draw."""
    owner = Client("a", squared_statistics(np.eye(3), np.ones(3)), 1.0, 2)
    coordinates = Coordinates(np.zeros(3), np.eye(3), 1.0, 1.0, 1.0)
    with pytest.raises(ValueError, match="2 rounds"):
        train(
            Task(
                [owner],
                coordinates,
                Plan("averaged", "last", 100, 0.1),
                Laplace(),
                runs=1,
                streams=Streams(0, "noise"),
            )
        )
