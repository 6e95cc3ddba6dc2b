"""Rules of the columns of a table as public facts, by which an owner reads its own file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from learning.cells import TEXT
from learning.data.fitting import describe_encoder
from learning.table_file import read_as_written
from scenarios.schema.scenario import Scenario
from scenarios.tables.dataset import MarketData
from scenarios.tables.paths import is_parquet, table_path
from scenarios.tables.selection import Selection, distinct_texts, written_as


def described_columns(data: MarketData, scenario: Scenario) -> dict[str, Any]:
    """Describe the columns for a contract: the encoder, the rule of each column, the person column.

    Only public cells and the scenario enter. Cells of a column of numbers may leave open how they
    are written: if they are 0 and 1 alone, or have neither point nor comma where commas are
    possible. Such columns are read once more from the file as text, since private cells had a part
    in how the whole table was read.

    Parameters
    ----------
    data : the records of the scenario.
    scenario : the scenario.
    """
    content = describe_encoder(data.encoder)
    table = data.table
    content["target"]["labels"] = table.labels and list(table.labels)
    names = [*data.encoder.numbers.names, table.target_name]
    written = {name: table.meaning.written[name] for name in names}
    doubtful = [name for name in names if _is_doubtful(table, name)]
    if scenario.data.labels and table.target_name in doubtful:
        doubtful.remove(table.target_name)
    if doubtful:
        written |= _look_up(scenario, doubtful, table)
    content["written"] = {name: way for name, way in written.items() if way != TEXT}
    return content | {"person": scenario.data.person}


def _is_doubtful(table: Selection, name: str) -> bool:
    """Test whether public cells, once they are numbers, leave open how they are written."""
    written = table.meaning.written[name]
    if written != "point":
        return written == "either"
    if name == table.target_name and table.labels is not None:
        return set(table.labels) <= {"0", "1"}
    cells = table.columns[name]
    return bool(np.isin(cells[~np.isnan(cells)], (0.0, 1.0)).all())


def _look_up(scenario: Scenario, names: Sequence[str], table: Selection) -> Mapping[str, str]:
    """Find the rules of some columns by their public cells in the file."""
    path = table_path(scenario)
    if is_parquet(path):  # the types of its columns are the rules
        from scenarios.tables.parts import open_parts

        truths = open_parts(path).truth_columns().intersection(names)
        return {name: "truth" for name in truths if not np.isnan(table.columns[name]).all()}
    found = read_as_written(path, names)
    shown = {name: distinct_texts(found.columns[name][table.rows]) for name in names}
    return {name: written_as(cells, found.commas) for name, cells in shown.items()}
