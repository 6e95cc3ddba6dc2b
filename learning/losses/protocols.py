"""Protocols of records, losses, coordinates of training, and training costs."""

from __future__ import annotations

from typing import Any, Protocol

from numpy.typing import NDArray

from learning.arrays import Array


class GradientOracle(Protocol):
    """An owner's computation on its own clipped records, in phi, before noise."""

    @property
    def n_records(self) -> int: ...

    @property
    def n_parameters(self) -> int: ...

    def gradient(self, phi: Array) -> Array:
        """Mean gradient over the records at phi: (runs, p) -> (runs, p)."""
        ...


class RecordOracle(GradientOracle, Protocol):
    """An oracle that answers for single records too."""

    def record_gradient(self, phi: Array, rows: NDArray[Any]) -> Array:
        """Gradient of one record per run: (runs, p), rows (runs,) -> (runs, p)."""
        ...


class TrainingCost(Protocol):
    """Training cost f(theta) = r/2 |theta|^2 + mean loss, and its minimum."""

    @property
    def regularisation(self) -> float: ...

    @property
    def minimiser(self) -> Array: ...

    @property
    def optimum(self) -> float: ...

    def value(self, theta: Array) -> Array: ...

    def gradient(self, theta: Array) -> Array: ...

    def relative(self, theta: Array) -> Array: ...


class Slope(Protocol):
    """The slopes of a `learning.losses.loss.Loss`, for records."""

    def derivative(self, t: Any) -> Any: ...

    def negative_slopes(self, t: Any) -> Any: ...


class Clipping(Protocol):
    """The public start, scale and bounds of `learning.losses.coordinates.Coordinates`."""

    @property
    def centre(self) -> Array: ...

    @property
    def radius(self) -> float: ...

    @property
    def norm(self) -> int: ...

    @property
    def clips_gradients(self) -> bool: ...

    def clip_features(self, x: Array) -> Array: ...

    def records(self, x: Array, y: Array) -> tuple[Array, Array]: ...

    def penalty(self, regularisation: float) -> tuple[Array, Array]: ...
