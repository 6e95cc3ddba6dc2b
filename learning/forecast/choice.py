"""Choice of algorithm, clipping and mechanism: from planning inputs to a planner.

Every way to train is compared by a quick forecast at the reference budgets, by rehearsal. All ways
meet the same bootstrap samples of the public rows and the same draws. For a forecast, mechanisms of
one norm differ only in the amount of their noise: of those that go with the same settings and are
priced for the same number of rounds only the one of least noise is tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from learning.arrays import Array
from learning.errors import InputError
from learning.forecast.calibrated_planner import calibrated_planner
from learning.forecast.exact_planner import exact_planner
from learning.forecast.inputs import PlanningInputs, Settings
from learning.forecast.one_step import (
    TYPICAL,
    geometric_mean,
    price_first_moments,
    price_moments,
)
from learning.forecast.planner import (
    Choice,
    Planner,
    bootstrap_in_doubt,
    bootstrap_of,
)
from learning.forecast.protocol import MOMENTS_SHARES, design_protocol
from learning.forecast.rehearsal import Rehearsal
from learning.forecast.tail import stretch_residuals
from learning.losses.clipping import PARTS, RECORD
from learning.privacy.mechanism import Mechanism, NoiseSettings
from learning.privacy.mechanisms import BEST, candidate_mechanisms
from learning.privacy.noise import open_growths
from learning.privacy.wrapped import Remaining
from learning.progress import ReportWork, count_progress
from learning.training.plan import Plan

RESAMPLES = 24  # starts of a quick forecast
REPEATS = 4  # draws from each
ROUNDS = (1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 30, 40, 60, 100)  # to compare mechanisms at
FIRST = (3, 2.0)  # rounds, and growth of shares, that are tried first where they are open
HEARD = (1, 17)  # rounds at which norms are compared
LOUDER = 1.1  # variance of noise in one norm over that in the other, beyond which it is left out
WITHIN_REACH = 1.5  # of the lowest quick forecast: exact accounting may make up for the rest

Place = tuple[int, float]  # rounds, and growth of shares


@dataclass(frozen=True)
class Way:
    """Way to train, all decided but the plan.

    Parameters
    ----------
    inputs : of the forecast, with decided settings.
    mechanism : mechanism of the answers.
    """

    inputs: PlanningInputs = field(repr=False)
    mechanism: Mechanism

    @property
    def settings_and_norm(self) -> tuple[Settings, int]:
        """Settings and norm of records: ways that share both differ in their noise alone."""
        return self.inputs.settings, int(self.mechanism.norm)

    def make_planner(self, like: Planner | None = None) -> Planner:
        """Make its planner, with the mechanism named in the settings."""
        name = self.mechanism.name
        accounting = self.mechanism.accounting
        settings = replace(self.inputs.settings, mechanism=name, accounting=accounting)
        return planner_under(replace(self.inputs, settings=settings), self.mechanism, like)

    def noise_level(self, horizon: int, growth: float) -> float:
        """Noise on the last of ``horizon`` answers at the reference budgets, at a bound of 1."""
        mechanism = self.mechanism
        widened = 1.0
        if self.inputs.settings.trains_by.scores:
            mechanism = mechanism.with_moments(TYPICAL, self.inputs.owners.rows_per_person)
            widened = mechanism.beside_moments(TYPICAL) ** 2
        if self.inputs.settings.trains_by.moments:
            rows = self.inputs.owners.rows_per_person
            mechanism = price_first_moments(mechanism, MOMENTS_SHARES[0], rows)
        even = widened * float(mechanism.horizon_factor(horizon)) * self._noise_of(mechanism)
        return even * float(mechanism.relative_scales(growth, horizon)[-1]) ** 2

    def _noise_of(self, mechanism: Mechanism) -> float:
        """Aggregated noise at the reference budgets, over the factor of the rounds."""
        owners = self.inputs.owners
        return owners.noise_at(owners.reference, mechanism, self.inputs.base_weighting)

    def forecast_at(self, horizon: int, growth: float) -> QuickForecast:
        """Quick forecast for a number of rounds and a growth of shares: the best of some steps."""
        rehearsal = self.own_rehearsal
        settings = self.inputs.settings
        level = np.array([self._noise_of(rehearsal.mechanism)])
        steps = rehearsal.open_step_sizes(settings.step_size, horizon)
        points = rehearsal.trains_by.trial_points(settings.returned, horizon)
        found = rehearsal.rehearse(
            horizon, steps, level, repeats=REPEATS, returned=points, growth=growth
        ).mean(axis=(3, 4))
        lowest = float(found.min())
        point, step, _ = np.unravel_index(int(found.argmin()), found.shape)
        plan = rehearsal.make_plan(points[point], horizon, float(steps[step]), growth)
        return QuickForecast(lowest, horizon, growth, self, plan)

    def forecast_in_doubt(self, plan: Plan) -> float | None:
        """Geometric mean of relative fitness under a plan over the kinds that records may be of.

        So ways are compared by factors: a gain of a third does not make up for an error that may be
        ten times as large, and kinds under which all ways fail do not decide. The plan is the best
        one if all records are of one kind, since nothing shows that they are not before owners
        answer. None where there is no doubt (`bootstrap_in_doubt`).
        """
        rehearsal = self.own_rehearsal
        moved = bootstrap_in_doubt(self.inputs, self.mechanism, RESAMPLES)
        if moved is None:
            return None
        starts = moved.start_coordinates(rehearsal.starts[0])
        level = np.array([self._noise_of(rehearsal.mechanism)])
        found = replace(rehearsal, starts=starts).rehearse_plan(plan, level, REPEATS)
        return float(geometric_mean(found[0].mean(axis=1), axis=0))

    @cached_property
    def own_rehearsal(self) -> Rehearsal:
        """Rehearsal of this way."""
        inputs = price_rounds(self.inputs, self.mechanism)
        settings = self.inputs.settings
        bootstrap = bootstrap_of(inputs, self.mechanism, RESAMPLES)
        coordinates = design_protocol(inputs, self.mechanism, bootstrap)
        return Rehearsal.from_sample(
            stretch_residuals(bootstrap.sample, coordinates),
            bootstrap.start_coordinates(coordinates),
            inputs.owners.sizes.astype(float),
            price_moments(self.mechanism, coordinates),
            settings.algorithm,
            seed=inputs.seed,
            aggregation=settings.aggregation,
            decline=settings.step_decline,
        )


class QuickForecast(NamedTuple):
    """Forecast of a way to train at the reference budgets, quick or full.

    ``horizon`` is the best number of rounds, ``growth`` that of the shares of a budget, ``plan``
    the best plan of a quick forecast. ``in_doubt`` is the geometric mean of its relative fitness
    over the kinds that records may be of; None where all are known to be of one kind.
    """

    relative_fitness: float
    horizon: int
    growth: float
    way: Way
    plan: Plan | None = None
    in_doubt: float | None = None

    @property
    def expected(self) -> float:
        """Relative fitness by which ways are compared."""
        return self.relative_fitness if self.in_doubt is None else self.in_doubt

    @property
    def counted(self) -> float:
        """The same with what its rounds cost: zero where nothing is asked."""
        assert self.plan is not None
        return self.expected + self.way.inputs.round_cost * self.plan.exchanges

    def count_doubt(self) -> QuickForecast:
        """The same, on average over the kinds that records may be of."""
        assert self.plan is not None
        return self._replace(in_doubt=self.way.forecast_in_doubt(self.plan))

    @property
    def choice(self) -> Choice:
        """Facts of the way to train, for reports."""
        settings = self.way.inputs.settings
        mechanism = self.way.mechanism
        return Choice(
            settings.algorithm,
            settings.clipping,
            mechanism.name,
            mechanism.accounting,
            self.growth,
            settings.step_power,
            self.horizon,
            self.relative_fitness,
            self.in_doubt,
        )


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
        did = count_progress(inputs.progress, "forecasting: comparing ways to train", 1)
        found = compare_ways(ways, did)
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


def planner_under(
    inputs: PlanningInputs, mechanism: Mechanism, like: Planner | None = None
) -> Planner:
    """Make the planner under one mechanism, with the rounds that its noise is priced for.

    By the exact law where there is one, the ball does not bind and answers are summed up; else by
    rehearsal, which counts the effects of projections, aggregation and clipped gradients.

    Parameters
    ----------
    inputs : of the forecast.
    mechanism : mechanism of the answers.
    like : a planner with the same rows, records and seed; its bootstrap samples are used where both
        go by the exact law.
    """
    inputs = price_rounds(inputs, mechanism)
    settings = inputs.settings
    if not (settings.keeps_sums and settings.trains_by.exact):
        return calibrated_planner(inputs, mechanism)
    drawn = None
    if like is not None and like.forecast.kind == "exact":
        drawn = like.bootstrap
    planner = exact_planner(inputs, mechanism, drawn)
    if not settings.aggregation.sums or planner.ball_binds():
        return calibrated_planner(inputs, mechanism, planner.forecast.plan_set)
    return planner


def price_rounds(inputs: PlanningInputs, mechanism: Mechanism) -> PlanningInputs:
    """Inputs with the rounds that the noise is priced for, and the growth of its shares."""
    settings = inputs.settings
    horizon = mechanism.horizon
    if horizon is None:
        return inputs
    growth = mechanism.growth
    if growth is None:
        growth = settings.growth
    elif growth != 1:
        horizon += settings.trains_by.stops_short
    return replace(inputs, settings=replace(settings, horizon=horizon, growth=growth))


def list_open_ways(inputs: PlanningInputs) -> list[Way]:
    """List every way to train that is open to the learner, without those that are inconsistent.

    Raises
    ------
    InputError
        The first refusal, where none is consistent.
    """
    found: list[Way] = []
    refused: list[InputError] = []
    for settings in inputs.among or (inputs.settings,):
        if settings.exact and inputs.among and not settings.is_exchanged:
            continue
        decided = replace(inputs, settings=settings, among=())
        try:
            found += [Way(decided, mechanism) for mechanism in open_mechanisms(decided)]
        except InputError as error:
            refused.append(error)
    if not found:
        raise refused[0]
    return found


def open_mechanisms(inputs: PlanningInputs) -> list[Mechanism]:
    """List the mechanisms left open: one where it is named, several under "best" or by horizon.

    Each is under the budget that remains after loss reports.
    """
    settings = inputs.settings
    algorithm = settings.trains_by
    announced = NoiseSettings(
        sizes=tuple(int(size) for size in inputs.owners.sizes),
        delta=settings.delta,
        accounting=settings.accounting,
        overlap=settings.overlap,
        formula=algorithm.published_formula,
        weights=settings.weights,
        single_record=algorithm.one_by_one,
        horizon=settings.horizon,
        horizons=algorithm.trial_horizons,
        width=algorithm.answer_width(inputs.n_parameters),
        growth=settings.growth,
        unasked=int(algorithm.stops_short),
        moments=algorithm.scores or algorithm.moments,
        exact=settings.exact,
    )
    found = candidate_mechanisms(settings.mechanism, announced)
    found = [one for one in found if algorithm.noise_norm in (None, one.norm)]
    if algorithm.moments:
        found = [one for one in found if one.apart]
    if inputs.trust.secure:  # under "best", those that owners can make together
        able = [one.made_by(len(inputs.owners)) for one in found if one.divides]
        found = [inputs.trust.check_divisible(one, len(inputs.owners)) for one in able or found]
    if inputs.reports is None:
        return found
    return [Remaining(one, inputs.reports.query.epsilon) for one in found]


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
                found += _climb_down(_places_priced(rivals), start)
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


def search_rounds(way: Way, start: Place) -> list[QuickForecast]:
    """Search the rounds and growth of the lowest quick forecast of a way, from the place nearest.

    The result has the one forecast that was found; it is empty where no place is open.
    """
    return _climb_down(_places_open_to(way), start)


def forecast_near(way: Way, start: Place) -> QuickForecast:
    """Make the quick forecast of a way at the place that is nearest, in rounds and then growth."""
    places = _places_open_to(way)
    nearest = min(places, key=lambda one: (abs(one[0] - start[0]), abs(one[1] - start[1])))
    return way.forecast_at(*nearest)


def _places_open_to(way: Way) -> dict[Place, Way]:
    """Map the rounds and growths that are open to a way to it."""
    settings = way.inputs.settings
    horizons: Sequence[int] = (settings.horizon or 1,)
    if settings.horizon is None:
        horizons = way.own_rehearsal.horizons()
    growths = open_growths(settings.growth, 2) if settings.trains_by.takes_steps else (1.0,)
    return {
        (horizon, growth): way
        for horizon, growth in product(horizons, growths)
        if growth in open_growths(settings.growth, horizon)
    }


def _places_priced(rivals: Sequence[Way]) -> dict[Place, Way]:
    """Map the rounds and growth that each way is priced for to it."""
    settings = [price_rounds(way.inputs, way.mechanism).settings for way in rivals]
    places = [(one.horizon or 1, one.growth or 1.0) for one in settings]
    return dict(zip(places, rivals, strict=True))


def _climb_down(ways: dict[Place, Way], start: Place) -> list[QuickForecast]:
    """Search the lowest forecast by single steps in rounds or growth, from the place nearest start.

    The result has the one forecast that was found; it is empty where no place is open.
    """
    if not ways:
        return []
    axes = [sorted(set(values)) for values in zip(*ways, strict=True)]
    grid = {tuple(map(list.index, axes, place)): place for place in ways}

    @cache
    def look_up(*at: int) -> QuickForecast | None:
        return ways[grid[at]].forecast_at(*grid[at]) if at in grid else None

    i, j = (
        min(range(len(axis)), key=lambda k: abs(axis[k] - near))
        for axis, near in zip(axes, start, strict=True)
    )
    best = look_up(i, j)
    moved = True
    while moved:
        moved = False
        for along, across in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            found = look_up(i + along, j + across)
            if found and (not best or found.counted < best.counted):
                best = found
                i += along
                j += across
                moved = True
    assert best is not None
    return [best.count_doubt()]


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
