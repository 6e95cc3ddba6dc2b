"""The game the owners play: payoffs, unilateral moves, best responses, regret."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from market.columns import check_lengths, check_methods, check_shape, upright
from market.game.deviations import Deviations, Found, in_threads
from market.game.forecast import ForecastView, NoForecast
from market.game.owners import Owners
from market.game.search import in_blocks

CERTIFIED = 1e-8  # largest relative regret of an equilibrium: an epsilon that is off by about a part in 10^4
# what a game asks of its policy
POLICY = ("additive", "terms", "pays_for_fitness", "payments", "slopes", "breakpoints", "grain", "paid_unasked")
BLOCK_OWNERS = 8200  # large markets are searched so many owners at a time, in threads; powers of two crowd the cache


def sums_over_others(terms: np.ndarray, after: np.ndarray | None = None) -> np.ndarray:
    """Sum over all other owners: (n_owners, k) -> (n_owners, k), from both ends, so that nothing cancels.

    ``after`` is what owners add to the sums of those before them, where that is something else.

    >>> sums_over_others(np.array([[1e20], [1.0], [2.0]])).ravel().tolist()
    [3.0, 1e+20, 1e+20]
    """
    result = np.zeros_like(terms)
    result[1:] += np.cumsum(terms[:-1], axis=0)
    result[:-1] += np.cumsum((terms if after is None else after)[:0:-1], axis=0)[::-1]
    return result


@dataclass(frozen=True)
class Game:
    """Owners who each choose epsilon to maximise surplus = payment + benefit - privacy cost.

    Parameters
    ----------
    owners : Owners
    policy : Policy, an object of POLICIES, or of another class under `market.policies.base.Policy`
    forecast : Forecast, or None where no payoff depends on the model
    value : float, money the learner gets per unit of relative fitness
    unconditional : bool
        Whether payments, benefits and costs are counted even where the forecast says that the learner asks nothing.

    Raises
    ------
    ValueError
        ``value`` is negative or not finite.
    InputError
        A policy's column does not have one number per owner; or, when first looked at, a policy or cost that lacks
        something or gives arrays of another shape than it must.

    Source: Wu, MRes thesis, section 4, Def. 2; aggregative games after Cornes and Hartley.
    """

    owners: Owners
    policy: Any
    forecast: Any
    value: float
    unconditional: bool = False

    def __post_init__(self) -> None:
        if self.forecast is None:
            object.__setattr__(self, "forecast", NoForecast())
        if not (np.isfinite(self.value) and self.value >= 0):
            raise ValueError(f"value must be finite and not negative; found {self.value}")
        if self.policy is not None:  # to be chosen, as in `market.analysis.design`
            check_methods(self.policy, POLICY, "Make it a subclass of market.policies.Policy.")
        check_methods(self.forecast, ("outside", "terms", "excess"), "A forecast needs them all.")
        check_lengths(self.policy, len(self.owners), "policy")

    @cached_property
    def additive(self) -> bool:
        """Whether owners meet each other in sums only; otherwise payments come from whole profiles."""
        return bool(self.policy.additive)

    @cached_property
    def view(self) -> ForecastView:
        """The forecast as everybody sees it."""
        return ForecastView(self.forecast, len(self.owners))

    @cached_property
    def n_forecast_terms(self) -> int:
        """How many sums the forecast needs."""
        return self.forecast.terms(self.owners.epsilon_max).shape[-1]

    @cached_property
    def everyone(self) -> np.ndarray:
        """The numbers of all owners (n_owners,)."""
        return np.arange(len(self.owners))

    @cached_property
    def _blocks(self) -> list[Deviations]:
        """All owners a few thousand at a time, where nothing needs them all at once; profile and sums to be filled in."""
        whole = self.deviations_against(np.empty(0), np.empty((len(self.owners), 1, 0)))
        return [whole.take(rows) for rows in self.cut(self.everyone)]

    def cut(self, rows: np.ndarray) -> list[np.ndarray]:
        """The numbers of owners (n,) a few thousand at a time, or all together where their rows cannot be told apart."""
        divisible = self.additive and self.view.divides
        return np.split(rows, np.arange(BLOCK_OWNERS, len(rows) if divisible else 0, BLOCK_OWNERS))

    def blocks(self, profile: np.ndarray, others: np.ndarray, chosen: np.ndarray | None = None) -> list[Deviations]:
        """`deviations_against` in blocks, of all owners or of those where ``chosen`` (n_owners,) is True, in order."""
        if chosen is not None and not chosen.all():
            whole = self.deviations_against(profile, others)
            return [whole.take(rows) for rows in self.cut(np.flatnonzero(chosen)) if rows.size]
        made = []
        for block in self._blocks:
            part = others[block.index[0] : block.index[-1] + 1]
            made.append(replace(block, profile=profile, others=part))
            made[-1].__dict__["rows"] = block.rows
        return made

    def terms(self, epsilon: np.ndarray) -> np.ndarray:
        """All sums' terms of a profile: (n_owners,) -> (n_owners, k + j)."""
        return self.deviations_against(epsilon, np.empty(0)).terms(epsilon)

    def deviations(self, epsilon: np.ndarray, owners: np.ndarray | None = None) -> Deviations:
        """The unilateral moves from a profile (n_owners,), of all owners or those numbered in ``owners`` (n,)."""
        profile = self._profile(epsilon)
        moves = self.deviations_against(profile, self.others(profile))
        return moves if owners is None else moves.take(np.atleast_1d(np.asarray(owners, dtype=int)))

    def others(self, profile: np.ndarray) -> np.ndarray:
        """The sums over everybody else at a profile: (n_owners,) -> (n_owners, 1, k + j)."""
        return self._kept("others", profile, lambda: sums_over_others(self.terms(profile))[:, None, :])

    def _kept(self, name: str, profile: np.ndarray, make: Callable[[], Found]) -> Found:
        """What is made of a profile (n_owners,), kept until it is asked for at another one."""
        last = self.__dict__.get(f"_last_{name}")
        if last is None or not np.array_equal(last[0], profile):
            last = self.__dict__[f"_last_{name}"] = (profile.copy(), make())
        return last[1]

    def deviations_against(self, profile: np.ndarray, others: np.ndarray) -> Deviations:
        """As `deviations`, with the sums over everybody else given (n_owners, 1, k + j)."""
        return Deviations(self, self.everyone, self.owners, self.policy, profile, others)

    def fitness(self, epsilon: np.ndarray) -> float:
        """Relative fitness of the model trained at a profile (n_owners,)."""
        return float(self.forecast.excess(self._sums(epsilon)))

    def _sums(self, epsilon: np.ndarray) -> np.ndarray:
        """The forecast's sums at a profile (n_owners,): (k,)."""
        profile = self._profile(epsilon)
        return self._kept("sums", profile, lambda: upright(self.forecast.terms(profile)).sum(axis=1))

    @cached_property
    def declines(self) -> bool:
        """Whether the learner may ask nothing, so that nothing is charged."""
        return self.view.declines and not self.unconditional

    def asks(self, epsilon: np.ndarray) -> bool:
        """Whether the learner asks anything at a profile (n_owners,)."""
        return not self.declines or bool(self.forecast.asks(self._sums(epsilon)))

    def promised(self, epsilon: np.ndarray) -> np.ndarray:
        """Money each owner is promised for answers at a profile (n_owners,)."""
        profile = self._profile(epsilon)
        if not self.additive:
            return np.asarray(self.policy.settle(profile, self), dtype=float)

        def promised(deviations: Deviations) -> np.ndarray:
            return deviations.payments(profile[deviations.index, None])[:, 0]

        return np.concatenate(in_threads(promised, self.blocks(profile, self.others(profile))))

    def payments(self, epsilon: np.ndarray) -> np.ndarray:
        """Money each owner is paid at a profile (n_owners,): what is promised, unless nothing is asked."""
        due = self.policy.paid_unasked or self.asks(epsilon)
        return self.promised(epsilon) if due else np.zeros(len(self.owners))

    def benefits(self, epsilon: np.ndarray) -> np.ndarray:
        """Money the model is worth to each owner at a profile (n_owners,)."""
        if not self.owners.benefit.any():
            return np.zeros(len(self.owners))
        return self._if_asked(self.deviations(epsilon).benefits(self._profile(epsilon)[:, None])[:, 0], epsilon)

    def costs(self, epsilon: np.ndarray) -> np.ndarray:
        """Money that sharing costs each owner at a profile (n_owners,), fixed costs included."""
        return self._if_asked(self.owners.costs(self._profile(epsilon)), epsilon)

    def taxes(self, epsilon: np.ndarray) -> np.ndarray:
        """What each owner's cost holds of tax at a profile (n_owners,), money; 0 where nothing is taxed."""
        return self._if_asked(self.owners.cost.tax(self._profile(epsilon), self.owners.sizes), epsilon)

    def _if_asked(self, money: np.ndarray, epsilon: np.ndarray) -> np.ndarray:
        return money if self.asks(epsilon) else np.zeros_like(money)

    def payoffs(self, epsilon: np.ndarray) -> np.ndarray:
        """Surplus of each owner at a profile (n_owners,)."""
        return self.settled(epsilon)[1]

    def settled(self, epsilon: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """`payments` and `payoffs` at a profile (n_owners,), the payments computed once."""
        paid = self.payments(epsilon)
        return paid, paid + self.benefits(epsilon) - self.costs(epsilon)

    def weighed(self, epsilon: np.ndarray) -> np.ndarray:
        """Surplus of each owner at a profile as it weighs it (n_owners,): `market.game.deviations.Deviations.payoffs`."""
        profile = self._profile(epsilon)
        used = self.deviations(profile).benefits(profile[:, None])[:, 0]
        surplus = self.promised(profile) + used - self.owners.costs(profile)
        return surplus if self.policy.paid_unasked or self.asks(profile) else np.minimum(surplus, 0.0)

    def deviation_payoffs(
        self, epsilon: np.ndarray, candidates: np.ndarray, owners: np.ndarray | None = None
    ) -> np.ndarray:
        """Surplus (n, m) of each owner if it alone moves from a profile (n_owners,) to its candidates (n, m)."""
        return in_blocks(self.deviations(epsilon, owners).payoffs, np.asarray(candidates, dtype=float))

    def best_responses(self, epsilon: np.ndarray, owners: np.ndarray | None = None) -> np.ndarray:
        """The epsilon (n,) in each owner's interval that maximises its surplus, the others as they are.

        Global: a grid of equal ratios with both ends and 0, its best cells refined to a root of the slope.
        Ties go to the smaller epsilon.
        """
        if owners is not None:
            return self.deviations(epsilon, owners).best_responses()
        profile = self._profile(epsilon)
        blocks = self.blocks(profile, self.others(profile))
        return np.concatenate(in_threads(Deviations.best_responses, blocks))

    def certificate(self, epsilon: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Regret and its scale, (n_owners,) each, by a search independent of `best_responses`.

        Regret is the most an owner could gain by moving alone, and 0 where the rounding of what it is paid, gains and loses
        here and there could feign as much. Its scale is the regret itself and the money that the owner moves by the last
        half of its best response (`Deviations.at_stake`): the regret is a part of it between 0 and 1 that depends neither
        on the unit of money nor on how far the interval reaches, and no sum that is paid whatever it does hides it.
        """
        profile = self._profile(epsilon)
        return self._kept("certificate", profile, lambda: self._certificate(profile))

    def _certificate(self, profile: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        blocks = self.blocks(profile, self.others(profile))
        found = in_threads(lambda deviations: deviations.certificate(profile[deviations.index]), blocks)
        regret, scale = (np.concatenate(part) for part in zip(*found, strict=True))
        return regret, scale

    def regret(self, epsilon: np.ndarray, owners: np.ndarray | None = None) -> np.ndarray:
        """The most each owner, or each of those numbered in ``owners``, could gain by moving alone, in money (n,)."""
        if owners is None or len(owners) == len(self.owners):
            return self.certificate(epsilon)[0]
        return np.asarray(self.deviations(epsilon, owners).certificate(self._profile(epsilon)[owners])[0])

    def _profile(self, epsilon: np.ndarray) -> np.ndarray:
        profile = np.asarray(epsilon, dtype=float)
        if profile.shape != (len(self.owners),):
            raise ValueError(f"epsilon must have shape ({len(self.owners)},); found {profile.shape}")
        if "_tried" not in self.__dict__ and self.policy is not None:
            self._try_out()
        return profile

    def _try_out(self) -> None:
        """Refuse, once per game, a cost or a policy that gives arrays of another shape than asked for."""
        self.__dict__["_tried"] = True  # before the trial, in which a policy may look at this game
        try:
            policy, cost, owners, n_owners = self.policy, self.owners.cost, self.owners, len(self.owners)
            low, high = owners.epsilon_min, np.where(owners.epsilon_max > 0, owners.epsilon_max, 1.0)
            if self.additive:
                check_shape(policy.terms(low, owners), (n_owners, None), policy, "terms")
            else:
                check_shape(policy.settle(low, self), (n_owners,), policy, "settle")
            one, at = self.deviations(low, np.zeros(1)), np.full((1, 3), high[0])
            for method in (one.policy.payments, one.policy.slopes):
                check_shape(method(at, one), at.shape, policy, method.__name__)
            for method in (cost.value, cost.slope):
                check_shape(method(high, owners.sizes), high.shape, cost, method.__name__)
        except Exception:
            del self.__dict__["_tried"]
            raise


def relative(regret: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Regret as a part of its scale (n_owners,), as `Game.certificate` gives both; 0 where there is none."""
    ratio = np.divide(regret, scale, out=np.full_like(regret, np.inf), where=scale > 0)
    return np.where(regret > 0, ratio, 0.0)
