"""Published tables, by name, from the files that are there or generated in their place.

A folder of data may hold the papers' full files, with the names and columns of their publishers, or
the subsets that this project was measured on; full files come first. Public rows, which no market
contains, fix every scale.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from learning.errors import InputError
from reproduction.item import NotPossible, Setting
from reproduction.tables.records import Table, encode_table
from reproduction.tables.sources import SOURCES


def load_table(name: str, setting: Setting) -> Table:
    """Load a published table; once in a process.

    Parameters
    ----------
    name : one of `SOURCES`.
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
    needs, recipe, read, generate = SOURCES[name]
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
