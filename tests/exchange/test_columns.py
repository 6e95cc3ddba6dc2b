"""Rules of columns by which some row would make no record are refused with the contract, not with the row."""

import pytest
from exchanges import small_contract

from exchange.columns import check_columns
from exchange.terms import Columns
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
