"""`dpmarket design`: what the learner should offer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from scenarios.command.options import DataFolder, Overrides, ScenarioArg, changes, naming
from scenarios.command.progress import stages


def design(
    scenario: ScenarioArg,
    budget: Annotated[
        float | None, typer.Option(help="Money that may be paid at most [default: learner.budget].")
    ] = None,
    policies: Annotated[
        str | None,
        typer.Option(metavar="K1,K2", help="Kinds of policy to try [default: all usual ones]."),
    ] = None,
    optimistic: Annotated[
        bool,
        typer.Option(
            "--optimistic", help="Count on the best of several equilibria, not on the worst."
        ),
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the design [default: results/design-NAME].")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write into a folder with other files, which are kept.")
    ] = False,
    overrides: Overrides = None,
    data_folder: DataFolder = None,
) -> None:
    """Search policies and their money for what the learner gains most by, and whom to ask; writes the chosen scenario."""
    from scenarios.output.places import check_folder
    from scenarios.report.design_page import CHOSEN, FILES, save_design
    from scenarios.schema.loading import load
    from scenarios.studies.design import design_part, design_scenario

    changed = changes(overrides)
    folder = out or Path("results") / f"design-{Path(scenario).stem}"
    check_folder(folder, FILES, force=force)
    chosen = load(scenario, changed, data_folder=data_folder)
    kinds = [kind.strip() for kind in policies.split(",")] if policies else []
    with naming(scenario, changed), stages() as progress:
        found = design_scenario(
            chosen, kinds=kinds, budget=budget, optimistic=optimistic, progress=progress
        )
        content = design_part(found, optimistic=optimistic)
        progress("writing the report")
        text = "" if found.scenario is None else found.scenario.to_toml(absolute=True)
        save_design(content, text, folder, force=force)
    from scenarios.command.design_table import print_design

    print_design(content, folder, folder / CHOSEN if text else None)
