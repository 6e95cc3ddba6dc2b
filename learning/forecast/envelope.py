"""The lower envelope of candidate plans: relative fitness against noise, smooth enough for a search by slopes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy
from numpy.typing import ArrayLike

from learning.arrays import Array

NODES_PER_DECADE = 400  # the smoothed envelope then stays within 1e-4 of the lowest line
FEW_PIECES = 3  # between nodes, that all noise asked for lies in: where many owners meet, each moves it little


@dataclass(frozen=True)
class Envelope:
    """The lowest line at each noise, made smooth between nodes (monotone cubic in log-log), with its derivative.

    >>> line = Envelope.of(np.array([0.1]), np.array([2.0]), ceiling=np.inf)
    >>> [round(float(v), 9) for v in (line.value(0.0), line.value(0.05), line.slope(0.05))]
    [0.1, 0.2, 2.0]
    """

    bias: Array = field(repr=False)
    line_slope: Array = field(repr=False)
    ceiling: float
    curve: scipy.interpolate.PchipInterpolator | None = field(repr=False)
    derivative: scipy.interpolate.PchipInterpolator | None = field(repr=False)
    low: float
    high: float

    @classmethod
    def of(cls, bias: Array, slope: Array, ceiling: float) -> Envelope:
        """Envelope of the lines, and of the horizontal line at ``ceiling`` (doing nothing)."""
        if len(bias) == 1 and not np.isfinite(ceiling):
            return cls(bias, slope, ceiling, None, None, 0.0, np.inf)
        lowest = int(np.argmin(bias))
        if bias[lowest] >= ceiling:
            return cls(np.array([ceiling]), np.zeros(1), ceiling, None, None, 0.0, np.inf)
        gap = min(ceiling, float(bias.max()) * 2 + 1) - float(bias[lowest])
        with np.errstate(divide="ignore"):
            high = (
                float(np.max((ceiling - bias) / np.maximum(slope, 1e-300)))
                if np.isfinite(ceiling)
                else 1e12 * gap / slope[lowest]
            )
        low = min(1e-9 * max(float(bias[lowest]), 1e-6 * gap) / max(float(slope[lowest]), 1e-300), 1e-6 * high)
        nodes = np.geomspace(low, high, int(NODES_PER_DECADE * np.log10(high / low)) + 2)
        values = np.array([np.min(bias + slope * node) for node in nodes])
        return cls.through(nodes, values, float(bias[lowest]), ceiling)

    @classmethod
    def through(cls, nodes: Array, values: Array, bias: float, ceiling: float) -> Envelope:
        """The monotone curve through given values at noise ``nodes``, ``bias`` at none, ``ceiling`` beyond the last."""
        curve = scipy.interpolate.PchipInterpolator(np.log(nodes), np.log(np.minimum(values, ceiling)))
        first = (values[0] - bias) / nodes[0]
        return cls(
            np.array([bias]),
            np.array([first]),
            ceiling,
            curve,
            curve.derivative(),
            float(nodes[0]),
            float(nodes[-1]),
        )

    def value(self, noise: ArrayLike) -> Array:
        """Relative fitness at a noise (...)."""
        noise = np.asarray(noise, dtype=float)
        if self.curve is None:
            with np.errstate(over="ignore"):
                return self.bias[0] + self.line_slope[0] * noise
        inside = np.clip(noise, self.low, self.high)
        value = np.exp(_read(self.curve, np.log(inside)))
        return value if (inside == noise).all() else self._beyond(noise, value)

    def slope(self, noise: ArrayLike) -> Array:
        """Derivative of `value`."""
        return self.value_and_slope(noise)[1]

    def value_and_slope(self, noise: ArrayLike) -> tuple[Array, Array]:
        """`value` and `slope`; what both need is computed once."""
        noise = np.asarray(noise, dtype=float)
        if self.curve is None or self.derivative is None:
            return self.value(noise), np.broadcast_to(self.line_slope[0], noise.shape).copy()
        inside = np.clip(noise, self.low, self.high)
        logs = np.log(inside)
        value = np.exp(_read(self.curve, logs))
        slope = value * _read(self.derivative, logs) / inside
        if (inside == noise).all():
            return value, slope
        slope = np.where(noise < self.low, (value - self.bias[0]) / self.low, slope)
        capped = np.isfinite(self.ceiling)
        return self._beyond(noise, value), np.where(noise > self.high, 0.0, slope) if capped else slope

    def _beyond(self, noise: Array, value: Array) -> Array:
        """The curve's value (...) continued where the noise is below its first node, or beyond its last."""
        value = np.where(noise < self.low, self.bias[0] + (value - self.bias[0]) * (noise / self.low), value)
        return np.where(noise > self.high, self.ceiling, value) if np.isfinite(self.ceiling) else value


def _read(curve: scipy.interpolate.PPoly, at: Array) -> Array:
    """``curve(at)``, several times as quick where few of its pieces are met."""
    if at.size < FEW_PIECES:
        return np.asarray(curve(at))
    ends = curve.x.searchsorted([at.min(), at.max()], side="right") - 1
    first, last = max(int(ends[0]), 0), min(int(ends[1]), len(curve.x) - 2)
    first = min(first, last)
    if last - first >= FEW_PIECES:
        return np.asarray(curve(at))
    value = _piece(curve, first, at)
    for piece in range(first + 1, last + 1):
        value = np.where(at >= curve.x[piece], _piece(curve, piece, at), value)
    return value


def _piece(curve: scipy.interpolate.PPoly, piece: int, at: Array) -> Array:
    """The polynomial of one piece, added up as SciPy does, so that a number does not depend on which others are asked for."""
    beyond = at - curve.x[piece]
    value, power, part = curve.c[-2, piece] * beyond, beyond.copy(), np.empty_like(beyond)
    value += curve.c[-1, piece]
    for coefficient in curve.c[-3::-1, piece]:
        power *= beyond
        value += np.multiply(power, coefficient, out=part)
    return value
