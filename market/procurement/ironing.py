"""Virtual costs: what an owner must be bought at so that no cheaper one passes for it; ironed where they would fall."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from market.procurement.cost_laws import CostLaw

NODES = 1024  # costs at which a law's virtual cost is computed, and again as many of its quantiles
CLOSE = 1e-7  # costs nearer than this part of the support are one: slopes between them would be rounding


def iron(virtual: np.ndarray, odds: np.ndarray) -> np.ndarray:
    """The nearest virtual costs (n_types,) that never fall: neighbours that would are pooled at their mean.

    Source: Myerson, Optimal Auction Design, section 6; for a finite number of types, pool adjacent violators.

    >>> iron(np.array([1.0, 5.0, 3.0, 6.0]), np.array([0.25, 0.25, 0.25, 0.25])).tolist()
    [1.0, 4.0, 4.0, 6.0]
    """
    pools: list[tuple[float, float, int]] = []
    for value, weight in zip(virtual.tolist(), odds.tolist(), strict=True):
        count = 1
        while pools and pools[-1][0] >= value:
            other, other_weight, other_count = pools.pop()
            value = (value * weight + other * other_weight) / (weight + other_weight)
            weight, count = weight + other_weight, count + other_count
        pools.append((value, weight, count))
    return np.repeat([pool[0] for pool in pools], [pool[2] for pool in pools])


def lower_hull(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Numbers of the points (m,) on the lower convex hull of (x, y), x rising; of equal x the first counts.

    Its slopes are those between the points, ironed.

    >>> lower_hull(np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.0, 2.0, 1.0, 3.0])).tolist()
    [0, 2, 3]
    """
    distinct = np.unique(x, return_index=True)[1]
    run = np.diff(x[distinct])
    slopes = iron(np.diff(y[distinct]) / run, run)
    return distinct[np.append(np.diff(slopes, prepend=-np.inf) > 0, True)]


@lru_cache(maxsize=64)
def virtual_cost(law: CostLaw) -> tuple[np.ndarray, np.ndarray]:
    """A law's ironed virtual cost ``c + F(c) / f(c)``: costs (m,), rising over its support, and values (m,).

    Where it falls it is replaced by the slope of the lower convex hull of ``c F(c)`` over F, which is what the
    owners so pooled cost together.

    Source: Myerson, Optimal Auction Design, section 6, for costs in place of values.
    """
    low, high = law.support
    inner = law.quantile((np.arange(NODES) + 0.5) / NODES)
    nodes = np.unique(np.clip(np.concatenate([np.linspace(low, high, NODES), inner]), low, high))
    nodes = nodes[np.append(np.diff(nodes) > CLOSE * (high - low), True)]
    nodes[0] = low
    part, density = law.cdf(nodes), law.pdf(nodes)
    plain = nodes + np.divide(part, density, out=np.where(part > 0, np.inf, 0.0), where=density > 0)
    hull = lower_hull(part, nodes * part)
    cell = np.clip(np.searchsorted(hull, np.arange(len(nodes)), side="right") - 1, 0, len(hull) - 2)
    rise = np.diff((nodes * part)[hull]) / np.diff(part[hull])
    pooled = ~np.isin(np.arange(len(nodes)), hull)
    ironed = np.maximum.accumulate(np.where(pooled | np.isinf(plain), rise[cell], plain))
    nodes.flags.writeable = ironed.flags.writeable = False
    return nodes, ironed
