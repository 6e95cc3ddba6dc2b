"""Weighted local training: each owner's own descent by hand, averaged once; its rivals; noise by key."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import learning.training.descent
from learning.losses.coordinates import Coordinates
from learning.losses.losses import LOSSES
from learning.losses.records import LinearRecords, pool_records
from learning.losses.statistics import squared_statistics
from learning.privacy.gaussian import Gaussian
from learning.privacy.published_noise import PublishedNoise, average_epsilon
from learning.privacy.subsampled import subsampled_epsilon
from learning.randomness import Streams
from learning.training.baselines import BASELINES
from learning.training.client import Client, make_clients
from learning.training.descent import SGD2
from learning.training.plan import Plan
from learning.training.task import Task
from learning.training.weighted import Weighted

ALGORITHM = Weighted()

SIZES = (8, 20, 12)
RNG = np.random.default_rng(1)
PARTS = [(RNG.normal(size=(n, 3)), RNG.normal(size=n)) for n in SIZES]
SUMS = [squared_statistics(x, y) for x, y in PARTS]
BALL = Coordinates(np.array([0.3, -0.2, 0.5]), np.diag([1.0, 0.5, 2.0]), 5.0, 5.0, 0.4, norm=2)
FREE = replace(BALL, theta_max=np.inf)
BY_SIZE = np.array(SIZES) / sum(SIZES)


def task(
    held,
    horizon=12,
    *,
    scales=0.0,
    coordinates=BALL,
    weights=BY_SIZE,
    runs=1,
    names="abc",
    step=0.1,
    **more,
):
    scales = np.broadcast_to(scales, len(held))
    owners = tuple(
        Client(n, r, float(s), horizon) for n, r, s in zip(names, held, scales, strict=False)
    )
    plan = Plan("weighted", "last", horizon, step)
    return Task(
        owners,
        coordinates,
        plan,
        Gaussian(1e-6),
        runs,
        Streams(5, "noise"),
        weights=np.asarray(weights, float),
        **more,
    )


@dataclass(frozen=True)
class Slope:
    """Records of a linear loss: the gradient is the same everywhere."""

    slope: float
    n_records: int = 1
    n_parameters: int = 1

    def gradient(self, phi):
        return np.full(phi.shape, self.slope)


def by_hand(weights, theta_max, regularisation, horizon=12):
    """Every owner's descent over its records one by one; the weighted model after each step."""
    w = BALL.transform
    centre = BALL.centre
    path = np.zeros((horizon + 1, 3))
    for (x, y), weight in zip(PARTS, weights, strict=True):
        phi = np.zeros(3)
        for t in range(1, horizon + 1):
            gradient = regularisation * w @ (centre + w @ phi)
            for record, target in zip(x, y, strict=True):
                gradient = gradient + 2 * (record @ phi - target) * record / len(y)
            phi = phi - 0.1 * gradient
            phi = phi * min(1.0, theta_max / np.sqrt(phi @ phi))
            path[t] += weight * phi
    return path


@pytest.mark.parametrize("weights", [BY_SIZE, np.full(3, 1 / 3)], ids=["sizes", "plain averaging"])
@pytest.mark.parametrize(("theta_max", "regularisation"), [(np.inf, 0.0), (0.3, 0.4)])
def test_no_noise_is_every_owners_own_descent_averaged_once(weights, theta_max, regularisation):
    coordinates = replace(BALL, theta_max=theta_max)
    found = ALGORITHM.run(
        task(SUMS, coordinates=coordinates, weights=weights, regularisation=regularisation, runs=2)
    )
    path = by_hand(weights, theta_max, regularisation)
    assert found.path == pytest.approx(path, rel=1e-11, abs=1e-13)
    assert found.last == pytest.approx(np.stack([path[-1]] * 2), rel=1e-11, abs=1e-13)
    assert found.mean is found.last
    assert (found.projected > 0) == np.isfinite(theta_max)


def test_runs_together_are_runs_alone():
    together, alone = (
        ALGORITHM.run(task(SUMS, scales=[0.1, 0.5, 2.0], runs=runs)) for runs in (5, 2)
    )
    assert together.last[:2] == pytest.approx(alone.last, rel=1e-13)
    assert len(np.unique(together.last[:, 0])) == 5


def test_blocks_change_no_number(monkeypatch):
    whole = ALGORITHM.run(task(SUMS, scales=0.5, runs=3))
    monkeypatch.setattr(learning.training.descent, "NUMBERS_HELD", 3 * 3 * 5)
    assert np.array_equal(ALGORITHM.run(task(SUMS, scales=0.5, runs=3)).last, whole.last)


def test_another_owner_changes_nobody_elses_model():
    """Weight on one owner alone returns its model: the same beside two others, one other, none, in any order."""
    alone = ALGORITHM.run(task(SUMS[:1], scales=0.5, weights=[1.0], runs=3)).last
    pair = ALGORITHM.run(task(SUMS[1::-1], scales=0.5, weights=[0.0, 1.0], names="ba", runs=3)).last
    three = ALGORITHM.run(task(SUMS, scales=0.5, weights=[1.0, 0.0, 0.0], runs=3)).last
    assert np.array_equal(alone, pair) and np.array_equal(alone, three)


@pytest.mark.slow
def test_the_level_of_noise_after_one_step():
    """Variance c^2 sum q^2 s^2 per coordinate, not c^2 s^2: within 4 standard errors of a variance, sqrt(2/m)."""
    scales = np.array([0.5, 1.0, 2.0])
    found = ALGORITHM.run(task(SUMS, 1, scales=scales, coordinates=FREE, runs=8000)).last
    expected = 0.01 * np.sum((BY_SIZE * scales) ** 2)
    assert found.var(axis=0).mean() == pytest.approx(expected, rel=4 * np.sqrt(2 / found.size))


def test_the_noise_left_after_many_steps():
    """One owner, curvature 2: c^2 s^2 sum (1 - 2c)^(2k) over k < T, within 4 standard errors."""
    unit = squared_statistics(np.sqrt(3) * np.eye(3), np.zeros(3))
    assert unit.hessian == pytest.approx(2 * np.eye(3))
    found = ALGORITHM.run(
        task([unit], 9, scales=0.7, weights=[1.0], coordinates=FREE, runs=8000)
    ).last
    expected = 0.01 * 0.49 * sum(0.8 ** (2 * k) for k in range(9))
    assert found.var() == pytest.approx(expected, rel=4 * np.sqrt(2 / found.size))


def test_one_owner_with_all_records_is_central_training():
    """The pooled records as one owner's: plain descent of one model over all of them, with central noise."""
    mechanism = Gaussian(1e-6)
    (centre,) = make_clients(["all"], [pool_records(SUMS)], [1.0], mechanism, 1.0, 12)
    assert centre.records.n_records == 40
    asked = replace(
        task(SUMS[:1], weights=[1.0], runs=3),
        owners=(centre,),
        plan=Plan("weighted", "last", 12, 0.1),
    )
    phi = np.zeros((3, 3))
    noise = centre.noise(mechanism, 3, asked.streams).take(12)
    for k in range(12):
        phi = BALL.project(phi - 0.1 * (pool_records(SUMS).gradient(phi) + noise[k]))
    assert ALGORITHM.run(asked).last == pytest.approx(phi, rel=1e-12)


def test_pooled_records_give_the_gradient_of_all():
    phi = RNG.normal(size=(2, 3))
    for held in (SUMS, [LinearRecords.of(LOSSES["logistic"], x, y) for x, y in PARTS]):
        expected = sum(q * one.gradient(phi) for q, one in zip(BY_SIZE, held, strict=True))
        assert pool_records(held).gradient(phi) == pytest.approx(expected, rel=1e-5)
    lines = [LinearRecords.of(loss, *PARTS[0]) for loss in (LOSSES["logistic"], LOSSES["squared"])]
    for mixed in (lines, [SUMS[0], lines[0]], [Slope(1.0), lines[1]]):
        sizes = np.array([one.n_records for one in mixed]) / sum(one.n_records for one in mixed)
        expected = sum(q * one.gradient(phi) for q, one in zip(sizes, mixed, strict=True))
        assert pool_records(mixed).gradient(phi) == pytest.approx(expected, rel=1e-12)


def test_averaging_once_misses_the_joint_optimum_where_owners_differ():
    """Two owners with optima 0 and 3 and curvatures 2 and 18: the average is 1.5, the joint optimum 2.7."""
    two = [
        squared_statistics(np.array([[1.0]]), np.array([0.0])),
        squared_statistics(np.array([[3.0]]), np.array([9.0])),
    ]
    line = Coordinates(np.zeros(1), np.eye(1))
    asked = task(two, 2000, weights=[0.5, 0.5], coordinates=line, step=0.1)
    assert ALGORITHM.run(asked).last[0, 0] == pytest.approx(1.5, rel=1e-9)
    assert SGD2().run(replace(asked, plan=Plan("sgd2", "last", 2000, 0.1))).last[
        0, 0
    ] == pytest.approx(2.7, rel=1e-9)


def test_every_step_is_an_answer():
    assert ALGORITHM.count_answers(task(SUMS)) == [12, 12, 12]


@pytest.mark.slow
@pytest.mark.parametrize("formula", ["weighted", "plain"])
def test_a_linear_loss_gives_away_what_the_accountant_says(formula):
    """Gradients +G or -G of one record: the server sees a Gaussian of just the accounted distance, the public one of
    `average_epsilon`'s; means and variances measured on the engine, within 4 standard errors."""
    sizes = (2, 5, 3)
    epsilon = 0.8
    horizon = 6
    runs = 4000
    printed = PublishedNoise(formula, 1e-2, sizes)
    scales = printed.scale(np.full(3, epsilon), sizes, 1.0, horizon)
    weights = np.array(sizes) / 10 if formula == "weighted" else np.full(3, 1 / 3)
    line = Coordinates(np.zeros(1), np.eye(1))
    for shares, spent in (
        (weights, average_epsilon(printed, 2, epsilon, horizon)),
        (np.array([1.0, 0.0, 0.0]), printed.claims("a", epsilon, horizon, size=2)[0].epsilon),
    ):
        ends = [
            ALGORITHM.run(
                task(
                    [Slope(g), Slope(0.3), Slope(0.1)],
                    horizon,
                    scales=scales,
                    coordinates=line,
                    weights=shares,
                    runs=runs,
                )
            )
            for g in (-0.5, 0.5)  # the mean over two records, one +1 or -1, the other 0
        ]
        distance = float(np.mean(ends[0].last - ends[1].last)) / float(ends[0].last.std())
        width = 4 / np.sqrt(2 * runs)
        assert (
            subsampled_epsilon(distance * (1 - width), 1, 1.0, 1e-2)
            < spent
            < subsampled_epsilon(distance * (1 + width), 1, 1.0, 1e-2)
        )


# ---- what it is compared with
# ---------------------------------------------------------------------------------------


def compared(name, mechanism=None):
    mechanism = mechanism or PublishedNoise("weighted", 1e-3, SIZES)
    owners = make_clients("abc", SUMS, [0.5, 1.0, 2.0], mechanism, BALL.gradient_bound, 12)
    made = replace(task(SUMS), owners=owners, mechanism=mechanism)
    return made, BASELINES[name].change(made)


def test_plain_averaging_weighs_all_alike_and_scales_noise_to_the_smallest():
    """sigma^2 = c G^2 T ln(1/delta)/(m n_(1) epsilon)^2, against n^2 by records."""
    market, plain = compared("plain")
    assert plain.weights.tolist() == [1.0, 1.0, 1.0]
    scales = [[owner.scale for owner in one.owners] for one in (market, plain)]
    np.testing.assert_allclose(np.divide(*reversed(scales)), sum(SIZES) / (3 * min(SIZES)))
    by_hand = (
        BALL.gradient_bound
        * np.sqrt(16 * 12 * np.log(1e3))
        / (3 * min(SIZES) * np.array([0.5, 1.0, 2.0]))
    )
    np.testing.assert_allclose(scales[1], by_hand)
    np.testing.assert_allclose(
        [o.scale for o in BASELINES["weighted"].change(plain).owners], scales[0]
    )


def test_other_noise_is_the_owners_own_whoever_is_weighed_how():
    market, plain = compared("plain", Gaussian(1e-6))
    assert plain.owners == market.owners and plain.weights.tolist() == [1.0, 1.0, 1.0]


def test_the_central_party_has_all_records_the_mean_budget_and_the_papers_noise():
    market, one = compared("central")
    (party,) = one.owners
    assert party.records.n_records == sum(SIZES) and party.epsilon == pytest.approx(3.5 / 3)
    assert party.scale == pytest.approx(
        market.owners[1].scale / (3.5 / 3)
    )  # (3): n counts all records either way
    assert all(owner.silent for owner in compared("nonprivate")[1].owners)
