"""Tables of the scenario file that a ``kind`` names, each checked and made by the declaration of that kind."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, PlainValidator, TypeAdapter, ValidationError, create_model
from pydantic_core import PydanticCustomError

from learning.declaration import Declaration, field_types, parameter, per_owner_rule
from learning.errors import InputError
from market.costs import COSTS
from market.costs.base import Writer
from market.policies import POLICIES
from scenarios.schema.fields import Arguments, Section, Text, choice_error, first_error, refuse, show


@dataclass(frozen=True)
class User(Declaration):
    """What a function in a Python file says; the file is run only with --allow-code."""

    where = "policy"
    file: Text = parameter("Name the Python file, relative to this one.")
    function: Text = "payments"
    parameters: Arguments = field(default_factory=dict)

    def sentence(self, write: Writer) -> str:
        """What the learner pays."""
        given = ", ".join(f"{name} = {value}" for name, value in self.parameters.items())
        told = f"The learner pays what a function of the user's says: {self.function} in {self.file}"
        return f"{told}, with {given}." if given else f"{told}."


# Which declarations each table may name, looked up whenever a scenario is read: what is added later counts as well.
KINDS: dict[str, Mapping[str, type]] = {"owners.cost": COSTS, "policy": ChainMap({"user": User}, POLICIES)}


class KindSection(Section):
    """A table named by ``kind``; its other keys are the fields of a declaration."""

    declaration: ClassVar[Any]
    kind: str


@cache
def section_of(declaration: type, kind: str) -> type[KindSection]:
    """The table of the scenario file that a declaration makes, under the name ``kind``."""
    keys = {"kind": (Literal[kind], ...), **_declared_keys(declaration)}
    made: type[KindSection] = create_model(declaration.__name__, __base__=KindSection, **keys)
    made.declaration = declaration
    return made


@cache
def plain_section(declaration: type) -> type[Section]:
    """The table of the scenario file that a declaration makes which no ``kind`` names."""
    return create_model(declaration.__name__, __base__=Section, **_declared_keys(declaration))


def _declared_keys(declaration: type) -> dict[str, Any]:
    """The fields of a declaration as keys of a table."""
    if not is_dataclass(declaration):
        raise InputError("kind", "must name a frozen dataclass", declaration.__name__)
    keys: dict[str, Any] = {}
    hints = field_types(declaration)
    for one in fields(declaration):
        if one.init and one.metadata.get("in_file", True):
            given = {"default": one.default, "default_factory": one.default_factory}
            about: dict[str, Any] = {name: value for name, value in given.items() if value is not MISSING}
            keys[one.name] = (hints[one.name], Field(description=one.metadata.get("description"), **about))
    return keys


def declared(declaration: type, table: str) -> PlainValidator:
    """Checks a table whose keys are the fields of one declaration, and makes it."""

    def check_table(value: Any) -> Any:
        if isinstance(value, declaration):
            return value
        if not isinstance(value, dict):
            raise refuse(f"must be a table, [{table}]")
        try:
            return declaration(**dict(plain_section(declaration).model_validate(value)))
        except ValidationError as error:
            raise _within(table, first_error(error)) from None

    return PlainValidator(check_table)


def named(table: str) -> PlainValidator:
    """Checks a table that ``kind`` names: any of KINDS[table], each with the keys that it declares."""

    def check_table(value: Any) -> KindSection:
        kinds = KINDS[table]
        if isinstance(value, KindSection):
            return value
        if not isinstance(value, dict):
            raise refuse(f"must be a table, [{table}]")
        if "kind" not in value:
            raise refuse("is required", key=f"{table}.kind", found="nothing", remedy=f"One of: {', '.join(kinds)}.")
        kind = value["kind"]
        if not isinstance(kind, str) or kind not in kinds:
            why = choice_error(kind, list(kinds)).context or {}
            raise refuse(why["rule"], key=f"{table}.kind", found=show(kind), remedy=why["remedy"])
        try:
            section = section_of(kinds[kind], kind).model_validate(value)
            made(section)  # refuses keys that do not go together, before any record is read
        except ValidationError as error:
            raise _within(table, first_error(error)) from None
        except InputError as error:
            key = error.key if error.key.startswith(table) else f"{table}.{error.key}"
            raise refuse(error.rule, key=key, found=error.found, remedy=error.remedy) from None
        return section

    return PlainValidator(check_table)


def _within(table: str, first: Any) -> PydanticCustomError:
    """An error of a key of a table, as an error of the table."""
    if first["type"] != "rule":
        return PydanticCustomError(first["type"], "{key}", {"key": first["loc"][0]})
    found = show(first["input"]) if first["ctx"]["found"] is None else first["ctx"]["found"]
    return refuse(**{**first["ctx"], "key": first["ctx"]["key"] or f"{table}.{first['loc'][0]}", "found": found})


def made(section: KindSection) -> Any:
    """The cost or policy that a table of the scenario declares.

    Raises
    ------
    InputError
        If keys do not go together, or the class of that kind is not whole.
    """
    try:
        return section.declaration(
            **{name: getattr(section, name) for name in type(section).model_fields if name != "kind"}
        )
    except TypeError as error:  # a class that lacks a method, or is no dataclass
        raise InputError("kind", "must name a whole class", error) from None


def from_table(table: str, given: Mapping[str, Any]) -> Any:
    """The cost or policy of a resolved table, as a result keeps it; None where it is not known here, or otherwise."""
    try:
        return made(TypeAdapter(Annotated[Any, named(table)]).validate_python(given))
    except (ValidationError, InputError):
        return None


def per_owner_keys(table: str, section: KindSection) -> dict[str, Any]:
    """The values of a table that are one number or one per owner, by their dotted keys."""
    hints = field_types(section.declaration)
    keys = [name for name in type(section).model_fields if name != "kind" and per_owner_rule(hints[name])]
    return {f"{table}.{name}": getattr(section, name) for name in keys}
