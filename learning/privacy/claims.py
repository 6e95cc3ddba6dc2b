"""What is claimed of an owner's answers: the promise in full, and against whom it holds."""

from __future__ import annotations

from dataclasses import dataclass

EVERYONE = "anyone who sees all of the owner's answers: the learner, the other owners, the public"
EVERY_ANSWER = "anyone who sees all answers of all owners that the record sits with"
EVERY_LEARNER = "anyone who sees all answers to all learners"
REPLACE = "replace one record"


@dataclass(frozen=True)
class Claim:
    """What exactly is claimed, and against whom; never made for an owner that adds no noise.

    Parameters
    ----------
    party: the owner whose records are protected.
    unit: the unit of privacy: one record, or one person with its records.
    adjacency: which data sets are told apart no better than epsilon and delta allow.
    epsilon, delta: the promise over all rounds.
    rounds: T, the answers of an owner that it covers.
    mechanism: the noise, and by what accounting.
    protects_against: who looks on.
    simulation: whether the noise is from a seeded generator: the numbers are honest, but must not be handed out.
    overlap: kappa, the owners that one record may sit with. An owner's own claim then holds for a record all of whose
        owners sell as much; what others' budgets add to stands in the joint claim.
    joint: whether all answers of all owners of a record are counted.
    surest: how likely one of two versions of a record, alike at first, can become to who looks on; None: not counted.
    but_for: the chance that it becomes more likely still.
    assumes: what else it takes for the promise to hold; None: nothing but that owners answer as stated.
    growth: each answer's share of the budget over that of the one before; None where all spend as much.
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
