"""A document as a file of Word."""

from __future__ import annotations

import datetime as dt
import io
import zipfile

from docx import Document as new_file
from docx.document import Document as WordFile
from docx.enum.text import WD_ALIGN_PARAGRAPH
from docx.shared import Mm, Pt

from scenarios.report.document import Document, Table

SIZE = 9.5  # points
MARGIN = 18  # millimetres
EPOCH = (1980, 1, 1, 0, 0, 0)  # of the files in an archive, the first date that it can hold


def render_word(document: Document) -> bytes:
    """Render a document as a .docx file, A4, created at the document's date."""
    file = new_file()
    _set_styles(file)
    _set_properties(file, document)
    file.add_heading(document.title, 1)
    file.add_paragraph(document.byline).runs[0].italic = True
    for text in document.notices:
        file.add_paragraph(text, style="Intense Quote")
    for text in document.lead:
        file.add_paragraph(text).runs[0].bold = True
    for section in document.sections:
        file.add_heading(section.heading, 2)
        for text in section.paragraphs:
            file.add_paragraph(text)
        for text in section.items:
            file.add_paragraph(text, style="List Bullet")
        if section.table:
            _add_table(file, section.table)
    written = io.BytesIO()
    file.save(written)
    return _fix_dates(written)


def _set_styles(file: WordFile) -> None:
    page = file.sections[0]
    page.page_width = Mm(210)
    page.page_height = Mm(297)
    page.left_margin = page.right_margin = page.top_margin = page.bottom_margin = Mm(MARGIN)
    for name in ("Normal", "List Bullet", "Intense Quote"):
        style = file.styles[name]
        style.font.size = Pt(SIZE)
        style.paragraph_format.space_before = Pt(0)
        style.paragraph_format.space_after = Pt(4)
    for name, size in (("Heading 1", 15), ("Heading 2", 11)):
        style = file.styles[name]
        style.font.size = Pt(size)
        style.paragraph_format.space_before = Pt(8)
        style.paragraph_format.space_after = Pt(2)


def _set_properties(file: WordFile, document: Document) -> None:
    told = file.core_properties
    told.title = document.title[:255]
    told.author = "dpmarket"
    told.comments = ""
    told.last_modified_by = "dpmarket"
    told.created = told.modified = dt.datetime.combine(document.date, dt.time())


def _add_table(file: WordFile, table: Table) -> None:
    grid = file.add_table(0, len(table.heads), style="Light Grid Accent 1")
    for place, row in enumerate([table.heads, *table.rows]):
        strong = place == 0 or place > len(table.rows) - table.totals
        for column, cell in enumerate(grid.add_row().cells):
            paragraph = cell.paragraphs[0]
            paragraph.paragraph_format.space_after = Pt(0)
            run = paragraph.add_run(row[column])
            run.font.size = Pt(SIZE - 1)
            run.bold = strong
            if column >= table.words:
                paragraph.alignment = WD_ALIGN_PARAGRAPH.RIGHT
    file.add_paragraph().paragraph_format.space_after = Pt(0)


def _fix_dates(written: io.BytesIO) -> bytes:
    """Date all files in the archive alike: the clock would make each file another one."""
    made = io.BytesIO()
    with zipfile.ZipFile(written) as old, zipfile.ZipFile(made, "w") as new:
        for name in old.namelist():
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            new.writestr(entry, old.read(name))
    return made.getvalue()
