"""Tables for tests: written, read, and what a scenario chooses from them."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from learning.errors import InputError
from scenarios.schema.data import Data
from scenarios.tables.reading import Table
from scenarios.tables.selection import Selection
from scenarios.tables.selection import select_columns as select_public


@pytest.fixture
def write_table(tmp_path: Path) -> Callable[..., Path]:
    """Writes a table, of bytes or of text, and returns its path."""

    def write_(content: bytes | str, name: str = "t.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write_


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
