"""Hinge loss: a linear support vector machine; and the same with its kink smoothed, which training is rehearsed on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from learning.arrays import Array
from learning.losses.logistic import Logistic
from learning.losses.loss import Loss
from learning.losses.optimum import hinge_optimum, smoothed_hinge_optimum

LOGISTIC = Logistic()


class Hinge(Loss):
    """max(0, 1 - t) with t = y theta'x."""

    name: ClassVar[str] = "hinge"
    kinked: ClassVar[bool] = True
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

    def smoothed(self, width: float, lift: float = 0.0) -> Loss:
        """`SmoothedHinge`."""
        return SmoothedHinge(width * np.sqrt(3) / np.pi, lift)


@dataclass(frozen=True)
class SmoothedHinge(Loss):
    """s log(1 + exp((1 - t)/s)) - lift: the mean hinge loss over logistic errors in t of standard deviation s pi/sqrt(3).

    Parameters
    ----------
    scale : s > 0.
    lift : a constant that is taken off.

    Source: He, Pan, Tan and Zhou, Smoothed Quantile Regression with Large-Scale Inference (convolution of a piecewise
    linear loss with a kernel).

    >>> SmoothedHinge(0.1).value(np.array([-1.0, 1.0, 3.0])).round(6)
    array([2.      , 0.069315, 0.      ])
    """

    scale: float
    lift: float = 0.0
    name: ClassVar[str] = Hinge.name
    measure: ClassVar[str] = Hinge.measure

    def value(self, t: Any) -> Any:
        """s log(1 + exp((1 - t)/s)) - lift."""
        return self.scale * LOGISTIC.value((t - 1) / self.scale) - self.lift

    def derivative(self, t: Any) -> Any:
        """Minus the chance that an error leaves t below the kink."""
        return LOGISTIC.derivative((t - 1) / self.scale)

    def second_derivative(self, t: Any) -> Any:
        """The density of errors that move t onto the kink."""
        return LOGISTIC.second_derivative((t - 1) / self.scale) / self.scale

    def falls(self, t: NDArray[np.float32]) -> NDArray[np.float32]:
        """Written over t."""
        t -= 1
        t /= self.scale
        return LOGISTIC.falls(t)

    def fit(self, x: Array, y: Array, regularisation: float) -> tuple[Array, float]:
        """The optimum, certified to 1e-8 of itself."""
        found = smoothed_hinge_optimum(x, y, regularisation, self.scale)
        return found.theta, found.value - self.lift
