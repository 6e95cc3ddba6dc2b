"""The certificate's search: the highest point of many intervals at once, found without slopes."""

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
    row_entry,
)

# Relative distance of the certificate's points on both sides of a claimed maximum.
AROUND = 1e-3
# A peak is searched where this many times its parabola's rise would exceed the claim.
DOUBT = 4.0
# Points of the certificate's grid of equal ratios, and about as many of equal steps.
CERTIFYING = 34
GOLDEN = (np.sqrt(5) - 1) / 2
# Times that the certificate shrinks the bracket of a peak.
SHRINKS = 26
# Up to this many peaks are cut into equal sections at once, in fewer and larger evaluations.
FEW_ROWS = 64
SECTIONS = 24


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
    top = row_entry(heights, at[:, 0])
    place = np.where(top > claim[1], row_entry(grid, at[:, 0]), claim[0])
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
        best = np.maximum(best, row_entry(heights, top))
        middle = row_entry(at, top)[:, None]
        left = middle - step
        right = middle + step
    return ((left + right) / 2)[:, 0], best
