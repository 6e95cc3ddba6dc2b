"""The published tables that the book needs, by name, from the files that are there or generated in their place.

A folder of data may hold the papers' full files, with the names and columns that their publishers gave them, or the subsets
that this project was measured on; full files come first. Rows that nobody's market contains fix every scale.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

from learning.errors import InputError
from scenarios.reproduce.item import NotPossible, Setting
from scenarios.reproduce.tables import classified, fraud, hospitals, lending
from scenarios.reproduce.tables.records import Cells, Recipe, Table, made

__all__ = ["TABLES", "Table", "table"]

Read = Callable[[Path], Cells | None]
Generate = Callable[[Setting], Cells]
# Name -> the files it may be read from, how its cells become records, and who reads and who generates them.
TABLES: dict[str, tuple[str, Recipe, Read, Generate]] = {
    "lending": (" or ".join(lending.FILES), lending.RECIPE, lending.read, lending.stand_in),
    "fraud": (f"{fraud.WHOLE_FILE} or {fraud.SUBSET}", fraud.RECIPE, fraud.read, fraud.stand_in),
    "hospitals": (
        f"{hospitals.WHOLE_FILE} or {hospitals.SUBSET}",
        hospitals.RECIPE,
        hospitals.read,
        hospitals.stand_in,
    ),
    "adult": (
        "adult.data and adult.test",
        classified.RECIPES["adult"],
        classified.adult,
        partial(classified.stand_in, "adult"),
    ),
    "adult_one_hot": (
        "adult.data and adult.test",
        replace(classified.RECIPES["adult"], encoding="onehot", standardised=False),
        classified.adult,
        partial(classified.stand_in, "adult"),
    ),
    "kdd": ("kddcup.data_10_percent", classified.RECIPES["kdd"], classified.kdd, partial(classified.stand_in, "kdd")),
    "bank": (
        "bank-additional-full.csv",
        classified.RECIPES["bank"],
        classified.bank,
        partial(classified.stand_in, "bank"),
    ),
    "cancer": (
        "breast-cancer-wisconsin.data",
        classified.RECIPES["cancer"],
        classified.cancer,
        partial(classified.stand_in, "cancer"),
    ),
    "balanced_fraud": (
        f"{fraud.WHOLE_FILE} or {fraud.SUBSET}",
        fraud.BALANCED,
        fraud.balanced,
        fraud.balanced_stand_in,
    ),
}


def table(name: str, setting: Setting) -> Table:
    """A published table; read once in a process.

    Parameters
    ----------
    name : one of `TABLES`.
    setting : where the files are, or None there for a stand-in.

    Raises
    ------
    NotPossible
        If there is a folder of data and the table is not in it.
    InputError
        If its file cannot be read.
    """
    return _table(name, setting.data, setting.quick)


@cache
def _table(name: str, data: Path | None, quick: bool) -> Table:
    needs, recipe, read, generate = TABLES[name]
    cells = generate(Setting(quick=quick)) if data is None else read(data)
    if cells is None:
        raise NotPossible(f"{needs} is not in {data}")
    if not len(cells.held):
        raise NotPossible(f"{needs} in {data} leaves owners no record beside the {len(cells.public):,} public rows")
    try:
        return made(name, recipe, cells, stand_in=data is None)
    except InputError as error:  # which names a key of a scenario
        raise InputError(f"{needs} in {data}", error.rule, error.found) from None
