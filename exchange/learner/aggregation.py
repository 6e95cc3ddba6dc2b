"""Secure aggregation as the learner offers it in a contract: how many must stay, and the price."""

from __future__ import annotations

from collections.abc import Sequence
from math import frexp, ldexp, sqrt

from exchange.secure.agreement import check_counts, owner_budget
from exchange.terms import AggregationTerms, OwnerTerms
from learning.errors import InputError
from learning.losses.clipping import PublicCoordinates
from learning.privacy.accounting import Accounting
from learning.privacy.distributed import NoisePart
from learning.privacy.release_sums import joint_distance, joint_weights
from learning.privacy.secure_noise import FINE, SCALE_STEPS


def least_owners(owners: int, colluders: int) -> int:
    """Least number of owners that an aggregation may need: N > t + 2 d.

    >>> [least_owners(5, colluders) for colluders in (0, 1, 2, 3)]
    [3, 4, 4, 5]
    """
    return min(owners, (owners + colluders) // 2 + 1)


def agree_aggregation(
    coordinates: PublicCoordinates,
    owners: Sequence[OwnerTerms],
    mechanism: Accounting,
    colluders: int,
    threshold: int,
) -> AggregationTerms:
    """Price the parts of the noise for the owner that needs most of it.

    Raises
    ------
    InputError
        If too few owners would remain, or the mechanism is not Gaussian noise accounted by zCDP.
    """
    dropouts = len(owners) - threshold
    check_counts(len(owners), colluders, dropouts)
    budgets = [owner_budget(mechanism, owner) for owner in owners]
    distances = [joint_distance(coordinates, owner.records) for owner in owners]
    count = len(joint_weights(coordinates))
    part = price_part(distances, budgets, count, len(owners) - colluders - dropouts)
    return AggregationTerms(
        colluders=colluders,
        dropouts=dropouts,
        threshold=threshold,
        bits=64,
        step=part.step,
        scale=part.scale,
    )


def price_part(
    distances: Sequence[float], budgets: Sequence[float], count: int, parts: int
) -> NoisePart:
    """Price one part of noise so that ``parts`` of them keep every owner's budget.

    Parameters
    ----------
    distances: of each owner's sums, when its record is replaced, as computed; in 2-norm.
    budgets: rho of each owner.
    count: m, the numbers in an answer.
    parts: n, those that suffice.

    Raises
    ------
    InputError
        If no scale near the one expected keeps them: the budgets are beyond what a grid serves.
    """
    owners = list(zip(distances, budgets, strict=True))
    coarse = max(apart / sqrt(2 * budget * parts) for apart, budget in owners)
    step = ldexp(1.0, frexp(coarse)[1] - 1 - FINE)
    grid = [
        (NoisePart(step, 1.0, parts).grid_distance(apart, count), budget)
        for apart, budget in owners
    ]
    scale = max(float(apart) / sqrt(2 * budget * parts) for apart, budget in grid)
    for _ in range(SCALE_STEPS):
        made = NoisePart(step, scale, parts)
        if all(made.rho(apart, count, parts) <= budget for apart, budget in owners):
            return made
        scale *= 1 + 2.0**-50
    rule = "must have a noise scale certified to keep every owner's budget"
    raise InputError("release.mechanism", rule, f"no such scale near {scale:.3g}")
