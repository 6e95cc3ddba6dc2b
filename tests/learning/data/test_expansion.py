"""Kinds of features: splines, bins, products and kernels with public knots and frequencies."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.interpolate import BSpline

from learning.data.encoded import feature_bound
from learning.data.encoding import read_encoder
from learning.data.expanding import (
    choose_pairs,
    draw_frequencies,
    fit_knots,
    list_pairs,
    median_distance,
)
from learning.data.expansion import kernel_columns, spline_columns
from learning.data.feature_kinds import KINDS
from learning.data.feature_names import feature_names
from learning.data.fitting import describe_encoder, fit_encoder


def columns_of(rows=600, seed=1):
    """Columns of a table whose target has a curve, a jump and a product in it."""
    rng = np.random.default_rng(seed)
    income = rng.lognormal(10, 1, rows)
    age = rng.uniform(18, 90, rows)
    town = rng.choice(np.array(["a", "b", "c"], dtype=object), rows)
    old = np.where(rng.random(rows) < 0.3, 1.0, 0.0)
    y = np.sin(age / 12) + (town == "b") * age / 30 + rng.normal(0, 0.1, rows)
    return {"income": income, "age": age, "town": town, "old": old, "y": y}


def fit(columns, kind, public, components=None):
    """Fit an encoder of a kind to the first public rows."""
    return fit_encoder(
        columns,
        target="y",
        features=("income", "old", "age", "town"),
        public=np.arange(public),
        bounds={},
        components=components,
        kind=KINDS[kind],
    )


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
def test_splines_are_those_of_scipy(degree):
    knots = np.array([-1.0, -0.35, -0.3, 0.2, 1.0])
    values = np.sort(np.random.default_rng(2).uniform(-1, 1, 300))
    full = np.concatenate([np.repeat(-1.0, degree), knots, np.repeat(1.0, degree)])
    other = BSpline.design_matrix(values, full, degree).toarray()
    np.testing.assert_allclose(spline_columns(values, knots, degree), other, atol=1e-14)


@pytest.mark.parametrize("kind", KINDS)
def test_features_stay_within_their_public_bound(kind):
    columns = columns_of()
    encoder = fit(columns, kind, 300, 3 if kind == "components" else None)
    wild = {name: cells.copy() for name, cells in columns.items()}
    wild["income"][:4] = [np.nan, 1e300, -1e300, np.inf]
    wild["town"][:3] = [None, "z", "(rare)"]
    x, _ = encoder.encode(wild, np.arange(600))
    assert x.shape == (600, encoder.n_parameters) and len(feature_names(encoder)) == x.shape[1]
    assert np.isfinite(x).all()
    assert np.all(np.abs(x) <= feature_bound(encoder) + 1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_has_the_same_bits_whichever_rows_are_with_it(kind):
    columns = columns_of()
    encoder = fit(columns, kind, 300, 3 if kind == "components" else None)
    whole = encoder.encode(columns, np.arange(600))[0]
    for rows in (np.array([5]), np.array([599, 5, 17])):
        assert encoder.encode(columns, rows)[0].tobytes() == whole[rows].tobytes()


@pytest.mark.parametrize("kind", KINDS)
def test_no_private_cell_moves_a_knot_or_a_product(kind):
    columns = columns_of()
    other = columns_of(seed=7)
    moved = {name: np.concatenate([columns[name][:300], other[name][300:]]) for name in columns}
    moved["income"][300:] *= 1e6
    moved["town"][300:] = "elsewhere"
    count = 3 if kind == "components" else None
    both = (describe_encoder(fit(one, kind, 300, count)) for one in (columns, moved))
    first, second = map(json.dumps, both)
    assert first == second


@pytest.mark.parametrize("kind", KINDS)
def test_a_description_makes_the_same_encoder(kind):
    columns = columns_of()
    encoder = fit(columns, kind, 300, 3 if kind == "components" else None)
    again = read_encoder(json.loads(json.dumps(describe_encoder(encoder))))
    rows = np.arange(600)
    assert again.encode(columns, rows)[0].tobytes() == encoder.encode(columns, rows)[0].tobytes()
    assert feature_names(again) == feature_names(encoder)


def test_the_product_that_is_there_is_chosen_first_and_few_others():
    rng = np.random.default_rng(3)
    others = 0
    for _ in range(20):
        coded = rng.uniform(-1, 1, (500, 8))
        y = coded[:, 0] + 2 * coded[:, 2] * coded[:, 5] + rng.normal(0, 0.3, 500)
        first, *more = choose_pairs(coded, coded, list_pairs(coded, range(8)), y, 10)
        assert first == (2, 5)
        others += len(more)
    assert others <= 10


def test_a_few_rows_with_large_residuals_choose_no_product():
    rng = np.random.default_rng(6)
    coded = np.where(rng.random((500, 6)) < 0.02, 1.0, 0.0)
    coded[:3, :2] = 1.0
    y = rng.normal(size=500)
    y[:3] += 1000.0
    pairs = list_pairs(coded, range(6))
    assert (0, 1) not in choose_pairs(coded[:, 2:], coded, pairs, y, 10)


def test_where_nothing_is_to_be_found_few_products_are_chosen():
    rng = np.random.default_rng(4)
    found = 0
    for _ in range(30):
        coded = rng.uniform(-1, 1, (300, 8))
        found += len(
            choose_pairs(coded, coded, list_pairs(coded, range(8)), rng.normal(size=300), 9)
        )
    assert found <= 12


def test_categories_of_one_column_are_not_multiplied():
    coded = np.eye(4)[np.arange(40) % 4]
    assert list_pairs(coded, [0, 0, 1, 1]) == [(0, 2), (0, 3), (1, 2), (1, 3)]


def test_knots_are_apart_and_none_are_set_for_two_values():
    assert fit_knots(np.array([0.0, 1.0, 0.0]), 4).size == 0
    heavy = np.concatenate([np.zeros(90), np.full(5, 1e-9), np.linspace(-1, 1, 20)])
    assert np.diff(fit_knots(heavy, 8)).min() >= 1e-6


def test_splines_and_products_miss_less_than_columns_as_they_are():
    columns = columns_of(2000)
    rows = np.arange(2000)
    missed = {}
    for kind in KINDS:
        encoder = fit(columns, kind, 500, 3 if kind == "components" else None)
        x, y, _ = encoder.records(columns, rows)
        missed[kind] = np.mean((y - x @ np.linalg.lstsq(x, y, rcond=None)[0]) ** 2)
    assert missed["splines_and_products"] < missed["splines"] < missed["linear"]
    assert missed["products"] < missed["linear"] and missed["bins"] < missed["linear"]


KERNEL = replace(KINDS["kernel"], bandwidth=1.5)


def gaussian_kernel(rows, others, width):
    """The kernel itself, pair by pair."""
    gaps = [[np.sum((one - other) ** 2) for other in others] for one in rows]
    return np.exp(-np.array(gaps) / (2 * width**2))


@pytest.mark.parametrize("count", [20, 80, 320])
def test_products_of_kernel_features_scatter_about_the_kernel_as_computed_by_hand(count):
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(4, 3))
    rows /= rows.std(axis=0)
    found = []
    for seed in range(400):
        drawn = draw_frequencies(rows, replace(KERNEL, frequencies=count, seed=seed))
        made = kernel_columns(rows, drawn)
        np.testing.assert_allclose(np.sum(made**2, axis=1), 1.0, rtol=1e-12)
        found.append(made @ made.T)
    kernel = gaussian_kernel(rows, rows, 1.5)
    off = ~np.eye(4, dtype=bool)
    spread = ((1 - kernel**2) / np.sqrt(2 * count))[off]  # of the mean of m cosines
    error = (np.mean(found, axis=0) - kernel)[off]
    assert np.abs(error / spread * np.sqrt(400)).max() < 3.5
    np.testing.assert_allclose(np.std(found, axis=0)[off], spread, rtol=0.15)


def test_ridge_on_kernel_features_becomes_kernel_ridge():
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(260, 2))
    rows[:200] /= rows[:200].std(axis=0)
    y = np.sin(rows[:200].sum(axis=1))
    kernel = gaussian_kernel(rows, rows[:200], 1.5)
    exact = kernel[200:] @ np.linalg.solve(kernel[:200] + 0.1 * np.eye(200), y)
    missed = []
    for count in (20, 160, 1280):
        drawn = draw_frequencies(rows[:200], replace(KERNEL, frequencies=count))
        made = kernel_columns(rows, drawn)
        shown = made[:200]
        ridge = np.linalg.solve(shown.T @ shown + 0.1 * np.eye(2 * count), shown.T @ y)
        missed.append(np.sqrt(np.mean((made[200:] @ ridge - exact) ** 2)))
    assert missed[2] < 0.5 * missed[1] < 0.25 * missed[0]
    assert missed[2] < 0.02 * exact.std()


def test_a_bandwidth_is_the_median_distance_in_public_deviations_unless_stated():
    rows = np.random.default_rng(3).normal(size=(60, 2)) * [1.0, 20.0] + [5.0, 0.0]
    scaled = rows / rows.std(axis=0)
    gaps = sorted(np.linalg.norm(one - other) for one, other in combinations(scaled, 2))
    middle = 0.5 * (gaps[884] + gaps[885])  # of 1,770
    assert median_distance(scaled) == pytest.approx(middle, rel=1e-12)
    left = draw_frequencies(rows, KINDS["kernel"])
    stated = draw_frequencies(rows, replace(KINDS["kernel"], bandwidth=2 * middle))
    assert left.shape == (3, 2)
    np.testing.assert_allclose(left, 2 * stated, rtol=1e-12)
    moved = draw_frequencies(rows * [1.0, 0.1], KINDS["kernel"])
    np.testing.assert_allclose(moved, left * [1.0, 10.0], rtol=1e-12)


def test_a_kernel_of_columns_that_never_differ_has_a_width():
    assert median_distance(np.ones((9, 2))) == 1.0
