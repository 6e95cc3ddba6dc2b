"""`dpmarket compare`: rules or scenarios side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from learning.errors import InputError
from scenarios.command.options import AllowCode, DataFolder, Overrides, Seed, changes
from scenarios.command.progress import stages

Sources = Annotated[
    list[str],
    typer.Argument(metavar="SCENARIO...", help="Scenario files, library names or result folders."),
]
Vary = Annotated[
    list[str] | None,
    typer.Option(
        "--vary",
        metavar="KEY=V1,V2",
        help="Compare the first scenario with each change by itself; may be repeated.",
    ),
]


def compare(
    scenarios: Sources,
    vary: Vary = None,
    spending: Annotated[
        float | None,
        typer.Option(
            "--at-spending", help="Set each policy's money so that so much is paid in all."
        ),
    ] = None,
    fitness: Annotated[
        float | None,
        typer.Option(
            "--at-fitness",
            help="Set it so that the model is so good by the forecast: 0.02 is 2 % above best.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the comparison [default: results/compare-NAME].")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write into a folder with other files, which are kept.")
    ] = False,
    overrides: Overrides = None,
    seed: Seed = None,
    data_folder: DataFolder = None,
    no_train: Annotated[bool, typer.Option("--no-train", help="Stop at the equilibria.")] = False,
    allow_code: AllowCode = False,
) -> None:
    """Compare rules or scenarios: who gains, who loses, how owners would vote; a page, tables and a memo."""
    from scenarios.output.places import check_folder
    from scenarios.report.comparison_page import FILES, save_comparison
    from scenarios.studies.comparison import Aim, comparison, read_alternatives
    from scenarios.studies.comparison import compare as compare_alternatives

    aim = Aim(spending, fitness)
    varied = [one for text in vary or [] for one in split_values(text)]
    folder = out or Path("results") / f"compare-{Path(scenarios[0]).stem}"
    check_folder(folder, FILES, force=force)
    read = read_alternatives(
        scenarios, changes(overrides, seed), allow_code=allow_code, data_folder=data_folder
    )
    with stages() as progress:
        carried = compare_alternatives(read, varied, aim, training=not no_train, progress=progress)
        content = comparison(carried, aim)
        progress("writing the report")
        save_comparison(content, folder, force=force)
    from scenarios.command.compare_table import print_comparison

    print_comparison(content, folder)


def split_values(text: str) -> list[tuple[str, str]]:
    """The key and each value of KEY=V1,V2; commas in brackets or quotes do not split.

    >>> split_values("owners.epsilon=[0.1, 2.0],[0.1, 4.0]")
    [('owners.epsilon', '[0.1, 2.0]'), ('owners.epsilon', '[0.1, 4.0]')]
    """
    key, given, values = text.partition("=")
    found = [""]
    depth = 0
    quote = ""
    for char in values:
        quote = "" if char == quote else char if not quote and char in "\"'" else quote
        depth += 0 if quote else (char in "[{") - (char in "]}")
        if char == "," and not depth and not quote:
            found.append("")
        else:
            found[-1] += char
    found = [value.strip() for value in found]
    if not given or not key.strip() or not all(found):
        raise InputError(
            "--vary", "must be KEY=V1,V2 with a dotted key, such as policy.budget=500,1000", text
        )
    return [(key.strip(), value) for value in found]
