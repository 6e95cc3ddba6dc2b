"""Two independent global searches over many intervals at once: the solver's and the certificate's.

Both take vectorised functions of candidates (n, m) -> (n, m), one row per owner, and intervals low, high
(n,). Neither assumes that a row is concave, or continuous at 0.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Rows = Callable[[np.ndarray], np.ndarray]

DECADES = 9  # an interval that starts at 0 is searched down to 10^-9 of its upper end, and at 0 itself
BLOCK = 2**18  # candidates evaluated in one go: large markets go column by column and stay in cache
ROUNDING = 8 * np.finfo(float).eps  # payoffs closer than this, relative, are the same payoff


def log_grid(low: np.ndarray, high: np.ndarray, points: int, *, shift: float = 0.0) -> np.ndarray:
    """``points`` candidates per row (n, points), both ends and equal ratios between; 0 stands apart.

    ``shift`` moves what is between by that part of a step.
    """
    start = np.where(low > 0, low, high * 10.0**-DECADES)
    ratio = np.divide(high, start, out=np.ones_like(high), where=start > 0)
    spread = np.where(low > 0, 0, 1)[:, None]  # one point fewer on the logarithmic part where 0 takes the first
    steps = np.maximum(np.arange(points)[None, :] - spread + shift, 0) / (points - 1 - spread)
    grid = start[:, None] * np.exp(np.log(ratio)[:, None] * steps)
    grid[:, 0], grid[:, -1] = low, high
    return grid


def in_blocks(function: Rows, candidates: np.ndarray) -> np.ndarray:
    """``function(candidates)`` computed a few columns at a time."""
    width = max(1, BLOCK // len(candidates))
    blocks = range(0, candidates.shape[1], width)
    return np.concatenate([function(candidates[:, at : at + width]) for at in blocks], axis=1)


def _peaks(heights: np.ndarray, count: int) -> np.ndarray:
    """Columns of the ``count`` highest local maxima of each row, best first; fewer if no row has so many."""
    rises = np.diff(heights, axis=1) > 0
    edge = np.ones((len(heights), 1), dtype=bool)
    is_peak = np.hstack([edge, rises]) & np.hstack([~rises, edge])
    count = max(1, min(count, int(is_peak.sum(axis=1).max())))
    masked = np.where(is_peak, heights, -np.inf)
    rows = np.arange(len(heights))
    found: list[np.ndarray] = []
    for _ in range(count):
        best = masked.argmax(axis=1)
        exists = masked[rows, best] > -np.inf
        found.append(np.where(exists, best, found[0] if found else best))
        masked[rows, best] = -np.inf
    return np.stack(found, axis=1)


def falling_root(
    slope: Rows, rising: np.ndarray, falling: np.ndarray, slope_rising: np.ndarray, slope_falling: np.ndarray
) -> np.ndarray:
    """Where a slope goes from positive to negative between two arrays (n, c): Chandrupatla's method, to
    1e-13.

    Source: Chandrupatla, A new hybrid quadratic/bisection algorithm (1997).
    """
    x1, x2, f1, f2 = rising, falling, slope_rising, slope_falling
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
        finished = (width <= 2e-13 * np.abs(best)) | (f1 == 0)
        if finished.all():
            break
        with np.errstate(all="ignore"):  # what is not finite falls back on the midpoint
            xi, phi = (x1 - x2) / (x3 - x2), (f1 - f2) / (f3 - f2)
            t = f1 / (f2 - f1) * f3 / (f2 - f3) + (x3 - x1) / (x2 - x1) * f1 / (f3 - f1) * f2 / (f3 - f2)
            quadratic = (phi**2 < xi) & ((1 - phi) ** 2 < 1 - xi) & np.isfinite(t)
            least = np.where(finished, 0.0, np.minimum(1e-13 * np.abs(best) / width, 0.5))
        t = np.where(finished, 0.0, np.clip(np.where(quadratic, t, 0.5), least, 1 - least))
    return np.where(f1 == 0, x1, best)


def maximise(
    value: Rows, slope: Rows, low: np.ndarray, high: np.ndarray, *, points: int = 48, peaks: int = 3
) -> np.ndarray:
    """Global maximiser of each row (n,): the best cells of a grid, then the root of the slope in each.

    Parameters
    ----------
    value, slope : (n, m) -> (n, m)
        ``slope`` is only asked at positive candidates.
    low, high : (n,)
    points, peaks : int
        Grid points per row, and how many of its local maxima are refined.

    Returns
    -------
    (n,); of equal maxima the smallest.
    """
    grid = log_grid(low, high, points)
    heights = in_blocks(value, grid)
    at = _peaks(heights, peaks)
    top, top_height = np.take_along_axis(grid, at, 1), np.take_along_axis(heights, at, 1)
    probe = np.where(top > 0, top, np.where(high > 0, grid[:, 1], 1.0)[:, None])
    steepness = slope(probe)
    rising = (steepness > 0) & (top > 0)
    near = np.take_along_axis(grid, np.clip(at + np.where(rising, 1, -1), 0, points - 1), 1)
    inside = (near != top) & (top > 0) & (near > 0)  # nothing is resolved between 0 and the next point
    left, right = np.where(rising, top, near), np.where(rising, near, top)
    left, right = np.where(inside, left, probe), np.where(inside, right, probe)
    # The far end's slope is not evaluated: the payoff there is no higher, which is all that a bracket needs.
    size = np.abs(steepness)
    root = falling_root(slope, left, right, np.where(rising, steepness, size), np.where(rising, -size, steepness))
    root = np.clip(root, low[:, None], high[:, None])
    root_height = in_blocks(value, root)
    slack = ROUNDING * np.abs(top_height)
    better = inside & (root_height >= top_height - slack)
    choice, height = np.where(better, root, top), np.where(better, root_height, top_height)
    best = height.max(axis=1, keepdims=True)
    return np.where(height >= best - ROUNDING * np.abs(best), choice, np.inf).min(axis=1)


def best_value(value: Rows, low: np.ndarray, high: np.ndarray, *, points: int = 34) -> np.ndarray:
    """Highest value of each row (n,), found without slopes: equal steps and equal ratios, then golden
    section.

    Shares neither grid nor refinement with `maximise`, so that it can certify what that found.
    """
    ratios = log_grid(low, high, points, shift=0.37)
    steps = low[:, None] + (high - low)[:, None] * np.linspace(0, 1, points)[None, 1:-1]
    grid = np.sort(np.hstack([ratios, steps]), axis=1)
    heights = in_blocks(value, grid)
    at = _peaks(heights, 2)
    last = grid.shape[1] - 1
    left = np.take_along_axis(grid, np.maximum(at - 1, 0), 1)
    right = np.take_along_axis(grid, np.minimum(at + 1, last), 1)
    return np.maximum(heights.max(axis=1), golden_section(value, left, right).max(axis=1))


def golden_section(value: Rows, left: np.ndarray, right: np.ndarray, *, steps: int = 26) -> np.ndarray:
    """Highest value met (n, c) while brackets (n, c) shrink by the golden ratio, ``steps`` times."""
    golden = (np.sqrt(5) - 1) / 2
    inner, outer = right - golden * (right - left), left + golden * (right - left)
    value_inner, value_outer = value(inner), value(outer)
    best = np.maximum(value_inner, value_outer)
    for _ in range(steps):
        go_left = value_inner >= value_outer
        right, left = np.where(go_left, outer, right), np.where(go_left, left, inner)
        fresh = np.where(go_left, right - golden * (right - left), left + golden * (right - left))
        value_fresh = value(fresh)
        best = np.maximum(best, value_fresh)
        inner, outer = np.where(go_left, fresh, outer), np.where(go_left, inner, fresh)
        value_inner, value_outer = (
            np.where(go_left, value_fresh, value_outer),
            np.where(go_left, value_inner, value_fresh),
        )
    return best
