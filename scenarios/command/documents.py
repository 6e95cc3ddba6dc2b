"""Commands that write documents to hand on: a memo."""

from __future__ import annotations

import datetime as dt
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from typer import Option

from learning.errors import InputError
from learning.program import declare_command


class Kind(StrEnum):
    """Formats of a document."""

    html = "html"
    docx = "docx"
    pdf = "pdf"
    md = "md"


As = Annotated[
    Kind, Option("--as", help="Format: a page, Word, PDF (both: extra documents), or Markdown.")
]
Day = Annotated[
    str | None, Option("--date", metavar="YYYY-MM-DD", help="Its date [default: of the result].")
]


@declare_command
def memo(
    folder: Path,
    *,
    kind: As = Kind.html,
    out: Path | None = None,
    date: Day = None,
    force: bool = False,
) -> None:
    """Write a memo of two pages on a result: question, recommendation, money, risk, assumptions,
    and who is asked what.

    Parameters
    ----------
    folder DIR : A folder of run, design or compare.
    out FILE : The memo [default: DIR-memo.html, or as --as says, beside the folder].
    force : Replace another file of that name.
    """
    from scenarios.output.places import check_new
    from scenarios.output.unfinished import put_file
    from scenarios.report.document_formats import render_document
    from scenarios.report.memo import load_content, make_memo
    from scenarios.result import naming_damage

    path, content = load_content(folder)
    whole = Path(folder).resolve()
    place = out or Path(folder).parent / f"{whole.name}-memo.{kind.value}"
    with naming_damage(folder):
        made = render_document(make_memo(content, read_day(date, path)), kind.value)
    put_file(check_new(place, made, force=force), made)
    print_place("memo", place)


def read_day(text: str | None, path: Path) -> dt.date:
    """Read a date of the command line; without one, the day on which a file was written.

    Raises
    ------
    InputError
    """
    from scenarios.report.memo import date_of

    if text is None:
        return date_of(path)
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        raise InputError("--date", "must be a day, such as 2026-03-31", text) from None


def print_place(name: str, place: Path) -> None:
    """Print where a document is."""
    from learning.phrases import escape_control

    print(f"{name}: {escape_control(str(place))}")
