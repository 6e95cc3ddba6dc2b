"""Several learners: rivals who buy from the same owners, among whom owners divide their budgets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from learning.errors import InputError
from learning.phrases import format_value
from scenarios.features.base import Feature, Topic, rows_of
from scenarios.schema.fields import Text, quote_choices
from scenarios.schema.kinds import EachTable, NamedTable
from scenarios.schema.market import FIRST, Buyer

if TYPE_CHECKING:
    from scenarios.run import Loop, Run
    from scenarios.schema.scenario import Scenario

ACTIVATIONS = ("sequential", "simultaneous")  # of owners who divide their budgets


class Rival(Buyer):
    """A further learner, who buys from the same owners: it has the same public rows, and trains as
    [learning] says."""

    name: Text = Field(description="Name the learner.")
    """What it is called."""
    policy: Annotated[Any, NamedTable("policy")] | None = None
    """What it pays; as `[policy]` unless given."""


class Learners(Feature):
    """Further learners on the same market."""

    key = "learners"
    title = "several learners"
    table = Annotated[Any, EachTable("learners", Rival)]
    example = ("learners=[{name='other', value=50.0}]",)
    result = "learners"
    sentence = "learners.txt.j2"
    topic = Topic("learners", 16, "learners", "Who buys", 5)
    owners_alone = False
    excludes = {
        "unions": "because each owner divides its own budget among learners",
        "owners.benefit": "because owners use one model, not two",
        "owners.report": "because each learner would ask for one",
        "audit": "because owners with several learners count as honest",
        "owners.cost_at": "because no claim covers how their noise adds up",
        "policy.user": "because it would have to see each learner separately",
        "participation": "because it assumes that owners stay",
    }

    def check(self, scenario: Scenario) -> None:
        """Refuse learners of one name, and an order of moves in which budgets cannot be divided."""
        names = [FIRST, *(one.name for one in scenario.learners)]
        twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
        if twice is not None:
            of_first = f"{format_value(FIRST)}, the name of the one in [learner]"
            found = of_first if twice == FIRST else f"{format_value(twice)} twice"
            raise InputError("learners.name", "must differ from learner to learner", found)
        if scenario.market.activation not in ACTIVATIONS:
            rule = f"must be {quote_choices(ACTIVATIONS)} with several learners"
            raise InputError("market.activation", rule, format_value(scenario.market.activation))

    def in_order(
        self, scenario: Scenario, names: Sequence[str], left_out: Sequence[str]
    ) -> tuple[Rival, ...]:
        """The rivals with what their policies have for each owner in the order of the owners."""
        rivals = []
        for number, rival in enumerate(scenario.learners, 1):
            policy = rival.policy
            if policy is not None:
                policy = policy.listed(names, f"learners.{number}.policy", left_out)
            rivals.append(rival.model_copy(update={"policy": policy}))
        return tuple(rivals)

    def facts(self, run: Run, loop: Loop) -> list[dict[str, Any]]:
        """Outcome of each learner, by its own column of budgets and payments.

        Returns
        -------
        learners[].name : The learner, `learner` the one of `[learner]`; learners is null where it
            is alone. Where there are several, the parts above tell of the first, and owners,
            equilibrium and welfare of all.
        learners[].policy : What it pays: the resolved table.
        learners[].asks : Whether it asks anything at these budgets.
        learners[].relative_fitness : ψ of its model, by its forecast.
        learners[].interval : The interval of that.
        learners[].horizon : T, its rounds.
        learners[].trained_fitness : ψ of its trained models, their mean; null without training.
        learners[].agrees : Whether that agrees with its forecast.
        learners[].trained_gain : What it gained after paying, over its trainings, as
            `validation.money.learner_surplus`.
        learners[].value : Money per unit of ψ.
        learners[].terms : As `learner.terms`.
        learners[].gross_value : Money that buying is worth to it, by its forecast.
        learners[].payments : Money that it pays.
        learners[].surplus : What is left of one less the other.
        learners[].gain : The same over possible worlds, as `learner.gain`.
        learners[].buying_pays : Whether buying is said to pay it: as `learner.buying_pays`.
        learners[].budget : Money that it can spend, if stated.
        learners[].within_budget : Whether it stays within; null where no budget is stated.
        learners[].owners[].name : An owner.
        learners[].owners[].epsilon : The ε that it sells to this learner.
        learners[].owners[].payment : Money that this learner pays it.
        """
        assert run.contest is not None
        runs = zip(run.contest.names, (run, *run.contest.others), strict=True)
        return [describe_rival(one, name, *loop.describe(one)) for name, one in runs]


ACCOUNT = (
    "value",
    "terms",
    "gross_value",
    "payments",
    "surplus",
    "gain",
    "buying_pays",
    "budget",
    "within_budget",
)


def describe_rival(
    run: Run,
    name: str,
    account: Mapping[str, Any],
    forecast: Mapping[str, Any],
    measured: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Outcome of one of several learners.

    Parameters
    ----------
    account, forecast: of this learner, as a result holds them.
    measured: its validation; None without training.
    """
    sold = {"name": run.data.names, "epsilon": run.epsilon, "payment": run.equilibrium.payments}
    trained = dict.fromkeys(("trained_fitness", "agrees", "trained_gain"))
    if measured is not None:
        trained = {
            "trained_fitness": measured["relative_fitness"]["mean"],
            "agrees": measured["agrees"],
            "trained_gain": measured["money"]["learner_surplus"],
        }
    return {
        "name": name,
        "policy": run.scenario.policy.model_dump(),
        "asks": run.asks,
        **{key: forecast[key] for key in ("relative_fitness", "interval", "horizon")},
        **trained,
        **{key: account[key] for key in ACCOUNT},
        "owners": rows_of(sold),
    }
