"""Claims for all owners of a market: each owner's own, and joint ones of shared records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.privacy.accounting import Accounting
from learning.privacy.claims import EVERY_ANSWER, REPLACE, Claim


def make_claims(
    mechanism: Accounting,
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

    >>> from learning.privacy.accounting import LaplaceAccounting
    >>> sold = [1.664, 1.152, 0.384]
    >>> made = make_claims(LaplaceAccounting(3), "ABC", [9, 9, 9], sold, 2, "one record")
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
    mechanism: Accounting, budgets: Array, horizon: int, sizes: Array
) -> list[tuple[float, float]]:
    """Compute the joint epsilon and the bound on beliefs of each owner's records."""
    together = group_budgets(budgets, mechanism.overlap)
    spent = mechanism.joint_epsilon(together, horizon)
    beliefs = mechanism.belief_bound(together, horizon, sizes)
    return list(zip(spent.tolist(), beliefs.tolist(), strict=True))


def weakest_claims(claims: Iterable[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Select each owner's claim against the onlooker who sees most: joint, or of largest epsilon.

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
    """Group each owner's budget with the largest of the others, k <= kappa in all: (k, n_owners).

    >>> group_budgets(np.array([1.0, 4.0, 2.0, 3.0]), 2).tolist()
    [[4.0, 4.0, 4.0, 4.0], [1.0, 3.0, 2.0, 3.0]]
    """
    order = np.argsort(-budgets, kind="stable")
    together = np.tile(budgets[order[:overlap], None], len(budgets))
    together[-1, order[overlap:]] = budgets[order[overlap:]]
    return together
