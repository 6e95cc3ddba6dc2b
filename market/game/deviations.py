"""Unilateral deviations: payoffs, best responses and regret of owners, everyone else fixed."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from market.columns import Array, Pair, take_owners, transpose_rows, with_fields
from market.game.certificate import highest_point
from market.game.forecast import ForecastView
from market.game.grids import DECADES, Rows
from market.game.owners import Owners
from market.game.search import (
    EXACT,
    ROUNDING,
    TRIFLE,
    climb_to_maxima,
    local_maxima,
    smallest_maximiser,
)

# Bisections, in logarithms, for the least epsilon at which a learner buys.
HALVINGS = 44
# Budgets, of all owners together, at which the learner is asked at a time.
AT_ONCE = 1024
# Relative step above that least epsilon, so that rounding does not end the purchase.
BEYOND = 1e-10
# Fewer blocks are finished before threads have started.
MANY_BLOCKS = 4
# Up to this many owners are searched more finely, at hardly any cost.
FEW = 3
FINE = {"points": 144, "peaks": 4, "zoom": 48}
CERTIFIED_FINELY = {"points": 120, "peaks": 6, "zoom": 40}
Block = TypeVar("Block")
Found = TypeVar("Found")


def in_threads(action: Callable[[Block], Found], blocks: Sequence[Block]) -> list[Found]:
    """Apply ``action`` to every block of owners, in order; many blocks in several threads."""
    if len(blocks) < MANY_BLOCKS:
        return [action(block) for block in blocks]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(action, blocks))


@dataclass(frozen=True)
class Deviations:
    """The unilateral deviations of some owners, everyone else fixed.

    Parameters
    ----------
    game : market.game.game.Game
    index : (n,), the numbers of the owners who consider moving
    owners : Owners, the columns of these owners
    policy : the policy, with the columns of these owners where it is additive
    profile : (n_owners,), everybody's epsilon
    others : (n, 1, k + j), the sums over everybody else: k of the forecast, then j of the policy
    part : ForecastView, the forecast for these owners; made when needed if None
    """

    game: Any
    index: Array
    owners: Owners
    policy: Any
    profile: Array
    others: Array
    part: ForecastView | None = None

    @property
    def others_forecast(self) -> Array:
        """Sums of the forecast over everybody else (n, 1, k)."""
        return self.others[..., : self.game.n_forecast_terms]

    @property
    def others_policy(self) -> Array:
        """Sums of the policy over everybody else (n, 1, j)."""
        return self.others[..., self.game.n_forecast_terms :]

    @cached_property
    def kept(self) -> dict[Any, Any]:
        """Cache of what a policy computes once of these deviations, by what it depends on."""
        return {}

    @cached_property
    def forecast_view(self) -> ForecastView:
        """The forecast for these owners."""
        whole: ForecastView = self.game.forecast_view
        if self.part is not None:
            return self.part
        return whole if self.index is self.game.everyone else whole.part(self.index)

    def take(self, rows: Array) -> Deviations:
        """Restrict to some of these owners, those in the given rows (k,)."""
        if np.array_equal(rows, np.arange(len(self.index))):
            return self
        return replace(
            self,
            index=self.index[rows],
            owners=self.owners.take(rows),
            policy=take_owners(self.policy, rows) if self.game.additive else self.policy,
            others=self.others[rows],
            part=None,
        )

    def terms(self, epsilon: Array) -> Array:
        """Terms of each owner in all sums: (n, ...) -> (n, ..., k + j)."""
        parts = [self.forecast_view.terms(epsilon), self.policy.terms(epsilon, self.owners)]
        return np.concatenate(parts, axis=-1)

    def fitness(self, epsilon: Array) -> Array:
        """Relative fitness (n, m) when each owner alone moves to its candidates (n, m)."""
        return self.game.forecast.excess(self.forecast_view.beside(epsilon, self.others_forecast))

    @cached_property
    def fitness_without(self) -> Array:
        """Relative fitness (n, 1) of the model when each owner alone shares nothing."""
        return self.fitness(np.zeros((len(self.index), 1)))

    def fitness_slope(self, epsilon: Array) -> Array:
        """Derivative of `fitness` by the owner's own epsilon, at candidates above 0 (n, m)."""
        return self.forecast_view.slopes(epsilon, self.others_forecast)

    def asks(self, epsilon: Array) -> Array:
        """True if the learner buys when each owner alone moves to its candidates (n, m)."""
        if not self.game.may_decline:
            return np.ones(epsilon.shape, dtype=bool)
        return self.game.forecast.asks(self.forecast_view.beside(epsilon, self.others_forecast))

    def payments(self, epsilon: Array) -> Array:
        """Money that each owner is promised for answers at its candidates (n, m)."""
        return self.policy.payments(epsilon, self)

    def benefits(self, epsilon: Array) -> Array:
        """Value of the model to each owner at its candidates (n, m)."""
        if not self.owners.benefit.any():
            return np.zeros_like(epsilon)
        gain = self.owners.model_gains(self.owners.isolated[:, None], self.fitness(epsilon))
        worth = self.owners.benefit[:, None] * gain
        return worth if self.owners.model_for_all else np.where(epsilon > 0, worth, 0.0)

    def costs(self, epsilon: Array) -> Array:
        """Cost of sharing to each owner at its candidates (n, m), fixed costs included."""
        return self.owners.costs(epsilon)

    def promises(self, epsilon: Array) -> Array:
        """Surplus if the learner buys (n, m): payment + benefit - privacy cost."""
        payoff = self.payments(epsilon) - self.costs(epsilon)
        return payoff + self.benefits(epsilon) if self.owners.benefit.any() else payoff

    def payoffs(self, epsilon: Array) -> Array:
        """Surplus as each owner weighs it (n, m): `promises`, with no gain without a purchase.

        A policy with ``paid_unasked`` pays in any case. An owner does not count on avoiding a
        loss because its own noise would end the purchase: a learner would rather leave it out.
        """
        promised = self.promises(epsilon)
        if self.is_certain:
            return promised
        return np.where(self.asks(epsilon), promised, np.minimum(promised, 0.0))

    @property
    def is_certain(self) -> bool:
        """True if all promises are paid."""
        return not self.game.may_decline or self.policy.paid_unasked

    def marginal_surplus(self, epsilon: Array) -> Array:
        """Derivative of the surplus by an owner's own epsilon, at candidates above 0 (n, m)."""
        owners = self.owners
        cost = owners.cost.marginal_cost(epsilon, owners.sizes)
        slope = self.policy.marginal_payments(epsilon, self) - cost
        if owners.benefit.any():
            gains = owners.model_gain_slopes(owners.isolated[:, None], self.fitness(epsilon))
            slope = slope + owners.benefit[:, None] * gains * self.fitness_slope(epsilon)
        return slope

    def best_responses(self) -> Array:
        """Best response of each owner on its whole interval (n,); ties go to the smaller."""
        known = self.game.own_choices if type(self) is Deviations else None
        if known is not None:
            return self.where_asked(known[self.index])
        return self.where_asked(smallest_maximiser(*self.surplus_peaks()))

    def where_asked(self, response: Array) -> Array:
        """Correct best responses to the promises (n,) where none is paid without a purchase.

        An owner that cannot gain by a purchase responds as if the learner bought: that is best
        should it buy after all.
        """
        if self.is_certain:
            return response
        here = response[:, None]
        asked = self.asks(here)[:, 0]
        if asked.all():
            return response
        open_ = np.flatnonzero(~asked & (self.promises(here)[:, 0] > 0))
        found = response.copy()
        gain = np.zeros(len(response))
        rows = self._able_rows(open_)
        if rows.size:
            moves = self.take(rows)._narrow_to_asked()
            places = moves.surplus_peaks()[0]
            heights = moves.payoffs(places)
            gain[rows] = transpose_rows(heights).max(axis=0)
            best = smallest_maximiser(places, heights)
            found[rows] = np.where(gain[rows] > 0, best, response[rows])
        leaves = self._payoffs_outside() > np.maximum(gain, 0.0)
        found[open_] = np.where(leaves[open_], 0.0, found[open_])
        return found

    def _payoffs_outside(self) -> Array:
        """Surplus as each owner weighs it (n,) if it shares nothing; -inf if it must share."""
        outside = self.payoffs(np.zeros((len(self.index), 1)))[:, 0]
        return np.where(self.owners.epsilon_min == 0, outside, -np.inf)

    def _able_rows(self, rows: Array) -> Array:
        """Rows (k,) whose owners can make the learner buy, by sharing all they may."""
        if not rows.size:
            return rows
        return rows[self.take(rows).asks(self.owners.epsilon_max[rows, None])[:, 0]]

    def _narrow_to_asked(self) -> Deviations:
        """Cut the intervals of able owners to the budgets at which the learner buys.

        More of a sharer's budget does not end the purchase, so there is a least such budget
        above 0.
        """
        high = self.owners.epsilon_max
        low = np.maximum(self.owners.epsilon_min, high * 10.0**-DECADES)
        # Few owners are cheaper to ask at many budgets at once than many times.
        parts = max(2, AT_ONCE // len(high))
        inside = np.linspace(0, 1, parts + 1)[1:-1]
        rows = np.arange(len(high))
        below = low
        least = high
        for _ in range(int(np.ceil(HALVINGS / np.log2(parts)))):
            places = below[:, None] * (least / below)[:, None] ** inside
            ends = np.column_stack([below, places, least])
            first = np.sum(~self.asks(places), axis=1)
            below = ends[rows, first]
            least = ends[rows, first + 1]
        least = np.where(self.asks(low[:, None])[:, 0], low, np.minimum(least * (1 + BEYOND), high))
        return replace(self, owners=with_fields(self.owners, epsilon_min=least))

    def surplus_peaks(self, exact: float = EXACT) -> Pair:
        """Highest local maxima of each owner's surplus: places and heights (n, c)."""
        grain = FINE if len(self.game.owners) <= FEW else self.policy.grain
        found = local_maxima(self._surplus_and_slope, *self.owners.interval, exact=exact, **grain)
        return self._with_jumps(*found)

    def surplus_peaks_from(self, places: Array) -> Pair:
        """Climb from earlier local maxima (n, c): places and heights, with both ends (n, c + 2)."""
        found = climb_to_maxima(self._surplus_and_slope, *self.owners.interval, places)
        return self._with_jumps(*found)

    def _with_jumps(self, places: Array, heights: Array) -> Pair:
        jumps = self.payment_jumps()
        if not jumps.size:
            return places, heights
        return np.hstack([places, jumps]), np.hstack([heights, self.promises(jumps)])

    def _surplus_and_slope(self, rows: Array) -> tuple[Rows, Rows]:
        """`promises` and their derivative for the owners in some rows (k,), for a search."""
        deviations = self.take(rows)
        return deviations.promises, deviations.marginal_surplus

    def certificate(self, own: Array) -> Pair:
        """Regret of standing at ``own`` (n,) and its scale, (n,) each, as `Game.certificate`."""
        have, money, moved = self._surplus_and_money(own)
        trifle = TRIFLE * moved + ROUNDING * money
        place, best = self._highest_promise(own, have, trifle)
        if not self.is_certain:
            best = np.where(best - have > ROUNDING * money, best, have)
            have, place, best = self._highest_if_asked(own, have, (place, best), trifle)
        gain = np.where(best - have > ROUNDING * money, best - have, 0.0)
        better = np.flatnonzero(gain)
        if better.size:
            there = self.take(better)._surplus_and_money(place[better])
            moved[better] = there[2]
            gain[better] *= gain[better] > ROUNDING * (money[better] + there[1])
        return gain, gain + moved

    def _highest_promise(self, own: Array, have: Array, trifle: Array) -> Pair:
        """Place and height of the largest promise to each owner, (n,) each."""
        low, high = self.owners.interval
        grain = CERTIFIED_FINELY if len(self.game.owners) <= FEW else {}
        place, best = highest_point(
            self._surplus_and_slope, low, high, (own, have), trifle, **grain
        )
        for jump in self.payment_jumps().T:
            height = self.promises(jump[:, None])[:, 0]
            place = np.where(height > best, jump, place)
            best = np.maximum(height, best)
        return place, best

    def _highest_if_asked(
        self, own: Array, have: Array, top: Pair, trifle: Array
    ) -> tuple[Array, Array, Array]:
        """Payoffs had, and place and height of the best payoff, with no gain without a purchase.

        An owner that is asked and can be promised no more, or has no gain to lose, needs no
        second search.
        """
        place, best = top
        asked = self.asks(own[:, None])[:, 0]
        open_ = np.flatnonzero((best > have) | (~asked & (have > 0)))
        have = np.where(asked, have, np.minimum(have, 0.0))
        rows = self._able_rows(open_)
        # For an owner that is asked and not able, the promise is a bound.
        known = np.union1d(rows, open_[~asked[open_]])
        best[known] = np.maximum(have[known], np.minimum(best[known], 0.0))
        if rows.size:
            narrow = self.take(rows)._narrow_to_asked()
            at = np.maximum(own[rows], narrow.owners.epsilon_min)
            promised = narrow.promises(at[:, None])[:, 0]
            found, height = narrow._highest_promise(at, promised, trifle[rows])
            place[rows] = np.where(height >= best[rows], found, place[rows])
            best[rows] = np.maximum(height, best[rows])
        outside = self._payoffs_outside()
        return have, np.where(outside > best, 0.0, place), np.maximum(outside, best)

    def jumps_at_zero(self, own: Array) -> Array:
        """True if ``own`` (n,) is next to a jump at 0: less is better, nothing is worse."""
        nothing, less, here = self.payoffs(np.column_stack([np.zeros_like(own), own / 1000, own])).T
        next_to_nothing = (own > 0) & (own <= 2 * self.owners.epsilon_max * 10.0**-DECADES)
        return next_to_nothing & (self.owners.epsilon_min == 0) & (less >= here) & (here > nothing)

    def at_stake(self, epsilon: Array) -> Array:
        """Money that owners move by the last half of their epsilon (n,), in full.

        Only the payoffs at epsilon and at half of it count, so neither the owner's other choices
        nor fixed payments and losses enter.
        """
        return self._surplus_and_money(epsilon)[2]

    def _surplus_and_money(self, epsilon: Array) -> tuple[Array, Array, Array]:
        """Surplus at epsilon (n,); payment, cost and benefit in full; their change from half of it.

        A difference of two fitnesses in money counts with the fitness, which is what is rounded.
        """
        at = np.stack([epsilon, epsilon / 2]).T
        paid = self.payments(at)
        lost = self.costs(at)
        gained = self.benefits(at)
        moved = sum(np.abs(part[:, 0] - part[:, 1]) for part in (paid, lost, gained))
        money = (np.abs(paid) + np.abs(lost) + gained)[:, 0]
        paid_by_fitness = self.game.value * self.policy.pays_for_fitness
        if paid_by_fitness or self.owners.benefit.any():
            fitness = self.fitness(at[:, :1])[:, 0]
            # A model worse than the isolated one is not used, and its gain is exactly 0.
            used = np.minimum(fitness, self.owners.isolated)
            money = money + paid_by_fitness * fitness + self.owners.benefit * used
        return (paid - lost + gained)[:, 0], money, np.asarray(moved)

    def payment_jumps(self) -> Array:
        """Epsilons where payments may jump, inside each owner's interval (n, j)."""
        low = self.owners.epsilon_min[:, None]
        high = self.owners.epsilon_max[:, None]
        if self.game.additive:
            return np.clip(self.policy.payment_jumps(self.owners), low, high)
        # Such a policy has everybody's columns.
        return np.clip(self.policy.payment_jumps(self.game.owners)[self.index], low, high)
