"""Trainings that are watched: what every algorithm tells a watcher, quartiles over all runs, and who talked when."""

from dataclasses import replace

import numpy as np
import pytest
from trainings import task

from learning.losses.squared import Fitness
from learning.losses.statistics import squared_statistics
from learning.randomness import Streams
from learning.training import ALGORITHMS, train
from learning.training.clocks import Clocks, tick_times
from learning.training.paths import Paths

RNG = np.random.default_rng(4)
X = RNG.normal(size=(50, 3))
COST = Fitness(squared_statistics(X, X @ [1.0, -1.0, 0.5] + RNG.normal(size=50)), 0.1)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_watcher_sees_every_step_of_all_runs_and_changes_nothing(name):
    asked = task(ALGORITHMS[name])
    seen = []
    watched = replace(
        asked, watch=lambda step, phi, mean: seen.append((step, phi.copy(), mean.copy()))
    )
    alone = train(asked)
    found = train(watched)
    assert np.array_equal(alone.theta, found.theta) and np.array_equal(alone.path, found.path)
    steps, points, means = zip(*seen, strict=True)
    assert steps == tuple(range(len(found.path)))
    assert np.array_equal(asked.coordinates.model(np.array(points)[:, 0]), found.path)
    done = ALGORITHMS[name].run(asked)
    assert np.array_equal(points[-1], done.last) and np.array_equal(means[-1], done.mean)


def test_paths_keep_the_quartiles_of_all_runs_of_points_and_of_running_means():
    asked = task(ALGORITHMS["averaged"], runs=9)
    points = []
    means = []
    paths = Paths(asked.coordinates.model, COST)

    def watch(step, phi, mean):
        paths(step, phi, mean)
        points.append(asked.coordinates.model(phi))
        means.append(asked.coordinates.model(mean))

    found = train(replace(asked, watch=watch))
    last, averaged = (
        [row for row in paths.rows() if row["point"] == point] for point in ("last", "averaged")
    )
    assert (
        [row["round"] for row in last]
        == [0, *(row["round"] for row in averaged)]
        == list(range(len(found.path)))
    )
    for kept, rows in ((points, last), (means[1:], averaged)):
        for thetas, row in zip(kept, rows, strict=True):
            ordered = np.sort([COST.value(theta) / COST.optimum - 1 for theta in thetas])
            np.testing.assert_allclose(
                [row["q25"], row["median"], row["q75"]], ordered[[2, 4, 6]], rtol=1e-9
            )


def test_an_algorithm_without_a_running_mean_has_one_path_and_only_the_steps_asked_for():
    asked = task(ALGORITHMS["asynchronous"])
    paths = Paths(asked.coordinates.model, COST, steps=(0, 7, 30))
    train(replace(asked, watch=paths))
    assert [(row["round"], row["point"]) for row in paths.rows()] == [
        (0, "last"),
        (7, "last"),
        (30, "last"),
    ]
    assert np.array_equal(paths.quartiles(True)[1], paths.quartiles()[1])


def test_talks_are_those_that_training_followed():
    asked = task(ALGORITHMS["asynchronous"], epsilon=(np.inf, np.inf), runs=4)
    plan = replace(
        asked.plan, horizon=40, step_size=80.0, clocks=Clocks(rates=(1.0, 3.0), dropout=(0.0, 0.4))
    )
    found = train(replace(asked, plan=plan, regularisation=0.0))
    talks = found.talks
    assert talks.owners.shape == talks.times.shape == (40,) and talks.counts.shape == (4, 2)
    assert set(talks.owners) == {-1, 0, 1} and (np.diff(talks.times) > 0).all()
    assert talks.counts[0].tolist() == [(talks.owners == owner).sum() for owner in (0, 1)]
    still = np.all(found.path[1:] == found.path[:-1], axis=1)  # without a talk nothing moves
    assert still[talks.owners == -1].all() and not still[talks.owners != -1][2:].any()
    assert train(task(ALGORITHMS["averaged"])).talks is None


def test_clocks_tick_as_often_as_their_rates_say_and_calls_come_one_apart():
    rng = Streams(1, "times").rng()
    waits = np.diff(tick_times(Clocks(rates=(1.0, 3.0)), 2, 20_001, rng=rng))
    assert abs(waits.mean() - 0.25) < 4 * 0.25 / np.sqrt(20_000) and abs(waits.std() - 0.25) < 0.01
    assert tick_times(Clocks(talk="broadcast"), 2, 3, rng=rng).tolist() == [1.0, 2.0, 3.0]
