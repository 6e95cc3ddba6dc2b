"""What a contract says of columns: told by public cells alone, as they are written."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from commands import TRADE

from exchange.terms import Columns
from scenarios.schema.loading import load
from scenarios.tables.dataset import market_data
from scenarios.tables.described import described_columns

SCENARIO = (
    """
[data]
path = "NAME"
target = "y"
split = [4]
public_rows = 32
order = "as_is"
missing = "fill"
[learning]
regularisation = 0.1
[owners]
epsilon = [0.1, 5.0]
"""
    + TRADE
)
PUBLIC = {
    "flag": ["true", "False", "", "TRUE", "false", "true", "False", "true"],
    "bit": ["0", "1", "1", "", "0", "0", "1", "1"],
    "whole": ["3", "4", "5", "3", "5", "4", "3", "4"],
    "share": ["1.5", "2.5", "1.5", "0.5", "2.5", "0.5", "1.5", "2.5"],
    "kind": ["a", "b", "b", "a", "b", "a", "a", "b"],
    "y": ["1", "2", "3", "4", "1", "2", "3", "4"],
}


def told(folder: Path, private: Sequence[str], sep: str = ",") -> dict[str, Any]:
    """What is said of a table whose private cells are all these, one after the other."""
    shown = list(zip(*PUBLIC.values(), strict=True))
    rows = [private, private, *shown[:2], *shown * 4]
    lines = [sep.join(f'"{cell}"' for cell in row) for row in [list(PUBLIC), *rows]]
    (folder / "t.csv").write_text("\n".join(lines) + "\n")
    (folder / "s.toml").write_text(SCENARIO.replace("NAME", "t.csv"))
    scenario = load(folder / "s.toml")
    return described_columns(market_data(scenario), scenario)


@pytest.mark.parametrize(
    ("sep", "written"),
    [
        (",", {"flag": "truth", "bit": "point", "whole": "point", "share": "point", "y": "point"}),
        (
            ";",
            {"flag": "truth", "bit": "either", "whole": "either", "share": "point", "y": "either"},
        ),
    ],
)
def test_private_cells_do_not_tell_how_columns_are_written(
    tmp_path: Path, sep: str, written: dict[str, str]
) -> None:
    """Whatever they make of a column in the reader of the whole table: numbers, true and false, or texts."""
    found = [
        told(tmp_path, [cell] * 6, sep)
        for cell in ("1", "True", "0.0", "1,5", "", "?!", str(2**60))
    ]
    assert found[0]["written"] == written and all(one == found[0] for one in found)
    Columns.model_validate(found[0])


def test_columns_of_parquet_hold_what_their_type_says(
    tmp_path: Path, write_table: Callable[..., Path]
) -> None:
    table = pd.DataFrame(
        {"flag": [True, False] * 18, "bit": [0, 1, 1] * 12, "y": [1.0, 2, 3, 4] * 9}
    )
    table.to_parquet(tmp_path / "t.parquet")
    (tmp_path / "s.toml").write_text(SCENARIO.replace("NAME", "t.parquet"))
    scenario = load(tmp_path / "s.toml")
    found = described_columns(market_data(scenario), scenario)
    assert found["written"] == {"flag": "truth", "bit": "point", "y": "point"}
    assert (found["target"]["labels"], found["person"], found["constant_columns"]) == (
        None,
        None,
        [],
    )
