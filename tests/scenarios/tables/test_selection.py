"""What a scenario asks of a table: columns, target, labels, and rows that lack something."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from commands import SCENARIO
from written import data, message, select

from scenarios.schema.loading import load
from scenarios.tables.dataset import label_texts, market_data
from scenarios.tables.reading import Table, read_table
from scenarios.tables.selection import check_rows
from scenarios.tables.selection import select_columns as select_public


@pytest.fixture
def table(write_table: Callable[..., Path]) -> Table:
    return read_table(
        write_table("y,age,plan,bank\n1,30,gold,A\n2,,silver,B\n,50,gold,A\n4,inf,,B\n5,60,gold,\n")
    )


FULL = "y,age,plan,bank\n1,30,gold,7\n2,40,silver,7\n3,50,gold,8\n"


def test_features_are_all_other_columns_by_default(write_table: Callable[..., Path]) -> None:
    full = read_table(write_table(FULL))
    assert list(select(full, data()).features) == ["age", "plan", "bank"]
    owned = select(full, data(split=None, owner="bank"))
    assert list(owned.features) == ["age", "plan"]
    assert list(label_texts(full.whose_rows("bank"), np.arange(3))) == ["7", "7", "8"]
    assert list(select(full, data(features=["plan"])).features) == ["plan"]


def test_missing_cells_are_refused_with_count_and_place(table: Table) -> None:
    text = message(lambda: select(table, data(split=None, owner="bank")))
    assert text == (
        f"{table.source}: data.missing: no cell in use of a public row may be missing or infinite; found 4, the first "
        'in row 2, column "age". Set data.missing = "drop" to leave out such rows, or "fill" to fill the cells.'
    )
    assert 'found 1, the first in row 4, column "plan"' in message(
        lambda: select(
            Table({**table.columns, "y": np.arange(5.0)}, 5, "t"), data(features=["plan"])
        )
    )


def test_drop_leaves_out_public_rows_and_counts_them(table: Table) -> None:
    got = select(table, data(split=None, owner="bank", missing="drop"))
    assert (len(got.target), got.n_dropped) == (5, 3) and got.usable.tolist() == [
        True,
        False,
        False,
        False,
        True,
    ]
    assert select(table, data(features=["plan"], missing="drop")).n_dropped == 2
    own = select_public(table, data(missing="drop", bounds={"y": [0, 9]}), np.array([0, 3]))
    assert own.usable.tolist() == [
        True,
        True,
        True,
        False,
        True,
    ]  # private rows 2 and 3 stay, to be filled
    assert np.array_equal(own.target, [1, 2, np.nan, 4, 5], equal_nan=True)
    assert list(label_texts(table.whose_rows("bank"), np.arange(5))) == ["A", "B", "A", "B", ""]


def test_fill_marks_cells_and_drops_only_what_nothing_can_fill(table: Table) -> None:
    got = select(table, data(split=None, owner="bank", missing="fill"))
    assert got.usable.tolist() == [True, True, False, True, True]  # row 3 has no target
    # An infinite cell is as good as missing.
    assert np.array_equal(got.features["age"], [30, np.nan, 50, np.nan, 60], equal_nan=True)
    assert list(got.features["plan"]) == ["gold", "silver", "gold", None, "gold"]


def check(table: Table, words: str, **given: object) -> None:
    text = message(lambda: (check_rows(table, data(**given)), select(table, data(**given))))
    assert text.startswith(f"{table.source}: data."), text
    for part in words.split("|"):
        assert part in text, text


def test_columns_that_are_not_there(write_table: Callable[..., Path]) -> None:
    full = read_table(write_table(FULL))
    check(
        full,
        'data.target: must name a column of the table; found "agee"|mean "age"?',
        target="agee",
    )
    check(full, "data.target: |Known here: y, age, plan, bank.", target="wwwwww")
    check(full, 'data.features: |found "plans"|Did you mean "plan"?', features=["age", "plans"])
    assert (
        'data.owner: must name a column of the table; found "Banks". Did you mean "bank"?'
        in message(lambda: full.whose_rows("Banks"))
    )
    check(
        full,
        'data.bounds.agee: must name the target or a feature|mean "age"?',
        bounds={"agee": [0, 1]},
    )
    check(
        full, "data.bounds.age: must name the target or", bounds={"age": [0, 1]}, features=["bank"]
    )
    check(
        full,
        "data.bounds.plan: ranges are for columns of numbers; found text",
        bounds={"plan": [0, 1]},
    )
    select(full, data(bounds={"y": [0, 1], "age": [0, 9]}))


def test_a_text_target_is_refused_with_examples(write_table: Callable[..., Path]) -> None:
    full = read_table(write_table(FULL))
    check(full, "data.target: must be numbers under squared loss", target="plan")
    check(full, 'found text in column "plan", such as "gold", "silver"', target="plan")
    odd = read_table(write_table("y,x\n1,2\n2,2\nabout 3,2\n4,2\n"))
    check(odd, 'such as "about 3", 1 of 4 public cells, the first in row 3')


# Labels


LABELS: list[
    tuple[str, object, list[float], tuple[str, str]]
] = [  # cells, data.positive, coded, what they mean
    ("0 1 1 0", None, [-1, 1, 1, -1], ("0", "1")),
    ("4 2 2 4", None, [1, -1, -1, 1], ("2", "4")),
    ("4 2 2 4", 2, [-1, 1, 1, -1], ("4", "2")),
    ("-1 1 1 1", None, [-1, 1, 1, 1], ("-1", "1")),
    ("0.5 1.5 0.5 0.5", 0.5, [1, -1, 1, 1], ("1.5", "0.5")),
    ("yes no no yes", None, [1, -1, -1, 1], ("no", "yes")),
    ("yes no no yes", "no", [-1, 1, 1, -1], ("yes", "no")),
    (">50K <=50K >50K >50K", None, [1, -1, 1, 1], ("<=50K", ">50K")),
    ("True False True True", None, [1, -1, 1, 1], ("0", "1")),
    ("True False True True", False, [-1, 1, -1, -1], ("1", "0")),
]


@pytest.mark.parametrize(("cells", "positive", "coded", "meaning"), LABELS)
def test_two_values_become_labels(
    write_table: Callable[..., Path],
    cells: str,
    positive: object,
    coded: list[float],
    meaning: tuple[str, str],
) -> None:
    table = read_table(
        write_table("y,x\n" + "".join(f"{cell},{i}\n" for i, cell in enumerate(cells.split())))
    )
    got = select(table, data(positive=positive), labels=True)
    assert got.target.dtype == float and got.target.tolist() == coded
    assert got.labels == meaning


def test_numbers_stay_numbers_without_labels(write_table: Callable[..., Path]) -> None:
    got = select(read_table(write_table("y,x\n0,1\n1,2\n")), data())
    assert got.target.tolist() == [0, 1] and got.labels is None


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (
            "1 1 1",
            'must take exactly two values|found 1 in public rows of column "y": 1.|or set loss = "squared"',
        ),
        ("a a", 'found 1 in public rows of column "y": "a".|Name a column of two values.'),
        ("3 1 2", 'found 3 in public rows of column "y": 1, 2, 3.'),
        ("g f e d c b a", 'found 7 in public rows of column "y": "a", "b", "c", "d", "e", ....'),
        ("1.5 " * 3 + "2 2.5", "found 3 |: 1.5, 2, 2.5."),
    ],
)
def test_other_than_two_values_are_refused_with_examples(
    write_table: Callable[..., Path], cells: str, words: str
) -> None:
    table = read_table(
        write_table("y,x\n" + "".join(f"{cell},{i}\n" for i, cell in enumerate(cells.split())))
    )
    text = message(lambda: select(table, data(), labels=True))
    assert text.startswith(f"{table.source}: data.target: ")
    for part in words.split("|"):
        assert part in text, text


def test_labels_are_those_of_usable_rows(write_table: Callable[..., Path]) -> None:
    table = read_table(write_table("y,x\na,1\nb,2\nc,\n,4\nb,5\n"))
    got = select(table, data(missing="drop"), labels=True)
    assert got.target[got.usable].tolist() == [-1, 1, 1] and got.labels == ("a", "b")
    assert "found 3 in" in message(lambda: select(table, data(missing="fill"), labels=True))
    assert "data.missing: no cell in use" in message(lambda: select(table, data(), labels=True))


@pytest.mark.parametrize(
    ("cells", "positive", "words"),
    [
        ("2 4", 3, "must be one of the two values of the target, 2 or 4; found 3"),
        ("2 4", "4", 'the target, 2 or 4; found "4"'),
        ("yes no", "YES", 'the target, "no" or "yes"; found "YES"'),
    ],
)
def test_the_positive_value_is_one_of_the_two(
    write_table: Callable[..., Path], cells: str, positive: object, words: str
) -> None:
    table = read_table(
        write_table("y,x\n" + "".join(f"{cell},{i}\n" for i, cell in enumerate(cells.split())))
    )
    text = message(lambda: select(table, data(positive=positive), labels=True))
    assert text.startswith(f"{table.source}: data.positive: ") and words in text, text


@pytest.mark.parametrize(
    ("cells", "labels", "public", "coded"),
    [
        ("0 1 1 0", [0, 1], [], [-1, 1, 1, -1]),
        ("0 1 x 0", [1, 0], [], [1, -1, np.nan, 1]),
        ("yes no 4?x no", ["no", "yes"], [], [1, -1, np.nan, -1]),
        (
            "yes no maybe no",
            None,
            [0, 1],
            [1, -1, np.nan, -1],
        ),  # a third label is nobody's but its owner's
        ("True False 7 False", [0, 1], [], [1, -1, np.nan, -1]),
        ("2 4 4.0 4", ["4", "2"], [0], [1, -1, -1, -1]),
        (
            "0 1 1 0",
            ["no", "yes"],
            [],
            [np.nan] * 4,
        ),  # as if one cell were "yes": none but its owner may know
    ],
)
def test_labels_are_those_stated_or_of_public_rows(
    write_table: Callable[..., Path],
    cells: str,
    labels: object,
    public: list[int],
    coded: list[float],
) -> None:
    table = read_table(
        write_table("y,x\n" + "".join(f"{cell},{i}\n" for i, cell in enumerate(cells.split())))
    )
    got = select_public(table, data(labels=labels), np.array(public, dtype=int), labels=True)
    assert np.array_equal(got.target, coded, equal_nan=True)


def test_stated_labels_must_be_those_of_the_public_rows(write_table: Callable[..., Path]) -> None:
    table = read_table(write_table("y,x\na,1\nb,2\nc,3\n"))
    text = message(lambda: select(table, data(labels=["a", "b"]), labels=True))
    assert 'found 3 in public rows of column "y": "a", "b", "c"' in text


def test_a_text_feature_that_names_the_rows_is_refused(write_table: Callable[..., Path]) -> None:
    rows = "".join(f"{i},{i % 3},id{i}\n" for i in range(150))
    full = read_table(write_table("y,x,person\n" + rows))
    check(
        full,
        'data.features: |150 different texts in 150 public cells of column "person"|leave it out of',
    )
    assert len(select(full, data(features=["x"])).target) == 150
    assert len(select(full, data(split=None, owner="person")).target) == 150
    few = read_table(write_table("y,x,person\n" + "".join(rows.splitlines(True)[:100])))
    assert len(select(few, data()).target) == 100  # 100 texts may still be categories


def test_sizes_must_not_exceed_the_table(write_table: Callable[..., Path]) -> None:
    full = read_table(write_table(FULL))
    check(
        full,
        "data.split: sizes and public rows must not exceed the table|found 4 rows asked for of 3",
        split=[2, 1],
        public_rows=1,
    )
    check_rows(full, data(split=[1, 1], public_rows=1))
    check(
        full,
        "data.public_rows: must leave rows to the owners; found 3 rows asked for of 3",
        split=None,
        owner="bank",
        public_rows=3,
    )
    check_rows(full, data(split=None, owner="bank", public_rows=2))


def test_nothing_left(write_table: Callable[..., Path]) -> None:
    empty = read_table(write_table("y,x,z\n1,,\n,2,\n"))
    check(
        empty,
        'data.missing: must leave public rows to work with; found none of 2|"z"',
        missing="drop",
    )
    check(
        read_table(write_table("y\n1\n2\n")),
        "data.features: at least one feature is needed; found no column",
    )


def test_owners_named_by_numbers_some_of_them_missing(tmp_path: Path) -> None:
    """A row of nobody is left over; an owner's row that lacks a cell stays its own."""
    draw = np.random.default_rng(0)
    x, noise = draw.normal(size=(2, 60))
    rows = [f"{a:.3f},{a + b:.3f},{i % 2}" for i, (a, b) in enumerate(zip(x, noise, strict=True))]
    text = SCENARIO.format(table="t.csv").replace(
        "split = [40, 40]", 'owner = "bank"\nmissing = "drop"\norder = "as_is"'
    )
    (tmp_path / "s.toml").write_text(text.replace("public_rows = 30", "public_rows = 20"))
    (tmp_path / "t.csv").write_text("\n".join(["x,y,bank", "1.0,2.0,", ",2.0,7", *rows]))
    made = market_data(load(tmp_path / "s.toml"))
    assert (
        made.names == ("0", "1", "7")
        and made.sizes.tolist() == [20, 20, 1]
        and made.division.left_over == 1
    )
    assert made.filled == 1 and made.table.n_dropped == 0
