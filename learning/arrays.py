"""The array type of signatures: double-precision numbers of a documented shape."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
