"""The command that compares ways to buy privacy from owners whose costs are their own secret."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from learning.errors import InputError
from scenarios.command.progress import stages

if TYPE_CHECKING:
    from market.procurement.comparison import ComparisonRow
    from market.procurement.cost_laws import CostLaw
    from market.procurement.mechanism import ProcurementMechanism

PUBLIC_PART = 0.1  # records that the learner has of its own, as a part of one owner's


def mechanisms(
    budget: Annotated[float, typer.Option(help="Money to spend.")] = 30.0,
    owners: Annotated[int, typer.Option(min=1, help="Owners in a market.")] = 50,
    records: Annotated[int, typer.Option(min=1, help="Records of each owner.")] = 1000,
    costs: Annotated[
        str, typer.Option(metavar="LAW", help="A law of costs, such as bimodal, lognormal or uniform:low=0.5,high=3.")
    ] = "bimodal",
    markets: Annotated[int, typer.Option(min=1, help="Markets to average over.")] = 20,
    only: Annotated[str | None, typer.Option(metavar="A,B", help="Only these mechanisms.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of costs and chances.")] = 0,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the table as CSV, too.")] = None,
) -> None:
    """Compare auctions, offers and contracts that buy privacy at private costs, on the same owners and budget."""
    import numpy as np

    from market.procurement import MECHANISMS, MeanEstimate, PrecisionValuation, ProcurementProblem, at_budget, compare

    law, names = read_law(costs), wanted(only, list(MECHANISMS))
    if out is not None and not out.parent.is_dir():
        raise InputError("--out", "must lie in a folder that exists", out)
    forecast = MeanEstimate(float(records), public_records=PUBLIC_PART * records)
    with stages() as progress:
        progress("setting up the mechanisms")
        try:
            problem = ProcurementProblem(budget, owners, law, PrecisionValuation(1.0, records=float(records)), forecast)
        except InputError as error:
            raise InputError(f"--{error.key}", error.rule, error.found, error.remedy) from None
        made = at_budget(problem, names)
        drawn = law.draw((markets, owners), rng=np.random.default_rng([seed, 0]))
        progress("buying, and trying to lie")
        rows = compare(made, drawn, forecast=forecast, seed=seed)
    rows.sort(key=lambda row: row.fitness)
    print_comparison(rows, made, forecast.outside, budget)
    if out is not None:
        write_comparison(rows, out)


def read_law(text: str) -> CostLaw:
    """A cost law from its name and parameters, as in ``bimodal:low=0.2,high=2``.

    Raises
    ------
    InputError
        An unknown law or parameter, or a value that the law refuses.

    >>> read_law("uniform:low=1,high=4")
    Uniform(low=1.0, high=4.0)
    """
    from learning.declaration import field_types
    from market.procurement.cost_laws import COST_LAWS
    from scenarios.schema.fields import nearest

    name, _, rest = text.partition(":")
    if name not in COST_LAWS:
        raise InputError("--costs", "must be a known law of costs", repr(name), nearest(name, list(COST_LAWS)))
    known = list(field_types(COST_LAWS[name]))
    given: dict[str, Any] = {}
    for part in filter(None, rest.split(",")):
        key, _, value = part.partition("=")
        if key.strip() not in known:
            raise InputError("--costs", f"must be parameters of {name}", repr(key), nearest(key, known))
        try:
            given[key.strip()] = float(value)
        except ValueError:
            raise InputError("--costs", f"{key.strip()} must be a number", repr(value)) from None
    try:
        return COST_LAWS[name](**given)
    except InputError as error:
        raise InputError(f"--costs: {error.key.removeprefix('costs.')}", error.rule, error.found) from None


def wanted(only: str | None, known: list[str]) -> list[str]:
    """The mechanisms named, with commas between; all of them without names."""
    from scenarios.schema.fields import nearest

    names = known if only is None else [name.strip() for name in only.split(",")]
    for name in names:
        if name not in known:
            raise InputError("--only", "must name mechanisms", repr(name), nearest(name, known))
    return names


def print_comparison(
    rows: Sequence[ComparisonRow], made: Mapping[str, ProcurementMechanism], outside: float, budget: float
) -> None:
    """A table, how to read it, and what each mechanism does."""
    from scenarios.command.console import PlainTable, Terminal
    from scenarios.report.wording import number, percent

    shown = PlainTable("", "mechanism", *HEADS)
    for row in rows:
        shown.add_row(
            row.name,
            percent(row.fitness / outside),
            percent(row.count_error),
            number(row.spend),
            number(row.largest_spend) + (" !" if row.largest_spend > budget * (1 + TINY) else ""),
            percent(row.selling),
            number(row.surplus),
            f"{row.gini:.2f}",
            number(row.largest_loss if row.largest_loss > TINY else 0.0),
            number(row.largest_gain if row.largest_gain > TINY else 0.0) + ("" if row.truthful else " *"),
        )
    loose = [name for name, mechanism in made.items() if mechanism.budget == math.inf]
    kept = f" (!: beyond the budget, which {' and '.join(loose)} keep on average only)" if loose else ""
    width = max(map(len, made))
    titles = [f"{name:{width}}  {mechanism.title}" for name, mechanism in made.items()]
    out = Terminal()
    out.print(shown)
    out.say(*textwrap.wrap(NOTES.format(kept=kept), 118), *titles)


HEADS = ("error left", "count off", "spent", "at most", "who sells", "surplus", "gini", "worst loss", "best lie")
TINY = 1e-9  # money below which a gain, a loss or an overspending is rounding
NOTES = (
    "error left: variance of a mean bought from all, as a part of the learner's alone. count off: error of a count of one "
    "bit each, as a part of the owners. at most: in any market{kept}. surplus: left with an owner. worst loss: of an owner "
    "who took part. best lie: the most that a false report gained in the first three markets (*: lying can pay)."
)


def write_comparison(rows: Sequence[ComparisonRow], path: Path) -> None:
    """The table as CSV, numbers in full."""
    import pandas as pd

    try:
        pd.DataFrame(rows).to_csv(path, index=False, lineterminator="\r\n", na_rep="nan")
    except OSError as error:
        raise InputError("--out", "must be a file that can be written", f"{path}: {error.strerror}") from None
