"""Owners' own files give, to the last bit, the records that the market was settled with out of everybody's table."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import TRADE
from exchanges import small_contract

from exchange.contract import Contract
from exchange.learner.seen import read_public_records
from exchange.owner.table import read_own_table
from exchange.rehearsal.division import write_party_files
from learning.errors import InputError
from scenarios.schema.loading import load
from scenarios.schema.scenario import Scenario
from scenarios.tables.dataset import MarketData, market_data, row_shuffler
from scenarios.tables.described import described_columns

PUBLIC = 60
OWNERS = ("Alpha", "Beta", "Gamma")
SCENARIO = (
    """
seed = 4
[data]
path = "t.csv"
target = "y"
owner = "bank"
public_rows = 60
missing = "fill"
[learning]
regularisation = 0.1
[owners]
epsilon = [0.1, 5.0]
"""
    + TRADE
)
# What private cells may hold anywhere, beside what their column holds in public.
NASTY = [
    "",
    " ",
    "NA",
    "nan",
    "?",
    "-0",
    "0",
    "1",
    "1.0",
    "01",
    " 7 ",
    "\t3",
    "+5",
    "1e2",
    "1E-3",
    ".5",
    "5.",
    "1,5",
    "1.234,5",
]
NASTY += [
    "inf",
    "-Infinity",
    "1e400",
    "1e300",
    str(2**53),
    str(2**53 + 1),
    str(2**70),
    "True",
    "fAlSe",
    " TRUE",
    "None",
]
NASTY += [
    "0x1F",
    "1_000",
    "١٢",
    "nul l",
    "a",
    " a",
    "b;c",
    "d,e",
    'say "no"',
    "line\nbreak",
    "car\rriage",
    "both\r\n",
    "é\u00a0",
]
NUMBERS = {
    ",": ["3", "4.5", "-1e1", "07", " 12", "8."],
    ";": ["3", "4,5", "-1", "07", " 12", "8,25"],
}


def nasty_table(
    rng: np.random.Generator, sep: str, share: float, labels: bool, persons: bool
) -> list[list[str]]:
    """A table of 60 public rows and three owners', some of whose cells are anything; with the header."""
    count = PUBLIC + int(rng.integers(30, 60))
    draw = {
        "whole": lambda: str(rng.integers(0, 40)),
        "number": lambda: str(rng.choice(NUMBERS[sep])),
        "flag": lambda: str(rng.choice(["True", "false", "FALSE"])),
        "bit": lambda: str(rng.integers(0, 2)),
        "code": lambda: str(rng.choice(["01", "1", "1.0", "A", "NA"])),
        "long": lambda: str(2**53 + 2 + int(rng.integers(0, 3))),
        "empty": lambda: "",
        "y": (lambda: str(rng.choice(["no", "yes"])))
        if labels
        else (lambda: str(rng.choice(NUMBERS[sep]))),
    }
    rows = [[one() for one in draw.values()] for _ in range(count)]
    for column in range(len(draw)):
        if (
            rng.random() < 0.7
        ):  # else every cell is good, and the reader of the whole table may take it for another kind
            for row in rows[PUBLIC:]:
                if rng.random() < share:
                    row[column] = str(rng.choice(NASTY))
    for row in rows:
        row += [
            str(rng.choice(OWNERS)),
            str(rng.choice(["7", "7.0", "07", "8", "", "true", "x"] if persons else ["p"])),
        ]
    private = rows[PUBLIC:]
    public = rows[:PUBLIC]
    for row, owner in zip(private, OWNERS, strict=False):
        row[-2] = owner
    return [[*draw, "bank", "who"], *private, *public]


def laid(folder: Path, rows: Sequence[Sequence[str]], sep: str, changes: Sequence[str]) -> Scenario:
    """A scenario of a table, its last rows public."""
    head, *rows = rows
    places = np.arange(len(rows))
    if "data.order=shuffled" in changes:
        row_shuffler(4).shuffle(places)  # so that the same rows are public
    rows = [head, *(rows[at] for at in np.argsort(places))]
    made = io.StringIO()
    csv.writer(made, delimiter=sep, lineterminator="\r\n").writerows(rows)
    (folder / "t.csv").write_bytes(made.getvalue().encode())
    (folder / "s.toml").write_text(SCENARIO)
    return load(folder / "s.toml", ["data.order=as_is", *changes])


def agreed(scenario: Scenario, data: MarketData) -> Contract:
    """A contract about what a scenario's data became; what is not about records is anything."""
    columns = described_columns(data, scenario)
    width = data.encoder.n_parameters
    terms = [
        {"name": o.name, "records": o.n_records, "epsilon": 1.0, "payment": 1.0, "weight": 1.0}
        for o in data.owners
    ]
    labels = columns["target"]["labels"] is not None
    return small_contract(
        columns=columns,
        owners=terms,
        loss="logistic" if labels else "squared",
        clipping="record" if labels else "parts",
        bounds={
            "start": [0.0] * width,
            "scale": np.eye(width).tolist(),
            "rows_per_person": scenario.data.most_rows,
        },
    )


def check_same(scenario: Scenario, folder: Path) -> None:
    """Each owner by its own file alone, and the learner by its own."""
    data = market_data(scenario)
    files = write_party_files(scenario, folder)
    contract = agreed(scenario, data)
    for held in data.owners:
        found = read_own_table(files.owners[held.name], contract, held.name).records
        assert found.x.tobytes() == np.ascontiguousarray(held.x).tobytes()
        assert found.y.tobytes() == np.ascontiguousarray(held.y).tobytes()
        assert found.clipped == held.clipped
    for path, rows in ((files.public, data.public), (files.aside, data.aside)):
        assert (path is None) == (rows is None)
        if path is not None:
            shown = read_public_records(path, contract, "--public")
            assert (
                shown.x.tobytes() == np.ascontiguousarray(rows.x).tobytes()
                and (shown.y == rows.y).all()
            )


FEATURES = 'data.features=["whole", "number", "flag", "bit", "code", "long"]'
LABELS = ("learning.loss=logistic", 'data.positive="yes"')


@pytest.mark.parametrize(
    "seeds", [range(1, 2), pytest.param(range(2, 7), marks=pytest.mark.exchange)], ids=["", "many"]
)
@pytest.mark.parametrize("sep", [",", ";"])
@pytest.mark.parametrize(
    ("changes", "labels", "persons"),
    [
        ((), False, False),
        ((*LABELS, "data.encoding=integer", "data.components=3"), True, False),
        (
            ("data.components=4", "data.check_rows=12", "data.public_rows=48", "data.missing=drop"),
            False,
            False,
        ),
        (("data.person=who", "data.rows_per_person=2", "data.order=shuffled"), False, True),
    ],
)
def test_an_own_file_is_read_as_the_same_rows_of_the_whole_table(
    tmp_path, seeds, sep, changes, labels, persons
):
    """Whatever anybody's private cells hold: the whole table's reader looks at all of a column, an owner at its own."""
    for seed in seeds:
        rng = np.random.default_rng([seed, len(changes), ord(sep)])
        rows = nasty_table(rng, sep, (0.02, 0.3, 1.0)[seed % 3], labels, persons)
        check_same(laid(tmp_path, rows, sep, [FEATURES, *changes]), tmp_path / "parties")


KINDS = ["whole", "long", "part", "flag", "maybe", "text", "y"]


def test_parquet_is_divided_into_files_that_are_read_as_the_same(tmp_path):
    """Columns whose type says what they hold become CSV, and an owner may as well keep Parquet."""
    rng = np.random.default_rng(3)
    count = 200
    held = {
        "whole": pd.array(rng.integers(0, 9, count), dtype="Int64"),
        "long": pd.array(2**53 + rng.integers(1, 9, count), dtype="Int64"),
        "part": rng.normal(size=count).astype(np.float32),
        "flag": rng.random(count) < 0.5,
        "maybe": pd.array(rng.random(count) < 0.5, dtype="boolean"),
        "text": rng.choice(["a", " b", "1", "line\r\nbreak", 'say "no", twice'], count),
        "y": rng.normal(size=count).round(3),
        "bank": rng.choice(OWNERS, count),
    }
    held["part"][:4], held["y"][1:4] = [np.nan, np.inf, -np.inf, 1e30], [np.nan, -np.inf, 1e300]
    for name, places in (("whole", 5), ("long", 3), ("maybe", 3)):
        held[name][:places] = pd.NA
    frame = pd.DataFrame(held)
    frame.to_parquet(tmp_path / "t.parquet")
    (tmp_path / "s.toml").write_text(SCENARIO.replace("t.csv", "t.parquet"))
    scenario = load(tmp_path / "s.toml", ["data.order=as_is", "data.public_rows=120"])
    check_same(scenario, tmp_path / "parties")
    data = market_data(scenario)
    contract = agreed(scenario, data)
    alpha = data.owners[0]
    frame.iloc[data.division.owners["Alpha"]][["bank", *KINDS]].to_parquet(tmp_path / "own.parquet")
    found = read_own_table(tmp_path / "own.parquet", contract, "Alpha")
    assert found.records.x.tobytes() == np.ascontiguousarray(
        alpha.x
    ).tobytes() and found.passed_over == ("bank",)


def test_what_an_owner_may_want_to_know_is_counted(tmp_path):
    """By column; and other columns, blanks, compression and the order of columns change nothing."""
    contract = small_contract(
        owners=[{"name": "Alpha", "records": 4, "epsilon": 1.0, "payment": 1.0, "weight": 1.0}]
    )
    rows = [
        "name,claims,kind,age,income",
        "Ann,1, public,30,5",
        "Bo,,other,x,7",
        "Cy,3,,99,?",
        "Di,+3.0,private,-inf,1",
    ]
    path = tmp_path / "own.csv"
    packed = tmp_path / "own.csv.gz"
    path.write_text("\n".join(rows))
    packed.write_bytes(gzip.compress("\n".join(rows).replace(",", ";").encode("utf-8-sig")))
    found = read_own_table(path, contract, "Alpha")
    other = read_own_table(packed, contract, "Alpha").records
    assert (found.rows, found.left_out, found.passed_over, found.records.clipped) == (
        4,
        0,
        ("name",),
        1,
    )
    assert found.missing == {"claims": 1, "kind": 1, "income": 1} and found.unread == {
        "kind": 1,
        "age": 2,
    }
    assert (
        found.records.y.tolist() == [-3.0, 0.0, -1.0, -1.0]
        and found.records.x[1].tolist() == contract.columns.mean
    )
    assert (other.x == found.records.x).all() and (other.y == found.records.y).all()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (
            "age,income,kind,claims\n1,2,public,3\n",
            'must hold the 2 records that the contract names for "Alpha"; found 1 rows',
        ),
        (
            "age,income,kind\n" + "1,2,public\n" * 2,
            'must have the columns that are read; found no column "claims"',
        ),
        ("Zoe,Zoe,51,4711\nZoe,4,4711,2\n", "column names must differ; found one twice"),
        (
            "Zoe,52,public,4711\nYan,4,4711,2\n",
            'must have the columns that are read; found no column "claims"',
        ),
        (
            "age,income,kind,claims\n4711,Zoe\n",
            "must have as many fields in each row as in the header; found 4 in",
        ),
        (
            "age,income,kind,claims\n1,2,public,3\n4711,Zoe,1,2,3\n",
            "must have as many fields in each row as in the header",
        ),
        ("", "must have rows and columns; found an empty file"),
        ("age,income,kind,claims\n", "must have rows and columns; found 0 rows"),
        ("Zo\xeb".encode("latin1"), "must be UTF-8 text"),
    ],
)
def test_a_file_that_is_not_what_was_agreed_is_refused_without_a_cell_shown(
    tmp_path, content, told
):
    terms = {"epsilon": 1.0, "payment": 1.0, "weight": 1.0}
    contract = small_contract(owners=[{"name": "Alpha", "records": 2, **terms}])
    path = tmp_path / "own.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError) as caught:
        read_own_table(path, contract, "Alpha")
    said = str(caught.value)
    shown = said.removeprefix(f"{path}: --data: ")
    assert shown.startswith(told) and not any(cell in shown for cell in ("Zo", "Yan", "4711", "\n"))


def test_rows_of_persons_beyond_those_agreed_are_left_out(tmp_path):
    """The first of each person in the file stay; what a person is called by others' rows does not matter."""
    columns = small_contract().columns.model_dump() | {"person": "who"}
    contract = small_contract(
        columns=columns,
        bounds={"rows_per_person": 2},
        owners=[{"name": "Alpha", "records": 5, "epsilon": 1.0, "payment": 1.0, "weight": 1.0}],
    )
    head = "who,age,income,kind,claims"
    who = ["7", "", "07", "NA", "7.0", "ann", ""]
    path = tmp_path / "own.csv"
    path.write_text(
        "\n".join([head, *(f"{name},30,{place},public,1" for place, name in enumerate(who))])
    )
    found = read_own_table(path, contract, "Alpha")
    assert (found.rows, found.left_out) == (7, 2)
    assert np.round((found.records.x[:, 1] + 1) * 50).tolist() == [0, 1, 2, 3, 5]
    assert len(set(found.records.persons.tolist())) == 3
    path.write_text(path.read_text().replace("ann", "7"))
    with pytest.raises(InputError, match="found 7 rows, 3 of them beyond the most of one person"):
        read_own_table(path, contract, "Alpha")
    assert len(read_public_records(path, contract, "--public").y) == 7


@pytest.mark.exchange
@pytest.mark.parametrize("name", ["three_insurers", "three_insurers_health"])
def test_tables_of_the_library_are_divided_into_files_that_are_read_as_the_same(tmp_path, name):
    check_same(load(name), tmp_path)
