"""The game of the owners: payoffs, unilateral deviations, best responses, regret."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from market.columns import Array, Pair, check_lengths, check_methods, check_shape, transpose_rows
from market.game.deviations import Deviations, Found, in_threads
from market.game.forecast import ForecastView, NoForecast
from market.game.grids import in_blocks
from market.game.owners import Owners
from market.game.search import smallest_maximiser

# Largest relative regret of an equilibrium: an error of a part in 10^4 of an epsilon.
CERTIFIED = 1e-8
# The attributes that a policy must have.
POLICY = (
    "additive",
    "terms",
    "pays_for_fitness",
    "payments",
    "marginal_payments",
    "payment_jumps",
    "grain",
    "paid_unasked",
)
# Owners of a large market that a thread searches at a time; powers of two crowd the cache.
BLOCK_OWNERS = 16_400


def sums_over_others(terms: Array) -> Array:
    """Sum over all other owners: (n_owners, k) -> (n_owners, k), without cancellation.

    Each sum is added up from both ends.

    >>> sums_over_others(np.array([[1e20], [1.0], [2.0]])).ravel().tolist()
    [3.0, 1e+20, 1e+20]
    """
    result = np.zeros_like(terms)
    result[1:] += np.cumsum(terms[:-1], axis=0)
    result[:-1] += np.cumsum(terms[:0:-1], axis=0)[::-1]
    return result


@dataclass(frozen=True, eq=False)
class Game:
    """Owners who each choose epsilon to maximise surplus = payment + benefit - privacy cost.

    Parameters
    ----------
    owners : Owners
    policy : Policy, an object of POLICIES, or of another class under `market.policies.base.Policy`
    forecast : Forecast, or None where no payoff depends on the model
    value : float, money per unit of relative fitness, the learner's
    unconditional : bool, whether payments, benefits and costs count although the forecast says
        that the learner buys nothing

    Raises
    ------
    ValueError
        ``value`` is negative or not finite.
    InputError
        A policy's column does not have one number per owner; or, at the first evaluation, a
        policy or cost lacks a method or gives arrays of another shape.

    Source: Wu, MRes thesis, section 4, Def. 2; aggregative games after Cornes and Hartley.
    """

    owners: Owners
    policy: Any
    forecast: Any
    value: float
    unconditional: bool = False
    # What was computed last, with the profile that it was computed at.
    _last: dict[str, tuple[Array, Any]] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.forecast is None:
            object.__setattr__(self, "forecast", NoForecast())
        if not (np.isfinite(self.value) and self.value >= 0):
            raise ValueError(f"value must be finite and not negative; found {self.value}")
        # A game without a policy waits for one, as in `market.analysis.policy_search`.
        if self.policy is not None:
            check_methods(self.policy, POLICY, "Make it a subclass of market.policies.Policy.")
        check_methods(self.forecast, ("outside", "terms", "excess"), "A forecast needs them all.")
        check_lengths(self.policy, len(self.owners), "policy")

    @cached_property
    def additive(self) -> bool:
        """True if owners meet in sums only; otherwise payments come from whole profiles."""
        return bool(self.policy.additive)

    @cached_property
    def forecast_view(self) -> ForecastView:
        """The forecast for all owners."""
        return ForecastView(self.forecast, len(self.owners))

    @cached_property
    def n_forecast_terms(self) -> int:
        """Number of sums of the forecast."""
        return self.forecast.terms(self.owners.epsilon_max).shape[-1]

    @cached_property
    def everyone(self) -> Array:
        """Numbers of all owners (n_owners,)."""
        return np.arange(len(self.owners))

    @cached_property
    def _whole_blocks(self) -> list[Deviations]:
        """Blocks of all owners, without profile and sums."""
        whole = self.deviations_against(np.empty(0), np.empty((len(self.owners), 1, 0)))
        return [whole.take(rows) for rows in self.split_rows(self.everyone)]

    @cached_property
    def own_choices(self) -> Array | None:
        """Best responses (n_owners,) to promises that depend on an owner's epsilon alone.

        None where others' budgets change what an owner is promised.
        """
        if not self.policy.own_choice or self.owners.benefit.any():
            return None
        found = in_threads(Deviations.surplus_peaks, self._whole_blocks)
        return np.concatenate([smallest_maximiser(*peaks) for peaks in found])

    def split_rows(self, rows: Array) -> list[Array]:
        """Split numbers of owners (n,) into blocks, where their rows are independent."""
        end = len(rows) if self.additive and self.forecast_view.is_divisible else 0
        return np.split(rows, np.arange(BLOCK_OWNERS, end, BLOCK_OWNERS))

    def deviation_blocks(
        self, profile: Array, others: Array, chosen: Array | None = None
    ) -> list[Deviations]:
        """Deviations in blocks, of all owners or of those ``chosen`` (n_owners,), in order."""
        if chosen is not None and not chosen.all():
            whole = self.deviations_against(profile, others)
            return [
                whole.take(rows) for rows in self.split_rows(np.flatnonzero(chosen)) if rows.size
            ]
        made = []
        for block in self._whole_blocks:
            part = others[block.index[0] : block.index[-1] + 1]
            made.append(replace(block, profile=profile, others=part, part=block.forecast_view))
        return made

    def terms(self, epsilon: Array) -> Array:
        """Terms of all sums at a profile: (n_owners,) -> (n_owners, k + j)."""
        return self.deviations_against(epsilon, np.empty(0)).terms(epsilon)

    def deviations(self, epsilon: Array, owners: Array | None = None) -> Deviations:
        """Unilateral deviations from a profile (n_owners,), of all owners or of some (n,)."""
        profile = self._check_profile(epsilon)
        moves = self.deviations_against(profile, self.others(profile))
        return moves if owners is None else moves.take(np.atleast_1d(np.asarray(owners, dtype=int)))

    def deviations_against(self, profile: Array, others: Array) -> Deviations:
        """Unilateral deviations of all owners, given the others' sums (n_owners, 1, k + j)."""
        return Deviations(self, self.everyone, self.owners, self.policy, profile, others)

    def others(self, profile: Array) -> Array:
        """Sums over everybody else at a profile: (n_owners,) -> (n_owners, 1, k + j)."""

        def make_sums() -> Array:
            return sums_over_others(self.terms(profile))[:, None, :]

        return self._keep_last("others", profile, make_sums)

    def _keep_last(self, name: str, profile: Array, make: Callable[[], Found]) -> Found:
        """Keep the result of ``make`` until it is needed at another profile (n_owners,)."""
        last = self._last.get(name)
        if last is None or not np.array_equal(last[0], profile):
            last = self._last[name] = (profile.copy(), make())
        return last[1]

    def fitness(self, epsilon: Array) -> float:
        """Relative fitness of the model trained at a profile (n_owners,)."""
        return float(self.forecast.excess(self._forecast_sums(epsilon)))

    def _forecast_sums(self, epsilon: Array) -> Array:
        """Sums of the forecast at a profile (n_owners,): (k,)."""
        profile = self._check_profile(epsilon)

        def make_sums() -> Array:
            return transpose_rows(self.forecast.terms(profile)).sum(axis=1)

        return self._keep_last("sums", profile, make_sums)

    @cached_property
    def may_decline(self) -> bool:
        """True if the learner may buy nothing, so that nothing is charged."""
        return hasattr(self.forecast, "asks") and not self.unconditional

    def asks(self, epsilon: Array) -> bool:
        """True if the learner buys at a profile (n_owners,)."""
        return not self.may_decline or bool(self.forecast.asks(self._forecast_sums(epsilon)))

    def promised(self, epsilon: Array) -> Array:
        """Money that each owner is promised for answers at a profile (n_owners,)."""
        profile = self._check_profile(epsilon)
        if not self.additive:
            return np.asarray(self.policy.settle(profile, self), dtype=float)

        def pay_block(deviations: Deviations) -> Array:
            return deviations.payments(profile[deviations.index, None])[:, 0]

        return np.concatenate(
            in_threads(pay_block, self.deviation_blocks(profile, self.others(profile)))
        )

    def payments(self, epsilon: Array) -> Array:
        """Money that each owner is paid at a profile (n_owners,)."""
        due = self.policy.paid_unasked or self.asks(epsilon)
        return self.promised(epsilon) if due else np.zeros(len(self.owners))

    def benefits(self, epsilon: Array) -> Array:
        """Value of the model to each owner at a profile (n_owners,)."""
        if not self.owners.benefit.any():
            return np.zeros(len(self.owners))
        profile = self._check_profile(epsilon)
        return self._if_asked(self.deviations(profile).benefits(profile[:, None])[:, 0], profile)

    def costs(self, epsilon: Array) -> Array:
        """Cost of sharing to each owner at a profile (n_owners,), fixed costs included."""
        profile = self._check_profile(epsilon)
        return self._if_asked(self.owners.costs(profile), profile)

    def taxes(self, epsilon: Array) -> Array:
        """Tax in each owner's cost at a profile (n_owners,), money."""
        profile = self._check_profile(epsilon)
        return self._if_asked(self.owners.cost.tax(profile, self.owners.sizes), profile)

    def _if_asked(self, money: Array, epsilon: Array) -> Array:
        return money if self.asks(epsilon) else np.zeros_like(money)

    def payoffs(self, epsilon: Array) -> Array:
        """Surplus of each owner at a profile (n_owners,)."""
        return self.payments_and_payoffs(epsilon)[1]

    def payments_and_payoffs(self, epsilon: Array) -> Pair:
        """`payments` and `payoffs` at a profile (n_owners,), the payments computed once."""
        paid = self.payments(epsilon)
        return paid, paid + self.benefits(epsilon) - self.costs(epsilon)

    def weighed_payoffs(self, epsilon: Array) -> Array:
        """Surplus as each owner weighs it (n_owners,): `Deviations.payoffs` at a profile."""
        profile = self._check_profile(epsilon)
        used = self.deviations(profile).benefits(profile[:, None])[:, 0]
        surplus = self.promised(profile) + used - self.owners.costs(profile)
        if self.policy.paid_unasked or self.asks(profile):
            return surplus
        return np.minimum(surplus, 0.0)

    @property
    def meets_in_sums(self) -> bool:
        """True if an owner's moves depend on sums over the others alone."""
        return self.additive and bool(self.policy.by_sums) and self.forecast_view.is_divisible

    def deviations_at(self, profiles: Array) -> Deviations:
        """Deviations from many profiles (m, n_owners), the owners' candidates (n_owners, m)."""
        whole = self.deviations_against(profiles[0], np.empty((len(self.owners), 1, 0)))
        return replace(whole, others=sums_over_others(whole.terms(profiles.T)))

    def payoffs_at(self, profiles: Array) -> Array:
        """`weighed_payoffs` at many profiles: (m, n_owners) -> (m, n_owners)."""
        if self.meets_in_sums:
            return self.deviations_at(profiles).payoffs(profiles.T).T
        return np.array([self.weighed_payoffs(profile) for profile in profiles])

    def slopes_at(self, profiles: Array) -> Array:
        """Slope of each owner's promises by its own epsilon > 0, (m, n_owners) as `payoffs_at`."""
        if self.meets_in_sums:
            return self.deviations_at(profiles).marginal_surplus(profiles.T).T
        moves = ((self.deviations(profile), profile[:, None]) for profile in profiles)
        return np.array([deviations.marginal_surplus(own)[:, 0] for deviations, own in moves])

    def deviation_payoffs(
        self, epsilon: Array, candidates: Array, owners: Array | None = None
    ) -> Array:
        """Surplus (n, m) of each owner that alone moves from a profile to candidates (n, m)."""
        moves = self.deviations(epsilon, owners)
        return in_blocks(moves.payoffs, np.asarray(candidates, dtype=float))

    def best_responses(self, epsilon: Array, owners: Array | None = None) -> Array:
        """Best response of each owner (n,) on its interval, the others' budgets fixed.

        The search is global: a grid of equal ratios with both ends and 0, its best cells refined
        to a root of the slope. Ties go to the smaller epsilon.
        """
        if owners is not None:
            return self.deviations(epsilon, owners).best_responses()
        profile = self._check_profile(epsilon)
        blocks = self.deviation_blocks(profile, self.others(profile))
        return np.concatenate(in_threads(Deviations.best_responses, blocks))

    def best_responses_at(self, profiles: Array) -> Array:
        """Best response of each owner to many profiles: (m, n_owners) -> (m, n_owners)."""
        if not self.additive:
            return np.array([self.best_responses(profile) for profile in profiles])
        found = [self.owner_responses(owner, profiles) for owner in self.everyone]
        return np.column_stack(found)

    def owner_responses(self, owner: int, profiles: Array) -> Array:
        """Best responses (m,) of one owner to many profiles (m, n_owners).

        They are found in one search where an owner's moves depend on sums over the others alone.
        """
        if not self.meets_in_sums:
            one = np.array([owner])
            return np.array([self.best_responses(profile, one)[0] for profile in profiles])
        whole = self.deviations_against(profiles[0], np.empty((len(self.owners), 1, 0)))
        others = np.delete(whole.terms(profiles.T), owner, axis=0).sum(axis=0)
        rows = whole.take(np.full(len(profiles), owner))
        return replace(rows, others=others[:, None, :]).best_responses()

    def certificate(self, epsilon: Array) -> Pair:
        """Regret and its scale, (n_owners,) each, by a search independent of `best_responses`.

        Regret is the largest gain of a unilateral deviation, and 0 where rounding could produce
        it. Its scale is the regret and the money that the owner moves by the last half of its
        best response (`Deviations.at_stake`). Regret is a part of it between 0 and 1, independent
        of the unit of money, of the width of the interval, and of lump sums.
        """
        profile = self._check_profile(epsilon)
        return self._keep_last("certificate", profile, lambda: self._certify_blocks(profile))

    def _certify_blocks(self, profile: Array) -> Pair:
        def certify_block(deviations: Deviations) -> Pair:
            return deviations.certificate(profile[deviations.index])

        found = in_threads(certify_block, self.deviation_blocks(profile, self.others(profile)))
        regret, scale = (np.concatenate(part) for part in zip(*found, strict=True))
        return regret, scale

    def regret(self, epsilon: Array, owners: Array | None = None) -> Array:
        """Largest gain of a unilateral deviation (n,), money, of all owners or of some (n,)."""
        if owners is None or np.array_equal(owners, self.everyone):
            return self.certificate(epsilon)[0]
        own = self._check_profile(epsilon)[owners]
        return np.asarray(self.deviations(epsilon, owners).certificate(own)[0])

    def _check_profile(self, epsilon: Array) -> Array:
        profile = np.asarray(epsilon, dtype=float)
        shape = (len(self.owners),)
        if profile.shape != shape:
            raise ValueError(f"epsilon must have shape {shape}; found {profile.shape}")
        if self.policy is not None and "tried" not in self._last:
            # Set before the trial, in which a policy may evaluate this game.
            self._last["tried"] = profile, True
            try:
                self._try_out()
            except Exception:
                del self._last["tried"]
                raise
        return profile

    def _try_out(self) -> None:
        """Refuse a cost or a policy that gives arrays of another shape."""
        policy = self.policy
        owners = self.owners
        low = owners.epsilon_min
        high = np.where(owners.epsilon_max > 0, owners.epsilon_max, 1.0)
        if self.additive:
            check_shape(policy.terms(low, owners), (len(owners), None), policy, "terms")
        else:
            check_shape(policy.settle(low, self), (len(owners),), policy, "settle")
        one = self.deviations(low, np.zeros(1))
        at = np.full((1, 3), high[0])
        for method in (one.policy.payments, one.policy.marginal_payments):
            check_shape(method(at, one), at.shape, policy, method.__name__)
        for method in (owners.cost.value, owners.cost.marginal_cost):
            check_shape(method(high, owners.sizes), high.shape, owners.cost, method.__name__)


def relative_regret(regret: Array, scale: Array) -> Array:
    """Regret as a part of its scale (n_owners,), as `Game.certificate` gives both."""
    ratio = np.divide(regret, scale, out=np.full_like(regret, np.inf), where=scale > 0)
    return np.where(regret > 0, ratio, 0.0)
