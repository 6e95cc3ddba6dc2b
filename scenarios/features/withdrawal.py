"""Withdrawal: owners whose sums leave a trained model, which is solved again without them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from learning.training.sums import released_runs
from scenarios.features.base import Feature, Topic, rows_of
from scenarios.features.contributions import APART, check_sums
from scenarios.features.go import spent_by
from scenarios.schema.fields import Names, Section, check_known
from scenarios.summary.verdict import summarise_runs

if TYPE_CHECKING:
    from scenarios.run import Loop, Run
    from scenarios.schema.scenario import Scenario

TOGETHER = 200  # trainings whose sums are held at once


class Withdrawn(Section):
    """Owners who withdraw from the trained model, after training. It is solved again from the
    others' sums, and nobody is asked again."""

    owners: Names
    """Names of the owners who withdraw."""
    payment: Literal["kept", "returned"] = "kept"
    """The contract's rule for their payments: owners keep them, or return them."""


class Withdrawal(Feature):
    """Owners who withdraw after training: what that costs the model, and what it cannot undo."""

    key = "withdrawal"
    title = "[withdrawal]"
    table = Withdrawn | None
    example = (
        "withdrawal={owners=['A']}",
        "learning.algorithm=one_step",
        "learning.mechanism=l2",
        "data.public_rows=150",
    )
    result = "withdrawal"
    sentence = "withdrawal.txt.j2"
    topic = Topic("withdrawn", 30, "withdrawn", "What withdrawal does", 12)
    excludes = APART

    def check(self, scenario: Scenario) -> None:
        """Refuse trainings from which nothing can be withdrawn."""
        check_sums(scenario, self.title)

    def check_owners(self, scenario: Scenario, names: Sequence[str]) -> None:
        """Refuse names that no owner has."""
        check_known("withdrawal.owners", scenario.withdrawal.owners, names)

    def facts(self, run: Run, loop: Loop) -> dict[str, Any]:
        """Cost of the withdrawal to the model, over all trainings, and what stays as it was.

        Returns
        -------
        withdrawal.payment : What becomes of the payments, by the contract: `kept` or `returned`;
            withdrawal is null where nobody withdraws.
        withdrawal.owners[].name : An owner who withdraws.
        withdrawal.owners[].epsilon_spent : ε that its ledger holds after the withdrawal, as before:
            what was released stays released; null without training.
        withdrawal.owners[].payment : Money that it was paid.
        withdrawal.owners[].returned : Money of that which it gives back.
        withdrawal.error_before : ψ of the trained models, with their sums, measured on all records:
            mean, std_error and quantiles over the trainings; null without training.
        withdrawal.error_after : The same of the models solved again from the others' sums; the
            learner's own where nobody else answered.
        withdrawal.rise : How much higher ψ is without them, training by training.
        withdrawal.worse : Part of the trainings in which the model is worse without them.
        withdrawal.learner : Money that the learner loses by it, on average: the value of the rise
            less what is returned.
        """
        rule = run.scenario.withdrawal
        payments = dict(zip(run.data.names, run.game.payments(run.epsilon), strict=True))
        paid = np.array([payments[name] for name in rule.owners], dtype=float)
        returned = paid * (rule.payment == "returned")
        rows = {
            "name": list(rule.owners),
            "epsilon_spent": spent_by(run, rule.owners),
            "payment": paid,
            "returned": returned,
        }
        facts: dict[str, Any] = {"payment": rule.payment, "owners": rows_of(rows)}
        if run.trained is None:
            return facts | dict.fromkeys(
                ("error_before", "error_after", "rise", "worse", "learner")
            )
        theta = models_without(run, rule.owners)
        after = np.asarray(run.data.fitness.relative(theta))
        rise = after - run.fitness
        lost = run.game.value * (run.counted(theta) - run.errors).mean()
        return facts | {
            "error_before": summarise_runs(run.fitness),
            "error_after": summarise_runs(after),
            "rise": summarise_runs(rise),
            "worse": float(np.mean(rise > 0)),
            "learner": float(lost - returned.sum()),
        }


def models_without(run: Run, owners: Sequence[str]) -> np.ndarray:
    """Models (runs, p) solved again from the sums of everybody else."""
    assert run.trained is not None
    task = run.trained.task
    if task is None:
        return run.trained.theta
    solved = []
    runs = np.arange(task.runs)
    for some in np.split(runs, np.arange(TOGETHER, len(runs), TOGETHER)):
        for sums in released_runs(task, some.tolist()):
            staying = [i for i, name in enumerate(sums.names) if name not in owners]
            solved.append(sums.keep(staying).solve())
    return np.array(solved)
