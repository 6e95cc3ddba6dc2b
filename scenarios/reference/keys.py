"""Keys of a scenario or study file: rule, default, and the sentence beside each in the code."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from textwrap import dedent
from typing import Any

from pydantic import ValidationError

from learning.declaration import describe_type, type_adapter
from learning.phrases import format_value
from scenarios.features import choices
from scenarios.report.phrases import upper_first
from scenarios.schema.fields import Section, first_error, stated_refusal
from scenarios.schema.kinds import table_check, tables_of
from scenarios.schema.market import OrTable

LIBRARIES = ("builtins", "abc", "typing", "pydantic", "learning.declaration")
LINE = re.compile(r"^(\w+(?:, \w+)*) ?: (.+(?:\n +.+)*)", re.MULTILINE)
SHAPE = re.compile(
    r"^(scalar|whole number|float|int|str|bool|sequence of float)"
    r"( or \(n_owners,\))?(, optional)?, "
)
NOTHING = object()  # what no key may be


@cache
def describe_fields(declaration: type) -> dict[str, str]:
    """Description of each field, from the class's docstring or after the field."""
    said: dict[str, str] = {}
    for base in reversed(declaration.__mro__):
        if not base.__module__.startswith(LIBRARIES):
            said |= _read_parameters(inspect.getdoc(base) or "") | _read_after_fields(base)
    return said


def _read_parameters(docstring: str) -> dict[str, str]:
    """Read the lines "name : what it is" under Parameters."""
    section = docstring.partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    found = [(names, " ".join(text.split())) for names, text in LINE.findall(section)]
    told = [(names, SHAPE.sub("", text)) for names, text in found if not text.startswith("as in ")]
    return {name: _make_sentence(text) for names, text in told for name in names.split(", ")}


def _read_after_fields(declaration: type) -> dict[str, str]:
    """Read the strings that stand right after a field in a class's body."""
    try:
        tree = ast.parse(dedent(inspect.getsource(declaration))).body[0]
    except (OSError, TypeError):  # made, and written nowhere
        return {}
    said = {}
    for field, text in pairwise(getattr(tree, "body", ())):
        match field, text:
            case ast.AnnAssign(target=target), ast.Expr(value=ast.Constant(value=value)):
                said[ast.unparse(target)] = _make_sentence(str(value))
    return said


def _make_sentence(text: str) -> str:
    said = " ".join(text.split()).rstrip(".")
    if said[0].isascii():  # a Greek letter is a sign
        said = upper_first(said)
    return f"{said}."


def describe_rule(hint: Any) -> str:
    """Rule of a key, in the words that refuse anything else."""
    try:
        type_adapter(hint).validate_python(NOTHING)
    except ValidationError as error:
        told = stated_refusal(first_error(error))
        if told is not None and told.rule.startswith("must be "):
            return told.rule.removeprefix("must be ")
    return describe_type(hint)


def key_lines(
    section: type[Section], path: str = "", declaration: type | None = None, *, kinds: bool = True
) -> Iterator[str]:
    """Yield a table of a section's keys.

    Then, under headings, the tables in it, those that a ``kind`` names if ``kinds``.
    """
    said = describe_fields(section) | describe_fields(declaration or section)
    inner = []
    yield from ("| key | may be | default | |", "|---|---|---|---|")
    for name, field in section.model_fields.items():
        place = f"{path}.{name}".lstrip(".")
        told = said.get(name) or field.description or ""
        default = "required"
        if not field.is_required():
            default = _format_default(field.get_default(call_default_factory=True))
        table = table_check(field)
        named = table is not None and table.by_kind
        tables = list(tables_of(place, field)) if kinds or not named else []
        inner += [(place, *one) for one in tables]
        if table is not None and named and not tables:
            yield table_row(f"`{name}`", f"a table, as `[{table.table}]`", default, told)
        elif isinstance(table, OrTable) or (not tables and name != "kind"):
            yield table_row(f"`{name}`", describe_rule(field.rebuild_annotation()), default, told)
    for place, title, declared, keys in inner:
        first = _make_sentence((inspect.getdoc(declared) or "").split("\n\n")[0].split(". ")[0])
        yield from ("", f"### `{title}`", "", first.replace("``", "`"), "")
        lines = list(key_lines(keys, place, declared, kinds=kinds))
        yield from lines if len(lines) > 2 else ["No keys of its own."]


def _format_default(default: Any) -> str:
    return "" if default in (None, {}, ()) else f"`{format_value(default)}`"


def table_row(*cells: str) -> str:
    """Write a row of a table."""
    told = [" ".join(cell.replace("``", "`").replace("|", "\\|").split()) for cell in cells]
    return f"| {' | '.join(told)} |"


def exclusion_lines() -> Iterator[str]:
    """Yield a table with a line for each pair of which one choice excludes the other."""
    known = choices()
    yield from ("| with | leave out | why |", "|---|---|---|")
    for choice in known.values():
        for name, why in choice.excludes.items():
            yield table_row(choice.title, known[name].title, why)
