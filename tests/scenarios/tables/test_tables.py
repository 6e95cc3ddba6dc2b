"""Tables: every way of writing one gives the same columns, and every bad one is told in one line."""

import gzip
import hashlib
import re
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import SCENARIO

from learning.errors import InputError
from scenarios.schema.data import PUBLISHED, Data
from scenarios.schema.loading import library, load
from scenarios.tables.cells import read_as, refuse_two_readings
from scenarios.tables.dataset import market_data
from scenarios.tables.paths import bundled_table, table_exists, table_path
from scenarios.tables.reading import Table, read_table
from scenarios.tables.selection import Selection, check_rows
from scenarios.tables.selection import select as select_public

HEADER = ["cost", "age", "plan, sort", "smoker", "joined", "note"]
CELLS: list[list[object]] = [
    [1.5, 30, "gold", True, date(2020, 1, 31), 'says "hi"; twice'],
    [0.1 + 0.2, 41, "silver, old", False, date(2021, 2, 1), None],
    [-2e-7, None, "gold", True, None, "Zoë"],
    [1234567.25, 7, None, False, date(2020, 1, 31), "tab"],
]


def quoted(cell: object, decimal: str) -> str:
    if cell is None:
        return ""
    if isinstance(cell, float):
        return repr(cell).replace(".", decimal)
    text = str(cell)
    return '"' + text.replace('"', '""') + '"' if re.search(r'[",;\t]', text) else text


def as_csv(delimiter: str, decimal: str = ".", end: str = "\n") -> bytes:
    def field(cell: object) -> str:
        text = quoted(cell, decimal)
        return f'"{text}"' if delimiter in text and not text.startswith('"') else text

    return "".join(delimiter.join(field(c) for c in row) + end for row in [HEADER, *CELLS]).encode()


def as_parquet(path: Path) -> None:
    columns = {name: [row[i] for row in CELLS] for i, name in enumerate(HEADER)}
    pq.write_table(pa.table(columns), path)


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def write_(content: bytes | str, name: str = "t.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write_


def same(a: Table, b: Table) -> bool:
    return (
        list(a.columns) == list(b.columns)
        and a.n_rows == b.n_rows
        and all(
            a.columns[n].dtype == b.columns[n].dtype
            and (
                np.array_equal(a.columns[n], b.columns[n], equal_nan=True)
                if a.columns[n].dtype == float
                else list(a.columns[n]) == list(b.columns[n])
            )
            for n in a.columns
        )
    )


def message(call: Callable[[], object]) -> str:
    with pytest.raises(InputError) as caught:
        call()
    text = str(caught.value)
    assert "\n" not in text and "\r" not in text
    return text


def data(**given: object) -> Data:
    return Data.model_validate({"path": "t.csv", "target": "y", "split": [1]} | given)


def every_row(table: Table) -> np.ndarray:
    return np.arange(table.n_rows)


def select(table: Table, given: Data, labels: bool = False) -> Selection:
    """What a scenario asks for where every row is public."""
    return select_public(table, given, every_row(table), labels)


def typed(table: Table) -> Table:
    """The table as its cells say, all of them public."""
    refuse_two_readings(table, every_row(table))
    columns = {name: read_as(column, column, table.commas) for name, column in table.columns.items()}
    return Table(columns, table.n_rows, table.source)


# Reading


def test_numbers_are_floats_and_the_rest_is_text(write: Callable[..., Path]) -> None:
    table = read_table(write(as_csv(",")))
    assert table.n_rows == 4 and list(table.columns) == HEADER
    assert {n: c.dtype.kind for n, c in table.columns.items()} == {
        "cost": "f",
        "age": "f",
        "plan, sort": "O",
        "smoker": "f",
        "joined": "O",
        "note": "O",
    }
    assert list(table.columns["cost"]) == [1.5, 0.1 + 0.2, -2e-7, 1234567.25]  # exactly, to the last bit
    assert np.array_equal(table.columns["age"], [30, 41, np.nan, 7], equal_nan=True)
    assert list(table.columns["plan, sort"]) == ["gold", "silver, old", "gold", None]
    assert list(table.columns["smoker"]) == [1, 0, 1, 0]
    assert list(table.columns["joined"]) == ["2020-01-31", "2021-02-01", None, "2020-01-31"]
    assert list(table.columns["note"]) == ['says "hi"; twice', None, "Zoë", "tab"]


@pytest.mark.parametrize(
    "content",
    [
        as_csv(";"),
        as_csv("\t"),
        as_csv(";", ","),
        as_csv(",", end="\r\n"),
        b"\xef\xbb\xbf" + as_csv(","),
        b"\xef\xbb\xbf" + as_csv(";", ","),
        gzip.compress(as_csv(",")),
        gzip.compress(as_csv("\t")),
        as_csv(",").rstrip(b"\n"),
        as_csv(",").replace(b"\n", b"\n\n"),
    ],
    ids=["semicolon", "tab", "decimal comma", "crlf", "bom", "bom comma", "gz", "tab gz", "no end", "blanks"],
)
def test_csv_dialects_give_the_same_table(write: Callable[..., Path], content: bytes) -> None:
    assert same(typed(read_table(write(content, "other"))), read_table(write(as_csv(","))))


def test_parquet_gives_the_same_table(write: Callable[..., Path], tmp_path: Path) -> None:
    as_parquet(tmp_path / "t.parquet")
    assert same(read_table(tmp_path / "t.parquet"), read_table(write(as_csv(","))))


def test_parquet_kinds_of_columns(tmp_path: Path) -> None:
    pq.write_table(
        pa.table(
            {
                "when": [datetime(2020, 1, 1, 12, 30), None],
                "day": [datetime(2020, 1, 2), None],
                "level": pa.array(["a", None]).dictionary_encode(),
                "rank": pa.array([1, 2]).dictionary_encode(),
                "money": [Decimal("1.50"), None],
                "flag": pa.array([True, None]),
                "count": pa.array([1, None], pa.int64()),
                "big": [2**60, 2**60 + 1],
                "blank": ["", " x "],
                "__index_level_0__": [0, 1],
                "none": pa.nulls(2),
                "small": pa.array([1, 2], pa.uint8()),
            }
        ),
        tmp_path / "t.parquet",
    )
    columns = read_table(tmp_path / "t.parquet").columns
    assert "__index_level_0__" not in columns
    assert list(columns["when"]) == ["2020-01-01 12:30:00", None]
    assert list(columns["day"]) == ["2020-01-02", None]
    assert list(columns["level"]) == ["a", None] and list(columns["rank"]) == [1.0, 2.0]
    for name, first in (("money", 1.5), ("flag", 1.0), ("count", 1.0)):
        assert columns[name].dtype == float and columns[name][0] == first and np.isnan(columns[name][1])
    assert list(columns["big"]) == [str(2**60), str(2**60 + 1)]  # as floats they would be one and the same
    assert list(columns["blank"]) == [None, "x"]
    assert np.isnan(columns["none"]).all() and list(columns["small"]) == [1.0, 2.0]


def test_true_and_false_with_missing_cells_are_numbers(write: Callable[..., Path]) -> None:
    column = read_table(write("a,b\nTrue,1\n,2\nFalse,3\n")).columns["a"]
    assert column.dtype == float and column[0] == 1 and np.isnan(column[1]) and column[2] == 0


def test_marks_of_missing_cells(write: Callable[..., Path]) -> None:
    columns = read_table(write("a,b\nNA,NA\nnull,null\n,\n?,?\n1,None\n")).columns
    assert np.isnan(columns["a"][:4]).all() and columns["a"][4] == 1
    assert list(columns["b"]) == [None, None, None, None, "None"]  # a word that may well be a category


def test_decimal_commas_with_thousands_lookalikes(write: Callable[..., Path]) -> None:
    table = typed(read_table(write("a;b;c\n1,234;0,5;x, y\n2,500;1;z\n")))  # b shows what the comma means
    assert list(table.columns["a"]) == [1.234, 2.5] and list(table.columns["b"]) == [0.5, 1.0]
    assert list(table.columns["c"]) == ["x, y", "z"]


def test_a_delimiter_inside_text_does_not_decide(write: Callable[..., Path]) -> None:
    table = read_table(write("name;y\nSmith, J, Dr;1\nDoe, K, Dr;2\n"))
    assert list(table.columns) == ["name", "y"]
    assert list(table.columns["name"]) == ["Smith, J, Dr", "Doe, K, Dr"]
    assert list(read_table(write('a,"b;c;d"\n1,2\n')).columns) == ["a", "b;c;d"]


BAD_FILES: list[tuple[str, bytes, str]] = [
    ("empty", b"", "must have rows and columns; found an empty file"),
    ("blank", b"\xef\xbb\xbf \n\n", "must have rows and columns; found an empty file"),
    ("header only", b"a,b\n", "must have rows and columns; found 0 rows, 2 columns"),
    ("empty gz", gzip.compress(b""), "found an empty file"),
    ("cut gz", gzip.compress(b"a,b\n1,2\n" * 99)[:-12], "must be a whole gzip file; found Compressed"),
    ("twice", b"a,b,a\n1,2,3\n", 'column names must differ; found "a" twice. Rename column 1 or 3'),
    ("unnamed", b",a\n0,1\n", "every column must have a name; found none for column 1"),
    ("binary", b"\x89PNG\r\n\x1a\n\x00\x01", "must be CSV, CSV.gz or Parquet; found a binary file"),
    ("workbook", b"PK\x03\x04\x14\x00", "found a zip file or a workbook. Export it as CSV"),
    ("utf16", "a,b\n1,2\n".encode("utf-16"), "found UTF-16. Export it as CSV, UTF-8"),
    ("latin", b"a,b\nx,1\ncaf\xe9,2\n", "must be UTF-8 text; found another byte in line 3. Save it as UTF-8"),
    ("long first row", b"a,b\n1,2,3\n", "as in the header; found 2 in the header, 3 in row 1"),
    ("long row", b"a,b\n" + b"1,2\n" * 99 + b"1,2,3\n", "each row as in the header; found Expected 2"),
    ("open quote", b'a,b\n1,"2\n3,4\n', "must have as many fields"),
    ("thousands", b"a;b\n1,234;x\n5,678;y\n", 'found "1,234" in column "a", decimals or thousands'),
    ("cut parquet", b"PAR1\x00\x00\x00", "must be a whole Parquet file"),
]


@pytest.mark.parametrize(("content", "words"), [b[1:] for b in BAD_FILES], ids=[b[0] for b in BAD_FILES])
def test_bad_files_name_file_key_rule_and_finding(write: Callable[..., Path], content: bytes, words: str) -> None:
    path = write(content)
    text = message(lambda: typed(read_table(path)))
    assert text.startswith(f"{path}: data.path: ") and words in text, text


def test_files_that_are_not_there(tmp_path: Path) -> None:
    text = message(lambda: read_table(tmp_path / "none.csv"))
    assert text == (
        f"{tmp_path}/none.csv: data.path: must be a file that exists; found no such file. "
        "Give its place with --set data.path=FILE."
    )
    assert "must be a file; found a folder" in message(lambda: read_table(tmp_path))
    assert "no such file" in message(lambda: read_table("x" * 5000))


def test_bad_parquet_tables(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    for table, words in (
        (pa.table({"a": [[1], [2]]}), "columns must hold numbers, texts or dates; found list<"),
        (pa.table({"a": [b"x"]}), 'found binary in column "a"'),
        (pa.table([[1], [2]], names=["a", "a"]), 'found "a" twice'),
        (pa.table({"a": pa.array([], pa.int64())}), "found 0 rows, 1 columns"),
        (pa.table({}), "found 0 rows, 0 columns"),
    ):
        pq.write_table(table, path)
        assert words in message(lambda: read_table(path))


# What a scenario asks for


@pytest.fixture
def table(write: Callable[..., Path]) -> Table:
    return read_table(write("y,age,plan,bank\n1,30,gold,A\n2,,silver,B\n,50,gold,A\n4,inf,,B\n5,60,gold,\n"))


FULL = "y,age,plan,bank\n1,30,gold,7\n2,40,silver,7\n3,50,gold,8\n"


def test_features_are_all_other_columns_by_default(write: Callable[..., Path]) -> None:
    full = read_table(write(FULL))
    assert list(select(full, data()).features) == ["age", "plan", "bank"]
    owned = select(full, data(split=None, owner="bank"))
    assert list(owned.features) == ["age", "plan"]
    assert list(full.whose_rows("bank").texts(np.arange(3))) == ["7", "7", "8"]
    assert list(select(full, data(features=["plan"])).features) == ["plan"]


def test_missing_cells_are_refused_with_count_and_place(table: Table) -> None:
    text = message(lambda: select(table, data(split=None, owner="bank")))
    assert text == (
        f"{table.source}: data.missing: no cell in use of a public row may be missing or infinite; found 4, the first "
        'in row 2, column "age". Set data.missing = "drop" to leave out such rows, or "fill" to fill the cells.'
    )
    assert 'found 1, the first in row 4, column "plan"' in message(
        lambda: select(Table({**table.columns, "y": np.arange(5.0)}, 5, "t"), data(features=["plan"]))
    )


def test_drop_leaves_out_public_rows_and_counts_them(table: Table) -> None:
    got = select(table, data(split=None, owner="bank", missing="drop"))
    assert (len(got.target), got.n_dropped) == (5, 3) and got.usable.tolist() == [True, False, False, False, True]
    assert select(table, data(features=["plan"], missing="drop")).n_dropped == 2
    own = select_public(table, data(missing="drop", bounds={"y": [0, 9]}), np.array([0, 3]))
    assert own.usable.tolist() == [True, True, True, False, True]  # private rows 2 and 3 stay, to be filled
    assert np.array_equal(own.target, [1, 2, np.nan, 4, 5], equal_nan=True)
    assert list(table.whose_rows("bank").texts(np.arange(5))) == ["A", "B", "A", "B", ""]


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


def test_columns_that_are_not_there(write: Callable[..., Path]) -> None:
    full = read_table(write(FULL))
    check(full, 'data.target: must name a column of the table; found "agee"|mean "age"?', target="agee")
    check(full, "data.target: |Known here: y, age, plan, bank.", target="wwwwww")
    check(full, 'data.features: |found "plans"|Did you mean "plan"?', features=["age", "plans"])
    assert 'data.owner: must name a column of the table; found "Banks". Did you mean "bank"?' in message(
        lambda: full.whose_rows("Banks")
    )
    check(full, 'data.bounds.agee: must name the target or a feature|mean "age"?', bounds={"agee": [0, 1]})
    check(full, "data.bounds.age: must name the target or", bounds={"age": [0, 1]}, features=["bank"])
    check(full, "data.bounds.plan: ranges are for columns of numbers; found text", bounds={"plan": [0, 1]})
    select(full, data(bounds={"y": [0, 1], "age": [0, 9]}))


def test_a_text_target_is_refused_with_examples(write: Callable[..., Path]) -> None:
    full = read_table(write(FULL))
    check(full, "data.target: must be numbers under squared loss", target="plan")
    check(full, 'found text in column "plan", such as "gold", "silver"', target="plan")
    odd = read_table(write("y,x\n1,2\n2,2\nabout 3,2\n4,2\n"))
    check(odd, 'such as "about 3", 1 of 4 public cells, the first in row 3')


# Labels


LABELS: list[tuple[str, object, list[float], tuple[str, str]]] = [  # cells, data.positive, coded, what they mean
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
    write: Callable[..., Path], cells: str, positive: object, coded: list[float], meaning: tuple[str, str]
) -> None:
    table = read_table(write("y,x\n" + "".join(f"{cell},{i}\n" for i, cell in enumerate(cells.split()))))
    got = select(table, data(positive=positive), labels=True)
    assert got.target.dtype == float and got.target.tolist() == coded
    assert got.labels == meaning


def test_numbers_stay_numbers_without_labels(write: Callable[..., Path]) -> None:
    got = select(read_table(write("y,x\n0,1\n1,2\n")), data())
    assert got.target.tolist() == [0, 1] and got.labels is None


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ("1 1 1", 'must take exactly two values|found 1 in public rows of column "y": 1.|or set loss = "squared"'),
        ("a a", 'found 1 in public rows of column "y": "a".|Name a column of two values.'),
        ("3 1 2", 'found 3 in public rows of column "y": 1, 2, 3.'),
        ("g f e d c b a", 'found 7 in public rows of column "y": "a", "b", "c", "d", "e", ....'),
        ("1.5 " * 3 + "2 2.5", "found 3 |: 1.5, 2, 2.5."),
    ],
)
def test_other_than_two_values_are_refused_with_examples(write: Callable[..., Path], cells: str, words: str) -> None:
    table = read_table(write("y,x\n" + "".join(f"{cell},{i}\n" for i, cell in enumerate(cells.split()))))
    text = message(lambda: select(table, data(), labels=True))
    assert text.startswith(f"{table.source}: data.target: ")
    for part in words.split("|"):
        assert part in text, text


def test_labels_are_those_of_usable_rows(write: Callable[..., Path]) -> None:
    table = read_table(write("y,x\na,1\nb,2\nc,\n,4\nb,5\n"))
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
    write: Callable[..., Path], cells: str, positive: object, words: str
) -> None:
    table = read_table(write("y,x\n" + "".join(f"{cell},{i}\n" for i, cell in enumerate(cells.split()))))
    text = message(lambda: select(table, data(positive=positive), labels=True))
    assert text.startswith(f"{table.source}: data.positive: ") and words in text, text


@pytest.mark.parametrize(
    ("cells", "labels", "public", "coded"),
    [
        ("0 1 1 0", [0, 1], [], [-1, 1, 1, -1]),
        ("0 1 x 0", [1, 0], [], [1, -1, np.nan, 1]),
        ("yes no 4?x no", ["no", "yes"], [], [1, -1, np.nan, -1]),
        ("yes no maybe no", None, [0, 1], [1, -1, np.nan, -1]),  # a third label is nobody's but its owner's
        ("True False 7 False", [0, 1], [], [1, -1, np.nan, -1]),
        ("2 4 4.0 4", ["4", "2"], [0], [1, -1, -1, -1]),
        ("0 1 1 0", ["no", "yes"], [], [np.nan] * 4),  # as if one cell were "yes": none but its owner may know
    ],
)
def test_labels_are_those_stated_or_of_public_rows(
    write: Callable[..., Path], cells: str, labels: object, public: list[int], coded: list[float]
) -> None:
    table = read_table(write("y,x\n" + "".join(f"{cell},{i}\n" for i, cell in enumerate(cells.split()))))
    got = select_public(table, data(labels=labels), np.array(public, dtype=int), labels=True)
    assert np.array_equal(got.target, coded, equal_nan=True)


def test_stated_labels_must_be_those_of_the_public_rows(write: Callable[..., Path]) -> None:
    table = read_table(write("y,x\na,1\nb,2\nc,3\n"))
    text = message(lambda: select(table, data(labels=["a", "b"]), labels=True))
    assert 'found 3 in public rows of column "y": "a", "b", "c"' in text


def test_a_text_feature_that_names_the_rows_is_refused(write: Callable[..., Path]) -> None:
    rows = "".join(f"{i},{i % 3},id{i}\n" for i in range(150))
    full = read_table(write("y,x,person\n" + rows))
    check(full, 'data.features: |150 different texts in 150 public cells of column "person"|leave it out of')
    assert len(select(full, data(features=["x"])).target) == 150
    assert len(select(full, data(split=None, owner="person")).target) == 150
    few = read_table(write("y,x,person\n" + "".join(rows.splitlines(True)[:100])))
    assert len(select(few, data()).target) == 100  # 100 texts may still be categories


def test_sizes_must_not_exceed_the_table(write: Callable[..., Path]) -> None:
    full = read_table(write(FULL))
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


def test_nothing_left(write: Callable[..., Path]) -> None:
    empty = read_table(write("y,x,z\n1,,\n,2,\n"))
    check(empty, 'data.missing: must leave public rows to work with; found none of 2|"z"', missing="drop")
    check(read_table(write("y\n1\n2\n")), "data.features: at least one feature is needed; found no column")


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
    assert made.names == ("0", "1", "7") and made.sizes.tolist() == [20, 20, 1] and made.division.left_over == 1
    assert made.filled == 1 and made.table.n_dropped == 0


# What a column holds


@pytest.mark.parametrize(
    ("column", "shown", "commas", "expected"),
    [
        (["1.5", "4?x", None, "True", "1e3"], ["2"], False, [1.5, np.nan, np.nan, 1.0, 1000.0]),
        (["True", "false", "TRUE", "yes"], ["True", "false"], False, [1.0, 0.0, 1.0, np.nan]),
        (["1,5", "1.5", "x"], ["3"], True, [1.5, 1.5, np.nan]),
        (["1,5", "1.5"], ["2,5"], True, [1.5, np.nan]),
        (["1,5", "1.5"], ["2.5"], True, [np.nan, 1.5]),
        (["1,5", "1_0", "0x1", "١"], ["2.5"], False, [np.nan] * 4),
        (["-inf", "Infinity", ".", "1" * 400], [".5"], False, [-np.inf, np.inf, np.nan, np.inf]),
        (["1", "x", "True"], [], False, [1.0, np.nan, 1.0]),
        (["1", "2"], ["1", "x"], False, None),
        (["1", "2"], ["1", "True"], False, None),
        (["1", str(2**53 + 1)], [str(2**53 + 1)], False, None),
        (["1", str(2**53 + 1)], ["1"], False, [1.0, 2.0**53]),
    ],
)
def test_public_cells_say_whether_a_column_holds_numbers(
    column: list[str], shown: list[str], commas: bool, expected: list[float] | None
) -> None:
    got = read_as(np.array(column, dtype=object), shown, commas)
    if expected is None:
        assert list(got) == column
    else:
        assert np.array_equal(got, expected, equal_nan=True)


@pytest.mark.parametrize("odd", ["4?x", str(2**60), "1" * 400, "1e308", "True", "0.5", ""])
@pytest.mark.parametrize(
    "cells", [["1", "0.1", "1e-3", ".30000000000000004", "+7."], ["007", "12", "3"], [str(2**53 + 1), "5"]]
)
def test_one_cell_leaves_the_others_as_they_were(write: Callable[..., Path], cells: list[str], odd: str) -> None:
    """To the last bit, whatever the reader of the file makes of the column as a whole."""
    public = np.arange(len(cells))
    plain, other = (read_table(write("a,b\n" + "".join(f"{c},1\n" for c in [*cells, last]))) for last in ("1", odd))
    got = [read_as(t.columns["a"], t.columns["a"][public], False)[public] for t in (plain, other)]
    assert got[0].dtype == got[1].dtype and list(got[0]) == list(got[1])


# Data that comes with the program


def test_randhie_is_whole() -> None:
    path = bundled_table("randhie")
    readme = path.with_name("README.md").read_text(encoding="utf-8")
    assert hashlib.sha256(path.read_bytes()).hexdigest() in readme
    table = read_table(path)
    assert table.n_rows == 20_190 and len(table.columns) == 10
    assert all(f"`{name}`" in readme for name in table.columns)
    assert all(np.isfinite(column).all() for column in table.columns.values())
    visits = table.columns["mdvis"]
    assert visits.sum() == 57_752 and visits.max() == 77 and (visits > 20).sum() == 205
    assert "gzip.GzipFile" in readme and path.read_bytes()[4:8] == b"\0\0\0\0"  # no time stamp in the bytes


def test_the_library_finds_its_tables(tmp_path: Path) -> None:
    insurers = load("three_insurers")
    got = select(read_table(table_path(insurers)), insurers.data)
    assert isinstance(got, Selection) and got.n_dropped == 0 and got.labels is None
    assert len(got.target) == 20_190 and len(got.features) == 9
    assert table_path(load("lending_banks", [f"data.path={tmp_path}/x.csv"])) == tmp_path / "x.csv"
    health = load("three_insurers_health")
    got = select(read_table(table_path(health)), health.data, labels=True)
    assert got.labels == ("0", "1") and (got.target == 1).sum() == 1560 and len(got.features) == 7


# Data that the user has


@pytest.fixture
def no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DPMARKET_DATA", raising=False)


@pytest.mark.parametrize("name", ["adult_income", "cancer_clinics", "fraud_detection", "hospitals", "lending_banks"])
def test_tables_that_do_not_come_along_are_found_in_the_data_folder(name: str, tmp_path: Path, no_folder: None) -> None:
    scenario = load(name, data_folder=tmp_path)
    file = PUBLISHED[str(scenario.data.source)]
    assert not table_exists(scenario)
    (tmp_path / file).mkdir(parents=True)  # a folder of that name is no table
    assert not table_exists(scenario)
    assert f"found no such file in {tmp_path}" in message(lambda: table_path(scenario))
    (tmp_path / file).rmdir()
    (tmp_path / file).write_bytes(b"x")
    assert table_exists(scenario) and table_path(scenario) == tmp_path / file


def test_a_table_that_is_not_there_is_told_with_file_place_and_remedy(tmp_path: Path, no_folder: None) -> None:
    remedy = (
        "Give the folder that holds it with --data DIR or DPMARKET_DATA=DIR, or the file with --set data.path=FILE."
    )
    rule = 'data.source: "lending_club" needs lending_club/loans_2007_2014.csv.gz, which does not come with the program'
    for folder, found in (
        (None, "no data folder"),
        (tmp_path, f"no such file in {tmp_path}"),
        (tmp_path / "x", f"no such folder: {tmp_path}/x"),
    ):
        text = message(lambda folder=folder: table_path(load("lending_banks", data_folder=folder)))
        assert text == f"{rule}; found {found}. {remedy}"


def test_a_table_named_by_its_path_needs_no_data_folder(tmp_path: Path, no_folder: None) -> None:
    path = tmp_path / "x.csv"
    scenario = load("lending_banks", [f"data.path={path}"], data_folder=tmp_path / "none")
    assert table_path(scenario) == path and not table_exists(scenario)
    path.write_text("a,b\n1,2\n")
    assert table_exists(scenario)


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [("check",), ("forecast", "--epsilon", "1"), ("run", "--no-train", "--out", "r"), ("audit", "--draws", "100")],
    ids=lambda arguments: arguments[0],
)
def test_commands_take_the_data_folder_as_an_option_or_a_variable(
    tmp_path: Path,
    no_folder: None,
    monkeypatch: pytest.MonkeyPatch,
    dpmarket: Callable[..., tuple[int, str, str]],
    arguments: tuple[str, ...],
) -> None:
    scenario = SCENARIO.replace('path = "{table}"', 'source = "adult"').replace("[40, 40]", "[20, 20]")
    (tmp_path / "s.toml").write_text(scenario.replace("public_rows = 30", "public_rows = 20"))
    name, *options = arguments
    call = (name, "s.toml", *options)
    status, out, err = dpmarket(*call)
    assert status == 2 and out == "" and err.count("\n") == 1
    assert 's.toml: data.source: "adult" needs adult/adult_train.csv.gz' in err and "--data DIR" in err
    file = tmp_path / "d" / PUBLISHED["adult"]
    file.parent.mkdir(parents=True)
    draw = np.random.default_rng(0)
    x, noise = draw.normal(size=(2, 60))
    rows = "".join(f"{a},{a + b}\n" for a, b in zip(x, noise, strict=True))
    file.write_bytes(gzip.compress(("x,y\n" + rows).encode()))
    assert dpmarket(*call, "--data", "d")[0] == 0
    monkeypatch.setenv("DPMARKET_DATA", "d")
    assert dpmarket(*call)[0] == 0


def test_the_list_of_scenarios_tells_whose_data_is_not_there(
    tmp_path: Path, no_folder: None, monkeypatch: pytest.MonkeyPatch, dpmarket: Callable[..., tuple[int, str, str]]
) -> None:
    def marks(*options: object) -> dict[str, str]:
        status, out, _ = dpmarket("scenarios", *options)
        assert status == 0
        lines = [line.split() for line in out.splitlines()]
        return {words[0]: words[1] for words in lines if words and words[0] in library()}

    own = {"three_insurers", "three_insurers_health"}
    assert marks() == {name: "here" if name in own else "MISSING" for name in library()}
    for file in PUBLISHED.values():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).touch()
    assert set(marks("--data", tmp_path).values()) == {"here"}
    (tmp_path / PUBLISHED["adult"]).unlink()
    monkeypatch.setenv("DPMARKET_DATA", str(tmp_path))
    assert [name for name, mark in marks().items() if mark == "MISSING"] == ["adult_income"]
