"""The owner's program loads no simulator and no pandas, and reads a CSV as pandas does."""

import io
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from exchange.contract import ALGORITHMS, MECHANISMS
from learning import table_file
from learning.errors import InputError
from learning.privacy import mechanisms
from learning.table_file import find_dialect, read_csv_rows
from learning.training import algorithms

NEVER = {"mesa", "networkx", "matplotlib", "pandas", "joblib"}
NEVER |= {"scenarios", "market", "agents", "reproduction"}
NEVER |= {"learning.training", "learning.forecast", "learning.audit"}
PIECES = ["a", "1", '"', '""', ",", ",", "\n", "\n", "\r\n", " ", "\t", "é", '"b,c"', '"d\ne"']


def test_the_owners_program_loads_no_simulator(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,x\n2,y\n")
    reads = f"table_file.read_as_written({str(tmp_path / 't.csv')!r}, ['a'])"
    lines = [
        "import exchange.command.owner, exchange.owner.program, sys",
        "from learning import table_file",
        reads,
        "print(*sys.modules)",
    ]
    said = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True
    ).stdout
    assert "exchange.owner.answers" in said and not NEVER & set(said.split())


def test_a_contract_allows_the_algorithms_and_mechanisms_that_there_are():
    able = [name for name, one in algorithms.ALGORITHMS.items() if one.aggregates]
    assert list(ALGORITHMS) == able
    known = {name: kinds[0].__mro__ for name, kinds in mechanisms.MECHANISMS.items()}
    del known["wishart"]  # no exact sampler is known
    assert known.keys() == MECHANISMS.keys()
    assert all(MECHANISMS[name] in kinds for name, kinds in known.items())


def by_pandas(content, delimiter, header):
    frame = pd.read_csv(
        io.BytesIO(content), sep=delimiter, names=header, header=0, dtype=str, na_filter=False
    )
    if not isinstance(frame.index, pd.RangeIndex):  # a row too long, of which it makes an index
        raise pd.errors.ParserError("C error: Expected 1 fields in line")
    return frame.fillna("").to_numpy().tolist()


@pytest.mark.parametrize("seed", range(4))
def test_rows_of_a_csv_are_those_that_pandas_reads(seed):
    """Of quotes, blanks and ends of lines in any order; both refuse the same, in the same words."""
    rng = np.random.default_rng(seed)
    compared = refused = 0
    for _ in range(400):
        head = "x,y\n" if rng.random() < 0.7 else "x\n"
        content = (head + "".join(rng.choice(PIECES, rng.integers(1, 14)))).encode()
        try:
            delimiter, header = find_dialect(content, "t")
        except InputError:
            continue
        try:
            expected = by_pandas(content, delimiter, header)
        except pd.errors.ParserError as error:
            with pytest.raises(InputError) as told:
                list(read_csv_rows(content, delimiter, "t"))
            assert " ".join(str(error).split()).rpartition("C error: ")[2] in str(told.value)
            refused += 1
            continue
        rows = list(read_csv_rows(content, delimiter, "t"))[1:]
        assert rows == expected, content
        compared += 1
    assert compared > 50 and refused > 5


def test_a_large_cell_is_read(tmp_path):
    content = b"x,y\n" + b"1,2\n" * 60 + b"1," + b"z" * 200_000 + b"\n"
    assert len(list(read_csv_rows(content, ",", "t"))[-1][1]) == 200_000
    assert table_file.csv.field_size_limit() < 200_000
