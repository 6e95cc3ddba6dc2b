"""What owners look at before they choose: their unilateral moves, everyone else fixed."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from market.columns import take
from market.game.owners import Owners
from market.game.search import EXACT, ROUNDING, Rows, argmax, highest_value, local_maxima, refine

if TYPE_CHECKING:
    from market.game.game import Game

STENCIL = 1e-3  # relative step of the fourth-order difference that stands in for a missing slope

Found = TypeVar("Found")


class Forecast(Protocol):
    """Relative fitness of the trained model, from sums of what each owner adds.

    ``outside`` is the relative fitness of the learner's model without buying, and what ``excess`` gives when
    nobody shares. A forecast may also have ``slopes(epsilon, sums)``, the derivative of the excess by an
    owner's own epsilon (n_owners, m) where the sums (n_owners, m, k) include it; without it a fourth-order
    difference is used. And it may have ``part(index)``, the same forecast with the rows of some owners only, so that
    large markets need not compute all rows to look at some.
    """

    outside: float

    def terms(self, epsilon: np.ndarray) -> np.ndarray:
        """What each owner adds: (n_owners, ...) -> (n_owners, ..., k)."""
        ...

    def excess(self, sums: np.ndarray) -> np.ndarray:
        """Relative fitness psi given the summed terms: (..., k) -> (...)."""
        ...


class NoForecast:
    """Stands for a forecast in a game where no payoff depends on the model."""

    outside = 0.0

    def terms(self, epsilon: np.ndarray) -> np.ndarray:
        """No sums: (n_owners, ..., 0)."""
        return np.empty((*epsilon.shape, 0))

    def excess(self, sums: np.ndarray) -> np.ndarray:
        """No gain over the outside option: zeros (...)."""
        return np.zeros(sums.shape[:-1])

    def part(self, index: np.ndarray) -> NoForecast:
        """The same for some owners."""
        return self


@dataclass(frozen=True)
class SomeRows:
    """A forecast as the owners in ``index`` (n,), each once, see it; computes all ``n_owners`` rows to look at some."""

    forecast: Any
    index: np.ndarray
    n_owners: int

    def terms(self, epsilon: np.ndarray) -> np.ndarray:
        """What these owners add: (n, ...) -> (n, ..., k)."""
        return self.forecast.terms(self._all(epsilon, 0.0))[self.index]

    def slopes(self, epsilon: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """Derivative of the excess by their own epsilon (n, m), given the sums (n, m, k)."""
        return self.forecast.slopes(self._all(epsilon, 0.0), self._all(sums, 1.0))[self.index]

    def _all(self, rows: np.ndarray, rest: float) -> np.ndarray:
        everyone = np.full((self.n_owners, *rows.shape[1:]), rest)
        everyone[self.index] = rows
        return everyone


def in_threads(action: Callable[[Deviations], Found], blocks: Sequence[Deviations]) -> list[Found]:
    """``action`` on every block of owners, in order; several blocks at once, as NumPy leaves other threads alone."""
    if len(blocks) == 1:
        return [action(blocks[0])]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(action, blocks))


def difference(function: Callable[[np.ndarray], np.ndarray], epsilon: np.ndarray) -> np.ndarray:
    """Derivative of ``function`` at each epsilon > 0 by a five-point difference in relative steps."""
    step = STENCIL * epsilon
    near = function(epsilon + step) - function(epsilon - step)
    far = function(epsilon + 2 * step) - function(epsilon - 2 * step)
    return (8 * near - far) / (12 * np.where(step > 0, step, 1.0))


@dataclass(frozen=True)
class Deviations:
    """The unilateral moves of some owners, everyone else fixed: what an owner looks at before it chooses.

    ``index`` (n,) are the owners who consider moving, ``owners`` their columns, ``profile`` (n_owners,) where
    all stand, ``others`` (n, 1, k + j) the sums over everybody else: k of the forecast, then j of the policy.
    """

    game: Game
    index: np.ndarray
    owners: Owners
    policy: Any
    profile: np.ndarray
    others: np.ndarray

    @property
    def value(self) -> float:
        """Money the learner gets per unit of relative fitness."""
        return self.game.value

    @property
    def others_policy(self) -> np.ndarray:
        """The policy's own sums over everybody else (n, 1, j)."""
        return self.others[..., self.game.n_forecast_terms :]

    @cached_property
    def rows(self) -> Any:
        """The forecast with the rows of these owners: its ``terms`` and, where it has them, ``slopes``."""
        forecast, everyone = self.game.forecast, self.game.everyone
        if self.index is everyone or np.array_equal(self.index, everyone):
            return forecast
        if hasattr(forecast, "part"):
            return forecast.part(self.index)
        return SomeRows(forecast, self.index, len(everyone))

    def take(self, rows: np.ndarray) -> Deviations:
        """The moves of some of these owners, those in the given rows (k,)."""
        if len(rows) == len(self.index) and np.array_equal(rows, np.arange(len(rows))):
            return self
        policy = take(self.policy, rows) if self.game.additive else self.policy
        return Deviations(self.game, self.index[rows], self.owners.take(rows), policy, self.profile, self.others[rows])

    def terms(self, epsilon: np.ndarray) -> np.ndarray:
        """What each owner adds to all sums: (n, ...) -> (n, ..., k + j)."""
        terms = self.rows.terms(epsilon)
        if not self.game.additive:
            return terms
        return np.concatenate([terms, self.policy.terms(epsilon, self.owners)], axis=-1)

    def forecast_sums(self, epsilon: np.ndarray) -> np.ndarray:
        """The forecast's sums (n, m, k) when each owner alone moves to its candidates (n, m)."""
        return self.others[..., : self.game.n_forecast_terms] + self.rows.terms(epsilon)

    def fitness(self, epsilon: np.ndarray) -> np.ndarray:
        """Relative fitness (n, m) of the model when each owner alone moves to its candidates (n, m)."""
        return self.game.forecast.excess(self.forecast_sums(epsilon))

    def fitness_slope(self, epsilon: np.ndarray) -> np.ndarray:
        """Derivative of `fitness` by the owner's own epsilon, at candidates above 0 (n, m)."""
        if not hasattr(self.game.forecast, "slopes"):
            return difference(self.fitness, epsilon)
        return self.rows.slopes(epsilon, self.forecast_sums(epsilon))

    def payments(self, epsilon: np.ndarray) -> np.ndarray:
        """Money each owner is paid at its candidates (n, m)."""
        if self.game.additive or hasattr(self.policy, "payments"):
            return self.policy.payments(epsilon, self)
        result = np.empty_like(epsilon)
        for (row, at), candidate in np.ndenumerate(epsilon):
            profile = self.profile.copy()
            profile[self.index[row]] = candidate
            result[row, at] = self.policy.settle(profile, self.game)[self.index[row]]
        return result

    def benefits(self, epsilon: np.ndarray) -> np.ndarray:
        """Money the model is worth to each owner at its candidates (n, m), 0 for who shares nothing."""
        if not self.owners.benefit.any():
            return np.zeros_like(epsilon)
        gain = np.maximum(self.owners.isolated[:, None] - self.fitness(epsilon), 0.0)
        return np.where(epsilon > 0, self.owners.benefit[:, None] * gain, 0.0)

    def costs(self, epsilon: np.ndarray) -> np.ndarray:
        """Money that sharing costs each owner at its candidates (n, m), fixed costs included."""
        return self.owners.costs(epsilon)

    def payoffs(self, epsilon: np.ndarray) -> np.ndarray:
        """Surplus (n, m): payment + benefit - privacy cost."""
        payoff = self.payments(epsilon) - self.costs(epsilon)
        return payoff + self.benefits(epsilon) if self.owners.benefit.any() else payoff

    def slopes(self, epsilon: np.ndarray) -> np.ndarray:
        """Derivative of the surplus at candidates above 0 (n, m), each owner's own epsilon moving."""
        exact = hasattr(self.policy, "slopes")
        slope = self.policy.slopes(epsilon, self) if exact else difference(self.payments, epsilon)
        slope = slope - self.owners.cost.slope(epsilon, self.owners.sizes)
        if self.owners.benefit.any():
            gains = self.fitness(epsilon) < self.owners.isolated[:, None]
            slope = slope - self.owners.benefit[:, None] * gains * self.fitness_slope(epsilon)
        return slope

    def best_responses(self) -> np.ndarray:
        """What maximises each owner's surplus on its whole interval (n,); ties go to the smaller epsilon."""
        return argmax(*self.peaks())

    def peaks(self, exact: float = EXACT) -> tuple[np.ndarray, np.ndarray]:
        """The highest local maxima of each owner's surplus on its whole interval: places and heights (n, c)."""
        low, high = self.owners.epsilon_min, self.owners.epsilon_max
        grain = getattr(self.policy, "grain", {})  # of the search, where a policy's payments bend often
        places, heights = local_maxima(self.payoffs, self.slopes, low, high, some=self._some, exact=exact, **grain)
        jumps = self.breakpoints()
        if not jumps.size:
            return places, heights
        return np.hstack([places, jumps]), np.hstack([heights, self.payoffs(jumps)])

    def peaks_from(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """As `peaks`, found by climbing from local maxima of an earlier market (n, c), with both ends: (n, c + 2)."""
        low, high = self.owners.epsilon_min, self.owners.epsilon_max
        found, heights = refine(self.payoffs, self.slopes, low, high, places, some=self._some)
        jumps = self.breakpoints()
        if not jumps.size:
            return found, heights
        return np.hstack([found, jumps]), np.hstack([heights, self.payoffs(jumps)])

    def _some(self, rows: np.ndarray) -> tuple[Rows, Rows]:
        deviations = self.take(rows)
        return deviations.payoffs, deviations.slopes

    def certificate(self, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Regret of standing at ``own`` (n,) and its scale, (n,) each, as in `Game.certificate`."""
        low, high = self.owners.epsilon_min, self.owners.epsilon_max
        ends = np.column_stack([low, high, own])
        paid, lost = self.payments(ends), self.costs(ends)
        payoffs = paid - lost + self.benefits(ends)
        have = payoffs[:, 2]
        best = np.maximum(highest_value(self.payoffs, low, high, claim=(own, have), some=self._some), have)
        jumps = self.breakpoints()
        best = np.maximum(best, self.payoffs(jumps).max(axis=1)) if jumps.size else best
        money = (np.abs(paid) + np.abs(lost))[:, :2].max(axis=1)
        gain = np.where(best - have > ROUNDING * money, best - have, 0.0)
        return gain, best - payoffs[:, :2].min(axis=1)

    def breakpoints(self) -> np.ndarray:
        """Where payments may jump, inside each owner's interval (n, j): candidates that no search between can miss."""
        if not hasattr(self.policy, "breakpoints"):
            return np.empty((len(self.index), 0))
        low, high = self.owners.epsilon_min[:, None], self.owners.epsilon_max[:, None]
        return np.clip(self.policy.breakpoints(self.owners), low, high)
