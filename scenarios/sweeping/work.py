"""Work of a worker: cell after cell, planned once for all that share a plan, and settled once for
all that differ in what a model is worth to the learner alone.

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
    from scenarios.run import Run

AT_ONCE = 1.0  # seconds after which a worker hands over what it has done
HELD = 2  # plans that a process remembers
NUMPY = "(overflow|divide by zero|invalid value) encountered"
Row = dict[str, Any]

_plans: dict[str, Prepared] = {}
_runs: dict[str, Run] = {}  # the last market that was settled
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
        facts, people = facts_of(settled(scenario, cell, wanted), wanted)
    except (MemoryError, OSError):
        raise
    except InputError as error:
        return {"failed": str(error)}
    except Exception as error:  # whatever it is, the other cells go on
        return {"failed": f"{type(error).__name__}: {error}"}
    return {"facts": facts} | ({"owners": people} if wanted.owners else {})


def settled(scenario: Scenario, cell: Cell, wanted: Asked) -> Run:
    """Settle the market of a cell, or take the last one, if that settles by the same."""
    from scenarios.run import revalue
    from scenarios.runner import carry_out

    prepared = planned(scenario, cell.shares)
    known = _runs.get(cell.settles)
    if known is not None:
        return revalue(known, scenario)
    run = carry_out(scenario, prepared, training=wanted.training, others=bool(wanted.facts))
    _runs.clear()
    _runs[cell.settles] = run
    return run


def facts_of(run: Run, wanted: Asked) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Collect facts and owners of a run; all of a result is computed only where it is wanted."""
    from scenarios.runner import result_of
    from scenarios.sweeping.facts import at, headline_facts, owner_rows

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
    """Remember no plan and no market any longer: a table and its forecast may be large."""
    _plans.clear()
    _runs.clear()
