"""Tables of what accountants count: log distance as a monotone function of log epsilon, made once and read at any budget."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy

from learning.arrays import Array
from learning.errors import InputError

BEYOND = 1e-4  # a budget this little beyond the largest is served its noise: derivatives are taken around it


def distance_table(
    nodes: Array, delta: float, delta_at: Callable[[Array, Array], Array], lowest: float, bisections: int
) -> scipy.interpolate.PchipInterpolator:
    """The largest distance that keeps to delta, by bisection on all nodes at once.

    Parameters
    ----------
    nodes: array (k,), rising, epsilon.
    delta_at: (epsilon, distance) -> the least delta of a mechanism of that distance.
    lowest: a distance below all that are looked for.
    """
    low, high = np.full(len(nodes), np.log(lowest)), np.full(len(nodes), np.log(1e3))
    for _ in range(bisections):
        middle = (low + high) / 2
        above = delta_at(nodes, np.exp(middle)) > delta
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return scipy.interpolate.PchipInterpolator(np.log(nodes), low)


def check_covered(epsilon: Array, largest: float, where: str) -> None:
    """Refuse, with an InputError, budgets beyond the largest in a table."""
    if np.any(epsilon > largest * (1 + BEYOND)):
        raise InputError("owners.epsilon", f"must be at most {largest:g} {where}", f"{epsilon.max():g}", "Lower it.")


def read(
    table: Callable[..., Array], epsilon: Array, lowest: float, largest: float, shave: float
) -> tuple[Array, Array]:
    """Distance, less a share that errs upwards in noise, and its elasticity; below the table in proportion to epsilon.

    ``table`` gives log distance at log epsilon, and with a second argument of 1 its slope.
    """
    logs = np.log(np.clip(epsilon, lowest, largest))
    distance = np.exp(table(logs)) * (1 - shave) * np.minimum(epsilon / lowest, 1.0)
    return distance, np.where(epsilon > lowest, table(logs, 1), 1.0)
