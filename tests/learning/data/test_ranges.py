"""Ranges that are not stated reach further than the public rows, at the scale that those give."""

import numpy as np
import pytest

from learning.data.encoding import read_encoder
from learning.data.fitting import describe_encoder, fit_encoder, widen_ranges
from learning.data.owner_data import encode_owners

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
    return made, widen_ranges(made, columns, np.arange(public), STATED)


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
        wide.feature_bound * [np.abs(x[:, 0]).max(), 1, 1]
    )
    assert wide.feature_bound.tolist() == [1, 3, 1]


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
