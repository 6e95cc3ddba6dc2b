"""Work of a worker: it settles one cell after the other, and plans once for all that share a plan.

The process that hands out the work imports this too, and neither plans nor settles: what that takes
is loaded by the worker.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any

from learning.errors import InputError
from learning.threads import one_blas_thread
from scenarios.schema.loading import ScenarioFile
from scenarios.schema.scenario import Scenario
from scenarios.sweeping.cells import Asked, Cell, code_version

if TYPE_CHECKING:
    from scenarios.planning import Prepared

AT_ONCE = 1.0  # seconds after which a worker hands over what it has done
HELD = 2  # plans that a process remembers
NUMPY = "(overflow|divide by zero|invalid value) encountered"
Row = dict[str, Any]

_plans: dict[str, Prepared] = {}
_alone = Lock()  # threads of one process take turns: warnings, plans and BLAS are the process's


@dataclass(frozen=True)
class Job:
    """Cells for one worker.

    Parameters
    ----------
    base : the scenario file that they change.
    wanted : what is asked of each.
    code : the version of the code that the worker must have.
    cells : the cells.
    """

    base: ScenarioFile = field(repr=False)
    wanted: Asked
    code: str
    cells: tuple[Cell, ...] = field(repr=False)


def work(job: Job) -> list[Row]:
    """Compute as many of the cells as a second allows, from the first on, and one at least.

    A cell that fails has its reason in its row. Faults of the machine, such as no memory, are
    raised: another time, or elsewhere, the same cell may well succeed.

    Raises
    ------
    InputError
        If this process has other code than whoever hands out the work.
    """
    if job.code != code_version():
        rule = "must run the same version of the program and its libraries"
        found = f"{code_version()[:8]}, not {job.code[:8]}"
        raise InputError("workers", rule, found, "Install the same everywhere.")
    done: list[Row] = []
    until = time.monotonic() + AT_ONCE
    with _alone, one_blas_thread(), warnings.catch_warnings():
        warnings.filterwarnings("error", NUMPY, RuntimeWarning)
        for cell in job.cells:
            done.append({"key": cell.key} | outcome(job.base, cell, job.wanted))
            if time.monotonic() > until:
                break
    return done


def outcome(base: ScenarioFile, cell: Cell, wanted: Asked) -> Row:
    """Compute the facts of one cell, and its owners where they are asked for; or why it failed."""
    try:
        scenario = base.under(cell.changes)
        facts, people = settled(scenario, planned(scenario, cell.shares), wanted)
    except (MemoryError, OSError):
        raise
    except InputError as error:
        return {"failed": str(error)}
    except Exception as error:  # whatever it is, the other cells go on
        return {"failed": f"{type(error).__name__}: {error}"}
    return {"facts": facts} | ({"owners": people} if wanted.owners else {})


def settled(
    scenario: Scenario, prepared: Prepared, wanted: Asked
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Settle a scenario for its facts and owners; all of a result only where it is wanted."""
    from scenarios.runner import carry_out, result_of
    from scenarios.sweeping.facts import at, headline_facts, owner_rows

    run = carry_out(scenario, prepared, training=wanted.training, others=bool(wanted.facts))
    facts = headline_facts(run)
    if wanted.facts:
        content = result_of(run).content
        facts |= {place: at(content, place) for place in wanted.facts}
    people = owner_rows(run, facts) if wanted.owners else []
    return facts, people


def planned(scenario: Scenario, shares: str) -> Prepared:
    """Plan a scenario, or take the plan of an earlier one that shares it, if it is not long ago."""
    from scenarios.planning import prepare

    if shares not in _plans:
        made = prepare(scenario)
        while len(_plans) >= HELD:
            _plans.pop(next(iter(_plans)))
        _plans[shares] = made
    return _plans[shares]


def forget() -> None:
    """Remember no plan any longer: a table and its forecast may be large."""
    _plans.clear()
