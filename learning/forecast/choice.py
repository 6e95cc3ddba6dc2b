"""What a learner compared before it announced how it trains."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Choice:
    """One way to train that was compared with others.

    Parameters
    ----------
    algorithm : name of the training algorithm.
    clipping : "parts" or "record", what is clipped.
    mechanism, accounting : the noise, and how its cost is counted.
    growth : each share of a budget over the one before.
    step_decline : the power of the round that steps fall with.
    horizon : the rounds that are best at the reference budgets.
    relative_fitness : the forecast there by which all were compared.
    chosen : whether it is the one that was taken.
    """

    algorithm: str
    clipping: str
    mechanism: str
    accounting: str
    growth: float
    step_decline: float
    horizon: int
    relative_fitness: float
    chosen: bool
