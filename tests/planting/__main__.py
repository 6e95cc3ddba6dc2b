"""Plant every bug that a scenario's training can have, one at a time, and print which of them its audit sees.

PYTHONPATH=.:tests python -m planting three_insurers --set learning.mechanism=l2 --draws 2000
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from learning.audit.auditor import DRAWS
from learning.audit.transcript import ask_members_singly
from learning.display import PlainTable, list_names
from learning.terminal import Terminal
from planting.broken_public import PUBLIC_BUGS
from planting.bugs import AMONG, BUGS
from planting.planted import Caught, planted
from scenarios.planning import prepare
from scenarios.schema.loading import load
from scenarios.schema.scenario import Scenario
from scenarios.studies.audit import ERROR, check_preparation, prepare_audit
from scenarios.training import training_task


def plant_all(
    scenario: Scenario, epsilon: np.ndarray | None = None, *, draws: int = DRAWS
) -> list[Caught]:
    """Plant every bug that changes something in a scenario, in its training and before it."""
    given = (
        None
        if epsilon is None
        else lambda n_owners: np.broadcast_to(epsilon, n_owners).astype(float)
    )
    data, planner, budgets = prepare_audit(scenario, given)
    task = ask_members_singly(training_task(scenario, planner, budgets))
    rows = scenario.data.most_rows
    claimed = np.flatnonzero((budgets > 0) & np.isfinite(budgets))
    owner = data.owners[int(claimed[np.argmin(data.sizes[claimed])])]
    record = owner.x[: AMONG * rows], owner.y[: AMONG * rows]
    found = planted(
        task, scenario.learning.overlap, record, rows, seed=scenario.seed, draws=draws, error=ERROR
    )
    for name, bug in PUBLIC_BUGS.items():
        if bug.bites(scenario):
            with bug.inside():
                checks, _ = check_preparation(scenario, prepare(scenario), budgets)
            failed = tuple(check.kind for check in checks if not check.passed)
            found.append(Caught(name, failed, False, bug.says))
    return found


def print_caught(found: list[Caught]) -> None:
    """Print which planted bugs the audit sees, and what sees each."""
    rows = PlainTable("", "planted", "checks that fail", "one record's claim")
    for one in found:
        attack = "REFUTED" if one.attacked else "not refuted"
        rows.add_row(one.says, ", ".join(one.checks) or "none", attack)
    missed = [one.says for one in found if not one.seen]
    planted_names = {one.bug for one in found}
    harmless = [bug.says for name, bug in (BUGS | PUBLIC_BUGS).items() if name not in planted_names]
    out = Terminal()
    out.print(rows)
    out.say(
        f"{len(found) - len(missed)} of {len(found)} planted bugs are seen",
        list_names("not seen", missed),
        list_names("not planted, since they change nothing in this scenario", harmless),
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="planting", description=__doc__.splitlines()[0])
    parser.add_argument("scenario")
    parser.add_argument("--set", dest="changes", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--epsilon", type=float, nargs="*")
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--data", type=Path)
    given = parser.parse_args()
    chosen = load(given.scenario, given.changes, data_folder=given.data)
    print_caught(plant_all(chosen, given.epsilon and np.array(given.epsilon), draws=given.draws))
