"""How the columns of a table are read and encoded, as plain public facts: what an owner needs to read its own file alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from learning.data.described import described
from scenarios.schema.scenario import Scenario
from scenarios.tables.cells import TEXT, texts_shown, written_as
from scenarios.tables.dataset import MarketData
from scenarios.tables.parts import open_parts
from scenarios.tables.paths import table_path
from scenarios.tables.reading import read_as_written
from scenarios.tables.selection import Selection


def described_columns(data: MarketData, scenario: Scenario) -> dict[str, Any]:
    """The part ``columns`` of a contract: the encoder, how each column of numbers is written, which column names persons.

    Nothing in it but public cells and the scenario tells it. Columns of numbers that public cells show as 0 and 1 alone, or
    with neither point nor comma where commas are possible, are looked up once more in the table as they are written: what
    the reader of the whole table made of them, private cells decided too.

    Parameters
    ----------
    data : what the scenario's data became.
    scenario : the scenario.
    """
    content, table = described(data.encoder), data.table
    content["target"]["labels"] = None if table.labels is None else list(table.labels)
    names = [*data.encoder.numbers.names, table.target_name]
    written = {name: table.meaning.written[name] for name in names}
    stated = {table.target_name} if scenario.data.labels else set()
    doubtful = [name for name in names if name not in stated and _doubtful(table, name)]
    if doubtful:
        written |= _looked_up(scenario, doubtful, table)
    content["written"] = {name: way for name, way in written.items() if way != TEXT}
    return content | {"person": scenario.data.person}


def _doubtful(table: Selection, name: str) -> bool:
    """Whether public cells, once they are numbers, leave open how they are written."""
    written, cells = table.meaning.written[name], table.columns[name]
    if name == table.target_name and table.labels is not None:
        return written == "either" or (written == "point" and set(table.labels) <= {"0", "1"})
    return written == "either" or (written == "point" and bool(np.isin(cells[~np.isnan(cells)], (0.0, 1.0)).all()))


def _looked_up(scenario: Scenario, names: Sequence[str], table: Selection) -> dict[str, str]:
    """How public cells are written in the file, by column."""
    path = table_path(scenario)
    parts = open_parts(path)
    if parts is not None:  # whose columns say what they hold
        return {name: "truth" for name in parts.truths().intersection(names) if not np.isnan(table.columns[name]).all()}
    found, *_ = read_as_written(path, names)
    return {name: written_as(texts_shown(found.columns[name][table.rows]), found.commas) for name in names}
