"""Every key of a scenario or study file: what it may be, its default, and the sentence beside it in the code."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cache
from textwrap import dedent
from typing import Any, get_args

from pydantic import PlainValidator, ValidationError

from learning.declaration import adapter, words
from scenarios.schema.fields import Section, first_error, refusal
from scenarios.schema.kinds import DeclaredTable, EachTable, NamedTable
from scenarios.schema.toml import show
from scenarios.schema.worth import OrTable

FLOORS = ("learning", "market", "agents", "scenarios")
LINE = re.compile(r"^(\w+(?:, \w+)*) ?: (.+(?:\n +.+)*)", re.MULTILINE)
SHAPE = re.compile(r"^(scalar|whole number|float|int|str|bool|sequence of float)( or \(n_owners,\))?(, optional)?, ")
NOTHING = object()  # what no key may be


@cache
def sentences(declaration: type) -> dict[str, str]:
    """What is said of each field: under Parameters in a class's docstring, its own or a base's, or right after the field."""
    said: dict[str, str] = {}
    for base in reversed(declaration.__mro__):
        if base.__module__.startswith(FLOORS) and base.__module__ != "learning.declaration":
            said |= _parameters(inspect.getdoc(base) or "") | _after(base)
    return said


def _parameters(docstring: str) -> dict[str, str]:
    """The lines "name : what it is" under Parameters."""
    section = docstring.partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    found = [(names, " ".join(text.split())) for names, text in LINE.findall(section)]
    told = [(names, SHAPE.sub("", text)) for names, text in found if not text.startswith("as in ")]
    return {name: _sentence(text) for names, text in told for name in names.split(", ")}


def _after(declaration: type) -> dict[str, str]:
    """The strings that stand right after a field in a class's body."""
    try:
        tree = ast.parse(dedent(inspect.getsource(declaration))).body[0]
    except (OSError, TypeError):  # made, and written nowhere
        return {}
    body = tree.body if isinstance(tree, ast.ClassDef) else []
    said = {}
    for field, text in zip(body, body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
            said[ast.unparse(field.target)] = _sentence(str(text.value.value))
    return said


def _sentence(text: str) -> str:
    said = " ".join(text.split()).rstrip(".")
    first = said[0].upper() if said[0].isascii() else said[0]  # a Greek letter is a sign
    return f"{first}{said[1:]}."


def rule(hint: Any) -> str:
    """What a key may be, in the words that refuse anything else."""
    try:
        adapter(hint).validate_python(NOTHING)
    except ValidationError as error:
        told = refusal(first_error(error))
        if told is not None and told.rule.startswith("must be "):
            return told.rule.removeprefix("must be ")
    return words(hint)


def table_of(field: Any) -> Any:
    """What checks a field, where its value is a table or a list of them; None elsewhere."""
    checks = [one.func for one in _extras(field.rebuild_annotation()) if isinstance(one, PlainValidator)]
    return next((check for check in checks if isinstance(check, (DeclaredTable, EachTable, NamedTable, OrTable))), None)


def _extras(hint: Any) -> Iterator[Any]:
    for part in getattr(hint, "__args__", ()):
        yield from _extras(part)
    yield from getattr(hint, "__metadata__", ())


def key_lines(
    section: type[Section], path: str = "", declaration: type | None = None, *, kinds: bool = True
) -> Iterator[str]:
    """A table of a section's keys; then, under headings, the tables in it, those that a ``kind`` names if ``kinds``."""
    said, inner = sentences(section) | sentences(declaration or section), []
    yield from ("| key | may be | default | |", "|---|---|---|---|")
    for name, field in section.model_fields.items():
        place, told = f"{path}.{name}".lstrip("."), said.get(name) or field.description or ""
        default = "required" if field.is_required() else _shown(field.get_default(call_default_factory=True))
        table = table_of(field)
        tables = [] if isinstance(table, NamedTable) and not kinds else list(_tables(place, field))
        inner += [(place, *one) for one in tables]
        if isinstance(table, NamedTable) and not tables:
            yield row(f"`{name}`", f"a table, as `[{table.table}]`", default, told)
        elif isinstance(table, OrTable) or (not tables and name != "kind"):
            yield row(f"`{name}`", rule(field.rebuild_annotation()), default, told)
    for place, title, declared, keys in inner:
        first = _sentence((inspect.getdoc(declared) or "").split("\n\n")[0].split(". ")[0])
        yield from ("", f"### `{title}`", "", first.replace("``", "`"), "")
        lines = list(key_lines(keys, place, declared, kinds=kinds))
        yield from lines if len(lines) > 2 else ["No keys of its own."]


def _tables(place: str, field: Any) -> Iterator[tuple[str, type, type[Section]]]:
    """The tables that a field may be, none where it is told elsewhere which."""
    table, hints = table_of(field), (field.annotation, *get_args(field.annotation))
    if table is not None:
        yield from table.tables(place)
    for section in hints:  # one that may be left out stands in a union with None
        if inspect.isclass(section) and issubclass(section, Section):
            yield f"[{place}]", section, section


def _shown(default: Any) -> str:
    return "" if default is None or default in ({}, ()) else f"`{show(default)}`"


def row(*cells: str) -> str:
    """A row of a table."""
    told = [" ".join(cell.replace("``", "`").replace("|", "\\|").split()) for cell in cells]
    return f"| {' | '.join(told)} |"
