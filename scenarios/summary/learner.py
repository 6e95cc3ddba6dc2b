"""What a result holds of what the learner can see for itself after training, with no look at any owner's record."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from learning.forecast.homogeneity import answers_alike, record_gradients
from learning.forecast.own_check import better_on, start_in_answers
from learning.randomness import Streams
from learning.training.algorithms import ALGORITHMS
from learning.training.engine import Trained
from scenarios.run import Run


def own_check_part(run: Run, trained: Trained) -> dict[str, Any]:
    """Its check of the first training: by the noisy answers, and by public rows that it kept aside for that.

    Answers are looked at where all owners give their first ones at the start, and there are public rows to compare with.
    """
    public, aside, task = run.data.public, run.data.aside, trained.task
    sees: dict[str, Any] = {}
    if aside is not None and public is not None:
        models = np.stack([run.planner.own_model, trained.theta[0]])
        sees["aside"] = {"records": aside.n_records} | asdict(better_on(public, aside.x, aside.y, models))
    if task is None or public is None or not ALGORITHMS[task.plan.algorithm].sums_answers:
        return {"homogeneity": None, "learner_sees": sees or None}
    gradients = record_gradients(task.coordinates, *public.population())
    found = answers_alike(task, gradients, rng=Streams(run.scenario.seed, "homogeneity").rng())
    start = start_in_answers(trained, public)
    if start is not None:
        sees["start"] = asdict(start)
    return {"homogeneity": {among: asdict(test) for among, test in found.items()}, "learner_sees": sees or None}
