"""Public good: a model that goes to all owners, whether they sell or not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from learning.errors import InputError
from market.analysis.regulation import matching_shares
from scenarios.features.base import Feature, Topic, rows_of

if TYPE_CHECKING:
    from scenarios.run import Loop, Run
    from scenarios.schema.scenario import Scenario


class PublicGood(Feature):
    """A model that all owners receive, which owners provide too little of."""

    key = "owners.model_goes_to"
    title = 'owners.model_goes_to = "all"'
    example = ("owners.model_goes_to=all", "owners.benefit=10.0")
    refusal = 'must be "sellers"'
    result = "public_good"
    sentence = "public_good.txt.j2"
    topic = Topic("model", 12)

    def is_used(self, scenario: Scenario) -> bool:
        """Test whether all owners receive the model."""
        return scenario.owners.model_goes_to == "all"

    def check(self, scenario: Scenario) -> None:
        """Refuse a model that no owner wants."""
        if not scenario.owners.wants_model:
            rule = (
                'needs owners.benefit: with "all", owners enjoy the model whether they sell or not'
            )
            remedy = "Set owners.benefit, or leave it out."
            raise InputError("owners.model_goes_to", rule, "no benefit", remedy)

    def facts(self, run: Run, loop: Loop) -> dict[str, Any]:
        """Best provision, owners who ride free, and matching payments that would mend it.

        Returns
        -------
        public_good.best_relative_fitness : ψ at the best profile, by the forecast; public_good is
            null unless the model goes to all owners.
        public_good.riding : Owners who enjoy the model and contribute nothing.
        public_good.matching.certified : Whether under these payments nobody gains by leaving the
            best profile; matching is null where learner.value is 0.
        public_good.matching.payments : Money that they would cost the learner there.
        public_good.matching.owners[].name : An owner.
        public_good.matching.owners[].share : Its share under `policy.kind = "marginal"`: the
            learner's value and the other owners' benefits over the learner's.
        public_good.matching.owners[].payment : Money that it would be paid there.
        """
        best = run.optimum.epsilon
        enjoys = run.accounts.benefits > 0
        names = np.array(run.data.names, dtype=object)
        paid = matching_shares(run.game, best)
        match = None
        if paid is not None:
            owners = {"name": run.data.names, "share": paid.shares, "payment": paid.payments}
            match = {
                "certified": paid.certified,
                "payments": float(paid.payments.sum()),
                "owners": rows_of(owners),
            }
        return {
            "best_relative_fitness": run.planner.forecast.at(best),
            "riding": names[enjoys & (run.epsilon == 0)].tolist(),
            "matching": match,
        }
