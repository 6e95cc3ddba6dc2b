"""How well any training of its class could do: the whole budget in one answer at the best place, all else known.

Each record's gradient is clipped, in the features that the pooled records whiten, at the model where the clipped gradients
cancel; the owners answer once, and one step is taken by the known curvature. What is left is the bias of clipping and the
noise of one answer, at the radius that is best on the pooled records: a limit and no protocol, since all of it is private.
"""

from __future__ import annotations

import numpy as np
import scipy

from learning.arrays import Array
from learning.losses.coordinates import RECORD, Coordinates, whitening
from scenarios.tables.dataset import MarketData

REACH = (2.0, 200.0)  # radii, in deviations of a gradient's entry
STEPS, STILL = 400, 1e-7  # towards the model where clipped gradients cancel, until none is longer than that


def limit(data: MarketData, noise: float) -> float:
    """Relative fitness at the best radius c: (|phi_c|^2 + c^2 noise p/4)/f*, where phi_c is what clipping biases it by.

    Parameters
    ----------
    data : the market, of squared loss, whose records are all looked at.
    noise : variance per coordinate of the owners' weighted answers where a gradient is at most 1 long.
    """
    best, optimum = data.fitness.minimiser, data.fitness.optimum
    x, y = (np.concatenate(both) for both in zip(*((owner.x, owner.y) for owner in data.owners), strict=True))
    whole = Coordinates(best, whitening(x.T @ x / len(x)), norm=2, clipping=RECORD)
    deviation, place = 2 * float(np.sqrt(optimum)), np.zeros((1, len(best)))

    def height(log: float) -> float:
        nonlocal place
        radius = deviation * float(np.exp(log))
        place = cancelled(whole.bounded(radius, np.inf, np.inf), x, y, place)
        return float((place**2).sum() + radius**2 * noise * len(best) / 4) / optimum

    found = scipy.optimize.minimize_scalar(height, bounds=np.log(REACH), method="bounded", options={"xatol": 0.03})
    return float(found.fun)


def cancelled(coordinates: Coordinates, x: Array, y: Array, start: Array) -> Array:
    """Where the clipped gradients of all records cancel, (1, p): steps of 1/2 from a start, whose curvature is at most 2."""
    records, phi = coordinates.oracle(x, y), start
    longest = STILL * coordinates.radius
    for _ in range(STEPS):
        step = records.gradient(phi) / 2
        phi = phi - step
        if np.abs(step).max() < longest:
            break
    return np.asarray(phi)
