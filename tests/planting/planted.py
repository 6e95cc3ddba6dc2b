"""Bugs planted one at a time, a training's claims unchanged, to see which of them an audit notices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learning.arrays import Array
from learning.audit.auditor import audit_owner
from learning.audit.checks import check_training
from learning.audit.observations import AuditTarget
from learning.progress import Progress, count_progress, ignore_progress
from learning.training.task import Task
from planting.bugs import BUGS


@dataclass(frozen=True)
class Caught:
    """Whether an audit noticed a bug.

    Parameters
    ----------
    bug: its name.
    checks: the kinds of checks that failed.
    attacked: whether the attack on a single record refuted the claim.
    says: what is wrong, in a few words.
    """

    bug: str
    checks: tuple[str, ...]
    attacked: bool
    says: str = ""

    @property
    def seen(self) -> bool:
        return self.attacked or bool(self.checks)


def planted(
    task: Task,
    overlap: int,
    record: tuple[Array, Array],
    rows: int = 1,
    *,
    seed: int,
    draws: int,
    error: float,
    progress: Progress = ignore_progress,
) -> list[Caught]:
    """Plant every bug that the training can have, one at a time, and audit.

    Parameters
    ----------
    task: the sound training.
    overlap: kappa, as the scenario states it.
    record: (x (m, p), y (m,)), the data of an owner, of whose first record, or person, one that has
        no other is attacked at the largest budget; of a few of them where a bug shows in no single
        one.
    rows: k, the most rows of one person at an owner, as the scenario states it.
    seed, draws: of the attack; as in `audit_owner`.
    error: the chance of a false alarm, of the checks and of the attack each.
    progress: who is told how many are done.
    """
    most = max(
        owner.epsilon
        for owner in task.owners
        if owner.epsilon is not None and np.isfinite(owner.epsilon)
    )
    found = []
    biting = {name: bug for name, bug in BUGS.items() if bug.bites(task)}
    did = count_progress(progress, "planting bugs", len(biting))
    for name, bug in biting.items():
        broken = bug.plant(task)
        kappa = max(overlap, bug.overlap)
        with bug.inside():
            failed = tuple(
                check.kind
                for check in check_training(broken, kappa, rows, error=error)
                if not check.passed
            )
            target = AuditTarget.of(broken, kappa, rows)
            x, y = (part[: bug.among * rows] for part in record)
            finding = audit_owner(
                "", x, y, most, target, seed=seed, draws=draws, confidence=1 - error
            )
        found.append(Caught(name, failed, finding.refuted, bug.says))
        did(1)
    return found
