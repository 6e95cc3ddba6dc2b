"""Time: a market that repeats over periods, with entry, exit and lifetime budgets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from annotated_types import Ge, Le
from pydantic import Field, model_validator

from learning.declaration import Count, NamedPerOwnerRule, NonNegative
from learning.errors import InputError
from learning.phrases import format_value
from learning.privacy.lifetime import Composition, Saving
from market.analysis.welfare import learner_surplus
from scenarios.features.base import Feature, Topic, rows_of
from scenarios.schema.fields import Names, Section, Text, check_known
from scenarios.schema.kinds import EachTable
from scenarios.summary.verdict import forecast_agrees, summarise_runs

if TYPE_CHECKING:
    from scenarios.run import History, Loop, Run
    from scenarios.schema.scenario import Scenario

MOST_PERIODS = 1000


class Entry(Section):
    """An owner who joins the market after its first period."""

    owner: Text = Field(description="Name the owner.")
    """The owner's name."""
    period: Annotated[int, Ge(2)] = Field(description="Give the period in which it joins, from 2.")
    """The period in which it joins."""


class Time(Section):
    """A market that repeats: owners join, leave and come back, records grow, and what was sold
    stays spent."""

    periods: Annotated[int, Ge(1), Le(MOST_PERIODS)] = Field(
        description="Give the number of periods."
    )
    """Number of periods."""
    entry: Annotated[Any, EachTable("time.entry", Entry)] = None
    arrivals: NonNegative = 0.0
    """The rate per period at which each owner who waits outside joins, by a Poisson clock of its
    own; with `first`."""
    first: Names | None = None
    """The owners who are there from the first period; all without an `entry` unless given. The
    others wait outside."""
    patience: Count | None = None
    """Periods in a row with less than its outside option after which an owner leaves; nobody leaves
    unless given."""
    returns: bool = True
    """Whether owners who have left come back once that would pay them, were the others to sell as
    in the period before."""
    lifetime_epsilon: Annotated[Any, NamedPerOwnerRule(strict=True)] = None
    """The ε that an owner may sell over all periods, or of each record with `fresh`: what is left
    is the most it may sell."""
    saving: Saving = "none"
    """Limit on what an owner sells of its remaining budget: none, or an equal part for each
    remaining period."""
    composition: Composition = "sequential"
    """Records of each period: all records so far, whose budgets add up, or only records that
    were never used."""
    growth: NonNegative = 0.0
    """Growth of each owner's records, as a fraction a period; in the last period it has all its
    rows of the table."""
    arrived: Text | None = None
    """The column that says when a record arrived: its values in order are the first, the second,
    ... period; or `growth`."""

    @property
    def arriving(self) -> bool:
        """Test whether records arrive between periods."""
        return self.growth > 0 or self.arrived is not None

    @property
    def planned(self) -> int:
        """Largest number of plans that the learner makes: one for each set of records."""
        return self.periods if self.arriving else 1

    @model_validator(mode="after")
    def _check_consistent(self) -> Time:
        if self.growth and self.arrived is not None:
            rule = "must be left out with time.arrived"
            raise InputError("time.growth", rule, f"{self.growth:g}", "Leave out one of the two.")
        if self.composition == "fresh" and self.periods > 1 and not self.arriving:
            left = "none would be left to ask about after the first period"
            rule = f'must be "sequential" if no records arrive: {left}'
            remedy = "Set time.growth or time.arrived."
            raise InputError("time.composition", rule, format_value("fresh"), remedy)
        if self.saving == "even" and (self.lifetime_epsilon is None or self.composition == "fresh"):
            left = "there is nothing to save otherwise"
            rule = f'needs time.lifetime_epsilon and composition = "sequential": {left}'
            raise InputError("time.saving", rule, format_value("even"), "Leave it out.")
        if self.arrivals and self.first is None:
            who = "who is not in it, and has no entry, waits outside and joins by this rate"
            found = f"{self.arrivals:g} without it"
            raise InputError("time.arrivals", f"needs time.first: {who}", found, "Set time.first.")
        entries = self.entry or ()
        named = [*(self.first or ()), *(one.owner for one in entries)]
        twice = next((name for i, name in enumerate(named) if name in named[:i]), None)
        if twice is not None:
            rule = "must name each owner once, and none of time.first"
            raise InputError("time.entry", rule, format_value(twice))
        late = next((one.period for one in entries if one.period > self.periods), None)
        if late is not None:
            rule = f"must be at most time.periods, {self.periods}"
            raise InputError("time.entry.period", rule, late)
        return self

    def joins(self, names: Sequence[str]) -> np.ndarray:
        """Period in which each owner joins (n_owners,); 0 of those who join by `arrivals`.

        Raises
        ------
        InputError
            If an owner is nobody's name, or somebody could never join.
        """
        first = self.first or ()
        stated = {one.owner: one.period for one in self.entry or ()} | dict.fromkeys(first, 1)
        check_known("time.first", first, names)
        check_known("time.entry", stated, names)
        outside = [name for name in names if name not in stated] if self.first is not None else []
        if bool(outside) != bool(self.arrivals):
            who = format_value(outside[0]) if outside else "nobody"
            found = f"{self.arrivals:g} with {who} outside"
            rule = "must be above 0 if an owner is neither in time.first nor has an entry"
            raise InputError("time.arrivals", f"{rule}, and 0 otherwise", found)
        return np.array([0 if name in outside else stated.get(name, 1) for name in names])


class Periods(Feature):
    """A market held over several periods."""

    key = "time"
    title = "[time]"
    table = Time | None
    example = ("time={periods=2}",)
    result = "time"
    sentence = "time.txt.j2"
    topic = Topic("time", 15, "time", "From period to period", 8)
    excludes = {
        "unions": "because their members would have to come and go together",
        "network": "because its nodes are the owners of one period",
        "learners": "because owners then sell to one learner",
        "externalities": "because owners over time count as independent",
        "public_good": "because owners would lose the model by leaving",
        "owners.report": "because it would be spent in every period",
        "owners.cost_at": "because budgets over time count as sold",
        "learning.accounting": "because its periods compose",
        "learning.algorithm=best": "because it trains once over all periods",
        "learning.clipping=best": "because it trains once over all periods",
        "learning.mechanism=best": "because it trains once over all periods",
        "participation": "because time.patience states who leaves",
    }

    def check_owners(self, scenario: Scenario, names: Sequence[str]) -> None:
        """Refuse entries of nobody, and owners who could never join."""
        scenario.time.joins(names)

    def in_order(self, scenario: Scenario, names: Sequence[str], left_out: Sequence[str]) -> Time:
        """The table with a lifetime budget for each owner in the order of the owners."""
        return scenario.time.listed(names, "time", left_out)

    def facts(self, run: Run, loop: Loop) -> dict[str, Any]:
        """All periods; the result itself is of ``shown``, the last in which any owner was asked.

        Returns
        -------
        time.shown : The period that all other parts of the result tell of, but for the claims: the
            last in which anybody was asked anything; time is null where the market is held once.
        time.composition : What each period asks about: `sequential` all records so far, `fresh`
            those never asked about before.
        time.saving : What owners sell of what is left to them.
        time.patience : Periods in a row below its outside option after which an owner leaves; null
            where nobody does.
        time.plans : How often the learner planned anew: once for each set of records.
        time.periods[].period : The period, from 1.
        time.periods[].present : How many owners are in the market.
        time.periods[].selling : How many of them are asked and answer.
        time.periods[].joined : Names of owners who came, or came back, as it began.
        time.periods[].left : Names of owners who left as it began.
        time.periods[].records : Records that were asked about.
        time.periods[].payments : Money paid in it.
        time.periods[].converged : Whether it settled in a certified equilibrium.
        time.periods[].max_regret : Money that some owner could still gain by moving alone in it.
        time.periods[].asks : Whether the learner asks anything.
        time.periods[].relative_fitness : ψ of the model that it buys, as forecast.
        time.periods[].interval : The forecast's interval.
        time.periods[].outside : ψ of the learner's own model.
        time.periods[].trained : ψ of the trained models, their mean; null without training.
        time.periods[].trained_std_error : Its standard error.
        time.periods[].agrees : Whether the forecast held.
        time.periods[].learner_surplus : What the model is worth to the learner, as forecast, less
            what it pays.
        time.owners[].name : The owner.
        time.owners[].present : Whether it was in the market, period by period.
        time.owners[].epsilon : The ε that it sold, period by period.
        time.owners[].spent : The ε that its records have spent over all periods: those asked most
            often.
        time.owners[].delta : The δ that goes with this ε.
        time.owners[].lifetime : The ε that it may sell in all; null without a limit.
        time.owners[].remaining : The ε that it could still sell; null without a limit.
        time.owners[].payment : Money that it was paid over all periods.
        time.owners[].surplus : Its surplus over all periods.
        time.payments : Money paid over all periods.
        time.learner_surplus : The learner's surplus over all periods, as forecast.
        """
        assert run.history is not None
        past = run.history
        periods = [describe_period(one) for one in past.periods]
        return {
            "shown": past.shown,
            "composition": past.lifetime.composition,
            "saving": past.lifetime.saving,
            "patience": past.rules.patience,
            "plans": past.plans,
            "periods": periods,
            "owners": describe_owners(run, past),
            "payments": sum(one["payments"] for one in periods),
            "learner_surplus": sum(one["learner_surplus"] for one in periods),
        }


def collect_outcome(run: Run) -> dict[str, Any]:
    """Outcome of one period: equilibrium, purchase, and training."""
    game = run.game
    epsilon = run.epsilon
    forecast = run.planner.forecast
    interval = run.prediction.interval()
    outcome = {
        "records": run.data.sizes,
        "payments": game.payments(epsilon),
        "privacy_costs": game.costs(epsilon) - game.taxes(epsilon),
        "converged": run.equilibrium.converged,
        "max_regret": run.equilibrium.max_regret,
        "asks": run.asks,
        "relative_fitness": forecast.at(epsilon),
        "interval": list(interval),
        "outside": forecast.outside,
        **dict.fromkeys(("trained", "trained_std_error", "agrees")),
        "learner_surplus": learner_surplus(game, epsilon),
    }
    if run.trained is not None:
        runs = summarise_runs(run.fitness)
        outcome["trained"] = runs["mean"]
        outcome["trained_std_error"] = runs["std_error"]
        outcome["agrees"] = forecast_agrees(runs, interval)
    return outcome


def describe_period(one: Any) -> dict[str, Any]:
    """One period as a result holds it."""
    by_owner = ("records", "payments", "privacy_costs")
    facts = {name: value for name, value in one.outcome.items() if name not in by_owner}
    return {
        "period": one.number,
        "present": int(one.present.sum()),
        "selling": int((one.sold > 0).sum()),
        "joined": list(one.joined),
        "left": list(one.left),
        "records": int(one.outcome["records"][one.sold > 0].sum()),
        "payments": float(one.outcome["payments"].sum()),
        **facts,
    }


def describe_owners(run: Run, past: History) -> list[dict[str, Any]]:
    """Sales, spending and surplus of each owner over all periods."""
    sold = past.sold
    last = past.periods[-1]
    names = run.data.names
    columns = {
        "name": names,
        "present": np.array([one.present for one in past.periods], dtype=bool).T,
        "epsilon": sold.T,
        "spent": last.total,
        "delta": past.lifetime.delta(sold),
        "lifetime": np.broadcast_to(np.asarray(past.lifetime.limit, dtype=float), len(names)),
        "remaining": last.remaining,
        "payment": sum(one.outcome["payments"] for one in past.periods),
        "surplus": sum(one.surplus for one in past.periods),
    }
    return rows_of(columns)


def period_rows(run: Run) -> list[dict[str, Any]]:
    """Rows of periods.csv, an owner in a period each; an empty cell where there is no limit."""
    if run.history is None:
        return []
    rows = []
    for one in run.history.periods:
        remaining = one.remaining.astype(object)
        remaining[~np.isfinite(one.remaining)] = None
        columns = {
            "period": [one.number] * len(run.data.names),
            "owner": run.data.names,
            "present": one.present,
            "records": one.outcome["records"],
            "epsilon": one.sold,
            "spent": one.total,
            "remaining": remaining,
            "payment": one.outcome["payments"],
            "privacy_cost": one.outcome["privacy_costs"],
            "surplus": one.surplus,
        }
        rows += rows_of(columns)
    return rows
