"""What an owner computes on its records when it is asked: a mean gradient, before any noise."""

from __future__ import annotations

from typing import Protocol

from learning.arrays import Array


class GradientOracle(Protocol):
    """What an owner computes on its own clipped records, in phi, before noise; stays behind the owner."""

    @property
    def n_records(self) -> int: ...
    @property
    def n_parameters(self) -> int: ...
    def gradient(self, phi: Array) -> Array:
        """Mean over the records of the gradient at phi: (runs, p) -> (runs, p)."""
        ...
