"""A document as a PDF file."""

from __future__ import annotations

import datetime as dt
import logging
from functools import cache
from pathlib import Path

import matplotlib
from fontTools.ttLib import TTFont
from fpdf import FPDF
from fpdf.fonts import FontFace

from scenarios.report.document import Document, Table

FONT = "DejaVu"  # comes with matplotlib, and has Greek, Cyrillic and most signs
FILES = {"": "DejaVuSans.ttf", "B": "DejaVuSans-Bold.ttf", "I": "DejaVuSans-Oblique.ttf"}
MARGIN = 18  # millimetres
SIZES = (9.5, 9.0, 8.5, 8.0, 7.5, 7.0, 6.5)  # points, the largest that keeps to the pages
MISSING = "\N{WHITE SQUARE}"  # for a character that the font lacks
SHADE = (227, 238, 246)  # red, green and blue
BAND = FontFace(fill_color=SHADE)


def render_pdf(document: Document) -> bytes:
    """Render a document as PDF, A4, in the largest type that keeps to the document's pages."""
    logging.getLogger("fontTools").setLevel(logging.ERROR)
    for size in SIZES:
        page = _lay_out(document, size)
        if page.page_no() <= document.pages:
            break
    return bytes(page.output())


def _lay_out(document: Document, size: float) -> FPDF:
    page = FPDF(format="A4")
    page.set_creation_date(dt.datetime.combine(document.date, dt.time(), dt.UTC))
    page.set_title(_show(document.title))
    page.set_lang("en")
    for style, name in FILES.items():
        page.add_font(FONT, style, _font_path(name))
    page.set_margins(MARGIN, MARGIN)
    page.set_auto_page_break(True, MARGIN)
    page.add_page()
    _write(page, document.title, 1.6 * size, "B")
    _write(page, document.byline, 0.9 * size, "I")
    for text in document.notices:
        _write(page, text, size, "B", band=True)
    for text in document.lead:
        _write(page, text, 1.1 * size, "B")
    for section in document.sections:
        if page.will_page_break(6 * size * 0.5):  # a heading stays with what follows it
            page.add_page()
        _write(page, section.heading, 1.2 * size, "B")
        for text in section.paragraphs:
            _write(page, text, size)
        for text in section.items:
            _write(page, f"•  {text}", size)
        if section.table:
            _draw_table(page, section.table, size)
    return page


def _write(page: FPDF, text: str, size: float, style: str = "", *, band: bool = False) -> None:
    page.set_font(FONT, style, size)
    page.set_fill_color(SHADE)
    height = 0.5 * size
    page.multi_cell(
        0, height, _show(text), align="L", fill=band, new_x="LMARGIN", new_y="NEXT", padding=(0, 0)
    )
    page.ln(0.16 * size)


def _draw_table(page: FPDF, table: Table, size: float) -> None:
    page.set_font(FONT, "", 0.88 * size)
    page.set_fill_color(255)
    numbers = len(table.heads) - table.words
    width = [max(3, 7 - numbers)] * table.words + [2] * numbers
    aligned = ["LEFT"] * table.words + ["RIGHT"] * numbers
    layout = {"col_widths": tuple(width), "text_align": tuple(aligned), "line_height": 0.5 * size}
    first = len(table.rows) - table.totals
    with page.table(
        borders_layout="HORIZONTAL_LINES", headings_style=BAND, padding=0.4, **layout
    ) as grid:
        for place, row in enumerate([table.heads, *table.rows]):
            style = FontFace(emphasis="BOLD") if place > first else None
            grid.row([_show(cell) for cell in row], style=style)
    page.ln(0.3 * size)


@cache
def _font_path(name: str) -> Path:
    return Path(matplotlib.get_data_path()) / "fonts" / "ttf" / name


@cache
def _known_characters() -> frozenset[int]:
    """Characters that all styles of the font have."""
    maps = [TTFont(_font_path(name)).getBestCmap() for name in FILES.values()]
    return frozenset(set(maps[0]).intersection(*maps[1:]))


def _show(text: str) -> str:
    known = _known_characters()
    return "".join(one if ord(one) in known else MISSING for one in text)
