"""Tables of WD's logistic regressions except fraud: incomes, attacks, tumours and buyers.

The paper states the number of rows and that records are of norm 1, but no encoding of texts: they
are whole numbers here as in the other papers. Columns are standardised over the public rows, the
last tenth in a fixed random order.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from learning.data.encoding import Columns
from learning.randomness import Streams
from reproduction.item import Setting
from reproduction.tables import files
from reproduction.tables.generated import SEED, TABLES, generate_columns, read_shape
from reproduction.tables.records import Cells, Recipe, split_last

PUBLIC_SHARE = 0.1
QUICK_SHARE = 0.1
FEWEST = 699
KDD_ROWS = 70_000
COLUMNS = {name: TABLES[name]["columns"].split() for name in ("adult", "kdd", "bank", "cancer")}


def make_recipe(name: str) -> Recipe:
    """Recipe of a table, whose last column is the label; the number of a tumour is no feature."""
    *features, target = COLUMNS[name]
    return Recipe(target, tuple(features[name == "cancer" :]), labels=True, standardised=True)


def read_adult(data: Path) -> Cells | None:
    """Read people without a missing answer, of both of the publisher's parts."""
    frames = []
    for part, file in (("train", "adult.data"), ("test", "adult.test")):
        path = files.find_file(data, f"adult_{part}.csv", file)
        if path is None:
            return None
        rows = _read_rows(path, "adult", skipinitialspace=True, comment="|")
        labels = files.read_labels(path, rows["income"], "<=50K", ">50K")
        frames.append(rows.assign(income=labels))
    frame = pd.concat(frames, ignore_index=True).dropna()
    says = "people of the census with no answer missing (the paper: 45,222)"
    return _shuffle_rows("adult", frame, frame["income"] == ">50K", says)


def read_kdd(data: Path) -> Cells | None:
    """Read connections drawn at random from the 10 percent file."""
    path = files.find_file(data, "kddcup.data_10_percent", "kddcup.data")
    if path is None:
        return None
    frame = _read_rows(path, "kdd")
    drawn = Streams(SEED, "kdd").rng("rows").permutation(len(frame))[:KDD_ROWS]
    frame = frame.iloc[drawn]
    attack = files.read_labels(path, frame["label"]) != "normal"
    says = f"connections drawn from {path.name} (the paper: 70,000)"
    return _shuffle_rows("kdd", frame, attack, says)


def read_bank(data: Path) -> Cells | None:
    """Read calls of a bank to sell a deposit."""
    path = files.find_file(data, "bank-additional-full.csv")
    if path is None:
        return None
    frame = _read_rows(path, "bank", sep=";")
    bought = files.read_labels(path, frame["y"], "no", "yes") == "yes"
    return _shuffle_rows("bank", frame, bought, "calls of a bank (the paper: 41,188)")


def read_cancer(data: Path) -> Cells | None:
    """Read tumours; a missing measurement counts as the public mean."""
    path = files.find_file(data, "breast-cancer-wisconsin.csv", "breast-cancer-wisconsin.data")
    if path is None:
        return None
    frame = _read_rows(path, "cancer")
    malignant = files.read_labels(path, frame["class"], "2", "4") == "4"
    return _shuffle_rows("cancer", frame, malignant, "tumours (the paper: 699)")


def generate_cells(name: str, setting: Setting) -> Cells:
    """Generate as many rows as the paper has; a tenth of a large table where time is short."""
    rows = TABLES[name]["stand_in"]["rows"]
    if setting.quick:
        rows = max(int(QUICK_SHARE * rows), FEWEST)
    columns = generate_columns(name, read_shape(name, COLUMNS[name][-1]), rows)
    return _split_tenth(name, columns, f"{rows:,} generated rows of the same shape")


def _read_rows(path: Path, name: str, **reading: Any) -> pd.DataFrame:
    """Read all columns, by the names of a table, of a file with or without a header."""
    names = COLUMNS[name]
    if not path.name.removesuffix(".gz").endswith(".csv"):
        reading |= {"names": names, "header": None}
    wanted: Sequence[str] = (names[-1], *names[:-1])
    return files.read_columns(path, files.own_names(wanted), **reading)


def _shuffle_rows(name: str, frame: pd.DataFrame, positive: pd.Series, says: str) -> Cells:
    """Label rows with -1 and +1, in a fixed random order."""
    labels = np.where(positive, 1.0, -1.0)
    columns = {**files.columns_of(frame), COLUMNS[name][-1]: labels}
    return _split_tenth(name, columns, f"{len(frame):,} {says}")


def _split_tenth(name: str, columns: Columns, says: str) -> Cells:
    """Put rows into a fixed random order, of which the last tenth is public."""
    count = len(next(iter(columns.values())))
    rows = Streams(SEED, name).rng("order").permutation(count)
    return split_last(columns, rows, int(PUBLIC_SHARE * count), says)
