"""All claims for the owners of a market: each owner's own, and, of records that several owners hold, the joint ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.privacy.beliefs import belief
from learning.privacy.mechanism import EVERY_ANSWER, EVERY_LEARNER, REPLACE, Claim, Mechanism


def promises(
    mechanism: Mechanism, parties: Sequence[str], sizes: ArrayLike, epsilon: ArrayLike, horizon: int, unit: str
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
    unit: what one record is.

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
    alike = np.tile(budgets, (mechanism.overlap, 1))
    surest, but_for = mechanism.surest(alike, horizon, counts), mechanism.but_for
    made = [
        [
            replace(claim, surest=float(sure), but_for=but_for)
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
        spent = replace(widest, epsilon=epsilon, delta=delta, rounds=sum(part.rounds for part in parts))
        sure, noises = float(belief(epsilon, delta, 2 * delta)), dict.fromkeys(part.mechanism for part in parts)
        looks_on = EVERY_LEARNER if not widest.joint else f"{EVERY_LEARNER}, at all owners that the record sits with"
        spent = replace(spent, mechanism=", ".join(noises), protects_against=looks_on)
        found.append(replace(spent, surest=sure, but_for=2 * delta))
    return found


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
