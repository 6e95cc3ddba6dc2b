"""Secure aggregation as a contract has it: parts of the noise, claims by onlooker, and checks.

N owners make the noise. With t colluders, who tell the learner their parts, and d drop-outs, N - t
- d parts stay unknown, and these hide every owner's records at the budget that it sold. N - d
owners must stay to the end, which is also the threshold of all shares. N > t + 2 d is required: no
two sets of N - d owners then consent to different totals unless an honest owner consents twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import exp, frexp, sqrt

import numpy as np

from exchange.terms import AggregationTerms, OwnerTerms
from learning.errors import InputError
from learning.losses.clipping import PublicCoordinates
from learning.privacy.accounting import Accounting, zcdp_epsilon
from learning.privacy.claims import ONLOOKERS, Claim, Feared, bound_profile_belief
from learning.privacy.distributed import BITS, NoisePart, SumsPart
from learning.privacy.release_sums import joint_bound, joint_distance, joint_weights
from learning.privacy.secure_noise import rounding_factor

SAME = 1e-12  # relative, of epsilon: processors differ in the last digits
KEY = "aggregation"


def unknown_parts(owners: int, colluders: int, dropouts: int) -> dict[Feared, int]:
    """Count the parts of the noise that each onlooker does not know, if ``dropouts`` are missing.

    >>> unknown_parts(5, 1, 1)
    {'colluders': 3, 'learner': 4, 'owners': 3}
    """
    there = owners - dropouts
    found: dict[Feared, int] = {"colluders": there - colluders} if colluders else {}
    return found | {"learner": there, "owners": there - 1}


def owner_budget(mechanism: Accounting, owner: OwnerTerms) -> float:
    """Budget rho that an owner sold."""
    budget = mechanism.release_budget(owner.epsilon, 1)
    if mechanism.name != "gaussian" or budget is None or mechanism.overlap != 1:
        rule = "must be Gaussian noise accounted by zCDP under secure aggregation, with overlap 1"
        raise InputError("noise", rule, mechanism.label)
    return budget


def check_counts(owners: int, colluders: int, dropouts: int) -> None:
    """Refuse fewer owners than colluders and drop-outs leave safe."""
    if owners < 2 or owners <= colluders + 2 * dropouts:
        rule = "must have more owners than colluders and twice the drop-outs together, 2 at least"
        found = f"{owners} owners, {colluders} colluders, {dropouts} drop-outs"
        remedy = "Let more owners be needed, or allow for fewer colluders."
        raise InputError(KEY, rule, found, remedy)


def noise_part(agreed: AggregationTerms, owners: int) -> NoisePart:
    """The part of the noise that each owner adds."""
    return NoisePart(agreed.step, agreed.scale, owners - agreed.colluders - agreed.dropouts)


def rho_against(
    coordinates: PublicCoordinates, owner: OwnerTerms, part: NoisePart, parts: int
) -> float:
    """Cost of the total, rho, to an onlooker who lacks ``parts`` parts of the noise."""
    distance = joint_distance(coordinates, owner.records)
    return part.rho(distance, len(joint_weights(coordinates)), parts)


def epsilon_of(rho: float, owner: OwnerTerms, delta: float) -> float:
    """Epsilon of a cost; the epsilon that an owner sold where they differ by rounding alone."""
    epsilon = float(zcdp_epsilon(sqrt(2 * rho), delta))
    same = owner.epsilon < epsilon <= owner.epsilon * (1 + SAME)
    return owner.epsilon if same else epsilon


def _belief_after(rho: float, chance: float) -> float:
    """Bound an onlooker's belief, but for a chance."""
    return bound_profile_belief(
        lambda tried: np.array([_zcdp_delta(e, rho) for e in tried]), chance
    )


def _zcdp_delta(epsilon: float, rho: float) -> float:
    """Bound delta at an epsilon: exp(-(epsilon - rho)^2/(4 rho)), 1 below rho.

    Source: Bun and Steinke, Concentrated Differential Privacy, Proposition 1.3.
    """
    return exp(-((epsilon - rho) ** 2) / (4 * rho)) if epsilon > rho else 1.0


def aggregation_claims(
    coordinates: PublicCoordinates,
    owners: Sequence[OwnerTerms],
    mechanism: Accounting,
    agreed: AggregationTerms,
    claim: Claim,
) -> list[Claim]:
    """Make each owner's claims, against each onlooker.

    Parameters
    ----------
    claim: one of them, whose unit, adjacency and mechanism hold of all.
    """
    part = noise_part(agreed, len(owners))
    unknown = unknown_parts(len(owners), agreed.colluders, agreed.dropouts)
    assumed = assumption_words(agreed)
    made = []
    for owner in owners:
        for whom, parts in unknown.items():
            rho = rho_against(coordinates, owner, part, parts)
            one = replace(
                claim,
                party=owner.name,
                epsilon=epsilon_of(rho, owner, mechanism.delta),
                protects_against=ONLOOKERS[whom].format(agreed.colluders),
                surest=_belief_after(rho, mechanism.delta),
                but_for=mechanism.delta,
                assumes=assumed,
            )
            made.append(one)
    return made


def assumption_words(agreed: AggregationTerms) -> str:
    """Describe what the claims assume."""
    missing = f"at most {agreed.dropouts} of them drop out" if agreed.dropouts else "none drops out"
    helped = "nobody"
    if agreed.colluders:
        helped = f"at most {agreed.colluders} of them"
    return (
        f"every owner adds its part of the noise as agreed, {missing}, {helped} helps the learner "
        "to unmask more than the total, and X25519, HKDF and ChaCha20 keep what is proved of them"
    )


def charged_epsilon(
    coordinates: PublicCoordinates,
    owner: OwnerTerms,
    owners: int,
    agreed: AggregationTerms,
    delta: float,
) -> float:
    """Epsilon that an owner's ledger charges: that against the onlooker who sees most."""
    part = noise_part(agreed, owners)
    least = min(unknown_parts(owners, agreed.colluders, agreed.dropouts).values())
    return epsilon_of(rho_against(coordinates, owner, part, least), owner, delta)


def check_aggregation(
    coordinates: PublicCoordinates,
    owners: Sequence[OwnerTerms],
    mechanism: Accounting,
    agreed: AggregationTerms,
) -> None:
    """Refuse counts, noise or a grid under which the claims do not hold or totals wrap around."""
    check_counts(len(owners), agreed.colluders, agreed.dropouts)
    part = noise_part(agreed, len(owners))
    if agreed.threshold != len(owners) - agreed.dropouts or frexp(agreed.step)[0] != 0.5:
        rule = "must have a threshold of all owners but the drop-outs, and a power of two as step"
        raise InputError(KEY, rule, f"{agreed.threshold} and {agreed.step:g}")
    for owner in owners:
        owner_budget(mechanism, owner)
        rho = rho_against(coordinates, owner, part, part.parts)
        epsilon = epsilon_of(rho, owner, mechanism.delta)
        if epsilon > owner.epsilon:
            rule = f"must hide the records of {owner.name} at its epsilon of {owner.epsilon:g}"
            raise InputError(f"{KEY}.scale", rule, f"{epsilon:g}")
    noise = SumsPart(part, joint_weights(coordinates), 0.0)
    bound = joint_bound(coordinates) * rounding_factor(len(coordinates.centre)) ** 2
    sizes = [owner.records for owner in owners]
    if not noise.fits(sizes, bound):
        rule = f"must keep totals within {BITS} bits"
        raise InputError(f"{KEY}.step", rule, f"{agreed.step:g} for {sum(sizes):,} records")
