"""Tables of accountants: log distance as a monotone function of log epsilon."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy

from learning.arrays import Array
from learning.errors import InputError

BEYOND = 1e-4  # relative excess over the largest budget that is served, for numerical derivatives


def tabulate_distance(
    nodes: Array,
    delta: float,
    delta_at: Callable[[Array, Array], Array],
    lowest: float,
    bisections: int,
) -> scipy.interpolate.PchipInterpolator:
    """Tabulate the largest distance that keeps to delta, by bisection at all nodes at once.

    Parameters
    ----------
    nodes: array (k,), rising, epsilon.
    delta_at: (epsilon, distance) -> the least delta of a mechanism of that distance.
    lowest: a lower bound on the distances.
    """
    low = np.full(len(nodes), np.log(lowest))
    high = np.full(len(nodes), np.log(1e3))
    for _ in range(bisections):
        middle = (low + high) / 2
        above = delta_at(nodes, np.exp(middle)) > delta
        low = np.where(above, low, middle)
        high = np.where(above, middle, high)
    return scipy.interpolate.PchipInterpolator(np.log(nodes), low)


def check_covered(epsilon: Array, largest: float, where: str) -> None:
    """Refuse, with an InputError, budgets beyond the largest in a table."""
    if np.any(epsilon > largest * (1 + BEYOND)):
        rule = f"must be at most {largest:g} {where}"
        raise InputError("owners.epsilon", rule, f"{epsilon.max():g}", "Lower it.")


def read_table(
    table: Callable[..., Array], epsilon: Array, lowest: float, largest: float, shave: float
) -> tuple[Array, Array]:
    """Read the distance, less a share that errs upwards in noise, and its elasticity.

    Below the table the distance is in proportion to epsilon. ``table`` gives log distance at log
    epsilon, and with a second argument of 1 its slope.
    """
    logs = np.log(np.clip(epsilon, lowest, largest))
    distance = np.exp(table(logs)) * (1 - shave) * np.minimum(epsilon / lowest, 1.0)
    return distance, np.where(epsilon > lowest, table(logs, 1), 1.0)
