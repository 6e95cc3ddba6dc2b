"""Grids of candidates over many intervals at once, for the solver's search and the certificate's.

Two independent searches take intervals low, high (n,), one row per owner, and ``some(rows)``, the
value and slope of some rows as vectorised functions of candidates, (k, m) -> (k, m), so that
finished rows are not computed again. Slopes are only evaluated at positive candidates. Neither
search assumes that a row is concave, or continuous at 0. Rows are stored column by column, which
NumPy reduces quickly.
"""

from collections.abc import Callable

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
# Ratio by which a zoom extends on both sides of a maximum: two steps of a fine grid.
REACH = 1.35


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


def row_entry(rows: Array, at: Array) -> Array:
    """Entry of each row (n, m) at its column (n,)."""
    taken: Array = rows[np.arange(len(rows)), at]
    return taken


def row_entries(rows: Array, at: Array) -> Array:
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
        centre = row_entry(grid, at[:, peak if peak < at.shape[1] else 0])[:, None]
        left = np.maximum(centre / REACH, grid[:, :1])
        right = np.minimum(centre * REACH, grid[:, -1:])
        # Another part of a step for each peak, so that no point comes twice.
        parts = (np.arange(zoom) + (peak + 1) / (peaks + 1)) / zoom
        added.append(left + parts * (right - left))
    more = np.hstack(added)
    whole = np.hstack([grid, more])
    order = np.argsort(whole, axis=1, kind="stable")
    tops = np.hstack([heights, in_blocks(value, more)])
    return row_entries(whole, order), row_entries(tops, order)
