"""Two independent global searches over many intervals at once: the solver's and the certificate's.

Both take intervals low, high (n,), one row per owner, and ``some(rows)``, the value and slope of
some rows as vectorised functions of candidates, (k, m) -> (k, m), so that finished rows are not
computed again. Slopes are only evaluated at positive candidates. Neither search assumes that a
row is concave, or continuous at 0. Rows are stored column by column, which NumPy reduces quickly.
"""

from collections.abc import Callable
from math import isfinite

import numpy as np

from market.columns import Array, Pair, transpose_rows

Rows = Callable[[Array], Array]
Some = Callable[[Array], tuple[Rows, Rows]]

# Grid points in a factor of ten, where an interval is so short that this suffices.
PER_DECADE = 10
# An interval that starts at 0 is searched down to 10^-9 of its upper end, and at 0 itself.
DECADES = 9
# Candidates evaluated in one block, so that they stay in the cache.
BLOCK = 2**17
# Relative distance of the certificate's points on both sides of a claimed maximum.
AROUND = 1e-3
# A gain below this part of the money at stake is none.
TRIFLE = 1e-10
# A peak is searched where this many times its parabola's rise would exceed the claim.
DOUBT = 4.0
# Relative width at which a maximum is found, and that of the first maxima of a large market.
EXACT = 1e-13
ROUGH = 1e-2
# Points of the certificate's grid of equal ratios, and about as many of equal steps.
CERTIFYING = 34
# Ratio by which a zoom extends on both sides of a maximum: two steps of a fine grid.
REACH = 1.35
GOLDEN = (np.sqrt(5) - 1) / 2
# Times that the certificate shrinks the bracket of a peak.
SHRINKS = 26
# Up to this many peaks are cut into equal sections at once, in fewer and larger evaluations.
FEW_ROWS = 64
SECTIONS = 24
# Relative first step of a climb, and its steps at most; a warm start takes three or four.
NUDGE = 1e-5
SECANTS = 16
# Payoffs closer than this, relative, are the same payoff.
ROUNDING = 8 * np.finfo(float).eps


def log_grid(low: Array, high: Array, points: int, *, shift: float = 0.0) -> Array:
    """Candidates in equal ratios (n, points) with both ends; 0 is a point of its own.

    ``shift`` moves the inner points by that part of a step.
    """
    start = np.where(low > 0, low, high * 10.0**-DECADES)
    ratio = np.divide(high, start, out=np.ones_like(high), where=start > 0)
    # One point fewer on the logarithmic part where 0 takes the first.
    offset = np.where(low > 0, 0, 1)[:, None]
    offset = offset[:1] if (offset == offset[0]).all() else offset
    steps = np.maximum(np.arange(points)[None, :] - offset + shift, 0) / (points - 1 - offset)
    grid = np.exp(steps.T * np.log(ratio))
    grid *= start
    grid[0] = low
    grid[-1] = high
    return grid.T


def enough_points(low: Array, high: Array, points: int) -> int:
    """Points of a grid: ``points``, or down to a third where every interval is short."""
    ratio = np.divide(high, low, out=np.full_like(high, 10.0**DECADES), where=low > 0)
    needed = int(np.ceil(PER_DECADE * np.log10(np.where(high <= low, 1.0, ratio).max()))) + 1
    return int(np.clip(needed, points // 3, points))


def in_blocks(function: Rows, candidates: Array) -> Array:
    """Evaluate ``function(candidates)`` a few columns at a time."""
    width = max(1, BLOCK // len(candidates))
    blocks = range(0, candidates.shape[1], width)
    return np.concatenate([function(candidates[:, at : at + width]) for at in blocks], axis=1)


def local_peaks(heights: Array, count: int) -> Array:
    """Columns of the ``count`` highest local maxima of each row, best first.

    There are fewer if no row has as many; a row with fewer repeats its first.
    """
    heights = transpose_rows(heights)
    rises = heights[1:] > heights[:-1]
    is_peak = np.ones(heights.shape, dtype=bool)
    is_peak[1:] = rises
    is_peak[:-1] &= ~rises
    peaks = is_peak.sum(axis=0, dtype=np.uint16)
    found = np.repeat(heights.argmax(axis=0)[None], max(1, min(count, int(peaks.max()))), axis=0)
    for k in range(1, len(found)):
        rows = np.flatnonzero(peaks > k)
        is_peak[found[k - 1, rows], rows] = False
        found[k, rows] = np.where(is_peak[:, rows], heights[:, rows], -np.inf).argmax(axis=0)
    return found.T


def _row_entry(rows: Array, at: Array) -> Array:
    """Entry of each row (n, m) at its column (n,)."""
    taken: Array = rows[np.arange(len(rows)), at]
    return taken


def _row_entries(rows: Array, at: Array) -> Array:
    """Entries of each row (n, m) at its columns (n, c)."""
    taken: Array = rows[np.arange(len(rows))[:, None], at]
    return taken


def refine_grid(value: Rows, grid: Array, heights: Array, peaks: int, zoom: int) -> Pair:
    """Add ``zoom`` points around each of a row's ``peaks`` highest local maxima to a grid (n, m).

    Where the best number of rounds changes with epsilon, a payoff is the maximum of many arcs, a
    few percent wide each, with several peaks between neighbouring points of a grid.
    """
    at = local_peaks(heights, peaks)
    added = []
    for peak in range(peaks):
        centre = _row_entry(grid, at[:, peak if peak < at.shape[1] else 0])[:, None]
        left = np.maximum(centre / REACH, grid[:, :1])
        right = np.minimum(centre * REACH, grid[:, -1:])
        # Another part of a step for each peak, so that no point comes twice.
        parts = (np.arange(zoom) + (peak + 1) / (peaks + 1)) / zoom
        added.append(left + parts * (right - left))
    more = np.hstack(added)
    whole = np.hstack([grid, more])
    order = np.argsort(whole, axis=1, kind="stable")
    tops = np.hstack([heights, in_blocks(value, more)])
    return _row_entries(whole, order), _row_entries(tops, order)


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
    some : see above
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
    place = _row_entries(grid, at)
    height = _row_entries(heights, at)
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
    left, top, right = (_row_entries(heights, inner + shift) for shift in (-1, 0, 1))
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


def highest_point(
    some: Some,
    low: Array,
    high: Array,
    claim: Pair,
    trifle: Array,
    *,
    points: int = CERTIFYING,
    peaks: int = 2,
    zoom: int = 0,
) -> Pair:
    """Place and value of each row's highest point, (n,) each, found without slopes.

    It shares no grid and no slope with `local_maxima`, so that it can certify what that found;
    `refine_grid` alone serves both. The ``claim``, places and values (n,) said to be highest, is
    searched closely as well. Other peaks are searched by golden section where a parabola through
    the points around them comes near exceeding it by more than a ``trifle`` (n,); with ``zoom``
    points more around each, all of them are.
    """
    same = (low == low[0]).all() and (high == high[0]).all()
    ends = (low[:1], high[:1]) if same else (low, high)
    grid = grid_with_claim(certifying_grid(*ends, points), claim[0], low, high)
    value = some(np.arange(len(low)))[0]
    heights = in_blocks(value, grid)
    if zoom:
        grid, heights = refine_grid(value, grid, heights, peaks, zoom)
    at = local_peaks(heights, peaks)
    top = _row_entry(heights, at[:, 0])
    place = np.where(top > claim[1], _row_entry(grid, at[:, 0]), claim[0])
    best = np.maximum(top, claim[1])
    for peak in range(at.shape[1]):
        rows = np.flatnonzero(at[:, peak] != at[:, 0]) if peak else np.arange(len(low))
        if not zoom:
            bound = _peak_bound(grid, heights, rows, at[rows, peak])
            rows = rows[~(bound <= (claim[1] + trifle)[rows])]
        if rows.size:
            column = at[rows, peak]
            left = grid[rows, np.maximum(column - 1, 0)][:, None]
            right = grid[rows, np.minimum(column + 1, grid.shape[1] - 1)][:, None]
            section = golden_section if rows.size > FEW_ROWS else equal_sections
            found, height = section(some(rows)[0], left, right)
            place[rows] = np.where(height > best[rows], found, place[rows])
            best[rows] = np.maximum(height, best[rows])
    return place, best


def certifying_grid(low: Array, high: Array, points: int = CERTIFYING) -> Array:
    """Points of equal ratios and of equal steps, in order: (m, n), a row for each point."""
    points = enough_points(low, high, points)
    ratios = log_grid(low, high, points, shift=0.37)
    steps = low[:, None] + (high - low)[:, None] * np.linspace(0, 1, points)[None, 1:-1]
    return transpose_rows(np.sort(np.ascontiguousarray(np.hstack([ratios, steps])), axis=1))


def grid_with_claim(grid: Array, place: Array, low: Array, high: Array) -> Array:
    """Add three points around each place (n,), in one gap of the grid (m, n or 1): (n, m + 3).

    They are inside the interval and off its ends.
    """
    start = np.where(low > 0, low, high * 10.0**-DECADES)
    centre = np.clip(place, start * (1 + 2 * AROUND), np.maximum(high * (1 - 2 * AROUND), start))
    points = len(grid)
    rows = np.arange(len(place))
    before = np.clip((grid <= centre).sum(axis=0, dtype=np.uint16).astype(np.intp), 1, points - 1)
    columns = rows if grid.shape[1] > 1 else 0
    left, right = (grid[before + side, columns] for side in (-1, 0))
    made = np.empty((points + 3, len(place)))
    made[:points] = grid
    np.copyto(made[3:], grid, where=np.arange(points)[:, None] >= before)
    made[before, rows] = np.maximum(centre * (1 - AROUND), (left + centre) / 2)
    made[before + 1, rows] = centre
    made[before + 2, rows] = np.minimum(centre * (1 + AROUND), (right + centre) / 2)
    return made.T


def _peak_bound(grid: Array, heights: Array, rows: Array, column: Array) -> Array:
    """Bound on the peaks in columns (k,) of some rows (k,) between grid points; nan: unknown.

    It is `DOUBT` times the rise of a parabola through the peak and its neighbours, or at an end
    of the interval through the three points there.
    """
    middle = np.clip(column, 1, grid.shape[1] - 2)
    left, top, right = (grid[rows, middle + shift] for shift in (-1, 0, 1))
    f_left, f_top, f_right = (heights[rows, middle + shift] for shift in (-1, 0, 1))
    # Points that coincide give no parabola.
    with np.errstate(all="ignore"):
        before = (f_top - f_left) / (top - left)
        after = (f_right - f_top) / (right - top)
        # Half of minus the curvature, and the slope at the middle point and at the peak.
        bend = (before - after) / (right - left)
        slope = before - bend * (top - left)
        slope = slope - 2 * bend * (grid[rows, column] - top)
        outward = (column != middle) & ~np.where(column == 0, slope > 0, slope < 0)
        rise = np.where(outward & np.isfinite(slope), 0.0, slope**2 / (4 * bend))
        return heights[rows, column] + np.where(rise >= 0, DOUBT * rise, np.nan)


def golden_section(value: Rows, left: Array, right: Array) -> Pair:
    """Shrink brackets (n, 1) `SHRINKS` times; their middle, and the highest value met, (n,)."""
    inner = right - GOLDEN * (right - left)
    outer = left + GOLDEN * (right - left)
    f_inner = value(inner)
    f_outer = value(outer)
    best = np.maximum(f_inner, f_outer)
    for _ in range(SHRINKS):
        go_left = f_inner >= f_outer
        right = np.where(go_left, outer, right)
        left = np.where(go_left, left, inner)
        fresh = np.where(go_left, right - GOLDEN * (right - left), left + GOLDEN * (right - left))
        f_fresh = value(fresh)
        best = np.maximum(best, f_fresh)
        kept = np.where(go_left, inner, outer)
        f_kept = np.where(go_left, f_inner, f_outer)
        inner = np.where(go_left, fresh, kept)
        outer = np.where(go_left, kept, fresh)
        f_inner = np.where(go_left, f_fresh, f_kept)
        f_outer = np.where(go_left, f_kept, f_fresh)
    return ((left + right) / 2)[:, 0], best[:, 0]


def equal_sections(value: Rows, left: Array, right: Array) -> Pair:
    """Shrink brackets to the width of `golden_section`, cut into `SECTIONS` parts at a time."""
    parts = np.linspace(0, 1, SECTIONS + 1)[None, 1:-1]
    best = np.full(len(left), -np.inf)
    for _ in range(int(np.ceil(SHRINKS * np.log(GOLDEN) / np.log(2 / SECTIONS)))):
        at = left + parts * (right - left)
        heights = value(at)
        top = heights.argmax(axis=1)
        step = (right - left) / SECTIONS
        best = np.maximum(best, _row_entry(heights, top))
        middle = _row_entry(at, top)[:, None]
        left = middle - step
        right = middle + step
    return ((left + right) / 2)[:, 0], best
