"""Loans of Lending Club: yearly interest rate from facts at the time of the loan (VC IV-A, AS V-A).

The model of the papers is y = theta'x without a constant, and the owners get the eigenvectors of
the last 10,000 entries. Columns are standardised over these entries before components are taken
(the papers do not say; unscaled, incomes alone would make the components), and rates are counted
from their mean there: otherwise a model without a constant cannot meet the mean rate, and relative
fitness would measure little else.

Left out: identifiers, addresses of pages, free text, facts known only later, and the instalment,
from which the rate follows. The subset has some columns under other names or coarser.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reproduction.item import Setting
from reproduction.tables import files
from reproduction.tables.generated import TABLES, generate_columns, read_shape
from reproduction.tables.records import Cells, Recipe, split_last

FILES = ("loan.csv", "loans_2007_2014.csv")
PUBLIC = 10_000
ROWS = (780_000, 130_000)  # of a stand-in, for three owners of 250,000 as in the papers; quick
TARGET, *FEATURES = TABLES["lending"]["columns"].split()
RECIPE = Recipe(TARGET, tuple(FEATURES), components=10, constant=False)


def read_cells(data: Path) -> Cells | None:
    """Read the loans of a folder, or None."""
    path = files.find_file(data, *FILES)
    if path is None:
        return None
    names = {TARGET: ("int rate", "int rate derived"), **files.own_names(FEATURES)}
    frame = files.read_columns(path, names)
    for name in frame.columns.intersection([TARGET, "revol_util"]):
        frame[name] = files.read_numbers(frame[name], "%")
    frame = frame[frame[TARGET].notna()]
    says = f"{len(frame):,} loans of Lending Club with a rate, in the file's order"
    says += " (the papers: nearly 890,000)"
    return split_last(files.columns_of(frame), np.arange(len(frame)), PUBLIC, says)


def generate_cells(setting: Setting) -> Cells:
    """Generate loans."""
    rows = setting.pick_value(*ROWS)
    columns = generate_columns("lending", read_shape("lending", TARGET), rows)
    says = f"{rows:,} generated loans of the same shape"
    return split_last(columns, np.arange(rows), PUBLIC, says)
