"""Audit of a scenario's claims: its training is checked, and its answers are attacked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from learning.audit.auditor import CONFIDENCE, DRAWS, Finding, audit_owners
from learning.audit.checks import check_training, list_unseen
from learning.audit.observations import AuditTarget
from learning.audit.transcript import ask_members_singly
from learning.audit.verdicts import Check
from learning.errors import InputError
from learning.forecast.planner import Planner
from learning.progress import Progress, ReportWork, count_progress, ignore_progress
from learning.threads import one_blas_thread
from scenarios.planning import Prepared, prepare
from scenarios.schema.scenario import Scenario
from scenarios.settling.game import market_game
from scenarios.settling.settle import settle
from scenarios.studies.public_facts import check_public, check_rows, records_of
from scenarios.tables.dataset import MarketData
from scenarios.training import training_task

MOST = 8  # owners attacked: those with the fewest records, where a mean hides least
# Chance of a false alarm, of all attacks together and of all checks together.
ERROR = (1 - CONFIDENCE) / 2


@dataclass(frozen=True)
class Audit:
    """Findings, and what they were found on.

    Parameters
    ----------
    findings: what was found of each owner attacked.
    not_attacked: the owners that are asked, with a budget, and were not attacked; the checks are of
        all.
    without_noise: the owners that add no noise, for whom nothing is claimed.
    asks: whether anything is asked of anybody.
    checks: what was checked of the training.
    unseen: what this audit cannot see, in sentences.
    """

    findings: tuple[Finding, ...]
    not_attacked: tuple[str, ...]
    without_noise: tuple[str, ...]
    asks: bool = True
    checks: tuple[Check, ...] = ()
    unseen: tuple[str, ...] = ()

    @property
    def refuted(self) -> bool:
        """Test whether an attack refuted a claim, or a check failed."""
        return any(finding.refuted for finding in self.findings) or not all(
            check.passed for check in self.checks
        )


@one_blas_thread()
def audit_scenario(
    scenario: Scenario,
    budgets: Callable[[int], np.ndarray] | None = None,
    *,
    draws: int = DRAWS,
    progress: Progress = ignore_progress,
) -> Audit:
    """Audit the training of a scenario, at the budgets its market settles on or at given ones.

    Where owners reported their losses before, only the part of their budgets that training spends
    is audited, with the claim for that part. The training is the one that `scenarios.runner.run`
    does, from the same streams. An owner of a single record is attacked beside the others, at the
    largest of their budgets: no mean hides its record.

    Parameters
    ----------
    scenario: the scenario.
    budgets: number of owners -> budgets (n_owners,); None settles the market.
    draws: how often all answers of an owner are drawn for the attack, per data set and half.
    progress: called with the name of each stage as it begins, and the share of it that is done.
    """
    data, planner, epsilon = prepare_audit(scenario, budgets, progress=progress)
    plan = planner.forecast.plan(epsilon)
    without_noise = tuple(name for name, e in zip(data.names, epsilon, strict=True) if e == np.inf)
    claimed = [i for i in np.argsort(data.sizes, kind="stable") if 0 < epsilon[i] < np.inf]
    if not plan.asks or not claimed:
        return Audit((), (), without_noise, plan.asks)
    task = ask_members_singly(training_task(scenario, planner, epsilon))
    overlap = scenario.learning.overlap
    rows = scenario.data.most_rows
    progress("watching the training")
    records, too_many = records_of(data)
    before, left_out = check_preparation(scenario, Prepared(data, planner), epsilon)
    checks = (*before, *check_training(task, overlap, rows, error=ERROR, records=records))
    if too_many:
        names = ", ".join(too_many)
        why = f"what {names} answer from: their records are too many to compute again"
        left_out = (*left_out, why)
    audited = sorted(claimed[:MOST])
    spent = planner.mechanism.training_budget(epsilon)  # by training
    target = AuditTarget.of(task, overlap, rows)
    most = max(spent[claimed])
    did = count_progress(progress, "attacking the answers", len(audited) + 1)
    findings = _attacked(data, audited, spent, most, target, scenario.seed, draws, did)
    others = tuple(data.names[i] for i in claimed[MOST:])
    limits = list_unseen(task, checks, findings, left_out, ERROR)
    return Audit(tuple(findings), others, without_noise, True, checks, limits)


def prepare_audit(
    scenario: Scenario,
    budgets: Callable[[int], np.ndarray] | None = None,
    *,
    progress: Progress = ignore_progress,
) -> tuple[MarketData, Planner, np.ndarray]:
    """Prepare an audit: data, planner, and the budgets (n_owners,) to audit at.

    Raises
    ------
    InputError
        If there are several learners and no budgets, or if nothing bounds a record's gradient.
    """
    if scenario.learners and budgets is None:
        rule = "must be left out of an audit, because it tests one learner only"
        found = f"{len(scenario.learners)} more"
        raise InputError("learners", rule, found, "Give --epsilon, or leave them out.")
    data, planner = prepare(scenario, progress=progress)
    if np.isinf(planner.coordinates.gradient_bound):
        rule = (
            "must bound a record's gradient for an audit: without a ball there is no claim to test"
        )
        raise InputError("learning.theta_max", rule, "none")
    if budgets is not None:
        return data, planner, budgets(len(data.owners))
    progress("settling the market")
    return data, planner, settle(scenario, market_game(scenario, data, planner)).epsilon


def check_preparation(
    scenario: Scenario, prepared: Prepared, epsilon: np.ndarray
) -> tuple[list[Check], tuple[str, ...]]:
    """Check what comes before training; also list what could not be checked."""
    scenario = prepared.data.in_order(scenario)
    public, why = check_public(scenario, prepared, epsilon)
    found = [check_rows(scenario, prepared.data), public]
    return [check for check in found if check is not None], (why,) * bool(why)


def _attacked(
    data: MarketData,
    audited: list[int],
    epsilon: np.ndarray,
    most: float,
    target: AuditTarget,
    seed: int,
    draws: int,
    did: ReportWork,
) -> list[Finding]:
    single = "(one record)" if target.rows == 1 else "(one person)"
    while single in data.names:
        single = f"({single})"
    records = [(data.owners[i].x, data.owners[i].y) for i in audited]
    rows = target.rows * target.coordinates.targets
    return audit_owners(
        [*(data.names[i] for i in audited), single],
        [*records, (records[0][0][:rows], records[0][1][:rows])],
        [*epsilon[audited], most],
        target,
        seed=seed,
        draws=draws,
        confidence=1 - ERROR,
        did=did,
    )
