"""Commands that settle several markets: rules side by side, and the search for an offer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from learning.errors import InputError
from learning.program import expand_groups
from scenarios.command.options import (
    AllowCode,
    Changes,
    DataFolder,
    Force,
    Overrides,
    ScenarioArg,
)
from scenarios.command.progress import show_stages

if TYPE_CHECKING:
    from scenarios.studies.comparison import Aim, Alternative


@dataclass(frozen=True)
class AimOptions:
    """What alternatives are made to have in common."""

    spending: Annotated[
        float | None,
        Option("--at-spending", help="Set each policy's money so that so much is paid in all."),
    ] = None
    fitness: Annotated[
        float | None,
        Option(
            "--at-fitness",
            help="Set it so that the model is so good by the forecast: 0.02 is 2 % above best.",
        ),
    ] = None


@expand_groups
def compare(
    scenarios: Annotated[
        list[str],
        Argument(metavar="SCENARIO...", help="Scenario files, library names or result folders."),
    ],
    *,
    vary: Annotated[
        list[str] | None,
        Option(
            metavar="KEY=V1,V2",
            help="Compare the first scenario with each change by itself; may be repeated.",
        ),
    ] = None,
    aim: AimOptions,
    out: Annotated[
        Path | None, Option(help="Folder of the comparison [default: results/compare-NAME].")
    ] = None,
    force: Force = False,
    changes: Changes,
    no_train: Annotated[bool, Option("--no-train", help="Stop at the equilibria.")] = False,
    allow_code: AllowCode = False,
) -> None:
    """Compare rules or scenarios: who gains, who loses, how owners would vote; a page, tables and a
    memo.
    """
    from scenarios.output.places import check_folder
    from scenarios.report.comparison_page import FILES
    from scenarios.studies.comparison import Aim, read_alternatives

    common = Aim(aim.spending, aim.fitness)
    varied = [one for text in vary or [] for one in split_values(text)]
    folder = out or Path("results") / f"compare-{Path(scenarios[0]).stem}"
    check_folder(folder, FILES, force=force)
    read = read_alternatives(
        scenarios, changes.assignments, allow_code=allow_code, data_folder=changes.data_folder
    )
    _compare_alternatives(read, varied, common, folder, training=not no_train, force=force)


def _compare_alternatives(
    read: list[Alternative],
    varied: list[tuple[str, str]],
    aim: Aim,
    folder: Path,
    *,
    training: bool,
    force: bool,
) -> None:
    """Carry out alternatives, save their comparison and print it."""
    from scenarios.command.studies_printed import print_comparison
    from scenarios.report.comparison_page import save_comparison
    from scenarios.studies import comparison

    with show_stages() as progress:
        carried = comparison.compare(read, varied, aim, training=training, progress=progress)
        content = comparison.comparison(carried, aim)
        progress("writing the report")
        save_comparison(content, folder, force=force)
    print_comparison(content, folder)


def split_values(text: str) -> list[tuple[str, str]]:
    """Split KEY=V1,V2 into the key and each value; commas in brackets or quotes do not split.

    >>> split_values("owners.epsilon=[0.1, 2.0],[0.1, 4.0]")
    [('owners.epsilon', '[0.1, 2.0]'), ('owners.epsilon', '[0.1, 4.0]')]
    """
    key, _, values = text.partition("=")
    found = [""]
    depth = 0
    for part in re.findall(r"""\"[^"]*"?|'[^']*'?|.""", values, re.DOTALL):
        depth += (part in "[{") - (part in "]}")
        if part == "," and not depth:
            found.append("")
        else:
            found[-1] += part
    found = [value.strip() for value in found]
    if not key.strip() or not all(found):
        rule = "must be KEY=V1,V2 with a dotted key, such as policy.budget=500,1000"
        raise InputError("--vary", rule, text)
    return [(key.strip(), value) for value in found]


@expand_groups
def design(
    scenario: ScenarioArg,
    *,
    budget: Annotated[
        float | None, Option(help="Money that may be paid at most [default: learner.budget].")
    ] = None,
    policies: Annotated[
        str | None,
        Option(metavar="K1,K2", help="Kinds of policy to try [default: all usual ones]."),
    ] = None,
    optimistic: Annotated[
        bool,
        Option("--optimistic", help="Count on the best of several equilibria, not on the worst."),
    ] = False,
    out: Annotated[
        Path | None, Option(help="Folder of the design [default: results/design-NAME].")
    ] = None,
    force: Force = False,
    overrides: Overrides = None,
    data_folder: DataFolder = None,
) -> None:
    """Search policies and their money for what the learner gains most by, and whom to ask; writes
    the chosen scenario.
    """
    from scenarios.command.studies_printed import print_design
    from scenarios.output.places import check_folder
    from scenarios.report.design_page import CHOSEN, FILES, save_design
    from scenarios.studies.design import design_part, design_scenario

    changes = Changes(overrides, None, data_folder)
    folder = out or Path("results") / f"design-{Path(scenario).stem}"
    check_folder(folder, FILES, force=force)
    chosen = changes.load_scenario(scenario)
    kinds = [kind.strip() for kind in policies.split(",")] if policies else []
    with changes.placing_faults(scenario), show_stages() as progress:
        found = design_scenario(
            chosen, kinds=kinds, budget=budget, optimistic=optimistic, progress=progress
        )
        content = design_part(found, optimistic=optimistic)
        progress("writing the report")
        text = "" if found.scenario is None else found.scenario.to_toml(absolute=True)
        save_design(content, text, folder, force=force)
    print_design(content, folder, folder / CHOSEN if text else None)
