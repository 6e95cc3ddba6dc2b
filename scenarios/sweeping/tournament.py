"""A tournament: every policy against every mix of owners' behaviours, all under the same seeds.

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
from scenarios.schema.fields import as_number, suggest_name
from scenarios.sweeping.axes import Axis, flat_keys

RATIONAL = "all rational"
SHARES = (0.3, 1.0)
KEYS = ("policies", "behaviours", "shares", "pairs", "score")
BETWEEN = " | "  # a policy and a mix in a point's title


@dataclass(frozen=True)
class Entrant:
    """A policy, or a mix of behaviours: what it is called, and the keys of the scenario that make it."""

    name: str
    changes: Mapping[str, Any]


@dataclass(frozen=True)
class Tournament:
    """Who meets whom, and what counts.

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
        """A point for each policy under each mix: the mixes of the first policy, those of the second, and so on."""
        keys = dict.fromkeys(
            key for entrant in (*self.policies, *self.mixes) for key in entrant.changes
        )
        pairs = [(policy, mix) for policy in self.policies for mix in self.mixes]
        steps = [
            (f"{policy.name}{BETWEEN}{mix.name}", {**policy.changes, **mix.changes})
            for policy, mix in pairs
        ]
        return Axis(
            ("title", *keys),
            tuple((name, *(changes.get(key) for key in keys)) for name, changes in steps),
        )

    def number(self, policy: int, mix: int) -> int:
        """The number of a point, from 1."""
        return 1 + policy * len(self.mixes) + mix


def read_tournament(value: Any) -> Tournament | None:
    """[tournament]: ``policies``, ``behaviours`` and the ``shares`` of the owners who show them; ``pairs``; ``score``.

    A behaviour may have ``shares`` of its own.
    """
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise InputError("", "must be a table, [tournament]", format_value(value))
    for key in value:
        if key not in KEYS:
            raise InputError(
                key, "is not a known key", format_value(value[key]), suggest_name(key, KEYS)
            )
    policies = _entrants(value, "policies")
    people = _entrants(value, "behaviours")
    for policy in policies:
        if any(key.startswith("behaviours") for key in policy.changes):
            raise InputError("policies", "must leave behaviours to the mixes", policy.name)
    pairs = value.get("pairs", False)
    score = value.get("score")
    if not isinstance(pairs, bool):
        raise InputError("pairs", "must be true or false", format_value(pairs))
    if score is not None and not (isinstance(score, str) and score):
        raise InputError(
            "score", "must be a fact of result.json, such as learner.surplus", format_value(score)
        )
    return Tournament(
        policies, mixes_of(people, _shares(value.get("shares", SHARES)), pairs=pairs), score
    )


def mixes_of(
    people: Sequence[Entrant], shares: Sequence[float], *, pairs: bool
) -> tuple[Entrant, ...]:
    """All rational; each behaviour in each share of the owners, its own if it has some; with ``pairs`` half and half too."""
    made = [Entrant(RATIONAL, {"behaviours": []})]
    for one in people:
        for share in _shares(one.changes.get("shares", shares)):
            made.append(
                Entrant(f"{100 * share:g} % {one.name}", {"behaviours": [_behaving(one, share)]})
            )
    for first, second in combinations(people, 2) if pairs else ():
        halves = [_behaving(one, 0.5) for one in (first, second)]
        made.append(Entrant(f"half {first.name}, half {second.name}", {"behaviours": halves}))
    return tuple(made)


def _behaving(one: Entrant, share: float) -> dict[str, Any]:
    """The table [[behaviours]] of a share of the owners."""
    return {key: value for key, value in one.changes.items() if key != "shares"} | {"share": share}


def _entrants(value: Mapping[str, Any], place: str) -> tuple[Entrant, ...]:
    """Tables with a name each; a policy's keys are the scenario's, a behaviour's those of its own table."""
    given = value.get(place)
    if (
        not isinstance(given, list)
        or not given
        or not all(isinstance(one, Mapping) for one in given)
    ):
        raise InputError(
            place, f"must be tables, each [[tournament.{place}]], with a name", format_value(given)
        )
    made = []
    for table in given:
        name = table.get("name")
        if not isinstance(name, str) or not name.strip():
            raise InputError(f"{place}.name", "must be a text in quotes", format_value(name))
        rest = {key: one for key, one in table.items() if key != "name"}
        made.append(
            Entrant(name, dict(flat_keys(rest, ranges=False)) if place == "policies" else rest)
        )
    names = [one.name for one in made]
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise InputError(
            f"{place}.name", "must differ from table to table", f"{format_value(twice)} twice"
        )
    return tuple(made)


def _shares(value: Any) -> tuple[float, ...]:
    shares = [as_number(one) for one in value] if isinstance(value, (list, tuple)) else []
    if (
        not shares
        or not all(one is not None and 0 < one <= 1 for one in shares)
        or len(set(shares)) < len(shares)
    ):
        raise InputError(
            "shares", "must be different numbers above 0 and at most 1", format_value(value)
        )
    return tuple(float(one) for one in shares if one is not None)
