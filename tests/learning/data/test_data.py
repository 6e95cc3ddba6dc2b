"""Rows to owners, columns to features: sums, left-overs, bounds, and nothing private in the encoding."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learning.data import division
from learning.data.division import divide_rows
from learning.data.encoded import count_filled, feature_bound
from learning.data.encoding import Numbers
from learning.data.feature_kinds import KINDS
from learning.data.feature_names import category_names, feature_names
from learning.data.fitting import fit_encoder
from learning.data.owner_data import encode_owners
from learning.data.rows import RowLabels
from learning.errors import InputError


def rng():
    return np.random.default_rng(0)


# ---- divide
# -------------------------------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 30), min_size=1, max_size=5),
    public=st.integers(0, 20),
    spare=st.integers(0, 40),
    share=st.floats(0, 0.5),
    shuffled=st.booleans(),
)
def test_every_row_goes_to_one_place(sizes, public, spare, share, shuffled):
    private = int(np.ceil(sum(sizes) / (1 - share))) + spare
    made = divide_rows(
        private + public,
        rng=rng() if shuffled else None,
        sizes=sizes,
        public_rows=public,
        holdout=share,
    )
    taken = [*made.owners.values(), made.public, made.holdout]
    assert [len(rows) for rows in made.owners.values()] == sizes
    assert len(made.public) == public and len(made.holdout) == int(share * private)
    assert sum(map(len, taken)) + made.left_over == private + public
    assert len(set(np.concatenate(taken).tolist())) == sum(map(len, taken))


def test_rows_stay_in_the_order_of_the_file():
    made = divide_rows(12, rng=None, sizes=[3, 4], names=["a", "b"], public_rows=2, holdout=0.2)
    assert made.owners["a"].tolist() == [0, 1, 2] and made.owners["b"].tolist() == [3, 4, 5, 6]
    assert (
        made.holdout.tolist() == [8, 9] and made.public.tolist() == [10, 11] and made.left_over == 1
    )


def test_holdout_rest_takes_what_no_owner_took():
    made = divide_rows(12, rng=None, sizes=[3, 4], public_rows=2, holdout="rest")
    assert made.holdout.tolist() == [7, 8, 9] and made.left_over == 0


def test_owner_labels():
    labels = RowLabels.of(["b", "a", "b", "c", "a", "b", "b", "a"])
    made = divide_rows(8, rng=None, labels=labels, public_rows=2)
    assert {name: rows.tolist() for name, rows in made.owners.items()} == {
        "a": [1, 4],
        "b": [0, 2, 5],
        "c": [3],
    }
    assert list(made.owners) == ["a", "b", "c"] and made.left_over == 0
    chosen = divide_rows(8, rng=None, labels=labels, names=["c", "b"], public_rows=2)
    assert list(chosen.owners) == ["c", "b"] and chosen.left_over == 2
    absent = divide_rows(
        8, rng=None, labels=RowLabels.of(list("aaaaabbc")), public_rows=3, min_records=2
    )
    assert absent.too_small == ("b", "c") and list(absent.owners) == [
        "a"
    ]  # all their rows are public
    large = divide_rows(8, rng=None, labels=labels, public_rows=2, min_records=2)
    assert large.too_small == ("c",) and list(large.owners) == ["a", "b"]


def test_shuffling_is_seeded_and_moves_only_rows():
    one, two = (
        divide_rows(50, rng=np.random.default_rng(4), sizes=[20, 20], public_rows=5)
        for _ in range(2)
    )
    assert all((one.owners[name] == two.owners[name]).all() for name in one.owners)
    assert one.public.tolist() != list(range(45, 50))


@pytest.mark.parametrize(
    ("arguments", "key"),
    [
        (dict(sizes=[5, 6]), "data.split"),
        (dict(sizes=[4], public_rows=7), "data.split"),
        (dict(sizes=[5], holdout=0.6), "data.split"),
        (dict(sizes=[1], public_rows=11), "data.public_rows"),
        (dict(sizes=[3, 0]), "data.split"),
        (dict(labels=RowLabels.of(list("ababababab")), names=["a", "z"]), "data.owner"),
        (dict(labels=RowLabels.of(list("ababababab")), min_records=6), "data.min_records"),
        (dict(labels=RowLabels.of(list("ababababab")), public_rows=10), "data.owner"),
        (dict(labels=RowLabels.of([""] * 10)), "data.owner"),
        (dict(labels=RowLabels.of([""] * 10), min_records=6), "data.owner"),
        (dict(), "data.split"),
        (dict(sizes=[1], labels=RowLabels.of(list("ababababab"))), "data.split"),
    ],
)
def test_a_division_that_cannot_be_is_refused_in_one_line(arguments, key):
    with pytest.raises(InputError) as error:
        divide_rows(10, rng=None, **arguments)
    assert error.value.key == key and "\n" not in str(error.value)


# ---- encode
# -------------------------------------------------------------------------------------------------------


def table(n=40, seed=1):
    draw = np.random.default_rng(seed)
    return {
        "age": draw.uniform(20, 80, n),
        "income": draw.lognormal(1, 1, n),
        "flat": np.full(n, 3.0),
        "city": draw.choice(["bonn", "kiel", "ulm"], n).astype(object),
        "note": np.full(n, "x", dtype=object),
        "y": draw.normal(5, 2, n),
    }


FEATURES = ("age", "income", "flat", "city", "note")
PUBLIC = np.arange(30, 40)
PRIVATE = np.arange(30)


def encoder(columns, encoding="onehot", **changes):
    told = {"target": "y", "features": FEATURES, "public": PUBLIC, "bounds": {}, **changes}
    return fit_encoder(columns, **told, kind=replace(KINDS["linear"], encoding=encoding))


def test_numbers_are_scaled_to_their_public_range_and_the_constant_is_last():
    columns = table()
    made = encoder(columns, bounds={"age": (0.0, 100.0)})
    x, clipped = made.encode(columns, PRIVATE)
    low = columns["income"][PUBLIC].min()
    high = columns["income"][PUBLIC].max()
    assert feature_names(made)[:2] == ("age", "income") and feature_names(made)[-1] == "1"
    assert x[:, 0] == pytest.approx(columns["age"][PRIVATE] / 50 - 1)
    assert x[:, 1] == pytest.approx(
        2 * (np.clip(columns["income"][PRIVATE], low, high) - low) / (high - low) - 1
    )
    assert (x[:, -1] == 1).all()
    outside = (columns["income"][PRIVATE] < low) | (columns["income"][PRIVATE] > high)
    assert clipped.tolist() == outside.tolist() and outside.any()


def test_constant_columns_are_dropped_and_named():
    made = encoder(table())
    assert made.dropped == ("flat", "note")
    assert feature_names(made) == ("age", "income", "city_kiel", "city_ulm", "1")


def test_target_is_clipped_and_counted_from_the_public_mean():
    columns = table()
    made = encoder(columns, bounds={"y": (4.0, 6.0)})
    y, clipped = made.target.encode(columns, PRIVATE)
    centre = np.clip(columns["y"][PUBLIC], 4, 6).mean()
    assert y == pytest.approx(np.clip(columns["y"][PRIVATE], 4, 6) - centre)
    assert clipped.tolist() == ((columns["y"][PRIVATE] < 4) | (columns["y"][PRIVATE] > 6)).tolist()
    owner = encode_owners(made, columns, {"a": PRIVATE})[0]
    assert (
        owner.clipped == (clipped + made.encode(columns, PRIVATE)[1]).sum()
        and owner.n_records == 30
    )
    assert "array" not in repr(owner)  # records do not show by accident


def test_many_owners_are_encoded_in_one_pass_and_as_each_alone(monkeypatch):
    """A pass for each of 100,000 owners took six seconds."""
    columns = table()
    made = encoder(columns, bounds={"y": (4.0, 6.0), "income": (20.0, 30.0)})
    held = {"a": PRIVATE[:5], "b": PRIVATE[5:6], "c": PRIVATE[6:]}
    alone = [encode_owners(made, columns, {name: rows})[0] for name, rows in held.items()]
    passes = []
    monkeypatch.setattr(
        Numbers, "encode", lambda *asked, encode=Numbers.encode: passes.append(1) or encode(*asked)
    )
    together = encode_owners(made, columns, held)
    assert len(passes) == 1 and sum(owner.clipped for owner in alone) > 0
    for one, other in zip(alone, together, strict=True):
        assert (one.name, one.clipped) == (other.name, other.clipped)
        assert np.array_equal(one.x, other.x) and np.array_equal(one.y, other.y)


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [
        ("onehot", [[0, 0], [1, 0], [0, 1], [0, 0], [0, 0]]),
        ("integer", [[0], [1], [2], [-1], [-1]]),
    ],
)
def test_categories_come_from_public_rows_and_others_are_coded_as_none(encoding, expected):
    cities = ["bonn", "kiel", "ulm", "paris", None]
    columns = {
        "city": np.array([*cities, "bonn", "kiel", "ulm"], dtype=object),
        "y": np.arange(8.0),
    }
    made = encoder(columns, encoding, features=("city",), public=np.arange(5, 8))
    x, _ = made.encode(columns, np.arange(5))
    assert x[:, :-1].tolist() == expected


def test_a_missing_category_shown_in_public_is_one_of_its_own():
    columns = {"city": np.array(["bonn", None, "kiel", None], dtype=object), "y": np.arange(4.0)}
    made = fit_encoder(columns, target="y", features=("city",), public=np.arange(4), bounds={})
    assert feature_names(made) == (
        "city_bonn",
        "city_kiel",
        "1",
    )  # "(missing)" sorts first and is the one left out
    assert made.encode(columns, np.arange(4))[0].tolist() == [
        [1, 0, 1],
        [0, 0, 1],
        [0, 1, 1],
        [0, 0, 1],
    ]


def test_missing_numbers_are_filled_with_the_public_mean():
    columns = table()
    columns["age"][[2, 31]] = np.nan
    made = encoder(columns)
    mean = np.nanmean(columns["age"][PUBLIC])
    low = np.nanmin(columns["age"][PUBLIC])
    high = np.nanmax(columns["age"][PUBLIC])
    assert made.encode(columns, np.array([2]))[0][0, 0] == pytest.approx(
        2 * (mean - low) / (high - low) - 1
    )


@pytest.mark.parametrize("components", [None, 2])
def test_a_record_without_target_counts_as_the_mean_public_one(components):
    columns = table()
    columns["y"][[2, 5]] = np.nan
    made = encoder(columns, components=components)
    owner = encode_owners(made, columns, {"a": PRIVATE})[0]
    assert owner.n_records == len(PRIVATE) and owner.y[[2, 5]].tolist() == [0, 0]
    public = made.encode(columns, PUBLIC)[0]
    assert owner.x[2] == pytest.approx(public.mean(axis=0)) and (owner.x[5] == owner.x[2]).all()
    best = np.linalg.lstsq(public, made.target.encode(columns, PUBLIC)[0], rcond=None)[0]
    assert owner.x[2] @ best == pytest.approx(
        0
    )  # the learner's own model is as it would be without such records
    assert count_filled(made, columns, PRIVATE) == 2


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    factor=st.floats(1, 1e6),
    encoding=st.sampled_from(["onehot", "integer"]),
    components=st.sampled_from([None, 1, 3]),
)
def test_no_encoded_record_exceeds_the_public_bounds(seed, factor, encoding, components):
    columns = table(seed=seed)
    made = encoder(columns, encoding=encoding, components=components)
    for name in ("age", "income", "y"):
        columns[name][PRIVATE] *= -factor
    columns["city"][:5] = "elsewhere"
    x, _ = made.encode(columns, np.arange(40))
    y, _ = made.target.encode(columns, np.arange(40))
    assert (np.abs(x).max(axis=0) <= feature_bound(made) * (1 + 1e-12)).all()
    assert np.abs(y).max() <= made.target.bound * (1 + 1e-12)
    assert x.shape[1] == made.n_parameters == len(feature_bound(made))


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    encoding=st.sampled_from(["onehot", "integer"]),
    components=st.sampled_from([None, 1, 3]),
)
def test_private_rows_change_nothing_public(seed, encoding, components):
    """Whatever private rows hold, ranges, categories, centres, components and public features stay the same bytes."""
    one = table()
    two = table()
    draw = np.random.default_rng(seed)
    for name in ("age", "income", "flat", "y"):
        two[name][PRIVATE] = draw.standard_cauchy(30) * 1e3
    two["age"][:3] = np.nan
    two["city"][PRIVATE] = draw.choice(["bonn", "rome", "oslo", None], 30)
    two["note"][PRIVATE] = "y"
    made = [encoder(columns, encoding=encoding, components=components) for columns in (one, two)]
    for part, names in {
        "numbers": ("low", "high", "fill"),
        "components": ("centre", "spread", "low", "high"),
    }.items():
        for name in names if getattr(made[0], part) is not None else ():
            assert (
                getattr(getattr(made[0], part), name).tobytes()
                == getattr(getattr(made[1], part), name).tobytes()
            )
    assert made[0].numbers.names == made[1].numbers.names and category_names(
        made[0].categories
    ) == category_names(made[1].categories)
    assert feature_names(made[0]) == feature_names(made[1])
    for name in ("dropped", "target"):
        assert getattr(made[0], name) == getattr(made[1], name)
    assert made[0].encode(one, PUBLIC)[0].tobytes() == made[1].encode(two, PUBLIC)[0].tobytes()


def test_components_are_those_of_the_standardised_public_rows():
    columns = table()
    plain = encoder(columns)
    made = encoder(columns, components=2)
    raw = plain.encode(columns, PUBLIC)[0][:, :-1]
    standard = (raw - raw.mean(axis=0)) / raw.std(axis=0)
    _, _, directions = np.linalg.svd(standard, full_matrices=False)
    scores = standard @ directions[:2].T
    x, clipped = made.encode(columns, PUBLIC)
    assert not clipped.any() and np.abs(x[:, :2]) == pytest.approx(np.abs(scores))
    assert feature_names(made) == ("component 1", "component 2", "1")


def test_a_row_is_coded_the_same_to_the_last_bit_whichever_rows_are_coded_with_it():
    """An owner alone codes fewer rows than the market; a product of matrices adds up in an order that hangs on how many."""
    draw = rng()
    columns = {f"x{i}": draw.normal(size=400) for i in range(40)} | {
        "y": draw.choice([-0.0, 0.0, 1.0], 400)
    }
    bounds = {"y": (-1.0, 1.0)}
    encoder = fit_encoder(
        columns,
        target="y",
        features=list(columns)[:-1],
        public=np.arange(200),
        bounds=bounds,
        components=12,
    )
    encoder = replace(encoder, target=replace(encoder.target, centre=0.0))
    x, y, _ = encoder.records(columns, np.arange(400))
    centre, spread, axes = (
        getattr(encoder.components, name) for name in ("centre", "spread", "axes")
    )
    raw, _ = encoder.code_columns(columns, np.arange(200))
    assert np.allclose(x[:200, :-1], (raw - centre) / spread @ axes.T, rtol=0, atol=1e-12)
    for rows in ([7], [3, 399], range(100, 333)):
        alone = encoder.records(columns, np.array(rows))
        assert alone[0].tobytes() == x[rows].tobytes() and not np.signbit(y[rows]).any()


def test_bounds_alone_suffice_without_public_rows():
    columns = table()
    made = encoder(
        columns,
        features=("age",),
        public=np.arange(0),
        bounds={"age": (0.0, 100.0), "y": (0.0, 10.0)},
    )
    assert made.target.centre == 5.0 and made.target.bound == 5.0
    assert made.encode(columns, np.array([0]))[0].tolist() == [[columns["age"][0] / 50 - 1, 1.0]]


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        (dict(features=("age",), public=np.arange(0), bounds={"y": (0.0, 1.0)}), "data.bounds.age"),
        (dict(features=("age",), public=np.arange(0), bounds={"age": (0.0, 1.0)}), "data.bounds.y"),
        (
            dict(features=("city",), public=np.arange(0), bounds={"y": (0.0, 1.0)}),
            "data.public_rows",
        ),
        (dict(components=9), "data.components"),
        (dict(components=0), "data.components"),
        (dict(encoding="hash"), "data.encoding"),
    ],
)
def test_what_would_have_to_be_read_from_private_records_is_refused(changes, key):
    with pytest.raises(InputError) as error:
        encoder(table(), **changes)
    assert error.value.key == key


def test_one_outlier_among_many_public_rows_does_not_set_the_scale():
    """Half a percent at either end may lie outside a feature's range; a rare yes keeps its own, and so does the target."""
    rng = np.random.default_rng(0)
    rows = 1000
    columns = {"x": rng.normal(size=rows), "rare": np.zeros(rows), "y": rng.normal(size=rows)}
    columns["x"][3], columns["rare"][5:8], columns["y"][7] = 1e6, 1.0, 1e6
    encoder = fit_encoder(
        columns, target="y", features=("x", "rare"), public=np.arange(rows), bounds={}
    )
    assert (
        encoder.numbers.high[0] < 4
        and encoder.numbers.high[1] == 1.0
        and encoder.target.high == 1e6
    )
    few = fit_encoder(columns, target="y", features=("x", "rare"), public=np.arange(150), bounds={})
    assert few.numbers.high[0] < 5  # two rows are too few to set it
    stated = fit_encoder(
        columns, target="y", features=("x",), public=np.arange(rows), bounds={"x": (0.0, 1e6)}
    )
    assert stated.numbers.high[0] == 1e6


# ---- labels
# -------------------------------------------------------------------------------------------------------


def labelled(seed=1):
    columns = table(seed=seed)
    return {**columns, "y": np.where(columns["y"] > 6, 1.0, -1.0)}


def test_labels_are_taken_as_they_are_and_never_counted_from_their_mean():
    columns = labelled()
    made = encoder(columns, labels=True)
    assert (
        (made.target.low, made.target.high) == (-1.0, 1.0)
        and made.target.centre == 0.0
        and made.target.bound == 1.0
    )
    assert -1 < columns["y"][PUBLIC].mean() < 1 and columns["y"][PUBLIC].mean() != 0
    y, clipped = made.target.encode(columns, PRIVATE)
    assert y.tolist() == columns["y"][PRIVATE].tolist() and not clipped.any()
    plain = encoder(columns)
    assert made.encode(columns, PRIVATE)[0].tobytes() == plain.encode(columns, PRIVATE)[0].tobytes()


def test_labels_need_neither_a_bound_nor_a_public_row():
    made = encoder(
        labelled(),
        features=("age",),
        public=np.arange(0),
        bounds={"age": (0.0, 100.0)},
        labels=True,
    )
    assert (made.target.low, made.target.high) == (-1.0, 1.0) and made.target.centre == 0.0


@pytest.mark.parametrize("label", [-1.0, 1.0])
def test_public_rows_must_show_both_labels(label):
    columns = labelled()
    columns["y"][PUBLIC] = label
    with pytest.raises(InputError) as error:
        encoder(columns, labels=True)
    assert error.value.key == "data.public_rows"
    assert f"found {label:+.0f} in all 10 public rows. Raise it, or change the seed." in str(
        error.value
    )
    columns["y"][PUBLIC[-1]] = -label
    assert encoder(columns, labels=True).target.centre == 0.0


@pytest.mark.parametrize("block", [7, 1000])
@pytest.mark.parametrize("names", [None, ["c", "a"]])
def test_rows_of_owners_are_those_of_a_stable_sort(monkeypatch, block, names):
    """The rows by the second route: a loop over the shuffled rows."""
    monkeypatch.setattr(division, "BLOCK", block)
    draw = np.random.default_rng(6)
    texts = draw.choice(["a", "b", "c", ""], 200).tolist()
    labels = RowLabels.of(texts)
    made = divide_rows(
        200, rng=np.random.default_rng(7), labels=labels, names=names, public_rows=20, holdout=0.1
    )
    order = np.random.default_rng(7).permutation(np.arange(200, dtype=np.int32)).tolist()
    assert made.public.tolist() == order[180:] and made.holdout.tolist() == order[162:180]
    taken = names or ["a", "b", "c"]
    for name in taken:
        assert made.owners[name].tolist() == [row for row in order[:162] if texts[row] == name]
    assert made.left_over == sum(texts[row] not in taken for row in order[:162])
