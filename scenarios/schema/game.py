"""A game in a file, without a table: owners, sizes, payments, and starts of play."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge, Le
from pydantic import Field, PlainValidator, model_validator

from learning.collected_errors import InputErrors
from learning.declaration import NamedPerOwnerRule, Positive, Words, type_adapter
from learning.errors import InputError
from learning.phrases import format_value
from market.equilibrium.activation import ACTIVATIONS
from scenarios.schema.fields import (
    Budgets,
    Names,
    Section,
    TitledFile,
    in_order,
    one_known,
    values_per_owner,
)
from scenarios.schema.kinds import KINDS, NamedTable
from scenarios.schema.loading import (
    locate_file,
    parse_change,
    place_error,
    read_file,
    validate_file,
)
from scenarios.schema.toml import toml_lines

MOST_OWNERS = 1000
MOST_STARTS = 1000
Start = float | tuple[float, ...] | dict[str, float]
EACH_START = "Each is one epsilon for all owners, or one per owner."
WITHOUT_TABLE = "must not depend on a model, because without a table none can be forecast"


def _parse_starts(value: Any) -> tuple[Start, ...]:
    """Profiles to start from, each one budget for all owners or one per owner."""
    rule = "must be a list of starts"
    if not isinstance(value, (list, tuple)):
        raise InputError("", rule, format_value(value), EACH_START)
    if len(value) > MOST_STARTS:
        raise InputError("", f"must be at most {MOST_STARTS:,} starts", len(value))
    start = type_adapter(Annotated[Any, NamedPerOwnerRule()])
    found = []
    for number, one in enumerate(value, 1):
        try:
            found.append(start.validate_python(one))
        except ValueError:
            where = f"{format_value(one)} in place {number}"
            raise InputError("", rule, where, EACH_START) from None
    return tuple(found)


class GameOwners(Section):
    """The players: each one's number of records, possible budgets and cost of privacy."""

    records: Annotated[Any, NamedPerOwnerRule(1, whole=True)] = Field(
        description="Give the records of each owner."
    )
    """Records of each owner: a list, a table by name, or one number for all who are named."""
    names: Names | None = None
    """Names of the owners: owner 1, owner 2 ... unless given here or in `records`."""
    epsilon: Budgets = Field(
        description="Give the lowest and highest privacy budget, such as [0.001, 5.0]."
    )
    """The lowest and highest privacy budget that an owner may choose."""
    fixed_cost: Annotated[Any, NamedPerOwnerRule()] = 0.0
    """Money lost by sharing at all."""
    cost: Annotated[Any, NamedTable("owners.cost")] | None = None
    """An owner's cost of privacy; e^ε, as in the thesis's games, unless given."""

    @model_validator(mode="after")
    def _named(self) -> GameOwners:
        records = self.records
        if isinstance(records, dict) and self.names is not None:
            rule = "must be left out if records are given by name"
            raise InputError("owners.names", rule, format_value(self.names))
        if not isinstance(records, (dict, tuple)) and self.names is None:
            rule = "must be a list or a table, unless owners.names is given"
            raise InputError("owners.records", rule, format_value(records))
        if len(self.called) > MOST_OWNERS:
            rule = f"must be of at most {MOST_OWNERS:,} owners"
            raise InputError("owners.records", rule, f"{len(self.called):,}")
        in_order(records, self.called, "owners.records")
        return self

    @property
    def called(self) -> tuple[str, ...]:
        """The owners' names, in the order of lists."""
        if isinstance(self.records, dict):
            return tuple(self.records)
        return self.names or tuple(f"owner {number}" for number in range(1, len(self.records) + 1))


class GamePlay(Section):
    """From where owners start, and in what order they move."""

    starts: Annotated[
        tuple[Start, ...], PlainValidator(_parse_starts), Words("a list of starts")
    ] = ()
    """Profiles that play starts from: each one ε for all owners, or one per owner. Unless given:
    all at their lowest, at the middle of their interval (of its logarithm), at their highest."""
    search: Annotated[int, Ge(1), Le(10_000)] = 16
    """Further points that the search for equilibria starts from."""
    activation: Annotated[str, one_known(lambda: ACTIVATIONS)] = "sequential"
    """In what order owners answer each other."""
    max_rounds: Annotated[int, Ge(1), Le(100_000)] = 1000
    """The maximal number of rounds of play."""
    tol: Positive = 1e-9
    """Play rests when no owner moves by more than this part of its ε."""


class GameFile(TitledFile):
    """A game as written in its file, every default filled in."""

    owners: GameOwners = Field(description="Add a table [owners] with records and epsilon.")
    policy: Annotated[Any, NamedTable("policy")] = Field(
        description="Add a table [policy] with its kind."
    )
    market: GamePlay = GamePlay()

    @model_validator(mode="after")
    def _whole(self) -> GameFile:
        self.in_order()
        return self

    def in_order(self) -> GameFile:
        """The same file with values per owner as lists, each checked against the owners."""
        names = self.owners.called
        owners = self.owners.listed(names, "owners").model_copy(update={"names": names})
        if owners.cost is not None:
            cost = owners.cost.listed(names, "owners.cost", (), self.seed)
            owners = owners.model_copy(update={"cost": cost})
        policy = self.policy.listed(names, "policy")
        if policy.kind not in without_model():
            remedy = f"One of: {', '.join(without_model())}."
            raise InputError("policy.kind", WITHOUT_TABLE, format_value(policy.kind), remedy)
        starts = tuple(
            self._list_start(owners, number) for number in range(len(self.market.starts))
        )
        market = self.market.model_copy(update={"starts": starts})
        return self.model_copy(update={"owners": owners, "policy": policy, "market": market})

    def _list_start(self, owners: GameOwners, number: int) -> tuple[float, ...]:
        """A start as one budget per owner, each in its interval."""
        names = owners.called
        low, high = values_per_owner(owners.epsilon, len(names), "owners.epsilon").T
        start = in_order(self.market.starts[number], names, "market.starts")
        profile = values_per_owner(start, len(names), "market.starts")
        outside = np.flatnonzero((profile < low) | (profile > high))
        if outside.size:
            at = outside[0]
            found = f"{profile[at]:g} for {format_value(names[at])} in place {number + 1}"
            interval = f"[{low[at]:g}, {high[at]:g}]"
            rule = "must lie in the owners' intervals"
            raise InputError("market.starts", rule, f"{found}, of {interval}")
        return tuple(profile.tolist())

    def to_toml(self) -> str:
        """The file as TOML, every default spelled out."""
        return "\n".join(toml_lines(self.model_dump())).strip() + "\n"


def without_model() -> list[str]:
    """The names of policies that pay without looking at a model."""
    policies = KINDS["policy"].items()
    return [name for name, kind in policies if getattr(kind, "pays_for_fitness", True) is False]


def read_game(source: str | Path, overrides: Sequence[str] = ()) -> GameFile:
    """A checked game file.

    Parameters
    ----------
    source : a file, or a name of the library.
    overrides : changes, each ``key=value`` as in `scenarios.schema.loading.load`.

    Raises
    ------
    InputErrors
        With every rule broken.
    """
    path = locate_file(source)
    changes = [parse_change(text) for text in overrides]
    found = validate_file(read_file(path), changes, GameFile)
    if not isinstance(found, GameFile):
        raise InputErrors([place_error(one, str(path), overrides) for one in found])
    return found


def sha256_of(file: GameFile) -> str:
    """SHA-256, in hexadecimal, of the resolved text."""
    return hashlib.sha256(file.to_toml().encode()).hexdigest()
