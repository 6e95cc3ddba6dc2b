"""Tournament: every policy against every mix of owners' behaviours, under the same seeds.

>>> one = {"name": "posted", "policy": {"kind": "posted", "price": 600.0}}
>>> noisy = {"name": "noisy", "kind": "logit", "precision": 2.0}
>>> made = read_tournament({"policies": [one], "behaviours": [noisy], "shares": [0.3]})
>>> [mix.name for mix in made.mixes], made.axis.keys
(['all rational', '30 % noisy'], ('title', 'policy.kind', 'policy.price', 'behaviours'))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

from learning.errors import InputError
from learning.phrases import format_value
from scenarios.schema.fields import as_number
from scenarios.sweeping.axes import Axis, check_known, flat_keys

RATIONAL = "all rational"
SHARES = (0.3, 1.0)
KEYS = ("policies", "behaviours", "shares", "pairs", "score")
BETWEEN = " | "  # a policy and a mix in a point's title


@dataclass(frozen=True)
class Entrant:
    """A policy, or a mix of behaviours: its name, and the keys of the scenario that make it."""

    name: str
    changes: Mapping[str, Any]


@dataclass(frozen=True)
class Tournament:
    """Policies, mixes of behaviours, and the fact that counts.

    Parameters
    ----------
    policies : what learners try, each with its keys of the scenario.
    mixes : how owners behave, the first all rational.
    score : the fact that a learner tries to make as large as it can; None: its gain, as trained
        where a study trains.
    """

    policies: tuple[Entrant, ...]
    mixes: tuple[Entrant, ...]
    score: str | None = None

    @cached_property
    def axis(self) -> Axis:
        """Axis of a point for each policy under each mix, the mixes changing first."""
        entrants = (*self.policies, *self.mixes)
        keys = tuple(dict.fromkeys(("title", *(key for one in entrants for key in one.changes))))
        steps = [
            {"title": f"{policy.name}{BETWEEN}{mix.name}"}
            | dict(policy.changes)
            | dict(mix.changes)
            for policy in self.policies
            for mix in self.mixes
        ]
        return Axis(keys, tuple(tuple(map(step.get, keys)) for step in steps))

    def number(self, policy: int, mix: int) -> int:
        """Number a point, from 1."""
        return 1 + policy * len(self.mixes) + mix


def read_tournament(value: Any) -> Tournament | None:
    """Read [tournament]: ``policies``, ``behaviours`` with their ``shares``, ``pairs``, ``score``.

    A behaviour may have ``shares`` of its own.
    """
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise InputError("", "must be a table, [tournament]", format_value(value))
    check_known(value, KEYS)
    policies = _read_entrants(value, "policies")
    people = _read_entrants(value, "behaviours")
    for policy in policies:
        if any(key.startswith("behaviours") for key in policy.changes):
            raise InputError("policies", "must not set behaviours: mixes do", policy.name)
    pairs = value.get("pairs", False)
    score = value.get("score")
    if not isinstance(pairs, bool):
        raise InputError("pairs", "must be true or false", format_value(pairs))
    if score is not None and not (isinstance(score, str) and score):
        rule = "must be a fact of result.json, such as learner.surplus"
        raise InputError("score", rule, format_value(score))
    mixes = mix_behaviours(people, _read_shares(value.get("shares", SHARES)), pairs=pairs)
    return Tournament(policies, mixes, score)


def mix_behaviours(
    people: Sequence[Entrant], shares: Sequence[float], *, pairs: bool
) -> tuple[Entrant, ...]:
    """List the mixes: all rational, and each behaviour among rational owners in each share.

    A behaviour's own shares stand for ``shares``. With ``pairs``, every two behaviours are mixed
    half and half too.
    """
    mixes: dict[str, list[tuple[Entrant, float]]] = {RATIONAL: []}
    for one in people:
        for share in _read_shares(one.changes.get("shares", shares)):
            mixes[f"{100 * share:g} % {one.name}"] = [(one, share)]
    for first, second in combinations(people, 2) if pairs else ():
        mixes[f"half {first.name}, half {second.name}"] = [(first, 0.5), (second, 0.5)]
    return tuple(
        Entrant(name, {"behaviours": [_behaviour_table(*part) for part in mix]})
        for name, mix in mixes.items()
    )


def _behaviour_table(one: Entrant, share: float) -> dict[str, Any]:
    return {key: value for key, value in one.changes.items() if key != "shares"} | {"share": share}


def _read_entrants(value: Mapping[str, Any], place: str) -> tuple[Entrant, ...]:
    """Read tables with a name each.

    A policy's keys are the scenario's, a behaviour's those of its own table.
    """
    given = value.get(place)
    tables = isinstance(given, list) and all(isinstance(one, Mapping) for one in given)
    if not given or not tables:
        rule = f"must be tables, each [[tournament.{place}]], with a name"
        raise InputError(place, rule, format_value(given))
    made: dict[str, Entrant] = {}
    for table in given:
        name = table.get("name")
        if not isinstance(name, str) or not name.strip():
            raise InputError(f"{place}.name", "must be a text in quotes", format_value(name))
        if name in made:
            found = f"{format_value(name)} twice"
            raise InputError(f"{place}.name", "must differ from table to table", found)
        rest = {key: one for key, one in table.items() if key != "name"}
        if place == "policies":
            rest = dict(flat_keys(rest, ranges=False))
        made[name] = Entrant(name, rest)
    return tuple(made.values())


def _read_shares(value: Any) -> tuple[float, ...]:
    numbers = map(as_number, value) if isinstance(value, (list, tuple)) else ()
    shares = [number or 0.0 for number in numbers]
    if not shares or not all(0 < one <= 1 for one in shares) or len(set(shares)) < len(shares):
        rule = "must be different numbers above 0 and at most 1"
        raise InputError("shares", rule, format_value(value))
    return tuple(shares)
