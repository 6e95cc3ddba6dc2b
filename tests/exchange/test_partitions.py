"""An owner's table in partitions gives the sums of the same rows in one file, wherever the rows of a person lie."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from exchanges import small_contract
from shared_out import two_threads

from exchange.owner.partitions import sum_own_partitions
from exchange.owner.table import read_own_table
from learning import partitions
from learning.errors import InputError

ROWS = 400
LINES = {"age": [30.0], "income": [20.0], "kind": ["public"], "claims": [1.0], "who": [1]}


def frame():
    """Rows of persons of up to nine each, with holes, cells out of range, and whole numbers too large for floats."""
    draw = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "note": ["x"] * ROWS,
            "age": np.where(draw.random(ROWS) < 0.1, np.nan, draw.normal(45, 20, ROWS)),
            "income": pd.array(draw.integers(-5, 120, ROWS), dtype="Int64"),
            "kind": draw.choice(["private", "public", "other", None], ROWS),
            "claims": draw.normal(4, 3, ROWS).astype(np.float32),
            "who": pd.array(draw.choice([*range(90), 2**53 + 1, None], ROWS), dtype="Int64"),
        }
    )


def agreed(n_records, rows_per_person=None):
    """A contract for so many records, of persons or not."""
    person = None if rows_per_person is None else "who"
    made = small_contract(
        columns={"person": person}, bounds={"rows_per_person": rows_per_person or 1}
    )
    content = json.loads(made.raw)
    content["owners"][0]["records"] = n_records
    return type(made).model_construct(
        **(
            dict(made)
            | {
                "owners": [
                    made.owners[0].model_copy(update={"records": n_records}),
                    *made.owners[1:],
                ]
            }
        )
    )


def add_up(x, y):
    """Moments, with the number of records."""
    lines = np.column_stack([x, y])
    return lines.T @ lines


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    whole = pa.Table.from_pandas(frame())
    pq.write_table(whole, folder / "whole.parquet")
    (folder / "parts").mkdir()
    for number, (i, j) in enumerate([(0, 150), (150, 150), (150, 155), (155, ROWS)]):
        pq.write_table(whole.slice(i, j - i), folder / "parts" / f"{number}.parquet")
    return folder


def kept_rows(rows_per_person):
    """Rows that are records, counted here: the first so many of each person."""
    persons = frame()["who"].astype(object).fillna("")
    return (persons.groupby(persons).cumcount() < (rows_per_person or ROWS)).to_numpy()


@pytest.mark.parametrize("rows_per_person", [None, 1, 3])
def test_sums_of_partitions_are_those_of_the_whole_file(place, monkeypatch, rows_per_person):
    monkeypatch.setattr(partitions, "BLOCK", 64)
    count = int(kept_rows(rows_per_person).sum())
    contract = agreed(count, rows_per_person)
    whole = read_own_table(place / "whole.parquet", contract, "Alpha")
    shares = []
    found = sum_own_partitions(
        place / "parts",
        contract,
        "Alpha",
        add_up,
        None,
        lambda stage, share=0.0: shares.append(share),
    )
    expected = add_up(whole.records.x, whole.records.y)
    np.testing.assert_allclose(found.total, expected, rtol=1e-12, atol=1e-12)
    assert (
        (found.n_records, found.left_out)
        == (count, ROWS - count)
        == (len(whole.records.y), whole.left_out)
    )
    assert found.clipped == whole.records.clipped > 10
    assert shares == [0.0, 150 / ROWS, 155 / ROWS, 1.0]


def test_workers_change_no_bit(place):
    contract = agreed(int(kept_rows(2).sum()), 2)
    alone = sum_own_partitions(place / "parts", contract, "Alpha", add_up)
    with two_threads() as address:
        shared = sum_own_partitions(place / "parts", contract, "Alpha", add_up, address)
    assert np.array_equal(alone.total, shared.total)
    assert (alone.n_records, alone.clipped) == (shared.n_records, shared.clipped)


@pytest.mark.parametrize(
    ("records", "owner", "without", "words"),
    [
        (ROWS - 1, "Alpha", "note", "must hold the 399 records that the contract names for"),
        (ROWS, "Alpha", "income", 'must have the columns that are read; found no column "income"'),
        (ROWS, "Nobody", "note", "Nobody"),
    ],
)
def test_another_table_than_agreed_is_refused_in_one_line(tmp_path, records, owner, without, words):
    table = pa.Table.from_pandas(frame().drop(columns=without))
    pq.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(InputError) as caught:
        sum_own_partitions(tmp_path / "t.parquet", agreed(records), owner, add_up)
    assert words in str(caught.value) and "\n" not in str(caught.value)
