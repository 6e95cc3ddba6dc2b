"""What relative fitness is counted against: the training cost, and the best model that records allow."""

from __future__ import annotations

from typing import Protocol

from learning.arrays import Array


class TrainingCost(Protocol):
    """Training cost f(theta) = r/2 |theta|^2 + mean loss, and its minimum."""

    @property
    def regularisation(self) -> float: ...
    @property
    def minimiser(self) -> Array: ...
    @property
    def optimum(self) -> float: ...
    def value(self, theta: Array) -> Array: ...
    def relative(self, theta: Array) -> Array: ...
