"""Encodings without rare categories, copies and complete sets: fitted to public rows alone."""

import numpy as np
import pytest

from learning.data.categories import RARE, join_rare
from learning.data.feature_names import feature_names
from learning.data.fitting import find_additions, fit_encoder
from learning.data.ranges import shorten_range


def fit(columns, rows, **changes):
    features = tuple(name for name in columns if name != "y")
    settings = {"target": "y", "features": features, "public": np.arange(rows), "bounds": {}}
    return fit_encoder(columns, **{**settings, **changes})


def table(rows=200, seed=1):
    draw = np.random.default_rng(seed)
    cities = np.array(
        [*60 * ["bonn"], *60 * ["kiel"], *76 * ["ulm"], "oslo", "oslo", "rome", "york"]
    )
    return {
        "size": draw.normal(size=rows),
        "city": cities.astype(object),
        "y": draw.normal(size=rows),
    }


def test_rare_categories_are_coded_like_those_that_nobody_shows():
    columns = table()
    made = fit(columns, 200)
    assert feature_names(made) == ("size", "city_bonn", "city_kiel", "city_ulm", "1")
    assert made.categories.categories[0].tolist() == [RARE, "bonn", "kiel", "ulm"]
    shown = {**columns, "city": np.array(["rome", "nowhere", "ulm"], dtype=object)}
    coded = made.code_columns({**shown, "size": np.zeros(3)}, np.arange(3))[0][:, 1:]
    assert coded.tolist() == [[0, 0, 0], [0, 0, 0], [0, 0, 1]]


def test_too_few_rare_ones_go_with_the_commonest():
    assert join_rare(np.array([*90 * ["a"], *99 * ["b"], "c"], dtype=object), 3).tolist() == [
        "b",
        "a",
    ]


def test_few_public_rows_keep_every_category():
    """Ten rows tell little of any category, and are no basis of a forecast."""
    columns = {"city": np.array([*"aaaabbbccd"], dtype=object), "y": np.arange(10.0)}
    assert feature_names(fit(columns, 10)) == ("city_b", "city_c", "city_d", "1")


@pytest.mark.parametrize(("off", "left_out"), [(1e-5, True), (1e-2, False)])
def test_a_copy_is_left_out_and_named(off, left_out):
    columns = table()
    draw = np.random.default_rng(2)
    columns["copy"] = 3 * columns["size"] + 1 + 3 * off * draw.normal(size=200)
    made = fit(columns, 200)
    assert made.dropped == (("copy",) if left_out else ())
    assert ("copy" in feature_names(made)) != left_out


def test_a_complete_set_of_flags_loses_one():
    draw = np.random.default_rng(3)
    which = draw.integers(4, size=300)
    columns = {f"is_{k}": (which == k).astype(float) for k in range(4)} | {
        "y": draw.normal(size=300)
    }
    made = fit(columns, 300)
    assert made.dropped == ("is_3",)
    x = made.encode(columns, np.arange(300))[0]
    assert np.linalg.matrix_rank(x) == x.shape[1] == 4


def test_texts_that_say_the_same_are_kept_once():
    columns = table()
    columns["town"] = columns["city"].copy()
    made = fit(columns, 200)
    assert made.dropped == ("town",) and made.categories.names == ("city",)


def test_one_odd_row_makes_no_column_but_outliers_do():
    """A set that is complete but for one row; and a column of numbers with one large value."""
    draw = np.random.default_rng(4)
    which = draw.integers(3, size=400)
    flags = np.column_stack([which == k for k in range(3)]).astype(float)
    flags[7] = 0
    assert find_additions(flags).tolist() == [True, True, False]
    heavy = draw.normal(size=(400, 1))
    heavy[7] = 1e6
    assert find_additions(heavy).tolist() == [True]


def test_additions_are_those_of_least_squares():
    """The size of an addition by the second route: the residual of numpy's least squares."""
    draw = np.random.default_rng(5)
    raw = draw.normal(size=(100, 5))
    raw[:, 3] = raw[:, 0] - raw[:, 1] + 2e-3 * draw.normal(size=100)
    raw[:, 4] = raw[:, 2] + 1e-4 * draw.normal(size=100)
    sizes = []
    for j in range(5):
        before = np.column_stack([np.ones(100), raw[:, :j]])
        left = raw[:, j] - before @ np.linalg.lstsq(before, raw[:, j], rcond=None)[0]
        sizes.append(left.std() / raw[:, j].std())
    assert find_additions(raw).tolist() == [size > 1e-3 for size in sizes]
    assert sizes[3] > 1e-3 > sizes[4]


def test_components_are_as_many_as_columns_are_left():
    columns = table()
    columns["copy"] = columns["size"]
    made = fit(columns, 200, components=5)
    assert made.n_parameters == 5  # size, three cities, the constant


def test_with_as_many_columns_as_rows_none_is_taken_for_a_copy():
    """Forty columns of chance in twenty rows: each is a combination of the others, and none a copy."""
    raw = np.random.default_rng(7).normal(size=(20, 40))
    assert find_additions(raw).all()
    raw[:, 3] = 2 * raw[:, 1] - raw[:, 2]
    raw[:, 30] = 1.0
    assert np.flatnonzero(~find_additions(raw)).tolist() == [3, 30]


def test_categories_are_joined_until_a_forecast_can_be_made():
    """Thirty towns in 100 rows, four of each of the first ten: twenty columns may be."""
    towns = [*np.repeat(range(10), 4), *np.repeat(range(10, 30), 3)]
    columns = {
        "town": np.array([f"t{town:02}" for town in towns], dtype=object),
        "size": np.random.default_rng(8).normal(size=100),
        "y": np.arange(100.0),
    }
    joined = fit(columns, 100).categories.categories[0].tolist()
    assert joined == [RARE, *(f"t{town:02}" for town in range(10))]
    whole = fit(columns, 100, components=15)  # which are few enough whatever the columns are
    assert len(whole.categories.categories[0]) == 30


def test_no_category_is_joined_where_numbers_alone_are_too_many():
    draw = np.random.default_rng(9)
    columns = {f"x{k}": draw.normal(size=60) for k in range(20)}
    columns["town"] = np.array(["a", "b", "c"] * 20, dtype=object)
    columns["y"] = draw.normal(size=60)
    assert fit(columns, 60).categories.categories[0].tolist() == ["a", "b", "c"]


def test_a_row_or_two_far_out_set_no_range_but_three_do():
    draw = np.random.default_rng(10)
    values = draw.normal(size=200)
    assert shorten_range(values, values.min(), values.max()) == (values.min(), values.max())
    inner = np.sort(values)
    values[:2] = 50.0, 60.0
    low, high = shorten_range(values, values.min(), 60.0)
    third = np.sort(values)[-3]
    assert low == values.min() and 50.0 > high > third > inner[-5]
    values[2] = 40.0
    assert shorten_range(values, values.min(), 60.0)[1] == 60.0
    yes = np.zeros(200)
    yes[:2] = 1.0
    assert shorten_range(yes, 0.0, 1.0) == (0.0, 1.0)  # two of a rare yes show no range


def test_ranges_that_are_stated_stay():
    columns = table()
    columns["size"][:2] = 100.0
    stated = fit(columns, 200, bounds={"size": (-5.0, 100.0)})
    assert stated.numbers.high.tolist() == [100.0]
    assert fit(columns, 200).numbers.high[0] < 10
