"""Items made of a law, a table of checks and a plot; their words are in ``claims.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd
from matplotlib.figure import Figure

from reproduction.item import Check, Item, Setting

Size = TypeVar("Size")
Rows = Iterator[dict[str, Any]]
Checks = Iterator[Check]
Draw = Callable[[pd.DataFrame, str], Figure]
CLAIMS: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
)


def quick_or_full(setting: Setting, quick: Size, full: Size) -> Size:
    """The first value in a quick setting, the second in a full one."""
    return quick if setting.quick else full


def read_text(key: str, name: str, **values: Any) -> str:
    """One text of an item on a single line, with values in place of {names}."""
    text = " ".join(CLAIMS[key].get(name, "").split())
    return text.format(**values) if values else text


def name_check(key: str, check: Check) -> Check:
    """The check with its words in place of a short name; words with spaces stay."""
    if not check.what.isidentifier():
        return check
    return replace(check, what=" ".join(CLAIMS[key]["checks"][check.what].split()))


def make_item(
    key: str,
    law: Callable[[Setting], Iterable[dict[str, Any]] | pd.DataFrame],
    checks: Callable[[pd.DataFrame], Iterable[Check]],
    draw: Draw,
    *,
    words: str | None = None,
    cost: float | None = None,
    **values: Any,
) -> Item:
    """Make an item of the book.

    Parameters
    ----------
    key : name of the item.
    law : rows of numbers for a setting, or the whole frame.
    checks : comparisons with the source, from the frame; their words are in ``claims.toml``.
    draw : the figure, from the frame and a note on the data.
    words : table of ``claims.toml``; the key where it is None.
    cost : seconds of one processor; that of the table where it is None.
    values : values for {names} in the texts.
    """
    table = words or key
    texts = {name: read_text(table, name, **values) for name in ("where", "title", "claim")}
    return Item(
        key,
        **texts,
        compute=lambda setting: pd.DataFrame(law(setting)),
        checks=lambda frame: [name_check(table, check) for check in checks(frame)],
        draw=draw,
        differs=read_text(table, "differs", **values),
        tables=tuple(CLAIMS[table].get("tables", ())),
        cost=CLAIMS[table].get("cost", 5.0) if cost is None else cost,
    )
