"""Which of many ways to train is the best: a quick forecast of each at the reference budgets, by rehearsal.

All ways meet the same resamples of the public rows and the same draws. Noise of one norm differs between mechanisms in how
much there is of it, and in nothing else that a forecast sees: of those that go with the same settings and are priced for the
same number of rounds only the quietest is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from learning.errors import InputError
from learning.forecast.calibrated_protocol import beside_moments, calibrated_protocol, noise_at
from learning.forecast.choice import Choice
from learning.forecast.exact_planner import resamples
from learning.forecast.inputs import PlanningInputs
from learning.forecast.one_step_protocol import TYPICAL
from learning.forecast.rehearsal import Rehearsal, rehearse
from learning.forecast.settings import Settings
from learning.forecast.tail import shown_by
from learning.privacy.mechanism import Mechanism
from learning.privacy.shares import open_growths
from learning.progress import Did

RESAMPLES = 24  # starts of the quick look
REPEATS = 4  # draws from each
ROUNDS = (1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 30, 40, 60, 100)  # at which mechanisms are told apart by their noise
FIRST = (3, 2.0)  # rounds, and growth of shares, that are looked at first where they are open
WITHIN_REACH = 1.5  # of the lowest quick forecast: where exact accounting may still make up for the rest


Place = tuple[int, float]  # rounds, and growth of shares


def priced_for(settings: Settings, answers: int, growth: float | None) -> Settings:
    """The settings under noise that is priced for so many answers, and for one growth of their shares."""
    if growth in (1, None):
        return replace(settings, horizon=answers, growth=settings.growth if growth is None else growth)
    return replace(settings, horizon=answers + settings.trains_by.stops_short, growth=growth)


@dataclass(frozen=True)
class Way:
    """One way to train, all decided but the plan.

    Parameters
    ----------
    inputs : what the learner plans with, its settings decided.
    mechanism : how answers are made noisy.
    """

    inputs: PlanningInputs = field(repr=False)
    mechanism: Mechanism

    @property
    def family(self) -> tuple[Settings, int]:
        """What forecasts of one shape share: the settings, and the norm in which records are bounded."""
        return self.inputs.settings, int(self.mechanism.norm)

    @property
    def decided(self) -> Way:
        """The same with the mechanism named in its settings."""
        name, how = self.mechanism.name, self.mechanism.accounting
        settings = replace(self.inputs.settings, mechanism=name, accounting=how)
        return replace(self, inputs=replace(self.inputs, settings=settings))

    @property
    def priced(self) -> PlanningInputs:
        """The inputs, with the number of rounds that the noise is priced for where that is but one."""
        answers, growth = self.mechanism.horizon, self.mechanism.growth
        if answers is None:
            return self.inputs
        return replace(self.inputs, settings=priced_for(self.inputs.settings, answers, growth))

    def level(self, horizon: int, growth: float) -> float:
        """Noise on the last of so many answers at the reference budgets, for a gradient bound of 1."""
        scores, mechanism = self.inputs.settings.trains_by.scores, self.mechanism
        if scores:
            mechanism = mechanism.with_moments(TYPICAL, self.inputs.owners.rows_per_person)
        widened = mechanism.beside_moments(TYPICAL) ** 2 if scores else 1.0
        even = widened * float(mechanism.horizon_factor(horizon)) * self.noise(mechanism)
        return even * float(mechanism.relative_scales(growth, horizon)[-1]) ** 2

    def noise(self, mechanism: Mechanism) -> float:
        """Aggregated noise at the reference budgets, by the rounds."""
        return noise_at(self.inputs.owners, mechanism, self.inputs.weighting, self.inputs.owners.reference)

    def at(self, horizon: int, growth: float) -> Look:
        """A quick forecast with so many rounds and shares that grow so: the best of some steps."""
        stage, settings = self.stage, self.inputs.settings
        level = np.array([self.noise(stage.mechanism)])
        steps = stage.constants(horizon) if settings.step_size is None else np.array([settings.step_size])
        points = stage.trains_by.trial_points(settings.returned, horizon)
        found = rehearse(stage, horizon, steps, level, repeats=REPEATS, returned=points, growth=growth)
        return Look(self, float(found.mean(axis=(3, 4)).min()), horizon, growth)

    @cached_property
    def stage(self) -> Rehearsal:
        """How it is rehearsed."""
        inputs, mechanism, settings = self.priced, self.mechanism, self.inputs.settings
        sizes, bootstrap = inputs.owners.sizes.astype(float), resamples(inputs, mechanism, RESAMPLES)
        coordinates = calibrated_protocol(inputs, mechanism, bootstrap)
        shown = shown_by(bootstrap.sample, coordinates)
        return Rehearsal(
            *shown.population(),
            shown.fitness,
            bootstrap.under(coordinates),
            sizes,
            sizes / sizes.sum(),
            beside_moments(mechanism, coordinates),
            settings.algorithm,
            seed=inputs.seed,
            aggregation=settings.aggregation,
            decline=settings.step_decline,
        )


@dataclass(frozen=True)
class Look:
    """A way with its forecast at the reference budgets, quick or full.

    Parameters
    ----------
    way : the way to train.
    relative_fitness : what it comes to there.
    horizon : the rounds that are best.
    growth : of the shares of a budget.
    """

    way: Way
    relative_fitness: float
    horizon: int
    growth: float


def looks(ways: Sequence[Way], did: Did) -> list[Look]:
    """A quick forecast of each way that may be the best, the lowest first.

    First of those that are priced for any number of rounds. Noise that is accounted for one number of rounds is dear to know,
    and less by a third or so: it is looked at where the same settings without it come near the lowest forecast, and
    at numbers of rounds near those that are best there.
    """
    open_ways = quietest([way for way in ways if way.mechanism.horizon is None])
    found = []
    for way in open_ways:
        found += _look(way)
        did(0.8 / len(open_ways))
    near = WITHIN_REACH * min((one.relative_fitness for one in found), default=np.inf)
    for rivals in _ladders([way for way in ways if way.mechanism.horizon is not None]):
        alike = in_order([one for one in found if one.way.family == rivals[0].family])
        named = [one for one in alike if one.way.mechanism.name == rivals[0].mechanism.name] or alike
        if not alike or alike[0].relative_fitness <= near:
            found += _look_up(rivals, (named[0].horizon, named[0].growth) if named else FIRST)
    did(0.2)
    return in_order(found)


def in_order(found: Sequence[Look]) -> list[Look]:
    """The lowest first."""
    return sorted(found, key=lambda one: one.relative_fitness)


def _ladders(ways: Sequence[Way]) -> list[list[Way]]:
    """Ways that differ only in what their noise is priced for."""
    kinds = [(way.family, type(way.mechanism), way.mechanism.name) for way in ways]
    return [[way for way, kind in zip(ways, kinds, strict=True) if kind == one] for one in dict.fromkeys(kinds)]


def _look(way: Way) -> list[Look]:
    """The best rounds and growth of one way, climbed to; none where what it asks for does not go together."""
    settings = way.inputs.settings
    try:
        horizons = list(way.stage.horizons()) if settings.horizon is None else [settings.horizon]
    except InputError:
        return []
    growths = open_growths(settings.growth, 2) if settings.trains_by.takes_steps else (1.0,)
    return [
        _climb(lambda T, g: way.at(T, g) if g in open_growths(settings.growth, T) else None, horizons, growths, FIRST)
    ]


def _look_up(rivals: Sequence[Way], start: Place) -> list[Look]:
    """The best of ways that are priced for a number of rounds and a growth each, climbed to."""
    found = {(way.priced.settings.horizon or 1, way.priced.settings.growth or 1.0): way for way in rivals}
    horizons, growths = sorted({horizon for horizon, _ in found}), sorted({growth for _, growth in found})

    def at(horizon: int, growth: float) -> Look | None:
        way = found.get((horizon, growth))
        return None if way is None else way.at(horizon, growth)

    try:
        return [_climb(at, horizons, growths, start)]
    except InputError:
        return []


def _climb(
    at: Callable[[int, float], Look | None], horizons: Sequence[int], growths: Sequence[float], start: Place
) -> Look:
    """The lowest look within reach of single steps in rounds or growth, from the place nearest to a start."""
    seen: dict[tuple[int, int], Look | None] = {}

    def look(i: int, j: int) -> Look | None:
        if (i, j) not in seen:
            inside = 0 <= i < len(horizons) and 0 <= j < len(growths)
            seen[i, j] = at(horizons[i], growths[j]) if inside else None
        return seen[i, j]

    i = min(range(len(horizons)), key=lambda k: abs(horizons[k] - start[0]))
    j = min(range(len(growths)), key=lambda k: abs(growths[k] - start[1]))
    best, moved = look(i, j), True
    while moved:
        moved = False
        for along, across in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            following = look(i + along, j + across)
            if following is not None and (best is None or following.relative_fitness < best.relative_fitness):
                best, i, j, moved = following, i + along, j + across, True
    assert best is not None
    return best


def quietest(ways: Sequence[Way]) -> list[Way]:
    """Of each family, the ways whose noise is the least at some number of rounds and growth that are open to it."""
    left = []
    for family in dict.fromkeys(way.family for way in ways):
        rivals = [way for way in ways if way.family == family]
        settings = rivals[0].inputs.settings
        rounds = ROUNDS if settings.horizon is None else (settings.horizon,)
        rounds = rounds if settings.trains_by.takes_steps else (1,)
        open_to = [(horizon, growth) for horizon in rounds for growth in open_growths(settings.growth, horizon)]
        levels = np.array([[way.level(*place) for place in open_to] for way in rivals])
        left += [rivals[i] for i in dict.fromkeys(levels.argmin(axis=0).tolist())]
    return left


def choices(found: Sequence[Look]) -> tuple[Choice, ...]:
    """All that was compared, the lowest first, which is chosen."""
    return tuple(_choice(one, one is found[0]) for one in found)


def _choice(one: Look, chosen: bool) -> Choice:
    settings, mechanism = one.way.inputs.settings, one.way.mechanism
    return Choice(
        settings.algorithm,
        settings.clipping,
        mechanism.name,
        mechanism.accounting,
        one.growth,
        settings.trains_by.decline if settings.step_decline is None else settings.step_decline,
        one.horizon,
        one.relative_fitness,
        chosen,
    )
