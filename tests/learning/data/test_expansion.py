"""Kinds of features: splines, bins and products with public knots."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.interpolate import BSpline

from learning.data.encoded import feature_bound
from learning.data.encoding import read_encoder
from learning.data.expanding import choose_pairs, fit_knots, list_pairs
from learning.data.expansion import spline_columns
from learning.data.feature_kinds import KINDS
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
    assert x.shape == (600, encoder.n_parameters) and len(encoder.feature_names) == x.shape[1]
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
    assert again.feature_names == encoder.feature_names


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
