"""A scenario's claims put to the test: the answers its market would buy, attacked as hard as public bounds allow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from learning.audit.auditor import DRAWS, Finding, audit
from learning.audit.observations import AuditTarget
from learning.threads import one_blas_thread
from scenarios.planning import prepare
from scenarios.runner import market_game, settle
from scenarios.schema.loading import Scenario

MOST = 8  # owners audited: those with the fewest records, where a mean hides least


@dataclass(frozen=True)
class Audit:
    """Findings, and what they were found on.

    Parameters
    ----------
    findings: what was found of each owner audited.
    not_audited: the owners that are asked, with a budget, and were not audited.
    without_noise: the owners that add no noise, for whom nothing is claimed.
    asks: whether anything is asked of anybody.
    """

    findings: tuple[Finding, ...]
    not_audited: tuple[str, ...]
    without_noise: tuple[str, ...]
    asks: bool = True

    @property
    def refuted(self) -> bool:
        return any(finding.refuted for finding in self.findings)


@one_blas_thread()
def audit_scenario(
    scenario: Scenario,
    budgets: Callable[[int], np.ndarray] | None = None,
    *,
    draws: int = DRAWS,
    progress: Callable[[str], None] = lambda stage: None,
) -> Audit:
    """Audit the training of a scenario, at the budgets its market settles on or at given ones.

    An owner of a single record is audited beside the others, at the largest of their budgets: no mean hides its record.

    Parameters
    ----------
    scenario: the scenario.
    budgets: number of owners -> budgets (n_owners,); None settles the market.
    draws: how often all answers of an owner are drawn, per data set and half.
    progress: what is told each stage.
    """
    data, planner = prepare(scenario, progress=progress)
    if budgets is None:
        progress("settling the market")
        epsilon = settle(scenario, market_game(scenario, data, planner)).epsilon
    else:
        epsilon = budgets(len(data.owners))
    plan = planner.forecast.plan(epsilon)
    without_noise = tuple(name for name, e in zip(data.names, epsilon, strict=True) if e == np.inf)
    claimed = [i for i in np.argsort(data.sizes, kind="stable") if 0 < epsilon[i] < np.inf]
    if not plan.asks or not claimed:
        return Audit((), (), without_noise, plan.asks)
    audited = sorted(claimed[:MOST])
    single = "(one record)"
    while single in data.names:
        single = f"({single})"
    records = [(data.owners[i].x, data.owners[i].y) for i in audited]
    progress("attacking the answers")
    findings = audit(
        [*(data.names[i] for i in audited), single],
        [*records, (records[0][0][:1], records[0][1][:1])],
        [*epsilon[audited], max(epsilon[claimed])],
        AuditTarget(planner.coordinates, planner.mechanism, plan.priced, plan.algorithm),
        seed=scenario.seed,
        draws=draws,
    )
    return Audit(tuple(findings), tuple(data.names[i] for i in claimed[MOST:]), without_noise)
