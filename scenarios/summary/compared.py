"""What the market's training is compared with, where a scenario asks for it.

And the Polyak-Lojasiewicz ratios found.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np

from learning.losses.lojasiewicz import draw_cloud, smallest_ratio
from learning.privacy.promises import make_claims, weakest_claims
from learning.progress import count_progress
from learning.randomness import Streams
from learning.training.baselines import BASELINES
from learning.training.engine import train
from learning.training.paths import ignore_step
from learning.training.task import Task
from scenarios.run import Run
from scenarios.summary.verdict import summarise_runs

MARKET = "market"  # the market's own training, among those that it is compared with
PUBLIC = "anyone but that party"  # where one party has all records
IN_THE_CLOUD = 200
MOST_OF_A_PATH = 200


def baselines_part(run: Run) -> list[dict[str, Any]] | None:
    """The market's training and those asked for besides, at the same budgets with the same draws.

    None where none was.
    """
    names = run.scenario.validation.baselines
    trained = run.trained
    if not names or trained is None or trained.task is None:
        return None
    rows = [baseline_row(run, MARKET, trained.task, trained.theta)]
    for name in names:
        did = count_progress(
            run.planner.inputs.progress, f"training to compare with: {BASELINES[name].says}", 1
        )
        task = replace(BASELINES[name].change(trained.task), watch=ignore_step, did=did)
        rows.append(baseline_row(run, name, task, train(task).theta))
    return rows


def baseline_row(run: Run, name: str, task: Task, theta: np.ndarray) -> dict[str, Any]:
    """Fitness of the models (runs, p) of a baseline, and the claims of its noise."""
    fitness = run.data.fitness
    held = run.data.holdout
    loss = run.scenario.learning.objective
    relative = np.asarray(fitness.relative(theta))
    sold = np.array([np.inf if owner.epsilon is None else owner.epsilon for owner in task.owners])
    parties = [owner.name for owner in task.owners]
    unit = run.scenario.data.promised
    told = make_claims(
        task.mechanism,
        parties,
        task.sizes.astype(int),
        sold,
        task.plan.priced,
        unit,
        task.plan.growth,
    )
    worst = max(
        weakest_claims([asdict(one) for one in told]).values(),
        key=lambda one: one["epsilon"],
        default=None,
    )
    return {
        "name": name,
        "epsilon": sold.tolist() if np.isfinite(sold).all() else None,
        "claimed_epsilon": None if worst is None else worst["epsilon"],
        "seen_by": None
        if worst is None
        else PUBLIC
        if len(parties) == 1
        else worst["protects_against"],
        "relative_fitness": summarise_runs(relative),
        "optimal_gap": float(relative.mean() * fitness.optimum),
        "holdout_error": None if held is None else held.error(loss, theta),
    }


def lojasiewicz_part(run: Run) -> dict[str, Any] | None:
    """Ratios along the first training, at all trained models, and in a cloud around the best.

    None where nobody asks.

    The cloud reaches as far from the best model as training began.
    """
    trained = run.trained
    if not run.scenario.validation.lojasiewicz or trained is None or trained.task is None:
        return None
    cost = run.data.fitness
    steps = np.linspace(0, len(trained.path) - 1, MOST_OF_A_PATH).round().astype(int)
    reach = float(np.linalg.norm(trained.path[0] - cost.minimiser))
    rng = Streams(run.scenario.seed, "lojasiewicz").rng("cloud")
    points = {
        "path": trained.path[np.unique(steps)],
        "trained": trained.theta,
        "cloud": draw_cloud(cost.minimiser, reach, IN_THE_CLOUD, rng=rng),
    }
    return {name: asdict(smallest_ratio(cost, some)) for name, some in points.items()}
