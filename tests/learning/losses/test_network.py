"""The network's gradients against finite differences, single records one by one, and brute force on neighbours."""

import numpy as np
import pytest
from sklearn.neural_network import MLPClassifier

from learning.losses.margin import logistic_optimum
from learning.losses.network import Network, NetworkRecords, draw_start

HIDDEN = 3
P = 4


def labelled(n, p=P, seed=1, spread=1.0):
    """(x, y) with a constant column and a rule that is not linear."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([spread * rng.normal(size=(n, p - 1)), np.ones(n)])
    return x, np.where(x[:, 0] * x[:, 1] + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)


def owner(n=50, bound=np.inf, norm=2, hidden=HIDDEN, **more):
    return NetworkRecords(*labelled(n), hidden, bound, norm, **more)


def points(runs, n_parameters=HIDDEN * (P + 1) + 1, seed=2, size=1.0):
    return size * np.random.default_rng(seed).normal(size=(runs, n_parameters))


def score(phi, x, hidden=HIDDEN):
    """s(x) of one record, from the formula."""
    inner = phi[: hidden * len(x)].reshape(hidden, len(x))
    return float(phi[-hidden - 1 : -1] @ np.tanh(inner @ x) + phi[-1])


def loss(phi, x, y):
    return float(np.logaddexp(0, -y * score(phi, x)))


def difference(f, phi, step=1e-5):
    return np.array([(f(phi + h) - f(phi - h)) / (2 * step) for h in step * np.eye(len(phi))])


def test_scores_and_losses_follow_the_formula():
    records = owner()
    phi = points(3)
    assert (records.n_records, records.n_parameters) == (50, HIDDEN * P + HIDDEN + 1)
    expected = [[score(one, x) for x in records.x] for one in phi]
    assert records.scores(phi) == pytest.approx(np.array(expected), rel=1e-12)
    losses = [
        np.mean([loss(one, x, y) for x, y in zip(records.x, records.y, strict=True)]) for one in phi
    ]
    assert records.mean_loss(phi) == pytest.approx(losses, rel=1e-12)


@pytest.mark.parametrize("size", [0.1, 1.0, 3.0])
def test_gradients_meet_finite_differences(size):
    records = owner()
    phi = points(4, size=size)
    expected = [difference(lambda at: records.mean_loss(at[None])[0], one) for one in phi]
    assert records.gradient(phi) == pytest.approx(np.array(expected), abs=1e-8)
    rows = np.array([0, 49, 7, 7])
    pairs = zip(phi, rows, strict=True)
    expected = [
        difference(lambda at, i=i: loss(at, records.x[i], records.y[i]), one) for one, i in pairs
    ]
    assert records.record_gradient(phi, rows) == pytest.approx(np.array(expected), abs=1e-8)


@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_slopes_beyond_the_range_of_exponentials_are_their_limits(precision):
    """a = 0, c = 2000 and -2000: a record on the wrong side has the slope -y, any other none."""
    records = owner(precision=precision)
    phi = np.zeros((2, records.n_parameters))
    phi[:, -1] = 2000, -2000
    wrong = [records.y < 0, records.y > 0]
    expected = [np.mean(-records.y * side) for side in wrong]
    assert records.gradient(phi)[:, -1] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("bound", [0.05, 0.5, 3.0, 1e6])
def test_clipping_is_that_of_every_record_on_its_own(norm, bound):
    """Explicit: each record's gradient from finite differences, its norm taken, scaled down, and averaged."""
    records = owner(20, bound, norm)
    phi = points(2)
    clipped = np.empty((2, 20, records.n_parameters))
    for run, one in enumerate(phi):
        for i, (x, y) in enumerate(zip(records.x, records.y, strict=True)):
            gradient = difference(lambda at, x=x, y=y: loss(at, x, y), one)
            clipped[run, i] = gradient * min(1, bound / np.linalg.norm(gradient, norm))
    assert records.gradient(phi) == pytest.approx(clipped.mean(axis=1), abs=1e-8)
    for i in range(20):
        single = records.record_gradient(phi, np.array([i, i]))
        assert single == pytest.approx(clipped[:, i], abs=1e-8)
        assert np.linalg.norm(single, norm, axis=1).max() <= bound * (1 + 1e-14)
    norms = np.linalg.norm(clipped, norm, axis=2)
    assert bound > 100 or np.isclose(norms, bound).any(), (
        "no record was clipped: the test shows nothing"
    )


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("bound", [0.01, 0.5, 2.0])
def test_replacing_one_record_moves_the_mean_by_at_most_twice_the_bound(norm, bound):
    rng = np.random.default_rng(6)
    n = 12
    x, y = labelled(n)
    phi = np.concatenate([points(3), points(3, size=5.0)])
    reached = 0.0
    base = NetworkRecords(x, y, HIDDEN, bound, norm).gradient(phi)
    for trial in range(300):
        i = rng.integers(n)
        other = x.copy()
        label = y.copy()
        other[i, :-1] = rng.normal(size=P - 1) * 10 ** rng.uniform(-2, 3)
        label[i] = rng.choice([-1.0, 1.0])
        if (
            trial % 3 == 0
        ):  # the same record with the opposite label: the two gradients point away from each other
            other[i], label[i] = x[i], -y[i]
        moved = NetworkRecords(other, label, HIDDEN, bound, norm).gradient(phi) - base
        reached = max(reached, np.linalg.norm(moved, norm, axis=1).max())
    assert reached <= 2 * bound / n * (1 + 1e-12)
    assert reached >= 0.2 * bound / n and (bound > 0.01 or reached >= 1.999 * bound / n)


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("bound", [0.3, np.inf])
def test_runs_and_blocks_change_nothing(norm, bound):
    phi = points(5)
    whole = owner(50, bound, norm, block=1000)
    for block in (1, 7, 50):
        parts = owner(50, bound, norm, block=block)
        assert parts.gradient(phi) == pytest.approx(whole.gradient(phi), rel=1e-11, abs=1e-14)
        assert parts.mean_loss(phi) == pytest.approx(whole.mean_loss(phi), rel=1e-13)
        assert parts.scores(phi) == pytest.approx(whole.scores(phi), rel=1e-13)
    rows = np.array([3, 1, 4, 1, 5])
    for run, one in enumerate(phi[:, None]):
        assert whole.gradient(one)[0] == pytest.approx(
            whole.gradient(phi)[run], rel=1e-11, abs=1e-14
        )
        single = whole.record_gradient(one, rows[run : run + 1])[0]
        assert single == pytest.approx(whole.record_gradient(phi, rows)[run], rel=1e-13)
    every = [whole.record_gradient(phi, np.full(5, i)) for i in range(50)]
    assert whole.gradient(phi) == pytest.approx(np.mean(every, axis=0), rel=1e-11, abs=1e-14)


@pytest.mark.parametrize("norm", [1, 2])
def test_single_precision_is_off_by_rounding_only(norm):
    phi = points(4)
    exact = owner(3000, 0.5, norm).gradient(phi)
    single = owner(3000, 0.5, norm, precision=np.float32).gradient(phi)
    assert single.dtype == np.float64
    assert 0 < np.abs(single - exact).max() < 1e-6 * 0.5


def test_scores_too_large_for_exp_neither_warn_nor_break():
    for precision in (np.float32, np.float64):
        records = owner(50, 1.0, 2, precision=precision)
        phi = points(2, size=1e4)
        assert (
            np.isfinite(records.gradient(phi)).all() and np.isfinite(records.mean_loss(phi)).all()
        )


def test_the_start_is_seeded_and_no_saddle():
    one, same = (draw_start(5, 7, rng=np.random.default_rng(3)) for _ in range(2))
    assert one.shape == (5 * 7 + 5 + 1,) and np.array_equal(one, same) and one[-1] == 0
    many = draw_start(400, 100, rng=np.random.default_rng(4))
    assert many[:40_000].var() == pytest.approx(
        1 / 100, rel=0.05
    )  # 7 deviations of a variance of 40,000 draws
    assert many[40_000:-1].var() == pytest.approx(1 / 400, rel=0.5)
    records = owner()
    zero = records.gradient(np.zeros((1, records.n_parameters)))[0]
    assert np.all(zero[:-1] == 0), "at zero only the output bias moves"
    assert np.all(
        records.gradient(draw_start(HIDDEN, P, rng=np.random.default_rng(5))[None])[0] != 0
    )


def test_the_fit_is_stationary_seeded_and_better_with_more_starts():
    x, y = labelled(400)
    costs = []
    for starts in (1, 2, 6):
        phi, value = Network(hidden=HIDDEN).fit(x, y, 1e-3, starts=starts, seed=7)
        again = Network(hidden=HIDDEN).fit(x, y, 1e-3, starts=starts, seed=7)
        assert np.array_equal(phi, again[0])
        records = NetworkRecords(x, y, HIDDEN, np.inf, 2)
        assert value == pytest.approx(records.mean_loss(phi[None])[0] + 5e-4 * phi @ phi, rel=1e-12)
        assert np.abs(records.gradient(phi[None])[0] + 1e-3 * phi).max() < 1e-4
        costs.append(value)
    assert costs[0] >= costs[1] >= costs[2]
    assert costs[2] < 0.75 * logistic_optimum(x, y, 1e-3).value, (
        "a rule that is not linear needs the hidden layer"
    )


def test_single_models_and_stacks_of_them_predict_alike():
    x, y = labelled(20)
    made = Network(hidden=HIDDEN)
    theta = points(6).reshape(2, 3, -1)
    each = [[made.predicted(x, one) for one in some] for some in theta]
    assert made.predicted(x, theta) == pytest.approx(np.array(each), rel=1e-12)
    assert made.value(y * each[0][0]).mean() == pytest.approx(
        made.loss_sum(x, y, theta[0, :1])[0] / 20, rel=1e-12
    )


def test_the_fit_meets_scikit_learn():
    """The same family fitted by another program, with its own biases folded into V and c: never better by much."""
    x, y = labelled(600)
    r = 0.003
    hidden = 6
    _, value = Network(hidden=hidden).fit(x, y, r, starts=6, seed=8)
    others = []
    for seed in range(6):
        net = MLPClassifier(
            (hidden,),
            activation="tanh",
            solver="lbfgs",
            alpha=r * 600,
            max_iter=3000,
            random_state=seed,
        )
        net.fit(x[:, :-1], y)
        inner = np.column_stack([net.coefs_[0].T, net.intercepts_[0]])
        phi = np.concatenate([inner.ravel(), net.coefs_[1][:, 0], net.intercepts_[1]])
        others.append(
            NetworkRecords(x, y, hidden, np.inf, 2).mean_loss(phi[None])[0] + r / 2 * phi @ phi
        )
    assert value <= min(others) + 1e-6
    assert value == pytest.approx(min(others), rel=0.1)


def test_a_bound_that_is_none_is_refused():
    x, y = labelled(10)
    for bound in (0.0, np.nan):
        with pytest.raises(ValueError, match="bound"):
            NetworkRecords(x, y, 2, bound, 1)
