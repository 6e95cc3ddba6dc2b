"""Optima of hinge and logistic loss against enumeration, other solvers, and the conditions of optimality."""

import itertools
import warnings

import numpy as np
import pytest
from scipy.optimize import brentq, lsq_linear, minimize
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from learning.losses import margin as optimum
from learning.losses.margin import hinge_optimum, logistic_optimum, smoothed_hinge_optimum

SOLVERS = {"hinge": hinge_optimum, "logistic": logistic_optimum}
KINDS = ("noisy", "separable", "imbalanced", "repeated", "one class", "collinear", "wide")
R = (1e-5, 1e-3, 1e-1, 1.0)


def cost(loss, x, y, theta, r):
    """f written out again."""
    margins = y * (x @ theta)
    losses = np.maximum(0, 1 - margins) if loss == "hinge" else np.log1p(np.exp(-np.abs(margins)))
    if loss == "logistic":
        losses = losses + np.maximum(0, -margins)
    return r / 2 * float(theta @ theta) + float(losses.mean())


def records(kind, n, p, seed=1):
    """(x, y): correlated columns of unequal spread and a constant."""
    rng = np.random.default_rng(seed)
    n, p = (min(n, 30), 60) if kind == "wide" else (n, p)
    mix = np.eye(p - 1) + rng.normal(size=(p - 1, p - 1)) / np.sqrt(p)
    x = np.column_stack(
        [rng.normal(size=(n, p - 1)) @ mix * np.geomspace(0.3, 2, p - 1), np.ones(n)]
    )
    score = x @ rng.normal(size=p)
    if kind == "repeated":  # few distinct rows, with labels that contradict each other
        x = np.round(x[rng.integers(0, max(3, n // 20), size=n)])
        return x, np.where(rng.random(n) < 0.6, 1.0, -1.0)
    if kind == "collinear":
        x[:, 0], x[:, 1] = x[:, -1], x[:, 2]
    threshold = {"imbalanced": 2.2 * score.std(), "one class": -np.inf}.get(kind, 0.0)
    noise = 0.0 if kind in ("separable", "wide") else 0.7 * score.std() * rng.normal(size=n)
    return x, np.where(score + noise > threshold, 1.0, -1.0)


def enumerated(x, y, r):
    """Exact hinge optimum of a handful of records: every split into below, at and above margin 1 is tried."""
    z = y[:, None] * x
    best = np.inf
    for states in itertools.product((0, 1, 2), repeat=len(y)):
        at = np.array(states) == 1
        below = np.array(states) == 0
        start = z[below].sum(axis=0) / (r * len(y))
        theta = start + np.linalg.pinv(z[at]) @ (1 - z[at] @ start) if at.any() else start
        best = min(best, cost("hinge", x, y, theta, r))
    return best


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("r", [1e-5, 0.05, 1.0])
def test_hinge_meets_every_active_set_tried(seed, r):
    x, y = records("noisy", 7, 3, seed)
    assert hinge_optimum(x, y, r).value == pytest.approx(enumerated(x, y, r), rel=1e-9)


@pytest.mark.parametrize("loss", SOLVERS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [20, 400])
def test_certified_for_all_kinds_of_records_without_a_warning(loss, kind, n):
    for r in R:
        x, y = records(kind, n, min(8, n))
        found = SOLVERS[loss](x, y, r)
        assert found.value == pytest.approx(cost(loss, x, y, found.theta, r), rel=1e-12)
        assert 0 <= found.gap <= 1e-8 * found.value
        nudges = (
            np.random.default_rng(3).normal(size=(50, x.shape[1]))
            * np.geomspace(1e-6, 1, 50)[:, None]
        )
        near = [cost(loss, x, y, found.theta + nudge, r) for nudge in nudges]
        assert min(near) >= found.value - found.gap - 1e-14


@pytest.mark.parametrize("kind", ["noisy", "separable", "imbalanced", "repeated"])
@pytest.mark.parametrize("r", [1e-3, 0.1])
def test_hinge_meets_the_dual_of_another_solver(kind, r):
    x, y = records(kind, 80, 5)
    z = y[:, None] * x

    def dual(a):
        theta = z.T @ a / (r * len(y))
        return r / 2 * theta @ theta - a.mean(), (z @ theta - 1) / len(y)

    options = {"maxiter": 20_000, "maxfun": 50_000, "ftol": 1e-15, "gtol": 1e-12}
    below = minimize(
        dual, np.full(80, 0.5), jac=True, method="L-BFGS-B", bounds=[(0, 1)] * 80, options=options
    )
    found = hinge_optimum(x, y, r)
    assert found.value >= -below.fun - 1e-13
    assert found.value == pytest.approx(-below.fun, rel=1e-6)


def test_hinge_meets_liblinear():
    x, y = records("imbalanced", 300, 6)
    r = 0.02
    other = LinearSVC(
        loss="hinge",
        dual=True,
        fit_intercept=False,
        C=1 / (r * len(y)),
        tol=1e-9,
        max_iter=500_000,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theta = other.fit(x, y).coef_[0]
    found = hinge_optimum(x, y, r)
    assert cost("hinge", x, y, theta, r) == pytest.approx(found.value, rel=1e-6)
    assert cost("hinge", x, y, theta, r) >= found.value - found.gap
    assert found.theta == pytest.approx(theta, abs=1e-3)


@pytest.mark.parametrize("kind", ["noisy", "separable", "imbalanced", "repeated"])
@pytest.mark.parametrize("r", [1e-4, 0.1])
def test_logistic_meets_scikit_learn(kind, r):
    x, y = records(kind, 300, 6)
    other = LogisticRegression(
        C=1 / (r * len(y)), fit_intercept=False, solver="newton-cholesky", tol=1e-11
    )
    theta = other.fit(x, y).coef_[0]
    found = logistic_optimum(x, y, r)
    assert found.theta == pytest.approx(theta, rel=1e-6, abs=1e-8)
    assert found.value <= cost("logistic", x, y, theta, r) + 1e-14


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("r", [1e-3, 1.0])
def test_zero_is_a_subgradient_at_the_hinge_optimum(kind, r):
    """r theta = mean a y x for some a that is 1 below margin 1, 0 above it, and anything between at it."""
    x, y = records(kind, 100, 6)
    theta = hinge_optimum(x, y, r).theta
    margins = y * (x @ theta)
    at = np.abs(margins - 1) < 1e-6
    left = r * theta - (y[:, None] * x)[margins < 1 - 1e-6].sum(axis=0) / len(y)
    if at.any():
        left = left - (y[:, None] * x)[at].T @ lsq_linear(
            (y[:, None] * x)[at].T / len(y), left, (0, 1)
        ).x / len(y)
    assert np.linalg.norm(left) < 1e-6 * max(r * np.linalg.norm(theta), 1e-3)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("r", [1e-4, 0.1])
def test_the_gap_bounds_what_is_lost_at_any_point(kind, r):
    x, y = records(kind, 100, 6)
    z = y[:, None] * x
    rng = np.random.default_rng(5)
    for loss, solve in SOLVERS.items():
        best = solve(x, y, r)
        for size in np.geomspace(1e-5, 10, 40):
            theta = best.theta + size * rng.normal(size=x.shape[1])
            if loss == "hinge":
                a = rng.random(len(y)) ** rng.choice([0.1, 1, 10])
                point = optimum._hinge_point(z, r, theta, a)
                dual = a.mean() - np.sum((z.T @ a / len(y)) ** 2) / (2 * r)
                assert point.gap == pytest.approx(
                    point.value - dual, rel=1e-6, abs=1e-9 * abs(dual)
                )
            else:
                point = optimum._logistic_point(z, r, theta)[0]
            assert point.value == pytest.approx(cost(loss, x, y, theta, r), rel=1e-12)
            assert point.value - best.value <= point.gap * (1 + 1e-9) + 1e-14


@pytest.mark.parametrize("loss", SOLVERS)
@pytest.mark.parametrize("kind", ["noisy", "imbalanced", "repeated"])
def test_order_and_doubling_of_the_records_change_nothing(loss, kind):
    x, y = records(kind, 500, 6)
    found = SOLVERS[loss](x, y, 1e-3)
    order = np.random.default_rng(2).permutation(500)
    shuffled = SOLVERS[loss](x[order], y[order], 1e-3)
    doubled = SOLVERS[loss](np.r_[x, x], np.r_[y, y], 1e-3)
    mirrored = SOLVERS[loss](-x, -y, 1e-3)
    for other in (shuffled, doubled, mirrored):
        assert other.theta == pytest.approx(found.theta, abs=1e-6)
        assert other.value == pytest.approx(found.value, rel=1e-10)


@pytest.mark.parametrize("r", [1e-5, 0.2, 1.0, 4.0])
def test_known_answers_for_a_constant_and_one_class(r):
    """f = r t^2/2 + loss(t): t = min(1, 1/r) for hinge, r t = 1/(1 + e^t) for logistic."""
    x = np.ones((50, 1))
    y = np.ones(50)
    t = min(1, 1 / r)
    hinge = hinge_optimum(x, y, r)
    assert hinge.theta == pytest.approx([t], rel=1e-6)
    assert hinge.value == pytest.approx(r * t * t / 2 + 1 - t, rel=1e-8)
    root = brentq(lambda t: r * t - 1 / (1 + np.exp(t)), 0, 30, xtol=1e-14)
    assert logistic_optimum(x, y, r).theta == pytest.approx([root], rel=1e-8)
    assert hinge_optimum(x, -y, r).theta == pytest.approx([-t], rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("loss", SOLVERS)
@pytest.mark.parametrize("kind", ["separable", "imbalanced"])
def test_a_table_of_30_000_records_is_certified(loss, kind):
    x, y = records(kind, 30_000, 31)
    found = SOLVERS[loss](x, y, 1e-5)
    assert found.gap <= 1e-10 * found.value


@pytest.mark.parametrize("solve", SOLVERS.values())
def test_what_cannot_be_solved_is_refused(solve, monkeypatch):
    x, y = records("noisy", 30, 3)
    for r in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="regularisation must be positive"):
            solve(x, y, r)
    with pytest.raises(ValueError, match="labels"):
        solve(x, (y + 1) / 2, 0.1)
    for wrong in ((x[:, 0], y), (x, y[:-1]), (x[:0], y[:0])):
        with pytest.raises(ValueError, match="x must be"):
            solve(*wrong, 0.1)
    with pytest.raises(ValueError, match="finite"):
        solve(np.where(x == 1, np.nan, x), y, 0.1)
    monkeypatch.setattr(optimum, "ITERATIONS", 1)
    with pytest.raises(RuntimeError, match=r"not known to within 1e-[0-9]+ of its cost$"):
        solve(x, y, 1e-4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [1e-4, 0.01, 0.3])
def test_a_smoothed_hinge_reaches_its_optimum_between_the_hinges_own(kind, scale):
    """Smoothing adds between 0 and s log 2 to every loss, and so to the smallest cost."""
    for r, rows in ((1e-4, 40), (0.1, 400)):
        x, y = records(kind, rows, 6)
        found = smoothed_hinge_optimum(x, y, r, scale)
        own = hinge_optimum(x, y, r)
        assert found.gap <= 1e-8 * found.value
        assert -1e-9 <= found.value - own.value <= scale * np.log(2) + 1e-9
