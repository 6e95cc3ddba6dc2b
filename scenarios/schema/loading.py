"""Reading a scenario: a file or a library name, with overrides, to a checked ``Scenario``."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache, reduce
from importlib.resources import files
from operator import getitem
from pathlib import Path
from typing import Any, NamedTuple, cast

from pydantic import ValidationError

from learning.calls import check_arguments
from learning.collected_errors import InputErrors
from learning.errors import InputError, describe_system_error
from learning.phrases import escape_control, format_value
from scenarios.schema.data import DATA_VARIABLE
from scenarios.schema.fields import Section, stated_refusal, suggest_close, suggest_name
from scenarios.schema.kinds import KINDS, section_of, table_check, tables_of
from scenarios.schema.scenario import (
    NAMING_FILES,
    Scenario,
    home_expanded,
    scenario_model,
)

EXCLUSIVE = {"path": "source", "source": "path"}  # keys of [data] that name the table
CHANGE_SHOWN = 80  # characters of a change that an error repeats
SLIP = 0.8  # likeness of a key that was mistyped, and is not one of another table


@cache
def single_sections(model: type[Section], place: str = "") -> dict[str, type[Section]]:
    """Tables of a scenario file that are of one kind each, by dotted name."""
    found = {place: model}
    for name, key in model.model_fields.items():
        inner = f"{place}.{name}".lstrip(".")
        check = table_check(key)
        if check is not None and check.by_kind:
            continue
        for _, _, keys in tables_of(inner, key):
            found |= single_sections(keys, inner)
    return found


class Change(NamedTuple):
    """A key of the file that the command line changes: what was typed, the key's parts, and its
    value."""

    text: str
    keys: tuple[str, ...]
    value: Any

    def concerns(self, key: str) -> bool:
        """Test whether it is of a dotted key, of a table above it or of what stands under it."""
        parts = tuple(key.split("."))
        shorter = min(len(parts), len(self.keys))
        return parts[:shorter] == self.keys[:shorter]


def _place_error(error: InputError, file: str, change: Change | None) -> InputError:
    where = file
    if change is not None:
        where = f"--set {escape_control(change.text)[:CHANGE_SHOWN]}"
    return InputError(f"{where}: {error.key}", error.rule, error.found, error.remedy)


def place_error(error: InputError, source: str, overrides: Sequence[str]) -> InputError:
    """Error of a scenario with its place: an override, or the ``source`` where none is at fault."""
    *places, key = error.key.split(": ")
    changes = map(parse_change, reversed(overrides))
    change = next((one for one in changes if one.concerns(key)), None)
    if change is None and (places or key.startswith(("/", ".", "--"))):
        return error
    return _place_error(error, source, change)


def library_files(folder: str) -> dict[str, Path]:
    """List the files of a folder of the library, by name."""
    place = Path(str(files("scenarios") / "library" / folder))
    return {path.stem: path for path in sorted(place.glob("*.toml"))}


def library_scenarios() -> dict[str, Path]:
    """The named scenarios that come with the program, by name."""
    return library_files("")


def library_games() -> dict[str, Path]:
    """The named games without a table that come with the program, by name."""
    return library_files("games")


def is_game(raw: dict[str, Any]) -> bool:
    """Test whether a file holds a game without a table: no [data], records by number."""
    return "data" not in raw and isinstance(raw.get("owners"), dict) and "records" in raw["owners"]


def is_game_file(source: str | Path) -> bool:
    """Test whether a file, or a name of the library, is a game that needs no table."""
    return is_game(read_file(locate_file(source)))


@check_arguments
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
        Changes, each ``key=value`` with a dotted key, such as ``policy.budget=500``; values are
        TOML, bare words text. Another ``kind`` starts its table anew, since keys mean other things
        there. A relative ``data.path`` is meant from the current folder, not from the scenario's;
        so are ``policy.file`` and the paths of networks. A ``data.path`` takes the place of the
        file's ``data.source``, and the other way round.
    allow_code : bool
        Whether a Python file that the scenario names may be run; nothing in the file itself can
        allow it.
    data_folder : str or Path, optional
        The folder of published tables that do not come along; default: what the variable
        DPMARKET_DATA names.

    Raises
    ------
    InputErrors
        With every rule broken: each a line with file, dotted key, rule and what was found.
    """
    return _load_changed(
        read_scenario(source, allow_code=allow_code, data_folder=data_folder), overrides
    )


def change_scenario(scenario: Scenario, overrides: Sequence[str]) -> Scenario:
    """A scenario with changes, as those of `load`."""
    raw = tomllib.loads(scenario.to_toml(absolute=True))
    name = scenario.title or "scenario"
    return _load_changed(
        ScenarioFile(name, raw, scenario.folder, scenario.data_folder, scenario.allow_code),
        overrides,
    )


def _load_changed(file: ScenarioFile, overrides: Sequence[str]) -> Scenario:
    """A checked scenario; errors say whether the file is at fault or which change of it."""
    try:
        return file.under(overrides)
    except InputErrors as errors:
        changes = [parse_change(text) for text in overrides]
        placed = [
            _place_error(error, file.name, _at_fault(error, file.raw, changes))
            for error in errors.all
        ]
        raise InputErrors(placed) from None


@dataclass(frozen=True)
class ScenarioFile:
    """A scenario file as it was read, from which scenarios are made that differ in some keys.

    Parameters
    ----------
    name : the file, for errors.
    raw : what it holds.
    folder : relative paths in it resolve against this.
    data_folder : published tables that do not come along are here; None where the user has named no
        folder.
    allow_code : whether a Python file that it names may be run.
    """

    name: str
    raw: dict[str, Any] = field(repr=False)
    folder: Path
    data_folder: Path | None = None
    allow_code: bool = False

    def under(self, overrides: Sequence[str] = ()) -> Scenario:
        """The checked scenario with some changes, each ``key=value`` as in `load`.

        Raises
        ------
        InputErrors
            With every rule broken.
        """
        changes = [parse_change(text) for text in overrides]
        found = validate_file(self.raw, changes, scenario_model())
        if not isinstance(found, Scenario):
            raise InputErrors(found)
        found._folder = self.folder
        found._data_folder = self.data_folder
        found._allow_code = self.allow_code
        return found


def read_scenario(
    source: str | Path, *, allow_code: bool = False, data_folder: str | Path | None = None
) -> ScenarioFile:
    """A scenario file or a name of the library, read and not checked.

    Parameters as those of `load`.
    """
    path = locate_file(source)
    folder = data_folder or os.environ.get(DATA_VARIABLE)
    tables = home_expanded(folder).absolute() if folder else None
    raw = read_file(path)
    if is_game(raw):
        rule = "must be a market with records, under [data], for this command"
        found = "a game without a table"
        raise InputError(str(path), rule, found, "Use dpmarket run.")
    return ScenarioFile(str(path), raw, path.resolve().parent, tables, allow_code)


def validate_file(
    raw: dict[str, Any], changes: Sequence[Change], model: type[Any]
) -> Any | list[InputError]:
    """The scenario or game of a file with changes, or every error found."""
    changed = deepcopy(raw)
    try:
        _apply_changes(changed, changes)
        return model.model_validate(changed)
    except InputError as error:  # a change that reaches into a value
        return list(error.all)
    except ValidationError as error:
        faults = error.errors(include_url=False)
        # A misspelt key also leaves another missing.
        faults.sort(key=lambda fault: fault["type"] != "extra_forbidden")
        return [one for fault in faults for one in _in_words(fault, changed, model)]


def _at_fault(error: InputError, raw: dict[str, Any], changes: Sequence[Change]) -> Change | None:
    """The change that an error is owed to: one of its key, or without which it is not there.

    None where the file is.
    """

    def is_there(some: Sequence[Change]) -> bool:
        found = validate_file(raw, some, scenario_model())
        return isinstance(found, list) and any(
            (one.key, one.rule) == (error.key, error.rule) for one in found
        )

    about = [change for change in changes if change.concerns(error.key)]
    if about:
        return about[-1]
    if not changes or is_there(()):
        return None
    others = [(one, [other for other in changes if other is not one]) for one in changes]
    without = [change for change, rest in others if not is_there(rest)]
    return (without or list(changes))[-1]


def locate_file(source: str | Path) -> Path:
    """Path of a scenario or game, given as a file or as a name of the library."""
    named = library_scenarios() | library_games()
    path = home_expanded(source)
    # Unlike Path.is_file, this is false rather than an error for an impossible name.
    if os.path.isfile(path):
        return path
    if str(source) in named:
        return named[str(source)]
    found = "a folder"
    remedy = ""
    if not os.path.isdir(path):
        found = "neither"
        remedy = suggest_name(path.stem, list(named))
    raise InputError(str(source), "must be a scenario file or a library name", found, remedy)


def read_file(path: Path) -> dict[str, Any]:
    """Content of a TOML file."""
    rule = "must be TOML"
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        rule = "must be readable"
        found = describe_system_error(error)
    except UnicodeDecodeError as error:
        rule = "must be TOML in UTF-8"
        found = f"a stray byte in place {error.start}"
    except RecursionError:
        found = "too deep a nesting"
    except ValueError as error:  # no TOML, or a number of thousands of digits
        found = " ".join(str(error).split())
    raise InputError(str(path), rule, found)


def _apply_changes(raw: dict[str, Any], changes: Sequence[Change]) -> None:
    # Kinds first, so that the order on the command line does not matter.
    for _, keys, value in sorted(changes, key=lambda change: change.keys[-1] != "kind"):
        table: Any = raw
        for depth, part in enumerate(keys[:-1]):
            table = table.setdefault(part, {})
            if not isinstance(table, dict):
                raise InputError(
                    ".".join(keys[: depth + 1]), "must be a table to take keys", format_value(table)
                )
        if keys[-1] == "kind" and ".".join(keys[:-1]) in KINDS and table.get("kind") != value:
            table.clear()
        if ".".join(keys) in NAMING_FILES and isinstance(value, str) and value.strip():
            value = str(Path.cwd() / home_expanded(value))
        if keys[:-1] == ("data",) and keys[-1] in EXCLUSIVE:
            other = EXCLUSIVE[keys[-1]]
            if not any(change.keys == ("data", other) for change in changes):
                table.pop(other, None)
        if keys == ("owners", "records") and isinstance(raw.get("data"), dict):
            for other in ("split", "names"):
                raw["data"].pop(other, None)
        table[keys[-1]] = value


def parse_change(text: str) -> Change:
    """A change from its text, ``key=value`` with a dotted key.

    Raises
    ------
    InputError
        If no such key stands before any "=".
    """
    for place in (i for i, char in enumerate(text) if char == "="):
        keys = _split_key(text[:place])
        if keys:
            break
    else:
        raise InputError(
            "--set", "must be key=value with a dotted key, such as seed=2", format_value(text)
        )
    value = text[place + 1 :]
    try:
        table = tomllib.loads(f"v = {value}")
    except (ValueError, RecursionError):
        # No TOML, thousands of digits, or too deep a nesting: a text.
        table = {}
    if list(table) == ["v"]:
        return Change(text, tuple(keys), table["v"])
    return Change(text, tuple(keys), value.strip())


def _split_key(key: str) -> list[str]:
    """The parts of a dotted key, quoted or not.

    Empty where ``key`` is none, such as half a quote.
    """
    try:
        node: Any = tomllib.loads(f"{key} = 0")
    except (ValueError, RecursionError):
        return []
    keys = []
    while isinstance(node, dict) and len(node) == 1:
        part, node = next(iter(node.items()))
        keys.append(part)
    return keys * (node == 0)


def _in_words(fault: Any, raw: dict[str, Any], model: type[Section]) -> list[InputError]:
    """Faults that pydantic found in one place, in our words."""
    keys = [str(part + 1 if isinstance(part, int) else part) for part in fault["loc"]]
    told = stated_refusal(fault)
    dotted = ".".join(keys)
    if told:
        return [
            InputError(_full_key(one.key, dotted), one.rule, one.found, one.remedy)
            for one in told.all
        ]
    if fault["type"] == "extra_forbidden":
        return [InputError(dotted, *_explain_unknown(keys, raw, model))]
    if fault["type"] == "missing":
        remedy = _section_at(keys[:-1], raw, model).model_fields[keys[-1]].description or ""
        return [InputError(dotted, "is required", "nothing", remedy)]
    # a value where a table should be
    return [InputError(dotted, f"must be a table, [{dotted}]", format_value(fault["input"]))]


def _full_key(key: str, above: str) -> str:
    if key.startswith(above):
        return key
    return f"{above}.{key}".strip(".")


def _explain_unknown(
    keys: list[str], raw: dict[str, Any], model: type[Section]
) -> tuple[str, str, str]:
    """Rule, finding and remedy of a key that is not known where it stands."""
    *above, key = keys
    here = list(_section_at(above, raw, model).model_fields)
    kinds = _sections_at(".".join(above), model)
    others = [kind for kind, section in kinds.items() if key in section.model_fields]
    if others:
        kind = _value_at(raw, above)["kind"]
        supported = ", ".join(name for name in here if name != "kind")
        rule = f"belongs to kind {', '.join(others)}, not {kind}"
        return rule, format_value(key), f"Keys of {kind}: {supported}."
    homes = [
        f"[{table}]"
        for table in (*single_sections(model), *KINDS)
        if table and any(key in one.model_fields for one in _sections_at(table, model).values())
    ]
    elsewhere = f"It belongs under {' or '.join(homes)}." if homes else ""
    remedy = suggest_close(key, here, SLIP) or elsewhere or suggest_name(key, here)
    return "is not a known key", format_value(key), remedy


def _sections_at(table: str, model: type[Section]) -> dict[str, type[Section]]:
    """Sections that may stand in a table, by kind.

    Under the empty name where there is one kind only.

    A table of a list has the keys of any table in that list. A table inside one of a list, such as
    ``learners.1.value``, has the keys of the table elsewhere that bears its last name.
    """
    table = ".".join(part for part in table.split(".") if not part.isdigit())
    single = single_sections(model)
    if table not in single and table not in KINDS:
        last = table.rpartition(".")[2]
        table = next((name for name in (*single, *KINDS) if name.rpartition(".")[2] == last), "")
    if table in single:
        return {"": single[table]}
    return {kind: section_of(declaration, kind) for kind, declaration in KINDS[table].items()}


def _value_at(raw: dict[str, Any], keys: list[str]) -> Any:
    """Value under some keys; tables of a list are numbered from 1."""
    return reduce(getitem, [int(key) - 1 if key.isdigit() else key for key in keys], cast(Any, raw))


def _section_at(keys: list[str], raw: dict[str, Any], model: type[Section]) -> type[Section]:
    """The table under some keys, of the kind that the scenario gives it."""
    kinds = _sections_at(".".join(keys), model)
    if "" in kinds:
        return kinds[""]
    return kinds[_value_at(raw, keys)["kind"]]
