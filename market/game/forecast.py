"""What a market asks of a forecast, and how some owners see one that leaves out what it may."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from market.columns import difference


class Forecast(Protocol):
    """Relative fitness of the trained model, from sums of what each owner adds.

    Or another measure of its error, in whose unit the learner's value and the owners' benefits are then counted.

    ``outside`` is the relative fitness of the learner's model without buying, and what ``excess`` gives when
    nobody shares. A forecast may also have ``slopes(epsilon, sums)``, the derivative of the excess by an
    owner's own epsilon (n_owners, m) where the sums (n_owners, m, k) include it; without it a fourth-order
    difference is used. And it may have ``part(index)``, the same forecast with the rows of some owners only, so that
    large markets need not compute all rows to look at some. And it may have ``beside(epsilon, others)``, the sums
    (n_owners, m, k) where each owner alone stands at its candidates (n_owners, m), the others' (n_owners, 1, k) given, in
    whatever form its own ``excess``, ``slopes`` and ``asks`` read quickest. And it may have ``asks(sums)``, whether the
    learner asks anything given the summed terms (..., k) -> (...): where it does not, nobody loses privacy or gains a
    model, and a policy's ``paid_unasked`` says whether it pays. More budget of an owner that shares must not make a
    learner stop asking. Without ``asks`` a learner always asks. And it may have ``few_sums``, False where it takes sums of
    each owner's own, so that owners do not meet in a few.
    """

    outside: float

    def terms(self, epsilon: np.ndarray) -> np.ndarray:
        """What each owner adds: (n_owners, ...) -> (n_owners, ..., k)."""

    def excess(self, sums: np.ndarray) -> np.ndarray:
        """Relative fitness psi given the summed terms: (..., k) -> (...)."""


class NoForecast:
    """Stands for a forecast in a game where no payoff depends on the model."""

    outside = 0.0

    def terms(self, epsilon: np.ndarray) -> np.ndarray:
        return np.empty((*epsilon.shape, 0))

    def excess(self, sums: np.ndarray) -> np.ndarray:
        return np.zeros(sums.shape[:-1])

    def part(self, index: np.ndarray) -> NoForecast:
        return self


@dataclass(frozen=True)
class ForecastView:
    """A forecast as some owners see it, what it left out made up for.

    Parameters
    ----------
    forecast: the forecast, with the rows of these owners only where it can give them.
    n_owners: the number of all owners.
    index: the rows (n,) to be taken of a forecast that does not divide; None for all of them.
    """

    forecast: Any
    n_owners: int
    index: Any = None

    @property
    def divides(self) -> bool:
        """Whether the forecast has ``part``; otherwise all rows are computed to look at some."""
        return hasattr(self.forecast, "part")

    @property
    def declines(self) -> bool:
        """Whether the learner may do best to ask nothing."""
        return hasattr(self.forecast, "asks")

    @property
    def few_sums(self) -> bool:
        """Whether owners meet in a few sums, however many they are; else a solver does without Newton steps on these."""
        return bool(getattr(self.forecast, "few_sums", True))

    def part(self, index: np.ndarray) -> ForecastView:
        """The forecast as the owners in ``index`` (n,), each once, see it."""
        return replace(self, forecast=self.forecast.part(index)) if self.divides else replace(self, index=index)

    def terms(self, epsilon: np.ndarray) -> np.ndarray:
        """What these owners add: (n, ...) -> (n, ..., k)."""
        return self._rows(self.forecast.terms(self._all(epsilon, 0.0)))

    def beside(self, epsilon: np.ndarray, others: np.ndarray) -> Any:
        """The sums (n, m, k) where each of these owners alone is at its candidates (n, m), those of the others given."""
        if self.index is None and hasattr(self.forecast, "beside"):
            return self.forecast.beside(epsilon, others)
        return others + self.terms(epsilon)

    def slopes(self, epsilon: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Derivative of the fitness by their own epsilon (n, m), given the sums over everybody else (n, 1, k)."""
        if not hasattr(self.forecast, "slopes"):
            return difference(lambda at: self.forecast.excess(self.beside(at, others)), epsilon)
        sums = self.beside(epsilon, others)
        if self.index is None:
            return self.forecast.slopes(epsilon, sums)
        return self._rows(self.forecast.slopes(self._all(epsilon, 0.0), self._all(sums, 1.0)))

    def _rows(self, of_all: np.ndarray) -> np.ndarray:
        return of_all if self.index is None else of_all[self.index]

    def _all(self, rows: np.ndarray, rest: float) -> np.ndarray:
        if self.index is None:
            return rows
        everyone = np.full((self.n_owners, *rows.shape[1:]), rest)
        everyone[self.index] = rows
        return everyone
