"""A document as a page for a browser, for Word, as PDF or as Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable

from learning.extras import check_extra
from scenarios.report.document import Document, Table, clean_document
from scenarios.report.page import page_environment

MARKDOWN = re.compile(r"([\\`*<\[|])")  # signs that Markdown would read as markup


def render_html(document: Document) -> str:
    """Render a document as one page for a browser, made to be printed, too."""
    return page_environment().get_template("document.html.j2").render(document=document)


def render_markdown(document: Document) -> str:
    """Render a document as Markdown."""
    parts = [f"# {_escape(document.title)}", _escape(document.byline)]
    parts += [f"> {_escape(text)}" for text in document.notices]
    parts += [f"**{_escape(text)}**" for text in document.lead]
    for section in document.sections:
        parts += [f"## {_escape(section.heading)}", *map(_escape, section.paragraphs)]
        if section.items:
            parts.append("\n".join(f"* {_escape(item)}" for item in section.items))
        if section.table:
            parts.append(_markdown_table(section.table))
    return "\n\n".join(parts) + "\n"


def _escape(text: str) -> str:
    return MARKDOWN.sub(r"\\\1", text)


def _markdown_table(table: Table) -> str:
    rule = ["---"] * table.words + ["--:"] * (len(table.heads) - table.words)
    rows = [table.heads, rule, *table.rows]
    lines = [" | ".join(cell if row is rule else _escape(cell) for cell in row) for row in rows]
    return "\n".join(f"| {line} |" for line in lines)


def _render_word(document: Document) -> bytes:
    check_extra("--as docx", "documents", "docx")
    from scenarios.report.document_word import render_word

    return render_word(document)


def _render_pdf(document: Document) -> bytes:
    check_extra("--as pdf", "documents", "fpdf")
    from scenarios.report.document_pdf import render_pdf

    return render_pdf(document)


RENDERERS: dict[str, Callable[[Document], str | bytes]] = {
    "html": render_html,
    "docx": _render_word,
    "pdf": _render_pdf,
    "md": render_markdown,
}


def render_document(document: Document, kind: str) -> bytes:
    """Render a document as the bytes of a file; the same document gives the same bytes.

    Parameters
    ----------
    kind: html, docx (Word), pdf or md (Markdown).

    Raises
    ------
    InputError
        If the extra of that format is not installed.
    """
    made = RENDERERS[kind](clean_document(document))
    return made if isinstance(made, bytes) else made.encode()
