"""`dpmarket mechanisms`: ways to buy privacy from owners with private costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from learning.display import show_stages
from learning.errors import InputError
from learning.program import declare_command
from learning.progress import Progress, count_progress

if TYPE_CHECKING:
    from market.procurement.mechanism import ProcurementProblem
    from market.procurement.spending import AtBudget

MOST = 100_000  # owners in all markets together; all mechanisms for so many take about an hour
MOST_PLAYED = 200  # owners in a market who learn: for more, too few markets would be drawn
PUBLIC_PART = 0.1  # records that the learner has of its own, as a part of one owner's


@dataclass(frozen=True, kw_only=True)
class Markets:
    """Markets that mechanisms are compared on.

    Parameters
    ----------
    budget : Money to spend, on average over markets.
    owners : Owners in a market.
    records : Records of each owner.
    costs LAW : A law of costs, such as bimodal, lognormal or uniform:low=0.5,high=3.
    value : Money that ridding the learner of all its error is worth. [default: twice the budget]
    markets : Markets to average over.
    """

    budget: float = 30.0
    owners: Annotated[int, Option(min=1, max=MOST)] = 50
    records: Annotated[int, Option(min=1, max=10**15)] = 1000
    costs: str = "bimodal"
    value: Annotated[float | None, Option(min=0, max=1e15)] = None
    markets: Annotated[int, Option(min=1, max=MOST)] = 20

    def check_numbers(self, played: bool) -> None:
        """Refuse more owners than are compared in an hour.

        Raises
        ------
        InputError
        """
        if self.owners * self.markets > MOST:
            found = f"{self.owners:,} in each of {self.markets:,} markets"
            raise InputError("--owners", f"must be at most {MOST:,} in all markets together", found)
        if played and self.owners > MOST_PLAYED:
            rule = f"must be at most {MOST_PLAYED:,} with --played"
            raise InputError("--owners", rule, f"{self.owners:,}")

    def make_problem(self) -> ProcurementProblem:
        """Make the problem of a learner that estimates a mean.

        Raises
        ------
        InputError
        """
        from market.procurement.mechanism import ProcurementProblem
        from market.procurement.valuation import MeanEstimate, PrecisionValuation
        from scenarios.schema.kinds import read_law

        law = read_law(self.costs)
        records = float(self.records)
        forecast = MeanEstimate(records, public_records=PUBLIC_PART * self.records)
        worth = PrecisionValuation(1.0, records=records)
        try:
            return ProcurementProblem(self.budget, self.owners, law, worth, forecast)
        except InputError as error:
            raise InputError(f"--{error.key}", error.rule, error.found, error.remedy) from None

    @property
    def worth(self) -> float:
        """Money that a model without error is worth."""
        if self.value is None:
            return 2 * self.budget
        return self.value

    def tune(
        self, problem: ProcurementProblem, names: Sequence[str], progress: Progress
    ) -> dict[str, AtBudget]:
        """Tune mechanisms until they spend the budget."""
        from market.procurement.spending import at_budget

        stage = f"tuning mechanisms until they spend {self.budget:g}"
        return at_budget(problem, names, did=count_progress(progress, stage, len(names)))


@declare_command
def mechanisms(
    *,
    market: Markets,
    played: bool = False,
    only: str | None = None,
    seed: Annotated[int, Option(min=0, max=10**15)] = 0,
    out: Path | None = None,
) -> None:
    """Compare auctions, offers and contracts for owners with private costs, at equal spending.

    Parameters
    ----------
    played : Owners know only the distribution and their own cost, and learn what to report.
    only A,B : Only these mechanisms.
    seed : Seed of costs and random choices.
    out FILE : Write the table with all columns as CSV.
    """
    from scenarios.command import mechanisms_printed as printed
    from scenarios.output.places import check_file

    names = choose_names(only)
    market.check_numbers(played)
    row: type = printed.ComparisonRow
    compare = _compare_at_truth
    if played:
        row = printed.PlayedRow
        compare = _compare_learned
    if out is not None:
        out = check_file(out, ",".join(printed.column_names(row)))
    problem = market.make_problem()
    outside = problem.forecast.outside
    with show_stages() as progress:
        made = market.tune(problem, names, progress)
        rows = compare(made, problem, market, seed, progress)
    if played:
        printed.print_played(rows, made, outside, problem.n_owners)
    else:
        printed.print_comparison(rows, made, outside, market.worth)
    if out is not None:
        printed.write_rows(rows, out)


def _compare_at_truth(
    made: Mapping[str, AtBudget],
    problem: ProcurementProblem,
    market: Markets,
    seed: int,
    progress: Progress,
) -> list[Any]:
    """Compare at the truth, or where owners who know one another's costs come to rest."""
    from learning.randomness import Streams
    from market.procurement.comparison import compare_mechanisms

    rng = Streams(seed, "mechanisms").rng("costs")
    rows = compare_mechanisms(
        made,
        problem.law.draw((market.markets, problem.n_owners), rng=rng),
        forecast=problem.forecast,
        value=market.worth / problem.forecast.outside,
        seed=seed,
        did=count_progress(progress, "buying, and trying to lie", len(made)),
    )
    return sorted(rows, key=lambda row: row.fitness.mean)


def _compare_learned(
    made: Mapping[str, AtBudget],
    problem: ProcurementProblem,
    market: Markets,
    seed: int,
    progress: Progress,
) -> list[Any]:
    """Compare where owners who know their own cost alone learned what to report."""
    from market.procurement.manipulation import compare_played

    rows = compare_played(
        made,
        problem,
        value=market.worth / problem.forecast.outside,
        markets=market.markets,
        seed=seed,
        did=count_progress(progress, "owners learn what to report", len(made)),
    )
    return sorted(rows, key=lambda row: (row.manipulable, row.lie.mean, row.fitness.mean))


def choose_names(only: str | None) -> list[str]:
    """Read the mechanisms that are named, with commas between; all of them without names."""
    from market.procurement.spending import MECHANISMS
    from scenarios.schema.fields import suggest_name

    if only is None:
        return list(MECHANISMS)
    names = [name.strip() for name in only.split(",")]
    for name in names:
        if name not in MECHANISMS:
            remedy = f"{suggest_name(name, list(MECHANISMS))} One of your own needs --plugin FILE."
            raise InputError("--only", "must name mechanisms", repr(name), remedy)
    return names
