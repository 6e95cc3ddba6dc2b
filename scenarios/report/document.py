"""A document to hand on: title, paragraphs and tables as plain data."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, replace

from learning.phrases import escape_control

LONGEST = 120  # characters of a cell; names that are longer are cut


@dataclass(frozen=True)
class Table:
    """Rows of texts under heads.

    Parameters
    ----------
    heads: a head for each column.
    rows: a text for each cell.
    words: number of columns, from the first on, that hold words; numbers of the others stand right.
    totals: number of rows, from the last one up, that sum up the others.
    """

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int = 1
    totals: int = 0


@dataclass(frozen=True)
class Section:
    """A heading with paragraphs, items of a list, and a table, in this order."""

    heading: str
    paragraphs: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    table: Table | None = None


@dataclass(frozen=True)
class Document:
    """A document of few pages.

    Parameters
    ----------
    title, byline: what it is of; what it is, its date and where its numbers are from.
    date: its date, also the date of creation that a file carries.
    notices: warnings to read before everything else.
    lead: the sentences that a reader who stops there should have read.
    sections: the rest.
    pages: pages that it may fill on paper (A4).
    """

    title: str
    byline: str
    date: dt.date
    notices: tuple[str, ...]
    lead: tuple[str, ...]
    sections: tuple[Section, ...]
    pages: int = 2


def clean_document(document: Document) -> Document:
    """Escape control characters, cut long cells, and leave out empty texts and sections."""
    sections = []
    for section in document.sections:
        kept = Section(
            section.heading,
            _clean_texts(section.paragraphs),
            _clean_texts(section.items),
            section.table and _clean_table(section.table),
        )
        if kept.paragraphs or kept.items or kept.table:
            sections.append(kept)
    return replace(
        document,
        title=_cut_text(document.title),
        byline=escape_control(document.byline),
        notices=_clean_texts(document.notices),
        lead=_clean_texts(document.lead),
        sections=tuple(sections),
    )


def _clean_texts(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(escape_control(text) for text in texts if text)


def _clean_table(table: Table) -> Table:
    rows = [tuple(_cut_text(cell) for cell in row) for row in table.rows]
    return replace(table, rows=tuple(rows))


def _cut_text(text: str) -> str:
    text = escape_control(text)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
