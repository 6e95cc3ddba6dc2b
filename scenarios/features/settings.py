"""Settings of other tables that exclude each other, or that features exclude."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from learning.errors import InputError
from learning.phrases import format_value
from learning.training.algorithms import ALGORITHMS
from learning.training.conduct import HONEST
from scenarios.features.base import Choice, value_of
from scenarios.schema.fields import OPTIMAL, quote_choices
from scenarios.schema.kinds import KINDS, make_declared


class Setting(Choice):
    """A value of a key that does not go with everything else, as settings.toml has it.

    Parameters
    ----------
    name : of the setting, which is its key by default.
    given : its attributes, as of `Choice`, and its test.
    test : tells whether a scenario has it, where the file does not.
    """

    def __init__(
        self, name: str, given: Mapping[str, Any], test: Callable[[Any], bool] | None = None
    ) -> None:
        self.key = given.get("key", name)  # type: ignore[misc]
        self.title = given.get("title", self.key)  # type: ignore[misc]
        self.example = tuple(given["example"])  # type: ignore[misc]
        self.excludes = given.get("excludes", {})  # type: ignore[misc]
        self.refusal = given.get("refusal", Choice.refusal)  # type: ignore[misc]
        self.given = given
        self.test = test

    def is_used(self, scenario: Any) -> bool:
        """Test whether a scenario has the setting."""
        if self.test is not None:
            return self.test(scenario)
        value = value_of(scenario, self.given.get("tested", self.key))
        if "equals" in self.given:
            return bool(value == self.given["equals"])
        if "above" in self.given:
            return bool(value > self.given["above"])
        return super().is_used(scenario) if "tested" not in self.given else bool(value)


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
    excludes = {"data.rows_per_person": "because a loss report protects single records"}

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


TESTS: dict[str, Callable[[Any], bool]] = {
    "owners.benefit": lambda scenario: bool(np.any(scenario.owners.listed().benefit)),
    "policy.user": has_user_policy,
    "policy.whole": lambda scenario: not is_additive(scenario),
    "behaviours.dishonest": deviates,
    "behaviours.neighbours": sees_neighbours,
    "learner.value.unknown": leaves_value_open,
}
STATED = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
SETTINGS: dict[str, Choice] = {
    "owners.report": LossReports(),
    "owners.round_cost": RoundCosts(),
    **{name: Setting(name, given, TESTS.get(name)) for name, given in STATED.items()},
    "validation.baselines": Baselines(),
}
