"""Trainings to compare a market with: no noise, one central party, other weights, owners alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from learning.losses.records import pool_records
from learning.training.client import make_clients
from learning.training.copies import copy_training
from learning.training.task import Task


@dataclass(frozen=True)
class Baseline:
    """The same training with one change, to compare a market's with.

    Parameters
    ----------
    says: the change, in a few words of a report.
    change: maps the market's training to the changed one, or to one for each owner by name.
    """

    says: str
    change: Callable[[Task], Task | dict[str, Task]]


def weigh_answers(task: Task, equally: bool) -> Task:
    """Weigh the owners equally or by their records, with the noise of a paper for either.

    Noise of a paper's own ("printed") has its formula: sigma^2 = c G^2 T ln(1/delta)/(n^2
    epsilon^2) by records, and over (m n_(1))^2 for equal weights. Other noise does not depend on
    weights.

    Source: Kang et al., Weighted Distributed Differential Privacy ERM, (2), (3) and Table 1.
    """
    noise = task.mechanism.for_weights(equally)
    owners = list(task.owners)
    if noise is not task.mechanism:
        bound = task.coordinates.noise_bound
        for i, owner in enumerate(owners):
            epsilon = [owner.epsilon or np.inf]
            scale = noise.scale(epsilon, [owner.records.n_records], bound, owner.horizon)
            owners[i] = replace(owner, scale=float(scale[0]))
    weights = np.ones(len(owners)) if equally else None
    return replace(task, owners=tuple(owners), mechanism=noise, weights=weights)


def centralise_records(task: Task) -> Task:
    """Give all records to one party, under the mean of the owners' budgets.

    The noise of central differential privacy is scaled to all n records, so at equal budgets its
    power is N times below that of N equal owners.
    """
    epsilon = float(np.mean([owner.epsilon for owner in task.owners]))
    one = make_clients(
        ["all together"],
        [pool_records([owner.records for owner in task.owners])],
        [epsilon],
        task.mechanism,
        task.coordinates.noise_bound,
        task.plan.priced,
        growth=task.plan.growth,
    )
    return replace(task, owners=one, weights=None)


def remove_noise(task: Task) -> Task:
    """Make all answers exact, epsilon = inf, without any claim of privacy."""
    owners = tuple(replace(owner, scale=0.0, epsilon=np.inf) for owner in task.owners)
    return replace(task, owners=owners)


BASELINES = {
    "weighted": Baseline("weighed by records", partial(weigh_answers, equally=False)),
    "plain": Baseline("all weighed alike", partial(weigh_answers, equally=True)),
    "central": Baseline("one party with all records", centralise_records),
    "nonprivate": Baseline("no noise", remove_noise),
    "copies": Baseline("every owner a learner", copy_training),
}
