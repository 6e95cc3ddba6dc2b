"""The solver's global search: local maxima of many intervals at once, refined by their slopes."""

from math import isfinite

import numpy as np

from market.columns import Array, Pair, transpose_rows
from market.game.grids import (
    DECADES,
    Rows,
    Some,
    enough_points,
    in_blocks,
    local_peaks,
    log_grid,
    refine_grid,
    row_entries,
)

# A gain below this part of the money at stake is none.
TRIFLE = 1e-10
# Relative width at which a maximum is found, and that of the first maxima of a large market.
EXACT = 1e-13
ROUGH = 1e-2
# Relative first step of a climb, and its steps at most; a warm start takes three or four.
NUDGE = 1e-5
SECANTS = 16
# Payoffs closer than this, relative, are the same payoff.
ROUNDING = 8 * np.finfo(float).eps


def root_uphill(
    slope: Rows, top: Array, near: Array, steepness: Array, *, exact: float = EXACT
) -> Array:
    """Root of the slope (n,) between the best point of a grid and its neighbour uphill.

    The slope at the best point is its ``steepness`` (n,). The neighbour's is not evaluated: the
    payoff there is no higher, which suffices for a bracket.

    Source: Chandrupatla, A new hybrid quadratic/bisection algorithm (1997).
    """
    if len(top) == 1:
        return np.array([_root_of_one(slope, top.item(), near.item(), steepness.item(), exact)])
    rising = (steepness > 0)[:, None]
    top, near, steepness = (part[:, None] for part in (top, near, steepness))
    x1 = np.where(rising, top, near)
    x2 = np.where(rising, near, top)
    f1 = np.abs(steepness)
    f2 = -f1
    t = np.full_like(x1, 0.5)
    for _ in range(100):
        x = x1 + t * (x2 - x1)
        f = slope(x)
        same = (f > 0) == (f1 > 0)
        x3 = np.where(same, x1, x2)
        f3 = np.where(same, f1, f2)
        x2 = np.where(same, x2, x1)
        f2 = np.where(same, f2, f1)
        x1 = x
        f1 = f
        best = np.where(np.abs(f1) < np.abs(f2), x1, x2)
        width = np.abs(x2 - x1)
        finished = (width <= 2 * exact * np.abs(best)) | (f1 == 0)
        if finished.all():
            break
        # A step that is not finite falls back on the midpoint.
        with np.errstate(all="ignore"):
            xi = (x1 - x2) / (x3 - x2)
            phi = (f1 - f2) / (f3 - f2)
            t = f1 / (f2 - f1) * f3 / (f2 - f3)
            t = t + (x3 - x1) / (x2 - x1) * f1 / (f3 - f1) * f2 / (f3 - f2)
            quadratic = (phi**2 < xi) & ((1 - phi) ** 2 < 1 - xi) & np.isfinite(t)
            least = np.where(finished, 0.0, np.minimum(exact * np.abs(best) / width, 0.5))
        t = np.where(finished, 0.0, np.clip(np.where(quadratic, t, 0.5), least, 1 - least))
    return np.where(f1 == 0, x1, best)[:, 0]


def _root_of_one(slope: Rows, top: float, near: float, steepness: float, exact: float) -> float:
    """Compute `root_uphill` of a single row in plain numbers: the same root, several times faster.

    The arithmetic is that of the columns, operation by operation; a division by 0, which gives
    them no step that is finite, falls back on the midpoint.
    """
    x1, x2 = (top, near) if steepness > 0 else (near, top)
    f1 = abs(steepness)
    f2 = -f1
    t = 0.5
    at = np.empty((1, 1))
    for _ in range(100):
        at[0, 0] = x = x1 + t * (x2 - x1)
        f = slope(at).item()
        x3, f3 = (x1, f1) if (f > 0) == (f1 > 0) else (x2, f2)
        if (f > 0) != (f1 > 0):
            x2, f2 = x1, f1
        x1, f1 = x, f
        best = x1 if abs(f1) < abs(f2) else x2
        width = abs(x2 - x1)
        if width <= 2 * exact * abs(best) or f1 == 0:
            break
        try:
            xi = (x1 - x2) / (x3 - x2)
            phi = (f1 - f2) / (f3 - f2)
            t = f1 / (f2 - f1) * f3 / (f2 - f3)
            t = t + (x3 - x1) / (x2 - x1) * f1 / (f3 - f1) * f2 / (f3 - f2)
            quadratic = phi * phi < xi and (1 - phi) * (1 - phi) < 1 - xi and isfinite(t)
        except ZeroDivisionError:
            quadratic = False
        least = min(exact * abs(best) / width, 0.5)
        t = min(max(t, least), 1 - least) if quadratic else 0.5
    return x1 if f1 == 0 else best


def local_maxima(
    some: Some,
    low: Array,
    high: Array,
    *,
    points: int = 48,
    peaks: int = 3,
    zoom: int = 0,
    exact: float = EXACT,
) -> Pair:
    """Highest local maxima of each row: the best cells of a grid, and the slope's root in each.

    Parameters
    ----------
    some : values and slopes (`market.game.grids`)
    low, high : (n,)
    points, peaks : int, grid points per row, and the number of its local maxima that are refined
    zoom : int, points added around each of these first (`refine_grid`)
    exact : float, relative width of a root; `ROUGH`: one secant step from the vertex of a
        parabola, and the height of the grid's point

    Returns
    -------
    Places and heights (n, c); a row with fewer than c maxima repeats its best.
    """
    grid = log_grid(low, high, enough_points(low, high, points))
    value = some(np.arange(len(low)))[0]
    heights = in_blocks(value, grid)
    if zoom:
        grid, heights = refine_grid(value, grid, heights, peaks, zoom)
    at = local_peaks(heights, peaks)
    place = row_entries(grid, at)
    height = row_entries(heights, at)
    if exact == ROUGH:
        place *= _vertex_ratio(grid, heights, at)
    for peak in range(at.shape[1]):
        new = (at[:, peak] != at[:, 0]) if peak else True
        rows = np.flatnonzero(new & (place[:, peak] > 0))
        if rows.size and exact == ROUGH:
            start = place[rows, peak]
            place[rows, peak] = _secant_ascent(some(rows)[1], start, low[rows], high[rows], 1)[0]
        elif rows.size:
            top = place[rows, peak], height[rows, peak]
            ends = low[rows], high[rows]
            better = _refine_peaks(some, rows, grid, at[rows, peak], top, ends, exact)
            place[rows, peak], height[rows, peak] = better
    again = at == at[:, :1]
    return np.where(again, place[:, :1], place), np.where(again, height[:, :1], height)


def _refine_peaks(
    some: Some,
    rows: Array,
    grid: Array,
    at: Array,
    tops: Pair,
    ends: Pair,
    exact: float,
) -> Pair:
    """Refine one grid peak of each of the rows (k,): places and heights (k,)."""
    place, height = tops
    steepness = some(rows)[1](place[:, None])[:, 0]
    uphill = np.clip(at + np.where(steepness > 0, 1, -1), 0, grid.shape[1] - 1)
    near = grid[rows, uphill]
    # Nothing is resolved between 0 and the next point.
    inside = np.flatnonzero((near != place) & (near > 0))
    if not inside.size:
        return tops
    value, slope = some(rows[inside])
    top = place[inside]
    root = root_uphill(slope, top, near[inside], steepness[inside], exact=exact)
    root = np.clip(root, ends[0][inside], ends[1][inside])
    root_height = value(root[:, None])[:, 0]
    top_height = height[inside]
    better = root_height >= top_height - ROUNDING * np.abs(top_height)
    place[inside] = np.where(better, root, top)
    height[inside] = np.where(better, root_height, top_height)
    return place, height


def _vertex_ratio(grid: Array, heights: Array, at: Array) -> Array:
    """Ratio (n, c) from peaks of a grid of equal ratios to the vertices of their parabolas."""
    inner = np.clip(at, 1, grid.shape[1] - 2)
    left, top, right = (row_entries(heights, inner + shift) for shift in (-1, 0, 1))
    # A step that is not finite, and an end of the interval, stay.
    with np.errstate(all="ignore"):
        steps = np.clip((left - right) / (left - 2 * top + right) / 2, -0.5, 0.5)
        ratio = (grid[:, -1:] / grid[:, -2:-1]) ** steps
    return np.where((at == inner) & np.isfinite(steps), ratio, 1.0)


def climb_to_maxima(some: Some, low: Array, high: Array, places: Array) -> Pair:
    """Local maxima (n, c) uphill of known ones, with both ends: places and heights (n, c + 2).

    Secant steps on the slope are quick where maxima have moved a little. A row whose climb does
    not arrive, or that leaves 0, is searched globally. New maxima elsewhere are not found, so a
    global search has to follow in the end.
    """
    now = np.clip(places, low[:, None], high[:, None])
    smallest = high * 10.0**-DECADES
    lost = np.zeros(len(low), dtype=bool)
    for peak in range(places.shape[1]):
        new = (places[:, peak] != places[:, 0]) | (peak == 0)
        now[~new, peak] = now[~new, 0]
        rows = np.flatnonzero(new & (high > low))
        if not rows.size:
            continue
        start = np.where(now[rows, peak] > 0, now[rows, peak], smallest[rows])
        found, arrived = _secant_ascent(some(rows)[1], start, low[rows], high[rows])
        home = (found <= smallest[rows]) & (low[rows] == 0)
        now[rows, peak] = np.where(home, 0.0, found)
        lost[rows] |= ~(arrived | home)
    rows = np.flatnonzero(lost)
    if rows.size:
        found = local_maxima(lambda part: some(rows[part]), low[rows], high[rows])[0]
        found = found[:, : now.shape[1]]
        now[rows] = np.pad(found, ((0, 0), (0, now.shape[1] - found.shape[1])), mode="edge")
    candidates = np.vstack([low, transpose_rows(now), high]).T
    tops = in_blocks(some(np.arange(len(low)))[0], candidates[:, [0, 1, -1]])
    heights = np.repeat(tops.T, [1, now.shape[1], 1], axis=0)
    for peak in range(1, now.shape[1]):
        rows = np.flatnonzero(now[:, peak] != now[:, 0])
        if rows.size:
            heights[1 + peak, rows] = some(rows)[0](now[rows, peak, None])[:, 0]
    return candidates, heights.T


def _secant_ascent(
    slope: Rows, start: Array, low: Array, high: Array, steps: int = SECANTS
) -> Pair:
    """Climb from a start > 0 (n,) to a root of the slope or an end; the place, and its arrival."""
    low = np.maximum(low, high * 10.0**-DECADES)
    before = start
    slope_before = slope(start[:, None])[:, 0]
    now = np.clip(start * (1 + NUDGE * np.sign(slope_before)), low, high)
    there = now == before
    for _ in range(steps):
        if there.all():
            break
        slope_now = slope(now[:, None])[:, 0]
        with np.errstate(all="ignore"):
            step = slope_now * (before - now) / (slope_now - slope_before)
        concave = np.isfinite(step) & (step * slope_now > 0)
        step = np.where(concave, step, np.sign(slope_now) * now)
        ahead = np.clip(now + step, np.maximum(low, 0.25 * now), np.minimum(high, 4 * now))
        # Where the slope is rounding, steps are arbitrary.
        small = np.abs(now - before) <= 1e-9 * now
        ahead = np.where(there | (small & ~concave) | (slope_now == 0), now, ahead)
        # A secant's error is about the product of both distances.
        left = np.abs(ahead - now) * np.abs(ahead - before)
        there = there | (ahead == now) | (concave & (left <= 1e-11 * now**2))
        before = now
        slope_before = slope_now
        now = ahead
    return now, there


def smallest_maximiser(places: Array, heights: Array) -> Array:
    """Place of each row (n, c) with the greatest height; of equal ones the smallest (n,)."""
    places = transpose_rows(places)
    heights = transpose_rows(heights)
    best = heights.max(axis=0)
    return np.where(heights >= best - ROUNDING * np.abs(best), places, np.inf).min(axis=0)
