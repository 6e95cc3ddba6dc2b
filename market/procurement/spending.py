"""Mechanisms for private costs (MECHANISMS), each tuned to spend the money there is on average."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from learning.progress import ReportWork, ignore_work
from learning.randomness import Streams
from market.procurement.auctions import (
    AllIn,
    ClarkePivot,
    FairQuery,
    MinCost,
    PayAsBid,
    ProportionalShare,
    ShapleyShare,
)
from market.procurement.compensation import Compensated
from market.procurement.contracts import Menu, TwoContracts, VirtualCost
from market.procurement.mechanism import ProcurementMechanism, ProcurementProblem, draw_chances
from market.procurement.offers import Ladder, PostedPrice
from market.procurement.paid_quality import PaidQuality
from market.procurement.reports import cheapest_owners, equilibria_in_reports

# Owners drawn in all to average spending over, at the truth and where they misreport.
OWNERS = 100_000
MISREPORTING = 400
# Markets that these make, at least and at most.
FEWEST = 8
MOST = 2000
# Relative error of the spending.
NEAR = 1e-3
# Relative distance of budgets, one spending less and one more, that encloses a jump.
NARROW = 1e-3
# Factor by which the planned budget may leave the money.
WIDEST = 1e3
# Planned budgets tried at most, and first ones that may leap by a factor.
TURNS = 40
LEAPS = 4
Trial = tuple[float, float, ProcurementMechanism]
MECHANISMS: dict[str, type[ProcurementMechanism]] = {
    "fair_query": FairQuery,
    "min_cost": MinCost,
    "posted": PostedPrice,
    "ladder": Ladder,
    "virtual_cost": VirtualCost,
    "menu": Menu,
    "proportional": ProportionalShare,
    "vcg": ClarkePivot,
    "shapley": ShapleyShare,
    "menu_2": TwoContracts,
    "pay_as_bid": PayAsBid,
    "all_in": AllIn,
    "paid_quality": PaidQuality,
    "compensated": Compensated,
}


@dataclass(frozen=True)
class AtBudget:
    """A mechanism tuned to spend a budget on average: one version, or a lottery of two.

    Where spending jumps with the plan, as with an integer number of owners, a lottery of two
    versions spends the budget. It is independent of costs and reports, so a lottery of truthful
    versions is truthful.

    Attributes
    ----------
    versions : tuple of ProcurementMechanism
    odds : tuple of float, of each version; they sum to 1
    spend : float, money, mean spending over markets drawn from the law, at an equilibrium in
        reports where the mechanism is not truthful
    budget : float, money
    """

    versions: tuple[ProcurementMechanism, ...]
    odds: tuple[float, ...]
    spend: float
    budget: float

    @property
    def title(self) -> str:
        """Description of the mechanism."""
        return self.versions[0].title

    @property
    def truthful(self) -> bool:
        """True if all versions are proved incentive compatible."""
        return all(version.truthful for version in self.versions)

    @property
    def equal(self) -> bool:
        """True if it spends the budget, so that it can be compared with others."""
        return bool(abs(self.spend - self.budget) <= NEAR * self.budget)


def at_budget(
    problem: ProcurementProblem, names: Iterable[str] = (), *, did: ReportWork = ignore_work
) -> dict[str, AtBudget]:
    """Mechanisms by name, or all, each tuned to spend the budget on average over the law of costs.

    A mechanism makes a plan for a budget (``for_budget``); that budget is moved until its mean
    spending is the problem's.

    Parameters
    ----------
    problem : ProcurementProblem
    names : of MECHANISMS, optional
    did : called with 1 after each, optional
    """
    made = {}
    for name in names or MECHANISMS:
        made[name] = mechanism_at_budget(MECHANISMS[name], problem)
        did(1)
    return made


def mechanism_at_budget(kind: type[ProcurementMechanism], problem: ProcurementProblem) -> AtBudget:
    """A mechanism of this kind that spends the problem's budget on average, or as near as possible.

    Spending grows with the plan, though it may jump: false position, and bisection from the eighth
    turn.
    """
    target = problem.budget
    planned = problem.budget
    below: Trial | None = None
    above: Trial | None = None
    for turn in range(TURNS):
        made = kind.for_budget(replace(problem, budget=planned))
        spend = average_spend(made, problem)
        if abs(spend - target) <= NEAR * target:
            return AtBudget((made,), (1.0,), spend, target)
        if spend > target:
            above = planned, spend, made
        elif below is None or above or spend >= below[1]:
            below = planned, spend, made
        if below and above:
            part = (target - below[1]) / (above[1] - below[1])
            ratio = above[0] / below[0]
            if abs(ratio - 1) <= NARROW:
                return AtBudget((below[2], above[2]), (1 - part, part), target, target)
            planned = below[0] * ratio ** (min(max(part, 0.1), 0.9) if turn < 2 * LEAPS else 0.5)
        else:
            planned *= _leap_factor(target, spend, turn)
            if not target / WIDEST <= planned <= target * WIDEST:
                break
    nearest = above or below
    assert nearest is not None
    return AtBudget((nearest[2],), (1.0,), nearest[1], target)


def _leap_factor(target: float, spend: float, turn: int) -> float:
    """Factor of the planned budget while spending is always below, or always above, the target."""
    if spend > 0 and turn < LEAPS:
        return min(max(target / spend, 1 / LEAPS), LEAPS)
    return LEAPS if spend < target else 1 / LEAPS


def average_spend(mechanism: ProcurementMechanism, problem: ProcurementProblem) -> float:
    """Mean spending over markets drawn from the law, the same ones for every mechanism."""
    streams = Streams(0, "spending")
    n_owners = problem.n_owners
    count = (OWNERS if mechanism.truthful else MISREPORTING) // n_owners
    count = min(max(count, FEWEST), MOST)
    reports = problem.law.draw((count, n_owners), rng=streams.rng("costs"))
    chances = draw_chances(mechanism, count, n_owners, rng=streams.rng("chances"))
    if not mechanism.truthful:
        owners = cheapest_owners(reports)
        reports = equilibria_in_reports(mechanism, reports, chances, owners=owners).reports
    return float(mechanism.settle(reports, chances)[1].sum(axis=-1).mean())
