"""Owners' own files give, to the last bit, the records that the market was settled with out of everybody's table."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from commands import TRADE
from exchanges import small_contract

from learning.exchange.contract import Contract
from scenarios.exchange.division import divided_files
from scenarios.exchange.records import own_records, public_records
from scenarios.schema.loading import load
from scenarios.schema.scenario import Scenario
from scenarios.tables.dataset import MarketData, market_data, shuffling
from scenarios.tables.described import described_columns

PUBLIC, OWNERS = 60, ("Alpha", "Beta", "Gamma")
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


def nasty_table(rng: np.random.Generator, sep: str, share: float, labels: bool, persons: bool) -> list[list[str]]:
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
        "y": (lambda: str(rng.choice(["no", "yes"]))) if labels else (lambda: str(rng.choice(NUMBERS[sep]))),
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
    private, public = rows[PUBLIC:], rows[:PUBLIC]
    for row, owner in zip(private, OWNERS, strict=False):
        row[-2] = owner
    return [[*draw, "bank", "who"], *private, *public]


def laid(folder: Path, rows: Sequence[Sequence[str]], sep: str, changes: Sequence[str]) -> Scenario:
    """A scenario of a table, its last rows public."""
    head, *rows = rows
    places = np.arange(len(rows))
    if "data.order=shuffled" in changes:
        shuffling(4).shuffle(places)  # so that the same rows are public
    rows = [head, *(rows[at] for at in np.argsort(places))]
    made = io.StringIO()
    csv.writer(made, delimiter=sep, lineterminator="\r\n").writerows(rows)
    (folder / "t.csv").write_bytes(made.getvalue().encode())
    (folder / "s.toml").write_text(SCENARIO)
    return load(folder / "s.toml", ["data.order=as_is", *changes])


def agreed(scenario: Scenario, data: MarketData) -> Contract:
    """A contract about what a scenario's data became; what is not about records is anything."""
    columns, width = described_columns(data, scenario), data.encoder.n_parameters
    terms = [
        {"name": o.name, "records": o.n_records, "epsilon": 1.0, "payment": 1.0, "weight": 1.0} for o in data.owners
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
    data, files = market_data(scenario), divided_files(scenario, folder)
    contract = agreed(scenario, data)
    for held in data.owners:
        found = own_records(files.owners[held.name], contract, held.name)
        assert found.x.tobytes() == np.ascontiguousarray(held.x).tobytes()
        assert found.y.tobytes() == np.ascontiguousarray(held.y).tobytes()
        assert found.clipped == held.clipped
    for path, rows in ((files.public, data.public), (files.aside, data.aside)):
        assert (path is None) == (rows is None)
        if path is not None:
            shown = public_records(path, contract)
            assert shown.x.tobytes() == np.ascontiguousarray(rows.x).tobytes() and (shown.y == rows.y).all()


FEATURES = 'data.features=["whole", "number", "flag", "bit", "code", "long"]'
LABELS = ("learning.loss=logistic", 'data.positive="yes"')


@pytest.mark.parametrize("sep", [",", ";"])
@pytest.mark.parametrize(
    ("changes", "labels", "persons"),
    [
        ((), False, False),
        ((*LABELS, "data.encoding=integer", "data.components=3"), True, False),
        (("data.person=who", "data.rows_per_person=2", "data.order=shuffled"), False, True),
    ],
)
def test_an_own_file_is_read_as_the_same_rows_of_the_whole_table(tmp_path, sep, changes, labels, persons):
    """Whatever anybody's private cells hold: the whole table's reader looks at all of a column, an owner at its own."""
    for seed in range(2):
        rng = np.random.default_rng([seed, len(changes), ord(sep)])
        rows = nasty_table(rng, sep, (0.02, 0.3, 1.0)[seed % 3], labels, persons)
        check_same(laid(tmp_path, rows, sep, [FEATURES, *changes]), tmp_path / "parties")
