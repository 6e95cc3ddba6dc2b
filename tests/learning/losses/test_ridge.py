"""Ridge regression with generalised cross-validation: scikit-learn's penalty and model, and less error from few rows."""

import numpy as np
import pytest
from scipy import linalg
from sklearn.linear_model import Ridge

from learning.losses.ridge import RIDGES, chance_in_slopes, fit_ridge, possible_models


def rows(n, p, rng, *, signal=0.3):
    """(x, y): correlated columns and a constant, in no particular scale."""
    mixing = rng.normal(size=(p, p))
    x = np.column_stack([rng.normal(size=(n, p)) @ mixing + 3, np.full(n, 2.0)])
    return x, x[:, :p] @ rng.normal(size=p) * signal + rng.normal(size=n) + 5


def gcv(x, y, penalty):
    """Generalised cross-validation by the hat matrix itself, columns standardised."""
    z = (x[:, :-1] - x[:, :-1].mean(axis=0)) / x[:, :-1].std(axis=0)
    hat = z @ np.linalg.solve(z.T @ z + penalty * len(y) * np.eye(z.shape[1]), z.T) + 1 / len(y)
    return np.mean((y - hat @ y) ** 2) / (1 - np.trace(hat) / len(y)) ** 2


@pytest.mark.parametrize("seed", range(4))
def test_the_penalty_minimises_gcv_and_the_model_is_ridge_regression(seed):
    x, y = rows(60, 5, np.random.default_rng(seed))
    best = min(RIDGES, key=lambda penalty: gcv(x, y, penalty))
    deviation = x[:, :-1].std(axis=0)
    z = (x[:, :-1] - x[:, :-1].mean(axis=0)) / deviation
    expected = Ridge(alpha=best * len(y)).fit(z, y)
    assert x @ fit_ridge(x, y)[0] == pytest.approx(expected.predict(z), rel=1e-9)


def test_a_sample_of_repeated_rows_is_that_of_their_counts():
    rng = np.random.default_rng(0)
    x, y = rows(50, 4, rng)
    chosen = rng.integers(50, size=50)
    counts = np.bincount(chosen, minlength=50).astype(float)
    both = fit_ridge(x, y, np.stack([counts, np.ones(50)]))
    assert both[0] == pytest.approx(fit_ridge(x[chosen], y[chosen])[0], rel=1e-9)
    assert both[1] == pytest.approx(fit_ridge(x, y)[0], rel=1e-12)


def test_columns_that_do_not_vary_or_are_copies_are_no_trouble():
    x, y = rows(50, 3, np.random.default_rng(1))
    same = fit_ridge(x, y)[0]
    odd = np.column_stack([x, x[:, 0], np.zeros(50)])
    model = fit_ridge(odd, y)[0]
    assert np.isfinite(model).all() and model[-1] == 0.0
    assert np.mean((odd @ model - x @ same) ** 2) < 0.05 * np.var(x @ same)


def test_without_signal_it_is_nearer_to_the_mean_and_with_much_it_is_least_squares():
    rng = np.random.default_rng(2)
    errors = {"ridge": [], "least squares": []}
    for _ in range(60):
        x, y = rows(40, 6, rng, signal=0.0)
        errors["ridge"].append(np.mean((x @ fit_ridge(x, y)[0] - 5) ** 2))
        errors["least squares"].append(np.mean((x @ np.linalg.lstsq(x, y)[0] - 5) ** 2))
    assert np.mean(errors["ridge"]) < 0.5 * np.mean(errors["least squares"])
    x, y = rows(400, 6, rng, signal=100.0)
    assert x @ fit_ridge(x, y)[0] == pytest.approx(x @ np.linalg.lstsq(x, y)[0], abs=0.5)


def test_a_sample_in_which_no_column_varies_has_the_mean_for_its_model():
    """As a bootstrap sample may be that misses the few rows of the only column."""
    x = np.column_stack([np.r_[1.0, np.zeros(9)], np.ones(10)])
    y = np.arange(10.0)
    missed = np.r_[0.0, 2.0, np.ones(8)]
    model = fit_ridge(x, y, missed[None])[0]
    assert model == pytest.approx([0.0, missed @ y / 10])


def least_squares(x, y):
    return np.linalg.lstsq(x, y)[0]


@pytest.mark.parametrize("signal", [0.1, 0.3])
def test_what_chance_added_to_slopes_by_a_search(signal):
    """The penalty on the axes of the correlations is tried on a grid, the square left counted by rows."""
    x, y = rows(60, 5, np.random.default_rng(3), signal=signal)
    model = least_squares(x, y)
    said = x @ model - y.mean()
    columns = x[:, :-1] - x[:, :-1].mean(axis=0)
    turned = columns @ np.linalg.inv(np.linalg.cholesky(columns.T @ columns / 60)).T
    shown = np.mean(said**2)
    chance = np.mean((y - x @ model) ** 2 * np.sum(turned**2, axis=1)) / 60
    left = shown - chance * (1 - 2 * (1 + max(0, 1 - chance / shown)) / 5)
    z = columns / columns.std(axis=0)
    correlations = z.T @ z / 60
    standard = np.linalg.solve(correlations, z.T @ (y - y.mean()) / 60)

    def weakened(penalty):
        root = linalg.sqrtm(np.linalg.solve(correlations + penalty * np.eye(5), correlations))
        return z @ root @ standard

    grid = np.geomspace(1e-4, 10, 4000)
    best = min(grid, key=lambda penalty: abs(np.mean(weakened(penalty) ** 2) - left))
    expected = said - weakened(best)
    assert x @ chance_in_slopes(x, y) == pytest.approx(expected, abs=2e-3 * np.ptp(said))


def test_no_signal_is_left_where_chance_alone_explains_it_and_nearly_all_where_it_is_strong():
    rng = np.random.default_rng(4)
    x, y = rows(60, 20, rng, signal=0.0)
    left = []
    for noise in rng.normal(size=(40, 60)):
        said = x @ least_squares(x, noise)
        fresh = said + np.sqrt(60 / 39) * (noise - said)
        left.append(np.var(said - x @ chance_in_slopes(x, fresh)))
    assert sum(one < 1e-12 for one in left) > 10
    assert np.mean(left) < 0.3 * 20 / 60
    strong = x[:, 0] + 1e-3 * y
    assert np.std(x @ chance_in_slopes(x, strong)) < 1e-3 * np.std(strong)
    assert not chance_in_slopes(np.ones((9, 1)), y[:9]).any()


def test_possible_models_are_least_squares_and_the_posterior_of_ridge_regression_in_turn():
    """The latter's moments are mixed over penalties, by the density of least squares in standardised columns."""
    rng = np.random.default_rng(6)
    x, y = rows(90, 6, rng, signal=0.02)
    draws = 6000
    counts = rng.multinomial(90, np.full(90, 1 / 90), draws)
    found = possible_models(x, y, counts, 300)
    free, shrunk = found[::2], found[1::2]
    z = (x[:, :-1] - x[:, :-1].mean(axis=0)) / x[:, :-1].std(axis=0)
    shown = least_squares(z, y - y.mean())
    missed = y - y.mean() - z @ shown
    chance = np.linalg.inv(z.T @ z / 90) * np.mean(missed**2) / 90
    chance *= np.mean(missed**2 * leverage(z)) / np.mean(missed**2) / np.mean(leverage(z))
    grid = np.geomspace(1e-8, 1e2, 400)
    own = np.trace(chance @ z.T @ z / 90) / 6  # of one axis
    each = [shown, chance, own * np.eye(6)]
    parts = [posterior(*each, penalty) for penalty in grid]
    odds = np.array([np.exp(log) for _, _, log in parts]) * grid / (1 + grid) ** 2
    odds /= odds.sum()
    assert odds @ grid < 2 * np.sqrt(odds @ grid**2)  # the signal is in doubt
    mean = odds @ [one for one, _, _ in parts]
    said = x @ shrunk.T - y.mean()
    assert said.mean(axis=1) == pytest.approx(z @ mean, abs=0.04 * np.std(z @ shown))
    within = np.tensordot(odds, [spread for _, spread, _ in parts], 1) + chance * 90 / 300
    between = np.cov(np.array([one for one, _, _ in parts]).T, aweights=odds, bias=True)
    of_mean = (1 + 90 / 300) * np.mean(missed**2)
    expected = np.trace(z @ (within + between) @ z.T) + of_mean
    assert np.trace(np.cov(said)) == pytest.approx(expected, rel=0.06)
    said = x @ free.T - y.mean()
    assert said.mean(axis=1) == pytest.approx(z @ shown, abs=0.04 * np.std(z @ shown))
    expected = (1 + 90 / 300) * np.trace(z @ chance @ z.T) + of_mean
    assert np.trace(np.cov(said)) == pytest.approx(expected, rel=0.06)


def leverage(z):
    return np.sum(z @ np.linalg.inv(z.T @ z) * z, axis=1)


def posterior(shown, chance, prior, penalty):
    """Mean, covariance and log evidence of slopes whose prior has the variance of chance over a penalty."""
    whole = chance + prior / penalty
    gain = prior / penalty @ np.linalg.inv(whole)
    log = -0.5 * (np.linalg.slogdet(whole)[1] + shown @ np.linalg.solve(whole, shown))
    return gain @ shown, prior / penalty - gain @ prior / penalty, log


def test_possible_models_are_as_far_from_a_shrunk_one_as_the_best_model_is():
    """40 columns and 120 rows, slopes alike a priori. Least squares of samples of the rows are five times as far."""
    rng = np.random.default_rng(7)
    true, possible, unshrunk, sampled = [], [], [], []
    for _ in range(30):
        x = np.column_stack([rng.normal(size=(120, 40)), np.ones(120)])
        best = rng.normal(size=41) * rng.choice([0.05, 0.15, 0.4])
        y = x @ best + rng.normal(size=120)
        start = fit_ridge(x, y)[0]
        free = x @ least_squares(x, y)
        target = free + np.sqrt(120 / 79) * (y - free)
        chosen = rng.integers(120, size=(60, 120))
        counts = np.stack([np.bincount(own, minlength=120) for own in chosen])
        away = possible_models(x, target, counts, 10**9) - start
        true.append(np.sum((best - start) ** 2))
        possible.append(np.mean(np.sum(away[1::2] ** 2, axis=1)))
        unshrunk.append(np.mean(np.sum(away[::2] ** 2, axis=1)))
        away = np.array([least_squares(x[own], target[own]) for own in chosen]) - start
        sampled.append(np.mean(np.sum(away**2, axis=1)))
    assert np.mean(possible) == pytest.approx(np.mean(true), rel=0.15)
    assert np.mean(possible) < np.mean(unshrunk) < 0.7 * np.mean(sampled)
    assert np.mean(sampled) > 4 * np.mean(true)


def test_possible_models_of_rows_that_leave_nothing_open():
    x, _ = rows(30, 3, np.random.default_rng(8))
    exact = x @ [1.0, 2.0, 0.5, 1.0]
    counts = np.random.default_rng(9).multinomial(30, np.full(30, 1 / 30), 4)
    assert x @ possible_models(x, exact, counts, 100).T == pytest.approx(np.tile(exact, (4, 1)).T)
    flat = possible_models(np.ones((9, 1)), np.arange(9.0), np.ones((2, 9)), 10)
    assert flat == pytest.approx(np.full((2, 1), 4.0))
