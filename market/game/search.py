"""Two independent global searches over many intervals at once: the solver's and the certificate's.

Both take intervals low, high (n,), one row per owner, and ``some(rows)``, which gives the value and slope of some rows
as vectorised functions of candidates, (k, m) -> (k, m), so that what is settled need not be computed again. Slopes are
only asked at positive candidates. Neither search assumes that a row is concave, or continuous at 0. Each candidate of all
rows lies in one piece of memory (``.T`` of rows is what NumPy works through quickly).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from market.columns import upright

Rows = Callable[[np.ndarray], np.ndarray]
Some = Callable[[np.ndarray], tuple[Rows, Rows]]

PER_DECADE = 10  # grid points in a factor of ten, where an interval is so short that this is fewer than asked for
DECADES = 9  # an interval that starts at 0 is searched down to 10^-9 of its upper end, and at 0 itself
BLOCK = 2**17  # candidates evaluated in one go, so that they stay in cache
AROUND = 1e-3  # relative distance of the certificate's points on both sides of a claimed maximum
TRIFLE = 1e-10  # a gain below this part of the money at stake is none
DOUBT = 4.0  # a peak is searched where this many times its parabola's rise would beat the claim
EXACT = 1e-13  # relative width at which a maximum is found
ROUGH = 1e-2  # about that to which the first maxima of a large market are found, to be refined later
CERTIFYING = 34  # points of the certificate's grid of equal ratios, and about as many of equal steps
REACH = 1.35  # as a ratio, how far on both sides of a maximum it is zoomed into: two steps of a fine grid
GOLDEN = (np.sqrt(5) - 1) / 2
SHRINKS = 26  # times that the certificate shrinks the bracket of a peak
FEW_ROWS, SECTIONS = 64, 24  # so few peaks are cut into so many parts at once, which takes fewer, larger evaluations
NUDGE = 1e-5  # relative first step of a climb, from where it is known to a place close by
SECANTS = 16  # steps of a climb at most; a warm start takes three or four
ROUNDING = 8 * np.finfo(float).eps  # payoffs closer than this, relative, are the same payoff


def log_grid(low: np.ndarray, high: np.ndarray, points: int, *, shift: float = 0.0) -> np.ndarray:
    """``points`` candidates per row (n, points), both ends and equal ratios between; 0 stands apart.

    ``shift`` moves what is between by that part of a step.
    """
    start = np.where(low > 0, low, high * 10.0**-DECADES)
    ratio = np.divide(high, start, out=np.ones_like(high), where=start > 0)
    spread = np.where(low > 0, 0, 1)[:, None]  # one point fewer on the logarithmic part where 0 takes the first
    spread = spread[:1] if (spread == spread[0]).all() else spread
    steps = np.maximum(np.arange(points)[None, :] - spread + shift, 0) / (points - 1 - spread)
    grid = np.exp(steps.T * np.log(ratio))
    grid *= start
    grid[0], grid[-1] = low, high
    return grid.T


def enough_points(low: np.ndarray, high: np.ndarray, points: int) -> int:
    """``points`` of a grid, or fewer where no interval is so long that it needs as many, but a third at least."""
    shut = high <= low
    ratio = np.divide(high, low, out=np.full_like(high, 10.0**DECADES), where=low > 0)
    needed = int(np.ceil(PER_DECADE * np.log10(np.where(shut, 1.0, ratio).max()))) + 1
    return int(np.clip(needed, points // 3, points))


def in_blocks(function: Rows, candidates: np.ndarray) -> np.ndarray:
    """``function(candidates)`` computed a few columns at a time."""
    width = max(1, BLOCK // len(candidates))
    blocks = range(0, candidates.shape[1], width)
    return np.concatenate([function(candidates[:, at : at + width]) for at in blocks], axis=1)


def _peaks(heights: np.ndarray, count: int) -> np.ndarray:
    """Columns of the ``count`` highest local maxima of each row, best first; fewer if no row has so many."""
    heights = upright(heights)
    rises = heights[1:] > heights[:-1]
    is_peak = np.ones(heights.shape, dtype=bool)
    is_peak[1:] = rises
    is_peak[:-1] &= ~rises
    peaks = is_peak.sum(axis=0, dtype=np.uint16)
    found = np.repeat(_first_highest(heights)[None], max(1, min(count, int(peaks.max()))), axis=0)
    for k in range(1, len(found)):
        rows = np.flatnonzero(peaks > k)
        is_peak[found[k - 1, rows], rows] = False
        found[k, rows] = _first_highest(np.where(is_peak[:, rows], heights[:, rows], -np.inf))
    return found.T


def _first_highest(heights: np.ndarray) -> np.ndarray:
    """The first of the highest of each column (k, n), as `numpy.argmax` over the first axis, but quick over so few."""
    backwards = np.arange(len(heights), 0, -1, dtype=np.uint8 if len(heights) < 256 else np.uint64)[:, None]
    highest = heights == heights.max(axis=0)
    return len(heights) - np.maximum((highest.view(np.uint8) * backwards).max(axis=0), 1).astype(np.intp)


def zoomed(value: Rows, grid: np.ndarray, heights: np.ndarray, peaks: int, zoom: int) -> tuple[np.ndarray, np.ndarray]:
    """A grid (n, m) and its heights, with ``zoom`` more points around each of a row's ``peaks`` highest local maxima.

    Where the best number of rounds changes with epsilon, a payoff is the highest of many arcs, a few percent wide each:
    between neighbouring points of a grid there may be several peaks.
    """
    at = _peaks(heights, peaks)
    low, high = grid[:, :1], grid[:, -1:]
    added = []
    for peak in range(peaks):
        centre = np.take_along_axis(grid, at[:, [peak if peak < at.shape[1] else 0]], 1)
        left, right = np.maximum(centre / REACH, low), np.minimum(centre * REACH, high)
        parts = (np.arange(zoom) + (peak + 1) / (peaks + 1)) / zoom  # another part of a step for each: none comes twice
        added.append(left + parts * (right - left))
    more = np.hstack(added)
    whole = np.hstack([grid, more])
    order = np.argsort(whole, axis=1, kind="stable")
    tops = np.hstack([heights, in_blocks(value, more)])
    return np.take_along_axis(whole, order, 1), np.take_along_axis(tops, order, 1)


def root_uphill(
    slope: Rows, top: np.ndarray, near: np.ndarray, steepness: np.ndarray, *, exact: float = EXACT
) -> np.ndarray:
    """Where the slope is 0 (n,) between the best point of a grid and its neighbour uphill, to a relative ``exact``.

    The slope at the best point is its ``steepness`` (n,). The neighbour's is not evaluated: the payoff there is no higher,
    which is all that a bracket needs.

    Source: Chandrupatla, A new hybrid quadratic/bisection algorithm (1997).
    """
    rising, size = (steepness > 0)[:, None], np.abs(steepness)[:, None]
    top, near, steepness = top[:, None], near[:, None], steepness[:, None]
    x1, x2 = np.where(rising, top, near), np.where(rising, near, top)
    f1, f2 = np.where(rising, steepness, size), np.where(rising, -size, steepness)
    t = np.full_like(x1, 0.5)
    for _ in range(100):
        x = x1 + t * (x2 - x1)
        f = slope(x)
        same = (f > 0) == (f1 > 0)
        x3, f3 = np.where(same, x1, x2), np.where(same, f1, f2)
        x2, f2 = np.where(same, x2, x1), np.where(same, f2, f1)
        x1, f1 = x, f
        best = np.where(np.abs(f1) < np.abs(f2), x1, x2)
        width = np.abs(x2 - x1)
        finished = (width <= 2 * exact * np.abs(best)) | (f1 == 0)
        if finished.all():
            break
        with np.errstate(all="ignore"):  # what is not finite falls back on the midpoint
            xi, phi = (x1 - x2) / (x3 - x2), (f1 - f2) / (f3 - f2)
            t = f1 / (f2 - f1) * f3 / (f2 - f3) + (x3 - x1) / (x2 - x1) * f1 / (f3 - f1) * f2 / (f3 - f2)
            quadratic = (phi**2 < xi) & ((1 - phi) ** 2 < 1 - xi) & np.isfinite(t)
            least = np.where(finished, 0.0, np.minimum(exact * np.abs(best) / width, 0.5))
        t = np.where(finished, 0.0, np.clip(np.where(quadratic, t, 0.5), least, 1 - least))
    return np.where(f1 == 0, x1, best)[:, 0]


def local_maxima(
    some: Some,
    low: np.ndarray,
    high: np.ndarray,
    *,
    points: int = 48,
    peaks: int = 3,
    zoom: int = 0,
    exact: float = EXACT,
) -> tuple[np.ndarray, np.ndarray]:
    """The highest local maxima of each row: the best cells of a grid, then the root of the slope in each.

    Parameters
    ----------
    some : see above
    low, high : (n,)
    points, peaks : int, grid points per row, and how many of its local maxima are refined
    zoom : int, points added around each of these first (`zoomed`)
    exact : float, relative width at which a root is found; `ROUGH`: one step towards it from the vertex of a parabola, and
        the height of the grid's point

    Returns
    -------
    Places and heights (n, c); a row with fewer than c maxima repeats its best.
    """
    points = enough_points(low, high, points)
    grid = log_grid(low, high, points)
    value = some(np.arange(len(low)))[0]
    heights = in_blocks(value, grid)
    if zoom:
        grid, heights = zoomed(value, grid, heights, peaks, zoom)
    at = _peaks(heights, peaks)
    place, height = np.take_along_axis(grid, at, 1), np.take_along_axis(heights, at, 1)
    if exact == ROUGH:
        place *= _to_vertex(grid, heights, at)
    for peak in range(at.shape[1]):
        new = (at[:, peak] != at[:, 0]) if peak else True
        rows = np.flatnonzero(new & (place[:, peak] > 0))
        if not rows.size:
            continue
        value, slope = some(rows)
        if exact == ROUGH:
            place[rows, peak] = _secants(slope, place[rows, peak], low[rows], high[rows], 1)[0]
            continue
        top = place[rows, peak]
        steepness = slope(top[:, None])[:, 0]
        near = grid[rows, np.clip(at[rows, peak] + np.where(steepness > 0, 1, -1), 0, grid.shape[1] - 1)]
        inside = np.flatnonzero((near != top) & (near > 0))  # nothing is resolved between 0 and the next point
        if not inside.size:
            continue
        if len(inside) < len(rows):
            rows, top, steepness, near = rows[inside], top[inside], steepness[inside], near[inside]
            value, slope = some(rows)
        root = np.clip(root_uphill(slope, top, near, steepness, exact=exact), low[rows], high[rows])
        root_height, top_height = value(root[:, None])[:, 0], height[rows, peak]
        better = root_height >= top_height - ROUNDING * np.abs(top_height)
        place[rows, peak] = np.where(better, root, top)
        height[rows, peak] = np.where(better, root_height, top_height)
    again = at == at[:, :1]
    return np.where(again, place[:, :1], place), np.where(again, height[:, :1], height)


def _to_vertex(grid: np.ndarray, heights: np.ndarray, at: np.ndarray) -> np.ndarray:
    """The factor (n, c) from peaks of a grid of equal ratios to the vertices of parabolas through their neighbours too."""
    inner = np.clip(at, 1, grid.shape[1] - 2)
    left, top, right = (np.take_along_axis(heights, inner + shift, 1) for shift in (-1, 0, 1))
    with np.errstate(all="ignore"):  # what is not finite, and an end of the interval, stays
        steps = np.clip((left - right) / (left - 2 * top + right) / 2, -0.5, 0.5)
        ratio = np.where((at == inner) & np.isfinite(steps), (grid[:, -1:] / grid[:, -2:-1]) ** steps, 1.0)
    return np.asarray(ratio)


def refine(some: Some, low: np.ndarray, high: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The local maxima (n, c) that lie uphill of known ones, and both ends: places and heights (n, c + 2).

    Secant steps on the slope, quick where maxima have moved a little. Who was best off at 0 and no longer is, or does not
    arrive, looks everywhere. New maxima elsewhere are not found: whoever climbs has to look everywhere in the end.
    """
    now = np.clip(places, low[:, None], high[:, None])
    lost = np.zeros(len(low), dtype=bool)
    for peak in range(places.shape[1]):
        new = (places[:, peak] != places[:, 0]) | (peak == 0)
        now[~new, peak] = now[~new, 0]
        rows = np.flatnonzero(new & (high > low))
        if not rows.size:
            continue
        start = np.where(now[rows, peak] > 0, now[rows, peak], high[rows] * 10.0**-DECADES)
        found, arrived = _secants(some(rows)[1], start, low[rows], high[rows])
        home = (found <= high[rows] * 10.0**-DECADES) & (low[rows] == 0)
        now[rows, peak] = np.where(home, 0.0, found)
        lost[rows] |= ~(arrived | home)
    rows = np.flatnonzero(lost)
    if rows.size:
        found = local_maxima(lambda part: some(rows[part]), low[rows], high[rows])[0][:, : now.shape[1]]
        now[rows] = np.pad(found, ((0, 0), (0, now.shape[1] - found.shape[1])), mode="edge")
    candidates = np.vstack([low, upright(now), high]).T
    heights = np.repeat(
        in_blocks(some(np.arange(len(low)))[0], candidates[:, [0, 1, -1]]).T, [1, now.shape[1], 1], axis=0
    )
    for peak in range(1, now.shape[1]):
        rows = np.flatnonzero(now[:, peak] != now[:, 0])
        if rows.size:
            heights[1 + peak, rows] = some(rows)[0](now[rows, peak, None])[:, 0]
    return candidates, heights.T


def _secants(
    slope: Rows, start: np.ndarray, low: np.ndarray, high: np.ndarray, steps: int = SECANTS
) -> tuple[np.ndarray, np.ndarray]:
    """Uphill from a start > 0 (n,) to where the slope is 0 or the interval ends, and whether that was reached."""
    low = np.maximum(low, high * 10.0**-DECADES)
    before, slope_before = start, slope(start[:, None])[:, 0]
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
        small = np.abs(now - before) <= 1e-9 * now  # where the slope is rounding, steps mean nothing
        ahead = np.where(there | (small & ~concave) | (slope_now == 0), now, ahead)
        left = np.abs(ahead - now) * np.abs(ahead - before)  # a secant's error is about the product of both distances
        there = there | (ahead == now) | (concave & (left <= 1e-11 * now**2))
        before, slope_before, now = now, slope_now, ahead
    return now, there


def argmax(places: np.ndarray, heights: np.ndarray) -> np.ndarray:
    """The place of each row (n, c) with the greatest height; of equal ones the smallest (n,)."""
    places, heights = upright(places), upright(heights)
    best = heights.max(axis=0)
    return np.where(heights >= best - ROUNDING * np.abs(best), places, np.inf).min(axis=0)


def highest_point(
    some: Some,
    low: np.ndarray,
    high: np.ndarray,
    claim: tuple[np.ndarray, np.ndarray],
    trifle: np.ndarray,
    *,
    points: int = CERTIFYING,
    peaks: int = 2,
    zoom: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """Place and value of each row's highest point, (n,) each, found without slopes: equal steps and ratios, golden section.

    It shares no grid and no slope with `local_maxima`, so that it can certify what that found; `zoomed` alone serves both.
    The ``claim``, places and values (n,) said to be highest, is searched close by as well; peaks are only searched where a
    parabola through the points around them comes anywhere near beating it by more than a ``trifle`` (n,); with ``zoom``
    points more around each (`zoomed`), all of them are.
    """
    alike = (low == low[0]).all() and (high == high[0]).all()
    ends = (low[:1], high[:1]) if alike else (low, high)
    grid = _with_claim(_certifying_grid(*ends, points), claim[0], low, high)
    value = some(np.arange(len(low)))[0]
    heights = in_blocks(value, grid)
    if zoom:
        grid, heights = zoomed(value, grid, heights, peaks, zoom)
    at = _peaks(heights, peaks)
    place, best = np.take_along_axis(grid, at[:, :1], 1)[:, 0], np.take_along_axis(heights, at[:, :1], 1)[:, 0]
    place, best = np.where(best > claim[1], place, claim[0]), np.maximum(best, claim[1])
    for peak in range(at.shape[1]):
        rows = np.flatnonzero(at[:, peak] != at[:, 0]) if peak else np.arange(len(low))
        if not zoom:
            rows = rows[~(_ceiling(grid, heights, rows, at[rows, peak]) <= (claim[1] + trifle)[rows])]
        if rows.size:
            column = at[:, peak, None]
            left = np.take_along_axis(grid, np.maximum(column - 1, 0), 1)[rows]
            right = np.take_along_axis(grid, np.minimum(column + 1, grid.shape[1] - 1), 1)[rows]
            section = golden_section if rows.size > FEW_ROWS else equal_sections
            found, height = section(some(rows)[0], left, right)
            place[rows] = np.where(height > best[rows], found, place[rows])
            best[rows] = np.maximum(height, best[rows])
    return place, best


def _certifying_grid(low: np.ndarray, high: np.ndarray, points: int = CERTIFYING) -> np.ndarray:
    """Points of equal ratios and of equal steps, in order: (m, n), a row for each point."""
    points = enough_points(low, high, points)
    ratios = log_grid(low, high, points, shift=0.37)
    steps = low[:, None] + (high - low)[:, None] * np.linspace(0, 1, points)[None, 1:-1]
    return upright(np.sort(np.ascontiguousarray(np.hstack([ratios, steps])), axis=1))


def _with_claim(grid: np.ndarray, place: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The grid (m, n or 1) with three more points, at each place (n,) and beside it in the same gap of the grid: (n, m + 3).

    Those are inside the interval and off its ends.
    """
    start = np.where(low > 0, low, high * 10.0**-DECADES)
    centre = np.clip(place, start * (1 + 2 * AROUND), np.maximum(high * (1 - 2 * AROUND), start))
    points, rows = len(grid), np.arange(len(place))
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


def _ceiling(grid: np.ndarray, heights: np.ndarray, rows: np.ndarray, column: np.ndarray) -> np.ndarray:
    """How high peaks, in columns (k,) of the rows numbered (k,), may rise between grid points: (k,); nan unknown.

    That is `DOUBT` times as far as a parabola through the peak and its neighbours does, or at an end of the interval through
    the three points there.
    """
    middle = np.clip(column, 1, grid.shape[1] - 2)
    (left, top, right), (f_left, f_top, f_right) = (
        [values[rows, middle + shift] for shift in (-1, 0, 1)] for values in (grid, heights)
    )
    with np.errstate(all="ignore"):  # points that coincide tell nothing
        before, after = (f_top - f_left) / (top - left), (f_right - f_top) / (right - top)
        bend = (before - after) / (right - left)  # half of minus the curvature
        slope = before - bend * (top - left)  # of the parabola at the middle point
        slope = slope - 2 * bend * (grid[rows, column] - top)
        edge = column != middle
        inward = np.where(column == 0, slope > 0, slope < 0)
        rise = np.where(edge & ~inward & np.isfinite(slope), 0.0, slope**2 / (4 * bend))
        return heights[rows, column] + np.where(rise >= 0, DOUBT * rise, np.nan)


def golden_section(value: Rows, left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The middle, and the highest value met, (n,) each, of brackets (n, 1) shrunk by the golden ratio `SHRINKS` times."""
    inner, outer = right - GOLDEN * (right - left), left + GOLDEN * (right - left)
    f_inner, f_outer = value(inner), value(outer)
    best = np.maximum(f_inner, f_outer)
    for _ in range(SHRINKS):
        go_left = f_inner >= f_outer
        right, left = np.where(go_left, outer, right), np.where(go_left, left, inner)
        fresh = np.where(go_left, right - GOLDEN * (right - left), left + GOLDEN * (right - left))
        f_fresh = value(fresh)
        best = np.maximum(best, f_fresh)
        inner, outer = np.where(go_left, fresh, outer), np.where(go_left, inner, fresh)
        f_inner, f_outer = np.where(go_left, f_fresh, f_outer), np.where(go_left, f_inner, f_fresh)
    return ((left + right) / 2)[:, 0], best[:, 0]


def equal_sections(value: Rows, left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """As `golden_section`, of brackets cut into `SECTIONS` parts at a time until they are as small."""
    parts, best = np.linspace(0, 1, SECTIONS + 1)[None, 1:-1], np.full(len(left), -np.inf)
    for _ in range(int(np.ceil(SHRINKS * np.log(GOLDEN) / np.log(2 / SECTIONS)))):
        at = left + parts * (right - left)
        heights = value(at)
        top, step = heights.argmax(axis=1)[:, None], (right - left) / SECTIONS
        best = np.maximum(best, np.take_along_axis(heights, top, 1)[:, 0])
        middle = np.take_along_axis(at, top, 1)
        left, right = middle - step, middle + step
    return ((left + right) / 2)[:, 0], best
