"""Ridge regression with generalised cross-validation: scikit-learn's penalty and model, and less error from few rows."""

import numpy as np
import pytest
from scipy import linalg
from sklearn.linear_model import Ridge

from learning.losses.ridge import RIDGES, chance_in_slopes, fit_ridge


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
