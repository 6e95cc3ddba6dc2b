"""Settings of other tables that exclude each other, or that features exclude."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from learning.errors import InputError
from learning.phrases import format_value
from learning.privacy.mechanisms import BEST
from learning.training.algorithms import ALGORITHMS
from learning.training.conduct import HONEST
from scenarios.features.base import Choice, value_of
from scenarios.schema.fields import OPTIMAL, quote_choices
from scenarios.schema.kinds import KINDS, make_declared

PERSONS = "data.rows_per_person"
GAUSSIAN = ("learning.mechanism=gaussian", "learning.delta=1e-6")


class Setting(Choice):
    """A value of a key that does not go with everything else; see `Choice` for the attributes.

    Parameters
    ----------
    key, example, excludes, refusal : as of `Choice`.
    title : as of `Choice`; by default the key.
    test : tells whether a scenario has the setting; by default, whether its key holds anything.
    """

    def __init__(
        self,
        key: str,
        *example: str,
        title: str = "",
        excludes: Mapping[str, str] = Choice.excludes,
        test: Callable[[Any], bool] | None = None,
        refusal: str = Choice.refusal,
    ) -> None:
        self.key = key  # type: ignore[misc]
        self.title = title or key  # type: ignore[misc]
        self.example = example  # type: ignore[misc]
        self.excludes = excludes  # type: ignore[misc]
        self.refusal = refusal  # type: ignore[misc]
        self.test = test or super().is_used

    def is_used(self, scenario: Any) -> bool:
        """Test whether a scenario has the setting."""
        return self.test(scenario)


def equals(key: str, value: Any) -> Callable[[Any], bool]:
    """Test whether a key of a scenario holds a value."""
    return lambda scenario: value_of(scenario, key) == value


def is_additive(scenario: Any) -> bool:
    """Test whether owners meet in sums alone under the policy of a scenario."""
    return bool(getattr(KINDS["policy"][scenario.policy.kind], "additive", False))


def has_user_policy(scenario: Any) -> bool:
    """Test whether any learner pays what a function of the user's says."""
    rivals = (one.policy for one in scenario.learners or () if one.policy)
    return any(policy.kind == "user" for policy in (scenario.policy, *rivals))


def deviates(scenario: Any) -> bool:
    """Test whether any owners answer otherwise than they sold."""
    return any(make_declared(table).conduct != HONEST for table in scenario.behaviours or ())


def sees_neighbours(scenario: Any) -> bool:
    """Test whether any owners see the budgets of their neighbours alone."""
    return any(make_declared(table).watches for table in scenario.behaviours or ())


class LossReports(Choice):
    """Noisy reports of the owners' losses under the learner's own model, before trading."""

    key = "owners.report"
    title = "owners.report"
    example = ("owners.report=0.005",)
    excludes = {PERSONS: "because a loss report protects single records"}

    def is_used(self, scenario: Any) -> bool:
        """Test whether owners report."""
        return bool(scenario.owners.report > 0)

    def check(self, scenario: Any) -> None:
        """Refuse reports that leave nothing of a budget, or without a public model."""
        spent = scenario.owners.report
        cap = scenario.regulation.epsilon_cap
        if not scenario.data.public_rows:
            found = f"{spent:g} with data.public_rows = 0"
            raise InputError("owners.report", "needs public rows", found)
        budgets = np.asarray(scenario.owners.listed().epsilon, dtype=float)
        least = float(budgets.reshape(-1, 2)[:, 0].min())
        if spent >= least:
            rule = f"must be below the smallest epsilon that an owner may sell, {least:g}"
            remedy = (
                "An owner spends this part of its epsilon on the report and the rest on training. "
                "Lower it, or raise the lower end of owners.epsilon."
            )
            raise InputError("owners.report", rule, f"{spent:g}", remedy)
        if cap is not None and spent >= cap:
            rule = f"must be below regulation.epsilon_cap, {cap:g}"
            raise InputError("owners.report", rule, f"{spent:g}")


class RoundCosts(Choice):
    """Money that each answer costs an owner, by which the number of rounds is chosen."""

    key = "owners.round_cost"
    title = "owners.round_cost"
    example = ("owners.round_cost=1.0",)
    excludes = {"learners": "because each learner would ask its own number of rounds"}

    def is_used(self, scenario: Any) -> bool:
        """Test whether an answer costs any owner something."""
        return bool(np.any(np.asarray(scenario.owners.listed().round_cost) > 0))

    def check(self, scenario: Any) -> None:
        """Refuse rounds that ask one owner, and a learner who does not value relative fitness."""
        if any(one.trains_by.asks_at_random for one in scenario.learning.decided):
            rule = "must be 0 with an algorithm whose rounds do not ask every owner"
            found = f"algorithm {format_value(scenario.learning.algorithm)}"
            raise InputError(self.key, rule, found, "Leave it out.")
        if scenario.learning.horizon != OPTIMAL:
            return
        if scenario.learner.worth is not None or not scenario.learner.per_unit:
            rule = "needs learner.value as money above 0 per unit of relative fitness"
            remedy = "Give one number for learner.value, or state learning.horizon."
            raise InputError(self.key, rule, "another value", remedy)


class Baselines(Choice):
    """Further trainings at the same budgets, to compare with."""

    key = "validation.baselines"
    title = "validation.baselines"
    example = ("validation.baselines=['plain']",)
    excludes = {
        "learners": "because it compares with one training",
        "time": "because it compares with one training",
    }

    def is_used(self, scenario: Any) -> bool:
        """Test whether any baseline is trained."""
        return bool(scenario.validation.baselines)

    def check(self, scenario: Any) -> None:
        """Refuse baselines of an algorithm that takes no steps or asks owners at random."""
        used = (one.trains_by for one in scenario.learning.decided)
        if all(supports_baselines(algorithm) for algorithm in used):
            return
        supported = [name for name, one in ALGORITHMS.items() if supports_baselines(one)]
        rule = f"needs algorithm = {quote_choices(supported)}"
        found = f"algorithm {format_value(scenario.learning.algorithm)}"
        raise InputError("validation.baselines", rule, found, "Leave it out.")


def supports_baselines(algorithm: Any) -> bool:
    """Test whether the same training can be carried out with other weights and noise."""
    return bool(algorithm.takes_steps and not algorithm.asks_at_random)


def leaves_value_open(scenario: Any) -> bool:
    """Test whether some learner does not say what a better model is worth."""
    return not all(one.knows_value for one in (scenario.learner, *(scenario.learners or ())))


WELFARE = "because welfare is then unknown"
LOOSE = "a loss that may have no bound"
ONCE = "because its claims assume that each record is used once"
SETTINGS: dict[str, Choice] = {
    "owners.report": LossReports(),
    "owners.round_cost": RoundCosts(),
    "owners.cost_at": Setting(
        "owners.cost_at",
        "owners.cost_at=claimed",
        test=lambda scenario: scenario.owners.cost_at != "sold",
    ),
    "owners.benefit": Setting(
        "owners.benefit",
        "owners.benefit=10.0",
        test=lambda scenario: bool(np.any(scenario.owners.listed().benefit)),
    ),
    "learning.aggregation": Setting(
        "learning.aggregation",
        "learning.aggregation=median",
        title="another aggregation than sums",
        test=lambda scenario: not scenario.learning.combines.sums,
    ),
    "learning.accounting": Setting(
        "learning.accounting",
        *("learning.accounting=printed", "learning.algorithm=weighted", *GAUSSIAN),
        title='learning.accounting = "printed"',
        excludes={PERSONS: "because its noise protects one record"},
        test=equals("learning.accounting", "printed"),
    ),
    "learning.overlap": Setting(
        "learning.overlap",
        "learning.overlap=2",
        test=lambda scenario: scenario.learning.overlap > 1,
    ),
    "learning.gradient_bound": Setting(
        "learning.gradient_bound",
        "learning.gradient_bound=3",
        excludes={
            "owners.cost_at": f"because owners would count their cost on {LOOSE}",
            "owners.report": f"because the report would add {LOOSE}",
            "time": "because it would count budgets as sold",
        },
    ),
    "learning.one_record": Setting(
        "learning.algorithm",
        *("learning.algorithm=sgd1", *GAUSSIAN),
        title="an algorithm that picks single records",
        excludes={PERSONS: "because its noise protects one record"},
        test=lambda scenario: scenario.learning.one_by_one,
    ),
    **{
        f"{key}=best": Setting(key, f"{key}=best", title=f'{key} = "best"', test=equals(key, BEST))
        for key in ("learning.algorithm", "learning.clipping", "learning.mechanism")
    },
    PERSONS: Setting(
        "data.rows_per_person",
        *("data.person=who", "data.rows_per_person=2"),
        test=lambda scenario: scenario.data.most_rows > 1,
        refusal="must be 1",
    ),
    "data.person": Setting("data.person", "data.person=who"),
    "policy.user": Setting(
        "policy.kind",
        "policy={kind='user', file='pay.py'}",
        title="a policy of the user's",
        test=has_user_policy,
    ),
    "policy.whole": Setting(
        "policy.kind",
        "policy={kind='shapley'}",
        title="a policy that settles whole profiles",
        test=lambda scenario: not is_additive(scenario),
        refusal="must be one under which owners meet in sums",
    ),
    "behaviours.dishonest": Setting(
        "behaviours",
        "behaviours=[{kind='junk_seller'}]",
        title="owners who answer otherwise than they sold",
        test=deviates,
    ),
    "behaviours.neighbours": Setting(
        "behaviours",
        *("behaviours=[{kind='neighbours'}]", "network.sight={kind='ring'}"),
        title="owners who see their neighbours alone",
        excludes={
            "policy.whole": "because the policy must not depend on whole profiles",
            "regulation.price_floor": "because owners then affect each other by more than sums",
        },
        test=sees_neighbours,
    ),
    "network.trade": Setting(
        "network.trade",
        "network.trade={kind='complete'}",
        title="[network.trade]",
        excludes={"owners.report": "because an owner may then deal with no learner"},
    ),
    "regulation.price_floor": Setting(
        "regulation.price_floor",
        "regulation.price_floor=1.0",
        test=lambda scenario: scenario.regulation.price_floor > 0,
    ),
    "time.fresh": Setting(
        "time",
        "time={periods=2, growth=0.5, composition='fresh'}",
        title='time.composition = "fresh"',
        excludes={"learning.overlap": ONCE, "data.person": ONCE},
        test=equals("time.composition", "fresh"),
    ),
    "learner.value.unknown": Setting(
        "learner.value.money",
        "learner.value={per='rmse', money='unknown'}",
        title='learner.value.money = "unknown"',
        test=leaves_value_open,
        excludes={
            "learners": "because learners are compared by their values",
            "externalities": WELFARE,
            "regulation": WELFARE,
            "participation": WELFARE,
            "behaviours": "because their cost to the learner is then unknown",
            "pricing": "because no price can then be judged",
            "go": "because no model can then be judged",
            "time": "because no period can then be judged",
            "contributions": "because answers are paid in units of it",
            "withdrawal": "because it measures a loss in units of it",
            "network": WELFARE,
        },
    ),
    "validation.baselines": Baselines(),
}
