"""What an audit of a training cannot see, with the numbers of this one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from learning.audit.auditor import Finding
from learning.audit.checks import power
from learning.audit.l2_law import law_of
from learning.audit.single_numbers import visible_cut
from learning.audit.transcript import replications
from learning.audit.verdicts import Check
from learning.training.algorithms import ALGORITHMS
from learning.training.task import Task

ALWAYS = (
    "bounds, prices and formulas that are wrong in the audit's own reading of them too",
    "what an owner tells by other ways than its answers: whether and when it answers, how long that takes, what it prints",
    "a bug that shows on other records, seeds, machines or budgets only, or a program that knows it is audited",
    "noise that is random to every test here and not to who drew it: the generator and its seed",
    "reports of losses before trading, noise among members of a group, and whether a charge comes before its answer",
    "the program of an exchange and its ledger on disk, which answer by code of their own",
)


def unseen(
    task: Task, checks: Sequence[Check], findings: Sequence[Finding], left_out: Sequence[str], error: float
) -> tuple[str, ...]:
    """List what may be wrong in a training without this audit's seeing it.

    Parameters
    ----------
    task: the training.
    checks: those that were made of it.
    findings: what attacks showed.
    left_out: what could not be checked, in words.
    error: the chance of a false alarm of all checks together.
    """
    least = power(checks)
    numbers = replications(task, len(task.owners)) * task.width * max(1, len(task.plan.steps))
    rare = 1 - error ** (1 / max(1, numbers))
    said = []
    if np.isnan(least):
        said.append("how much noise there is, which has no law that the audit knows: it was attacked only")
    else:
        said.append(f"noise of an owner that is short of what is stated by less than {1 - least:.1%}")
    law = law_of(task.mechanism.name, task.width)
    cut = np.nan if law is None else visible_cut(law, numbers, error / 1000)
    if np.isfinite(cut):
        said.append(f"noise that is cut off beyond {cut:.2g} times its scale")
    said.append(
        f"faults in fewer than one of {1 / rare:,.0f} numbers of noise, and dependence as weak as that of chance"
    )
    if any(finding.verdict == "too large to test" for finding in findings):
        said.append("claims so large that no number of draws made here could refute them")
    share = min((finding.share for finding in findings), default=1.0)
    if share < 0.995:
        said.append(f"records that move answers further than the worst found, which reach {share:.0%} of the bound")
    if ALGORITHMS[task.plan.algorithm].one_by_one:
        said.append("picks that are uneven among few records of an owner")
    return (*said, *left_out, *ALWAYS)
