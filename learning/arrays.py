"""The one array type that signatures name: double-precision numbers of any shape, said in words beside them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
