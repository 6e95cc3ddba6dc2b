"""What is announced before noise is chosen."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class NoiseSettings:
    """What is announced before noise is chosen; mechanisms take their parameters from it by name.

    Parameters
    ----------
    sizes: the records of every owner that takes part, public.
    delta: the failure probability, or None where none is stated.
    accounting: how the cost of all answers is counted, or None for the first that a mechanism knows.
    overlap: kappa >= 1, the owners one record may sit with.
    formula: the formula that the algorithm's paper publishes for its noise; empty where there is none.
    weights: the kind of weights, on which such a formula may depend.
    single_record: whether every answer is the gradient of one record.
    horizon: the number of rounds stated, or None where the learner chooses it.
    horizons: the numbers of rounds that the algorithm's plans try.
    width: the numbers in one answer.
    growth: each answer's share of the budget over the one before, or None where the learner chooses it.
    unasked: of the rounds that are stated, those in which nothing is asked.
    """

    sizes: tuple[int, ...]
    delta: float | None = None
    accounting: str | None = None
    overlap: int = 1
    formula: str = ""
    weights: str = "size"
    single_record: bool = False
    horizon: int | None = None
    horizons: tuple[int, ...] = ()
    width: int = 1
    growth: float | None = 1.0
    unasked: int = 0
