"""Ranges that are not stated reach further than the public rows, at the scale that those give."""

import numpy as np
import pytest

from learning.data.encoded import feature_bound
from learning.data.encoding import read_encoder
from learning.data.fitting import describe_encoder, fit_encoder
from learning.data.owner_data import encode_owners
from learning.data.ranges import choose_reach, widen_ranges

STATED = {"age": (0.0, 100.0)}


@pytest.fixture(autouse=True)
def _as_users_have_them(as_for_users):
    pass


def table(rows=400, seed=1):
    draw = np.random.default_rng(seed)
    return {
        "age": draw.uniform(20, 80, rows),
        "height": draw.normal(170, 8, rows),
        "y": draw.normal(5, 2, rows),
    }


def fitted(columns, features=("age", "height"), public=40, **changes):
    told = dict(target="y", features=features, public=np.arange(public), bounds=STATED)
    made = fit_encoder(columns, **{**told, **changes})
    return made, widen_ranges(made, columns, np.arange(public), STATED, 3.0)


def test_widened_ranges_are_three_times_as_wide_and_stated_ones_stay():
    narrow, wide = (one.numbers for one in fitted(table()))
    middle = (narrow.low + narrow.high) / 2
    half = (narrow.high - narrow.low) / 2
    assert wide.low == pytest.approx([0, middle[1] - 3 * half[1]])
    assert wide.high == pytest.approx([100, middle[1] + 3 * half[1]])


def test_cells_keep_their_scale_and_only_far_ones_are_clipped():
    columns = table()
    columns["height"][300] = 1e6
    narrow, wide = fitted(columns)
    rows = np.arange(40, 400)
    x, clipped = wide.encode(columns, rows)
    shown, outside = narrow.encode(columns, rows)
    inside = outside == 0
    assert x[inside] == pytest.approx(shown[inside])
    assert clipped.sum() == 1 and outside.sum() > 5
    assert np.abs(x).max(axis=0) == pytest.approx(
        feature_bound(wide) * [np.abs(x[:, 0]).max(), 1, 1]
    )
    assert feature_bound(wide).tolist() == [1, 3, 1]


def test_components_reach_further_too():
    columns = table()
    narrow, wide = fitted(columns, components=2)
    half = (narrow.components.high - narrow.components.low) / 2
    assert wide.components.low == pytest.approx(narrow.components.low - 2 * half)
    assert wide.components.high == pytest.approx(narrow.components.high + 2 * half)
    assert wide.mean == pytest.approx(wide.encode(columns, np.arange(40))[0].mean(axis=0))


def test_a_description_has_the_reach_and_one_without_has_none():
    columns = table()
    _, wide = fitted(columns)
    described = describe_encoder(wide)
    rows = np.arange(400)
    assert np.array_equal(
        read_encoder(described).encode(columns, rows)[0], wide.encode(columns, rows)[0]
    )
    del described["numbers"]["reach"]
    assert read_encoder(described).numbers.reach.tolist() == [1, 1]


@pytest.mark.parametrize("seed", range(3))
def test_rows_of_columns_that_add_up_stay_together(seed):
    """A total and its parts: cells clipped to the public range made the learner's own model lose ten times as much."""
    draw = np.random.default_rng(seed)
    parts = draw.standard_normal((4000, 2))
    total = parts.sum(axis=1) + 0.01 * draw.standard_normal(4000)
    y = parts @ [3.0, -3.0] + 30 * (total - parts.sum(axis=1)) + draw.standard_normal(4000)
    columns = {"a": parts[:, 0], "b": parts[:, 1], "total": total, "y": y}
    lost = []
    for made in fitted(columns, ("a", "b", "total"), 100, bounds={"y": (-30.0, 30.0)}):
        (public, owner), _ = (
            encode_owners(made, columns, {"p": np.arange(100), "o": np.arange(100, 4000)}),
            0,
        )
        model = np.linalg.lstsq(public.x, public.y, rcond=None)[0]
        lost.append(np.mean((owner.y - owner.x @ model) ** 2))
    assert lost[1] < 1.2 < 1.8 < lost[0]


def chosen(columns, public=200, bounds=STATED, seed=0):
    """The reach of ranges of all columns but y."""
    rows = np.arange(public)
    features = [name for name in columns if name != "y"]
    made = fit_encoder(columns, target="y", features=features, public=rows, bounds=bounds)
    return choose_reach(made, columns, rows, bounds, rng=np.random.default_rng(seed))


@pytest.mark.parametrize("rows", [60, 200])
@pytest.mark.parametrize("seed", range(3))
def test_ranges_reach_further_where_columns_add_up(seed, rows):
    """Few rows reach as far as all of their own cells do: only the cells of rows held back are clipped."""
    draw = np.random.default_rng(seed)
    parts = draw.standard_normal((rows, 2))
    total = parts.sum(axis=1) + 0.01 * draw.standard_normal(rows)
    y = parts @ [3.0, -3.0] + 30 * (total - parts.sum(axis=1)) + draw.standard_normal(rows)
    columns = {"a": parts[:, 0], "b": parts[:, 1], "total": total, "y": y}
    assert chosen(columns, public=rows, bounds={}) == 3.0


@pytest.mark.parametrize("seed", range(3))
def test_ranges_end_with_the_public_rows_where_far_cells_tell_nothing(seed):
    """Of a column that counts up to a limit only, far cells would bend the slope."""
    draw = np.random.default_rng(seed)
    income = draw.lognormal(0, 1.5, 200)
    y = np.minimum(income, 3.0) + 0.3 * draw.standard_normal(200)
    assert chosen({"income": income, "y": y}, bounds={}) == 1.0


def test_ranges_do_not_reach_further_for_nothing():
    """Few rows, stated ranges, and flags, which no range clips."""
    columns = table()
    assert chosen(columns, public=2) == 1.0
    assert chosen(columns, bounds=dict.fromkeys(columns, (0.0, 300.0))) == 1.0
    flags = np.tile([0.0, 1.0, 1.0, 0.0], 100)
    assert chosen({"flag": flags, "y": columns["y"]}) == 1.0


def test_rows_of_owners_do_not_count():
    columns = table()
    other = {name: np.append(column[:200], 1e3 * column[200:]) for name, column in columns.items()}
    assert [chosen(columns, seed=s) for s in range(5)] == [chosen(other, seed=s) for s in range(5)]
