"""Trust: secure aggregation, under which owners make one noise together and a learner sees sums."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from learning.errors import InputError
from learning.phrases import format_value
from learning.privacy.mechanisms import BEST, kinds_of
from learning.privacy.wrapped import SharedNoise, Trust
from learning.training.algorithms import ALGORITHMS
from scenarios.features.base import Feature, Topic
from scenarios.schema.fields import quote_choices
from scenarios.schema.kinds import DeclaredTable

if TYPE_CHECKING:
    from scenarios.run import Loop, Run
    from scenarios.schema.scenario import Scenario


class SecureAggregation(Feature):
    """Answers of which the learner sees sums alone."""

    key = "trust"
    title = 'trust.aggregation = "secure"'
    table = Annotated[Any, DeclaredTable(Trust)] | None
    example = ("trust={aggregation='secure'}",)
    result = "trust"
    sentence = "trust.txt.j2"
    topic = Topic("privacy", 4)
    excludes = {
        "learning.aggregation": "because it shows no single answer",
        "learning.accounting": "because published noise is drawn by each owner alone",
        "learning.overlap": "because a record with several owners changes one sum several times",
        "learning.gradient_bound": "because no guarantee is known for it",
        "owners.report": "because the learner sees each report separately",
        "owners.cost_at": "because owners.cost.fears names the claims",
        "validation.baselines": "because they are trained on separate answers",
        "behaviours.dishonest": "because their effect on the others' noise is unknown",
        "learners": "because each learner would need its own noise",
        "time": "because it is not accounted over time",
    }

    def is_used(self, scenario: Scenario) -> bool:
        """Test whether answers are aggregated securely."""
        return scenario.trusts.secure

    def check_unused(self, scenario: Scenario) -> None:
        """Refuse costs against somebody else than the learner, who then sees most."""
        fears = scenario.owners.cost.fears
        if fears not in (None, "learner"):
            rule = f"needs {self.title}: otherwise the learner sees every answer"
            raise InputError("owners.cost.fears", rule, format_value(fears), "Leave it out.")

    def check(self, scenario: Scenario) -> None:
        """Refuse algorithms that need single answers, and noise that owners cannot divide."""
        learning = scenario.learning
        if not scenario.ways:
            supported = quote_choices(
                [name for name, one in ALGORITHMS.items() if one.sums_suffice]
            )
            rule = f"must be {supported} with {self.title}, because the learner then sees only sums"
            raise InputError("learning.algorithm", rule, format_value(learning.algorithm))
        noise = learning.mechanism
        if noise != BEST and not any(kind.divides for kind in kinds_of(noise)):
            rule = f"must be noise that owners can make together with {self.title}"
            raise InputError("learning.mechanism", rule, noise)

    def facts(self, run: Run, loop: Loop) -> dict[str, Any]:
        """Owners who make the noise, and the largest epsilon against another owner or a drop-out.

        None stands where nothing is known to hold, or nothing is asked.

        Returns
        -------
        trust : Under secure aggregation, by whom the noise is made: `owners` who add a part,
            `colluders` whose parts may be known, `fears`, whose claim costs are counted at, and
            the largest ε of any owner `against_owners`, of whom one knows its own part, and
            `after_dropout`, when one part is missing: null where nothing is known to hold; null
            where answers are seen one by one.
        """
        trust = run.scenario.trusts
        mechanism = run.planner.mechanism_at(run.epsilon)
        budgets = run.planner.hidden(run.epsilon)
        makers = int((run.epsilon > 0).sum())
        found: dict[str, Any] = {
            "aggregation": trust.aggregation,
            "colluders": trust.colluders,
            "owners": makers,
            "fears": run.scenario.owners.cost.fears or "learner",
            "against_owners": None,
            "after_dropout": None,
        }
        if not (run.asks and isinstance(mechanism, SharedNoise)) or makers < 2:
            return found
        against = {
            "against_owners": mechanism.onlooker_epsilon("owners", budgets),
            "after_dropout": mechanism.epsilon_of_parts(budgets, (makers - 1) / mechanism.parts),
        }
        finite = np.isfinite(budgets)
        if np.any(finite & (budgets > 0)):
            for name, epsilon in against.items():
                worst = float(np.max(epsilon[finite], initial=0.0))
                found[name] = worst if np.isfinite(worst) else None
        return found
