"""The command that compares ways to buy privacy from owners whose costs are their own secret."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from learning.errors import InputError
from learning.progress import Progress
from scenarios.command.progress import stages

MOST = 100_000  # owners in all markets together; all mechanisms for so many take about an hour
MOST_PLAYED = 200  # owners in a market who learn: for more, too few markets would be drawn
PUBLIC_PART = 0.1  # records that the learner has of its own, as a part of one owner's


def mechanisms(
    budget: Annotated[float, typer.Option(help="Money to spend, on average over markets.")] = 30.0,
    owners: Annotated[int, typer.Option(min=1, max=MOST, help="Owners in a market.")] = 50,
    records: Annotated[int, typer.Option(min=1, max=10**15, help="Records of each owner.")] = 1000,
    costs: Annotated[
        str,
        typer.Option(
            metavar="LAW",
            help="A law of costs, such as bimodal, lognormal or uniform:low=0.5,high=3.",
        ),
    ] = "bimodal",
    value: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1e15,
            help=(
                "Money that ridding the learner of all its error is worth.  [default: twice the "
                "budget]"
            ),
        ),
    ] = None,
    markets: Annotated[int, typer.Option(min=1, max=MOST, help="Markets to average over.")] = 20,
    played: Annotated[
        bool,
        typer.Option(
            "--played",
            help="Owners know the law and their own cost alone, and learn what to report.",
        ),
    ] = False,
    only: Annotated[str | None, typer.Option(metavar="A,B", help="Only these mechanisms.")] = None,
    seed: Annotated[int, typer.Option(min=0, max=10**15, help="Seed of costs and chances.")] = 0,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the table as CSV, all columns.")
    ] = None,
) -> None:
    """Compare auctions, offers and contracts that buy privacy at private costs, on the same owners, all spending alike."""
    from learning.progress import count_progress
    from market.procurement import (
        MECHANISMS,
        MeanEstimate,
        PrecisionValuation,
        ProcurementProblem,
        at_budget,
    )
    from market.procurement.comparison import ComparisonRow
    from market.procurement.manipulation import PlayedRow
    from scenarios.command.mechanisms_table import column_names
    from scenarios.output.places import check_file
    from scenarios.schema.kinds import read_law

    law = read_law(costs)
    names = wanted(only, list(MECHANISMS))
    if owners * markets > MOST:
        found = f"{owners:,} in each of {markets:,} markets"
        raise InputError("--owners", f"must be at most {MOST:,} in all markets together", found)
    if played and owners > MOST_PLAYED:
        raise InputError(
            "--owners", f"must be at most {MOST_PLAYED:,} with --played", f"{owners:,}"
        )
    if out is not None:
        out = check_file(
            out, ",".join(column_names(PlayedRow) if played else column_names(ComparisonRow))
        )
    forecast = MeanEstimate(float(records), public_records=PUBLIC_PART * records)
    worth = 2 * budget if value is None else value
    with stages() as progress:
        try:
            problem = ProcurementProblem(
                budget, owners, law, PrecisionValuation(1.0, records=float(records)), forecast
            )
        except InputError as error:
            raise InputError(f"--{error.key}", error.rule, error.found, error.remedy) from None
        tuned = count_progress(
            progress, f"tuning mechanisms until they spend {budget:g}", len(names)
        )
        made = at_budget(problem, names, did=tuned)
        show = play_them if played else compare_them
        print_them = show(made, problem, worth, markets, seed, out, progress)
    print_them()


def compare_them(
    made: Any,
    problem: Any,
    worth: float,
    markets: int,
    seed: int,
    out: Path | None,
    progress: Progress,
) -> Callable[[], None]:
    """Every mechanism at the truth, or where owners who know one another's costs come to rest; gives what prints it."""
    from learning.progress import count_progress
    from learning.randomness import Streams
    from market.procurement import compare_mechanisms
    from scenarios.command.mechanisms_table import print_comparison, write_rows

    outside = problem.forecast.outside
    rows = compare_mechanisms(
        made,
        problem.law.draw((markets, problem.n_owners), rng=Streams(seed, "mechanisms").rng("costs")),
        forecast=problem.forecast,
        value=worth / outside,
        seed=seed,
        did=count_progress(progress, "buying, and trying to lie", len(made)),
    )
    rows.sort(key=lambda row: row.fitness.mean)

    def show() -> None:
        print_comparison(rows, made, outside, worth)
        if out is not None:
            write_rows(rows, out)

    return show


def play_them(
    made: Any,
    problem: Any,
    worth: float,
    markets: int,
    seed: int,
    out: Path | None,
    progress: Progress,
) -> Callable[[], None]:
    """Every mechanism where owners who know their own cost alone learned what to report; gives what prints it."""
    from learning.progress import count_progress
    from market.procurement.manipulation import compare_played
    from scenarios.command.mechanisms_table import write_rows
    from scenarios.command.played_table import print_played

    outside = problem.forecast.outside
    did = count_progress(progress, "owners learn what to report", len(made))
    rows = compare_played(made, problem, value=worth / outside, markets=markets, seed=seed, did=did)
    rows.sort(key=lambda row: (row.manipulable, row.lie.mean, row.fitness.mean))

    def show() -> None:
        print_played(rows, made, outside, problem.n_owners)
        if out is not None:
            write_rows(rows, out)

    return show


def wanted(only: str | None, known: list[str]) -> list[str]:
    """The mechanisms named, with commas between; all of them without names."""
    from scenarios.schema.fields import suggest_name

    names = known if only is None else [name.strip() for name in only.split(",")]
    for name in names:
        if name not in known:
            raise InputError(
                "--only", "must name mechanisms", repr(name), suggest_name(name, known)
            )
    return names
