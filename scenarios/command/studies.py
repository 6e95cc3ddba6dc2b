"""Commands that compute several markets: a comparison of rules, and the search for an offer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from learning.display import show_stages
from learning.errors import InputError
from learning.program import declare_command
from scenarios.command.options import AllowCode, Changes, DataFolder, Force, Overrides, ScenarioArg


@dataclass(frozen=True, kw_only=True)
class AimOptions:
    """An aim that all alternatives are made to meet.

    Parameters
    ----------
    at_spending : Set each policy's money so that so much is paid in all.
    at_fitness : Set it so that the model is so good by the forecast: 0.02 is 2 % above best.
    """

    at_spending: float | None = None
    at_fitness: float | None = None

    @property
    def assignments(self) -> list[str]:
        """Aim as assignments."""
        given = {"at_spending": self.at_spending, "at_fitness": self.at_fitness}
        return [f"{name}={value:g}" for name, value in given.items() if value is not None]


@declare_command
def compare(
    scenarios: list[str],
    *,
    vary: list[str] | None = None,
    aim: AimOptions,
    out: Path | None = None,
    force: Force = False,
    changes: Changes,
    no_train: bool = False,
    allow_code: AllowCode = False,
) -> None:
    """Compare rules or scenarios, and write who gains and who loses to a page, tables and a memo.

    Parameters
    ----------
    scenarios SCENARIO... : Scenario files, library names or result folders.
    vary KEY=V1,V2 : Compare the first scenario with each of these changes; may be repeated.
    out : Folder of the comparison [default: results/compare-NAME, options in its name].
    no_train : Compute the equilibria only; train nothing.
    """
    from scenarios.command.studies_printed import print_comparison
    from scenarios.output.names import name_folder
    from scenarios.output.places import check_folder
    from scenarios.report.comparison_page import FILES, save_comparison
    from scenarios.studies import comparison

    common = comparison.Aim(aim.at_spending, aim.at_fitness)
    varied = [one for text in vary or [] for one in split_values(text)]
    others = [Path(name).stem for name in scenarios[1:]]
    told = [*others, *(vary or []), *changes.assignments, *aim.assignments]
    folder = out or Path("results") / name_folder(scenarios[0], told, before="compare-")
    check_folder(folder, FILES, force=force)
    read = comparison.read_alternatives(
        scenarios, changes.assignments, allow_code=allow_code, data_folder=changes.data_folder
    )
    with show_stages() as progress:
        training = not no_train
        carried = comparison.compare(read, varied, common, training=training, progress=progress)
        content = comparison.comparison(carried, common)
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


@dataclass(frozen=True, kw_only=True)
class DesignOptions:
    """The search for an offer, and the learner's attitude to risk.

    Parameters
    ----------
    budget : Money that may be paid at most [default: learner.budget].
    policies K1,K2 : Kinds of policy to try [default: all usual ones].
    at_least P : Least chance that buying pays; the largest expected gain that has it is chosen.
    quantile Q : Quantile of the gain to be largest, such as 0.1, in place of the expected gain.
    optimistic : Count on the best of several equilibria, not on the worst.
    """

    budget: float | None = None
    policies: str | None = None
    at_least: float | None = None
    quantile: float | None = None
    optimistic: bool = False

    @property
    def assignments(self) -> list[str]:
        """Options given as assignments."""
        given = vars(self) | {"optimistic": self.optimistic or None}
        return [f"{name}={value}" for name, value in given.items() if value is not None]

    @property
    def kinds(self) -> list[str]:
        """Kinds of policy that are named."""
        return [kind.strip() for kind in (self.policies or "").split(",") if self.policies]


@declare_command
def design(
    scenario: ScenarioArg,
    *,
    search: DesignOptions,
    out: Path | None = None,
    force: Force = False,
    overrides: Overrides = None,
    data_folder: DataFolder = None,
) -> None:
    """Find the policy, payments and owners with which the learner gains most, and write the chosen
    scenario.

    Parameters
    ----------
    out : Folder of the design [default: results/design-NAME, options in its name].
    """
    from scenarios.command.studies_printed import print_design
    from scenarios.output.names import name_folder
    from scenarios.output.places import check_folder
    from scenarios.report.design_page import CHOSEN, FILES, save_design
    from scenarios.studies.attitude import Attitude
    from scenarios.studies.design import design_scenario
    from scenarios.studies.design_part import design_part

    changes = Changes(overrides=overrides, data_folder=data_folder)
    told = [*changes.assignments, *search.assignments]
    folder = out or Path("results") / name_folder(scenario, told, before="design-")
    check_folder(folder, FILES, force=force)
    chosen = changes.load_scenario(scenario)
    attitude = Attitude(search.at_least, search.quantile)
    with changes.placing_faults(scenario), show_stages() as progress:
        found = design_scenario(
            chosen,
            kinds=search.kinds,
            budget=search.budget,
            optimistic=search.optimistic,
            attitude=attitude,
            progress=progress,
        )
        content = design_part(found, optimistic=search.optimistic)
        progress("writing the report")
        text = ""
        if found.scenario is not None:
            text = found.scenario.to_toml(absolute=True)
        save_design(content, text, folder, force=force)
    print_design(content, folder, f"run it: dpmarket run {folder / CHOSEN}" * bool(text))
