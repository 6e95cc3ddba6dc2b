"""Rules of columns by which some row would make no record are refused with the contract, not with the row."""

import numpy as np
import pytest
from exchanges import small_contract

from exchange.columns import check_columns
from exchange.contract import parse_contract
from exchange.sentences import describe_expansion
from exchange.terms import Columns
from learning.data.feature_names import feature_names
from learning.errors import InputError

TWO = {
    "names": ["age", "income"],
    "low": [20.0, 0.0],
    "high": [70.0, 100.0],
    "fill": [45.0, 30.0],
    "reach": [1.0, 3.0],
}
AXES = [[1.0, 0.0, 0.0], [0.0, 0.6, 0.8], [0.0, -0.8, 0.6]]
PARTS = {
    "centre": [0.0] * 3,
    "spread": [1.0] * 3,
    "axes": AXES,
    "low": [-1.0] * 3,
    "high": [1.0] * 3,
}


def columns(loss: str = "squared", **changes) -> Columns:
    content = small_contract(loss=loss, clipping="record").columns.model_dump()
    return Columns.model_validate(
        content
        | {
            key: content[key] | new if isinstance(content[key], dict) else new
            for key, new in changes.items()
        }
    )


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_good_columns_pass(loss):
    check_columns(columns(loss), 4, "c")
    check_columns(columns(loss, components=PARTS), 4, "c")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {"numbers": TWO | {"fill": [1.0]}},
            "columns: must have a range and a fill, or categories, for each column",
        ),
        ({"categories": {"categories": [[]]}}, "columns: must have a range and a fill"),
        ({"categories": {"names": ["age"]}}, "columns: must have names that differ"),
        ({"target": {"name": "kind"}}, "columns: must have names that differ"),
        ({"categories": {"categories": [["a", "a"]]}}, "columns.categories: must differ"),
        (
            {"numbers": TWO | {"high": [20.0, 100.0]}},
            "columns.numbers: must have ranges with a low end below the high end",
        ),
        ({"target": {"high": 0.0}}, "below the high end, and so must the target"),
        ({"numbers": TWO | {"low": [-1e308, 0.0]}}, "columns: must have numbers of at most 1e+100"),
        ({"mean": [0.0, 1e200, 0.0, 1.0]}, "columns: must have numbers of at most 1e+100"),
        (
            {"components": PARTS | {"centre": [1e300, 0.0, 0.0]}},
            "columns: must have numbers of at most 1e+100",
        ),
        (
            {"components": PARTS | {"spread": [0.0, 1.0, 1.0]}},
            "columns.components: must have spreads of 1e-100 or more",
        ),
        ({"components": PARTS | {"axes": [[3.0, 0.0, 0.0], *AXES[1:]]}}, "and axes of at most 2"),
        (
            {"components": PARTS | {"axes": [[1.0, 0.0]] * 3}},
            "columns.components: must be of 3 encoded columns",
        ),
        ({"components": PARTS | {"low": [-1.0]}}, "columns.components: must have 3 ranges"),
        (
            {"components": PARTS | {"low": [2.0] * 3}},
            "columns.components: must have ranges from low to high",
        ),
        (
            {"mean": [0.0, 0.0, 1.0]},
            "columns: must make records of 4 numbers, as many as bounds.start has; found 4, and a mean of 3",
        ),
        (
            {"categories": {"categories": [["a", "b", "c"]]}},
            "columns: must make records of 4 numbers",
        ),
        ({"written": {"income": "comma"}}, None),
        (
            {"written": {"kind": "point"}},
            "columns.written: must name every column of numbers, and no other",
        ),
    ],
)
def test_rules_that_make_no_record_are_refused_by_name(changes, told):
    made = columns(**changes)
    if told is None:
        check_columns(made, 4, "c")
        return
    with pytest.raises(InputError) as caught:
        check_columns(made, 4, "c")
    assert told in str(caught.value) and str(caught.value).startswith("c: columns")


@pytest.mark.parametrize(
    ("labels", "written"),
    [
        (["no"], {}),
        (["no", "no"], {}),
        (["a", "b"], {"claims": "point"}),
        (["1", "1.0"], {"claims": "point"}),
    ],
)
def test_labels_are_two_of_the_kind_of_their_cells(labels, written):
    numbers = {"age": "point", "income": "point"}
    with pytest.raises(InputError, match="columns.target.labels: must be two"):
        check_columns(
            columns("logistic", target={"labels": labels}, written=numbers | written), 4, "c"
        )


def test_a_target_without_labels_says_how_it_is_written():
    made = columns().model_copy(update={"written": {"age": "point", "income": "point"}})
    with pytest.raises(InputError, match="columns.written: must name every column of numbers"):
        check_columns(made, 4, "c")


SPLINES = {"degree": 2, "knots": [[-1.0, 0.2, 1.0], []], "pairs": [[0, 2]], "kept": [0, 2, 6]}


def test_splines_and_products_pass_and_are_what_an_owner_encodes_by():
    made = columns(expansion=SPLINES)
    check_columns(made, 4, "c")
    contract = small_contract()
    contract = contract.model_copy(update={"columns": made})
    assert contract.raw != small_contract().raw and b"expansion" not in small_contract().raw
    assert parse_contract(contract.raw, "c").raw == contract.raw
    encoder = contract.encoder
    assert feature_names(encoder) == ("age spline 1", "age spline 3", "age * kind_public", "1")
    cells = {
        "age": np.array([20.0, 50.0, np.nan]),
        "income": np.array([0.0, 50.0, 1e9]),
        "kind": np.array(["public", "a", None], dtype=object),
    }
    x, _ = encoder.encode(cells, np.arange(3))
    assert x.shape == (3, 4) and np.isfinite(x).all() and np.abs(x).max() <= 1
    assert x[0].tolist() == [1.0, 0.0, -1.0, 1.0]


def test_a_kernel_passes_and_is_what_an_owner_encodes_by():
    waves = [[2.0, 0.0, 0.5], [0.0, 1.0, 0.0]]
    plain = {"degree": 0, "knots": [[], []], "pairs": []}
    made = columns(expansion=plain | {"kept": [3, 4, 5], "frequencies": waves})
    check_columns(made, 4, "c")
    contract = small_contract().model_copy(update={"columns": made})
    assert parse_contract(contract.raw, "c").raw == contract.raw
    assert feature_names(contract.encoder) == ("kernel cos 1", "kernel cos 2", "kernel sin 1", "1")
    kinds = np.array(["public", "public"], dtype=object)
    cells = {"age": np.array([20.0, 45.0]), "income": np.array([0.0, 50.0]), "kind": kinds}
    x, _ = contract.encoder.encode(cells, np.arange(2))
    coded, _ = contract.encoder.code_columns(cells, np.arange(2))
    phase = 2.0 * coded[:, 0] + 0.5 * coded[:, 2]
    other = np.stack([np.cos(phase), np.cos(coded[:, 1]), np.sin(phase)], axis=1) / np.sqrt(2)
    np.testing.assert_allclose(x[:, :3], other, rtol=1e-12)
    assert "a Gaussian kernel by 2 random frequencies" in describe_expansion(made.expansion)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"frequencies": [[1.0, 2.0]]}, "expansion: must have frequencies of 3 encoded columns"),
        ({"frequencies": [[1.0, 2.0, 1e200]]}, "must have numbers of at most 1e.100"),
        ({"frequencies": [[1.0, 2.0, 3.0]], "kept": [0, 2, 9]}, "features that differ, of 9"),
        ({"knots": [[-1.0, 1.0]]}, "expansion: must have knots for each of 2 columns of numbers"),
        (
            {"knots": [[-1.0, 0.2, 0.2, 1.0], []]},
            "must have knots from -1 to 1, 1e-06 or more apart",
        ),
        ({"knots": [[-1.0, 0.2, 0.9], []]}, "must have knots from -1 to 1"),
        ({"pairs": [[0, 3]]}, "must multiply two of the 3 encoded columns"),
        ({"pairs": [[-1, 2]]}, "must multiply two of the 3 encoded columns"),
        ({"kept": [0, 0, 6]}, "must use features that differ, of 7"),
        ({"kept": [0, 2, 7]}, "must use features that differ, of 7"),
        ({"kept": [0, 2]}, "must make records of 4 numbers"),
    ],
)
def test_an_expansion_that_makes_no_record_is_refused(changes, told):
    with pytest.raises(InputError, match=told):
        check_columns(columns(expansion=SPLINES | changes), 4, "c")
