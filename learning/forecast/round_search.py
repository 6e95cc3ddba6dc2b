"""Search of the number of rounds, and of the growth of shares, with the lowest quick forecast."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product

from learning.forecast.ways import QuickForecast, Way, price_rounds
from learning.privacy.noise import open_growths

Place = tuple[int, float]  # rounds, and growth of shares


def search_rounds(way: Way, start: Place) -> list[QuickForecast]:
    """Search the rounds and growth of the lowest quick forecast of a way, from the place nearest.

    The result has the one forecast that was found; it is empty where no place is open.
    """
    return _climb_down(_places_open_to(way), start)


def search_priced_rounds(rivals: Sequence[Way], start: Place) -> list[QuickForecast]:
    """Search ways that are each priced for one number of rounds and growth, as `search_rounds`."""
    return _climb_down(_places_priced(rivals), start)


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
