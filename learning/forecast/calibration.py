"""Curves of the plans worth having: all are screened by rehearsal at some levels of noise, the best measured at every one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from learning.arrays import Array
from learning.errors import InputError
from learning.forecast.cache import remembered
from learning.forecast.calibrated import Curves, fit_curve
from learning.forecast.rehearsal import RETURNED, Key, Rehearsal, rehearse
from learning.forecast.settings import Settings
from learning.privacy.shares import open_growths
from learning.progress import Progress, counting, silent
from learning.training.plan import Plan

SCREENED = 2  # replications per resample when every plan is tried
MEASURED = 12  # replications per resample of the plans that remain
WORLDS_SCREENED = 6
LEVELS = 13  # of noise, beside none
FINE_SCREENED = 4  # replications from every start: few plans differ by much


def calibrate(
    rehearsal: Rehearsal,
    levels: Array,
    settings: Settings,
    *,
    ceiling: float = np.inf,
    measured: int = MEASURED,
    also: Sequence[Plan] = (),
    progress: Progress = silent,
) -> Curves:
    """Curves of the plans that are best at some level of noise.

    All plans are screened with few replications from a few starts at every other level; those that are best at one of them
    are measured again, with more at every level, and fitted. What is found is kept on disk, by everything that it depends on.

    Parameters
    ----------
    levels : array (k,), aggregated noise, the first 0, rising.
    settings : what is fixed of the plan; the learner chooses the rest.
    ceiling : relative fitness above which the learner would not train; curves are fitted up to some way beyond it.
    measured : replications per resample of the plans that remain.
    also : plans that are measured unscreened.
    progress : who is told how far the rehearsals are.
    """
    unscreened = [(plan.returned, plan.horizon, plan.step_size, plan.growth) for plan in also]
    asked = (settings.horizon, settings.step_size, settings.growth, settings.returned, measured, unscreened)
    found = remembered(
        lambda: _calibrate(rehearsal, levels, settings, measured, unscreened, progress),
        "calibrate",
        rehearsal.key,
        levels,
        *asked,
    )
    plans = tuple(
        rehearsal.plan(RETURNED[int(point)], int(rounds), float(constant), float(growth))
        for point, rounds, constant, growth in found["plans"]
    )
    measured_there = zip(found["values"], found["errors"], strict=True)
    return Curves(plans, tuple(fit_curve(*worth_fitting(ceiling, levels, *pair)) for pair in measured_there))


def worth_fitting(ceiling: float, levels: Array, values: Array, *others: Array) -> tuple[Array, ...]:
    """The levels up to the second at which a curve is beyond the ceiling, five of them at least, and what goes with them."""
    beyond = np.flatnonzero(values > ceiling)
    count = max(5, int(beyond[0]) + 2) if len(beyond) else len(levels)
    return tuple(one[:count] for one in (levels, values, *others))


def noise_levels(low: float, high: float) -> Array:
    """Levels of noise to rehearse at: none, and evenly in logs a little beyond what the owners may cause.

    Parameters
    ----------
    low, high : aggregated noise where everyone gives its largest budget, and its smallest.
    """
    high = max(high, 100 * low, 1e-300)
    return np.concatenate([[0.0], np.geomspace(max(low / 3, high * 1e-9), 3 * high, LEVELS)])


def _calibrate(
    rehearsal: Rehearsal,
    levels: Array,
    settings: Settings,
    measured: int,
    unscreened: Sequence[Key],
    progress: Progress,
) -> dict[str, Array]:
    """The plans that remain, as (returned point, rounds, step size), and what was measured of each at every level."""
    some = levels if rehearsal.fine else levels[np.unique([0, *range(1, len(levels), 2), len(levels) - 1])]
    horizons = rehearsal.horizons() if settings.horizon is None else (settings.horizon,)
    steps = [rehearsal.constants(rounds) if settings.step_size is None else [settings.step_size] for rounds in horizons]
    repeats, count = (FINE_SCREENED, None) if rehearsal.fine else (SCREENED, WORLDS_SCREENED)
    starts = rehearsal.starts[:count]
    growths = [open_growths(settings.growth, rehearsal.trains_by.queries(rounds)) for rounds in horizons]
    tried = [(rounds, np.asarray(one), g) for rounds, one, gs in zip(horizons, steps, growths, strict=True) for g in gs]
    each = sum(rounds * len(constants) for rounds, constants, _ in tried)
    work = each * len(some) * repeats * len(starts)
    few = replace(rehearsal, starts=starts, did=counting(progress, "forecasting: trying plans", work))
    keys: list[Key] = []
    heights = []
    for rounds, constants, growth in tried:
        points = rehearsal.trains_by.trial_points(settings.returned, rounds)
        how: Any = {"repeats": repeats, "returned": points, "growth": growth}
        screened = rehearse(few, rounds, constants, some, **how).mean(axis=(3, 4))
        keys += [(point, rounds, float(c), growth) for point in points for c in constants]
        heights.append(screened.reshape(-1, len(some)))
    plans, values, errors = [], [], []
    screened_best = [keys[chosen] for chosen in sorted(set(np.argmin(np.concatenate(heights), axis=0).tolist()))]
    remaining = list(dict.fromkeys([*screened_best, *unscreened]))
    work = sum({key[1:]: key[1] for key in remaining}.values()) * len(levels) * measured * len(rehearsal.starts)
    rehearsal = replace(rehearsal, did=counting(progress, "forecasting: measuring the best plans", work))
    again = _measured(rehearsal, remaining, levels, measured)
    for key in remaining:
        found = again[key]
        height = found.mean(axis=(1, 2))
        if np.isfinite(height).all():
            plans.append((RETURNED.index(key[0]), *key[1:]))
            values.append(height)
            errors.append(np.sqrt(found.var(axis=2, ddof=1).sum(axis=1) / measured) / len(rehearsal.starts))
    if not plans:
        raise InputError(
            "learning.step_size", "must be short enough for training not to diverge", settings.step_size, "Lower it."
        )
    return {"plans": np.array(plans, dtype=float), "values": np.array(values), "errors": np.array(errors)}


def _measured(rehearsal: Rehearsal, plans: Sequence[Key], levels: Array, repeats: int) -> dict[Key, Array]:
    """What is measured of each plan, (levels, starts, repeats): those of as many rounds together: they share all draws."""
    found: dict[Key, Array] = {}
    for rounds, growth in dict.fromkeys((rounds, growth) for _, rounds, _, growth in plans):
        alike = [key for key in plans if (key[1], key[3]) == (rounds, growth)]
        points, steps = [*dict.fromkeys(key[0] for key in alike)], [*dict.fromkeys(key[2] for key in alike)]
        again = rehearse(rehearsal, rounds, np.array(steps), levels, repeats=repeats, returned=points, growth=growth)
        for point, by_step in zip(points, again, strict=True):
            found |= {(point, rounds, step, growth): one for step, one in zip(steps, by_step, strict=True)}
    return found
