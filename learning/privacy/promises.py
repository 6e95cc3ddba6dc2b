"""All claims for the owners of a market: each owner's own, and, of records that several owners hold, the joint ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.privacy.beliefs import belief
from learning.privacy.claims import EVERY_ANSWER, EVERY_LEARNER, REPLACE, Claim
from learning.privacy.lifetime import Lifetime
from learning.privacy.mechanism import Mechanism


def promises(
    mechanism: Mechanism,
    parties: Sequence[str],
    sizes: ArrayLike,
    epsilon: ArrayLike,
    horizon: int,
    unit: str,
    growth: float = 1.0,
) -> list[Claim]:
    """What is claimed for the records of every owner that shares under noise, with how sure an onlooker can become.

    Where a record may sit with kappa > 1 owners, a joint claim stands beside each owner's own: against who sees all
    answers of all of them, if the others are those who sell most.

    Parameters
    ----------
    mechanism: the noise, and how it is accounted.
    parties: the owners' names.
    sizes, epsilon: arrays (n_owners,), their records and budgets; nothing is claimed at a budget of 0 or inf.
    horizon: T, the answers that each budget covers.
    unit: the unit of privacy: one record, or one person with its records.
    growth: each answer's share of a budget over that of the one before.

    >>> from learning.privacy.laplace import Laplace
    >>> made = promises(Laplace(overlap=3), "ABC", [9, 9, 9], [1.664, 1.152, 0.384], 2, "one record")
    >>> [(claim.party, claim.joint, round(claim.epsilon, 3), round(claim.surest, 3)) for claim in made[-2:]]
    [('C', False, 0.384, 0.595), ('C', True, 1.067, 0.744)]
    """
    sizes, epsilon = np.asarray(sizes), np.asarray(epsilon, dtype=float)
    noisy = np.flatnonzero((epsilon > 0) & np.isfinite(epsilon))
    if not len(noisy):
        return []
    names, counts, budgets = [parties[int(i)] for i in noisy], sizes[noisy], epsilon[noisy]
    alike, grows = np.tile(budgets, (mechanism.overlap, 1)), None if growth == 1 else growth
    surest, but_for = mechanism.surest(alike, horizon, counts), mechanism.but_for
    made = [
        [
            replace(claim, surest=float(sure), but_for=but_for, growth=grows)
            if claim.surest is None
            else replace(claim, growth=grows)
            for claim in mechanism.claims(name, float(budget), horizon, unit, size=int(size))
        ]
        for name, size, budget, sure in zip(names, counts, budgets, surest, strict=True)
    ]
    if mechanism.overlap > 1 and not np.isinf(epsilon).any():  # jointly nothing holds where someone adds no noise
        together = shared_with(budgets, mechanism.overlap)
        spent, surest = mechanism.joint_epsilon(together, horizon), mechanism.surest(together, horizon, counts)
        kappa = len(together)
        for own, joint, sure in zip(made, spent, surest, strict=True):
            adjacency = f"{REPLACE} at all of up to {kappa} owners"
            told = replace(own[0], epsilon=float(joint), surest=float(sure), joint=True)
            own.append(replace(told, adjacency=adjacency, protects_against=EVERY_ANSWER))
    return [claim for own in made for claim in own]


def composed(claims: Sequence[Sequence[Claim]]) -> list[Claim]:
    """What holds of owners whom several learners ask, against all of these together: epsilon and delta add up.

    Whatever the noise of each and however it is counted: their draws are independent. One for each owner with claims of
    several learners, of the weakest of each; joint, over all owners of a record, where one of these is.

    Parameters
    ----------
    claims: those made by each learner.

    Source: Dwork, Kenthapadi, McSherry, Mironov and Naor, Our data, ourselves (2006), Theorem 1.

    >>> from learning.privacy.laplace import Laplace
    >>> both = [promises(Laplace(), "AB", [9, 9], sold, 1, "one record") for sold in ([1.0, 0.5], [0.25, 0.0])]
    >>> [(claim.party, claim.epsilon, round(claim.surest, 4)) for claim in composed(both)]
    [('A', 1.25, 0.7773)]
    """
    told = [weakest([vars(claim) for claim in made]) for made in claims]
    found = []
    for party in dict.fromkeys(name for one in told for name in one):
        parts = [Claim(**one[party]) for one in told if party in one]
        if len(parts) < 2:
            continue
        epsilon, delta = (float(sum(getattr(part, name) for part in parts)) for name in ("epsilon", "delta"))
        widest = max(parts, key=lambda part: part.joint)
        rounds = sum(part.rounds for part in parts)
        spent = replace(widest, epsilon=epsilon, delta=delta, rounds=rounds, growth=None)
        sure, noises = float(belief(epsilon, delta, 2 * delta)), dict.fromkeys(part.mechanism for part in parts)
        looks_on = EVERY_LEARNER if not widest.joint else f"{EVERY_LEARNER}, at all owners that the record sits with"
        spent = replace(spent, mechanism=", ".join(noises), protects_against=looks_on)
        found.append(replace(spent, surest=sure, but_for=2 * delta))
    return found


def over_trainings(
    made: Sequence[Sequence[Claim]], sold: Array, lifetime: Lifetime, *, arriving: bool = False
) -> list[Claim]:
    """What holds of owners whose records several trainings ask about, against all of these together.

    Own claims by `Lifetime.total`; joint ones, over all owners of a record, and those of an owner with several, one against
    each kind of onlooker, by basic composition. Where each training asks
    about records of its own, a record is in one of them, and the weakest claim of any holds of all.

    Parameters
    ----------
    made : the claims of each training.
    sold : array (k, n_owners), what was sold in each; 0 where nothing was asked.
    lifetime : how trainings compose, and the owners' names.
    arriving : whether records arrive between them: who looks on knows how many came when, so one is told from another of its
        own time alone.

    >>> from learning.privacy.laplace import Laplace
    >>> sold = np.array([[1.0, 0.5], [0.5, 0.0]])
    >>> twice = [promises(Laplace(), "AB", [9, 9], one, 1, "one record") for one in sold]
    >>> for how in ("sequential", "fresh"):
    ...     whole = over_trainings(twice, sold, Lifetime(Laplace(), np.inf, how, names="AB"))
    ...     [(claim.party, claim.epsilon, claim.rounds) for claim in whole]
    [('A', 1.5, 2), ('B', 0.5, 1)]
    [('A', 1.0, 1), ('B', 0.5, 1)]
    """
    fresh, found = lifetime.composition == "fresh", []
    totals, deltas = lifetime.total(sold), lifetime.delta(sold)
    for party, epsilon, delta in zip(lifetime.names, totals.tolist(), deltas.tolist(), strict=True):
        parts = [claim for one in made for claim in one if claim.party == party]
        kinds = dict.fromkeys((claim.joint, claim.protects_against) for claim in parts)
        for joint, looks_on in kinds:
            own = [claim for claim in parts if (claim.joint, claim.protects_against) == (joint, looks_on)]
            whole = max(own, key=lambda claim: claim.epsilon)
            if not fresh and len(own) > 1:
                counted = not joint and len([kind for kind in kinds if not kind[0]]) == 1
                spent = (epsilon, delta) if counted else (sum(c.epsilon for c in own), sum(c.delta for c in own))
                whole = _together(own, *spent)
            found.append(_in_all_periods(whole, arriving))
    return found


def _together(parts: Sequence[Claim], epsilon: float, delta: float) -> Claim:
    """Claims of one owner as one, at what they come to."""
    sure = float(belief(epsilon, delta, 2 * delta))
    rounds, noises = sum(part.rounds for part in parts), dict.fromkeys(part.mechanism for part in parts)
    grows = {part.growth for part in parts}
    shared = parts[0].growth if len(grows) == 1 else None
    spent = replace(parts[0], epsilon=epsilon, delta=delta, rounds=rounds, mechanism=", ".join(noises), growth=shared)
    return replace(spent, surest=sure, but_for=2 * delta)


def _in_all_periods(claim: Claim, arriving: bool) -> Claim:
    """A claim that covers all periods, of a record that stays in its own."""
    adjacency = (
        claim.adjacency.replace(REPLACE, f"{REPLACE} by one of the same period") if arriving else claim.adjacency
    )
    looks_on = claim.protects_against.replace("answers", "answers in all periods", 1)
    return replace(claim, adjacency=adjacency, protects_against=looks_on)


def weakest(claims: Iterable[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """The claim for each owner against whoever sees most: the joint one, or that of the largest epsilon.

    Parameters
    ----------
    claims: as results hold them, an epsilon of inf as None.

    >>> made = [{"party": "A", "epsilon": 2.0, "joint": False}, {"party": "A", "epsilon": 1.5, "joint": True}]
    >>> weakest(made)["A"]["epsilon"], weakest(made[:1])["A"]["epsilon"]
    (1.5, 2.0)
    """

    def order(claim: Mapping[str, Any]) -> tuple[bool, float]:
        return claim.get("joint", False), np.inf if claim["epsilon"] is None else claim["epsilon"]

    found: dict[str, Mapping[str, Any]] = {}
    for claim in claims:
        if claim["party"] not in found or order(claim) > order(found[claim["party"]]):
            found[claim["party"]] = claim
    return found


def shared_with(budgets: Array, overlap: int) -> Array:
    """The budgets of each owner and of those others, at most kappa in all, that sell most: array (k, n_owners).

    >>> shared_with(np.array([1.0, 4.0, 2.0, 3.0]), 2).tolist()
    [[4.0, 4.0, 4.0, 4.0], [1.0, 3.0, 2.0, 3.0]]
    """
    order = np.argsort(-budgets, kind="stable")
    together = np.tile(budgets[order[:overlap], None], len(budgets))
    together[-1, order[overlap:]] = budgets[order[overlap:]]
    return together
