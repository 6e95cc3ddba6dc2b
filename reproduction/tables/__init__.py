"""Published tables, by name, from the files that are there or generated in their place.

A folder of data may hold the papers' full files, with the names and columns of their publishers, or
the subsets that this project was measured on; full files come first. Public rows, which no market
contains, fix every scale.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

from learning.errors import InputError
from reproduction.item import NotPossible, Setting
from reproduction.tables import classified, fraud, hospitals, lending
from reproduction.tables.records import Cells, Recipe, Table, encode_table

__all__ = ["TABLES", "Table", "load_table"]

Read = Callable[[Path], Cells | None]
Generate = Callable[[Setting], Cells]
Source = tuple[str, Recipe, Read, Generate]  # files, in words; coding; reader; generator


def _classified(name: str, needs: str, read: Read) -> Source:
    """Source of a table with labels."""
    return needs, classified.make_recipe(name), read, partial(classified.generate_cells, name)


PAYMENTS = f"{fraud.WHOLE_FILE} or {fraud.SUBSET}"
STAYS = f"{hospitals.WHOLE_FILE} or {hospitals.SUBSET}"
ADULT = _classified("adult", "adult.data and adult.test", classified.read_adult)
ONE_HOT = replace(ADULT[1], encoding="onehot", standardised=False)
TABLES: dict[str, Source] = {
    "lending": (
        " or ".join(lending.FILES),
        lending.RECIPE,
        lending.read_cells,
        lending.generate_cells,
    ),
    "fraud": (PAYMENTS, fraud.RECIPE, fraud.read_cells, fraud.generate_cells),
    "hospitals": (STAYS, hospitals.RECIPE, hospitals.read_cells, hospitals.generate_cells),
    "adult": ADULT,
    "adult_one_hot": (ADULT[0], ONE_HOT, *ADULT[2:]),
    "kdd": _classified("kdd", "kddcup.data_10_percent", classified.read_kdd),
    "bank": _classified("bank", "bank-additional-full.csv", classified.read_bank),
    "cancer": _classified("cancer", "breast-cancer-wisconsin.data", classified.read_cancer),
    "balanced_fraud": (PAYMENTS, fraud.BALANCED, fraud.read_balanced, fraud.generate_balanced),
}


def load_table(name: str, setting: Setting) -> Table:
    """Load a published table; once in a process.

    Parameters
    ----------
    name : one of `TABLES`.
    setting : folder of the files, or None there for a stand-in.

    Raises
    ------
    NotPossible
        If there is a folder of data and the table is not in it.
    InputError
        If its file cannot be read.
    """
    return _load_table(name, setting.data, setting.quick)


@cache
def _load_table(name: str, data: Path | None, quick: bool) -> Table:
    """Load a table; the seed of the setting has no influence."""
    needs, recipe, read, generate = TABLES[name]
    cells = generate(Setting(quick=quick)) if data is None else read(data)
    if cells is None:
        raise NotPossible(f"{needs} is not in {data}")
    if not len(cells.held):
        public = f"{len(cells.public):,} public rows"
        raise NotPossible(f"{needs} in {data} leaves owners no record beside the {public}")
    try:
        return encode_table(name, recipe, cells, stand_in=data is None)
    except InputError as error:  # which names a key of a scenario
        raise InputError(f"{needs} in {data}", error.rule, error.found) from None
