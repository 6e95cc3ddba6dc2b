"""The game the owners play: payoffs, unilateral moves, best responses, regret."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np

from market.columns import lengths, take
from market.owners import Owners
from market.search import ROUNDING, Rows, best_place, best_value, climb, in_blocks, summits

STENCIL = 1e-3  # relative step of the fourth-order difference that stands in for a missing slope
CERTIFIED = 1e-8  # largest relative regret of an equilibrium
BLOCK_OWNERS = 4096  # large markets are searched so many owners at a time, in threads

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


def others_sum(terms: np.ndarray) -> np.ndarray:
    """Sum over all other owners: (n_owners, k) -> (n_owners, k), from both ends, so that nothing cancels.

    >>> others_sum(np.array([[1e20], [1.0], [2.0]])).ravel().tolist()
    [3.0, 1e+20, 1e+20]
    """
    result = np.zeros_like(terms)
    result[1:] += np.cumsum(terms[:-1], axis=0)
    result[:-1] += np.cumsum(terms[:0:-1], axis=0)[::-1]
    return result


def in_threads(action: Callable[[Moves], Found], blocks: Sequence[Moves]) -> list[Found]:
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
class Moves:
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

    def take(self, rows: np.ndarray) -> Moves:
        """The moves of some of these owners, those in the given rows (k,)."""
        if len(rows) == len(self.index) and np.array_equal(rows, np.arange(len(rows))):
            return self
        policy = take(self.policy, rows) if self.game.additive else self.policy
        return Moves(self.game, self.index[rows], self.owners.take(rows), policy, self.profile, self.others[rows])

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
        return best_place(*self.peaks())

    def peaks(self) -> tuple[np.ndarray, np.ndarray]:
        """The highest local maxima of each owner's surplus on its whole interval: places and heights (n, c)."""
        low, high = self.owners.epsilon_min, self.owners.epsilon_max
        places, heights = summits(self.payoffs, self.slopes, low, high, some=self._some)
        jumps = self.breakpoints()
        if not jumps.size:
            return places, heights
        return np.hstack([places, jumps]), np.hstack([heights, self.payoffs(jumps)])

    def peaks_from(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """As `peaks`, found by climbing from local maxima of an earlier market (n, c), with both ends: (n, c + 2)."""
        low, high = self.owners.epsilon_min, self.owners.epsilon_max
        found, heights = climb(self.payoffs, self.slopes, low, high, places, some=self._some)
        jumps = self.breakpoints()
        if not jumps.size:
            return found, heights
        return np.hstack([found, jumps]), np.hstack([heights, self.payoffs(jumps)])

    def _some(self, rows: np.ndarray) -> tuple[Rows, Rows]:
        moves = self.take(rows)
        return moves.payoffs, moves.slopes

    def certificate(self, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Regret of standing at ``own`` (n,) and its scale, (n,) each, as in `Game.certificate`."""
        low, high = self.owners.epsilon_min, self.owners.epsilon_max
        ends = np.column_stack([low, high, own])
        paid, lost = self.payments(ends), self.costs(ends)
        payoffs = paid - lost + self.benefits(ends)
        have = payoffs[:, 2]
        best = np.maximum(best_value(self.payoffs, low, high, claim=(own, have), some=self._some), have)
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


@dataclass(frozen=True)
class Game:
    """Owners who each choose epsilon to maximise surplus = payment + benefit - privacy cost.

    Parameters
    ----------
    owners : Owners
    policy : Policy
        An object of POLICIES, or one with ``settle(epsilon, game) -> (n_owners,)``.
    forecast : Forecast or None
        None where no payoff depends on the model.
    value : float
        Money the learner gets per unit of relative fitness.

    Raises
    ------
    ValueError
        A policy's column does not have one number per owner, or ``value`` is negative or not finite.

    Source: Wu, MRes thesis, section 4, Def. 2; aggregative games after Cornes and Hartley.
    """

    owners: Owners
    policy: Any
    forecast: Any
    value: float

    def __post_init__(self) -> None:
        if self.forecast is None:
            object.__setattr__(self, "forecast", NoForecast())
        if not (np.isfinite(self.value) and self.value >= 0):
            raise ValueError(f"value must be finite and not negative; found {self.value}")
        for name, length in lengths(self.policy).items():
            if length != len(self.owners):
                raise ValueError(f"policy.{name} needs one number per owner ({len(self.owners)}); found {length}")

    @cached_property
    def additive(self) -> bool:
        """Whether owners meet each other in sums only; otherwise payments come from whole profiles."""
        return not hasattr(self.policy, "settle")

    @cached_property
    def n_forecast_terms(self) -> int:
        """How many sums the forecast needs."""
        return self.forecast.terms(self.owners.epsilon_max).shape[-1]

    @cached_property
    def everyone(self) -> np.ndarray:
        """The numbers of all owners (n_owners,)."""
        return np.arange(len(self.owners))

    @cached_property
    def _blocks(self) -> list[Moves]:
        """All owners a few thousand at a time, where nothing needs them all at once; profile and sums to be filled in."""
        whole = Moves(self, self.everyone, self.owners, self.policy, np.empty(0), np.empty((len(self.owners), 1, 0)))
        if len(self.owners) <= BLOCK_OWNERS or not (self.additive and hasattr(self.forecast, "part")):
            return [whole]
        cuts = np.arange(BLOCK_OWNERS, len(self.owners), BLOCK_OWNERS)
        return [whole.take(rows) for rows in np.split(self.everyone, cuts)]

    def blocks(self, profile: np.ndarray, others: np.ndarray) -> list[Moves]:
        """`moves_against` for all owners, in blocks of consecutive ones."""
        made = []
        for block in self._blocks:
            rows = block.index
            part = others if len(self._blocks) == 1 else others[rows[0] : rows[-1] + 1]
            made.append(Moves(self, rows, block.owners, block.policy, profile, part))
            made[-1].__dict__["rows"] = block.rows
        return made

    def terms(self, epsilon: np.ndarray) -> np.ndarray:
        """All sums' terms of a profile: (n_owners,) -> (n_owners, k + j)."""
        terms = self.forecast.terms(epsilon)
        if not self.additive:
            return terms
        return np.concatenate([terms, self.policy.terms(epsilon, self.owners)], axis=-1)

    def moves(self, epsilon: np.ndarray, owners: np.ndarray | None = None) -> Moves:
        """The unilateral moves from a profile (n_owners,), of all owners or those numbered in ``owners`` (n,)."""
        profile = self._profile(epsilon)
        return self.moves_against(profile, self.others(profile), owners)

    def others(self, profile: np.ndarray) -> np.ndarray:
        """The sums over everybody else at a profile: (n_owners,) -> (n_owners, 1, k + j)."""
        return others_sum(self.terms(profile))[:, None, :]

    def moves_against(self, profile: np.ndarray, others: np.ndarray, owners: np.ndarray | None = None) -> Moves:
        """As `moves`, with the sums over everybody else given (n_owners, 1, k + j)."""
        if owners is None:
            return Moves(self, self.everyone, self.owners, self.policy, profile, others)
        index = np.atleast_1d(np.asarray(owners, dtype=int))
        policy = self.policy if not self.additive else take(self.policy, index)
        return Moves(self, index, self.owners.take(index), policy, profile, others[index])

    def moves_of(self, owner: int, profile: np.ndarray, others: np.ndarray) -> Moves:
        """The moves of one owner, given the sums over everybody else (k + j,)."""
        index = np.array([owner])
        policy = take(self.policy, index) if self.additive else self.policy
        return Moves(self, index, self.owners.take(index), policy, profile, others[None, None, :])

    def fitness(self, epsilon: np.ndarray) -> float:
        """Relative fitness of the model trained at a profile (n_owners,)."""
        sums = self.forecast.terms(self._profile(epsilon)).sum(axis=0)
        return float(self.forecast.excess(sums))

    def payments(self, epsilon: np.ndarray) -> np.ndarray:
        """Money each owner is paid at a profile (n_owners,)."""
        profile = self._profile(epsilon)
        if not self.additive:
            return np.asarray(self.policy.settle(profile, self), dtype=float)
        return self.moves(profile).payments(profile[:, None])[:, 0]

    def benefits(self, epsilon: np.ndarray) -> np.ndarray:
        """Money the model is worth to each owner at a profile (n_owners,)."""
        return self.moves(epsilon).benefits(self._profile(epsilon)[:, None])[:, 0]

    def costs(self, epsilon: np.ndarray) -> np.ndarray:
        """Money that sharing costs each owner at a profile (n_owners,), fixed costs included."""
        return self.owners.costs(self._profile(epsilon))

    def payoffs(self, epsilon: np.ndarray) -> np.ndarray:
        """Surplus of each owner at a profile (n_owners,)."""
        return self.payments(epsilon) + self.benefits(epsilon) - self.costs(epsilon)

    def move_payoffs(self, epsilon: np.ndarray, candidates: np.ndarray, owners: np.ndarray | None = None) -> np.ndarray:
        """Surplus (n, m) of each owner if it alone moves from a profile (n_owners,) to its candidates (n, m)."""
        return in_blocks(self.moves(epsilon, owners).payoffs, np.asarray(candidates, dtype=float))

    def best_responses(self, epsilon: np.ndarray, owners: np.ndarray | None = None) -> np.ndarray:
        """The epsilon (n,) in each owner's interval that maximises its surplus, the others as they are.

        Global: a grid of equal ratios with both ends and 0, its best cells refined to a root of the slope.
        Ties go to the smaller epsilon.
        """
        if owners is not None:
            return self.moves(epsilon, owners).best_responses()
        profile = self._profile(epsilon)
        blocks = self.blocks(profile, self.others(profile))
        return np.concatenate(in_threads(Moves.best_responses, blocks))

    def certificate(self, epsilon: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Regret and its scale, (n_owners,) each, by a search independent of `best_responses`.

        Regret is the most an owner could gain by moving alone, and 0 where rounding could feign as much. Its
        scale is how much the owner's best choice gains over the worse end of its interval: never more than the
        surplus range, and finite where surplus falls without bound towards epsilon = 0.
        """
        profile = self._profile(epsilon)
        last = self.__dict__.get("_last_certificate")
        if last is None or not np.array_equal(last[0], profile):
            blocks = self.blocks(profile, self.others(profile))
            found = in_threads(lambda moves: moves.certificate(profile[moves.index]), blocks)
            last = (profile.copy(), *(np.concatenate(part) for part in zip(*found, strict=True)))
            self.__dict__["_last_certificate"] = last
        return last[1], last[2]

    def regret(self, epsilon: np.ndarray) -> np.ndarray:
        """The most each owner could gain by moving alone, in money (n_owners,)."""
        return self.certificate(epsilon)[0]

    def regret_scale(self, epsilon: np.ndarray) -> np.ndarray:
        """What each owner has at stake (n_owners,): its best surplus less that at its interval's worse end."""
        return self.certificate(epsilon)[1]

    def _profile(self, epsilon: np.ndarray) -> np.ndarray:
        profile = np.asarray(epsilon, dtype=float)
        if profile.shape != (len(self.owners),):
            raise ValueError(f"epsilon must have shape ({len(self.owners)},); found {profile.shape}")
        return profile


def relative(regret: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Regret as a part of what is at stake (n_owners,); 0 where there is none, inf where nothing else is."""
    ratio = np.divide(regret, scale, out=np.full_like(regret, np.inf), where=scale > 0)
    return np.where(regret > 0, ratio, 0.0)
