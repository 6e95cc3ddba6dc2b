"""Commands that write documents to hand on: a memo, and a disclosure of privacy."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from learning.errors import InputError
from learning.program import declare_command

FORMATS = ("html", "docx", "pdf", "md")
FILES = (
    *(f"{name}.{kind}" for name in ("label", "nist_sp_800_226") for kind in FORMATS),
    "registry_entry.yaml",
    "sources.json",
    "dossier.json",
)


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


class Sector(StrEnum):
    """Sectors of the registry."""

    Technology = "Technology"
    Healthcare = "Healthcare"
    Education = "Education"
    Government = "Government"
    Energy = "Energy"
    Finance = "Finance"


@dataclass(frozen=True, kw_only=True)
class StatedOptions:
    """Facts of a release that no result holds.

    Parameters
    ----------
    curator : Who publishes the model; several with commas between.
    use : The intended use of the model.
    region : The region that the data describe, or whose laws apply.
    sector : The sector of the data.
    author : Who fills out the entry; several with commas between.
    source : Links to what describes the release; with --author.
    """

    curator: str | None = None
    use: str | None = None
    region: str | None = None
    sector: Sector | None = None
    author: str | None = None
    source: str | None = None


@declare_command
def disclose(
    folder: Path,
    *,
    kind: As = Kind.html,
    stated: StatedOptions,
    audit: Path | None = None,
    out: Path | None = None,
    date: Day = None,
    force: bool = False,
) -> None:
    """Write a privacy label, answers after NIST SP 800-226, an entry for a registry of deployments,
    and a dossier of evidence; each field has its source in the result.

    Parameters
    ----------
    folder DIR : A result folder, as it was written.
    audit FILE : An audit of the same market, of dpmarket audit --out FILE.json.
    out DIR : Folder of the disclosure [default: DIR-disclosure, beside the folder].
    force : Write into a folder with other files, which are kept.
    """
    from scenarios.output.folders import replace_folder
    from scenarios.output.unfinished import put_file
    from scenarios.result import CONTENT, changed_facts, load_result, naming_damage

    content = load_result(folder)
    if changed := changed_facts(folder):
        found = f"changed since: {', '.join(changed)}"
        raise InputError(str(folder), "must be as it was written", found, "Run it again.")
    day = read_day(date, folder / CONTENT)
    with naming_damage(folder):
        made = _disclose_content(folder, content, day, asdict(stated), audit, kind.value)
    place = out or folder.parent / f"{folder.resolve().name}-disclosure"
    with replace_folder(place, FILES, force=force) as new:
        for name, text in made.items():
            put_file(new / name, text)
    print_place("disclosure", place)


def _disclose_content(
    folder: Path, content: dict[str, Any], day: Any, told: Any, audit: Path | None, kind: str
) -> dict[str, str | bytes]:
    """Make the files of a disclosure by their names."""
    from scenarios.report import disclosure
    from scenarios.report.document_formats import render_document
    from scenarios.report.dossier import make_dossier, read_audit

    disclosure.check_protected(content)
    found = read_audit(audit, content) if audit else None
    entry, sources = disclosure.make_entry(content, day, told)
    sources |= disclosure.trace_texts()
    label = disclosure.make_label(content, day, found)
    answers = disclosure.make_answers(content, day)
    return {
        f"label.{kind}": render_document(label, kind),
        f"nist_sp_800_226.{kind}": render_document(answers, kind),
        "registry_entry.yaml": disclosure.write_yaml(entry),
        "sources.json": to_json(sources),
        "dossier.json": to_json(make_dossier(folder, content, found)),
    }


def to_json(content: Any) -> str:
    """Write content as JSON for people."""
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
