"""A procurement mechanism as a policy: owners report, and may take the contracts it settles."""

from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from typing import Literal

import numpy as np

from learning.declaration import CountOrZero, NonNegative, Positive, parameter
from learning.errors import InputError
from learning.randomness import Streams
from market.columns import Array, take_owners
from market.costs.base import Writer
from market.game.deviations import Deviations
from market.game.owners import Owners
from market.policies.base import Policy, WorthBuying
from market.policies.posted import Contracts
from market.procurement.cost_laws import Uniform
from market.procurement.mechanism import ProcurementMechanism, ProcurementProblem
from market.procurement.reports import equilibria_in_reports
from market.procurement.spending import MECHANISMS
from market.procurement.valuation import MeanEstimate, PrecisionValuation

# Records of the learner where a mechanism plans with a mean, as a part of an owner's.
PUBLIC_PART = 0.1


@dataclass(frozen=True)
class Procured(Policy):
    """Purchase by a mechanism for private costs: it offers each owner the contract that it settles.

    The learner knows that unit costs are uniform between two numbers, and plans with that; the
    owners report their own, truly or as at an equilibrium in reports. An owner then sells what its
    contract asks, or nothing.

    Parameters
    ----------
    mechanism : str, a name of `market.procurement.spending.MECHANISMS`
    budget : float, above 0, money to plan with
    lowest, highest : float, money per unit of epsilon, between which the learner knows costs to lie
    reports : whether owners report the truth, or what best responses to one another's reports lead
        to
    draw : int, number of the chances, for mechanisms that leave something to chance

    Raises
    ------
    InputError
        An unknown mechanism, a number out of range, or owners whose costs are not in proportion to
        epsilon.

    >>> from market.costs.functions import Linear
    >>> from market.game.game import Game
    >>> owners = Owners(("A", "B", "C"), 1, 0.0, 10.0, Linear([1.0, 2.0, 3.0]))
    >>> policy = Procured("proportional", 12.0, 0.0, 4.0).prepared_for(owners)
    >>> Game(owners, policy, None, 0.0).best_responses(np.zeros(3)).round(6).tolist()
    [2.666667, 1.333333, 0.0]
    """

    usual = False
    mechanism: str = parameter(
        'Name a mechanism, such as "fair_query"; `dpmarket mechanisms` lists them.'
    )
    budget: Positive = parameter("Give the money to plan with.")
    lowest: NonNegative = parameter(
        "Give the least that a unit of epsilon costs an owner, as far as the learner knows."
    )
    highest: Positive = parameter(
        "Give the most that a unit of epsilon costs an owner, as far as the learner knows."
    )
    reports: Literal["truth", "equilibrium"] = "truth"
    """The truth, or what best responses to one another's reports lead to."""
    draw: CountOrZero = 0
    """Number of the chances, for mechanisms that leave something to chance."""

    def check(self) -> None:
        """Refuse an unknown mechanism, and an empty range of costs."""
        if self.mechanism not in MECHANISMS:
            near = get_close_matches(self.mechanism, MECHANISMS, 1)
            remedy = f"Did you mean {near[0]!r}?" if near else f"Known are {', '.join(MECHANISMS)}."
            found = repr(self.mechanism)
            raise InputError("policy.mechanism", "must name a mechanism", found, remedy)
        if self.lowest >= self.highest:
            rule = f"must be above policy.lowest, {self.lowest:g}"
            raise InputError("policy.highest", rule, f"{self.highest:g}")

    def check_owners(self, owners: Owners) -> None:
        """Refuse owners whose costs are not in proportion to epsilon: they have no unit cost."""
        one, two = (_costs_of(owners, at) for at in (1.0, 2.0))
        if not np.allclose(2 * one, two, rtol=1e-9, atol=0):
            rule = "needs costs in proportion to epsilon"
            remedy = 'Choose owners.cost.kind = "linear".'
            raise InputError("policy.kind", rule, type(owners.cost).__name__, remedy)

    def prepared_for(self, owners: Owners, worth: WorthBuying | None = None) -> Contracts:
        """Contracts that these owners are offered, at most what each may sell."""
        self.check_owners(owners)
        costs = _costs_of(owners, 1.0)
        mechanism = plan_mechanism(self, len(owners), float(np.mean(owners.sizes)))
        chances = self.mechanism_chances(mechanism, len(owners))
        reports = costs
        if self.reports == "equilibrium":
            reports = equilibria_in_reports(mechanism, costs, chances[None]).reports[0]
        epsilon, payments = mechanism.settle(reports, chances)
        return Contracts(np.minimum(epsilon, owners.epsilon_max).tolist(), payments.tolist())

    def mechanism_chances(self, mechanism: ProcurementMechanism, n_owners: int) -> Array:
        """Chances of the mechanism."""
        return mechanism.draw(n_owners, rng=Streams(self.draw, "procured").rng("chances"))

    def payments(self, epsilon: Array, deviations: Deviations) -> Array:
        contracts = take_owners(self.prepared_for(deviations.game.owners), deviations.index)
        return contracts.payments(epsilon, deviations)

    def sentence(self, write: Writer) -> str:
        title = MECHANISMS[self.mechanism].title
        money = write.money(self.budget)
        return f"The learner asks what privacy costs and buys for about {money}: {title}."


def _costs_of(owners: Owners, epsilon: float) -> Array:
    """Cost of each owner (n_owners,) at one epsilon, without fixed costs."""
    return owners.cost.value(np.full((len(owners), 1), epsilon), owners.sizes)[:, 0]


@lru_cache(maxsize=64)
def plan_mechanism(policy: Procured, n_owners: int, records: float) -> ProcurementMechanism:
    """Mechanism of a policy, planned for its budget by the learner's law of costs and records."""
    law = Uniform(policy.lowest, policy.highest)
    valuation = PrecisionValuation(1.0, records=records)
    forecast = MeanEstimate(records, public_records=PUBLIC_PART * records)
    problem = ProcurementProblem(policy.budget, n_owners, law, valuation, forecast)
    return MECHANISMS[policy.mechanism].for_budget(problem)
