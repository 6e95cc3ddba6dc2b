"""Who behaves how: the tables [[behaviours]] of a scenario, what they do not go with, and whom they mean."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

from agents.behaviours import Behaviour
from agents.behaviours.rational import Rational
from learning.errors import InputError
from scenarios.schema.fields import nearest, show
from scenarios.schema.kinds import made

Tables = Sequence[Any]  # of `AssignedSection`, each with its kind
WHOLE = 1e-9  # shares that add up to so much more than 1 add up to 1
APART = {  # what is settled by search alone, for owners who are all rational
    "unions": "whose members choose as one by search; a table of kind colluders says as much",
    "learners": "among whom owners divide their budgets by search",
    "externalities": "which are settled for rational owners",
}


def check_behaviours(scenario: Any) -> None:
    """Refuse tables that contradict each other, and what is not known of markets whose owners behave in other ways.

    Raises
    ------
    InputError
        On the first rule broken.
    """
    tables: Tables = scenario.behaviours or ()
    draws = any(made(table).draws for table in tables)
    if scenario.market.rounds is not None and not draws:
        rule = "goes with [[behaviours]] that draw, such as inertial; others play until they rest"
        raise InputError("market.rounds", rule, scenario.market.rounds, "Leave it out, or set market.max_rounds.")
    if not tables:
        return
    for key, why in APART.items():
        if getattr(scenario, key):
            raise InputError(key, f"must be left out with [[behaviours]], {why}", "it", "Leave one of them out.")
    if scenario.market.participation == "free":
        rule = 'must be "bound" with [[behaviours]]: who would rather leave is found for rational owners'
        raise InputError("market.participation", rule, show("free"), "Leave one of them out.")
    _check_shares(tables)


def _check_shares(tables: Tables) -> None:
    """Refuse tables that mean more owners than there are, or one owner twice."""
    seen: dict[str, int] = {}
    for at, table in enumerate(tables, 1):
        if table.owners and table.share is not None:
            rule = "must be left out where owners are named"
            raise InputError(f"behaviours.{at}.share", rule, table.share, "Leave one of them out.")
        for name in table.owners or ():
            if name in seen:
                found = f"{show(name)} in {seen[name]} and {at}"
                raise InputError("behaviours.owners", "must name each owner in one table", found)
            seen[name] = at
    rest = [at for at, table in enumerate(tables, 1) if not table.owners and table.share is None]
    if len(rest) > 1:
        raise InputError(f"behaviours.{rest[1]}.share", "is required", "nothing", "Or name the owners: owners = [...].")
    total = sum(table.share or 0.0 for table in tables)
    if total > 1 + WHOLE:
        raise InputError("behaviours.share", "must add up to at most 1 over all tables", f"{total:g}")


def check_named(tables: Tables | None, names: Sequence[str], seed: int) -> None:
    """Refuse tables that name nobody's name, leave too few owners for the shares, or mean more than may behave so together.

    Raises
    ------
    InputError
        On the first such table.
    """
    known = set(names)
    for at, table in enumerate(tables or (), 1):
        for name in table.owners or ():
            if name not in known:
                remedy = nearest(name, list(map(str, names)))
                raise InputError(f"behaviours.{at}.owners", "must name owners", show(name), remedy)
    named = sum(len(table.owners or ()) for table in tables or ())
    asked = sum(_counts(tables or (), len(names)))
    if named + asked > len(names):
        rule = f"must leave out the owners who are named: {len(names) - named} of {len(names)} are left"
        raise InputError("behaviours.share", rule, f"{asked} owners", "Lower it.")
    for behaviour, numbers in assigned(tables, names, seed):
        behaviour.check_group(len(numbers))


def _counts(tables: Tables, n_owners: int) -> list[int]:
    """How many owners each table means by its share: all up to it together are rounded to the nearest whole number."""
    shares = np.cumsum([table.share or 0.0 for table in tables])
    return np.diff(np.floor(shares * n_owners + 0.5 + WHOLE).astype(int), prepend=0).tolist()


def assigned(tables: Tables | None, names: Sequence[str], seed: int) -> list[tuple[Behaviour, np.ndarray]]:
    """The behaviours of a scenario, each once, with the numbers of the owners who behave so (k,); last the rational rest.

    Who is meant by a share follows from the seed and the names: those for whom a number drawn by name is smallest, so that
    adding an owner changes as few as may be.

    Parameters
    ----------
    tables : the tables [[behaviours]].
    names : of all owners, in order.
    seed : of the scenario.
    """
    tables, place = tables or (), {name: i for i, name in enumerate(names)}
    chosen = [[place[name] for name in table.owners or ()] for table in tables]
    named = {number for group in chosen for number in group}
    left = sorted((i for i in range(len(names)) if i not in named), key=lambda i: _number(names[i], seed))
    for at, count in enumerate(_counts(tables, len(names))):
        chosen[at] += left[:count]
        left = left[count:]
    for at, table in enumerate(tables):
        if not table.owners and table.share is None:
            chosen[at], left = left, []
    groups: dict[Behaviour, list[int]] = {}
    for behaviour, group in [*zip(map(made, tables), chosen, strict=True), (Rational(), left)]:
        groups.setdefault(behaviour, []).extend(group)
    return [(behaviour, np.array(sorted(group), dtype=int)) for behaviour, group in groups.items() if group]


def kinds_of(tables: Tables, names: Sequence[str], seed: int) -> list[str]:
    """What the behaviour of each owner is called, in order."""
    kinds, each = {made(table): str(table.kind) for table in tables}, np.full(len(names), "rational", dtype=object)
    for behaviour, numbers in assigned(tables, names, seed):
        each[numbers] = kinds.get(behaviour, "rational")
    return each.tolist()


def _number(name: str, seed: int) -> bytes:
    """What an owner's place in a draw by name follows from; many thousands are drawn at once."""
    return blake2b(name.encode(), key=f"{seed} behaviours".encode(), digest_size=8).digest()
