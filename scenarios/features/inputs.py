"""Inputs that are assumed, or known within ranges only, and the answers over these ranges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import PlainValidator

from learning.errors import InputError
from learning.phrases import format_value
from scenarios.features.base import Feature, Topic, value_of
from scenarios.schema.fields import Names, Section, as_number, quote_choices
from scenarios.schema.kinds import KINDS
from scenarios.schema.market import FIXED_COSTS

if TYPE_CHECKING:
    from scenarios.run import Loop, Run
    from scenarios.schema.scenario import Scenario

MOST = 4  # ranges, of which all ends are combined
MAY_RANGE = (
    "learner.value",
    "owners.cost",
    *(f"owners.{key}" for key in FIXED_COSTS),
    "policy",
)


def _parse_ranges(value: Any) -> dict[str, tuple[float, float]]:
    """Keys, each with its lowest and highest value."""
    if not isinstance(value, dict):
        rule = 'must be a table of ranges, such as "policy.price" = [10, 30]'
        raise InputError("", rule, format_value(value))
    made = {}
    for key, given in value.items():
        ends = [as_number(end) for end in given] if isinstance(given, (list, tuple)) else []
        low, high = ends if len(ends) == 2 else (None, None)
        if low is None or high is None or not (low <= high and np.isfinite([low, high]).all()):
            rule = "must be [lowest, highest], two finite numbers"
            raise InputError(f"inputs.ranges.{format_value(key)}", rule, format_value(given))
        made[key] = (low, high)
    return made


Ranges = Annotated[dict[str, tuple[float, float]], PlainValidator(_parse_ranges)]


class Inputs(Section):
    """Keys whose values nobody has stated, and ranges of others."""

    assumed: Names | None = None
    """Keys of this file whose numbers are invented, such as "policy.price": results say so."""
    ranges: Ranges | None = None
    """Lowest and highest value of a key of [learner.value], [owners.cost] or [policy], such as
    `"learner.value.money" = [2000, 9000]`; the key itself has the likely one. The market is settled
    at each end, and the result says where buying pays."""


class StatedInputs(Feature):
    """Inputs that are assumed, or known within ranges only."""

    key = "inputs"
    title = "[inputs]"
    table = Inputs | None
    example = ("inputs.assumed=['policy.kind']",)
    result = "inputs"
    sentence = "inputs.txt.j2"
    topic = Topic("inputs", 9)
    excludes = {
        "learners": "because only a single learner has an answer at each end",
        "pricing": "because each end would need a search for a price",
        "time": "because each end would need all periods",
    }

    def is_used(self, scenario: Scenario) -> bool:
        """Test whether anything is assumed or ranges."""
        given = scenario.inputs
        return given is not None and bool(given.assumed or given.ranges)

    def check(self, scenario: Scenario) -> None:
        """Refuse keys that this scenario does not give, and ranges around no number."""
        for key in scenario.inputs.assumed or ():
            if value_of(scenario, key) is None and key not in _keys_of_policies():
                rule = "must name keys that this scenario gives"
                raise InputError("inputs.assumed", rule, format_value(key), "Leave it out.")
        if len(scenario.inputs.ranges or {}) > MOST:
            raise InputError(
                "inputs.ranges", f"must be at most {MOST}", len(scenario.inputs.ranges)
            )
        for key, ends in (scenario.inputs.ranges or {}).items():
            _check_range(scenario, key, ends)

    def facts(self, run: Run, loop: Loop) -> dict[str, Any]:
        """Assumed keys, and the learner's account at the ends of each range.

        Owners settle anew at each end; the model is forecast there, and not trained.

        Returns
        -------
        inputs.assumed : Keys whose values are invented; inputs is null where none is, nor ranges.
        inputs.answers[].key : The key at an end of its range; "likely", where all have the values
            of the scenario; "worst" and "best" for the learner, where several keys are at an end.
        inputs.answers[].at : The values there, by key.
        inputs.answers[].payments : Money paid.
        inputs.answers[].surplus : Learner's gain after paying, as forecast; null where the worth of
            the model is unknown.
        inputs.answers[].chance_pays : Chance that buying pays; null as above.
        inputs.answers[].buying_pays : Whether buying is said to pay; null as above.
        inputs.answers[].break_even : As `learner.break_even.amount`.
        """
        given = run.scenario.inputs
        rows = list(_answers(run, loop, given.ranges)) if given.ranges else []
        return {"assumed": list_assumed(run.scenario), "answers": rows}


def list_assumed(scenario: Scenario) -> list[str]:
    """List the assumed keys that a scenario gives: a change of policy leaves those of another."""
    assumed = scenario.inputs.assumed if scenario.inputs is not None else None
    return [key for key in assumed or () if value_of(scenario, key) is not None]


def _keys_of_policies() -> set[str]:
    return {f"policy.{name}" for made in KINDS["policy"].values() for name in made.__annotations__}


def _check_range(scenario: Scenario, key: str, ends: tuple[float, float]) -> None:
    """Refuse a range of a key that may have none, or that the value lies outside of.

    Raises
    ------
    InputError
    """
    place = f"inputs.ranges.{format_value(key)}"
    if not any(key == one or key.startswith(f"{one}.") for one in MAY_RANGE):
        raise InputError(place, f"must be of a key under {quote_choices(MAY_RANGE)}", key)
    value = value_of(scenario, key)
    if type(value) not in (int, float):
        found = "nothing" if value is None else format_value(value)
        raise InputError(place, "must be of a key that holds a number", found, "Leave it out.")
    low, high = ends
    if not low <= value <= high:
        rule = f"must be [lowest, highest] around the value of the key, {value:g}"
        raise InputError(place, rule, f"[{low:g}, {high:g}]")


def _answers(run: Run, loop: Loop, ranges: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Rows at the likely values, at each end of each range, and at the worst and best of all."""
    yield _answer("likely", {}, run, loop)
    rows = [
        _answer(key, {key: end}, _settled_at(run, loop, {key: end}), loop)
        for key, ends in ranges.items()
        for end in ends
    ]
    yield from rows
    if len(ranges) > 1:
        for ends in product(*ranges.values()):
            at = dict(zip(ranges, ends, strict=True))
            rows.append(_answer("", at, _settled_at(run, loop, at), loop))
        yield min(rows, key=_advantage) | {"key": "worst"}
        yield max(rows, key=_advantage) | {"key": "best"}


def _advantage(row: Mapping[str, Any]) -> float:
    """Gain of the learner or, where its value is unknown, minus the worth that would break even."""
    if row["surplus"] is not None:
        return float(row["surplus"])
    return -np.inf if row["break_even"] is None else -float(row["break_even"])


def _settled_at(run: Run, loop: Loop, values: Mapping[str, float]) -> Run:
    """The run of the scenario with other values, on the same forecast and without training."""
    scenario = run.scenario
    for key, value in values.items():
        scenario = _with_value(scenario, key.split("."), value)
    return loop.carry_out(scenario)


def _with_value(section: Any, path: list[str], value: float) -> Any:
    """Copy a section with another value at a place."""
    name, *rest = path
    new = _with_value(getattr(section, name), rest, value) if rest else value
    return section.model_copy(update={name: new})


def _answer(key: str, at: Mapping[str, float], run: Run, loop: Loop) -> dict[str, Any]:
    learner = loop.describe(run)[0]
    even = learner["break_even"]
    return {
        "key": key,
        "at": dict(at),
        "payments": learner["payments"],
        "surplus": learner["surplus"],
        "chance_pays": learner["gain"] and learner["gain"]["chance_pays"],
        "buying_pays": learner["buying_pays"],
        "break_even": even and even["amount"],
    }
