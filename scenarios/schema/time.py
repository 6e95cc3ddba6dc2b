"""The [time] table: a market that repeats over periods, who is in it when, and budgets that last for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge, Le
from pydantic import Field, model_validator

from learning.declaration import Count, NamedPerOwnerRule, NonNegative
from learning.errors import InputError
from learning.privacy.lifetime import Composition, Saving
from learning.privacy.mechanisms import BEST
from scenarios.schema.fields import Names, Section, Text, nearest, show
from scenarios.schema.kinds import each

MOST_PERIODS = 1000


class Entry(Section):
    """An owner who joins the market after its first period."""

    owner: Text = Field(description="Name the owner.")
    """The owner's name."""
    period: Annotated[int, Ge(2)] = Field(description="Give the period in which it joins, from 2.")
    """The period in which it joins."""


class Time(Section):
    """A market that repeats: owners join, leave and come back, records grow, and what was sold stays spent."""

    periods: Annotated[int, Ge(1), Le(MOST_PERIODS)] = Field(description="Give the number of periods.")
    """How often the market is held."""
    entry: Annotated[Any, each(Entry, "time.entry")] = None
    arrivals: NonNegative = 0.0
    """How often a period each owner who waits outside would join, by a Poisson clock of its own; with `first`."""
    first: Names | None = None
    """The owners who are there from the first period; all without an `entry` unless given. The others wait outside."""
    patience: Count | None = None
    """Periods in a row with less than its outside option after which an owner leaves; nobody leaves unless given."""
    returns: bool = True
    """Whether who has left comes back once that would pay, the others as they were in the period before."""
    lifetime_epsilon: Annotated[Any, NamedPerOwnerRule(strict=True)] = None
    """The ε that an owner may sell over all periods, or of each record with `fresh`: what is left is the most it may sell."""
    saving: Saving = "none"
    """What an owner sells of what is left: all of it, if that pays now, or at most an equal part for each period left."""
    composition: Composition = "sequential"
    """What each period asks about: all records so far, whose budgets add up, or only records that were never asked about."""
    growth: NonNegative = 0.0
    """How much each owner's records grow, as a share a period; in the last period it has all that the table holds."""
    arrived: Text | None = None
    """The column that says when a record arrived: its values in order are the first, the second, ... period; or `growth`."""

    @property
    def arriving(self) -> bool:
        """Whether records arrive between periods."""
        return self.growth > 0 or self.arrived is not None

    @property
    def planned(self) -> int:
        """How often the learner plans at most: once for each set of records."""
        return self.periods if self.arriving else 1

    @model_validator(mode="after")
    def _consistent(self) -> Time:
        if self.growth and self.arrived is not None:
            raise InputError("time.growth", "must be left out with time.arrived", f"{self.growth:g}", "Leave out one.")
        if self.composition == "fresh" and self.periods > 1 and not self.arriving:
            rule = (
                'must be "sequential" where no records arrive: none would be left to ask about after the first period'
            )
            raise InputError("time.composition", rule, show("fresh"), "Set time.growth or time.arrived.")
        if self.saving == "even" and (self.lifetime_epsilon is None or self.composition == "fresh"):
            rule = 'needs time.lifetime_epsilon and composition = "sequential": there is nothing to save otherwise'
            raise InputError("time.saving", rule, show("even"), "Leave it out.")
        if self.arrivals and self.first is None:
            rule = "needs time.first: who is not in it, and has no entry, waits outside and joins by this rate"
            raise InputError("time.arrivals", rule, f"{self.arrivals:g} without it", "Set time.first.")
        named = [*(self.first or ()), *(one.owner for one in self.entry or ())]
        twice = next((name for i, name in enumerate(named) if name in named[:i]), None)
        if twice is not None:
            raise InputError("time.entry", "must name each owner once, and none of time.first", show(twice))
        late = next((one.period for one in self.entry or () if one.period > self.periods), None)
        if late is not None:
            raise InputError("time.entry.period", f"must be at most time.periods, {self.periods}", late)
        return self

    def joins(self, names: Sequence[str]) -> np.ndarray:
        """The period in which each owner joins (n_owners,); 0 of those who wait outside and join by `arrivals`.

        Raises
        ------
        InputError
            If an owner is nobody's name, or somebody could never join.
        """
        stated = {one.owner: one.period for one in self.entry or ()} | dict.fromkeys(self.first or (), 1)
        stranger = next((name for name in stated if name not in names), None)
        if stranger is not None:
            key = "time.first" if stranger in (self.first or ()) else "time.entry"
            raise InputError(key, "must name owners", show(stranger), nearest(stranger, list(names)))
        outside = [name for name in names if name not in stated] if self.first is not None else []
        if bool(outside) != bool(self.arrivals):
            found = f"{self.arrivals:g} with {f'{show(outside[0])} outside' if outside else 'nobody outside'}"
            rule = "must be above 0 where owners are neither in time.first nor have an entry, and only there"
            raise InputError("time.arrivals", rule, found)
        return np.array([0 if name in outside else stated.get(name, 1) for name in names])


def check_repeats(scenario: Any) -> None:
    """Refuse what is not known of markets that repeat.

    Parameters
    ----------
    scenario : the scenario, whose tables have been read.

    Raises
    ------
    InputError
    """
    learning, owners, overlap = scenario.learning, scenario.owners, scenario.learning.overlap
    refused = [
        ("unions", bool(scenario.unions), "it", "whose members would have to come and go together"),
        ("network", scenario.network is not None, "it", "whose nodes are the owners of one period"),
        ("learners", bool(scenario.learners), "it", "whose owners sell to one learner"),
        ("externalities", scenario.externalities is not None, "it", "whose owners have nothing in common"),
        ("owners.model_goes_to", owners.model_goes_to == "all", show("all"), "whose owners lose the model by leaving"),
        ("owners.report", owners.report > 0, f"{owners.report:g}", "where it would be spent in every period"),
        ("owners.cost_at", owners.cost_at != "sold", show(owners.cost_at), "where budgets are counted as sold"),
        ("learning.accounting", learning.accounting == "printed", show("printed"), "whose periods compose"),
        *(
            (f"learning.{key}", getattr(learning, key) == BEST, show(BEST), "whose training is one over all periods")
            for key in ("algorithm", "clipping", "mechanism")
        ),
        ("market.participation", scenario.market.participation == "free", show("free"), "where time.patience says it"),
    ]
    if scenario.time.composition == "fresh":
        why = f"with composition = {show('fresh')}, whose claims are of records that are asked about once"
        refused += [
            ("learning.overlap", overlap > 1, f"{overlap}", why),
            ("data.person", scenario.data.person is not None, "it", why),
        ]
    for key, given, found, why in refused:
        if given:
            raise InputError(key, f"must be left out with [time], {why}", found, "Leave one of them out.")
