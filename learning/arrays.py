"""The array type of signatures, and the sizes of numbers that are computed with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]  # double-precision numbers of a documented shape
LARGEST = 1e15  # sizes of numbers but 0: squares of squares of these are still numbers
SMALLEST = 1e-50
