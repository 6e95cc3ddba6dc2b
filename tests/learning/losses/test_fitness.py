"""The best model that records allow, against other optimisers; relative fitness; blocks and labels."""

import numpy as np
import pytest
from scipy.optimize import minimize

import learning.losses.loss as base
from learning.losses.loss import RecordFitness
from learning.losses.losses import LOSSES, as_loss, make_loss
from learning.losses.network import NetworkRecords

LINEAR = ("hinge", "logistic")


def labelled(n=300, p=4, seed=0):
    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.normal(size=(n, p - 1)), np.ones(n)])
    return x, np.where(x @ np.linspace(1, -1, p) + rng.logistic(size=n) > 0, 1.0, -1.0)


def by_hand(loss, x, y, theta, regularisation):
    margin = y * (x @ theta)
    each = np.maximum(0, 1 - margin) if loss == "hinge" else np.log1p(np.exp(-margin))
    return 0.5 * regularisation * theta @ theta + each.mean()


@pytest.mark.parametrize("loss", LINEAR)
@pytest.mark.parametrize("regularisation", [1e-3, 0.1, 3.0])
def test_the_optimum_is_what_another_optimiser_finds(loss, regularisation):
    """Logistic: BFGS meets it. Hinge: a descent from many points never gets below, and nears it."""
    x, y = labelled()
    fitness = as_loss(loss).fitness([(x, y)], regularisation)
    assert fitness.optimum == pytest.approx(
        by_hand(loss, x, y, fitness.minimiser, regularisation), rel=1e-10
    )
    found = [
        minimize(
            lambda theta: by_hand(loss, x, y, theta, regularisation),
            start,
            method="BFGS" if loss == "logistic" else "Nelder-Mead",
            options={}
            if loss == "logistic"
            else {"maxiter": 4000, "xatol": 1e-9, "fatol": 1e-12, "adaptive": True},
        ).fun
        for start in (np.zeros(4), fitness.minimiser + 0.1)
    ]
    assert fitness.optimum <= min(found) * (1 + 1e-8)
    assert min(found) == pytest.approx(fitness.optimum, rel=1e-6 if loss == "logistic" else 1e-4)


def test_squared_loss_is_ridge_regression():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(50, 3))
    y = rng.normal(size=50)
    theta, value = as_loss("squared").fit(x, y, 0.3)
    np.testing.assert_allclose(
        theta, np.linalg.solve(2 * x.T @ x / 50 + 0.3 * np.eye(3), 2 * x.T @ y / 50)
    )
    assert value == pytest.approx(np.mean((y - x @ theta) ** 2) + 0.15 * theta @ theta)
    halves = as_loss("squared").fitness([(x[:20], y[:20]), (x[20:], y[20:])], 0.3)
    assert halves.optimum == pytest.approx(value, rel=1e-12)


def test_many_small_least_squares_are_solved_together(monkeypatch):
    """As each alone, also with fewer records than parameters, where least norm decides; none is solved by itself."""
    rng = np.random.default_rng(3)
    parts = [(rng.normal(size=(n, 3)), rng.normal(size=n)) for n in rng.integers(1, 9, 300)]
    alone = [as_loss("squared").fit(x, y, 0.0)[0] for x, y in parts]
    ridge = [as_loss("squared").fit(x, y, 0.1)[0] for x, y in parts]
    monkeypatch.delattr(np.linalg, "lstsq")
    np.testing.assert_allclose(as_loss("squared").fit_each(parts, 0.0), alone, rtol=1e-7)
    np.testing.assert_allclose(as_loss("squared").fit_each(parts, 0.1), ridge, rtol=1e-11)


@pytest.mark.parametrize("loss", [*LINEAR, "network"])
def test_records_may_lie_with_any_owners(loss):
    """In one part or in three, in any order: the same cost at any model."""
    x, y = labelled()
    theta = np.random.default_rng(2).normal(size=(5, 4 if loss != "network" else 2 * 4 + 3))
    whole = RecordFitness(LOSSES[loss], [(x, y)], 0.1)
    parts = RecordFitness(
        LOSSES[loss], [(x[200:], y[200:]), (x[:10], y[:10]), (x[10:200], y[10:200])], 0.1
    )
    width = theta.shape[-1]
    if loss == "network":
        width = NetworkRecords(x, y, 2, np.inf, 2).n_parameters
        theta = np.random.default_rng(2).normal(size=(5, width))
    np.testing.assert_allclose(parts.value(theta), whole.value(theta), rtol=1e-12)


@pytest.mark.parametrize("loss", LINEAR)
def test_blocks_change_no_number(loss, monkeypatch):
    x, y = labelled()
    theta = np.random.default_rng(3).normal(size=(7, 4))
    whole = LOSSES[loss].loss_sum(x, y, theta)
    direct = LOSSES[loss].value(LOSSES[loss].scores(x, y, theta)).sum(axis=1)
    monkeypatch.setattr(base, "BLOCK", 37)
    np.testing.assert_allclose(LOSSES[loss].loss_sum(x, y, theta), whole, rtol=1e-12)
    np.testing.assert_allclose(whole, direct, rtol=1e-12)
    expected = [len(y) * by_hand(loss, x, y, one, 0.0) for one in theta]
    np.testing.assert_allclose(whole, expected, rtol=1e-12)


@pytest.mark.parametrize("loss", ["squared", *LINEAR])
def test_relative_fitness_is_nought_at_the_best_model_and_above_it_elsewhere(loss):
    x, y = labelled()
    fitness = as_loss(loss).fitness([(x, y)], 0.05)
    assert fitness.relative(fitness.minimiser) == pytest.approx(0, abs=1e-8)
    theta = fitness.minimiser + 0.1 * np.random.default_rng(4).normal(size=(3, 6, 4))
    relative = fitness.relative(theta)
    assert relative.shape == (3, 6) and (relative > 0).all()
    np.testing.assert_allclose(relative, fitness.value(theta) / fitness.optimum - 1, rtol=1e-9)
    np.testing.assert_allclose(
        fitness.value(theta)[1, 2], fitness.value(theta[1, 2][None])[0], rtol=1e-12
    )


def test_a_networks_best_is_the_same_from_call_to_call_and_a_stationary_point():
    x, y = labelled(120)
    first, again = (make_loss("network", hidden=3).fit(x, y, 0.01) for _ in range(2))
    np.testing.assert_array_equal(first[0], again[0])
    fitness = RecordFitness(make_loss("network", hidden=3), [(x, y)], 0.01)
    assert fitness.optimum == pytest.approx(first[1]) and fitness.relative(first[0][None])[
        0
    ] == pytest.approx(0, abs=1e-9)
    step = 1e-5
    for i in range(0, len(first[0]), 3):
        moved = np.stack([first[0] + sign * step * np.eye(len(first[0]))[i] for sign in (1, -1)])
        assert abs(np.diff(fitness.value(moved))[0]) / (2 * step) < 1e-3
    near = first[0] + 0.02 * np.random.default_rng(5).normal(size=(50, len(first[0])))
    assert (fitness.relative(near) > -1e-6).mean() > 0.95


def test_wrong_labels_are_counted():
    x = np.array([[1.0, 1.0], [2.0, 1.0], [-1.0, 1.0], [0.0, 1.0]])
    y = np.array([1.0, -1.0, -1.0, 1.0])
    theta = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    # scores x: 1, 2, -1, 0 (0 counts as +1): one wrong; -x: three of four, again with 0 as +1;
    # always +1: two; -1: two
    for name in LINEAR:
        assert [LOSSES[name].error(x, y, one[None]) for one in theta] == [0.25, 0.5, 0.5, 0.5]
        assert LOSSES[name].error(x, y, theta) == 1.75 / 4
    width = NetworkRecords(x, y, 2, np.inf, 2).n_parameters
    network = np.random.default_rng(6).normal(size=(3, width))
    scores = NetworkRecords(x, y, 2, np.inf, 2).scores(network)
    expected = [np.mean((one >= 0) != (y > 0)) for one in scores]
    assert [LOSSES["network"].error(x, y, one[None]) for one in network] == expected
