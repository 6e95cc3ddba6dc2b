"""What owners look at before they choose: their unilateral moves, everyone else fixed."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from market.columns import take, upright, with_fields
from market.game.forecast import ForecastView
from market.game.owners import Owners
from market.game.search import DECADES, EXACT, ROUNDING, TRIFLE, Rows, argmax, highest_point, local_maxima, refine

HALVINGS = 44  # of the logarithm of an interval, until the least epsilon at which a learner asks is known
MANY_BLOCKS = 8  # fewer are done before threads have started
FEW = 3  # so few owners are searched more finely: it hardly takes longer
FINE = {"points": 144, "peaks": 4, "zoom": 48}
CERTIFIED_FINELY = {"points": 120, "peaks": 6, "zoom": 40}
BEYOND = 1e-10  # relative step beyond it, so that rounding does not make the learner stop asking
Block = TypeVar("Block")
Found = TypeVar("Found")


def in_threads(action: Callable[[Block], Found], blocks: Sequence[Block]) -> list[Found]:
    """``action`` on every block of owners, in order; many blocks several at once, as NumPy leaves other threads alone."""
    if len(blocks) < MANY_BLOCKS:
        return [action(block) for block in blocks]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(action, blocks))


@dataclass(frozen=True)
class Deviations:
    """The unilateral moves of some owners, everyone else fixed.

    Parameters
    ----------
    game: the `market.game.game.Game` that they are moves in.
    index: the numbers of the owners who consider moving, (n,).
    owners: the columns of these owners.
    policy: the policy, with the columns of these owners where it is additive.
    profile: the epsilon at which everybody stands, (n_owners,).
    others: the sums over everybody else, (n, 1, k + j): k of the forecast, then j of the policy.
    """

    game: Any
    index: np.ndarray
    owners: Owners
    policy: Any
    profile: np.ndarray
    others: np.ndarray

    @property
    def others_policy(self) -> np.ndarray:
        """The policy's own sums over everybody else (n, 1, j)."""
        return self.others[..., self.game.n_forecast_terms :]

    @cached_property
    def rows(self) -> ForecastView:
        """The forecast as these owners see it."""
        return self.game.view if self.index is self.game.everyone else self.game.view.part(self.index)

    def take(self, rows: np.ndarray) -> Deviations:
        """The moves of some of these owners, those in the given rows (k,)."""
        if np.array_equal(rows, np.arange(len(self.index))):
            return self
        policy = take(self.policy, rows) if self.game.additive else self.policy
        owners, others = self.owners.take(rows), self.others[rows]
        return replace(self, index=self.index[rows], owners=owners, policy=policy, others=others)

    def terms(self, epsilon: np.ndarray) -> np.ndarray:
        """What each owner adds to all sums: (n, ...) -> (n, ..., k + j)."""
        return np.concatenate([self.rows.terms(epsilon), self.policy.terms(epsilon, self.owners)], axis=-1)

    @property
    def others_forecast(self) -> np.ndarray:
        """The forecast's sums over everybody else (n, 1, k)."""
        return self.others[..., : self.game.n_forecast_terms]

    def fitness(self, epsilon: np.ndarray) -> np.ndarray:
        """Relative fitness (n, m) of the model when each owner alone moves to its candidates (n, m)."""
        return self.game.forecast.excess(self.rows.beside(epsilon, self.others_forecast))

    @cached_property
    def fitness_without(self) -> np.ndarray:
        """Relative fitness (n, 1) of the model when each owner alone shares nothing."""
        return self.fitness(np.zeros((len(self.index), 1)))

    def fitness_slope(self, epsilon: np.ndarray) -> np.ndarray:
        """Derivative of `fitness` by the owner's own epsilon, at candidates above 0 (n, m)."""
        return self.rows.slopes(epsilon, self.others_forecast)

    def asks(self, epsilon: np.ndarray) -> np.ndarray:
        """Whether the learner asks anything when each owner alone moves to its candidates (n, m)."""
        if not self.game.declines:
            return np.ones(epsilon.shape, dtype=bool)
        return self.game.forecast.asks(self.rows.beside(epsilon, self.others_forecast))

    def payments(self, epsilon: np.ndarray) -> np.ndarray:
        """Money each owner is promised for answers at its candidates (n, m)."""
        return self.policy.payments(epsilon, self)

    def benefits(self, epsilon: np.ndarray) -> np.ndarray:
        """Money the model is worth to each owner at its candidates (n, m), 0 for who shares nothing unless it goes to all."""
        if not self.owners.benefit.any():
            return np.zeros_like(epsilon)
        gain = np.maximum(self.owners.isolated[:, None] - self.fitness(epsilon), 0.0)
        worth = self.owners.benefit[:, None] * gain
        return worth if self.owners.model_for_all else np.where(epsilon > 0, worth, 0.0)

    def costs(self, epsilon: np.ndarray) -> np.ndarray:
        """Money that sharing costs each owner at its candidates (n, m), fixed costs included."""
        return self.owners.costs(epsilon)

    def promises(self, epsilon: np.ndarray) -> np.ndarray:
        """Surplus if asked (n, m): payment + benefit - privacy cost."""
        payoff = self.payments(epsilon) - self.costs(epsilon)
        return payoff + self.benefits(epsilon) if self.owners.benefit.any() else payoff

    def payoffs(self, epsilon: np.ndarray) -> np.ndarray:
        """Surplus as each owner weighs it (n, m): what is promised, but no gain where nothing is asked.

        Unless the policy pays all the same. Nobody counts on being spared a loss because its own noise would drown
        everything and make the learner ask nothing: a learner would rather leave out such an owner.
        """
        promised = self.promises(epsilon)
        return promised if self.certain else np.where(self.asks(epsilon), promised, np.minimum(promised, 0.0))

    @property
    def certain(self) -> bool:
        """Whether all that is promised is paid."""
        return not self.game.declines or self.policy.paid_unasked

    def slopes(self, epsilon: np.ndarray) -> np.ndarray:
        """Derivative of the surplus at candidates above 0 (n, m), each owner's own epsilon moving."""
        slope = self.policy.slopes(epsilon, self) - self.owners.cost.slope(epsilon, self.owners.sizes)
        if self.owners.benefit.any():
            gains = self.fitness(epsilon) < self.owners.isolated[:, None]
            slope = slope - self.owners.benefit[:, None] * gains * self.fitness_slope(epsilon)
        return slope

    def best_responses(self) -> np.ndarray:
        """What maximises each owner's surplus on its whole interval (n,); ties go to the smaller epsilon."""
        return self.where_asked(argmax(*self.peaks()))

    def where_asked(self, response: np.ndarray) -> np.ndarray:
        """Best responses (n,) where nothing is paid unless the learner asks, from those to what is promised.

        An owner who cannot gain by making the learner ask does as if it were asked: that is best should it be after all.
        """
        if self.certain:
            return response
        here = response[:, None]
        asked = self.asks(here)[:, 0]
        if asked.all():
            return response
        rows = self.able(np.flatnonzero(~asked & (self.promises(here)[:, 0] > 0)))
        if not rows.size:
            return response
        places, heights = self.take(rows).narrowed().peaks_asked()
        found = response.copy()
        found[rows] = np.where(upright(heights).max(axis=0) > 0, argmax(places, heights), response[rows])
        return found

    def peaks_asked(self) -> tuple[np.ndarray, np.ndarray]:
        """As `peaks`, with no gain where nothing is asked."""
        places, _ = self.peaks()
        return places, self.payoffs(places)

    def able(self, rows: np.ndarray) -> np.ndarray:
        """Those of the owners in the given rows (k,) who can make the learner ask: by all that they may share."""
        return rows[self.take(rows).asks(self.owners.epsilon_max[rows, None])[:, 0]] if rows.size else rows

    def narrowed(self) -> Deviations:
        """The same moves of owners who are `able`, each interval cut to where the learner asks: from the least such epsilon.

        More of an owner's budget does not make a learner stop asking.
        """
        high = self.owners.epsilon_max
        low = np.maximum(self.owners.epsilon_min, high * 10.0**-DECADES)
        below, least = low, high
        for _ in range(HALVINGS):
            middle = np.sqrt(below * least)
            asked = self.asks(middle[:, None])[:, 0]
            below, least = np.where(asked, below, middle), np.where(asked, middle, least)
        least = np.where(self.asks(low[:, None])[:, 0], low, np.minimum(least * (1 + BEYOND), high))
        return replace(self, owners=with_fields(self.owners, epsilon_min=least))

    def peaks(self, exact: float = EXACT) -> tuple[np.ndarray, np.ndarray]:
        """The highest local maxima of each owner's surplus on its whole interval: places and heights (n, c)."""
        low, high = self.owners.epsilon_min, self.owners.epsilon_max
        grain = FINE if len(self.game.owners) <= FEW else self.policy.grain
        return self._with_jumps(*local_maxima(self.surplus, low, high, exact=exact, **grain))

    def peaks_from(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """As `peaks`, found by climbing from local maxima of an earlier market (n, c), with both ends: (n, c + 2)."""
        return self._with_jumps(*refine(self.surplus, self.owners.epsilon_min, self.owners.epsilon_max, places))

    def _with_jumps(self, places: np.ndarray, heights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        jumps = self.breakpoints()
        if not jumps.size:
            return places, heights
        return np.hstack([places, jumps]), np.hstack([heights, self.promises(jumps)])

    def surplus(self, rows: np.ndarray) -> tuple[Rows, Rows]:
        """`promises` and `slopes` of some of these owners, those in the given rows (k,), as a search asks for them."""
        deviations = self.take(rows)
        return deviations.promises, deviations.slopes

    def certificate(self, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Regret of standing at ``own`` (n,) and its scale, (n,) each, as in `Game.certificate`."""
        have, money, moved = self._money(own)
        trifle = TRIFLE * moved + ROUNDING * money
        place, best = self._highest(own, have, trifle)
        if not self.certain:
            best = np.where(best - have > ROUNDING * money, best, have)
            have, place, best = self._highest_asked(own, have, place, best, trifle)
        gain = np.where(best - have > ROUNDING * money, best - have, 0.0)
        better = np.flatnonzero(gain)
        if better.size:
            _, money_there, moved[better] = self.take(better)._money(place[better])
            gain[better] *= gain[better] > ROUNDING * (money[better] + money_there)
        return gain, gain + moved

    def _highest(self, own: np.ndarray, have: np.ndarray, trifle: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where most is promised on each owner's whole interval, and how much (n,) each; what it has claims to be that."""
        low, high = self.owners.epsilon_min, self.owners.epsilon_max
        grain = CERTIFIED_FINELY if len(self.game.owners) <= FEW else {}
        place, best = highest_point(self.surplus, low, high, (own, have), trifle, **grain)
        for jump in self.breakpoints().T:
            height = self.promises(jump[:, None])[:, 0]
            place, best = np.where(height > best, jump, place), np.maximum(height, best)
        return place, best

    def _highest_asked(
        self, own: np.ndarray, have: np.ndarray, place: np.ndarray, best: np.ndarray, trifle: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The same, with no gain where nothing is asked: what owners have, and place and height of what they could.

        Who is asked and can be promised no more, or has no gain to lose, needs no second search.
        """
        asked = self.asks(own[:, None])[:, 0]
        open_ = np.flatnonzero((best > have) | (~asked & (have > 0)))
        have = np.where(asked, have, np.minimum(have, 0.0))
        rows = self.able(open_)
        known = np.union1d(
            rows, open_[~asked[open_]]
        )  # of whoever is asked and is not able, what is promised is a bound
        best[known] = np.maximum(have[known], np.minimum(best[known], 0.0))
        if rows.size:
            narrow = self.take(rows).narrowed()
            at = np.maximum(own[rows], narrow.owners.epsilon_min)
            found, height = narrow._highest(at, narrow.promises(at[:, None])[:, 0], trifle[rows])
            place[rows] = np.where(height >= best[rows], found, place[rows])
            best[rows] = np.maximum(height, best[rows])
        return have, place, best

    def jumps_at_zero(self, own: np.ndarray) -> np.ndarray:
        """Whether an owner has no best response, and stands at ``own`` (n,) next to 0: less is better, nothing is worse."""
        nothing, less, here = self.payoffs(np.column_stack([np.zeros_like(own), own / 1000, own])).T
        next_to_nothing = (own > 0) & (own <= 2 * self.owners.epsilon_max * 10.0**-DECADES)
        return next_to_nothing & (self.owners.epsilon_min == 0) & (less >= here) & (here > nothing)

    def at_stake(self, epsilon: np.ndarray) -> np.ndarray:
        """Money that owners move by the last half of their epsilon (n,): payment, benefit and cost, each in full.

        Of the payoffs at epsilon and at half of it alone, so that neither what else an owner might choose, nor what is paid
        or lost whatever it chooses, is in it.
        """
        return self._money(epsilon)[2]

    def _money(self, epsilon: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Surplus at epsilon (n,); payment, cost and benefit there, each in full; and their changes from half of it.

        What is the difference of two fitnesses in money counts with the fitness, which is what is rounded.
        """
        at = np.stack([epsilon, epsilon / 2]).T
        paid, lost, gained = self.payments(at), self.costs(at), self.benefits(at)
        moved = sum(np.abs(part[:, 0] - part[:, 1]) for part in (paid, lost, gained))
        money = (np.abs(paid) + np.abs(lost) + gained)[:, 0]
        paid_by_fitness = self.game.value * self.policy.pays_for_fitness
        if paid_by_fitness or self.owners.benefit.any():
            fitness = self.fitness(at[:, :1])[:, 0]
            used = np.minimum(fitness, self.owners.isolated)  # a worse model is not used: it is rounded to no gain
            money = money + paid_by_fitness * fitness + self.owners.benefit * used
        return (paid - lost + gained)[:, 0], money, np.asarray(moved)

    def breakpoints(self) -> np.ndarray:
        """Where payments may jump, inside each owner's interval (n, j): candidates that no search between can miss."""
        low, high = self.owners.epsilon_min[:, None], self.owners.epsilon_max[:, None]
        if self.game.additive:
            return np.clip(self.policy.breakpoints(self.owners), low, high)
        return np.clip(
            self.policy.breakpoints(self.game.owners)[self.index], low, high
        )  # a policy with everybody's columns
