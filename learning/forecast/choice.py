"""Choice of algorithm, clipping and mechanism: from planning inputs to a planner.

Every way to train is compared by a quick forecast at the reference budgets, by rehearsal. All ways
meet the same bootstrap samples of the public rows and the same draws. For a forecast, mechanisms of
one norm differ only in the amount of their noise: of those that go with the same settings and are
priced for the same number of rounds only the one of least noise is tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isnan
from typing import Any

import numpy as np

from learning.arrays import Array
from learning.errors import InputError
from learning.forecast.doubts import bootstrap_in_doubt
from learning.forecast.inputs import PlanningInputs, Settings
from learning.forecast.kept import load_or_compute
from learning.forecast.planner import Planner
from learning.forecast.round_search import search_priced_rounds, search_rounds
from learning.forecast.ways import RESAMPLES, QuickForecast, Way, list_open_ways
from learning.losses.clipping import PARTS, RECORD
from learning.privacy.mechanisms import BEST
from learning.privacy.noise import open_growths
from learning.progress import ReportWork, count_progress

ROUNDS = (1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 30, 40, 60, 100)  # to compare mechanisms at
FIRST = (3, 2.0)  # rounds, and growth of shares, that are tried first where they are open
HEARD = (1, 17)  # rounds at which norms are compared
LOUDER = 1.1  # variance of noise in one norm over that in the other, beyond which it is left out
WITHIN_REACH = 1.5  # of the lowest quick forecast: exact accounting may make up for the rest


def make_planner(inputs: PlanningInputs) -> Planner:
    """Make protocol and forecast, from public rows where there are any, else from pooled records.

    Where several ways to train are open to the learner, the one with the smallest forecast at the
    reference budgets is taken, and announced before any owner chooses: the smallest quick forecast
    where there are public rows, and the smallest full one where only the number of rounds that
    noise is priced for is open, or nothing is public.

    Raises
    ------
    InputError
        If a bound that must be public is neither stated nor shown by public rows, or no way to
        train is consistent.
    """
    ways = list_open_ways(inputs)
    compared = len(inputs.among) > 1 or inputs.settings.mechanism == BEST
    if compared and inputs.sample is not None:
        found = _recall_comparison(inputs, ways)
        return _with_choices(found[0].way.make_planner(), found)
    planners: list[Planner] = []
    full = []
    reference = inputs.owners.reference
    for way in ways:
        planner = way.make_planner(planners[0] if planners else None)
        planners.append(planner)
        plan = planner.forecast.plan(reference)
        fitness = planner.forecast.at(reference)
        full.append(QuickForecast(fitness, plan.horizon, plan.growth, way, plan))
    best = planners[int(np.argmin([one.counted for one in full]))]
    return _with_choices(best, _sort_lowest_first(full)) if compared else best


def _with_choices(planner: Planner, found: Sequence[QuickForecast]) -> Planner:
    """Planner with all ways that were compared, the lowest first, which is chosen."""
    first, *others = (one.choice for one in found)
    return replace(planner, choices=(replace(first, chosen=True), *others))


def _recall_comparison(inputs: PlanningInputs, ways: Sequence[Way]) -> list[QuickForecast]:
    """Compare ways to train, or recall what was found before for the same; plans are not kept."""
    numbers = {id(way): float(i) for i, way in enumerate(ways)}

    def compare() -> dict[str, Array]:
        did = count_progress(inputs.progress, "forecasting: comparing ways to train", 1)
        found = compare_ways(ways, did)
        facts = [(numbers[id(one.way)], *one[:3], one.in_doubt) for one in found]
        return {"found": np.array(facts, dtype=float)}  # None becomes NaN

    kept = load_or_compute(
        compare, "compare", *inputs.key_of([(way.inputs.settings, way.mechanism) for way in ways])
    )["found"]
    return [
        QuickForecast(
            fitness, int(horizon), growth, ways[int(i)], None, None if isnan(doubt) else doubt
        )
        for i, fitness, horizon, growth, doubt in kept.tolist()
    ]


def compare_ways(ways: Sequence[Way], did: ReportWork) -> list[QuickForecast]:
    """Make a quick forecast of each way that may be the best, the lowest first.

    First come ways that are priced for any number of rounds. Noise that is accounted for one number
    of rounds is smaller by a third or so, but slow to compute. It is tried only where the same
    settings without it come near the lowest forecast, from the number of rounds that is best there.
    """
    ways = screen_ways(ways)
    free = least_noisy([way for way in ways if way.mechanism.horizon is None])
    loud = find_loud(free)
    free = [way for way in free if way.settings_and_norm not in loud]
    found: list[QuickForecast] = []
    refused: list[InputError] = []
    for way in free:
        try:
            found += search_rounds(way, FIRST)
        except InputError as error:
            refused.append(error)
        did(0.8 / len(free))
    near = WITHIN_REACH * min((one.counted for one in found), default=np.inf)
    kinds: dict[Any, list[Way]] = {}
    for way in ways:
        if way.mechanism.horizon is not None:
            kind = (way.settings_and_norm, type(way.mechanism), way.mechanism.name)
            kinds.setdefault(kind, []).append(way)
    for (shape, _, name), rivals in kinds.items():
        if shape in loud:
            continue
        family = _sort_lowest_first([one for one in found if one.way.settings_and_norm == shape])
        named = [one for one in family if one.way.mechanism.name == name] or family
        if not family or family[0].counted <= near:
            start = named[0][1:3] if named else FIRST
            try:
                found += search_priced_rounds(rivals, start)
            except InputError as error:
                refused.append(error)
    did(0.2)
    if not found:
        raise refused[0]
    return _sort_lowest_first(found)


def screen_ways(ways: Sequence[Way]) -> list[Way]:
    """Leave out, before any rehearsal, ways than which others that are open are never worse.

    - Where records may be of other kinds, those that take steps, if any does not. Steps are planned
      for the curvature of the public rows. Where that of the owners' records is a few times as
      large, they lead away from the best model without limit; a release has the curvature in it.
    - A release without scores, where one with scores is open.
    - Under squared loss, records clipped once, where gradients may be clipped at every step.
    - Where shares of a budget may grow, steps that another algorithm takes too, which may return
      their mean besides.
    """
    left = list(ways)
    solved = [way for way in ways if not way.inputs.settings.trains_by.takes_steps]
    scored = [way for way in solved if _releases_scores(way.inputs.settings)]
    if scored:
        left = [way for way in left if way in scored or way not in solved]
    if solved and bootstrap_in_doubt(solved[0].inputs, solved[0].mechanism, RESAMPLES) is not None:
        return scored or solved
    known = {way.inputs.settings for way in left}
    clipped = {replace(one, clipping=PARTS) for one in known if one.clipping == RECORD}
    averaged = {_name_steps(one) for one in known if one.trains_by.may_average}
    for way in list(left):
        one = way.inputs.settings
        rather_clipped = one.loss.quadratic and one in clipped
        rather_averaged = not one.trains_by.may_average and _name_steps(one) in averaged
        if rather_clipped or (rather_averaged and one.growth is None):
            left.remove(way)
    return left


def _releases_scores(settings: Settings) -> bool:
    """Test whether scores are released, which must be bounded."""
    return settings.trains_by.scores and not np.isinf(settings.clip or 0.0)


def _name_steps(settings: Settings) -> Settings:
    """Settings under which two algorithms that take the same steps are equal."""
    return replace(settings, algorithm="", returned=(), step_decline=settings.step_power)


def _sort_lowest_first(found: Sequence[QuickForecast]) -> list[QuickForecast]:
    """Sort from the lowest."""
    return sorted(found, key=lambda one: (one.counted, one.relative_fitness))


def least_noisy(ways: Sequence[Way]) -> list[Way]:
    """Select, of each family, the ways of least noise at some open number of rounds and growth."""
    left: list[Way] = []
    for family in dict.fromkeys(way.settings_and_norm for way in ways):
        rivals = [way for way in ways if way.settings_and_norm == family]
        settings = rivals[0].inputs.settings
        rounds: Sequence[int] = (1,)
        if settings.trains_by.takes_steps:
            least, most = settings.trains_by.rounds
            rounds = [one for one in ROUNDS if least <= one <= most]
            if settings.horizon is not None:
                rounds = (settings.horizon,)
        places = [(one, growth) for one in rounds for growth in open_growths(settings.growth, one)]
        levels = np.array([[way.noise_level(*place) for place in places] for way in rivals])
        left += [rivals[i] for i in dict.fromkeys(levels.argmin(axis=0).tolist())]
    return left


def find_loud(ways: Sequence[Way]) -> set[tuple[Settings, int]]:
    """Find, of ways that differ in the norm of their noise, those under which it is louder.

    Compared is what a noise of a typical length of the public rows' gradients, in its own norm,
    adds to the last of few answers and of many: beyond `LOUDER` times as much in both, better
    clipping does not make up for it. Noise at a delta falls behind where answers are few, and is
    the least where they are many.
    """
    power: dict[tuple[Settings, int], Array] = {}
    for way in ways:
        whole = way.inputs.public_coordinates(way.mechanism)
        length = float(np.mean(whole.gradient_lengths(*way.inputs.public.population())))
        settings = way.inputs.settings
        rounds = HEARD if settings.trains_by.takes_steps else (1, 1)
        level = np.array([way.noise_level(one, 1.0) * length**2 for one in rounds])
        found = power.get(way.settings_and_norm, np.full(len(rounds), np.inf))
        power[way.settings_and_norm] = np.minimum(level, found)
    quiet = np.full(len(HEARD), np.inf)
    return {
        (settings, norm)
        for (settings, norm), level in power.items()
        if np.all(level > LOUDER * power.get((settings, 3 - norm), quiet))
    }
