"""Each owner paid its Shapley value of the model's improvement, exactly or from sampled orders."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from math import comb
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, MultipleOf

from learning.declaration import CountOrZero, PositivePerOwner, Words, parameter
from market.costs.base import Writer
from market.game.deviations import Deviations
from market.game.game import Game
from market.game.search import BLOCK
from market.policies.base import ProfilePolicy

Quantity = Callable[[Deviations, np.ndarray], np.ndarray]

EXACT_OWNERS = 12  # beyond, the 2^n coalitions are sampled


@dataclass(frozen=True)
class Shapley(ProfilePolicy):
    """Each owner is paid its average contribution over all orders of arrival: ``share * V * Shapley value``.

    The game of coalitions is the fitness gained, ``psi(nobody) - psi(S)``, where the owners in S share what they
    share in the profile and the others nothing. Payments add up to ``share * V * (psi(nobody) - psi(everybody))``,
    in a sample of orders too. The sample depends on ``seed`` only, so that payments are one function of epsilon
    throughout a game. An owner that harms the model on average is charged.

    Not additive: whole profiles are settled, but all coalitions of a move at once.

    Parameters
    ----------
    share : scalar or (n_owners,), the part of the learner's gain that is paid out
    samples : int, orders at most where there are too many coalitions: some are drawn, each is used with its turns (cyclic
        shifts) and their reverses; even
    seed : int, seed of the drawn orders
    method : "auto" (exact up to 12 owners), "exact" or "sampled"

    Raises
    ------
    InputError
        A share that is not finite and above 0, an odd number of samples or fewer than 4, a negative seed, or an unknown
        method.

    Source: Shapley, A value for n-person games (1953); sampling after Castro, Gomez and Tejada, with turned and
    reversed orders.

    Two owners, each worth 8 alone and 10 together, share the 10:

    >>> from market.costs.functions import Linear
    >>> from market.game.game import Game
    >>> from market.game.owners import Owners
    >>> class Law:
    ...     outside = 1.0
    ...     def terms(self, epsilon):
    ...         return (epsilon > 0)[..., None].astype(float)
    ...     def excess(self, sums):
    ...         return np.choose(sums[..., 0].astype(int), [1.0, 0.2, 0.0])
    >>> owners = Owners(("A", "B"), 1, 0.0, 1.0, Linear(0.0))
    >>> Game(owners, Shapley(), Law(), 10.0).payments(np.ones(2)).tolist()
    [5.0, 5.0]
    """

    pays_for_fitness = True
    money = "share"
    share: PositivePerOwner = 1.0
    samples: Annotated[int, Ge(4), MultipleOf(2), Words("an even whole number of at least 4")] = 400
    seed: CountOrZero = 0
    method: Literal["auto", "exact", "sampled"] = parameter(default="auto", in_file=False)
    # Searched finely: each coalition may change its horizon at another epsilon.
    grain = {"points": 240, "peaks": 6}

    def settle(self, epsilon: np.ndarray, game: Game) -> np.ndarray:
        return self.payments(epsilon[:, None], game.deviations(epsilon))[:, 0]

    def payments(self, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
        return self._rate(deviations) * self._average(epsilon, deviations, gains)

    def slopes(self, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
        return -self._rate(deviations) * self._average(epsilon, deviations, Deviations.fitness_slope)

    def standard_error(self, epsilon: np.ndarray, game: Game) -> np.ndarray:
        """How far sampling may have the payments of a profile off (n_owners,), money; 0 where they are exact."""
        if self._is_exact(len(epsilon)):
            return np.zeros(len(epsilon))
        deviations = game.deviations(epsilon)
        met, _ = self._meetings(deviations)
        credits = gains(met, np.broadcast_to(epsilon[:, None], met.others.shape[:2]))
        draws = credits.reshape(len(credits), -1, 2 * _turns(len(epsilon), self.samples)).mean(axis=2)
        return self._rate(deviations)[:, 0] * draws.std(axis=1, ddof=1) / np.sqrt(draws.shape[1])

    def sentence(self, write: Writer) -> str:
        return (
            f"The learner pays out {write.amount(self.share, write.percent)} of what the model gains it, each owner by what "
            "it adds on average over all orders in which owners could join (its Shapley value). With more than twelve "
            "owners the average is over a fixed sample of orders."
        )

    def _is_exact(self, n_owners: int) -> bool:
        return self.method == "exact" or (self.method == "auto" and n_owners <= EXACT_OWNERS)

    def _rate(self, deviations: Deviations) -> np.ndarray:
        share = np.broadcast_to(self.share, len(deviations.profile))
        return share[deviations.index, None] * deviations.game.value

    def _meetings(self, deviations: Deviations) -> tuple[Deviations, np.ndarray]:
        """Deviations against every coalition an owner may find, others (n, c, k), and the odds of each (c,)."""
        terms, n_owners = deviations.game.forecast.terms(deviations.profile), len(deviations.profile)
        if self._is_exact(n_owners):
            member, odds = _coalitions(n_owners)
            others = np.stack([member @ np.delete(terms, owner, axis=0) for owner in deviations.index])
        else:
            orders = _orders(n_owners, self.samples, self.seed)
            odds = np.full(len(orders), 1 / len(orders))
            sums = np.cumsum(terms[orders], axis=1)
            sums = np.concatenate([np.zeros_like(sums[:, :1]), sums[:, :-1]], axis=1)
            place = np.argsort(orders, axis=1)[:, deviations.index]
            others = np.take_along_axis(sums, place[..., None], axis=1).swapaxes(0, 1)
        return replace(deviations, others=others), odds

    def _average(self, epsilon: np.ndarray, deviations: Deviations, of: Quantity) -> np.ndarray:
        """Average of ``of(moves, candidates)`` over the coalitions an owner may find (n, m)."""
        met, odds = self._meetings(deviations)
        count, (rows, columns) = len(odds), epsilon.shape
        average = np.empty_like(epsilon)
        width = max(1, BLOCK // (rows * count))
        for at in range(0, columns, width):
            some = epsilon[:, at : at + width]
            many = replace(met, others=np.tile(met.others, (1, some.shape[1], 1)))
            values = of(many, np.repeat(some, count, axis=1))
            average[:, at : at + width] = values.reshape(rows, -1, count) @ odds
        return average


def gains(met: Deviations, epsilon: np.ndarray) -> np.ndarray:
    """What each owner improves the coalition it meets by (n, m), met.others being the coalition's sums."""
    return met.game.forecast.excess(met.others) - met.fitness(epsilon)


@lru_cache(maxsize=4)
def _coalitions(n_owners: int) -> tuple[np.ndarray, np.ndarray]:
    """Every coalition of n - 1 others (2^(n-1), n-1), and the odds of finding it: |S|! (n-1-|S|)! / n!."""
    member = ((np.arange(2 ** (n_owners - 1))[:, None] >> np.arange(n_owners - 1)) & 1).astype(float)
    odds = np.array([1 / (n_owners * comb(n_owners - 1, size)) for size in range(n_owners)])
    return member, odds[member.sum(axis=1).astype(int)]


@lru_cache(maxsize=4)
def _orders(n_owners: int, samples: int, seed: int) -> np.ndarray:
    """Drawn orders of arrival (at most ``samples``, n_owners): each draw with its turns and their reverses, in a row.

    In the turns of an order every owner comes early, late and between; that is most of what owners gain by luck.
    """
    turns, rng = _turns(n_owners, samples), np.random.default_rng(seed)
    drawn = rng.permuted(np.tile(np.arange(n_owners), (samples // (2 * turns), 1)), axis=1)
    shifts = np.arange(turns) * n_owners // turns
    forward = drawn[:, (np.arange(n_owners) + shifts[:, None]) % n_owners]
    return np.stack([forward, forward[..., ::-1]], axis=2).reshape(-1, n_owners)


def _turns(n_owners: int, samples: int) -> int:
    """Turns of each drawn order: one to each place where the sample then still holds eight draws."""
    return max(1, min(n_owners, samples // 16))
