"""Claims and budgets over several trainings, or several learners, that ask the same records."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.errors import InputError
from learning.privacy.claims import REPLACE, Claim, bound_belief
from learning.privacy.ledger import Account, Budget, BudgetExceeded, Key, Ledger, visible_name
from learning.privacy.mechanism import Mechanism
from learning.privacy.promises import weakest_claims

Composition = Literal["sequential", "fresh"]
Saving = Literal["none", "even"]
EVERY_LEARNER = "anyone who sees all answers to all learners"
ROUNDING = 1e-9  # part of a limit that sums may exceed it by
SPENT = 1e-9  # smallest remaining budget that is sold


@dataclass(frozen=True)
class Lifetime:
    """Limit on each owner's budget over consecutive trainings.

    A training's budget is an epsilon of its own, with the mechanism's delta. Budgets are stated
    before any answer of that training is seen, and never depend on an answer.

    Parameters
    ----------
    mechanism : the noise and its accounting.
    limit : array (n_owners,), epsilon over all trainings; inf where there is none.
    composition : "sequential" where every training asks about all records so far, so that budgets
        compose for the oldest; "fresh" where each asks about new records only, so that the limit is
        that of each training.
    saving : "none" where all that is left may be sold at once; "even" where no more than an equal
        part for each training that is still to come.
    names : the owners' names, where a ledger asks.

    Source: Dwork and Roth, The Algorithmic Foundations of Differential Privacy, Theorem 3.16
        (sequential); McSherry, Privacy Integrated Queries, Theorem 4 (disjoint records); the
        mechanisms' own composition.

    >>> from learning.privacy.laplace import Laplace
    >>> budget = Lifetime(Laplace(), np.array([2.0, np.inf]), saving="even")
    >>> budget.most(np.array([[0.5, 0.5]]), trainings=3).tolist()
    [0.5, inf]
    >>> budget.total(np.array([[0.5, 0.5], [0.25, 3.0]])).tolist()
    [0.75, 3.5]
    """

    mechanism: Mechanism
    limit: Array
    composition: Composition = "sequential"
    saving: Saving = "none"
    names: Sequence[str] = ()

    def most(self, sold: Array, trainings: int) -> Array:
        """Largest budget that each may sell in the next training, (n_owners,); inf without a limit.

        Parameters
        ----------
        sold : array (k, n_owners), the budgets of each training before; 0 where nothing was asked.
        trainings : the number still to come, the next among them.
        """
        limit = np.broadcast_to(np.asarray(self.limit, dtype=float), sold.shape[1:])
        if self.composition == "fresh":
            return np.array(limit)
        limited = np.isfinite(limit)
        parts = trainings if self.saving == "even" else 1
        left = self.mechanism.remaining_epsilon(np.where(limited, limit, 1.0), sold, parts)
        return np.where(limited, np.where(left > SPENT, left, 0.0), np.inf)

    def total(self, sold: Array) -> Array:
        """Epsilon, at `delta`, of the records that were asked most often, (n_owners,)."""
        if not len(sold):
            return np.zeros(sold.shape[1:])
        if self.composition == "fresh":
            return np.asarray(sold.max(axis=0))
        return self.mechanism.composed_epsilon(sold)

    def delta(self, sold: Array) -> Array:
        """Failure probability of that total, (n_owners,); 0 where nothing was sold."""
        trainings = (np.asarray(sold) > 0).sum(axis=0)
        if self.composition == "fresh":
            trainings = np.minimum(trainings, 1)
        return self.mechanism.composed_delta(trainings)

    def exceeded_limit(self, owner: str, sold: ArrayLike) -> float | None:
        """Limit of an owner that trainings at budgets ``sold`` (k,) would exceed; None within it.

        Raises
        ------
        InputError
            If no owner of that name has a limit.
        """
        known = [visible_name(name) for name in self.names]
        if visible_name(owner) not in known:
            rule = "must hold each owner's budget for all trainings"
            raise InputError("ledger", rule, f"nothing of {owner}")
        limits = np.broadcast_to(np.asarray(self.limit, dtype=float), len(self.names))
        limit = float(limits[known.index(visible_name(owner))])
        spent = float(self.total(np.asarray(sold, dtype=float)[:, None])[0])
        return limit if spent > limit * (1 + ROUNDING) else None


def compose_learners(claims: Sequence[Sequence[Claim]]) -> list[Claim]:
    """Compose the claims of owners whom several learners ask: epsilon and delta add up.

    Draws of different learners are independent, whatever their noise and accounting. One claim for
    each owner with claims of several learners, of the weakest of each; joint, over all owners of a
    record, where one of these is.

    Parameters
    ----------
    claims: those made by each learner.

    Source: Dwork, Kenthapadi, McSherry, Mironov and Naor, Our data, ourselves (2006), Theorem 1.

    >>> from learning.privacy.laplace import Laplace
    >>> from learning.privacy.promises import make_claims
    >>> sold = ([1.0, 0.5], [0.25, 0.0])
    >>> both = [make_claims(Laplace(), "AB", [9, 9], one, 1, "one record") for one in sold]
    >>> [(claim.party, claim.epsilon, round(claim.surest, 4)) for claim in compose_learners(both)]
    [('A', 1.25, 0.7773)]
    """
    by_party = [weakest_claims([vars(claim) for claim in made]) for made in claims]
    found = []
    for party in dict.fromkeys(name for one in by_party for name in one):
        parts = [Claim(**one[party]) for one in by_party if party in one]
        if len(parts) < 2:
            continue
        widest = max(parts, key=lambda part: part.joint)
        looks_on = EVERY_LEARNER
        if widest.joint:
            looks_on = f"{EVERY_LEARNER}, at all owners that the record sits with"
        whole = _add_claims(widest, parts, _sum_epsilons(parts))
        found.append(replace(whole, protects_against=looks_on, growth=None))
    return found


def compose_trainings(
    made: Sequence[Sequence[Claim]], sold: Array, lifetime: Lifetime, *, arriving: bool = False
) -> list[Claim]:
    """Compose the claims of owners whose records several trainings ask about.

    An owner's own claims compose by `Lifetime.total` if they are of the budgets that it sold. Basic
    composition serves joint claims, claims above what was sold, and those of an owner with several,
    one against each kind of onlooker. Where each training asks about records of its own, the
    weakest claim of any holds of all. Nothing is claimed for an owner that added no noise in some
    training.

    Parameters
    ----------
    made : the claims of each training.
    sold : array (k, n_owners), the budgets of each; 0 where nothing was asked.
    lifetime : the composition, and the owners' names.
    arriving : whether records arrive between trainings: an onlooker knows how many came when, so
        that neighbours differ in a record of one time.

    >>> from learning.privacy.laplace import Laplace
    >>> from learning.privacy.promises import make_claims
    >>> sold = np.array([[1.0, 0.5], [0.5, 0.0]])
    >>> twice = [make_claims(Laplace(), "AB", [9, 9], one, 1, "one record") for one in sold]
    >>> for how in ("sequential", "fresh"):
    ...     whole = compose_trainings(twice, sold, Lifetime(Laplace(), np.inf, how, names="AB"))
    ...     [(claim.party, claim.epsilon, claim.rounds) for claim in whole]
    [('A', 1.5, 2), ('B', 0.5, 1)]
    [('A', 1.0, 1), ('B', 0.5, 1)]
    """
    found = []
    totals = lifetime.total(sold)
    deltas = lifetime.delta(sold)
    for party, budgets, *total in zip(lifetime.names, sold.T, totals, deltas, strict=True):
        if np.isinf(budgets).any():
            continue
        parts = [claim for one in made for claim in one if claim.party == party]
        kinds = dict.fromkeys((claim.joint, claim.protects_against) for claim in parts)
        for kind in kinds:
            own = [one for one in parts if (one.joint, one.protects_against) == kind]
            whole = max(own, key=lambda claim: claim.epsilon)
            if lifetime.composition != "fresh" and len(own) > 1:
                spent = _sum_epsilons(own)
                as_sold = spent[0] <= budgets.sum() * (1 + ROUNDING)
                only_own = [one for one in kinds if not one[0]] == [kind]
                if as_sold and only_own:
                    spent = float(total[0]), float(total[1])
                whole = _add_claims(own[0], own, spent)
            found.append(_cover_periods(whole, arriving))
    return found


def _sum_epsilons(parts: Sequence[Claim]) -> tuple[float, float]:
    """Epsilon and delta of claims together, by basic composition."""
    return float(sum(part.epsilon for part in parts)), float(sum(part.delta for part in parts))


def _add_claims(base: Claim, parts: Sequence[Claim], spent: Sequence[float]) -> Claim:
    """Join claims of one owner as one like ``base``, at ``spent`` = (epsilon, delta)."""
    epsilon, delta = spent
    growths = {part.growth for part in parts}
    return replace(
        base,
        epsilon=epsilon,
        delta=delta,
        rounds=sum(part.rounds for part in parts),
        mechanism=", ".join(dict.fromkeys(part.mechanism for part in parts)),
        growth=parts[0].growth if len(growths) == 1 else None,
        surest=float(bound_belief(epsilon, delta, 2 * delta)),
        but_for=2 * delta,
    )


def _cover_periods(claim: Claim, arriving: bool) -> Claim:
    """Extend a claim to all periods, for a record that stays in its own."""
    adjacency = claim.adjacency
    if arriving:
        adjacency = adjacency.replace(REPLACE, f"{REPLACE} by one of the same period")
    looks_on = claim.protects_against.replace("answers", "answers in all periods", 1)
    return replace(claim, adjacency=adjacency, protects_against=looks_on)


class LimitedLedger(Ledger):
    """Ledger that also limits what each owner's accounts, one for each training, spend together."""

    def __init__(self, lifetime: Lifetime) -> None:
        super().__init__()
        self.lifetime = lifetime

    def _check_charges(
        self, charges: Iterable[tuple[Budget, int]], purpose: str, first: int | None
    ) -> dict[Key, int]:
        asked = super()._check_charges(charges, purpose, first)
        for key in asked:
            self._check_lifetime(self._accounts[key], asked, purpose)
        return asked

    def _check_lifetime(self, account: Account, asked: Container[Key], purpose: str) -> None:
        """Refuse the first answer on an account if the owner's limit would be exceeded."""
        if account.answered:
            return
        budget = account.budget
        sold = [
            np.inf if one.budget.epsilon is None else one.budget.epsilon
            for key, one in self._accounts.items()
            if key[0] == budget.key[0] and (one.answered or key in asked)
        ]
        limit = self.lifetime.exceeded_limit(budget.owner, sold)
        if limit is None:
            return
        of = f" about {budget.data}" if budget.data else ""
        budgeted = "no stated budget" if budget.epsilon is None else f"{budget.epsilon:g}"
        raise BudgetExceeded(
            self.where,
            f"{budget.owner} may spend an epsilon of {limit:g} over all trainings: "
            f"one more{of}, of {budgeted}, is refused ({purpose})",
        )
