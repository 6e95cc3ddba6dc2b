"""Losses of labels: logistic, hinge, and a hinge with a smoothed kink for rehearsals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy
from numpy.typing import NDArray

from learning.arrays import Array
from learning.losses.loss import Loss
from learning.losses.optimum import hinge_optimum, logistic_optimum, smoothed_hinge_optimum


class Logistic(Loss):
    """log(1 + exp(-t)) with t = y theta'x."""

    name: ClassVar[str] = "logistic"
    curvature: ClassVar[float] = 0.25
    measure: ClassVar[str] = "mean logistic loss"

    def value(self, t: Any) -> Any:
        """log(1 + exp(-t)), in a third of the time of ``np.logaddexp``."""
        return np.log1p(np.exp(-np.abs(t))) - np.minimum(t, 0)

    def derivative(self, t: Any) -> Any:
        """-1/(1 + exp(t))."""
        return -scipy.special.expit(-t)

    def second_derivative(self, t: Any) -> Any:
        """1/((1 + exp(t)) (1 + exp(-t)))."""
        return scipy.special.expit(t) * scipy.special.expit(-t)

    def negative_slopes(self, t: NDArray[np.float32]) -> NDArray[np.float32]:
        """1/(1 + exp(t)), written over t."""
        with np.errstate(over="ignore"):  # e^t = inf gives the slope 0 that it should
            np.exp(t, out=t)
        t += 1
        return np.divide(1, t, out=t)

    def fit(self, x: Array, y: Array, regularisation: float) -> tuple[Array, float]:
        """The optimum, certified to 1e-8 of itself."""
        found = logistic_optimum(x, y, regularisation)
        return found.theta, found.value


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

    def negative_slopes(self, t: NDArray[np.float32]) -> NDArray[np.float32]:
        """1 below the kink, written over t."""
        return np.less(t, 1, out=t, casting="unsafe")

    def fit(self, x: Array, y: Array, regularisation: float) -> tuple[Array, float]:
        """The optimum, certified to 1e-8 of itself."""
        found = hinge_optimum(x, y, regularisation)
        return found.theta, found.value

    def smooth_kinks(self, width: float, lift: float = 0.0) -> Loss:
        """`SmoothedHinge`."""
        return SmoothedHinge(width * np.sqrt(3) / np.pi, lift)


@dataclass(frozen=True)
class SmoothedHinge(Loss):
    """s log(1 + exp((1 - t)/s)) - lift: mean hinge loss over logistic errors in t.

    The errors have standard deviation s pi/sqrt(3).

    Parameters
    ----------
    scale : s > 0.
    lift : a constant that is subtracted.

    Source: He, Pan, Tan and Zhou, Smoothed Quantile Regression with Large-Scale Inference
        (convolution of a piecewise linear loss with a kernel).

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
        """Negative probability that an error leaves t below the kink."""
        return LOGISTIC.derivative((t - 1) / self.scale)

    def second_derivative(self, t: Any) -> Any:
        """Density of errors that move t onto the kink."""
        return LOGISTIC.second_derivative((t - 1) / self.scale) / self.scale

    def negative_slopes(self, t: NDArray[np.float32]) -> NDArray[np.float32]:
        """Negative slope, written over t."""
        t -= 1
        t /= self.scale
        return LOGISTIC.negative_slopes(t)

    def fit(self, x: Array, y: Array, regularisation: float) -> tuple[Array, float]:
        """The optimum, certified to 1e-8 of itself."""
        found = smoothed_hinge_optimum(x, y, regularisation, self.scale)
        return found.theta, found.value - self.lift
