"""What rehearsed models decide wrongly, against their relative fitness: the curve by which labels are counted in money."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy
from numpy.typing import NDArray

from learning.arrays import Array
from learning.forecast.bootstrap import BootstrapSamples
from learning.forecast.cache import remembered
from learning.forecast.calibrated import Curves
from learning.forecast.measures import BLOCK, DecisionCost, Decisions, RisingCurve
from learning.forecast.public_sample import REFERENCE
from learning.forecast.rehearsal import Rehearsal, rehearsals
from learning.randomness import Streams
from learning.training.plan import Plan

REPEATS = 4  # draws per start and level of noise
REPEATED_ONCE = 20  # the same where there is a single start
NARROWEST = 1e-12  # width, where all scores are alike
FURTHER = 4.0, 16.0, 64.0  # times the most noise that plans were measured at: for models worse than any that is bought


def decision_cost(
    rehearsal: Rehearsal, plans: Curves, own_model: Array, bootstrap: BootstrapSamples | None, decisions: Decisions
) -> DecisionCost:
    """The measure of decisions, from models rehearsed at every level of noise, each level by the plan that is best there.

    A model of one start has the threshold that is best on the rows of its resample, as a learner with those rows would
    choose it, and is counted on all rows. A possible world has the models of one start, counted on other rows.

    Parameters
    ----------
    rehearsal : how the training is rehearsed, and on what rows.
    plans : the plans that the learner may train by.
    own_model : array (p,), what the learner has without buying, where there are no resamples of it.
    bootstrap : resamples of the public rows; None on the oracle basis.
    decisions : what wrong ones cost.
    """
    chosen = [np.arange(len(rehearsal.y))] if bootstrap is None else list(bootstrap.rows)
    own_models = own_model[None] if bootstrap is None else bootstrap.models
    asked = [(plan.returned, plan.horizon, plan.step_size, plan.growth) for plan in plans.plans]
    levels = max((curve.levels for curve in plans.curves), key=len)
    levels = np.concatenate([levels, levels[-1] * np.array(FURTHER)])
    best = np.array([plans.best(level) for level in levels])
    told = decisions.false_alarm, decisions.miss, decisions.moved
    found = remembered(
        lambda: _counted(rehearsal, plans, levels, best, own_models, chosen, decisions),
        "decided",
        rehearsal.key,
        (levels, best, asked, own_models, chosen, told),
    )
    whole = RisingCurve.through(found["fitness"], found["costs"])
    there = zip(found["fitness_there"], found["costs_there"], strict=True)
    worlds = tuple(RisingCurve.through(*pair) for pair in there)
    own, known = (found["own_fitness"], found["own_costs"]), (float(found["own"][0]), float(found["own"][1]))
    return DecisionCost(decisions, rehearsal.loss, (rehearsal.x, rehearsal.y), whole, worlds, own, known)


def _counted(
    rehearsal: Rehearsal,
    plans: Curves,
    levels: Array,
    best: NDArray[np.intp],
    own_models: Array,
    chosen: list[NDArray[np.intp]],
    decisions: Decisions,
) -> dict[str, Array]:
    """Mean relative fitness of some models, and what a case decided by them costs: all in all (k,), and by start (m, k).

    Of the models trained at each level of noise, and of the best there is; of the learner's own models apart, (m,). By start,
    costs are counted on the rows of another start's resample.
    """
    smooth, cost = len(chosen) > 1, rehearsal.cost
    repeats, each_own = REPEATS if smooth else REPEATED_ONCE, list(zip(own_models, chosen, strict=True))
    kept: tuple[list[list[float]], ...] = tuple([[] for _ in chosen] for _ in range(3))
    fitness, costs, there = kept
    others = [np.bincount(rows, minlength=len(rehearsal.y)) / len(rows) for rows in [*chosen[-1:], *chosen[:-1]]]

    def count(start: int, models: Array) -> None:
        rows = row_costs(rehearsal, decisions, models, chosen[start], smooth=smooth)
        fitness[start].append(float(np.mean(cost.relative(models))))
        costs[start].append(float(rows.mean()))
        there[start].append(float(rows @ others[start]))

    for number in np.unique(best):
        trained = _trained(rehearsal, plans.plans[number], levels[best == number], repeats)
        for start, by_level in enumerate(trained):
            for models in by_level:
                count(start, models)
    for start in range(len(chosen)):
        count(start, cost.minimiser[None])
    own_rows = np.array([row_costs(rehearsal, decisions, own[None], rows, smooth=smooth) for own, rows in each_own])
    scale = unseen(rehearsal, decisions, own_rows.mean(axis=0), len(chosen))
    sound = np.isfinite(fitness).all(axis=0)
    at, own_at = np.array(fitness)[:, sound], cost.relative(own_models)
    return {
        "fitness": at.mean(axis=0),
        "costs": np.array(costs)[:, sound].mean(axis=0),
        "fitness_there": at,
        "costs_there": np.array(there)[:, sound] * scale[:, None],
        "own": np.array([own_at.mean(), own_rows.mean()]),
        "own_fitness": own_at,
        "own_costs": np.array([row @ other for row, other in zip(own_rows, others, strict=True)]) * scale,
    }


def unseen(rehearsal: Rehearsal, decisions: Decisions, costs: Array, worlds: int) -> Array:
    """By what decisions may cost more in truth than rows show that cost (n,), in each world, (m,); 1 where all are known.

    Few rows show few wrong decisions, whose rate is a gamma variable by Jeffreys' prior.
    """
    if worlds == 1 or not costs.any():
        return np.ones(worlds)
    prices = np.where(rehearsal.y < 0, decisions.false_alarm, decisions.miss)
    shown = float(costs.sum() ** 2 / (prices @ costs))  # so many wrong ones, if all cost the same
    return Streams(rehearsal.seed, "data").rng("decided").gamma(shown + 0.5, size=worlds) / shown


def _trained(rehearsal: Rehearsal, plan: Plan, levels: Array, repeats: int) -> Iterator[Array]:
    """The models rehearsed from each start under a plan, (levels, repeats, p)."""
    step = np.array([plan.step_size])
    for coordinates, done in rehearsals(rehearsal, plan.horizon, step, levels, repeats, plan.growth):
        with np.errstate(over="ignore", invalid="ignore"):  # training may diverge
            theta = coordinates.model(done.last if plan.returned == "last" else done.mean)
            yield theta.reshape(len(levels), repeats, -1)


def row_costs(
    rehearsal: Rehearsal, decisions: Decisions, models: Array, rows: NDArray[np.intp], *, smooth: bool
) -> Array:
    """What the decision on each row costs, (n,), by models (k, p) on average, thresholds being chosen on some rows.

    With ``smooth``, each row stands for others like it (`alarms`), as few rows do for many; else for itself alone.
    """
    total, sound = np.zeros(len(rehearsal.y)), models[np.isfinite(models).all(axis=1)]
    for some in np.array_split(sound, 1 + len(sound) * len(rehearsal.y) // BLOCK):
        scores = rehearsal.loss.predicted(rehearsal.x, some)
        thresholds = decisions.thresholds(scores[:, rows], rehearsal.y[rows])[:, None]
        alarmed = alarms(scores - thresholds, rehearsal.y) if smooth else scores >= thresholds
        total += decisions.costs(alarmed, rehearsal.y).sum(axis=0)
    return total / max(len(sound), 1)


def alarms(beyond: Array, y: Array) -> Array:
    """Chance that a row like each is decided to be +1, (k, n), by how far scores lie beyond a threshold (k, n).

    Scores of a label are taken to lie about those of its rows with a normal kernel. So two models that decide all rows
    alike may differ on others, and a model that was fitted to them is not taken to be always right.

    Source: Silverman, Density Estimation, 3.28 (the width).
    """
    chances = np.empty(beyond.shape)
    for label in (-1.0, 1.0):
        of_label = y == label
        shown = beyond[:, of_label]
        finite = np.where(np.isfinite(shown), shown, 0.0)
        width = REFERENCE * finite.std(axis=1, keepdims=True) * max(int(of_label.sum()), 1) ** (-1 / 5)
        chances[:, of_label] = scipy.special.ndtr(shown / np.maximum(width, NARROWEST))
    return chances
