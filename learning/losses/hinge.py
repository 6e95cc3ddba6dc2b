"""Hinge loss: a linear support vector machine."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from learning.arrays import Array
from learning.losses.loss import Loss
from learning.losses.optimum import hinge_optimum


class Hinge(Loss):
    """max(0, 1 - t) with t = y theta'x."""

    name: ClassVar[str] = "hinge"
    measure: ClassVar[str] = "mean hinge loss"

    def value(self, t: Any) -> Any:
        """max(0, 1 - t)."""
        return np.maximum(0, 1 - t)

    def derivative(self, t: Any) -> Any:
        """-1 below the kink, 0 from there on."""
        return np.negative(t < 1, dtype=np.asarray(t).dtype)

    def falls(self, t: NDArray[np.float32]) -> NDArray[np.float32]:
        """A comparison alone, written over t."""
        return np.less(t, 1, out=t, casting="unsafe")

    def fit(self, x: Array, y: Array, regularisation: float) -> tuple[Array, float]:
        """The optimum, certified to 1e-8 of itself."""
        found = hinge_optimum(x, y, regularisation)
        return found.theta, found.value
