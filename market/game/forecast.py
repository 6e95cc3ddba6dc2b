"""The interface of a forecast of the model's fitness, and its restriction to some owners."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from market.columns import Array, finite_difference


class Forecast(Protocol):
    """Relative fitness of the trained model, from sums of one term per owner.

    It may be another measure of the error, in whose unit the learner's value and the owners'
    benefits are then counted. ``outside`` is the fitness of the learner's model without buying,
    and what ``excess`` gives when no owner shares. Optional members:

    * ``slopes(epsilon, sums)``, the derivative of the excess by an owner's own epsilon
      (n_owners, m), where the sums (n_owners, m, k) include it; a difference otherwise. Shapes
      (n_owners, m, 1) and (n_owners, m, c, k) ask for it beside each of c coalitions.
    * ``part(index)``, the forecast with the rows of some owners only.
    * ``beside(epsilon, others)``, the sums (n_owners, m, k) where each owner alone moves to its
      candidates (n_owners, m), the others' sums (n_owners, 1, k) given, in the form that its own
      ``excess``, ``slopes`` and ``asks`` read.
    * ``asks(sums)``, whether the learner buys at the sums (..., k) -> (...). Where it does not,
      no owner loses privacy or gains a model; a policy's ``paid_unasked`` says whether it pays.
      More budget of an owner that shares must not end the purchase.
    * ``few_sums``, False where every owner has sums of its own.
    """

    outside: float

    def terms(self, epsilon: Array) -> Array:
        """Term of each owner: (n_owners, ...) -> (n_owners, ..., k)."""

    def excess(self, sums: Array) -> Array:
        """Relative fitness psi at the summed terms: (..., k) -> (...)."""


class NoForecast:
    """Forecast of a game in which no payoff depends on the model."""

    outside = 0.0

    def terms(self, epsilon: Array) -> Array:
        return np.empty((*epsilon.shape, 0))

    def excess(self, sums: Array) -> Array:
        return np.zeros(sums.shape[:-1])

    def part(self, index: Array) -> NoForecast:
        return self


@dataclass(frozen=True)
class ForecastView:
    """A forecast for some of the owners, with defaults for its optional members.

    Parameters
    ----------
    forecast : Forecast, with the rows of these owners only where it divides
    n_owners : int, the number of all owners
    index : the rows (n,) to take of a forecast that does not divide; None for all
    """

    forecast: Any
    n_owners: int
    index: Any = None

    @property
    def is_divisible(self) -> bool:
        """True if the forecast has ``part``; otherwise all rows are computed to read some."""
        return hasattr(self.forecast, "part")

    @property
    def few_sums(self) -> bool:
        """True if owners meet in a few sums, as Newton's method on the aggregates needs."""
        return bool(getattr(self.forecast, "few_sums", True))

    def part(self, index: Array) -> ForecastView:
        """Restrict to the owners in ``index`` (n,), each once."""
        if self.is_divisible:
            return replace(self, forecast=self.forecast.part(index))
        return replace(self, index=index)

    def terms(self, epsilon: Array) -> Array:
        """Terms of these owners: (n, ...) -> (n, ..., k)."""
        return self._select_rows(self.forecast.terms(self._fill_rows(epsilon, 0.0)))

    def beside(self, epsilon: Array, others: Array) -> Any:
        """Sums (n, m, k) where each owner alone moves to its candidates (n, m)."""
        if self.index is None and hasattr(self.forecast, "beside"):
            return self.forecast.beside(epsilon, others)
        return others + self.terms(epsilon)

    def slopes(self, epsilon: Array, others: Array) -> Array:
        """Derivative of the fitness by an owner's epsilon (n, m), given the others' (n, 1, k)."""
        forecast = self.forecast
        if not hasattr(forecast, "slopes"):
            return finite_difference(lambda at: forecast.excess(self.beside(at, others)), epsilon)
        sums = self.beside(epsilon, others)
        if self.index is None:
            return forecast.slopes(epsilon, sums)
        everyone = self._fill_rows(epsilon, 0.0)
        return self._select_rows(forecast.slopes(everyone, self._fill_rows(sums, 1.0)))

    def _select_rows(self, of_all: Array) -> Array:
        return of_all if self.index is None else of_all[self.index]

    def _fill_rows(self, rows: Array, rest: float) -> Array:
        if self.index is None:
            return rows
        everyone = np.full((self.n_owners, *rows.shape[1:]), rest)
        everyone[self.index] = rows
        return everyone
