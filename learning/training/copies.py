"""Every owner as a learner: a copy of the training for each, by answers of the others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from learning.errors import InputError
from learning.randomness import Streams
from learning.training.task import Task


def copy_training(task: Task) -> dict[str, Task]:
    """One training for each owner, by name: its own records exactly, the others' from one budget.

    An owner does not hide from itself, so that its epsilon is infinite in its own copy. It answers
    the N - 1 others', and its budget is split over all of those answers: whoever saw all copies
    learns no more than from the market's training. Start, steps and weights are the market's;
    noise is drawn anew in each copy. One ledger may hold all of them.

    Raises
    ------
    InputError
        If each answer's share of a budget grows, which one copy after another would make uneven.

    Source: Wu et al., The Value of Collaboration, section V, where each copy is sold epsilon anew.
    """
    if task.plan.growth != 1:
        rule = 'must be 1 with validation.baselines = ["copies"], which share a budget evenly'
        raise InputError("learning.growth", rule, f"{task.plan.growth:g}")
    times = max(1, len(task.owners) - 1)
    bound = task.coordinates.noise_bound
    answers = task.plan.priced * times
    hidden = []
    for owner in task.owners:
        epsilon = owner.epsilon or np.inf
        scale = task.mechanism.scale([epsilon], [owner.records.n_records], bound, answers)
        hidden.append(replace(owner, scale=float(scale[0]), horizon=answers))
    copies = {}
    for place, owner in enumerate(task.owners):
        own = replace(owner, name=f"{owner.name} itself", scale=0.0, epsilon=np.inf)
        owners = (*hidden[:place], own, *hidden[place + 1 :])
        streams = Streams(task.streams.seed, f"copy of {owner.name}")
        copies[owner.name] = replace(task, owners=owners, streams=streams)
    return copies
