"""Mechanisms set up to spend the same: a planned budget each, tuned until what is spent on average is the money there is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from learning.progress import Did, unnoticed
from learning.randomness import Streams
from market.procurement.mechanism import ProcurementMechanism, ProcurementProblem
from market.procurement.mechanisms import MECHANISMS
from market.procurement.reports import drawn_chances, equilibria_in_reports, who_misreports

OWNERS = 100_000  # drawn in all to average spending over where owners tell the truth
MISREPORTING = 400  # and where they do not
FEWEST, MOST = 8, 2000  # markets that these make, at least and at most
NEAR = 1e-3  # of the money: spending so near to it is equal
NARROW = 1e-3  # budgets so near to each other, one spending less and one more, are a jump
WIDEST = 1e3  # the farthest that the planned budget is moved from the money, as a factor
TURNS = 40  # planned budgets tried at most
LEAPS = 4  # of them before the planned budget is multiplied by so much


@dataclass(frozen=True)
class AtBudget:
    """A mechanism made for a budget to spend on average: one version of it, or a lottery between two.

    Where spending jumps with what is planned, as where a count of owners is bought, the draw of a version by these odds
    spends the budget; who knows neither cost nor report draws it, so a lottery of truthful versions is truthful.

    Attributes
    ----------
    versions : tuple of ProcurementMechanism
    odds : tuple of float, of each version; they sum to 1
    spend : float, money, spent on average over markets drawn from the law
        At an equilibrium in reports where the mechanism is not truthful.
    budget : float, money, what there is to spend
    """

    versions: tuple[ProcurementMechanism, ...]
    odds: tuple[float, ...]
    spend: float
    budget: float

    @property
    def title(self) -> str:
        """What it does."""
        return self.versions[0].title

    @property
    def truthful(self) -> bool:
        """Whether misreporting is proved never to help."""
        return all(version.truthful for version in self.versions)

    @property
    def equal(self) -> bool:
        """Whether it spends the budget; what cannot be made to is no match for what does."""
        return bool(abs(self.spend - self.budget) <= NEAR * self.budget)


def at_budget(problem: ProcurementProblem, names: Iterable[str] = (), *, did: Did = unnoticed) -> dict[str, AtBudget]:
    """The mechanisms of these names, or all, each set up to spend the budget on average over the law of costs.

    What each plans to spend is its own matter (``for_budget``); that plan is moved until what it does spend is the
    budget. So all spend alike on average, and in a given market less or more.

    Parameters
    ----------
    problem : ProcurementProblem
    names : of MECHANISMS, optional
    did : called with 1 after each, optional

    Returns
    -------
    dict of AtBudget by name
    """
    made = {}
    for name in names or MECHANISMS:
        made[name] = spending(MECHANISMS[name], problem)
        did(1)
    return made


def spending(kind: type[ProcurementMechanism], problem: ProcurementProblem) -> AtBudget:
    """A mechanism of this kind that spends the problem's budget on average, or as near to it as it can.

    Spending grows with the plan, though not always without jumps: by false position, and by halving from the eighth turn.
    """
    target, planned = problem.budget, problem.budget
    below: tuple[float, float, ProcurementMechanism] | None = None
    above: tuple[float, float, ProcurementMechanism] | None = None
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
            if abs(above[0] / below[0] - 1) <= NARROW:
                return AtBudget((below[2], above[2]), (1 - part, part), target, target)
            planned = below[0] * (above[0] / below[0]) ** (min(max(part, 0.1), 0.9) if turn < 2 * LEAPS else 0.5)
        else:
            leap = target / spend if spend > 0 and turn < LEAPS else LEAPS if spend < target else 1 / LEAPS
            planned *= min(max(leap, 1 / LEAPS), LEAPS)
            if not target / WIDEST <= planned <= target * WIDEST:
                break
    nearest = above or below
    assert nearest is not None  # at least one was tried
    return AtBudget((nearest[2],), (1.0,), nearest[1], target)


def average_spend(mechanism: ProcurementMechanism, problem: ProcurementProblem) -> float:
    """Money spent on average over markets drawn from the law, the same ones for every mechanism."""
    streams, n_owners = Streams(0, "spending"), problem.n_owners
    count = (OWNERS if mechanism.truthful else MISREPORTING) // n_owners
    count = min(max(count, FEWEST), MOST)
    reports = problem.law.draw((count, n_owners), rng=streams.rng("costs"))
    chances = drawn_chances(mechanism, count, n_owners, rng=streams.rng("chances"))
    if not mechanism.truthful:
        reports = equilibria_in_reports(mechanism, reports, chances, owners=who_misreports(reports)).reports
    return float(mechanism.settle(reports, chances)[1].sum(axis=-1).mean())
