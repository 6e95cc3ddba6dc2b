"""Baselines: what each compares with, and the economics they must show."""

import numpy as np
import pytest
from populations import bounded_coordinates, generated

from learning.data.owner_data import OwnerData
from learning.losses.squared import Fitness, squared_statistics
from learning.privacy.laplace import Laplace
from learning.randomness import Streams
from learning.training.baselines import as_learner, baselines, central
from learning.training.engine import make_clients, train
from learning.training.plan import Plan
from learning.training.task import Task

SIZES = (300, 900, 1800)
ROUNDING = 1e-13  # by which a product of 60 runs may differ from that of one: the library may sum in another order
PLAN = Plan("averaged", "last", 12, 0.2)


@pytest.fixture(scope="module")
def market():
    x, y = generated(sum(SIZES), 4, np.random.default_rng(5))
    coordinates = bounded_coordinates(x, y)
    edges = np.cumsum([0, *SIZES])
    parts = [(x[a:b], y[a:b]) for a, b in zip(edges[:-1], edges[1:], strict=True)]
    records = [coordinates.oracle(*part) for part in parts]
    owners = make_clients("abc", records, [1.0, 2.0, 4.0], Laplace(), coordinates.gradient_bound, PLAN.horizon)
    return coordinates, owners, Fitness(squared_statistics(x, y)), [OwnerData("abc"[i], *parts[i]) for i in range(3)]


def run(market, **more):
    coordinates, owners, _, held = market
    return baselines(Task(owners, coordinates, PLAN, Laplace(), 60, Streams(1, "noise"), **more), 2.0, held)


def test_without_noise_all_runs_are_one(market):
    found = run(market)
    runs = found["non-private"][0].theta
    assert runs == pytest.approx(np.tile(runs[:1], (60, 1)), rel=ROUNDING, abs=ROUNDING)
    assert [len(found[name]) for name in ("non-private", "central", "isolated", "owner as learner")] == [1, 1, 3, 3]


def test_an_isolated_owner_has_the_best_model_on_its_own_records_not_the_end_of_the_markets_plan(market):
    coordinates, owners, fitness, held = market
    for owner, alone in zip(held, run(market)["isolated"], strict=True):
        best = np.linalg.lstsq(owner.x, owner.y, rcond=None)[0]
        assert alone.theta == pytest.approx(best[None], rel=1e-9)
        planned = train(Task(owners[:1], coordinates, PLAN, Laplace(), runs=1, streams=Streams(9, "x"))).theta
        assert np.mean((owner.y - owner.x @ alone.theta[0]) ** 2) < np.mean((owner.y - owner.x @ planned[0]) ** 2)


def test_an_owner_that_is_the_learner_adds_no_noise_of_its_own(market):
    coordinates, owners, *_ = market
    found = run(market)
    noisy = train(Task(owners, coordinates, PLAN, Laplace(), runs=60, streams=Streams(1, "noise")))
    spread = [one.theta.var(axis=0).sum() for one in found["owner as learner"]]
    assert all(value < noisy.theta.var(axis=0).sum() for value in spread)
    power = [(s / sum(SIZES)) ** 2 * 2 * o.scale**2 for s, o in zip(SIZES, owners, strict=True)]
    left = [sum(power) - own for own in power]
    assert np.argsort(spread).tolist() == np.argsort(left).tolist()
    assert [o.scale == 0 for o in as_learner(owners, 0)] == [True, False, False]


def test_central_noise_is_that_of_all_records_in_one_hand(market):
    coordinates, owners, *_ = market
    one = central(owners, 2.0, Laplace(), coordinates.gradient_bound, 12)
    assert one.records.n_records == sum(SIZES)
    assert one.scale == pytest.approx(2 * coordinates.gradient_bound * 12 / (sum(SIZES) * 2.0))
    equal = make_clients("abc", [o.records for o in owners], [2.0] * 3, Laplace(), coordinates.gradient_bound, 12)
    market_power = sum((s / sum(SIZES)) ** 2 * o.scale**2 for s, o in zip(SIZES, equal, strict=True))
    assert market_power == pytest.approx(3 * one.scale**2)


def test_labels_too():
    x, y = generated(600, 3, np.random.default_rng(2))
    from learning.losses.coordinates import Coordinates

    coordinates = Coordinates(np.zeros(3), np.eye(3), 2.0, 1.0, 5.0, loss="hinge")
    labels = np.where(y > np.median(y), 1.0, -1.0)
    records = [coordinates.oracle(x[i::2], labels[i::2]) for i in range(2)]
    owners = make_clients("ab", records, [1.0, 1.0], Laplace(), 2.0, PLAN.horizon)
    held = [OwnerData("ab"[i], x[i::2], labels[i::2]) for i in range(2)]
    found = baselines(Task(owners, coordinates, PLAN, Laplace(), 5, Streams(1, "n"), 0.01), 1.0, held)
    assert found["central"][0].theta.shape == (5, 3) and np.isfinite(found["central"][0].theta).all()
