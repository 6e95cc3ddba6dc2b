"""Claims of differential privacy for an owner's answers, each against one kind of onlooker."""

from __future__ import annotations

from dataclasses import dataclass

EVERYONE = "anyone who sees all of the owner's answers: the learner, the other owners, the public"
EVERY_ANSWER = "anyone who sees all answers of all owners that the record sits with"
EVERY_LEARNER = "anyone who sees all answers to all learners"
REPLACE = "replace one record"


@dataclass(frozen=True)
class Claim:
    """Claim of differential privacy, and the onlooker that it holds against.

    Never made for an owner that adds no noise.

    Parameters
    ----------
    party: the owner whose records are protected.
    unit: the unit of privacy: one record, or one person with its records.
    adjacency: the relation of neighbouring data sets.
    epsilon, delta: the bound over all rounds.
    rounds: T, the answers of an owner that it covers.
    mechanism: the noise, and its accounting.
    protects_against: the onlooker.
    simulation: whether the noise is from a seeded generator: the numbers are right, but must not be
        handed out.
    overlap: kappa, the owners that one record may sit with. An owner's own claim then holds for a
        record all of whose owners sell as much; the joint claim counts what the others sell.
    joint: whether all answers of all owners of a record are counted.
    surest: bound on the posterior of one of two equally likely versions of a record; None: not
        counted.
    but_for: the probability that it is exceeded.
    assumes: further assumptions; None: none but that owners answer as stated.
    growth: each answer's share of the budget over that of the one before; None of even shares.
    """

    party: str
    unit: str
    adjacency: str
    epsilon: float
    delta: float
    rounds: int
    mechanism: str
    protects_against: str
    simulation: bool = True
    overlap: int = 1
    joint: bool = False
    surest: float | None = None
    but_for: float = 0.0
    assumes: str | None = None
    growth: float | None = None
