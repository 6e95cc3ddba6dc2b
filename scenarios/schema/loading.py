"""Reading a scenario: a file or a library name, with overrides, to a checked ``Scenario``."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Sequence
from functools import reduce
from importlib.resources import files
from operator import getitem
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from learning.errors import InputError
from learning.training.clocks import Clocks
from scenarios.schema.fields import Section, close, first_error, nearest, refusal, show
from scenarios.schema.kinds import KINDS, section_of
from scenarios.schema.scenario import DATA_VARIABLE, Scenario, sha256

__all__ = ["Scenario", "library", "load", "sha256"]

SECTIONS: dict[str, type[Section]] = {"": Scenario}
SECTIONS |= {
    name: key.annotation for name, key in Scenario.model_fields.items() if isinstance(key.annotation, type(Section))
}
SECTIONS |= {"learning.clocks": section_of(Clocks)}
EXCLUSIVE = {"path": "source", "source": "path"}  # keys of [data] that name the table


def library() -> dict[str, Path]:
    """The named scenarios that come with the program, by name."""
    folder = Path(str(files("scenarios") / "library"))
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def load(
    source: str | Path,
    overrides: Sequence[str] = (),
    *,
    allow_code: bool = False,
    data_folder: str | Path | None = None,
) -> Scenario:
    """A checked scenario, every default filled in.

    Parameters
    ----------
    source : str or Path
        A scenario file, or a name of the library.
    overrides : sequence of str
        Each ``key=value`` with a dotted key, such as ``policy.budget=500``; values are TOML, bare words text.
        Another ``kind`` starts its table anew, since keys mean other things there. A relative ``data.path``
        is meant from the current folder, not from the scenario's; so is a ``policy.file``. A ``data.path`` takes the
        place of the file's ``data.source``, and the other way round.
    allow_code : bool
        Whether a Python file that the scenario names may be run; nothing in the file itself can allow it.
    data_folder : str or Path, optional
        The folder of published tables that do not come along; default: what the variable DPMARKET_DATA names.

    Raises
    ------
    InputError
        On the first rule broken: one line with file, dotted key, rule and what was found.
    """
    path = _locate(source)
    raw = _read(path)
    _override(raw, overrides, str(path))
    try:
        scenario = Scenario.model_validate(raw)
    except ValidationError as error:
        raise _explain(str(path), error, raw) from None
    scenario._folder = path.resolve().parent
    scenario._allow_code = allow_code
    folder = data_folder or os.environ.get(DATA_VARIABLE)
    scenario._data_folder = Path(folder).expanduser().absolute() if folder else None
    return scenario


def _locate(source: str | Path) -> Path:
    named = library()
    name, path = str(source), Path(source).expanduser()
    if os.path.isfile(path):  # unlike Path.is_file, false rather than an error for an impossible name
        return path
    if name in named:
        return named[name]
    found, remedy = ("a folder", "") if os.path.isdir(path) else ("neither", nearest(path.stem, list(named)))
    raise InputError(name, "must be a scenario file or a library name", found, remedy)


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise InputError(str(path), "must be readable", error.strerror or "an error") from None
    except UnicodeDecodeError as error:
        raise InputError(str(path), "must be TOML in UTF-8", f"a stray byte in place {error.start}") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        found = " ".join(str(error).split()) or "too deep a nesting"
        raise InputError(str(path), "must be TOML", found) from None


def _override(raw: dict[str, Any], overrides: Sequence[str], file: str) -> None:
    parsed = [_parse(text) for text in overrides]
    # Kinds first, so that the order on the command line does not matter.
    for keys, value in sorted(parsed, key=lambda item: item[0][-1] != "kind"):
        table: Any = raw
        for depth, part in enumerate(keys[:-1]):
            table = table.setdefault(part, {})
            if not isinstance(table, dict):
                where = ".".join(keys[: depth + 1])
                raise InputError(f"{file}: {where}", "must be a table to take keys", show(table))
        if keys[-1] == "kind" and ".".join(keys[:-1]) in KINDS and table.get("kind") != value:
            table.clear()
        if keys in (["data", "path"], ["policy", "file"]) and isinstance(value, str) and value.strip():
            value = str(Path.cwd() / Path(value).expanduser())
        if keys[:-1] == ["data"] and keys[-1] in EXCLUSIVE:
            other = EXCLUSIVE[keys[-1]]
            if not any(given == ["data", other] for given, _ in parsed):
                table.pop(other, None)
        table[keys[-1]] = value


def _parse(text: str) -> tuple[list[str], Any]:
    for place in (i for i, char in enumerate(text) if char == "="):
        keys = _dotted(text[:place])
        if keys:
            break
    else:
        raise InputError("--set", "must be key=value with a dotted key, such as seed=2", show(text))
    value = text[place + 1 :]
    try:
        table = tomllib.loads(f"v = {value}")
    except tomllib.TOMLDecodeError:
        table = {}
    return keys, table["v"] if list(table) == ["v"] else value.strip()


def _dotted(key: str) -> list[str]:
    """The parts of a dotted key, quoted or not; empty where ``key`` is none, such as half a quote."""
    try:
        node: Any = tomllib.loads(f"{key} = 0")
    except tomllib.TOMLDecodeError:
        return []
    keys = []
    while isinstance(node, dict) and len(node) == 1:
        part, node = next(iter(node.items()))
        keys.append(part)
    return keys if node == 0 else []


def _explain(file: str, error: ValidationError, raw: dict[str, Any]) -> InputError:
    first = first_error(error)
    keys, told = [str(part) for part in first["loc"]], refusal(first)
    dotted = ".".join(keys)
    if told:
        key = told.key if told.key.startswith(dotted) else f"{dotted}.{told.key}".strip(".")
        return InputError(f"{file}: {key}", told.rule, told.found, told.remedy)
    if first["type"] == "extra_forbidden":
        rule, found, remedy = _unknown(keys, raw)
    elif first["type"] == "missing":
        rule, found = "is required", "nothing"
        remedy = _section(keys[:-1], raw).model_fields[keys[-1]].description or ""
    else:  # a value where a table should be
        rule, found, remedy = f"must be a table, [{dotted}]", show(first["input"]), ""
    return InputError(f"{file}: {dotted}", rule, found, remedy)


def _unknown(keys: list[str], raw: dict[str, Any]) -> tuple[str, str, str]:
    above, key = keys[:-1], keys[-1]
    here = list(_section(above, raw).model_fields)
    others = [kind for kind, model in _sections(".".join(above)).items() if key in model.model_fields]
    if others:
        kind = reduce(getitem, above, raw)["kind"]
        supported = ", ".join(name for name in here if name != "kind")
        return f"belongs to kind {', '.join(others)}, not {kind}", show(key), f"Keys of {kind}: {supported}."
    homes = [
        f"[{table}]"
        for table in (*SECTIONS, *KINDS)
        if table and any(key in model.model_fields for model in _sections(table).values())
    ]
    elsewhere = f"It belongs under {' or '.join(homes)}." if homes else ""
    return "is not a known key", show(key), close(key, here) or elsewhere or nearest(key, here)


def _sections(table: str) -> dict[str, type[Section]]:
    """What may stand in a table, by kind; under no name where there is one kind only."""
    if table in SECTIONS:
        return {"": SECTIONS[table]}
    return {kind: section_of(declaration, kind) for kind, declaration in KINDS[table].items()}


def _section(keys: list[str], raw: dict[str, Any]) -> type[Section]:
    """The table under some keys, of the kind that the scenario gives it."""
    kinds = _sections(".".join(keys))
    return kinds[""] if "" in kinds else kinds[reduce(getitem, keys, raw)["kind"]]
