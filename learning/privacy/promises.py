"""Claims for all owners of a market.

Each owner's own, and joint ones of records with several owners.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.privacy.beliefs import bound_belief
from learning.privacy.claims import EVERY_ANSWER, EVERY_LEARNER, REPLACE, Claim
from learning.privacy.lifetime import Lifetime
from learning.privacy.mechanism import Mechanism


def make_claims(
    mechanism: Mechanism,
    parties: Sequence[str],
    sizes: ArrayLike,
    epsilon: ArrayLike,
    horizon: int,
    unit: str,
    growth: float = 1.0,
) -> list[Claim]:
    """Make the claims for every owner that shares under noise, with bounds on an onlooker's belief.

    Where a record may sit with kappa > 1 owners, each owner also gets a joint claim against the
    onlooker who sees all of their answers, the others being those who sell most.

    Parameters
    ----------
    mechanism: the noise and its accounting.
    parties: the owners' names.
    sizes, epsilon: arrays (n_owners,), their records and budgets; nothing is claimed at a budget of
        0 or inf.
    horizon: T, the answers that each budget covers.
    unit: the unit of privacy: one record, or one person with its records.
    growth: each answer's share of a budget over that of the one before.

    >>> from learning.privacy.laplace import Laplace
    >>> sold = [1.664, 1.152, 0.384]
    >>> made = make_claims(Laplace(overlap=3), "ABC", [9, 9, 9], sold, 2, "one record")
    >>> [(one.party, one.joint, round(one.epsilon, 3), round(one.surest, 3)) for one in made[-2:]]
    [('C', False, 0.384, 0.595), ('C', True, 1.067, 0.744)]
    """
    epsilon = np.asarray(epsilon, dtype=float)
    noisy = np.flatnonzero((epsilon > 0) & np.isfinite(epsilon))
    if not len(noisy):
        return []
    counts = np.asarray(sizes)[noisy]
    budgets = epsilon[noisy]
    same = np.tile(budgets, (mechanism.overlap, 1))
    beliefs = mechanism.belief_bound(same, horizon, counts).tolist()
    joint: list[tuple[float, float]] = []
    if mechanism.overlap > 1 and not np.isinf(epsilon).any():  # nothing holds jointly without noise
        joint = _joint_losses(mechanism, budgets, horizon, counts)
    made: list[Claim] = []
    for place, owner in enumerate(noisy.tolist()):
        size = int(counts[place])
        own = mechanism.claims(parties[owner], float(budgets[place]), horizon, unit, size=size)
        for number, claim in enumerate(own):
            if claim.surest is None:
                claim = replace(claim, surest=beliefs[place], but_for=mechanism.but_for)
            own[number] = replace(claim, growth=None if growth == 1 else growth)
        made += own
        if joint:
            whole = replace(own[0], epsilon=joint[place][0], surest=joint[place][1], joint=True)
            kappa = min(mechanism.overlap, len(budgets))
            adjacency = f"{REPLACE} at all of up to {kappa} owners"
            made.append(replace(whole, adjacency=adjacency, protects_against=EVERY_ANSWER))
    return made


def _joint_losses(
    mechanism: Mechanism, budgets: Array, horizon: int, sizes: Array
) -> list[tuple[float, float]]:
    """Compute the joint epsilon and the bound on beliefs of each owner's records."""
    together = group_budgets(budgets, mechanism.overlap)
    spent = mechanism.joint_epsilon(together, horizon)
    beliefs = mechanism.belief_bound(together, horizon, sizes)
    return list(zip(spent.tolist(), beliefs.tolist(), strict=True))


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

    Own claims by `Lifetime.total`; joint ones, and those of an owner with several, one against each
    kind of onlooker, by basic composition. Where each training asks about records of its own, the
    weakest claim of any holds of all.

    Parameters
    ----------
    made : the claims of each training.
    sold : array (k, n_owners), the budgets of each; 0 where nothing was asked.
    lifetime : the composition, and the owners' names.
    arriving : whether records arrive between trainings: an onlooker knows how many came when, so
        that neighbours differ in a record of one time.

    >>> from learning.privacy.laplace import Laplace
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
    for party, *total in zip(lifetime.names, totals.tolist(), deltas.tolist(), strict=True):
        parts = [claim for one in made for claim in one if claim.party == party]
        kinds = dict.fromkeys((claim.joint, claim.protects_against) for claim in parts)
        for kind in kinds:
            own = [one for one in parts if (one.joint, one.protects_against) == kind]
            whole = max(own, key=lambda claim: claim.epsilon)
            if lifetime.composition != "fresh" and len(own) > 1:
                counted = not kind[0] and sum(not joint for joint, _ in kinds) == 1
                whole = _add_claims(own[0], own, total if counted else _sum_epsilons(own))
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


def weakest_claims(claims: Iterable[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Select each owner's claim against the onlooker who sees most.

    Joint first, then the largest epsilon.

    Parameters
    ----------
    claims: as results hold them, an epsilon of inf as None.

    >>> own = {"party": "A", "epsilon": 2.0, "joint": False}
    >>> joint = {"party": "A", "epsilon": 1.5, "joint": True}
    >>> weakest_claims([own, joint])["A"]["epsilon"]
    1.5
    """

    def rank_claim(claim: Mapping[str, Any]) -> tuple[bool, float]:
        epsilon = claim["epsilon"]
        return claim.get("joint", False), np.inf if epsilon is None else epsilon

    found: dict[str, Mapping[str, Any]] = {}
    for claim in claims:
        party = claim["party"]
        if party not in found or rank_claim(claim) > rank_claim(found[party]):
            found[party] = claim
    return found


def group_budgets(budgets: Array, overlap: int) -> Array:
    """Group each owner's budget with the largest of the others, at most kappa in all.

    (k, n_owners).

    >>> group_budgets(np.array([1.0, 4.0, 2.0, 3.0]), 2).tolist()
    [[4.0, 4.0, 4.0, 4.0], [1.0, 3.0, 2.0, 3.0]]
    """
    order = np.argsort(-budgets, kind="stable")
    together = np.tile(budgets[order[:overlap], None], len(budgets))
    together[-1, order[overlap:]] = budgets[order[overlap:]]
    return together
