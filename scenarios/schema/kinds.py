"""Tables of the scenario file that a ``kind`` names, each made by its declaration."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, is_dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, get_args

import numpy as np
from annotated_types import Gt, Le
from pydantic import TypeAdapter, ValidationError, create_model
from pydantic_core import core_schema

from agents.behaviours import BEHAVIOURS, Behaviour
from learning.declaration import (
    Declaration,
    NamedPerOwnerRule,
    field_types,
    keys_of,
    named_per_owner,
    parameter,
    per_owner_rule,
)
from learning.errors import InputError
from learning.phrases import format_value
from learning.privacy.claims import Feared
from learning.randomness import Streams
from learning.registry import Registry
from learning.training.aggregation import AGGREGATIONS
from market.costs import COSTS
from market.costs.base import Cost, Writer
from market.policies import POLICIES
from scenarios.schema.fields import Arguments, Names, Section, Text, one_of, suggest_name

if TYPE_CHECKING:
    from market.procurement.cost_laws import CostLaw


class DrawnPerOwnerRule(NamedPerOwnerRule):
    """The same, or a law that every owner's number is drawn from, such as
    ``"bimodal:low=20,high=200,share=0.5"``."""

    def __call__(self, value: Any) -> Any:
        """A law as its text, once it is known to be one; anything else as the rule has it."""
        if not isinstance(value, str):
            return super().__call__(value)
        read_law(value, "")
        return value


def drawn_per_owner(hint: Any) -> Any:
    """A `PerOwner` type of a cost as a scenario file has it; any other type as it is."""
    rule = per_owner_rule(hint)
    if rule is None or rule.whole:
        return named_per_owner(hint)
    return Annotated[Any, DrawnPerOwnerRule(*astuple(rule))]


def read_law(text: str, key: str = "--costs") -> CostLaw:
    """A cost law from its name and parameters, as in ``bimodal:low=0.2,high=2``.

    Raises
    ------
    InputError
        An unknown law or parameter, or a value that the law refuses.

    >>> read_law("uniform:low=1,high=4")
    Uniform(low=1.0, high=4.0)
    """
    from market.procurement.cost_laws import COST_LAWS

    name, _, rest = text.partition(":")
    if name not in COST_LAWS:
        remedy = suggest_name(name, list(COST_LAWS))
        raise InputError(key, "must be a known distribution of costs", repr(name), remedy)
    known = list(field_types(COST_LAWS[name]))
    given: dict[str, Any] = {}
    for part in filter(None, rest.split(",")):
        term, _, value = part.partition("=")
        if term.strip() not in known:
            rule = f"must be parameters of {name}"
            raise InputError(key, rule, repr(term), suggest_name(term, known))
        try:
            given[term.strip()] = float(value)
        except ValueError:
            raise InputError(key, f"{term.strip()} must be a number", repr(value)) from None
    try:
        return COST_LAWS[name](**given)
    except InputError as error:
        where = f"{key}: {error.key.removeprefix('costs.')}".lstrip(": ")
        raise InputError(where, error.rule, error.found) from None


def draw_table(
    section: Any, names: Sequence[str] | None = None, where: str = "", seed: int = 0
) -> Any:
    """Table with each owner's own draw in the place of a law.

    Parameters
    ----------
    section : the table.
    names : the owners, in their order; None: the law's median stands for all.
    where : the table's dotted name: two keys have draws of their own.
    seed : of the scenario.
    """
    texts = {key: getattr(section, key) for key in section.per_owner_keys()}
    laws = {key: read_law(text) for key, text in texts.items() if isinstance(text, str)}
    if not laws:
        return section
    streams = Streams(seed, "costs")
    made: dict[str, Any] = {}
    for key, law in laws.items():
        if names is None:
            made[key] = float(law.quantile(np.array(0.5)))
        else:
            draws = (law.draw((), rng=streams.rng(f"{where}.{key}", name)) for name in names)
            made[key] = tuple(map(float, draws))
    return section.model_copy(update=made)


@dataclass(frozen=True)
class User(Declaration):
    """What a function in a Python file says; the file is run only with --allow-code."""

    where = "policy"
    file: Text = parameter("Name the Python file, relative to this one.")
    function: Text = "payments"
    """The function's name in the file."""
    parameters: Arguments = field(default_factory=dict)
    """What it is called with, by name."""

    def sentence(self, write: Writer) -> str:
        """Sentence on the learner's payments."""
        given = ", ".join(f"{name} = {value}" for name, value in self.parameters.items())
        told = (
            f"The learner pays what a function of the user's says: {self.function} in {self.file}"
        )
        return f"{told}, with {given}." if given else f"{told}."


class Late(Mapping[str, Any]):
    """Values by name that are looked up, and imported, when they are asked for."""

    def __init__(self, sources: Mapping[str, Callable[[], Any]]) -> None:
        self.sources = sources

    def __getitem__(self, name: str) -> Any:
        return self.sources[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self.sources)

    def __len__(self) -> int:
        return len(self.sources)


def _pricings() -> Mapping[str, type]:
    from agents.pricing import PRICING

    return PRICING


def _networks(use: str) -> Mapping[str, type]:
    from agents.networks.graphs import NETWORKS

    return NETWORKS[use]


# Which declarations each table may name, looked up whenever a scenario is read: what is added later
# counts as well.
OTHER_POLICIES = Registry({"user": User, "procured": "market.procurement.procured:Procured"})
KINDS = Late(
    {
        "owners.cost": lambda: COSTS,
        "policy": lambda: ChainMap(OTHER_POLICIES, POLICIES),
        "behaviours": lambda: BEHAVIOURS,
        "learner.pricing": _pricings,
        "learning.aggregation": lambda: AGGREGATIONS,
        "network.trade": partial(_networks, "trade"),
        "network.sight": partial(_networks, "sight"),
        "learning.gossip.graph": partial(_networks, "gossip"),
    }
)


class DeclaredSection(Section):
    """A table whose keys are the fields of a declaration, beside ``kind`` where several may stand
    there."""

    declaration: ClassVar[Any]

    def listed(
        self,
        names: Sequence[str] | None = None,
        where: str = "",
        left_out: Sequence[str] = (),
        seed: int = 0,
    ) -> Self:
        """List values as every table does; a law is replaced by each owner's draw from it.

        Where the owners are not known, it is replaced by its median.
        """
        table: Self = draw_table(self, names, where, seed)
        return super(DeclaredSection, table).listed(names, where, left_out)


class CostSection(DeclaredSection):
    """A table of the scenario file that declares what privacy costs owners."""

    fears: Feared | None = None
    """Under secure aggregation, against whom the ε is counted that owners bear the cost of: the
    `learner`, who sees sums (as where nothing is given); any one of the other `owners`, who knows
    its own part of the noise; or `colluders`, as many other owners as `trust.colluders`, with the
    learner."""


class AssignedSection(DeclaredSection):
    """A table of the scenario file that declares how some owners behave: those named, or a share of
    them."""

    owners: Names | None = None
    """The names of those who behave so."""
    share: Annotated[float, Gt(0), Le(1)] | None = None
    """Fraction of all owners who behave so; the seed chooses them. Without a fraction and names:
    all owners not named by another table."""


@cache
def section_of(declaration: type, kind: str = "") -> type[DeclaredSection]:
    """Section of the scenario file that a declaration makes, under the name ``kind`` if any."""
    if not is_dataclass(declaration):
        raise InputError("kind", "must name a frozen dataclass", declaration.__name__)
    base = DeclaredSection
    per_owner = named_per_owner
    if issubclass(declaration, Behaviour):
        base = AssignedSection
    if issubclass(declaration, Cost):
        base = CostSection
        per_owner = drawn_per_owner
    keys: dict[str, Any] = {}
    if kind:
        keys["kind"] = (Literal[kind], ...)
    types = field_types(declaration)
    # Pydantic takes a field of a dataclass with its default and its description.
    keys |= {one.name: (per_owner(types[one.name]), one) for one in keys_of(declaration)}
    made: type[DeclaredSection] = create_model(declaration.__name__, __base__=base, **keys)
    made.declaration = declaration
    return made


class TableCheck:
    """Check of a value that is a table, or a list of tables: metadata of an annotation."""

    table: str
    by_kind = False  # whether a kind names the keys

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(self)

    def __call__(self, value: Any) -> Any:
        """The value as the table declares it."""
        raise NotImplementedError

    def tables(self, place: str) -> Iterator[tuple[str, type, type[Section]]]:
        """Tables that may stand at a place: their headings, declarations and keys."""
        raise NotImplementedError


def table_check(field: Any) -> TableCheck | None:
    """Check of a field of a section whose value is a table or a list of them; None elsewhere."""
    hint = field.rebuild_annotation()
    return next((one for one in metadata_of(hint) if isinstance(one, TableCheck)), None)


def metadata_of(hint: Any) -> Iterator[Any]:
    """Metadata of an annotation and of the annotations in it."""
    for part in getattr(hint, "__args__", ()):
        yield from metadata_of(part)
    yield from getattr(hint, "__metadata__", ())


def tables_of(place: str, field: Any) -> Iterator[tuple[str, type, type[Section]]]:
    """Tables that a field may be: their headings, declarations and keys; none of a plain value."""
    check = table_check(field)
    if check is not None:
        yield from check.tables(place)
    for section in (field.annotation, *get_args(field.annotation)):  # one may be None instead
        if isinstance(section, type) and issubclass(section, Section):
            yield f"[{place}]", section, section


@dataclass(frozen=True)
class DeclaredTable(TableCheck):
    """Check of a table whose keys are the fields of one declaration, which it makes.

    Parameters
    ----------
    declaration : the class whose fields are the keys.
    """

    declaration: type

    def tables(self, place: str) -> Iterator[tuple[str, type, type[Section]]]:
        """The table, at its place."""
        yield f"[{place}]", self.declaration, section_of(self.declaration)

    def __call__(self, value: Any) -> Any:
        """Instance that the table declares."""
        if isinstance(value, self.declaration):
            return value
        return make_declared(section_of(self.declaration).model_validate(value))


@dataclass(frozen=True)
class NamedTable(TableCheck):
    """Check of a table that ``kind`` names: any of KINDS[table], each with the keys it declares.

    Where it may be ``short``, the name of a kind alone stands for a table of it.
    """

    table: str
    short: bool = False
    by_kind = True

    def tables(self, place: str) -> Iterator[tuple[str, type, type[Section]]]:
        """The table of each kind; none a second time."""
        for kind, made in KINDS[self.table].items() if place == self.table else ():
            yield f'[{place}] kind = "{kind}"', made, section_of(made, kind)

    def __call__(self, value: Any) -> DeclaredSection:
        """The table under the keys of its kind."""
        kinds = KINDS[self.table]
        if isinstance(value, DeclaredSection):
            return value
        if self.short and isinstance(value, str):
            value = {"kind": one_of(value, kinds)}
        if not isinstance(value, dict):
            rule = f"must be {'a name, or ' * self.short}a table, [{self.table}]"
            raise InputError("", rule, format_value(value))
        if "kind" not in value:
            raise InputError("kind", "is required", "nothing", f"One of: {', '.join(kinds)}.")
        kind = one_of(value["kind"], kinds, "kind")
        section = section_of(kinds[kind], kind).model_validate(value)
        # Keys that do not go together are refused before any record is read.
        make_declared(section.listed())
        return section


@dataclass(frozen=True)
class EachTable(TableCheck):
    """Check of a list of tables, [[table]]; an empty list is as good as none.

    Parameters
    ----------
    table : the name of the tables.
    declaration : what declares the keys of each; by default, a kind names them.
    """

    table: str
    declaration: Any = None

    @property
    def by_kind(self) -> bool:  # type: ignore[override]
        """Test whether a kind names the keys."""
        return self.declaration is None

    @property
    def section(self) -> type[Section]:
        """Section of each table of the list."""
        if issubclass(self.declaration, Section):
            return self.declaration  # type: ignore[no-any-return]
        return section_of(self.declaration)

    def tables(self, place: str) -> Iterator[tuple[str, type, type[Section]]]:
        """The tables of the list, of each kind."""
        if self.declaration is not None:
            yield f"[[{place}]]", self.declaration, self.section
            return
        for kind, made in KINDS[self.table].items():
            yield f'[[{place}]] kind = "{kind}"', made, section_of(made, kind)

    def __call__(self, value: Any) -> tuple[Section, ...] | None:
        """The tables, each under its keys."""
        if value is None or value in ([], ()):
            return None
        if not isinstance(value, (list, tuple)):
            rule = f"must be a list of tables, each [[{self.table}]]"
            raise InputError("", rule, format_value(value))
        one: Any = Annotated[Any, NamedTable(self.table)] if self.by_kind else self.section
        sections = tuple(TypeAdapter(list[one]).validate_python(list(value)))
        for section in sections:
            if isinstance(section, DeclaredSection):
                make_declared(section)
        return sections


def make_declared(section: DeclaredSection) -> Any:
    """Instance that a table of the scenario declares: a cost, a policy.

    Raises
    ------
    InputError
        If keys do not go together, or the class of that kind is not whole.
    """
    try:
        own = section.declaration.__dataclass_fields__
        return section.declaration(**{name: value for name, value in section if name in own})
    except TypeError as error:  # a class that lacks a method, or is no dataclass
        raise InputError("kind", "must name a whole class", error) from None


def from_table(table: str, given: Mapping[str, Any]) -> Any:
    """The cost or policy of a resolved table, as a result keeps it.

    None where it is not known here, or otherwise.
    """
    try:
        return make_declared(TypeAdapter(Annotated[Any, NamedTable(table)]).validate_python(given))
    except (ValidationError, InputError):
        return None
