"""Market as the sliders have it: a scenario that was opened, and what was moved since."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from agents.behaviours import BEHAVIOURS
from learning.errors import InputError
from learning.phrases import toml_value
from market.equilibrium.activation import ACTIVATIONS
from market.policies import POLICIES
from scenarios.dashboard.controls import (
    BEHAVIOUR,
    OPENED,
    RATIONAL,
    SHARE,
    Control,
    behaviour_controls,
    behaviour_tables,
    make_choice,
    slide_factor,
    slide_numbers,
)
from scenarios.features.pricing import money_key
from scenarios.planning import Prepared, prepare, weigh_rounds
from scenarios.report.wording import format_number, in_money
from scenarios.runner import carry_out
from scenarios.schema.fields import values_per_owner
from scenarios.schema.kinds import KINDS
from scenarios.schema.loading import change_scenario
from scenarios.schema.scenario import Scenario
from scenarios.studies.offers import at_spending, of_kind, solved

ONE_BY_ONE = 12  # owners up to which each has a slider of its own
NEAR = 0.01  # how near another policy comes to what the one before it paid, relative
POLICY = "policy"
MONEY = "money"
VALUE = "value"
PRICE = "price"
LOW = "low"
HIGH = "high"
ORDER = "order"


@dataclass(frozen=True, eq=False)
class Opened:
    """A scenario whose records were read and planned with, once.

    Parameters
    ----------
    source: the file or library name it was opened by.
    scenario: the scenario.
    prepared: its records, and the learner's planner.
    """

    source: str
    scenario: Scenario
    prepared: Prepared
    _plans: dict[str, Prepared] = field(default_factory=dict, repr=False)

    def planned(self, scenario: Scenario) -> Prepared:
        """Plan for a scenario that sliders changed: anew only where the plan may be another."""
        seen = self._seen_by_planner(scenario)
        if seen == self._seen_by_planner(self.scenario):
            return self.prepared
        if seen not in self._plans:
            self._plans[seen] = prepare(scenario, self.prepared.data)
        return self._plans[seen]

    def _seen_by_planner(self, scenario: Scenario) -> str:
        """Write what a plan depends on of all that sliders move: bounds, and what a round costs."""
        weighed = weigh_rounds(scenario, len(self.prepared.data.owners))
        return repr((scenario.owners.epsilon, weighed))

    @property
    def title(self) -> str:
        """Title of the page."""
        return self.scenario.title or "A data market"

    @cached_property
    def prices(self) -> np.ndarray:
        """Cost of privacy of each owner per unit, (n_owners,)."""
        owners = self.prepared.data.in_order(self.scenario).owners
        count = len(self.prepared.data.owners)
        return values_per_owner(owners.cost.price, count, "owners.cost.price")

    @cached_property
    def bounds(self) -> tuple[float, float] | None:
        """The least and the largest budget of every owner; None where they differ."""
        owners = self.prepared.data.in_order(self.scenario).owners
        ends = values_per_owner(owners.epsilon, len(self.prepared.data.owners), "owners.epsilon")
        if np.any(ends != ends[0]):
            return None
        return float(ends[0, 0]), float(ends[0, 1])

    @property
    def behaviour(self) -> str:
        """Behaviour of the owners as the page calls it."""
        return OPENED if self.scenario.behaviours else RATIONAL

    @cached_property
    def behaviours(self) -> list[str]:
        """Behaviours that owners may show in this market, its own first."""
        given = {kind: toml_value(behaviour_tables({BEHAVIOUR: kind})) for kind in BEHAVIOURS}
        able = [kind for kind, tables in given.items() if self._allows(f"behaviours={tables}")]
        return list(dict.fromkeys((self.behaviour, RATIONAL, *able)))

    @cached_property
    def orders(self) -> list[str]:
        """Orders in which owners may move in this market."""
        return [name for name in ACTIVATIONS if self._allows(f"market.activation={name}")]

    def _allows(self, change: str) -> bool:
        try:
            change_scenario(self.scenario, [change])
        except InputError:
            return False
        return True


def check_shown(scenario: Scenario) -> None:
    """Refuse a scenario that the dashboard cannot show.

    Raises
    ------
    InputError
    """
    for key, what in (("learners", "one learner"), ("time", "one period")):
        if getattr(scenario, key):
            rule = f"must be left out: the dashboard shows the market of {what}"
            raise InputError(key, rule, f"[{key}]", "Use dpmarket run, or leave it out.")


@dataclass(frozen=True)
class Sliders:
    """Positions of the sliders of an opened scenario.

    Parameters
    ----------
    opened: the scenario.
    moved: by control, what it was moved to; as opened where it is not named.
    """

    opened: Opened
    moved: tuple[tuple[str, Any], ...] = ()

    def at(self, name: str, otherwise: Any = None) -> Any:
        """Return the value that a control was moved to."""
        return dict(self.moved).get(name, otherwise)

    def to(self, name: str, value: Any) -> Sliders:
        """Move one of the sliders; back where it was as opened, it counts as not moved."""
        kept = {key: given for key, given in self.moved if key != name}
        if name == POLICY:
            kept.pop(MONEY, None)
            if value != self.opened.scenario.policy.kind:
                kept = {POLICY: self._offer(value), **kept}
            return replace(self, moved=tuple(kept.items()))
        if name == BEHAVIOUR:
            of_behaviour = (f"{BEHAVIOUR}.", SHARE)
            kept = {key: one for key, one in kept.items() if not key.startswith(of_behaviour)}
        at = next((one for one in self.controls if one.name == name), None)
        if at is None or at.was is None or value != at.stops[at.was]:
            kept |= {name: value}
        return replace(self, moved=tuple(kept.items()))

    def _offer(self, kind: str) -> dict[str, Any]:
        """Fill in a policy of another kind that pays about as much in all as the one in use."""
        run = carry_out(self.scenario, self.prepared, training=False, others=False)
        spending = float(run.accounts.payments.sum())
        new = of_kind(self.scenario, kind, run.game)
        key = money_key(new)
        if spending > 0 and key:
            new = at_spending(new, self.prepared, spending, settled=solved, close=NEAR).scenario
        table = new.policy.model_dump(exclude_none=True)
        if key and np.ndim(table[key]) == 0:
            table[key] = float(f"{table[key]:.3g}")
        return table

    @cached_property
    def overrides(self) -> list[str]:
        """Changes of the scenario, as ``--set`` takes them."""
        return [f"{key}={toml_value(value)}" for key, value in self._changes()]

    def _changes(self) -> Iterator[tuple[str, Any]]:
        given = dict(self.moved)
        # Another kind first: its table begins anew there.
        table = given.get(POLICY, {})
        yield from (
            (f"policy.{key}", table[key]) for key in dict.fromkeys(("kind", *table)) if table
        )
        if MONEY in given:
            yield f"policy.{self.money_key}", scale_value(self._money, given[MONEY])
        if VALUE in given:
            terms = self.opened.scenario.learner.worth is not None
            yield "learner.value" + ".money" * terms, given[VALUE]
        if any(key.split(".")[0] == PRICE for key in given):
            yield "owners.cost.price", self._prices()
        if self.opened.bounds and (LOW in given or HIGH in given):
            yield "owners.epsilon", list(self._bounds(*self.opened.bounds))
        if BEHAVIOUR in given:
            yield "behaviours", behaviour_tables(given)
        if ORDER in given:
            yield "market.activation", given[ORDER]

    def _bounds(self, low: float, high: float) -> tuple[float, float]:
        return self.at(LOW, low), self.at(HIGH, high)

    def _prices(self) -> Any:
        own = [self.at(f"{PRICE}.{i}", float(price)) for i, price in enumerate(self.opened.prices)]
        found = scale_value(own, self.at(PRICE, 1.0))
        return found[0] if len(set(found)) == 1 else found

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario as the sliders have it."""
        if not self.moved:
            return self.opened.scenario
        return change_scenario(self.opened.scenario, self.overrides)

    @property
    def prepared(self) -> Prepared:
        """Records and plan of that scenario."""
        return self.opened.planned(self.scenario)

    @property
    def kind(self) -> str:
        """Kind of the policy."""
        return str(self.at(POLICY, {"kind": self.opened.scenario.policy.kind})["kind"])

    @property
    def money_key(self) -> str:
        """The number of the policy that payments rise with; empty where there is none."""
        return str(getattr(KINDS["policy"][self.kind], "money", ""))

    @property
    def _money(self) -> Any:
        """The money in the policy as it was opened or offered."""
        table = self.at(POLICY) or self.opened.scenario.policy.model_dump()
        return table[self.money_key]

    @cached_property
    def controls(self) -> tuple[Control, ...]:
        """Controls of the page, in their order."""
        parts = (self._policy_controls, self._price_controls, self._bound_controls)
        return tuple(one for part in (*parts, self._owner_controls) for one in part())

    def _policy_controls(self) -> Iterator[Control]:
        was = self.opened.scenario.policy.kind
        kinds = [kind for kind, policy in POLICIES.items() if policy.usual or kind == was]
        if self.kind in kinds:
            yield make_choice(POLICY, "Policy", kinds, self.kind, was)
        key = self.money_key
        if key and np.ndim(self._money) == 0:
            paid = key in ("budget", "price")
            yield self._numbers(MONEY, f"Its {key}", float(self._money), paid=paid)
        elif key:
            yield slide_factor(MONEY, f"Its {key}, times", self.at(MONEY, 1.0))
        learner = self.opened.scenario.learner
        worth = learner.value if learner.worth is None else learner.worth.money
        if worth:
            yield self._numbers(VALUE, "Value of a better model", float(worth))

    def _price_controls(self) -> Iterator[Control]:
        names = self.opened.prepared.data.names
        prices = self.opened.prices
        if not prices.any():
            return
        yield slide_factor(PRICE, "All privacy costs, times", self.at(PRICE, 1.0))
        group = "Privacy cost of each owner"
        for i, price in enumerate(prices):
            if price > 0 and 1 < len(names) <= ONE_BY_ONE:
                yield self._numbers(f"{PRICE}.{i}", names[i], float(price), group=group)

    def _bound_controls(self) -> Iterator[Control]:
        if self.opened.bounds:
            was_low, was_high = self.opened.bounds
            low, high = self._bounds(was_low, was_high)
            ends = (1e-3, min(1.0, high / 2))
            yield slide_numbers(LOW, "Smallest ε an owner may sell", was_low, low, ends)
            ends = (max(0.1, 2 * low), 100.0)
            yield slide_numbers(HIGH, "Largest ε an owner may sell", was_high, high, ends)

    def _owner_controls(self) -> Iterator[Control]:
        was = self.opened.behaviour
        kind = self.at(BEHAVIOUR, was)
        yield make_choice(BEHAVIOUR, "How owners behave", self.opened.behaviours, kind, was)
        yield from behaviour_controls(kind, dict(self.moved))
        order = self.opened.scenario.market.activation
        now = self.at(ORDER, order)
        yield make_choice(ORDER, "Who moves when", self.opened.orders, now, order)

    def _numbers(
        self, name: str, title: str, was: float, *, group: str = "", paid: bool = True
    ) -> Control:
        show = in_money({"currency": self.opened.scenario.currency}) if paid else format_number
        return slide_numbers(name, title, was, self.at(name, was), show=show, group=group)

    @property
    def command(self) -> str:
        """The same market from the command line."""
        parts = [part for one in self.overrides for part in ("--set", one)]
        return shlex.join(["dpmarket", "run", self.opened.source, *parts])

    def toml(self) -> list[tuple[str, bool]]:
        """Write the scenario line by line, with whether the line is other than as opened."""
        before = self.opened.scenario.to_toml(absolute=True)
        return mark_changes(before, self.scenario.to_toml(absolute=True))


def scale_value(base: Any, given: float) -> Any:
    """Return the given number; where the base is a list, the base times it."""
    if np.ndim(base) == 0:
        return given
    return [float(f"{given * value:.6g}") for value in base]


def mark_changes(before: str, now: str) -> list[tuple[str, bool]]:
    """Split a TOML text into lines, each with whether another lacks it under the same table.

    >>> mark_changes("a = 1\\n[t]\\nb = 2", "a = 2\\n[t]\\nb = 2")
    [('a = 2', True), ('[t]', False), ('b = 2', False)]
    """
    known = set(_place_lines(before))
    return [(line, bool(line) and (at, line) not in known) for at, line in _place_lines(now)]


def _place_lines(text: str) -> Iterator[tuple[str, str]]:
    table = ""
    for line in text.splitlines():
        if line.startswith("["):
            table = line
        yield table, line
