"""`dpmarket audit`: a scenario's privacy claims put to the test."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

from typer import Option

from learning.display import show_stages
from learning.program import declare_command
from scenarios.command.options import Changes, ScenarioArg
from scenarios.command.run import parse_budgets

REFUTED = 3  # exit status


@declare_command
def audit(
    scenario: ScenarioArg,
    *,
    epsilon: str | None = None,
    draws: Annotated[int | None, Option(min=100, max=10**7)] = None,
    out: Path | None = None,
    changes: Changes,
) -> int:
    """Test a scenario's privacy claims: check its training and attack its answers.

    Parameters
    ----------
    epsilon : Budgets, one per owner or one for all [default: those of the equilibrium].
    draws : Draws of all answers for each of two neighbouring tables and each half.
    out : File for the findings, .json or .md.
    """
    from scenarios.command.audit_printed import check_out, print_audit, write_audit

    if out is not None:
        check_out(out)
    chosen = changes.load_scenario(scenario)
    from learning.audit.auditor import DRAWS
    from scenarios.studies.audit import audit_scenario

    budgets = None
    if epsilon is not None:
        budgets = partial(parse_budgets, epsilon, spent=chosen.owners.report)
    with changes.placing_faults(scenario), show_stages() as progress:
        found = audit_scenario(chosen, budgets, draws=draws or DRAWS, progress=progress)
    print_audit(found)
    if out is not None:
        write_audit(found, scenario, chosen.seed, out)
    return REFUTED * found.refuted
