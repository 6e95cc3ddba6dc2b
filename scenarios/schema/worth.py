"""Value of a better model in its user's terms: per RMSE, wrong label, or cost matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, PlainValidator, model_validator

from learning.declaration import (
    NamedPerOwnerRule,
    NonNegative,
    Positive,
    Words,
    describe_type,
    type_adapter,
)
from learning.errors import InputError
from learning.forecast.decisions import Decisions
from learning.phrases import format_value
from scenarios.schema.fields import Section, quote_choices, values_per_owner
from scenarios.schema.kinds import TableCheck

Per = Literal["rmse", "wrong_label", "cost"]
LABELLED = "wrong_label", "cost"  # those that count decisions between two labels
NAMED = NamedPerOwnerRule()
NamedPerOwner = Annotated[Any, NAMED]


class Terms(Section):
    """A table of what a model is worth: which unit money is counted of, and the keys that go with
    it."""

    per: Per = Field(description='Give "rmse", "wrong_label" or "cost".')
    """Root mean squared error in units of the target; a wrong label; or what wrong decisions cost
    by a cost matrix."""

    @model_validator(mode="after")
    def _check_keys(self) -> Terms:
        needs = self.needed()[self.per]
        for key in type(self).model_fields:
            given = getattr(self, key) is not None
            if key in needs and not given:
                raise InputError(key, f"is required with per = {format_value(self.per)}", "nothing")
            if key not in ("per", *needs) and given:
                users = [per for per, keys in self.needed().items() if key in keys]
                rule = f"goes with per = {quote_choices(users)}" if users else "has no use here"
                raise InputError(
                    key,
                    rule,
                    f"{format_value(getattr(self, key))} with per = {format_value(self.per)}",
                    "Leave it out.",
                )
        return self

    @classmethod
    def needed(cls) -> dict[str, tuple[str, ...]]:
        """The keys that each unit needs."""
        raise NotImplementedError


class Worth(Terms):
    """What a better model is worth to the learner, in terms of its own."""

    money: NonNegative | None = None
    """Money per unit of root mean squared error, or per wrong label."""
    cases: Positive | None = None
    """How many cases the model decides: wrong labels and costs are counted over all of them."""
    false_alarm: Positive | None = None
    """Money lost where the label coded as +1 is decided of a case that has the other."""
    miss: Positive | None = None
    """Money lost where a case whose label is coded as +1 is decided to have the other."""

    @classmethod
    def needed(cls) -> dict[str, tuple[str, ...]]:
        return {
            "rmse": ("money",),
            "wrong_label": ("money", "cases"),
            "cost": ("false_alarm", "miss", "cases"),
        }

    @property
    def per_unit(self) -> float:
        """Money per unit of the measure."""
        return float((1.0 if self.money is None else self.money) * (self.cases or 1.0))

    @property
    def decisions(self) -> Decisions | None:
        """Costs of wrong decisions by case; None where errors of numbers are counted."""
        if self.false_alarm is not None and self.miss is not None:
            return Decisions(self.false_alarm, self.miss, moved=True)
        return Decisions() if self.per in LABELLED else None


class Benefit(Terms):
    """What a better model is worth to owners, in the same terms as learner.value, with the
    learner's cost matrix."""

    money: NamedPerOwner = None
    """Money per unit of root mean squared error, or per wrong label."""
    cases: NamedPerOwner = None
    """How many cases an owner decides by the model."""

    @classmethod
    def needed(cls) -> dict[str, tuple[str, ...]]:
        return {"rmse": ("money",), "wrong_label": ("money", "cases"), "cost": ("cases",)}

    def per_unit(self, n_owners: int) -> np.ndarray:
        """Money per unit of the measure, (n_owners,)."""
        money, cases = (1.0 if given is None else given for given in (self.money, self.cases))
        return values_per_owner(money, n_owners, "owners.benefit.money") * values_per_owner(
            cases, n_owners, "owners.benefit.cases"
        )


@dataclass(frozen=True)
class OrTable(TableCheck):
    """Checks a plain value, money per unit of relative fitness, or a table in terms of one's own.

    Parameters
    ----------
    table : where it stands.
    section : the keys of the table, which names its unit by ``per``.
    plain : checks what is no such table.
    takes_tables : whether other tables, such as one by the owners' names, are plain values.
    """

    table: str
    section: type[Terms]
    plain: Callable[[Any], Any]
    takes_tables: bool = False

    def tables(self, place: str) -> Iterator[tuple[str, type, type[Section]]]:
        """Table at its own place, with its declaration and keys; none elsewhere."""
        if place == self.table:
            yield f"[{place}]", self.section, self.section

    def __call__(self, value: Any) -> Any:
        """The value as it is, or the table under its keys."""
        if isinstance(value, dict) and not (
            self.takes_tables and not isinstance(value.get("per"), str)
        ):
            return self.section.model_validate(value)
        return value if isinstance(value, self.section) else self.plain(value)


_number = type_adapter(NonNegative).validate_python
WorthOf = Annotated[
    Any,
    PlainValidator(OrTable("learner.value", Worth, _number)),
    Words(f"{describe_type(NonNegative)}, or a table [learner.value]"),
]
BenefitOf = Annotated[
    Any,
    PlainValidator(OrTable("owners.benefit", Benefit, NAMED, takes_tables=True)),
    Words(f"{NAMED.text}, or a table [owners.benefit] with per"),
]
