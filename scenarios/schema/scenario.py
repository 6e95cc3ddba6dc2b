"""The scenario file as frozen models: every key, its rule and its default."""

from __future__ import annotations

import hashlib
import os
import tomllib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, PrivateAttr, create_model, model_validator

from learning.collected_errors import collect_errors
from learning.errors import InputError
from learning.losses.losses import LOSSES
from learning.phrases import format_value
from learning.privacy.mechanisms import BEST
from learning.privacy.wrapped import LOCAL, Trust
from scenarios.features import FEATURES, choices
from scenarios.features.base import check_exclusions
from scenarios.schema.data import Data
from scenarios.schema.fields import (
    OPTIMAL,
    ColumnLabels,
    TitledFile,
    names_with,
    quote_choices,
)
from scenarios.schema.kinds import KINDS, NamedTable
from scenarios.schema.learning import Learning
from scenarios.schema.market import LABELLED, Benefit, Learner, Market, Owners, Validation
from scenarios.schema.toml import toml_lines

NAMING_FILES = ("data.path", "policy.file", "network.trade.path", "network.sight.path")
# Order of the tables in the resolved text, of which the hash is taken: it never changes.
ORDER = (
    "title",
    "currency",
    "seed",
    "data",
    "learning",
    "trust",
    "owners",
    "policy",
    "learner",
    "behaviours",
    "audit",
    "unions",
    "learners",
    "externalities",
    "network",
    "regulation",
    "market",
    "time",
    "validation",
    "labels",
)


class Scenario(TitledFile):
    """A market as written in a scenario file, every default filled in.

    `scenario_model` adds the keys of the market features. ``folder`` is the folder relative paths
    in the file resolve against; it is no key of the file.
    """

    data: Data = Field(description="Add a table [data] with its source and target.")
    learning: Learning = Field(default_factory=Learning)
    owners: Owners = Field(description="Add a table [owners] with epsilon and [owners.cost].")
    policy: Annotated[Any, NamedTable("policy")] = Field(
        description="Add a table [policy] with its kind."
    )
    learner: Learner = Field(description="Add a table [learner] with its value.")
    market: Market = Market()
    validation: Validation = Validation()
    labels: ColumnLabels = Field(default_factory=dict)
    """Names of columns in reports, each ``column = "Name, unit"`` or without a unit; by default
    as in the table."""
    _folder: Path = PrivateAttr(default_factory=Path.cwd)
    _data_folder: Path | None = PrivateAttr(default=None)
    _allow_code: bool = PrivateAttr(default=False)
    _left_out: tuple[str, ...] = PrivateAttr(default=())

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    @property
    def folder(self) -> Path:
        """Folder that relative paths resolve against."""
        return self._folder

    @property
    def data_folder(self) -> Path | None:
        """Folder of published tables that do not come with the program.

        None where none is given.
        """
        return self._data_folder

    @property
    def allow_code(self) -> bool:
        """Test whether the user has allowed code that the scenario names to be run; no key can."""
        return self._allow_code

    @property
    def left_out(self) -> tuple[str, ...]:
        """Names of owners with too few records for the market, once its data is known."""
        return self._left_out

    def locate(self, file: str) -> Path:
        """Path of a file that the scenario names, relative to its folder."""
        return self.folder / home_expanded(file)

    @property
    def ways(self) -> tuple[Learning, ...]:
        """Every way to train that the scenario leaves open.

        Under secure aggregation only those that need sums, and no single answers; where the learner
        decides by released sums whether to buy, only those that release them.
        """
        decided = self.learning.decided
        if self.learner.go != "always":
            decided = tuple(one for one in decided if one.trains_by.scores)
        if self.learner.pilot is not None:
            decided = tuple(one for one in decided if one.widens)
        if not self.trusts.secure:
            return decided
        return tuple(one for one in decided if one.trains_by.sums_suffice)

    @property
    def sums_suffice(self) -> bool:
        """Test whether sums replace records too large for memory.

        So they do where all ways to train need no more; or, where no protocol is stated or workers
        are to make sums, where any does, and the others are left out.
        """
        if self.learning.by_default or self.data.workers is not None:
            return any(one.settings.keeps_sums for one in self.ways)
        return self.learning.keeps_sums

    @property
    def trusts(self) -> Trust:
        """Parties that owners trust with their answers."""
        return self.trust or LOCAL

    @model_validator(mode="after")
    def _across_sections(self) -> Scenario:
        self._fill_in_rows()
        self.data.check_kept()
        self._close_protocol()
        self._fill_in_start()
        self._check_labels()
        self._check_worth()
        self._check_claimed_cost()
        for choice in choices().values():
            check = choice.check if choice.is_used(self) else choice.check_unused
            check(self)
        check_exclusions(choices(), self)
        if self.data.split is not None:
            numbered = tuple(f"owner {i + 1}" for i in range(len(self.data.split)))
            self.in_order_of(self.data.names or numbered)
        sizes = self.owners.records or {}
        kept = [name for name, count in sizes.items() if count >= self.data.min_records]
        if kept:
            self.in_order_of(kept, [name for name in sizes if name not in kept])
        return self

    def _fill_in_rows(self) -> None:
        """Give the learner every row of a table that holds no owner's, unless a number is given."""
        if self.owners.records is not None and "public_rows" not in self.data.model_fields_set:
            filled = self.data.model_copy()
            filled.__dict__["public_rows"] = "all"
            self.__dict__["data"] = filled

    def _close_protocol(self) -> None:
        """Take each key's own default where no protocol is stated and `best` is not to be had."""
        if not self.learning.by_default:
            return
        opens = {f"learning.{key}={BEST}" for key in ("algorithm", "clipping", "mechanism")}
        used = [choice for choice in choices().values() if choice.is_used(self)]
        excluded = any(opens & choice.excludes.keys() for choice in used)
        if excluded or self.validation.baselines or not self.data.public_rows:
            self.__dict__["learning"] = self.learning.closed

    def _fill_in_start(self) -> None:
        """Set start and preconditioning by whether there are public rows."""
        public = bool(self.data.public_rows)
        learning = self.learning
        for name in ("start", "precondition"):
            given = getattr(learning, name)
            if not public and given in ("public", "shrunk", True):
                found = f"{format_value(given)} with data.public_rows = 0"
                remedy = "Set data.public_rows."
                raise InputError(f"learning.{name}", "needs public rows", found, remedy)
        start = "public" if public else "zero"
        penalised = learning.regularisation > 0  # by which the public model is shrunk already
        if public and learning.takes_the_best and learning.objective.quadratic and not penalised:
            start = "shrunk"
        defaults = {"start": start, "precondition": public}
        missing = {key: one for key, one in defaults.items() if getattr(learning, key) is None}
        filled = learning.model_copy()
        filled.__dict__.update(missing)  # which are not stated by that
        self.__dict__["learning"] = filled

    def _check_labels(self) -> None:
        """Refuse keys that contradict what the loss takes its target for."""
        data = self.data
        loss = f"loss {format_value(self.learning.loss)}"
        for key, given in (("labels", data.labels), ("positive", data.positive)):
            if given is not None and not self.learning.labels:
                labelled = names_with(LOSSES, "labels")
                rule = f"needs loss {labelled}, for a target with two values"
                found = f"{format_value(given)} with {loss}"
                raise InputError(f"data.{key}", rule, found, "Leave it out.")
        if data.target in data.bounds and self.learning.labels:
            rule = f"has no range with {loss}, because it is then one of two values"
            found = format_value(list(data.bounds[data.target]))
            raise InputError(f"data.bounds.{data.target}", rule, found, "Leave it out.")

    def _check_worth(self) -> None:
        """Refuse terms of value that the loss gives no model for, or that owners do not share."""
        buyers = [("learner", self.learner), *(("learners", one) for one in self.learners or ())]
        for table, buyer in buyers:
            if buyer.worth is not None:
                self._check_unit(buyer.worth.per, f"{table}.value")
        worth = self.learner.worth
        benefit = self.owners.benefit
        asked = benefit.per if isinstance(benefit, Benefit) else None
        if (asked or self.owners.wants_model) and asked != (worth and worth.per):
            terms = "per unit of relative fitness"
            if worth is not None:
                terms = f"a table with per = {format_value(worth.per)}"
            found = "a number" if asked is None else f"per = {format_value(asked)}"
            rule = f"must be {terms}, as learner.value: a market uses one unit"
            remedy = "If the learner gains nothing from the model, set learner.value.money = 0."
            raise InputError("owners.benefit", rule, found, remedy)

        self._check_paid_by_worth()

    def _check_paid_by_worth(self) -> None:
        """Refuse payments by the worth of a better model where nobody states it."""
        policy = self.policy.kind
        if getattr(KINDS["policy"][policy], "pays_for_fitness", False):
            self.learner.check_value(f"policy.kind = {format_value(policy)}")

    def _check_unit(self, per: str, table: str) -> None:
        """Refuse a unit of value that the loss gives no model for."""
        learning = self.learning
        loss = f"loss {format_value(learning.loss)}"
        if per in LABELLED and not learning.labels:
            rule = f'must be "rmse" with {loss}, because its target is a number'
            remedy = f'Set it to "rmse", or learning.loss to {names_with(LOSSES, "labels")}.'
            raise InputError(f"{table}.per", rule, format_value(per), remedy)
        if per in LABELLED:
            return
        if not learning.objective.squares:
            rule = f"must be {quote_choices(LABELLED)} with {loss}"
            raise InputError(f"{table}.per", rule, format_value(per))
        if learning.regularisation > 0:
            rule = f"must be 0 with {table} per rmse: a penalty on large parameters is not an error"
            raise InputError("learning.regularisation", rule, learning.regularisation)

    def _check_claimed_cost(self) -> None:
        """Refuse a horizon left open where costs are counted on what is claimed of the noise."""
        learning = self.learning
        printed = self.owners.cost_at == "claimed" and learning.accounting == "printed"
        if printed and learning.horizon == OPTIMAL:
            rule = 'must be a number of rounds with owners.cost_at = "claimed"'
            remedy = "Set it, because this noise's guarantee depends on it."
            raise InputError("learning.horizon", rule, format_value(OPTIMAL), remedy)

    def in_order_of(self, names: Sequence[str], left_out: Sequence[str] = ()) -> Scenario:
        """The same scenario with values per owner in the order of the owners.

        Parameters
        ----------
        names : names of the owners, in the order of the market.
        left_out : names of owners with too few records, which tables may give values for.

        Raises
        ------
        InputErrors
            Where a list has not one entry per owner, a table not one for each name, or a name is
            nobody's.
        """
        tables: dict[str, Any] = {}

        def list_values(path: str, section: Any, *seed: int) -> None:
            tables[path] = section.listed(names, path, left_out, *seed)

        def list_clocks() -> None:
            tables["clocks"] = self.learning.clocks and self.learning.ticks(names, left_out)

        def list_feature(feature: Any) -> None:
            feature.check_owners(self, names)
            tables[feature.key] = feature.in_order(self, names, left_out)

        collect_errors(
            partial(list_values, "owners", self.owners),
            partial(list_values, "owners.cost", self.owners.cost, self.seed),
            partial(list_values, "policy", self.policy),
            partial(self.learning.groups, names),
            *(
                partial(list_feature, feature)
                for feature in FEATURES.values()
                if feature.has_table(self)
            ),
            list_clocks,
            partial(self._check_overlap, len(names)),
        )
        owners = tables.pop("owners").model_copy(update={"cost": tables.pop("owners.cost")})
        learning = self.learning.model_copy(update={"clocks": tables.pop("clocks")})
        ordered = self.model_copy(update=tables | {"owners": owners, "learning": learning})
        ordered._left_out = tuple(left_out)
        return ordered

    def _check_overlap(self, n_owners: int) -> None:
        """Refuse an overlap of more owners than there are."""
        if self.learning.overlap > n_owners:
            rule = f"must be at most {n_owners}, the number of owners"
            raise InputError("learning.overlap", rule, f"{self.learning.overlap}")

    def to_toml(self, *, absolute: bool = False) -> str:
        """The scenario as TOML, every default spelled out.

        Loaded from the same folder it gives an equal one.

        With ``absolute``, the files that it names are named absolutely, so that the text works from
        any folder.
        """
        given = self.model_dump()
        tables = {key: given[key] for key in dict.fromkeys((*ORDER, *given)) if key in given}
        if absolute:
            _rename_files(tables, lambda name: str(self.locate(name)))
        return "\n".join(toml_lines(tables)).strip() + "\n"


def name_files_from(folder: Path, text: str) -> str:
    """Name the files of a scenario, which its text names absolutely, from a folder.

    A file that no relative path leads to, on another drive, stays as it is named.
    """
    tables = tomllib.loads(text)
    start = folder.resolve()

    def rename(name: str) -> str:
        try:
            return Path(os.path.relpath(name, start)).as_posix()
        except ValueError:
            return name

    _rename_files(tables, rename)
    return "\n".join(toml_lines(tables)).strip() + "\n"


def _rename_files(tables: dict[str, Any], rename: Callable[[str], str]) -> None:
    """Change the names of the files in a scenario's tables."""
    for place in NAMING_FILES:
        *path, key = place.split(".")
        table: Any = tables
        for name in path:
            table = (table or {}).get(name)
        if (table or {}).get(key):
            table[key] = rename(table[key])


_models: dict[tuple[Any, ...], type[Scenario]] = {}


def scenario_model() -> type[Scenario]:
    """Scenario with the keys of all FEATURES, as they are now."""
    tables = {one.key: one for one in FEATURES.values() if one.table is not None}
    known = tuple(tables.values())
    if known not in _models:
        fields: dict[str, Any] = {key: (one.table, one.default) for key, one in tables.items()}
        model = create_model("MarketScenario", __base__=Scenario, __module__=__name__, **fields)
        globals().setdefault(model.__name__, model)  # where pickle looks for it
        _models[known] = model
    return _models[known]


def home_expanded(file: str | Path) -> Path:
    """A path with "~" written out.

    Unchanged where there is no such user, on whom Path.expanduser fails.
    """
    return Path(os.path.expanduser(file))


def sha256(scenario: Scenario) -> str:
    """SHA-256, in hexadecimal, of the resolved scenario text."""
    return hashlib.sha256(scenario.to_toml().encode()).hexdigest()
