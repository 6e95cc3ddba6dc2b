"""Tables: every way of writing one gives the same columns, and every bad one is told in one line."""

import gzip
import re
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from written import every_row, message

from scenarios.tables.reading import Table, read_table
from scenarios.tables.selection import read_as, refuse_two_readings

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


def typed(table: Table) -> Table:
    """The table as its cells say, all of them public."""
    refuse_two_readings(table, every_row(table))
    columns = {
        name: read_as(column, column, table.commas) for name, column in table.columns.items()
    }
    return Table(columns, table.n_rows, table.source)


def test_numbers_are_floats_and_the_rest_is_text(write_table: Callable[..., Path]) -> None:
    table = read_table(write_table(as_csv(",")))
    assert table.n_rows == 4 and list(table.columns) == HEADER
    assert {n: c.dtype.kind for n, c in table.columns.items()} == {
        "cost": "f",
        "age": "f",
        "plan, sort": "O",
        "smoker": "f",
        "joined": "O",
        "note": "O",
    }
    assert list(table.columns["cost"]) == [
        1.5,
        0.1 + 0.2,
        -2e-7,
        1234567.25,
    ]  # exactly, to the last bit
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
    ids=[
        "semicolon",
        "tab",
        "decimal comma",
        "crlf",
        "bom",
        "bom comma",
        "gz",
        "tab gz",
        "no end",
        "blanks",
    ],
)
def test_csv_dialects_give_the_same_table(write_table: Callable[..., Path], content: bytes) -> None:
    assert same(
        typed(read_table(write_table(content, "other"))), read_table(write_table(as_csv(",")))
    )


def test_parquet_gives_the_same_table(write_table: Callable[..., Path], tmp_path: Path) -> None:
    as_parquet(tmp_path / "t.parquet")
    assert same(read_table(tmp_path / "t.parquet"), read_table(write_table(as_csv(","))))


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
        assert (
            columns[name].dtype == float
            and columns[name][0] == first
            and np.isnan(columns[name][1])
        )
    assert list(columns["big"]) == [
        str(2**60),
        str(2**60 + 1),
    ]  # as floats they would be one and the same
    assert list(columns["blank"]) == [None, "x"]
    assert np.isnan(columns["none"]).all() and list(columns["small"]) == [1.0, 2.0]


def test_true_and_false_with_missing_cells_are_numbers(write_table: Callable[..., Path]) -> None:
    column = read_table(write_table("a,b\nTrue,1\n,2\nFalse,3\n")).columns["a"]
    assert column.dtype == float and column[0] == 1 and np.isnan(column[1]) and column[2] == 0


def test_marks_of_missing_cells(write_table: Callable[..., Path]) -> None:
    columns = read_table(write_table("a,b\nNA,NA\nnull,null\n,\n?,?\n1,None\n")).columns
    assert np.isnan(columns["a"][:4]).all() and columns["a"][4] == 1
    assert list(columns["b"]) == [
        None,
        None,
        None,
        None,
        "None",
    ]  # a word that may well be a category


def test_decimal_commas_with_thousands_lookalikes(write_table: Callable[..., Path]) -> None:
    table = typed(
        read_table(write_table("a;b;c\n1,234;0,5;x, y\n2,500;1;z\n"))
    )  # b shows what the comma means
    assert list(table.columns["a"]) == [1.234, 2.5] and list(table.columns["b"]) == [0.5, 1.0]
    assert list(table.columns["c"]) == ["x, y", "z"]


def test_a_delimiter_inside_text_does_not_decide(write_table: Callable[..., Path]) -> None:
    table = read_table(write_table("name;y\nSmith, J, Dr;1\nDoe, K, Dr;2\n"))
    assert list(table.columns) == ["name", "y"]
    assert list(table.columns["name"]) == ["Smith, J, Dr", "Doe, K, Dr"]
    assert list(read_table(write_table('a,"b;c;d"\n1,2\n')).columns) == ["a", "b;c;d"]


BAD_FILES: list[tuple[str, bytes, str]] = [
    ("empty", b"", "must have rows and columns; found an empty file"),
    ("blank", b"\xef\xbb\xbf \n\n", "must have rows and columns; found an empty file"),
    ("header only", b"a,b\n", "must have rows and columns; found 0 rows, 2 columns"),
    ("empty gz", gzip.compress(b""), "found an empty file"),
    (
        "cut gz",
        gzip.compress(b"a,b\n1,2\n" * 99)[:-12],
        "must be a whole gzip file; found Compressed",
    ),
    ("twice", b"a,b,a\n1,2,3\n", 'column names must differ; found "a" twice. Rename column 1 or 3'),
    ("unnamed", b",a\n0,1\n", "every column must have a name; found none for column 1"),
    ("binary", b"\x89PNG\r\n\x1a\n\x00\x01", "must be CSV, CSV.gz or Parquet; found a binary file"),
    ("workbook", b"PK\x03\x04\x14\x00", "found a zip file or a workbook. Export it as CSV"),
    ("utf16", "a,b\n1,2\n".encode("utf-16"), "found UTF-16. Export it as CSV, UTF-8"),
    (
        "latin",
        b"a,b\nx,1\ncaf\xe9,2\n",
        "must be UTF-8 text; found another byte in line 3. Save it as UTF-8",
    ),
    ("long first row", b"a,b\n1,2,3\n", "as in the header; found 2 in the header, 3 in row 1"),
    (
        "long row",
        b"a,b\n" + b"1,2\n" * 99 + b"1,2,3\n",
        "each row as in the header; found Expected 2",
    ),
    ("open quote", b'a,b\n1,"2\n3,4\n', "must have as many fields"),
    ("thousands", b"a;b\n1,234;x\n5,678;y\n", 'found "1,234" in column "a", decimals or thousands'),
    ("cut parquet", b"PAR1\x00\x00\x00", "must be a whole Parquet file"),
]


@pytest.mark.parametrize(
    ("content", "words"), [b[1:] for b in BAD_FILES], ids=[b[0] for b in BAD_FILES]
)
def test_bad_files_name_file_key_rule_and_finding(
    write_table: Callable[..., Path], content: bytes, words: str
) -> None:
    path = write_table(content)
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
    "cells",
    [["1", "0.1", "1e-3", ".30000000000000004", "+7."], ["007", "12", "3"], [str(2**53 + 1), "5"]],
)
def test_one_cell_leaves_the_others_as_they_were(
    write_table: Callable[..., Path], cells: list[str], odd: str
) -> None:
    """To the last bit, whatever the reader of the file makes of the column as a whole."""
    public = np.arange(len(cells))
    plain, other = (
        read_table(write_table("a,b\n" + "".join(f"{c},1\n" for c in [*cells, last])))
        for last in ("1", odd)
    )
    got = [read_as(t.columns["a"], t.columns["a"][public], False)[public] for t in (plain, other)]
    assert got[0].dtype == got[1].dtype and list(got[0]) == list(got[1])
