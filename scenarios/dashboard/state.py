"""A market as the sliders have it: a scenario that was opened, and what was moved since; pure, and without a browser."""

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
from scenarios.dashboard import behaving
from scenarios.dashboard.behaving import BEHAVIOUR, OPENED, RATIONAL, SHARE
from scenarios.dashboard.stops import Control, choice, factors, numbers
from scenarios.features.pricing import money_key
from scenarios.planning import Prepared, prepare
from scenarios.report.wording import format_money
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
    _allowed: dict[str, bool] = field(default_factory=dict, repr=False)

    def planned(self, scenario: Scenario) -> Prepared:
        """The plan of a scenario that sliders changed: the same unless owners may choose other budgets than before."""
        bounds = repr(scenario.owners.epsilon)
        if bounds == repr(self.scenario.owners.epsilon):
            return self.prepared
        if bounds not in self._plans:
            self._plans[bounds] = prepare(scenario, self.prepared.data)
        return self._plans[bounds]

    def allows(self, change: str) -> bool:
        """Whether a change of the scenario makes one that can be."""
        if change not in self._allowed:
            try:
                change_scenario(self.scenario, [change])
                self._allowed[change] = True
            except InputError:
                self._allowed[change] = False
        return self._allowed[change]

    @property
    def title(self) -> str:
        """What the page is called."""
        return self.scenario.title or "A data market"

    @cached_property
    def prices(self) -> np.ndarray:
        """What privacy costs each owner per unit, (n_owners,)."""
        data = self.prepared.data
        return values_per_owner(
            data.in_order(self.scenario).owners.cost.price, len(data.owners), "owners.cost.price"
        )

    @cached_property
    def bounds(self) -> tuple[float, float] | None:
        """The least and the largest budget of every owner; None where they differ."""
        data = self.prepared.data
        ends = values_per_owner(
            data.in_order(self.scenario).owners.epsilon, len(data.owners), "owners.epsilon"
        )
        return None if np.any(ends != ends[0]) else (float(ends[0, 0]), float(ends[0, 1]))


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
    """What the sliders of an opened scenario stand at.

    Parameters
    ----------
    opened: the scenario.
    moved: by control, what it was moved to; as opened where it is not named.
    """

    opened: Opened
    moved: tuple[tuple[str, Any], ...] = ()

    def at(self, name: str, otherwise: Any = None) -> Any:
        """What a control was moved to."""
        return dict(self.moved).get(name, otherwise)

    def to(self, name: str, value: Any) -> Sliders:
        """The sliders with one of them moved; back where it was as opened, it counts as not moved."""
        kept = {key: given for key, given in self.moved if key != name}
        if name == BEHAVIOUR:
            kept = {
                key: given
                for key, given in kept.items()
                if key.split(".")[0] not in (BEHAVIOUR, SHARE)
            }
        if name == POLICY:
            kept.pop(MONEY, None)
            same = value == self.opened.scenario.policy.kind
            return replace(
                self,
                moved=tuple(kept.items() if same else {POLICY: self._offer(value), **kept}.items()),
            )
        where = next((one for one in self.controls if one.name == name), None)
        back = where is not None and where.was is not None and value == where.stops[where.was]
        return replace(self, moved=tuple((kept if back else kept | {name: value}).items()))

    def _offer(self, kind: str) -> dict[str, Any]:
        """The table of a policy of another kind that pays about as much in all as the one in use."""
        run = carry_out(self.scenario, self.prepared, training=False, others=False)
        spending = float(run.accounts.payments.sum())
        new = of_kind(self.scenario, kind, run.game)
        if spending > 0 and money_key(new):
            new = at_spending(new, self.prepared, spending, settled=solved, close=NEAR).scenario
        table = {key: given for key, given in new.policy.model_dump().items() if given is not None}
        key = money_key(new)
        if key and np.ndim(table[key]) == 0:
            table[key] = float(f"{table[key]:.3g}")
        return table

    @cached_property
    def overrides(self) -> list[str]:
        """What was moved, as ``--set`` takes it."""
        return [f"{key}={toml_value(value)}" for key, value in self._changes()]

    def _changes(self) -> Iterator[tuple[str, Any]]:
        opened = self.opened.scenario
        given = dict(self.moved)
        table = given.get(POLICY)
        if table:  # another kind first: its table begins anew there
            yield from (
                (f"policy.{key}", value) for key, value in {"kind": table["kind"], **table}.items()
            )
        if MONEY in given:
            yield f"policy.{self.money_key}", scaled(self._money, given[MONEY])
        if VALUE in given:
            yield (
                ("learner.value" if opened.learner.worth is None else "learner.value.money"),
                given[VALUE],
            )
        if any(key.split(".")[0] == PRICE for key in given):
            yield "owners.cost.price", self._prices()
        if self.opened.bounds and (LOW in given or HIGH in given):
            yield (
                "owners.epsilon",
                [given.get(LOW, self.opened.bounds[0]), given.get(HIGH, self.opened.bounds[1])],
            )
        if BEHAVIOUR in given:
            yield "behaviours", behaving.table(given)
        if ORDER in given:
            yield "market.activation", given[ORDER]

    def _prices(self) -> Any:
        own = [self.at(f"{PRICE}.{i}", float(price)) for i, price in enumerate(self.opened.prices)]
        found = [float(f"{self.at(PRICE, 1.0) * price:.6g}") for price in own]
        return found[0] if len(set(found)) == 1 else found

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario as the sliders have it."""
        return (
            change_scenario(self.opened.scenario, self.overrides)
            if self.moved
            else self.opened.scenario
        )

    @property
    def prepared(self) -> Prepared:
        """Its records and plan."""
        return self.opened.planned(self.scenario)

    @property
    def money_key(self) -> str:
        """The number of the policy that payments rise with; empty where there is none."""
        kind = self.at(POLICY, {"kind": self.opened.scenario.policy.kind})["kind"]
        return str(getattr(KINDS["policy"][kind], "money", ""))

    @property
    def _money(self) -> Any:
        """That number as the policy was opened or offered."""
        table = self.at(POLICY)
        return (
            table[self.money_key] if table else getattr(self.opened.scenario.policy, self.money_key)
        )

    @cached_property
    def controls(self) -> tuple[Control, ...]:
        """The controls, in the order in which they are shown."""
        return tuple(self._controls())

    def _controls(self) -> Iterator[Control]:
        opened = self.opened.scenario
        kinds = [
            kind for kind, policy in POLICIES.items() if policy.usual or kind == opened.policy.kind
        ]
        kind = self.at(POLICY, {"kind": opened.policy.kind})["kind"]
        if kind in kinds:
            yield choice(POLICY, "Policy", kinds, kind, opened.policy.kind)
        if self.money_key:
            yield self._money_control()
        worth = opened.learner.value if opened.learner.worth is None else opened.learner.worth.money
        if worth:
            yield self._numbers(VALUE, "Worth of a better model", float(worth))
        yield from self._price_controls()
        if self.opened.bounds:
            low, high = self.opened.bounds
            at = self.at(LOW, low), self.at(HIGH, high)
            yield numbers(
                LOW, "Least ε an owner may sell", low, at[0], least=1e-3, most=min(1.0, at[1] / 2)
            )
            yield numbers(
                HIGH,
                "Largest ε an owner may sell",
                high,
                at[1],
                least=max(0.1, 2 * at[0]),
                most=100.0,
            )
        kind, was = self._behaviour
        kinds = [
            one
            for one in (was, *BEHAVIOURS)
            if one in (was, RATIONAL) or self.opened.allows(_behaving(one))
        ]
        yield choice(BEHAVIOUR, "How owners behave", list(dict.fromkeys(kinds)), kind, was)
        yield from behaving.controls(kind, dict(self.moved))
        orders = [name for name in ACTIVATIONS if self.opened.allows(f"market.activation={name}")]
        yield choice(
            ORDER,
            "Who moves when",
            orders,
            self.at(ORDER, opened.market.activation),
            opened.market.activation,
        )

    def _money_control(self) -> Control:
        base = self._money
        title = f"Its {self.money_key}"
        if np.ndim(base) == 0:
            return self._numbers(
                MONEY, title, float(base), paid=self.money_key in ("budget", "price")
            )
        return factors(MONEY, f"{title}, times", self.at(MONEY, 1.0))

    def _price_controls(self) -> Iterator[Control]:
        names = self.opened.prepared.data.names
        prices = self.opened.prices
        if not prices.any():
            return
        yield factors(PRICE, "What privacy costs all owners, times", self.at(PRICE, 1.0))
        for i in range(len(names)) if 1 < len(names) <= ONE_BY_ONE else ():
            if prices[i] > 0:
                yield self._numbers(
                    f"{PRICE}.{i}",
                    names[i],
                    float(prices[i]),
                    group="What privacy costs each owner",
                )

    def _numbers(
        self, name: str, title: str, was: float, *, group: str = "", paid: bool = True
    ) -> Control:
        currency = self.opened.scenario.currency or ""
        told = (lambda value: format_money(value, currency)) if paid else None
        return numbers(name, title, was, self.at(name, was), group=group, told=told)

    @property
    def _behaviour(self) -> tuple[str, str]:
        """How owners behave now, and as opened."""
        was = OPENED if self.opened.scenario.behaviours else RATIONAL
        return self.at(BEHAVIOUR, was), was

    @property
    def command(self) -> str:
        """The same market from the command line."""
        parts = [part for one in self.overrides for part in ("--set", one)]
        return shlex.join(["dpmarket", "run", self.opened.source, *parts])

    def toml(self) -> list[tuple[str, bool]]:
        """The scenario line by line, with whether the line is other than as opened."""
        return list(
            marked(
                self.opened.scenario.to_toml(absolute=True), self.scenario.to_toml(absolute=True)
            )
        )


def _behaving(kind: str) -> str:
    return f"behaviours={toml_value(behaving.table({BEHAVIOUR: kind}))}"


def scaled(base: Any, given: float) -> Any:
    """A number moved to; or numbers all so many times as large."""
    return given if np.ndim(base) == 0 else [float(f"{given * value:.6g}") for value in base]


def marked(before: str, now: str) -> Iterator[tuple[str, bool]]:
    """Lines of a TOML text, each with whether another text lacks it under the same table.

    >>> list(marked("a = 1\\n[t]\\nb = 2", "a = 2\\n[t]\\nb = 2"))
    [('a = 2', True), ('[t]', False), ('b = 2', False)]
    """

    def placed(text: str) -> Iterator[tuple[str, str]]:
        table = ""
        for line in text.splitlines():
            table = line if line.startswith("[") else table
            yield table, line

    known = set(placed(before))
    return ((line, bool(line) and (table, line) not in known) for table, line in placed(now))
