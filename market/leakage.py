"""How much a differentially private answer can tell about the records behind it."""

from __future__ import annotations

import numpy as np


def leakage_bits(epsilon: np.ndarray, values: float | np.ndarray = 10) -> np.ndarray:
    """Bound on the min-entropy leakage of one record, in bits.

    ``log2(v e^epsilon / (v - 1 + e^epsilon))``, computed as ``-log2(1 + (v-1)/v (e^-epsilon - 1))``: exactly
    0 at epsilon = 0, ``log2 v`` at epsilon = inf, no overflow between.

    Parameters
    ----------
    epsilon : array
        Privacy budget, 0 to inf.
    values : float or array
        Number of values v > 1 a record can take.

    Returns
    -------
    array, bits per record

    Source: Wu, MRes thesis, section 2.2 (after Alvim et al., for u individuals: u times this).

    >>> [round(float(leakage_bits(epsilon, 10)), 3) for epsilon in (0.0, 1.0, np.inf)]
    [0.0, 1.214, 3.322]
    """
    values = np.asarray(values, dtype=float)
    return -np.log1p((values - 1) / values * np.expm1(-np.asarray(epsilon, dtype=float))) / np.log(2)


def leakage_slope(epsilon: np.ndarray, values: float | np.ndarray = 10) -> np.ndarray:
    """Bits of :func:`leakage_bits` that one more unit of epsilon leaks: ``(v-1)/(v-1+e^epsilon)/ln 2``.

    Parameters and source as there. Positive and falling: the first units of epsilon leak the most.
    """
    rest = (np.asarray(values, dtype=float) - 1) * np.exp(-np.asarray(epsilon, dtype=float))
    return rest / (1 + rest) / np.log(2)
