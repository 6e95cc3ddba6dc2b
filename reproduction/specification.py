"""Items as data: their texts, tables of checks and pages, from the file items.toml of a folder.

A folder has a table for each item: where, title, claim, differs, tables, cost, checks, figure;
those that it lacks are those of the table ``like`` which it may name. A table "shared" has
sentences that texts name in braces, as they name other texts of the item; a table "checks" has
checks of several items (`make_check`), a table "traits" the traits of their laws, a table "figures"
has pages of several items (`draw_page`), by their names.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from reproduction.checks import make_check
from reproduction.drawing import Mark, Plot, draw_page
from reproduction.item import Check, Item, Setting, Trait

PROSE = ("where", "title", "claim", "differs")
Rows = Iterator[dict[str, Any]]
Found = Iterator[Check | tuple[Any, ...]]  # checks, or names of checks with the numbers found
Compute = Callable[[Setting], Iterable[Mapping[Any, Any]] | pd.DataFrame]
Measure = Callable[[pd.DataFrame], Iterable[Check | tuple[Any, ...]] | Mapping[str, Any]]
Law = tuple[Compute, Measure] | tuple[Compute, Measure, Plot | Mapping[str, Mark]]


def read_items(folder: Path, laws: Mapping[str, Law]) -> tuple[Item, ...]:
    """Read the items of a folder, in the order of their laws.

    Parameters
    ----------
    folder : folder with items.toml.
    laws : computation, numbers to check and, where a page has not all, a drawing on its panels or
        marks of its own, of each item, by its key.
    """
    texts = tomllib.loads((folder / "items.toml").read_text(encoding="utf-8"))
    return tuple(_read_item(texts, key, *law) for key, law in laws.items())


def _read_item(
    texts: Mapping[str, Any], key: str, compute: Compute, measure: Measure, plot: Any = None
) -> Item:
    """Read one item."""
    text = texts.get(texts[key].get("like"), {}) | texts[key]
    words = texts.get("shared", {}) | text
    prose = {name: flatten(text.get(name, "").format(**words)) for name in PROSE}
    rows = texts.get("checks", {}) | text.get("checks", {})
    traits = texts.get("traits", {}) | text.get("traits", {})
    draw = None
    if "figure" in text:
        page = text["figure"]
        if isinstance(page, str):
            page = texts["figures"][page]
        draw = partial(draw_page, {"title": prose["title"], **page}, plot)
    return Item(
        key,
        compute=lambda setting: pd.DataFrame(compute(setting)),
        checks=lambda frame: list(make_checks(measure(frame), rows, words, traits)),
        draw=draw,
        tables=tuple(text.get("tables", ())),
        cost=text.get("cost", 5.0),
        group=text.get("group", texts.get("group", "own")),
        paper_read=text.get("paper_read", True),
        **prose,
    )


def flatten(text: str) -> str:
    """Text on a single line."""
    return " ".join(text.split())


def make_checks(
    found: Any,
    rows: Mapping[str, Sequence[Any]],
    words: Mapping[str, Any],
    traits: Mapping[str, Trait],
) -> Iterator[Check]:
    """Make checks of the numbers found, by the rows of their names; checks stay as they are.

    A mapping after the numbers has values for {names} in the words, and may have a tolerance, a
    standard error, and a kind, which is ``judged``.
    """
    for one in found.items() if isinstance(found, Mapping) else found:
        if isinstance(one, Check):
            yield one
            continue
        name, *numbers = one
        values = numbers.pop() if isinstance(numbers[-1], Mapping) else {}
        known = {**words, **values}
        row = [cell.format(**known) if isinstance(cell, str) else cell for cell in rows[name]]
        check = make_check(row, *map(float, numbers))
        given = {name: values[name] for name in ("tolerance", "std_error") if name in values}
        kind = values.get("judged", check.kind)
        yield replace(check, kind=kind, trait=traits.get(name, ""), **given)
