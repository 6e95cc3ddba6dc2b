"""The command that compares ways to buy privacy from owners whose costs are their own secret."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from learning.errors import InputError
from scenarios.command.progress import stages

MOST = 100_000  # owners in all markets together; all mechanisms for so many take about an hour
PUBLIC_PART = 0.1  # records that the learner has of its own, as a part of one owner's


def mechanisms(
    budget: Annotated[float, typer.Option(help="Money to spend, on average over markets.")] = 30.0,
    owners: Annotated[int, typer.Option(min=1, max=MOST, help="Owners in a market.")] = 50,
    records: Annotated[int, typer.Option(min=1, max=10**15, help="Records of each owner.")] = 1000,
    costs: Annotated[
        str, typer.Option(metavar="LAW", help="A law of costs, such as bimodal, lognormal or uniform:low=0.5,high=3.")
    ] = "bimodal",
    value: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1e15,
            help="Money that ridding the learner of all its error is worth.  [default: twice the budget]",
        ),
    ] = None,
    markets: Annotated[int, typer.Option(min=1, max=MOST, help="Markets to average over.")] = 20,
    only: Annotated[str | None, typer.Option(metavar="A,B", help="Only these mechanisms.")] = None,
    seed: Annotated[int, typer.Option(min=0, max=10**15, help="Seed of costs and chances.")] = 0,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the table as CSV, all columns.")] = None,
) -> None:
    """Compare auctions, offers and contracts that buy privacy at private costs, on the same owners, all spending alike."""
    from learning.progress import counting
    from learning.randomness import Streams
    from market.procurement import MECHANISMS, MeanEstimate, PrecisionValuation, ProcurementProblem, at_budget, compare
    from scenarios.command.mechanisms_table import columns, print_comparison, write_comparison
    from scenarios.output.places import check_file
    from scenarios.schema.laws import read_law

    law, names = read_law(costs), wanted(only, list(MECHANISMS))
    if owners * markets > MOST:
        found = f"{owners:,} in each of {markets:,} markets"
        raise InputError("--owners", f"must be at most {MOST:,} in all markets together", found)
    if out is not None:
        out = check_file(out, ",".join(columns()))
    forecast = MeanEstimate(float(records), public_records=PUBLIC_PART * records)
    worth = 2 * budget if value is None else value
    with stages() as progress:
        try:
            problem = ProcurementProblem(budget, owners, law, PrecisionValuation(1.0, records=float(records)), forecast)
        except InputError as error:
            raise InputError(f"--{error.key}", error.rule, error.found, error.remedy) from None
        tuned = counting(progress, f"tuning mechanisms until they spend {budget:g}", len(names))
        made = at_budget(problem, names, did=tuned)
        rows = compare(
            made,
            law.draw((markets, owners), rng=Streams(seed, "mechanisms").rng("costs")),
            forecast=forecast,
            value=worth / forecast.outside,
            seed=seed,
            did=counting(progress, "buying, and trying to lie", len(names)),
        )
    rows.sort(key=lambda row: row.fitness.mean)
    print_comparison(rows, made, forecast.outside, worth)
    if out is not None:
        write_comparison(rows, out)


def wanted(only: str | None, known: list[str]) -> list[str]:
    """The mechanisms named, with commas between; all of them without names."""
    from scenarios.schema.fields import nearest

    names = known if only is None else [name.strip() for name in only.split(",")]
    for name in names:
        if name not in known:
            raise InputError("--only", "must name mechanisms", repr(name), nearest(name, known))
    return names
